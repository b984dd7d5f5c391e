"""The event-aligned Runge-Kutta method: order 4 through clips, jumps and their delayed images.

A step never reaches across an instant at which the equations are not smooth. Those are known
beforehand (the controllers' ticks, changes of load and capacity), or found on the way (a queue
empties, a clip is reached or left, a law switches), or they are *images*: the delayed time of who
reads the past passes a breakpoint of it. The latter two are located from a trial step, and the step
is then taken again to exactly there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from pi2_fluid.engines.fluid.accuracy import Accuracy
from pi2_fluid.engines.fluid.blame import blame_kink, require_probability
from pi2_fluid.engines.fluid.oracle.arrival import Arrivals
from pi2_fluid.engines.fluid.oracle.events import Event, Trial, crossed_events, locate_event
from pi2_fluid.engines.fluid.oracle.instants import Row
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.timeline import SAME, Schedule
from pi2_fluid.errors import SolverError

_MOST_TRIALS: Final = 60
_LONGEST: Final = 1.8  # of a round-trip time: what is beyond it is taken too often again
_SILENT: Final = 0.0025  # of the tolerance: an error that would let a step grow more than 4 times
_ROUNDED: Final = 1e-15  # of an instant: the rounding of one that a step is to end at
_MENDED: Final = 1e-3  # of a step, over which the slope of an event's function is taken
_MOST_MENDINGS: Final = 6
# So many steps that lead no further than this part of a round-trip time are steps that vanish.
_CROWD: Final = 1000
_PACE: Final = 0.01


class Run(Arrivals):
    """One trajectory in the making."""

    def __init__(self, plant: Plant, schedule: Schedule, accuracy: Accuracy) -> None:
        super().__init__(plant, schedule, accuracy)
        self.taken, self.stalled = 0, 0
        self.pace = (0, 0.0)  # how many steps were taken when it was last looked at, and when
        self.mode = self.mode._replace(signalling=True)
        self._happen(None)
        self.y, self.mode = plant.hold_bounds(self.t, self.y, self.mode)
        self._take_sides(self.mode)
        self.f, self.view = self._slope(self.t, self.y)

    def follow(self, samples: Sequence[float]) -> Iterator[Row]:
        """Yield the state at each of the times `samples` (s, rising), after what happens then.

        Raises
        ------
        SolverError
            If the steps become too small or too many.
        """
        place = 0
        while place < len(samples):
            segment = self.history.segments[-1]
            while place < len(samples) and samples[place] < self.t - SAME:
                yield self.reporter.report(
                    samples[place], segment.values(samples[place]), segment.mode
                )
                place += 1
            while place < len(samples) and samples[place] <= self.t + SAME:
                yield self.reporter.report(self.t, self.y, self.mode)
                place += 1
            if place < len(samples):
                self.advance()

    # One step

    def advance(self) -> None:
        """Take one step, to the next event at the latest, and do what happens there."""
        self._skip_silence()
        scheduled = self.schedule.next_after(self.t)
        trial, longest, target = self._first_trial()
        whole = trial
        trial, event = self._stop_at_event(trial)
        if event is not None:
            longest = trial.t - self.t
        reached = trial.t
        trial, images = self._stop_at_image(trial, longest, target)
        if trial.t < reached:
            event = None
        elif trial.t > reached:  # the search for the image has gone on beyond what was looked at
            trial, event = self._stop_at_event(trial)
            images = images if event is None else {}
        if self.accuracy.tolerance > 0.0:
            self._propose(whole.t - self.t, whole.error)
        else:
            self.proposal = self.accuracy.step
        if trial.t > self.t:
            self.history.append(self._segment(trial))
        if not math.isfinite(sum(trial.y)):
            self._require_numbers()
            raise SolverError(
                f"the trajectory is no longer finite at t = {trial.t:g} s: give a shorter step, or"
                " a scenario of less extreme numbers."
            )
        before = self.t
        self.t, self.y, self.f, self.view = trial.t, trial.y, trial.f, trial.view
        self.taken += 1
        self.stalled = 0 if self.t > before else self.stalled + 1
        self.smooth = event is None and not images and self.t + SAME < scheduled
        self._require_progress(event)
        if self.smooth:
            self._stand()
        else:
            self._arrive(event, images)
        for (law, where), signals in zip(self.plant.laws, self.view.signals, strict=True):
            require_probability(law, self.t, self.y[where], signals)

    def _skip_silence(self) -> None:
        """Go on to what entered next, where nothing had entered for a while."""
        for reader, place in self.plant.entries(self.mode):
            mine = self.readers[reader]
            while place is not None and self.f[place] <= 0.0 and mine.place + 1 < len(mine.times):
                mine.place += 1
                self.y = [*self.y]
                self.y[place] = mine.times[mine.place]
                self._stand()
                self.f, self.view = self._slope(self.t, self.y)

    def _require_progress(self, event: Event | None) -> None:
        """Give up where steps are too many, or so short that the end is out of reach."""
        stuck = self.stalled > _MOST_TRIALS
        taken, since = self.pace
        if self.taken - taken >= _CROWD or stuck:
            shortest = min((self.view.rtt[i] for i in self._hearing()), default=0.0)
            if self.t - since < _PACE * shortest and self.accuracy.tolerance > 0.0:
                raise blame_kink(self.plant, self.history.segments[-1], self.view)
            self.pace = (self.taken, self.t)
        if stuck and event is not None and event.kind == "side":
            raise blame_kink(self.plant, self.history.segments[-1], self.view)
        if self.taken > self.accuracy.most_steps or stuck:
            raise SolverError(self.accuracy.explain_end(self.taken, self.t))

    def _hearing(self) -> Iterator[int]:
        """Yield the classes that hear anything now."""
        for i, (active, listens) in enumerate(
            zip(self.mode.active, self.plant.listens, strict=True)
        ):
            if active and listens:
                yield i

    def _first_trial(self) -> tuple[Trial, float, int | None]:
        """Take a step as long as allowed, or to where the image of some reader is expected.

        Returns the step, how long it could have been, and that reader.
        """
        left = self.schedule.next_after(self.t) - self.t
        h = min(self.accuracy.step, self.proposal)
        h = min(h, *(_LONGEST * self.view.rtt[i] for i in self._hearing()), math.inf)
        if self.accuracy.tolerance > 0.0:
            self.proposal = h
        # Two equal steps rather than a long and a tiny one.
        h = left if h >= left else min(h, 0.5 * left) if 2.0 * h > left else h
        while True:
            shorter, target = self._predict_image(h)
            trial = self._try(shorter)
            if trial.error <= 1.0 or h <= 16.0 * SAME:
                return trial, h, target
            self.proposal = h = shorter * max(0.2, 0.9 * trial.error**-0.25)

    def _propose(self, h: float, error: float) -> None:
        """Say how long the next step may be, from the error of one of length `h`.

        One that was cut short for an image, and is too short for its error to say anything, makes
        those to come no shorter than half of what it could have been.
        """
        if error <= _SILENT:
            self.proposal = max(4.0 * h, 0.5 * self.proposal)
        else:
            self.proposal = h * max(0.2, 0.9 * error**-0.25)

    # State events

    def _stop_at_event(self, trial: Trial) -> tuple[Trial, Event | None]:
        """End the step at the first event in it, if there is one."""
        first, where = None, 1.0
        start = self._start()
        for event in crossed_events(self.plant, self.mode, trial, start, self._past):
            place = locate_event(self._segment(trial), event)
            if first is None or place < where:
                first, where = event, place
        if first is None:
            return trial, None
        longest = trial.t - self.t
        return self._step_to(where * longest, longest, first), first

    def _step_to(self, h: float, longest: float, event: Event) -> Trial:
        """Take a step that ends at an event, which the cubic of the `longest` has placed at `h`.

        Where that cubic is poor (a long step, a steep queue) the place is mended by the slope that
        the event's own function has at the end of the step.
        """
        for _ in range(_MOST_MENDINGS):
            trial = self._try(h)
            if h <= 0.0:
                break
            step = self._segment(trial)
            back = self.t + (1.0 - _MENDED) * h
            now = event.value(trial.t, trial.y)
            speed = (now - event.value(back, step.values(back))) / (_MENDED * h)
            if speed >= 0.0 or abs(now) <= -speed * self.accuracy.close:
                break
            h = min(max(h - now / speed, 0.5 * h), longest)
        return trial

    # Images of breakpoints

    def _predict_image(self, h: float) -> tuple[float, int | None]:
        """Shorten a step to where the first image is expected, to first order in its length."""
        target, start = None, self._start()
        for reader, stretch in enumerate(self._stretches()):
            delayed = self._delayed(reader, start)
            if delayed is None:
                continue
            d, speed = delayed
            bound = stretch.high if speed > 0.0 else stretch.low
            open_ended = speed > 0.0 and stretch.open
            if speed == 0.0 or open_ended or not math.isfinite(bound):
                continue
            ahead = (bound - d) / speed
            if self.accuracy.close < ahead < h:
                h, target = ahead, reader
        return h, target

    def _stop_at_image(
        self, trial: Trial, longest: float, target: int | None
    ) -> tuple[Trial, dict[int, int]]:
        """End the step where the first image comes, if it does; return which readers pass one.

        Newton's method on the length of the step, which stays below `longest`.
        """
        close = self.accuracy.close
        for _ in range(_MOST_TRIALS):
            images, wanted = {}, math.inf
            h, sought = trial.t - self.t, target
            for reader, stretch in enumerate(self._stretches()):
                delayed = self._delayed(reader, trial)
                if delayed is None:
                    continue
                d, speed = delayed
                under, over = stretch.low - d, -math.inf if stretch.open else d - stretch.high
                beyond, side = max(under, over), 1 if over > under else -1
                onward = speed * side > 0.0
                # Where the delay changes much faster than time goes on, as when hardly anything is
                # served, no nearer than the rounding of the time allows.
                if abs(beyond) <= max(close, _ROUNDED * trial.t * abs(speed)):
                    if onward:
                        images[reader] = side
                elif beyond > 0.0 or (reader == sought and -beyond < 0.1 * h and onward):
                    # Whoever is beyond comes first: from now on the step is to end there.
                    length = h - beyond / (abs(speed) if onward else 1.0)
                    if length < wanted:
                        wanted, target = length, reader
            if wanted == math.inf or (wanted >= h and images):
                return trial, images
            if wanted > h:
                if wanted > longest:
                    return trial, images
            else:
                longest = h
                wanted = wanted if wanted > 0.0 else 0.5 * h
            trial = self._try(wanted)
        raise SolverError(
            f"the delayed image of an event was not found near t = {self.t:g} s: give a"
            " shorter step, or another tolerance."
        )

    def _start(self) -> Trial:
        """Return the present, as a step that leads nowhere."""
        return Trial(self.t, self.y, self.f, self.view, 0.0)

    def _delayed(self, reader: int, at: Trial) -> tuple[float, float] | None:
        return self.plant.delayed(reader, at.t, at.y, at.f, at.view, self.mode)
