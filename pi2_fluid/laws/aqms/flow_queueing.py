"""Flow queueing: a queue for each flow, which take turns at the link, and a law in each of them."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from pi2_fluid.errors import UnsupportedError, show_value
from pi2_fluid.laws.kernel.qdiscs import MOST_FLOWS, MOST_QUANTUM
from pi2_fluid.laws.packet_limits import require_single, require_whole, require_whole_packets
from pi2_fluid.laws.packets_only import PacketsOnly
from pi2_fluid.records.record import OptionalParameter, Parameter, quantity

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm, Line


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FlowQueueing(PacketsOnly):
    """What FQ-CoDel and FQ-PIE share: the queues, and whose turn it is."""

    queues_flows: ClassVar = True

    flows: Parameter = quantity(1024, "number", low=1, high=MOST_FLOWS, closed=True)
    quantum: OptionalParameter = quantity(
        None, "size", low=256, high=MOST_QUANTUM, closed=True, optional=True
    )

    @property
    @abstractmethod
    def inner(self) -> Aqm:
        """The law of one queue."""

    def without_fluid(self) -> UnsupportedError:
        """Return why only packets run it."""
        name = type(self).__name__
        return UnsupportedError(
            f"{name} keeps a queue for each flow, and flows of a fluid share one, so neither fluid"
            f" nor loop can run it: use Packets(), or Linux(), or a law of one queue such as Pie()."
        )

    def queue_parameters(self, link: Line) -> dict[str, Any]:
        """Return the numbers of the queues, named as in native/packet/queues/flow_queues.h.

        Raises
        ------
        DomainError
            If flows or quantum is no whole number.
        UnsupportedError
            If a field holds an array.
        """
        require_single(self)
        require_whole_packets(link)
        name = type(self).__name__
        quantum = link.packet_size if self.quantum is None else self.quantum
        for word, value in (("flows", self.flows), ("quantum", quantum)):
            require_whole(
                value,
                f"{name} {word} = {show_value(value)} is no whole number, which the queues are"
                " counted in: give one.",
            )
        return {"flows": self.flows, "quantum": quantum}
