"""The fluid by a third method, for tests: SciPy's DOP853, which knows nothing of the laws' kinks.

It shares neither code nor decisions with the solvers. Steps end at ticks, changes, bounds and the
images of these. Kinks within the laws themselves are announced by nobody and asked of nobody: the
error control of order 8 finds them by shortening its steps until they no longer matter, which is
slow and cannot be misled by what a law says of itself.

How far it is off is the difference of two runs with other steps.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq
from third_equations import LARGE, Equations, Phase

_CLOSE = 1e-12  # s, between which two instants are one
_LOOKS = (0.2, 0.4, 0.6, 0.8, 1.0)  # parts of a step at which bounds are looked at
_HIGHEST = 2  # order of the weakest kinks whose images end a step
_FORCED = 1e-13  # s, stepped over where a jump lets no step through


@dataclass
class Piece:
    """One step: from when to when, and the polynomial in between."""

    start: float
    end: float
    at: object
    phase: Phase


class Third(Equations):
    """One trajectory of a scenario with one node."""

    def __init__(self, scenario, update="sampled", *, initial=None, tolerance=3e-14, part=0.05):
        super().__init__(scenario, update, initial)
        self.tolerance, self.part = tolerance, part
        begin = self.y.copy()
        self.pieces = [Piece(-math.inf, 0.0, lambda _: begin, self.phase)]
        self.starts = [-math.inf]
        self.marks, self.orders = [-math.inf, 0.0], [0, 0]
        self.branch = [0] * len(self.flows)

    def past(self, i, t):
        """State and phase at an earlier instant, on the branch that class `i` is reading."""
        low = self.marks[self.branch[i]]
        beyond = self.branch[i] + 1 < len(self.marks)
        high = self.marks[self.branch[i] + 1] if beyond else math.inf
        place = bisect_right(self.starts, t) - 1
        if t < low:
            place = bisect_right(self.starts, low) - 1
        elif t >= high:
            place = bisect_right(self.starts, high) - 2
            while self._is_short(place, t - high) and self.starts[place] > low:
                place -= 1
        piece = self.pieces[place]
        return piece.at(t).tolist(), piece.phase

    def _is_short(self, place, beyond):
        """Whether a piece is too short for its polynomial to go on so far."""
        return 2.0 * (self.pieces[place].end - self.pieces[place].start) < beyond

    # Bounds, and images: each a function that is positive beyond

    def _watched(self):
        """Yield (kind, which, by how much it may be beyond, function of time and state)."""
        phase, C = self.phase, self.phase.capacity

        def at(y):
            return self.look(y, phase, lambda i, rtt: 0.0)

        for k in range(self.bands):
            if phase.empty[k]:
                yield "fill", k, 1e-11 * C, lambda t, y, k=k: self.look_at(t, y).net[k]
            else:
                yield "empty", k, 1e-10, lambda t, y, k=k: -y[k]
        if phase.full:
            yield "drain", 0, 1e-11 * C, lambda t, y: -self.look_at(t, y).net[0]
        else:
            yield "full", 0, 1e-10, lambda t, y: sum(y[: self.bands]) - self.room
        if self.flowing:
            for j, (low, high) in enumerate(self.limits):
                place, side = self.control.start + j, phase.held[j]
                if side:
                    yield (
                        "release",
                        j,
                        1e-13,
                        lambda t, y, j=j, side=side: -side * self.moves(t, y)[j],
                    )
                    continue
                if low > -LARGE:
                    yield "low", j, 1e-15, lambda t, y, p=place, b=low: b - y[p]
                if high < LARGE:
                    yield "high", j, 1e-15, lambda t, y, p=place, b=high: y[p] - b
        for i, place in enumerate(self.places):
            if not (phase.active(i) and self.listens[i]):
                continue
            if phase.floored[i]:
                yield "lift", i, 1e-11, lambda t, y, i=i: self.window_slope(t, y, i)
            else:
                yield "floor", i, 1e-13, lambda t, y, p=place.start: -y[p]
            if phase.slow[i]:
                yield "signalled", i, 0.0, lambda t, y, p=self.hoped.start + i: y[p] - 1.0
            b = self.branch[i]
            if b + 1 < len(self.marks):
                high = self.marks[b + 1]
                yield "image", i, _CLOSE, lambda t, y, i=i, m=high: t - at(y).rtt[i] - m
            if b > 0:
                low = self.marks[b]
                yield "back", i, _CLOSE, lambda t, y, i=i, m=low: m - (t - at(y).rtt[i])

    def _first_beyond(self, start, end, at):
        """Return when the first watched function becomes positive in a step, and which."""
        first, which, states = end, None, {}

        def state(t):
            if t not in states:
                states[t] = at(t).tolist()
            return states[t]

        for kind, place, slack, beyond in self._watched():
            before = start
            for part in _LOOKS:
                t = start + part * (end - start)
                if before >= first:
                    break
                if beyond(t, state(t)) > slack:
                    # Where the step begins on it, it is reached where it is left by the slack.
                    least = 0.0 if beyond(before, state(before)) < 0.0 else slack

                    def excess(t, beyond=beyond, least=least):
                        return beyond(t, at(t).tolist()) - least

                    where = before
                    if excess(before) < 0.0:
                        where = brentq(excess, before, t, xtol=1e-15, rtol=8.9e-16)
                    if where < first or which is None:
                        first, which = where, (kind, place)
                    break
                before = t
        return first, which

    # In time

    def run(self, times):
        """Return queue delays (of all bands) and windows at each of the rising `times` (s).

        Polynomials of short steps overflow where a trial reads far beyond them: it is refused.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return self._run(times)

    def _run(self, times):
        end = float(self.scenario.duration)
        self.t, self.h = 0.0, 1e-6
        self.agenda = self._scheduled()
        self.tick = 1
        self._happen(0.0)
        while self.t < end - _CLOSE:
            self._advance(min([end, self._next()]))
        delays, windows = [], []
        for t in times:
            piece = self.pieces[bisect_right(self.starts, t) - 1]
            self.phase, y = piece.phase, piece.at(t).tolist()
            self._seek_at(t, y)
            sight = self.look_at(t, y)
            delays.append(sight.tau)
            windows.append([self.window(t, y, sight.rtt[i], i) for i in range(len(self.flows))])
        delays = np.array(delays)
        return delays, np.array(windows)

    def _scheduled(self):
        agenda = [(float(change.at), 0, change) for change in self.scenario.changes]
        for i, flow in enumerate(self.flows):
            assert flow.start_jitter == 0.0, "flows that start one by one are left out here"
            agenda.append((float(flow.start), 1, (i, True)))
            if flow.stop is not None:
                agenda.append((float(flow.stop), 1, (i, False)))
        return sorted(agenda, key=lambda item: item[:2])

    def _next(self):
        times = [self.agenda[0][0]] if self.agenda else []
        return min([*times, self.tick * self.interval] if self.ticks else times, default=math.inf)

    def _advance(self, bound):
        """Go on to `bound`, or to what comes before."""
        solver = self._solver(bound)
        while True:
            start, y = self.t, self.y
            solver.step()
            if solver.status == "failed":
                self._force(start, y)
                return
            at, end = solver.dense_output(), solver.t
            when, which = self._first_beyond(start, end, at)
            if which is not None:
                self._land(when)
                self._pass(*which)
                return
            self._keep(start, end, at)
            self.t, self.y, self.h = end, solver.y, solver.h_abs
            if solver.status == "finished":
                self._happen(self.t)
                return

    def _solver(self, bound):
        sights = self.look(self.y.tolist(), self.phase, lambda i, rtt: 0.0)
        heeding = [i for i in range(len(self.flows)) if self.phase.active(i) and self.listens[i]]
        shortest = min((sights.rtt[i] for i in heeding), default=1.0)
        length = bound - self.t
        return DOP853(
            self.slopes, self.t, self.y, bound,
            rtol=self.tolerance, atol=self.tolerance * self.scales,
            max_step=self.part * shortest, first_step=min(self.h, length),
        )  # fmt: skip

    def _land(self, when):
        """Take the steps again that end exactly there."""
        if when - self.t <= 1e-15:
            return
        self.h = max(self.h, when - self.t)
        solver = self._solver(when)
        while solver.status == "running":
            start = solver.t
            solver.step()
            if solver.status == "failed":
                self._force(start, self.y, when)
                return
            self._keep(start, solver.t, solver.dense_output())
            self.t, self.y = solver.t, solver.y

    def _force(self, start, y, end=math.inf):
        """Step over a jump that the error control cannot pass, by its slope beyond."""
        end = min(start + _FORCED, end)
        slope = self.slopes(end, y)
        self._keep(start, end, lambda t: y + (t - start) * slope)
        self.t, self.y, self.h = end, y + (end - start) * slope, _FORCED

    def _keep(self, start, end, at):
        self.pieces.append(Piece(start, end, at, self.phase))
        self.starts.append(start)

    def _mark(self, order):
        if order > _HIGHEST:
            return
        if self.t - self.marks[-1] <= _CLOSE:
            self.orders[-1] = min(order, self.orders[-1])
        else:
            self.marks.append(self.t)
            self.orders.append(order)

    def _pass(self, kind, k):
        """Do what happens where a bound or an image is reached."""
        y = self.y = self.y.copy()
        phase, start = self.phase, self.control.start
        if kind in {"image", "back"}:
            forward = kind == "image"
            crossed = self.orders[self.branch[k] + (1 if forward else 0)]
            for i in range(len(self.flows)):  # of classes with the same delay all
                same = (self.base[i], self.band[i]) == (self.base[k], self.band[k])
                if same and self.branch[i] == self.branch[k] and i != k:
                    self.branch[i] += 1 if forward else -1
            self.branch[k] += 1 if forward else -1
            self._mark(crossed + 1)
            return
        if kind == "fill":
            phase = phase.having("empty", k, False)
        elif kind == "empty":
            y[k] = 0.0
            phase = phase.having("empty", k, True)
        elif kind == "full":
            y[0] = self.room
            phase = replace(phase, full=True)
            phase = self._end_slow_start(range(len(self.flows)), phase)
        elif kind == "drain":
            phase = replace(phase, full=False)
        elif kind == "release":
            phase = phase.having("held", k, 0)
        elif kind in {"low", "high"}:
            y[start + k] = self.limits[k][kind == "high"]
            phase = phase.having("held", k, 1 if kind == "high" else -1)
        elif kind == "floor":
            y[self.places[k].start] = 0.0
            phase = phase.having("floored", k, True)
        elif kind == "lift":
            phase = phase.having("floored", k, False)
        else:
            phase = self._end_slow_start([k], phase)
        self.phase = phase
        self._mark(0)
        if kind in {"empty", "full", "signalled"}:
            self._decide()
        if self.bands == 2 and kind in {"empty", "fill"}:
            self._seek()

    def _end_slow_start(self, classes, phase):
        for i in classes:
            if phase.slow[i] and phase.active(i):
                x = self.senders[i].leave_slow_start(self.x(self.y.tolist(), i))
                self.y[self.places[i]] = x
                phase = phase.having("slow", i, False)
        return phase

    def _seek(self):
        """Find again where each class reads, after its delay has jumped."""
        self._seek_at(self.t, self.y.tolist())

    def _seek_at(self, t, y):
        sight = self.look(y, self.phase, lambda i, rtt: 0.0)
        for i, rtt in enumerate(sight.rtt):
            self.branch[i] = bisect_right(self.marks, t - rtt) - 1

    def _decide(self):
        """Say anew which bounds hold."""
        y = self.y.tolist()
        for _ in range(2):
            net = self.look_at(self.t, y).net
            empty = tuple(y[k] <= 0.0 and net[k] <= 0.0 for k in range(self.bands))
            full = sum(y[: self.bands]) >= self.room and net[0] >= 0.0
            self.phase = replace(self.phase, empty=empty, full=full)
        if full:
            self.phase = self._end_slow_start(range(len(self.flows)), self.phase)
            y = self.y.tolist()
        if self.flowing:
            state, held = y[self.control], []
            for v, move, (low, high) in zip(state, self.moves(self.t, y), self.limits, strict=True):
                held.append(-1 if v <= low and move < 0.0 else 1 if v >= high and move > 0.0 else 0)
            self.phase = replace(self.phase, held=tuple(held))

    def _happen(self, t):
        """Do what is scheduled for now: the changes, then the tick."""
        phase, changed = self.phase, False
        before = self.look(self.y.tolist(), phase, lambda i, rtt: 0.0)
        self.y = self.y.copy()
        while self.agenda and self.agenda[0][0] <= t + _CLOSE:
            _, kind, what = self.agenda.pop(0)
            changed = True
            if kind == 1:
                phase = phase.having("started", *what)
                continue
            if what.capacity is not None:
                phase = replace(phase, capacity=self._packets(what.capacity))
            for i, name in enumerate(self.scenario.class_names):
                if what.counts and name in what.counts:
                    phase = phase.having("counts", i, float(what.counts[name]))
        if changed:
            self.phase = replace(phase, signalling=True)
            self._decide()
            if self.flowing:
                after = self.look(self.y.tolist(), self.phase, lambda i, rtt: 0.0)
                self._jump(before, after)
            self._mark(0)
            self._seek()
            self._decide()
        if self.ticks and self.tick * self.interval <= t + _CLOSE:
            sight = self.look(self.y.tolist(), self.phase, lambda i, rtt: self.heard(i, t, rtt)[1])
            state = self.law.update(tuple(self.y[self.control].tolist()), sight.seen, self.interval)
            self.y[self.control] = [float(v) for v in self.law.saturate(state)]
            self.tick += 1
            self._mark(0)
            self._decide()

    def _jump(self, before, after):
        """Move the controller as the delay has jumped."""
        state = tuple(self.y[self.control].tolist())
        still = self.law.flow(state, before.seen, 0.0)
        moved = self.law.flow(state, before.seen, after.tau[0] - before.tau[0])
        state = tuple(s + m - f for s, m, f in zip(state, moved, still, strict=True))
        self.y[self.control] = [float(v) for v in self.law.saturate(state)]


def solve(scenario, update, times, initial=None):
    """Return queue delays and windows at `times` (s), and the same of a less exact run."""
    return tuple(
        Third(scenario, update, initial=initial, tolerance=tolerance, part=part).run(times)
        for tolerance, part in ((3e-14, 0.05), (5e-14, 0.08))
    )
