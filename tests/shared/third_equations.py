"""The equations of the fluid in one node, written again for tests after docs/fluid.md.

Of the laws only their public methods are called. What is discrete is the `Phase`, which is constant
between two breakpoints. Who solves the equations, `third_method`, says what they hear of the past.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pi2_fluid.laws.aqm import Aqm, Seen

LARGE = 1e30


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
class Sight:
    """What follows from the state of one instant."""

    tau: tuple
    rtt: list
    net: list
    growth: list
    seen: Seen


class Equations:
    """The right-hand side for one scenario."""

    def __init__(self, scenario, update="sampled", initial=None):
        self.scenario = scenario
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
        self.limits = []
        for j in range(self.control.stop - self.control.start):
            ends = []
            for far in (-LARGE, LARGE):
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
        raise NotImplementedError

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

    def look_at(self, t, y):
        return self.look(y, self.phase, lambda i, rtt: self.heard(i, t, rtt)[1])

    def moves(self, t, y):
        return self.control_slopes(y, self.look_at(t, y))

    def window_slope(self, t, y, i):
        sight = self.look_at(t, y)
        x_then, p, rtt_then = self.heard(i, t, sight.rtt[i])
        rate = self.senders[i].rate(self.x(y, i), x_then, p, sight.rtt[i], rtt_then)
        return float(rate[0] if isinstance(rate, tuple) else rate)

    def window(self, t, y, rtt, i):
        """What a class has under way; of those that have no window, nothing is said."""
        sender, x = self.senders[i], self.x(y, i)
        if not self.listens[i]:
            return math.nan
        if sender.answers_at_once:
            return float(sender.sending_rate_under(x, self.heard(i, t, rtt)[1], rtt)) * rtt
        return y[self.places[i].start]
