"""FQ-CoDel: a queue for each flow, with CoDel in each."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar

from pi2_fluid.errors import show_value
from pi2_fluid.laws.aqms.codel import CoDel
from pi2_fluid.laws.aqms.flow_queueing import FlowQueueing
from pi2_fluid.laws.packet_limits import require_whole
from pi2_fluid.records.record import OptionalParameter, Parameter, again, choice, quantity
from pi2_fluid.units import LONG_WAIT

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FqCodel(FlowQueueing):
    """FQ-CoDel: flows have queues of their own that take turns, and CoDel runs in each.

    Parameters
    ----------
    target, interval, arithmetic
        As in `CoDel`, of each queue.
    ecn : bool, default True
        Whether packets that can be marked are marked instead of dropped.
    flows : int, default 1024
        Queues into which flows are hashed. Two flows share one by chance, which the seed decides.
    quantum : float or str, optional
        Bytes that a queue sends in its turn; a full packet if None.
    memory_limit : float or str
        Bytes of memory that packets may take together, each 804 more than its size. How many
        packets may wait is `buffer` of the link.
    drop_batch : int, default 64
        When packets or memory are too many, the queue with most bytes loses packets from its head:
        until half of its bytes are gone, but no more packets than this.
    ce_threshold : float or str, optional
        Delay (s) above which every packet that can be marked is marked, whatever CoDel does: the
        step of L4S. None: there is none.
    ce_threshold_selector : {"any", "ect1"}
        Whether that is for all such packets, or for those of L4S alone, ECT(1).

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.
    UnsupportedError
        By every method that a fluid or a loop would call.

    Notes
    -----
    A queue that becomes busy goes before all that were busy already, until it has sent a quantum.
    So a flow that sends less than its share waits for little but the packet in service, whatever
    the others do: compare `delay_mean_of` of the classes.

    A queue is spared by CoDel while all queues together hold at most one packet, as in Linux.

    Source: RFC 8290; tc-fq_codel(8).

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> call = pf.Flows(pf.Cbr(bitrate="100kbit/s"), 1, "20ms", name="call")
    >>> load = pf.Flows(pf.Reno(), 4, "20ms", name="load")
    >>> one = pf.Scenario("10s", pf.Link("10Mbit/s"), pf.FqCodel(), [call, load])
    >>> runs = pf.packet.simulate(one, seeds=1)
    >>> waits = pf.summarize(runs, after="2s").delay_mean_of.sel(seed=1)
    >>> print(*(f"{1e3 * wait:.1f} ms" for wait in waits))
    0.4 ms 11.8 ms
    """

    discipline: ClassVar = "fq_codel"
    packets_only: ClassVar = (
        *("ecn", "arithmetic", "flows", "quantum", "memory_limit", "drop_batch"),
        *("ce_threshold", "ce_threshold_selector"),
    )

    target: Parameter = again(CoDel, "target")
    interval: Parameter = again(CoDel, "interval")
    ecn: bool = choice(True, (True, False))
    arithmetic: str = again(CoDel, "arithmetic")
    memory_limit: Parameter = quantity("32MiB", "size", low=0, high=2**32 - 1, closed=True)
    drop_batch: Parameter = quantity(64, "number", low=1, high=2**31 - 1, closed=True)
    ce_threshold: OptionalParameter = quantity(
        None, "time", usual=LONG_WAIT, closed=True, optional=True
    )
    ce_threshold_selector: str = choice("any", ("any", "ect1"))

    @property
    def inner(self) -> CoDel:
        """CoDel of one queue."""
        return CoDel(
            target=self.target, interval=self.interval, ecn=self.ecn, arithmetic=self.arithmetic
        )

    @property
    def tells_l4s(self) -> bool:
        """Whether its step is for ECT(1) alone."""
        return self.ce_threshold_selector == "ect1" and self.ce_threshold is not None

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return what configures the queue discipline, named as in native/packet/queues/fq_codel.c.

        Raises
        ------
        DomainError
            If flows, quantum or drop_batch is no whole number, or as `CoDel` does.
        UnsupportedError
            If a field holds an array.
        """
        require_whole(
            self.drop_batch,
            f"FqCodel drop_batch = {show_value(self.drop_batch)} is no whole number of packets:"
            " give one.",
        )
        return {
            **self.queue_parameters(link),
            **self.inner.packet_parameters(link),
            "memory_limit": self.memory_limit,
            "drop_batch": self.drop_batch,
            "ce_threshold": math.inf if self.ce_threshold is None else self.ce_threshold,
            "ect1_alone": self.ce_threshold_selector == "ect1",
        }
