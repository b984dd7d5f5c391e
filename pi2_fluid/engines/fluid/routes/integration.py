"""The event-aligned method over several links: more is read, and breakpoints travel.

An instant at which what arrives at a link is not smooth reaches the next link one queue delay and a
hop later, where what has entered then arrives. So breakpoints have images of two more kinds: the
time of entry of what leaves a link passes one, or the time that lies a hop ago does.

Where a queue has just begun to grow, what leaves it has entered within the step. Such a step is
taken again with its own cubic as the past, until it no longer changes.

How long a step may be that adapts, two estimates say: the difference from a method of order 3, and
how far its cubics, which others read, are from the equations where these are asked once more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pi2_fluid.engines.fluid.events import Event, Trial
from pi2_fluid.engines.fluid.history import Segment, Stretch
from pi2_fluid.engines.fluid.integration import NEGLIGIBLE, Run
from pi2_fluid.engines.fluid.routes.kinks import MOST, Part
from pi2_fluid.engines.fluid.routes.past import Past
from pi2_fluid.engines.fluid.routes.plant import RoutesPlant
from pi2_fluid.engines.fluid.state import EMPTY

_SWEEPS: Final = 12  # of a step that reads itself
# Parts of both estimates of a step's error. Each vanishes now and then, where the other does not;
# by these the errors of all trajectories that were measured are a few times the tolerance.
_BY_ENDS: Final = 0.5
_BY_DEFECT: Final = 0.6
_SETTLED: Final = 1e-14  # relative, of what still changes then
_STRONGEST: Final = 1  # order of kinks that are noted where steps adapt
_SLIGHT: Final = 1e-12  # of a capacity: jumps of rates below it are none


class RoutesRun(Run):
    """One trajectory of several links in the making."""

    plant: RoutesPlant

    def _begin(self) -> None:
        self.past = Past(self.history, self.readers)
        self.plant.attach(self.past)

    # A step, which may read itself

    def advance(self) -> None:
        """Take one step, to the next event at the latest, and do what happens there."""
        self._skip_silence()
        super().advance()

    def _skip_silence(self) -> None:
        """Go on to what entered next, where nothing had entered for a while."""
        for reader, place in self.plant.entries(self.mode):
            mine = self.readers[reader]
            while place is not None and self.f[place] <= 0.0 and mine.place + 1 < len(mine.times):
                mine.place += 1
                self.y = [*self.y]
                self.y[place] = mine.times[mine.place]
                self._stand()
                self.f, self.view = self._slope(self.t, self.y, self._stretches())

    def _can_foretell(self, stretches: list[Stretch]) -> bool:
        """Return False: what is read of the step in the making is found in another way here."""
        return False

    def _try(self, h: float, stretches: list[Stretch]) -> Trial:
        end, f = self.t + h, self.f
        if end > self.t:
            ahead = [a + h * b for a, b in zip(self.y, f, strict=True)]
            self.past.ahead = Segment(self.t, end, self.y, ahead, f, f, self.mode)
        else:
            self.past.stand(self.t, self.y, self.mode)
        self.past.overlaps = False
        trial = self._pass_over(h, stretches)
        for _ in range(_SWEEPS):
            if trial.t <= self.t or not self.past.overlaps:
                break
            self.past.ahead = self._segment(trial)
            last, trial = trial.y, self._pass_over(h, stretches)
            pairs = zip(last, trial.y, strict=True)
            if all(abs(b - a) <= _SETTLED * (1.0 + abs(b)) for a, b in pairs):
                break
        if trial.t <= self.t:
            return trial
        self.past.ahead = self._segment(trial)
        if self.accuracy.tolerance == 0.0:
            return trial
        by_defect = _BY_DEFECT * self._defect(trial, stretches)
        return trial._replace(error=max(_BY_ENDS * trial.error, by_defect))

    def _defect(self, trial: Trial, stretches: list[Stretch]) -> float:
        """Return how far the step's cubics are from the equations at a quarter of it.

        In units of the tolerance. What the step's end is off by enters with a weight of 9/8, and so
        does, with its jump, a kink that nobody has marked.
        """
        h, step = trial.t - self.t, self._segment(trial)
        quarter = self.t + 0.25 * h
        y = step.values(quarter)
        slopes, _ = self._slope(quarter, y, stretches)
        worst = 0.0
        for j, size in self.plant.sizes(self.mode):
            rise = (trial.y[j] - self.y[j]) / h
            slope = 1.125 * rise + 0.1875 * self.f[j] - 0.3125 * trial.f[j]
            worst = max(worst, abs(slopes[j] - slope) / (abs(trial.y[j]) + size))
        return h * worst / self.accuracy.tolerance

    def _stretches(self) -> list[Stretch]:
        return [self.past.stretch(reader) for reader in range(len(self.readers))]

    # What happens at the end of a step

    def _pass(self, images: dict[int, int]) -> dict[int, int]:
        passed = super()._pass(images)
        self._stand()
        return passed

    def _happen(self, event: Event | None) -> bool:
        before = self.mode.bound
        changed = super()._happen(event)
        self._turn(self._turned(before))
        if self.plant.dual and event is not None and event.kind == "signalled":
            self._seek()  # windows have jumped, and with them what idle bands leave to others
        return changed

    def _seek(self) -> None:
        view = self.plant.observe(self.t, self.y, self.mode)
        # What a band leaves to the other may not have jumped: then a breakpoint so near is passed.
        passed = self.accuracy.close if self.plant.dual else 0.0
        for reader, lag in enumerate(self.plant.layout.lags):
            if lag.queues:
                ago = self.plant.lag(reader, view.tau, self.mode)
                self.readers[reader].seek(self.t - ago + passed)
        if self.plant.at_rest:  # times of entry have jumped with the delays of rest
            for reader, place in self.plant.entries(self.mode):
                if place is not None:
                    self.readers[reader].seek(self.y[place])
        self._stand()

    def _stand(self) -> None:
        """Take over where the readers are: that is a part of the discrete state."""
        for reader, place in self.plant.entries(self.mode):
            mine = self.readers[reader]
            if place is None or self.y[place] >= mine.times[-1]:
                mine.place = len(mine.times) - 1
        self.mode = self.mode._replace(places=tuple(reader.place for reader in self.readers))
        self.past.stand(self.t, self.y, self.mode)

    # Kinks

    def _note(self, jumps: dict[Part, int]) -> None:
        """Mark the present as a breakpoint for all whom these jumps concern."""
        most = MOST if self.accuracy.tolerance == 0.0 else _STRONGEST
        empty = tuple(bound == EMPTY for bound in self.mode.bound)
        for reader, order in self.plant.kinks.spread(jumps, empty).items():
            if order <= most:
                self._mark(reader, order)

    def _mark_event(self, event: Event) -> None:
        """Note an event: at a bound what leaves a link jumps, at a clip the signal's slope."""
        if event.kind in {"empty", "fill"}:
            self._turn([event.place])
        elif event.kind in {"full", "drain"}:
            self._turn(self.plant.layout.queues_of[event.place])
        elif event.kind in {"clip", "release"}:
            self._note({Part("signal", self.plant.law_of(event.place)): 1})
        elif event.kind == "side" and event.place < len(self.plant.laws):
            shown = self.plant.observe(self.t, self.y, self.mode).signals[event.place]
            jumps_now = shown != self.view.signals[event.place]
            self._note({Part("signal", event.place): 0 if jumps_now else 1})
        elif event.kind == "side":
            self._note({Part("window", event.place - len(self.plant.laws)): 1})
        else:
            self._note({Part("window", event.place): 0})

    def _turn(self, queues: Iterable[int]) -> None:
        """Note that queues have reached or left a bound."""
        jumps, y = {}, list(self.y)
        for queue in queues:
            nobody_waited = y[queue] <= 0.0 and not self.plant.at_rest
            if queue in self.plant.entered and nobody_waited:
                y[self.plant.entered[queue]] = self.t
            jumps[Part("outflow", queue)] = 0
            jumps |= {Part("arrival", s): 0 for s in self.plant.layout.arriving[queue]}
            jumps |= dict.fromkeys(self.plant.kinks.beside(queue), 0)
        if jumps:
            self.y = y
            self._note(jumps)
        self._stand()

    def _mark_images(self, passed: dict[int, int], slopes: list[float]) -> None:
        """Note what follows from reading beyond breakpoints."""
        adaptive = self.accuracy.tolerance > 0.0
        heard = {r: order for r, order in passed.items() if not self.plant.carries(r)}
        travelled = {r: order for r, order in passed.items() if self.plant.carries(r)}
        answering = any(self.plant.answering(i) for r in heard for i in self.plant.listeners(r))
        jumped = (bool(travelled) or answering) and self._jumped()
        found: list[tuple[Part, int]] = []
        if adaptive:  # as for one link, weak kinks are left to the error estimate
            strong = self._strong([r for r, order in heard.items() if order == 0], slopes)
            found += [(Part("window", i), 1) for i in strong]
        else:
            for reader, order in heard.items():
                found += [(Part("window", i), order + 1) for i in self.plant.listeners(reader)]
        for reader, order in heard.items():
            if answering and (not adaptive or (order == 0 and jumped)):
                mine = filter(self.plant.answering, self.plant.listeners(reader))
                found += [(Part("rate", i), order) for i in mine]
        for reader, order in travelled.items():
            if not adaptive or (order == 0 and jumped):
                found += [(part, order) for part in self.plant.fed(reader)]
        jumps: dict[Part, int] = {}
        for part, order in found:
            jumps[part] = min(order, jumps.get(part, order))
        self._note(jumps)
        if jumped:
            self._hold()
            if self.plant.dual:
                self._seek()

    def _hold(self) -> None:
        """Let queues leave or reach their bounds where what arrives has jumped."""
        before = self.mode.bound
        self.y, self.mode = self.plant.hold_bounds(self.t, self.y, self.mode)
        self._turn(self._turned(before))

    def _turned(self, before: tuple[int, ...]) -> list[int]:
        """Return the queues whose bound is another than before."""
        return [k for k, (a, b) in enumerate(zip(before, self.mode.bound, strict=True)) if a != b]

    def _jumped(self) -> bool:
        """Return whether what arrives at or leaves links is another than at the step's end."""
        view = self.plant.observe(self.t, self.y, self.mode)
        least = max(_SLIGHT, NEGLIGIBLE * self.accuracy.tolerance) * min(self.mode.capacity)
        pairs = [
            *zip(view.rates, self.view.rates, strict=True),
            *zip(view.passing, self.view.passing, strict=True),
        ]
        return any(abs(a - b) > least for a, b in pairs)

    def _mark_tick(self, y: list[float]) -> None:
        """Take over the state after ticks; note the jumps of signals for those to whom they matter.

        Of each class by how much its window's slope would jump if it heard them all at once.
        """
        old, view = self.view, self.plant.observe(self.t, y, self.mode)
        pairs = zip(old.signals, view.signals, strict=True)
        ticked = [link for link, (before, after) in enumerate(pairs) if before != after]
        for i in self._moved(old, view, y):
            path = self.plant.paths[i]
            for link, reader in zip(path.links, path.heard, strict=True):
                if link in ticked:
                    self._mark(reader, 0)
        jumps = {
            Part("arrival", s): 0
            for s in self.plant.thinning
            if self.plant.streams[s].link in ticked
        }
        self._note(jumps)
        self.y, self.view = y, view
        if jumps and self.plant.dual:
            self._seek()
