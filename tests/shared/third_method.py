"""The fluid by a third method, for tests: SciPy's DOP853, which knows nothing of the laws' kinks.

It shares neither code nor decisions with the solvers. The equations are written again, after the
conventions of docs/fluid.md; of the laws only their public methods are called. Steps end at ticks,
changes, bounds and the images of these. Kinks within the laws themselves are announced by nobody
and asked of nobody: the error control of order 8 finds them by shortening its steps until they no
longer matter, which is slow and cannot be misled by what a law says of itself.

How far it is off is the difference of two runs, whose tolerances and longest steps differ.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq

from pi2_fluid.laws.aqm import Aqm, Seen

_LARGE = 1e30
_CLOSE = 1e-12  # s, between which two instants are one
_LOOKS = (0.2, 0.4, 0.6, 0.8, 1.0)  # parts of a step at which bounds are looked at
_HIGHEST = 2  # order of the weakest kinks whose images end a step
_FORCED = 1e-13  # s, stepped over where a jump lets no step through


@dataclass(frozen=True)
class Phase:
    """What is constant between two breakpoints."""

    capacity: float
    counts: tuple
    started: tuple
    slow: tuple
    floored: tuple
    empty: tuple
    held: tuple
    full: bool = False
    signalling: bool = True

    def active(self, i):
        """Whether class `i` sends."""
        return self.started[i] and self.counts[i] > 0.0

    def having(self, name, i, value):
        """The same with one of a tuple made another."""
        values = list(getattr(self, name))
        values[i] = value
        return replace(self, **{name: tuple(values)})


@dataclass
class Piece:
    """One step: from when to when, and the polynomial in between."""

    start: float
    end: float
    at: object
    phase: Phase


@dataclass
class Sight:
    """What follows from the state of one instant."""

    tau: tuple
    rtt: list
    net: list
    growth: list
    seen: Seen
    met: list = field(default_factory=list)


class Third:
    """One trajectory of a scenario with one node."""

    def __init__(self, scenario, update="sampled", *, initial=None, tolerance=3e-14, part=0.15):
        self.scenario, self.tolerance, self.part = scenario, tolerance, part
        self.law, self.flows = scenario.aqm, scenario.flows
        self.senders = [flow.sender.on_link(scenario.packet_size) for flow in self.flows]
        self.base = [float(flow.base_rtt) for flow in self.flows]
        self.room = float(scenario.link.buffer)
        self.bands = self.law.bands
        self.band = [int(self.bands == 2 and s.signal == "scalable") for s in self.senders]
        self.thinned = [self.law.thins and s.thinned for s in self.senders]
        self.listens = [s.constant_rate is None for s in self.senders]
        self.interval = None
        if self.law.update_interval is not None:
            self.interval = float(self.law.update_interval)
        self.ticks = update == "sampled" and self.interval is not None
        bounded = type(self.law).saturate is not Aqm.saturate
        self.flowing = not self.ticks and (self.interval is not None or bounded)
        self.plain_signals = type(self.law).signals is Aqm.signals
        self._lay_out(initial)
        self.forced = self.evaluations = 0

    def _lay_out(self, initial):
        flows, law = self.flows, self.law
        start = [0.0] * self.bands
        self.control = slice(len(start), len(start) + len(law.initial()))
        start += [float(v) for v in law.initial()]
        self.places = []
        for i, (flow, sender) in enumerate(zip(flows, self.senders, strict=True)):
            window = float(flow.initial_window)
            if initial is not None and "window" in initial:
                window = initial["window"][i]
            x = sender.initial(window)
            x = [float(v) for v in (x if isinstance(x, tuple) else (x,))]
            self.places.append(slice(len(start), len(start) + len(x)))
            start += x
        self.hoped = slice(len(start), len(start) + len(flows))
        start += [0.0] * len(flows)
        if initial is not None:
            start[0] = float(initial.get("queue", 0.0))
        self.y = np.array(start)
        scales = np.full(len(start), 0.1)
        scales[: self.bands] = 1e-3 * self._packets(self.scenario.link.capacity)
        scales[self.control] = 1e-3
        self.scales = scales
        there = tuple(initial is not None and flow.start == 0.0 for flow in flows)
        self.phase = Phase(
            capacity=self._packets(self.scenario.link.capacity),
            counts=tuple(float(flow.count) for flow in flows),
            started=there,
            slow=tuple(
                bool(flow.slow_start and s.signal is not None and not now)
                for flow, s, now in zip(flows, self.senders, there, strict=True)
            ),
            floored=(False,) * len(flows),
            empty=tuple(q <= 0.0 for q in start[: self.bands]),
            held=(0,) * (self.control.stop - self.control.start),
            signalling=initial is not None,
        )
        begin = self.y.copy()
        self.pieces = [Piece(-math.inf, 0.0, lambda _: begin, self.phase)]
        self.starts = [-math.inf]
        self.marks, self.orders = [-math.inf, 0.0], [0, 0]
        self.branch = [0] * len(flows)
        self.limits = []
        for j in range(self.control.stop - self.control.start):
            ends = []
            for far in (-_LARGE, _LARGE):
                state = [float(v) for v in law.initial()]
                state[j] = far
                ends.append(float(law.saturate(tuple(state))[j]))
            self.limits.append(tuple(ends))

    def _packets(self, capacity):
        return float(capacity) / (8.0 * float(self.scenario.packet_size))

    # What follows from the state

    def x(self, y, i):
        """The state of class `i` as its law wants it."""
        values = y[self.places[i]]
        return tuple(values) if len(values) > 1 else values[0]

    def _sent(self, y, phase, rtt, heard):
        law, rates = self.law, []
        kept = 1.0
        if any(self.thinned):
            kept = 1.0 - float(law.encode(law.controller(tuple(y[self.control]))).classic)
        for i, sender in enumerate(self.senders):
            rate = 0.0
            if phase.active(i):
                if sender.answers_at_once:
                    rate = sender.sending_rate_under(self.x(y, i), heard(i, rtt[i]), rtt[i])
                else:
                    rate = sender.sending_rate(self.x(y, i), rtt[i])
                rate = phase.counts[i] * float(rate) * (kept if self.thinned[i] else 1.0)
            rates.append(rate)
        return rates

    def look(self, y, phase, heard=None):
        """Delays, round-trip times, growth of the queues, and what the law sees."""
        C = phase.capacity
        if self.bands == 1:
            tau = (y[0] / C,)
            rtt = [base + tau[0] for base in self.base]
            arrivals = sum(self._sent(y, phase, rtt, heard))
            net = [arrivals - C]
            overflow = max(0.0, net[0]) if phase.full else 0.0
        else:
            waits = [not empty for empty in phase.empty]
            need = self._by_band(self._sent(y, phase, self.base, heard))
            served = [float(v) for v in self.law.serve(waits, need, C)]
            tau = tuple(y[k] / served[k] if waits[k] else 0.0 for k in (0, 1))
            rtt = [base + tau[k] for base, k in zip(self.base, self.band, strict=True)]
            need = self._by_band(self._sent(y, phase, rtt, heard))
            net = []
            for k in (0, 1):
                as_if = served
                if not waits[k]:
                    as_if = self.law.serve([w or j == k for j, w in enumerate(waits)], need, C)
                net.append(need[k] - float(as_if[k]))
            arrivals, overflow = sum(need), 0.0
        growth = [0.0 if e else n for e, n in zip(phase.empty, net, strict=True)]
        if phase.full:
            assert self.bands == 1, "a full buffer of two bands is left out here"
            growth = [min(growth[0], 0.0)]
        delay = tau if self.bands == 2 else tau[0]
        waiting = float(sum(y[: self.bands]))
        return Sight(tau, rtt, net, growth, Seen(delay, waiting, arrivals, C, overflow))

    def _by_band(self, rates):
        sums = [0.0, 0.0]
        for rate, k in zip(rates, self.band, strict=True):
            sums[k] += rate
        return sums

    def signal(self, y, sight, i):
        """With which probability packets of class `i` are signalled now."""
        kind = "classic" if self.thinned[i] else self.senders[i].signal
        if kind is None:
            return 0.0
        state = tuple(y[self.control])
        if self.plain_signals:
            return float(getattr(self.law.encode(self.law.controller(state)), kind))
        return float(getattr(self.law.signals(state, sight.seen), kind))

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

    def heard(self, i, t, rtt):
        """What class `i` hears at `t`: its state, its signal and its round-trip time of then."""
        then, phase = self.past(i, t - rtt)
        simple = self.plain_signals and self.bands == 1
        sight = None if simple else self.look(then, phase)
        rtt_then = self.base[i] + then[0] / phase.capacity if simple else sight.rtt[i]
        p = self.signal(then, sight, i) if phase.signalling and phase.active(i) else 0.0
        return self.x(then, i), p, rtt_then

    def slopes(self, t, y):
        """The right-hand side."""
        self.evaluations += 1
        y = y.tolist()
        phase, slopes = self.phase, [0.0] * len(y)
        sight = self.look(y, phase, lambda i, rtt: self.heard(i, t, rtt)[1])
        slopes[: self.bands] = sight.growth
        moves = self.control_slopes(y, sight)
        slopes[self.control] = [0.0 if h else m for h, m in zip(phase.held, moves, strict=True)]
        for i, place in enumerate(self.places):
            if phase.active(i) and self.listens[i]:
                x_then, p, rtt_then = self.heard(i, t, sight.rtt[i])
                rate = self.senders[i].rate(self.x(y, i), x_then, p, sight.rtt[i], rtt_then)
                slopes[place] = [float(v) for v in (rate if isinstance(rate, tuple) else (rate,))]
                if phase.floored[i]:
                    slopes[place.start] = 0.0
                if phase.slow[i]:
                    slopes[place.start] = math.log(2.0) * y[place.start] / sight.rtt[i]
                    first = x_then[0] if isinstance(x_then, tuple) else x_then
                    slopes[self.hoped.start + i] = first / rtt_then * p
        return np.array(slopes)

    def control_slopes(self, y, sight):
        """How the controller's state moves, were nothing clipped."""
        state = tuple(y[self.control])
        if self.flowing:
            moves = self.law.flow(state, sight.seen, sight.growth[0] / sight.seen.capacity)
        else:
            moves = self.law.drift(state, sight.seen)
        return [float(v) for v in moves]

    # Bounds, and images: each a function that is positive beyond

    def _watched(self):
        """Yield (kind, which, by how much it may be beyond, function of time and state)."""
        phase, C = self.phase, self.phase.capacity

        def at(y):
            return self.look(y, phase, lambda i, rtt: 0.0)

        for k in range(self.bands):
            if phase.empty[k]:
                yield "fill", k, 1e-11 * C, lambda t, y, k=k: self._look_at(t, y).net[k]
            else:
                yield "empty", k, 1e-10, lambda t, y, k=k: -y[k]
        if phase.full:
            yield "drain", 0, 1e-11 * C, lambda t, y: -self._look_at(t, y).net[0]
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
                        lambda t, y, j=j, side=side: -side * self._moves(t, y)[j],
                    )
                    continue
                if low > -_LARGE:
                    yield "low", j, 1e-15, lambda t, y, p=place, b=low: b - y[p]
                if high < _LARGE:
                    yield "high", j, 1e-15, lambda t, y, p=place, b=high: y[p] - b
        for i, place in enumerate(self.places):
            if not (phase.active(i) and self.listens[i]):
                continue
            if phase.floored[i]:
                yield "lift", i, 1e-11, lambda t, y, i=i: self._window_slope(t, y, i)
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

    def _look_at(self, t, y):
        return self.look(y, self.phase, lambda i, rtt: self.heard(i, t, rtt)[1])

    def _moves(self, t, y):
        return self.control_slopes(y, self._look_at(t, y))

    def _window_slope(self, t, y, i):
        sight = self._look_at(t, y)
        x_then, p, rtt_then = self.heard(i, t, sight.rtt[i])
        rate = self.senders[i].rate(self.x(y, i), x_then, p, sight.rtt[i], rtt_then)
        return float(rate[0] if isinstance(rate, tuple) else rate)

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

                    def excess(t, beyond=beyond, slack=slack):
                        return beyond(t, at(t).tolist()) - slack

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
        rows = []
        for t in times:
            piece = self.pieces[min(bisect_right(self.starts, t) - 1, len(self.pieces) - 1)]
            y = piece.at(t).tolist()
            rows.append((self.look(y, piece.phase, lambda i, rtt: 0.0).tau, y))
        delays = np.array([tau for tau, _ in rows])
        windows = np.array([[y[place.start] for place in self.places] for _, y in rows])
        return delays, windows

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
        self.forced += 1

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
        sight = self.look(self.y.tolist(), self.phase, lambda i, rtt: 0.0)
        for i, rtt in enumerate(sight.rtt):
            self.branch[i] = bisect_right(self.marks, self.t - rtt) - 1

    def _decide(self):
        """Say anew which bounds hold."""
        y = self.y.tolist()
        for _ in range(2):
            net = self._look_at(self.t, y).net
            empty = tuple(y[k] <= 0.0 and net[k] <= 0.0 for k in range(self.bands))
            full = sum(y[: self.bands]) >= self.room and net[0] >= 0.0
            self.phase = replace(self.phase, empty=empty, full=full)
        if full:
            self.phase = self._end_slow_start(range(len(self.flows)), self.phase)
            y = self.y.tolist()
        if self.flowing:
            state, held = y[self.control], []
            for v, move, (low, high) in zip(
                state, self._moves(self.t, y), self.limits, strict=True
            ):
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
    """Return queue delays and windows at `times` (s), and how far each of them may be off."""
    one, other = (
        Third(scenario, update, initial=initial, tolerance=tolerance, part=part).run(times)
        for tolerance, part in ((3e-14, 0.15), (1e-13, 0.19))
    )
    return one, tuple(float(np.abs(a - b).max()) for a, b in zip(one, other, strict=True))
