"""The event-aligned Runge-Kutta method: order 4 through clips, jumps and their delayed images.

A step never reaches across an instant at which the equations are not smooth. Those are known
beforehand (the controller's ticks, changes of load and capacity), or found on the way (a queue
empties, a clip is reached or left, a law switches), or they are *images*: the delayed time of a
group of classes passes a breakpoint of the past. The latter two are located from a trial step,
and the step is then taken again to exactly there.

Kutta's three-eighths rule with the slope at the end as fifth stage: it is the next step's first and
the cubic's end slope. ``h/24 (k1 - 3 k2 + 3 k3 + 3 k4 - 4 k5)`` is the difference from a method of
order 3, which estimates the error when the step is adaptive. Its four instants tell the third
derivative of what is heard from the past, which the rule with two stages in the middle cannot: it
has three, through which a cubic always fits.

A step that adapts may be longer than a delay, and then reads itself: at first as the cubic of the
step before goes on, then as it has come out, until both are the same to a part of the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pi2_fluid.engines.fluid.blame import (
    LAW_ERRORS,
    OUR_ERRORS,
    blame_failure,
    blame_kink,
    require_probability,
)
from pi2_fluid.engines.fluid.events import Event, Trial, apply_event, crossed_events, locate_event
from pi2_fluid.engines.fluid.history import History, Reader, Segment, Stretch
from pi2_fluid.engines.fluid.instants import Reporter, Row
from pi2_fluid.engines.fluid.plant import Plant
from pi2_fluid.engines.fluid.state import EMPTY, Heard, Mode, View
from pi2_fluid.engines.fluid.timeline import SAME, Schedule
from pi2_fluid.errors import SolverError

_MOST_TRIALS: Final = 60
_THIRD: Final = 1.0 / 3.0
# Of a round-trip time: so that no stage needs a past that is not there yet, and where it can be
# foretold. The queue itself settles within one, which steps of 2.8 do not follow.
_LONGEST: Final = 0.9
_LONGEST_FORETOLD: Final = 2.0
_SILENT: Final = 0.0025  # of the tolerance: an error that would let a step grow more than 4 times
_MOST_PASSES: Final = 4  # of a step that reads itself
_COARSEST: Final = 0.1  # the tolerance where none is given: then a step is shorter than asked for
_ROUNDED: Final = 1e-15  # of an instant: the rounding of one that a step is to end at
_AGREED: Final = 0.3  # of the tolerance: what it may have misread of itself
_MENDED: Final = 1e-3  # of a step, over which the slope of an event's function is taken
_MOST_MENDINGS: Final = 6
NEGLIGIBLE: Final = 0.1  # of the tolerance: jumps below it are stepped over
_FIXED: Final = 1e-9  # as a tolerance, of jumps of signals, when steps do not adapt
# So many steps that lead no further than this part of a round-trip time are steps that vanish.
_CROWD: Final = 1000
_PACE: Final = 0.01


class Accuracy(NamedTuple):
    """How long steps are: at tolerance 0 all of length `step`, else as the tolerance allows.

    Those of a fixed length are cut where they would be off by a tenth of the state: beyond, what
    they do not follow grows from step to step.
    """

    step: float
    tolerance: float
    most_steps: int = 20_000_000

    @property
    def allowed(self) -> float:
        """What a step may be off by, as a part of the state."""
        return self.tolerance or _COARSEST

    @property
    def negligible(self) -> float:
        """Jumps of what signals do in a round trip, as a part of the state, that are none."""
        return NEGLIGIBLE * (self.tolerance or _FIXED)

    @property
    def close(self) -> float:
        """How near the image of a breakpoint must be hit (s)."""
        return max(SAME, 1e-3 * self.tolerance)

    def explain_end(self, taken: int, t: float) -> str:
        """Return why a trajectory went no further than `t` (s), after so many steps."""
        remedy = "shorten the duration, raise base_rtt, or give a longer step"
        if self.tolerance == 0.0 and taken <= self.most_steps:
            remedy = (
                f"what falls there does so faster than steps of {self.step:g} s can follow, so give"
                " a shorter step, or a tolerance"
            )
        return f"the trajectory took {taken} steps to t = {t:g} s and came no further: {remedy}."


class Run:
    """One trajectory in the making."""

    def __init__(self, plant: Plant, schedule: Schedule, accuracy: Accuracy) -> None:
        self.plant, self.schedule, self.accuracy = plant, schedule, accuracy
        self.t, self.taken, self.stalled = 0.0, 0, 0
        self.pace = (0, 0.0)  # how many steps were taken when it was last looked at, and when
        self.proposal = accuracy.step
        self.y, before = plant.initial()
        self.history = History(self.y, before)
        self.smooth = False  # whether the step before ended at nothing
        self.overlaps = False  # whether the step in the making can be read,
        self.ahead = self.history.segments[-1]  # and what is read of it
        self.readers = [Reader() for _ in range(plant.group_count)]
        self.reporter = Reporter(plant, self.history)
        self._begin()
        self.mode = before._replace(signalling=True)
        self._happen(None)
        self.y, self.mode = plant.hold_bounds(self.t, self.y, self.mode)
        self._take_sides()
        self.f, self.view = self._slope(self.t, self.y, self._stretches())

    def _begin(self) -> None:
        """Do what is needed before anything is read."""

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
        stretches, scheduled = self._stretches(), self.schedule.next_after(self.t)
        trial, longest, target = self._first_trial(stretches)
        whole = trial
        trial, event = self._stop_at_event(trial, stretches)
        if event is not None:
            longest = trial.t - self.t
        reached = trial.t
        trial, images = self._stop_at_image(trial, stretches, longest, target)
        if trial.t < reached:
            event = None
        elif trial.t > reached:  # the search for the image has gone on beyond what was looked at
            trial, event = self._stop_at_event(trial, stretches)
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
        self.overlaps = False
        self.smooth = event is None and not images and trial.t + SAME < scheduled
        before, slopes = self.t, trial.f
        self.t, self.y, self.view = trial.t, trial.y, trial.view
        self.taken += 1
        self.stalled = 0 if self.t > before else self.stalled + 1
        self._require_progress()
        if self.stalled > _MOST_TRIALS and event is not None and event.kind == "side":
            raise blame_kink(self.plant, self.history.segments[-1], self.view)
        if self.taken > self.accuracy.most_steps or self.stalled > _MOST_TRIALS:
            raise SolverError(self.accuracy.explain_end(self.taken, self.t))
        if self._arrive(event, images, slopes):
            self.f, self.view = self._slope(self.t, self.y, self._stretches())
        else:
            self.f = slopes
        if self.plant.floors:  # a tangent may leave them
            for (law, where), signals in zip(self.plant.laws, self.view.signals, strict=True):
                require_probability(law, self.t, self.y[where], signals)

    def _require_numbers(self) -> None:
        """Name the law that returns no number in the present state, if it is a law."""
        slopes, view = self._slope(self.t, self.y, self._stretches())
        if not math.isfinite(sum(slopes) + sum(map(sum, view.signals))):
            raise self._blame(self.t, self.y, self._stretches(), None)

    def _require_progress(self) -> None:
        """Give up where steps are so short that the end is out of reach."""
        taken, since = self.pace
        if self.taken - taken < _CROWD and self.stalled <= _MOST_TRIALS:
            return
        hears = zip(self.view.rtt, self.mode.active, self.plant.listens, strict=True)
        shortest = min((rtt for rtt, *heeds in hears if all(heeds)), default=0.0)
        if self.t - since < _PACE * shortest and self.accuracy.tolerance > 0.0:
            raise blame_kink(self.plant, self.history.segments[-1], self.view)
        self.pace = (self.taken, self.t)

    def _blame(
        self, t: float, y: list[float], stretches: list[Stretch], error: Exception | None
    ) -> SolverError:
        def past(view: View) -> list[Heard | None]:
            return self._past(t, view, stretches)

        return blame_failure(self.plant, t, y, self.mode, past, error)

    def _first_trial(self, stretches: list[Stretch]) -> tuple[Trial, float, int | None]:
        """Take a step as long as allowed, or to where the image of some group is expected.

        Returns the step, how long it could have been, and that group.
        """
        left = self.schedule.next_after(self.t) - self.t
        h = min(self.accuracy.step, self.proposal)
        hears = zip(self.view.rtt, self.mode.active, self.plant.listens, strict=True)
        shortest = min((rtt for rtt, *heeds in hears if all(heeds)), default=math.inf)
        if h > _LONGEST * shortest:
            self.overlaps = self._can_foretell(stretches)
            h = min(h, (_LONGEST_FORETOLD if self.overlaps else _LONGEST) * shortest)
        if self.accuracy.tolerance > 0.0:
            self.proposal = h
        # Two equal steps rather than a long and a tiny one.
        h = left if h >= left else min(h, 0.5 * left) if 2.0 * h > left else h
        while True:
            shorter, target = self._predict_image(h, stretches)
            trial = self._try(shorter, stretches)
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

    def _can_foretell(self, stretches: list[Stretch]) -> bool:
        """Return whether what a step reads of itself can be foretold."""
        groups = {
            self.plant.group[i]
            for i, active in enumerate(self.mode.active)
            if active and self.plant.listens[i]
        }
        passed = all(stretches[group].open for group in groups)
        return self.accuracy.tolerance > 0.0 and self.smooth and passed

    def _try(self, h: float, stretches: list[Stretch]) -> Trial:
        if not self.overlaps:
            return self._pass_over(h, stretches)
        self.ahead = self.history.segments[-1].continued(self.t + h, self.f)
        for _ in range(_MOST_PASSES):
            trial = self._pass_over(h, stretches)
            foretold, self.ahead = self.ahead, self._segment(trial)
            if self._misread(foretold, trial) <= _AGREED * self.accuracy.tolerance:
                return trial
        return trial._replace(error=max(trial.error, 2.0))

    def _misread(self, foretold: Segment, trial: Trial) -> float:
        """Return how far what a step has read of itself is from what it has become."""
        depths = [
            trial.t - min(before, after)
            for before, after, active, listens in zip(
                self.view.rtt, trial.view.rtt, self.mode.active, self.plant.listens, strict=True
            )
            if active and listens
        ]
        deepest = max(depths, default=-math.inf)
        if deepest <= self.t:
            return 0.0
        read, found = foretold.values(deepest), self.ahead.values(deepest)
        sizes = self.plant.sizes(self.mode)
        return max(abs(found[j] - read[j]) / (abs(found[j]) + size) for j, size in sizes)

    def _pass_over(self, h: float, stretches: list[Stretch]) -> Trial:
        t, y, k1 = self.t, self.y, self.f
        end = t + h
        if abs(end - self.schedule.next_after(t)) <= SAME:
            end = self.schedule.next_after(t)
        h = end - t  # as represented: else the error of the time adds up
        third = _THIRD * h
        stage = [a + third * b for a, b in zip(y, k1, strict=True)]
        k2, _ = self._slope(t + third, stage, stretches)
        stage = [(a - third * b) + h * c for a, b, c in zip(y, k1, k2, strict=True)]
        k3, _ = self._slope(t + 2.0 * third, stage, stretches)
        stage = [(a + h * (b - c)) + h * d for a, b, c, d in zip(y, k1, k2, k3, strict=True)]
        k4, _ = self._slope(end, stage, stretches)
        new = [
            a + h / 8.0 * ((b + 3.0 * (c + d)) + e)
            for a, b, c, d, e in zip(y, k1, k2, k3, k4, strict=True)
        ]
        k5, view = self._slope(end, new, stretches)
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

    # Reading the past

    def _stretches(self) -> list[Stretch]:
        return [reader.stretch(self.history, self.t) for reader in self.readers]

    def _slope(
        self, t: float, y: list[float], stretches: list[Stretch]
    ) -> tuple[list[float], View]:
        try:
            view = self.plant.observe(t, y, self.mode)
            past = self._past(t, view, stretches)
            return self.plant.derivative(y, self.mode, view, past), view
        except OUR_ERRORS:
            raise
        except LAW_ERRORS as error:
            raise self._blame(t, y, stretches, error) from error

    def _past(self, t: float, view: View, stretches: list[Stretch]) -> list[Heard | None]:
        """Return what each class hears now: its state, signal and round-trip time of then."""

        def read(group: int, then: float) -> tuple[float, list[float], Mode]:
            return self._read(then, stretches[group])

        return self.plant.past(t, view, self.mode, read)

    def _read(self, t: float, stretch: Stretch) -> tuple[float, list[float], Mode]:
        if self.overlaps and t > self.t and stretch.open:
            return t, self.ahead.values(t), self.ahead.mode
        inside = min(max(t, stretch.low), stretch.high)
        segment = self.history.find(inside, stretch.first, stretch.last)
        t = segment.nearest(t)
        return t, segment.values(t), segment.mode

    # State events

    def _stop_at_event(self, trial: Trial, stretches: list[Stretch]) -> tuple[Trial, Event | None]:
        """End the step at the first event in it, if there is one."""
        first, where = None, 1.0
        mode = self.mode

        def past(t: float, view: View) -> list[Heard | None]:
            return self._past(t, view, stretches)

        for event in crossed_events(self.plant, mode, trial, past):
            place = locate_event(self._segment(trial), event)
            if first is None or place < where:
                first, where = event, place
        if first is None:
            return trial, None
        longest = trial.t - self.t
        return self._step_to(where * longest, longest, first, stretches), first

    def _step_to(self, h: float, longest: float, event: Event, stretches: list[Stretch]) -> Trial:
        """Take a step that ends at an event, which the cubic of the `longest` has placed at `h`.

        Where that cubic is poor (a long step, a steep queue) the place is mended by the slope that
        the event's own function has at the end of the step.
        """
        for _ in range(_MOST_MENDINGS):
            trial = self._try(h, stretches)
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

    def _predict_image(self, h: float, stretches: list[Stretch]) -> tuple[float, int | None]:
        """Shorten a step to where the first image is expected, to first order in its length."""
        target = None
        for group, stretch in enumerate(stretches):
            delayed = self._delayed(group, self.t, self.y, self.f, self.view)
            if delayed is None:
                continue
            d, speed = delayed
            bound = stretch.high if speed > 0.0 else stretch.low
            open_ended = speed > 0.0 and stretch.open
            if speed == 0.0 or open_ended or not math.isfinite(bound):
                continue
            ahead = (bound - d) / speed
            if self.accuracy.close < ahead < h:
                h, target = ahead, group
        return h, target

    def _stop_at_image(
        self, trial: Trial, stretches: list[Stretch], longest: float, target: int | None
    ) -> tuple[Trial, dict[int, int]]:
        """End the step where the first image comes, if it does; return which groups pass one.

        Newton's method on the length of the step, which stays below `longest`.
        """
        close = self.accuracy.close
        for _ in range(_MOST_TRIALS):
            images, wanted = {}, math.inf
            h, sought = trial.t - self.t, target
            for group, stretch in enumerate(stretches):
                delayed = self._delayed(group, trial.t, trial.y, trial.f, trial.view)
                if delayed is None:
                    continue
                d, speed = delayed
                last = stretch.open
                beyond = max(stretch.low - d, -math.inf if last else d - stretch.high)
                side = -1 if stretch.low - d > d - stretch.high or last else 1
                length = h - beyond / (abs(speed) if speed * side > 0.0 else 1.0)
                # Where the delay changes much faster than time goes on, as when hardly anything is
                # served, no nearer than the rounding of the time allows.
                if abs(beyond) <= max(close, _ROUNDED * trial.t * abs(speed)):
                    if speed * side > 0.0:
                        images[group] = side
                elif beyond > 0.0 or (group == sought and -beyond < 0.1 * h):
                    # Whoever is beyond comes first: from now on the step is to end there.
                    wanted, target = min((wanted, target), (length, group), key=_length)
            if wanted == math.inf or (wanted >= h and images):
                return trial, images
            if wanted > h:
                if wanted > longest:
                    return trial, images
            else:
                longest = h
                wanted = wanted if wanted > 0.0 else 0.5 * h
            trial = self._try(wanted, stretches)
        raise SolverError(
            f"the delayed image of an event was not found near t = {self.t:g} s: give a"
            " shorter step, or another tolerance."
        )

    def _delayed(
        self, group: int, t: float, y: list[float], f: list[float], view: View
    ) -> tuple[float, float] | None:
        return self.plant.delayed(group, t, y, f, view, self.mode)

    # What happens at the end of a step

    def _arrive(self, event: Event | None, images: dict[int, int], slopes: list[float]) -> bool:
        """Do all that happens now; return whether the slopes have changed."""
        passed = self._pass(images)
        if passed:
            self._take_sides()
            self._mark_images(passed, slopes)
        if event is not None:
            if event.kind != "side":
                self.mode = self.plant.by_numbers(self.mode)
            self.y, self.mode = apply_event(self.plant, event, self.t, self.y, self.mode)
            self._mark_event(event)
            if self.plant.dual and event.kind in {"empty", "fill"}:
                self._seek()  # the other band's share has jumped, and with it all delays
        happened = self._happen(event)
        if happened or (event is not None and event.kind != "side"):
            self._take_sides()
        return happened or bool(images) or event is not None

    def _take_sides(self) -> None:
        """Let every comparison hold the answer that it has now, until an event."""
        stretches = self._stretches()

        def past(t: float, view: View) -> list[Heard | None]:
            return self._past(t, view, stretches)

        self.mode = self.plant.take_sides(self.t, self.y, self.mode, past)

    def _pass(self, images: dict[int, int]) -> dict[int, int]:
        """Go on to the next stretch of the past, or the last; return orders of the breakpoints."""
        passed = {}
        for group, side in images.items():
            reader = self.readers[group]
            passed[group] = reader.orders[reader.place + (1 if side > 0 else 0)]
            reader.place += side
        return passed

    def _mark_event(self, event: Event) -> None:
        """Note an event: of one class's window for its group alone, when steps adapt.

        Others feel it no more than a weak kink.
        """
        if self.accuracy.tolerance > 0.0 and event.kind in {"signalled", "floor", "lift"}:
            self._mark(self.plant.group[event.place], 0)
        else:
            self._mark_all()

    def _mark_all(self) -> None:
        for group in range(len(self.readers)):
            self._mark(group, 0)

    def _mark_images(self, passed: dict[int, int], slopes: list[float]) -> None:
        """Note the kinks that passing a breakpoint leaves in the windows.

        A jump of derivative n of the signal flow is one of derivative n + 1 of the windows that it
        reaches, and, through the queue, of derivative n + 2 of all others that listen. Each costs
        the method an error of order n + 2 when its own image is stepped over, so that those up to
        the second derivative matter. What an idle band of a dual queue lets through, the other is
        not served at once: of derivative n + 1. When steps adapt, the weak ones are left to the
        error estimate.
        """
        jumped = [group for group, order in passed.items() if order == 0]
        if self.accuracy.tolerance > 0.0:
            self._mark_strong(jumped, slopes)
            return
        for group, order in passed.items():
            if order < 2:
                self._mark(group, order + 1)
        through = 1 if self.plant.dual and EMPTY in self.mode.bound else 2
        for group in range(len(self.readers)):
            if jumped and group not in passed and self._listened(group):
                self._mark(group, through)

    def _listened(self, group: int) -> bool:
        """Return whether a class of a group hears anything now."""
        mine = self.plant.listeners(group)
        return any(self.mode.active[i] and self.plant.listens[i] for i in mine)

    def _mark_strong(self, groups: list[int], slopes: list[float]) -> None:
        """Note the kinks in the windows of some groups that are not negligible."""
        for i in self._strong(groups, slopes):
            self._mark(self.plant.group[i], 1)

    def _strong(self, groups: list[int], slopes: list[float]) -> list[int]:
        """Return the classes among some groups whose windows' slopes have jumped by so much."""
        after, _ = self._slope(self.t, self.y, self._stretches())
        found = []
        for i in dict.fromkeys(i for group in groups for i in self.plant.listeners(group)):
            where, rtt = self.plant.windows[i], self.view.rtt[i]
            h = min(self.accuracy.step, rtt)
            if self.mode.active[i] and any(
                abs(after[j] - slopes[j]) * h * h / rtt
                > NEGLIGIBLE * self.accuracy.tolerance * (abs(self.y[j]) + 0.1)
                for j in range(where.start, where.stop)
            ):
                found.append(i)
        return found

    def _mark(self, group: int, order: int) -> None:
        self.readers[group].mark(self.t, len(self.history), order, self.accuracy.close)

    def _happen(self, event: Event | None) -> bool:
        """Do what is scheduled for now: first the changes, then the tick."""
        changes, ticks = self.schedule.take(self.t)
        before = self.mode
        if changes or ticks:
            self.mode = self.plant.by_numbers(self.mode)
        if changes:
            for change in changes:
                self.mode = change.apply(self.mode)
            self.y, self.mode = self.plant.hold_bounds(self.t, self.y, self.mode)
            self.y = self.plant.jump(self.t, self.y, before, self.mode)
            self._mark_all()
            self._seek()
        if ticks:
            self._mark_tick(self.plant.tick(self.t, self.y, self.mode, ticks))
        if changes or ticks or (event is not None and event.kind == "signalled"):
            self.y, self.mode = self.plant.hold_bounds(self.t, self.y, self.mode)
        return bool(changes or ticks)

    def _seek(self) -> None:
        view = self.plant.observe(self.t, self.y, self.mode)
        for i, group in enumerate(self.plant.group):  # a breakpoint so near is passed
            self.readers[group].seek(self.t - view.rtt[i] + self.accuracy.close)

    def _mark_tick(self, y: list[float]) -> None:
        """Take over the state after a tick; note it as a jump for those to whom it matters."""
        old, view = self.view, self.plant.observe(self.t, y, self.mode)
        for i in self._moved(old, view, y):
            self._mark(self.plant.group[i], 0)
        self.y, self.view = y, view

    def _moved(self, old: View, new: View, y: list[float]) -> Iterator[int]:
        """Yield the classes to whom it matters that signals have become others."""
        plant = self.plant
        for i, sender in enumerate(plant.senders):
            if not (self.mode.active[i] and plant.listens[i]):
                continue
            x, rtt = plant.x(y, i), new.rtt[i]
            rates = (sender.rate(x, x, plant.met(v, self.mode, i), rtt, rtt) for v in (old, new))
            before, after = ((r if isinstance(r, tuple) else (r,)) for r in rates)
            h = min(self.accuracy.step, rtt)
            values = x if isinstance(x, tuple) else (x,)
            if sender.answers_at_once or any(
                abs(b - a) * h > self.accuracy.negligible * (abs(v) + 0.1)
                for a, b, v in zip(before, after, values, strict=True)
            ):
                yield i


def _length(candidate: tuple[float, int | None]) -> float:
    return candidate[0]
