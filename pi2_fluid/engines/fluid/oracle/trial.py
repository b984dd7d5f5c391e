"""One step by Kutta's three-eighths rule, which may still be rejected.

The slope at the end is a fifth stage: it is the next step's first and the cubic's end slope.
``h/24 (k1 - 3 k2 + 3 k3 + 3 k4 - 4 k5)`` is the difference from a method of order 3, which
estimates the error. Its four instants tell the third derivative of what is heard from the past,
which the rule with two stages in the middle cannot: it has three, through which a cubic always
fits.

Delays may be shorter than a step: a round trip, the time over a hop, or a queue that has just begun
to grow. Then what is read is the step in the making, at first as the one before goes on, and the
step is taken again until what it has read of itself is what has come out.

How long a step may be that adapts, that estimate says; over several links a second one, too: how
far the step's cubics, which others read, are from the equations where these are asked once more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from pi2_fluid.engines.fluid.accuracy import Accuracy
from pi2_fluid.engines.fluid.blame import LAW_ERRORS, OUR_ERRORS, blame_failure
from pi2_fluid.engines.fluid.oracle.events import Trial
from pi2_fluid.engines.fluid.oracle.history import History, Reader, Segment, Stretch
from pi2_fluid.engines.fluid.oracle.instants import Reporter
from pi2_fluid.engines.fluid.oracle.past import Past
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.oracle.state import Heard, View
from pi2_fluid.engines.fluid.timeline import SAME, Schedule
from pi2_fluid.errors import SolverError

_THIRD: Final = 1.0 / 3.0
_MOST_PASSES: Final = 8  # of a step that reads itself
_AGREED: Final = 0.3  # of the tolerance: what it may have misread of itself
_ENOUGH: Final = 1e-13  # instead, when steps do not adapt
# Parts of both estimates of a step's error. Each vanishes now and then, where the other does not;
# by these the errors of all trajectories that were measured are a few times the tolerance.
_BY_ENDS: Final = 0.5
_BY_DEFECT: Final = 0.6


class Trials:
    """A trajectory in the making, and steps that it might take."""

    def __init__(self, plant: Plant, schedule: Schedule, accuracy: Accuracy) -> None:
        self.plant, self.schedule, self.accuracy = plant, schedule, accuracy
        self.t = 0.0
        self.y, self.mode = plant.initial()
        self.f, self.proposal = [0.0] * len(self.y), accuracy.step
        self.history = History(self.y, self.mode)
        self.smooth = False  # whether the step before ended at nothing
        self.readers = [Reader() for _ in range(plant.group_count)]
        self.past = Past(self.history, self.readers)
        self.reporter = Reporter(plant, self.history)
        plant.attach(self.past)
        self.view = plant.observe(self.t, self.y, self.mode)

    def _try(self, h: float) -> Trial:
        """Take a step of length `h`, in any case."""
        end = self.t + h
        if abs(end - self.schedule.next_after(self.t)) <= SAME:
            end = self.schedule.next_after(self.t)
        h = end - self.t  # as represented: else the error of the time adds up
        self.past.readable = not self.plant.at_once or self.plant.nearest(self.mode) <= h
        if not self.past.readable:
            return self._pass_over(h, end)
        if h <= 0.0:
            self.past.stand(self.t, self.y, self.mode)
            return self._pass_over(h, end)
        trial, settled = self._settle(h, end)
        if self.accuracy.tolerance == 0.0:
            return trial
        error = trial.error
        if not self.plant.at_once:
            error = max(_BY_ENDS * error, _BY_DEFECT * self._defect(trial))
        return trial._replace(error=error if settled else max(error, 2.0))

    def _settle(self, h: float, end: float) -> tuple[Trial, bool]:
        """Take a step until it has read of itself what comes out; say whether it has."""
        self.past.ahead = self._foresee(end)
        for _ in range(_MOST_PASSES):
            self.past.begin_pass()
            trial = self._pass_over(h, end)
            if not self.past.overlaps:
                return trial, True
            foreseen, self.past.ahead = self.past.ahead, self._segment(trial)
            if self._misread(foreseen, trial) <= self._allowed:
                slopes, view = self._slope(end, trial.y)  # the next step goes on with these
                return trial._replace(f=slopes, view=view), True
        return trial, False

    @property
    def _allowed(self) -> float:
        """What a step may have misread of itself."""
        return _AGREED * self.accuracy.tolerance or _ENOUGH

    def _foresee(self, end: float) -> Segment:
        """Return the step as it is read at first.

        Bends of the step before that are too small to matter are what its own passes have left, and
        would grow if they were carried on.
        """
        h, f = end - self.t, self.f
        straight = [a + h * b for a, b in zip(self.y, f, strict=True)]
        foreseen = Segment(self.t, end, self.y, straight, f, [*f], self.mode)
        if self.smooth:
            last = self.history.segments[-1]
            bent = last.continued(end, f)._replace(mode=self.mode)
            # One as long as the step before: by how much it would be bent away.
            whole = last.end - last.start
            same = last.continued(self.t + whole, f)
            for j, size in self._scales():
                off = abs(same.y1[j] - (self.y[j] + whole * f[j]))
                if off > self._allowed * size:
                    foreseen.y1[j], foreseen.f1[j] = bent.y1[j], bent.f1[j]
        return foreseen

    def _scales(self) -> list[tuple[int, float]]:
        """Return of each component by what an error of it is divided."""
        found = [(j, abs(self.y[j]) + size) for j, size in self.plant.sizes(self.mode)]
        sizes = dict(found)
        first = self.plant.arrived
        return found + [(first + queue, sizes[queue]) for queue in range(self.plant.bands)]

    def _misread(self, foreseen: Segment, trial: Trial) -> float:
        """Return how far what a step has read of itself is from what it has become."""
        worst, made = 0.0, self.past.ahead
        sizes = dict(self.plant.sizes(self.mode))
        for reader, deepest in self.past.depths.items():
            t = min(deepest, trial.t)
            was, is_now = foreseen.weights(t), made.weights(t)
            for j in self.plant.reads[reader]:
                off = abs(made.value(is_now, j) - foreseen.value(was, j))
                worst = max(worst, off / (abs(trial.y[j]) + sizes[j]))
        return worst

    def _pass_over(self, h: float, end: float) -> Trial:
        t, y, k1 = self.t, self.y, self.f
        third = _THIRD * h
        stage = [a + third * b for a, b in zip(y, k1, strict=True)]
        k2, _ = self._slope(t + third, stage)
        stage = [(a - third * b) + h * c for a, b, c in zip(y, k1, k2, strict=True)]
        k3, _ = self._slope(t + 2.0 * third, stage)
        stage = [(a + h * (b - c)) + h * d for a, b, c, d in zip(y, k1, k2, k3, strict=True)]
        k4, _ = self._slope(end, stage)
        new = [
            a + h / 8.0 * ((b + 3.0 * (c + d)) + e)
            for a, b, c, d, e in zip(y, k1, k2, k3, k4, strict=True)
        ]
        k5, view = self._slope(end, new)
        return Trial(end, new, k5, view, self._error(h, new, (k1, k2, k3, k4, k5)))

    def _segment(self, trial: Trial) -> Segment:
        return Segment(self.t, trial.t, self.y, trial.y, self.f, trial.f, self.mode)

    def _error(self, h: float, y: list[float], slopes: Sequence[list[float]]) -> float:
        worst = 0.0
        for j, size in self.plant.sizes(self.mode):
            k1, k2, k3, k4, k5 = (k[j] for k in slopes)
            off = (k1 - k2) + 2.0 * (k3 - k2) + (k3 - k5) + 3.0 * (k4 - k5)
            worst = max(worst, abs(off) / (abs(y[j]) + size))
        return h / 24.0 * worst / self.accuracy.allowed

    def _defect(self, trial: Trial) -> float:
        """Return how far the step's cubics are from the equations at a quarter of it.

        In units of the tolerance. What the step's end is off by enters with a weight of 9/8, and so
        does, with its jump, a kink that nobody has marked.
        """
        h, step = trial.t - self.t, self._segment(trial)
        quarter = self.t + 0.25 * h
        slopes, _ = self._slope(quarter, step.values(quarter))
        worst = 0.0
        for j, size in self.plant.sizes(self.mode):
            rise = (trial.y[j] - self.y[j]) / h
            slope = 1.125 * rise + 0.1875 * self.f[j] - 0.3125 * trial.f[j]
            worst = max(worst, abs(slopes[j] - slope) / (abs(trial.y[j]) + size))
        return h * worst / self.accuracy.tolerance

    # Reading the past

    def _stretches(self) -> list[Stretch]:
        return [self.past.stretch(reader) for reader in range(len(self.readers))]

    def _slope(self, t: float, y: list[float]) -> tuple[list[float], View]:
        try:
            view = self.plant.observe(t, y, self.mode)
            heard = self.plant.past(t, view, self.mode)
            return self.plant.derivative(y, self.mode, view, heard), view
        except OUR_ERRORS:
            raise
        except LAW_ERRORS as error:
            raise self._blame(t, y, error) from error

    def _past(self, t: float, view: View) -> list[Heard | None]:
        """Return what each class hears now: its state, signal and round-trip time of then."""
        return self.plant.past(t, view, self.mode)

    def _blame(self, t: float, y: list[float], error: Exception | None) -> SolverError:
        def past(view: View) -> list[Heard | None]:
            return self._past(t, view)

        return blame_failure(self.plant, t, y, self.mode, past, error)

    def _require_numbers(self) -> None:
        """Name the law that returns no number in the present state, if it is a law."""
        slopes, view = self._slope(self.t, self.y)
        if not math.isfinite(sum(slopes) + sum(map(sum, view.signals))):
            raise self._blame(self.t, self.y, None)
