"""A queue whose controller's variable somebody else moves, too, and which is itself otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.aqms.pi2 import Pi2
from pi2_fluid.laws.seen import Seen
from pi2_fluid.ops import Number
from pi2_fluid.records.record import described

if TYPE_CHECKING:
    from pi2_fluid.laws.aqms.pi_family import PiFamily


@dataclass(frozen=True, eq=False, kw_only=True)
class PushedQueue(Aqm):
    """What `Imposed` and `Injected` have in common: all that the queue itself says."""

    queue: PiFamily = described(Pi2(), "a law: Pi2, CoupledPi2 or DualPi2")

    # What the queue itself says

    def encode(self, u: Number) -> Signal:
        """Return what packets see of p', as the queue says."""
        return self.queue.encode(u)

    def decode(self, p: Number, signal: str) -> Number:
        """Return p' at which packets see `p`, as the queue says."""
        return self.queue.decode(p, signal)

    def signals(self, state: tuple[Number, ...], seen: Seen) -> Signal:
        """Return what packets see, a dual queue's own marking included."""
        return self.queue.signals(self._of_queue(state), seen)

    def _of_queue(self, state: tuple[Number, ...]) -> tuple[Number, ...]:
        """Return what the queue needs of the state."""
        return state

    def holds(self) -> bool:
        """Return True: what is given is held."""
        return True

    def serve(
        self, backlogged: Sequence[Any], arrivals: Sequence[Number], capacity: Number
    ) -> tuple[Number, Number]:
        """Return what the bands get of the link, as the queue says."""
        return self.queue.serve(backlogged, arrivals, capacity) if self.bands == 2 else self._one()

    def delays(self, queues: Sequence[Number], served: Sequence[Number]) -> tuple[Number, Number]:
        """Return the delays of the bands, as the queue says."""
        return self.queue.delays(queues, served) if self.bands == 2 else self._one()

    def _one(self) -> NoReturn:
        raise self._has_one_queue()

    def in_one_queue(self) -> Aqm:
        """Return the same in one queue for all packets: itself, if it has one."""
        return self if self.bands == 1 else replace(self, queue=self.queue.in_one_queue())

    @property
    def bands(self) -> int:  # type: ignore[override]
        """How many queues there are."""
        return self.queue.bands

    @property
    def measures(self) -> str:
        """As the queue says."""
        return self.queue.measures

    @property
    def signals_at(self) -> str:
        """As the queue says."""
        return self.queue.signals_at

    @property
    def kept_for_classic(self) -> Number:
        """The fraction of the link that Classic packets get at least while they wait."""
        return self.queue.kept_for_classic

    @property
    def marking_step(self) -> Number:
        """As the queue says."""
        return self.queue.marking_step

    @property
    def discipline(self) -> str | None:  # type: ignore[override]
        """The queue discipline."""
        return self.queue.discipline
