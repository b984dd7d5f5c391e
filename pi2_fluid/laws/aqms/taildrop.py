"""Tail drop: no control at all, only a buffer that overflows."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, NoReturn

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.seen import Seen
from pi2_fluid.ops import Number, where


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class TailDrop(Aqm):
    """A plain buffer: it drops packets only when it is full.

    It has no state to speak of (one that stays 0). What packets see is the fraction of the
    arrivals that does not fit, the same for Classic and Scalable ones.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> full = pf.Seen(0.04, 100.0, 1100.0, 1000.0, overflow=100.0)
    >>> print(f"{pf.TailDrop().signals((0.0,), full).classic:.4f}")
    0.0909
    """

    discipline: ClassVar = "taildrop"
    overflows: ClassVar = True
    rests_among_links: ClassVar = True
    thins: ClassVar = False

    update_interval: None = dataclasses.field(default=None, init=False, repr=False)

    def initial(self) -> tuple[Number, ...]:
        """Return (0,)."""
        return (0.0,)

    def update(self, state: tuple[Number, ...], seen: Seen, dt: Number) -> tuple[Number, ...]:
        """Return the state as it is."""
        return state

    def signals(self, state: tuple[Number, ...], seen: Seen) -> Signal:
        """Return the fraction of arrivals that is lost, for both kinds."""
        some = seen.arrival_rate > 0.0
        lost = where(some, seen.overflow / where(some, seen.arrival_rate, 1.0), 0.0)
        return Signal(lost, lost)

    def encode(self, u: Number) -> NoReturn:
        """Refuse: there is no controller's variable.

        Raises
        ------
        UnsupportedError
            Always; also by `at_rest` and `decode`, so by operating points and loops of flows that
            do not rest by their delay alone.
        """
        raise UnsupportedError(
            "TailDrop only loses what its buffer cannot hold and has no controller, so that with"
            " flows that need its signals it has no operating point or loop: simulate it, or give"
            " a queue such as Pi2()."
        )

    def at_rest(self, u: Number, capacity: Number) -> NoReturn:
        """Refuse, as `encode`."""
        self.encode(u)

    def decode(self, p: Number, signal: str) -> NoReturn:
        """Refuse, as `encode`."""
        self.encode(p)
