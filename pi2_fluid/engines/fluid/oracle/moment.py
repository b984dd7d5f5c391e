"""An instant of a network, now or past, and how its links are shared then."""

from __future__ import annotations

from collections.abc import Sequence

from pi2_fluid.engines.fluid.oracle.history import Segment
from pi2_fluid.engines.fluid.oracle.state import Mode


class Moment:
    """One instant. How links are shared is found out when it is asked for; see `Plant`.

    Parameters
    ----------
    t : float
        When it is (s).
    y : sequence of float
        The state.
    mode : Mode
        The discrete state.
    segment : Segment, optional
        Of which it is a part, if it is past.
    """

    __slots__ = ("mode", "segment", "served", "t", "tau", "y")

    def __init__(
        self, t: float, y: Sequence[float], mode: Mode, segment: Segment | None = None
    ) -> None:
        self.t, self.y, self.mode, self.segment = t, y, mode, segment
        #: Of each queue: its delay (s), and what it is served while it waits (packets/s).
        self.tau: list[float] = []
        self.served: list[float] = []
