"""One linear trajectory: steps from one instant at which something happens to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.accuracy import Accuracy
from pi2_fluid.engines.fluid.linearised.equations import Equations
from pi2_fluid.engines.fluid.linearised.kinks import Kinks
from pi2_fluid.engines.fluid.linearised.network import LinearNetwork
from pi2_fluid.engines.fluid.linearised.stages import Stage
from pi2_fluid.engines.fluid.linearised.steps import TOGETHER, Past, read_now, take_step
from pi2_fluid.engines.fluid.oracle.state import Mode
from pi2_fluid.engines.fluid.timeline import SAME, Schedule
from pi2_fluid.errors import SolverError

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_FIXED: Final = 1e-10  # the tolerance where a step is given, which is then the longest
_GROWS, _SHRINKS, _SAFE = 2.0, 0.3, 0.9
_ORDER: Final = 8
_SHORTEST: Final = 1e-9  # s
_FIRST: Final = 0.01  # s
_BLOCK: Final = 4096  # steps, between two looks at what may be forgotten


class Stretch(NamedTuple):
    """Samples between which nothing changes but numbers."""

    stage: Stage
    times: FloatArray
    values: FloatArray
    """Of z and w, shape (n, numbers)."""


class Trajectory:
    """A trajectory in the making.

    Parameters
    ----------
    network : LinearNetwork
        Of what.
    schedule : Schedule
        What happens when.
    accuracy : Accuracy
        How long steps may be.
    """

    def __init__(self, network: LinearNetwork, schedule: Schedule, accuracy: Accuracy) -> None:
        self.of, self.schedule = network, schedule
        self.tolerance = accuracy.tolerance or _FIXED
        self.longest, self.accuracy = accuracy.step, accuracy
        self.kinks = Kinks(self.tolerance)
        self.t, self.taken = 0.0, 0
        self.h = min(self.longest, _FIRST)
        z, self.mode = network.initial()
        stage = network.stage(self.mode)
        hears = (False,) * len(network.senders)
        if self.mode.signalling:
            hears = self.mode.active
        w = stage.equations(hears).at_rest(z)
        self.past = Past(np.concatenate([z, w]))
        #: Of each mark of a step: what held then.
        self.modes = [self.mode]
        self.z, self.stage = z, stage
        self.mode = self.mode._replace(signalling=True)
        #: When changes were that somebody still hears of.
        self.changes: list[float] = []
        self.by = stage.equations(hears)
        self._happen(first=True)

    def follow(self, samples: FloatArray) -> Iterator[Stretch]:
        """Yield what is at each of the times `samples` (s, rising), after what happens then.

        Raises
        ------
        SolverError
            If the steps become too small or too many, or an unstable loop outgrows all numbers.
        """
        place, end = 0, float(samples[-1])
        while place < len(samples):
            for _ in range(_BLOCK):
                if self.t > end + SAME:
                    break
                with np.errstate(over="ignore", invalid="ignore"):  # which is said in words
                    self._advance()
            ready = int(np.searchsorted(samples, self.t - SAME))
            yield from self._report(samples[place:ready])
            place = ready
            deepest = max(float(self.by.delays.max()), *map(self._deepest, self.modes[-8:]))
            self.past.drop(self.t - deepest - 1.0)
            self.kinks.forget(self.t - deepest - 1.0)

    def _deepest(self, mode: Mode) -> float:
        stage = self.of.stage(mode)
        return max(stage.lag(reader) for reader in range(len(self.of.layout.lags)))

    def _report(self, times: FloatArray) -> Iterator[Stretch]:
        """Yield samples of steps that have been taken, by stage."""
        # An instant at which a step ends is one at which the next has begun.
        starts = self.past.starts[: self.past.count]
        near = np.minimum(np.searchsorted(starts, times), len(starts) - 1)
        snapped = np.where(np.abs(starts[near] - times) <= SAME, starts[near], times)
        marks = self.past.marks[self.past.places(snapped)]
        edges = np.flatnonzero(np.diff(marks)) + 1
        for mine in np.split(np.arange(len(times)), edges):
            for part in np.array_split(mine, 1 + len(mine) // _BLOCK):
                if len(part):
                    stage = self.of.stage(self.modes[marks[part[0]]])
                    yield Stretch(stage, times[part], self.past.at(snapped[part]))

    # One step

    def _advance(self) -> None:
        """Take one step, to where something happens at the latest."""
        until = min(self.schedule.next_after(self.t), self.kinks.next_after()) - self.t
        pushed = self._pushed if any(self.mode.ramping) else None
        while True:
            # Two equal steps rather than a long and a tiny one.
            h = until if until <= self.h else min(self.h, 0.5 * until)
            step = take_step(self.past, self.by, self.t, h, self.z, pushed)
            part = step.error / self.tolerance
            if part <= 1.0 or h <= _SHORTEST:
                break
            self.h = h * max(_SHRINKS, _SAFE * part ** (-1.0 / _ORDER))
        if not np.all(np.isfinite(step.end)) or not np.isfinite(step.error):
            raise SolverError(
                f"the linear trajectory grows without bound, and is no longer finite at t ="
                f" {self.t:g} s, since its loop is unstable, whatever the step: shorten the run, or"
                " give gains at which the loop is stable, as those of tune()."
            )
        grown = h * min(_GROWS, _SAFE * max(part, 1e-16) ** (-1.0 / _ORDER))
        # One that was cut short says nothing of how long the next may be.
        self.h = min(self.longest, grown if h >= self.h or part > 0.1 else max(self.h, grown))
        self.past.append(self.t, h, step.values, len(self.modes) - 1)
        self.z = step.end
        self.taken += 1
        if self.taken > self.accuracy.most_steps:
            raise SolverError(self.accuracy.explain_end(self.taken, self.t))
        self.kinks.scale = self.by.scale(self.z)
        ends = h >= until
        scheduled, imaged = self.schedule.next_after(self.t), self.kinks.next_after()
        self.t = min(scheduled, imaged) if ends else self.t + h
        if ends:
            self._happen()

    def _pushed(self, times: FloatArray, values: FloatArray) -> FloatArray:
        """Return what classes send that are still starting."""
        places = self.of.places
        found = np.zeros((len(times), places.size - places.states))
        for i, ramping in enumerate(self.mode.ramping):
            if ramping and self.mode.active[i]:
                flow = self.of.flows[i]
                begun = np.clip((times - flow.start) / flow.start_jitter, 0.0, 1.0)
                found[:, places.sent + i - places.states] = begun * values[:, places.would + i]
        return found

    # What happens at the end of a step

    def _happen(self, *, first: bool = False) -> None:
        """Do all that happens now: what was on its way, changes, then ticks."""
        changes, ticks = self.schedule.take(self.t)
        incoming, must = self.kinks.take(self.t)
        z, before, by = self.z.copy(), self.mode, self.by
        for change in changes:
            self.mode = change.apply(self.mode)
        turns = first or bool(changes)
        if turns:
            self._turn(before)
        if turns or must:
            self.by = self.stage.equations(self._hearing())
        self._tick(ticks)
        if turns:
            self._look_back()
        if turns or must or ticks or incoming is not None:
            seen = self._seen(z, by, first=first) if turns or must else None
            self.kinks.spread(self.t, self.z - z, incoming, self._heard, self.h, seen)

    @property
    def _heard(self) -> Equations:
        """The equations when all hear by then what is signalled now, and all have started."""
        mode = self.mode._replace(ramping=(False,) * len(self.mode.ramping))
        return self.of.stage(mode).equations(self.of.listens)

    def _look_back(self) -> None:
        """Find anew when what has happened is heard of: delays are others."""
        self.kinks.turn(self.t, self._heard, self.h)
        deepest = self._deepest(self.mode)
        self.changes = [t for t in [*self.changes, self.t] if t >= self.t - deepest]
        for i, listens in enumerate(self.of.listens):
            for at in self.changes:
                when = at + self.stage.round_trip(i)
                if listens and when > self.t + TOGETHER:
                    self.kinks.must_end(when)

    def _seen(self, z: FloatArray, by: Equations, *, first: bool) -> tuple[FloatArray, FloatArray]:
        """Return by how much slopes and w have jumped, from another state and other equations."""
        n = len(z)
        slopes = np.zeros(n) if first else read_now(self.past, by, self.t, z)[0]
        now, w = self._now()
        return now - slopes, w - self.past.last[n:]

    def _now(self) -> tuple[FloatArray, FloatArray]:
        """Return slopes and w just after all that has happened."""
        pushed = self._pushed if any(self.mode.ramping) else None
        return read_now(self.past, self.by, self.t, self.z, pushed)

    def _hearing(self) -> tuple[bool, ...]:
        """Return of each class whether what it hears was signalled while it sent already."""
        found = []
        for i, listens in enumerate(self.of.listens):
            then = self.t - self.stage.round_trip(i) + TOGETHER
            mode = self.modes[self.past.marks[self.past.places(np.array([then]))[0]]]
            found.append(listens and mode.signalling and mode.active[i])
        return tuple(found)

    def _turn(self, old: Mode) -> None:
        """Begin the stage that holds from now on."""
        self.modes.append(self.mode)
        self.stage = stage = self.of.stage(self.mode)
        layout, places = self.of.layout, self.of.places
        for link, queues in enumerate(layout.queues_of):
            empty = [] if stage.is_silent else [q for q in queues if not stage.waits[q]]
            self.z[empty] = 0.0
            where, law = places.laws[link], stage.laws[link]
            if len(empty) == len(queues):
                self.z[where] = [float(value) for value in self.of.aqms[link].initial()]
            if law is not None and self.of.flowing[link]:
                q, after = self.z[queues[0]], self.mode.capacity[link]
                rise = q / after - q / old.capacity[link]
                self.z[where] = law.jumped(self.z[where].tolist(), float(rise))

    def _tick(self, links: list[int]) -> None:
        """Update the controllers of some links."""
        if not links:
            return
        _, w = self._now()
        first = self.of.places.delays - len(self.z)
        for link in links:
            law, where = self.stage.laws[link], self.of.places.laws[link]
            if law is not None:
                queues = self.of.layout.queues_of[link]
                waiting = next((q for q in queues if self.stage.waits[q]), queues[0])
                tau = float(w[first + waiting])
                self.z[where] = law.updated(self.z[where].tolist(), tau)
