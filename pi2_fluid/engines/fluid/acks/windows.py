"""A window that moves with acknowledgements: its law's growth, and its cuts as they are obeyed."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from pi2_fluid.engines.fluid.acks.counts import Cursor, Grid, count_at, integral_at
from pi2_fluid.engines.fluid.acks.pauses import Counted, Pauses
from pi2_fluid.engines.fluid.blame import LAW_ERRORS, OUR_ERRORS, blame_acked
from pi2_fluid.laws.sender import Sender

_LEAST: Final = 0.01  # segments, at which a window is held that its law would carry below


class Moved(NamedTuple):
    """A window after a step."""

    size: float
    """Segments."""
    rest: tuple[float, ...]
    """The other states of the law."""
    grown: float
    """Segments that it has grown by, less the cuts that are obeyed at once."""
    cut: float
    """Segments cut that are obeyed over a round trip."""
    cut_integral: float
    expected: float
    """Signals per flow since it began in slow start."""
    speed: tuple[float, ...]
    """Change of every state per second in the last step, which leads to the middle of the next."""
    counted: Counted | None = None
    """Of flows that pause after a reduction."""


class Window:
    """The window of one class.

    What proportional rate reduction is told to cut at once it removes over one round trip. With
    X the sum of all cuts and G that of all growth, the window is G less the mean of X over the last
    R, the round-trip time at rest.

    Parameters
    ----------
    sender : Sender
        Its law.
    state : tuple of float
        Of the law; the window first.
    round_trip : float
        The time (s) that a reduction takes.
    cutting : float
        Segments per second cut in the past, which goes on as it is.
    times : Grid
        The instants of steps.
    slow : bool
        Whether it is in slow start.
    hearing : tuple of float
        Acknowledgements, and signals among them, per second in the past.
    """

    def __init__(
        self,
        sender: Sender,
        state: tuple[float, ...],
        round_trip: float,
        cutting: float,
        times: Grid,
        *,
        slow: bool,
        hearing: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self.sender, self.round_trip, self.times, self.slow = sender, round_trip, times, slow
        self.spreads, self.cutting = sender.reduction == "prr", cutting
        self.late = sender.reduction == "late"
        self.per_round_trip = 1.0 / round_trip
        self.cuts = [cutting * t for t in times]
        self.integrals = [0.5 * cutting * t * t for t in times]
        self.ago = Cursor(times)
        obeyed = 0.5 if self.spreads else float(self.late)
        grown = state[0] - obeyed * cutting * round_trip
        self.pauses = Pauses(*hearing, round_trip, times) if sender.pauses else None
        self.now = Moved(state[0], state[1:], grown, 0.0, 0.0, 0.0, (0.0,) * len(state))

    def move(self, t: float, dt: float, acks: float, marks: float, rtt: float) -> Moved:
        """Return the window after a step that ends at `t`.

        Parameters
        ----------
        t, dt : float
            Its end and its length (s).
        acks, marks : float
            Acknowledgements of one flow in this step, and signals among them.
        rtt : float
            Round-trip time (s).
        """
        now = self.now
        if self.slow:
            size = now.size + acks
            counted = self.pauses.wait(dt) if self.pauses else None
            return now._replace(
                size=size,
                grown=now.grown + acks,
                expected=now.expected + marks,
                rest=now.rest,
                counted=counted,
            )
        then = self._integral_then(t) if self.spreads else 0.0
        obeyed = self._cut_then(t) if self.late else 0.0
        part = self.pauses.open(t, dt, marks) if self.pauses else 1.0
        per_second = 1.0 / dt
        middle = max(_LEAST, now.size + 0.5 * dt * now.speed[0])
        others = (x + 0.5 * dt * v for x, v in zip(now.rest, now.speed[1:], strict=True))
        acknowledged, heard = part * acks * per_second, part * marks * per_second
        changes, cut = self._ask(t, (middle, *others), acknowledged, heard, rtt)
        rest = tuple(x + v * dt for x, v in zip(now.rest, changes[1:], strict=True))
        growth, fallen = changes[0] * dt, cut * dt
        counted = None
        if self.pauses:
            counted = self.pauses.count(t, dt, middle, acks, marks, part)
            growth += counted.grown - self.pauses.counts[-1].grown if self.sender.counts else 0.0
        total = integral = 0.0
        if self.late:
            grown, total = now.grown + growth, now.cut + fallen
            size = grown - obeyed
        elif not self.spreads:
            grown = now.grown + growth - fallen
            size = grown
        else:
            grown, total = now.grown + growth, now.cut + fallen
            integral = now.cut_integral + 0.5 * dt * (now.cut + total)
            size = grown - (integral - then) * self.per_round_trip
        if size < _LEAST:
            grown, size = grown + _LEAST - size, _LEAST
        speed = ((size - now.size) * per_second, *changes[1:])
        return Moved(size, rest, grown, total, integral, now.expected, speed, counted)

    def _ask(
        self, t: float, state: tuple[float, ...], acks: float, marks: float, rtt: float
    ) -> tuple[tuple[float, ...], float]:
        """Return what the law changes per second at `t`, and what it cuts."""
        x: Any = state if len(state) > 1 else state[0]
        try:
            change, cut = self.sender.acked(x, acks, marks, rtt)
        except OUR_ERRORS:
            raise
        except LAW_ERRORS as error:
            raise blame_acked(self.sender, t, state, rtt, error) from error
        changes = tuple(map(float, change)) if len(state) > 1 else (float(change),)
        if not math.isfinite(sum(changes) + cut):
            raise blame_acked(self.sender, t, state, rtt, None)
        return changes, float(cut)

    def rest(self, dt: float) -> Moved:
        """Return the window after a step in which its flows send nothing, and it is held.

        No more is cut then, but the time goes on over which cuts are obeyed.
        """
        integral = self.now.cut_integral + dt * self.now.cut
        return self.now._replace(cut_integral=integral, counted=None)

    def keep(self, moved: Moved) -> None:
        """Take a step for good; slow start ends where one signal per flow has come."""
        self.now = moved
        self.cuts.append(moved.cut)
        self.integrals.append(moved.cut_integral)
        if self.pauses:
            self.pauses.counts.append(moved.counted or self.pauses.counts[-1])

    def copy(self, other: Window) -> None:
        """Begin as another class's window is now, reductions under way included.

        What of these a window that was held has not obeyed, it never will.
        """
        self.now, self.slow = other.now, other.slow
        self.cuts, self.integrals = list(other.cuts), list(other.integrals)
        if self.spreads:
            mean = (
                self.now.cut_integral - self._integral_then(self.times[-1])
            ) * self.per_round_trip
            self.now = self.now._replace(grown=self.now.size + mean)
        if self.late:
            self.now = self.now._replace(grown=self.now.size + self._cut_then(self.times[-1]))
        if self.pauses and other.pauses:
            self.pauses.counts = list(other.pauses.counts)

    def _cut_then(self, t: float) -> float:
        """Return the cuts until one round trip before `t`."""
        return count_at(self.cuts, self.ago.place(t - self.round_trip))

    def _integral_then(self, t: float) -> float:
        """Return the integral of the cuts until one round trip before `t`."""
        before = self.ago.place(t - self.round_trip)
        return integral_at(self.times, self.cuts, self.integrals, before)

    def leave_slow_start(self) -> None:
        """Begin congestion avoidance at the window reached."""
        now, self.slow = self.now, False
        state: Any = (now.size, *now.rest) if now.rest else now.size
        after = self.sender.leave_slow_start(state)
        size, *rest = after if isinstance(after, tuple) else (after,)
        grown = now.grown + float(size) - now.size
        self.now = now._replace(
            size=float(size),
            rest=tuple(map(float, rest)),
            grown=grown,
            speed=(0.0,) * (1 + len(rest)),
        )
