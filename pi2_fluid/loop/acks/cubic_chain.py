"""One Cubic flow as a Markov chain: what its window grows by depends on the time since its cut.

Linux rounds down how far the cubic is below its plateau, and how many acknowledgements it takes
for a segment. With few segments that makes a window grow soon after a cut, and then slowly: more
than the cubic, or the Reno-friendly estimate, of real numbers. All times are in round-trip times
where nothing else is said.

Source: RFC 9438; the integers are those of Linux 6.18's tcp_cubic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from pi2_fluid.loop.acks.chain import Chain, Law, Rules

if TYPE_CHECKING:
    from pi2_fluid.laws.senders.cubic import Cubic

_PHASES: Final = 4  # exponential times between two growths
_LEAST: Final = 2  # segments
_GATE: Final = 1 / 32  # s, within which a window that stays is not looked at again
_SLOWEST: Final = 100  # windows a segment, at the plateau
_LEAST_COUNT: Final = 2  # acknowledged segments for one of growth
_SOON: Final = 0.02  # of a round trip: what two growths at once are apart here
_LONGEST: Final = 1000.0  # round trips, after which a window counts as at its largest
_LARGEST: Final = 2.0  # mean windows: a chain of Cubic scatters less than one of Reno


class Cut(NamedTuple):
    """Where a flow begins an epoch, at whose plateau it aims."""

    window: int
    """Before the cut."""
    fast: bool
    """Whether it was below its plateau, so that it aims lower (fast convergence)."""


class Path(NamedTuple):
    """What a flow's clock is made of."""

    rtt: float
    """s"""
    shortest: float
    """The smallest that it saw (s)."""
    pairs: bool
    """Whether an acknowledgement is of two segments."""


class CubicChain(Chain):
    """The states of a Cubic flow: a cut, how many segments have grown since, and phases between.

    Parameters
    ----------
    window : float
        Mean (segments), for which there are states enough.
    law : Cubic
    path : Path
    noticed : float or None
        As in `Law`.
    """

    reach = _LARGEST

    def __init__(self, window: float, law: Cubic, path: Path, noticed: float | None) -> None:
        self.sender, self.path = law, path
        super().__init__(window, Rules(), Law(float(law.decrease), float(law.increase), noticed))

    def _moves(self) -> Iterator[tuple[int, int, float, float]]:
        for window in range(_LEAST, self.highest + 1):
            for fast in (False, True):
                cut = Cut(window, fast)
                yield from self._cutting(cut)
                yield from self._growing(cut)

    def _cutting(self, cut: Cut) -> Iterator[tuple[int, int, float, float]]:
        steps = self._reductions(cut.window)
        for k, (lasts, held) in enumerate(steps):
            here = self._state(held, 1, cut.window, cut.fast, k)
            if k + 1 < len(steps):
                after = self._state(steps[k + 1][1], 1, cut.window, cut.fast, k + 1)
            else:
                after = self._grown(cut, 0, 0)
            yield here, after, 1.0 / lasts, 0.0

    def _growing(self, cut: Cut) -> Iterator[tuple[int, int, float, float]]:
        start, plateau = self._after(cut.window), self._plateau(cut)
        most = self.highest - start
        waits = growth(self.sender, start, plateau, self.path, most)
        for grown in range(most + 1):
            window = start + grown
            first = self._reductions(window)[0][1]
            hit = self._state(first, 1, window, window < plateau, 0)
            for phase in range(_PHASES):
                here = self._grown(cut, grown, phase)
                yield here, hit, 0.0, float(window)
                if grown < len(waits):
                    last = phase + 1 == _PHASES
                    ahead = self._grown(cut, grown + last, 0 if last else phase + 1)
                    yield here, ahead, _PHASES / max(waits[grown], _SOON), 0.0

    def _grown(self, cut: Cut, grown: int, phase: int) -> int:
        window = float(self._after(cut.window) + grown)
        return self._state(window, 0, cut.window, cut.fast, grown, phase)

    def _plateau(self, cut: Cut) -> int:
        if not cut.fast:
            return cut.window
        return int(cut.window * (1.0 - self.law.decrease / 2.0) + 1e-6)


def growth(sender: Cubic, start: int, plateau: int, path: Path, most: int) -> list[float]:
    """Return how many round trips a window stays before each of `most` growths after a cut.

    Parameters
    ----------
    sender : Cubic
    start : int
        Window after the cut (segments).
    plateau : int
        Window at which the cubic is flat.
    path : Path
    most : int

    Returns
    -------
    list of float
        Shorter than `most` if the window stays as it is for a thousand round trips.
    """
    c, friendly_rate = float(sender.c), float(sender.increase)
    climb = max(plateau - start, 0)
    turn, origin = (climb / c) ** (1.0 / 3.0), max(plateau, start)
    window, friendly, counter, acked = start, start, 0, 0
    now = grew = 0.0
    seen: tuple[int, float] = (0, -1.0)
    count = _SLOWEST * window
    waits: list[float] = []
    each = 2 if path.pairs else 1
    while len(waits) < most and now - grew < _LONGEST * path.rtt:
        now += each / window * path.rtt
        acked += each
        if seen[0] != window or now - seen[1] > _GATE:
            seen = (window, now)
            off = now + path.shortest - turn
            below = int(c * abs(off) ** 3)
            ahead = (origin - below if off < 0.0 else origin + below) - window
            count = window // ahead if ahead > 0 else _SLOWEST * window
            per = max(int(window / friendly_rate), 1)
            while acked > per:
                acked, friendly = acked - per, friendly + 1
            if friendly > window:
                count = min(count, window // (friendly - window))
            count = max(count, _LEAST_COUNT)
        before = window
        if counter >= count:
            counter, window = 0, window + 1
        counter += each
        more, counter = divmod(counter, count)
        window += more
        for _ in range(window - before):
            waits.append((now - grew) / path.rtt)
            grew = now
    return waits[:most]
