"""Plant: the right-hand side of the fluid model, on plain floats, for any window and queue law.

With q the queue, C the capacity, R_i = base_rtt_i + tau the round-trip time of class i, and
d_i = t - R_i(t) the instant at which what class i hears now left the queue,

    dx_i/dt = rate(x_i(t), x_i(d_i), p_i(d_i), R_i(t), R_i(d_i)),
    dq/dt   = sum of count_i * sending_rate(x_i, R_i) - C,        0 <= q <= buffer,

and the queue's controller moves by its `update` every T ("sampled") or by its `flow`
("continuous"). What is discrete (who is active, which bound holds, the capacity) is the `Mode`;
it changes at events only, so that between two events everything is smooth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.sides import (
    Compared,
    QueueCompared,
    Sides,
    compared_queue,
    compared_rate,
)
from pi2_fluid.engines.fluid.state import EMPTY, FREE, FULL, Basin, Heard, Mode, Read, State, View
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.seen import Seen
from pi2_fluid.network.scenario import Scenario

#: Of an instant: delays of the bands, round-trip times and rates of the classes, growth of the
#: bands, and what they serve.
Shares: TypeAlias = tuple[
    tuple[float, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...]
]
_DOUBLING: Final = math.log(2.0)  # slow start doubles the window in one round trip
_NUDGE: Final = 1e-6  # s: how far ahead a clip is felt
#: s of queue, added to its length to make its error relative
SLOWEST: Final = 1e-3
UNSEEN: Final = Seen(0.0, 0.0, 0.0, 0.0)  # by signals that follow from the state alone
_AHEAD: Final = 1e-6  # of a round-trip time, over which its own slope is taken


class Plant:
    """The equations of one scenario. The state is a list: queues, arrivals, controller, senders."""

    #: Whether windows stay at or above 0.
    floors = True

    def __init__(self, scenario: Scenario, update: str, beginning: Beginning | None = None) -> None:
        self._take_classes(scenario, beginning)
        self.aqm: Aqm = scenario.aqm
        self.bands = self.aqm.bands
        #: Whether some queue is dual.
        self.dual = self.bands == 2
        #: Of each law: the first of its queues.
        self.first_queue: tuple[int, ...] = (0,)
        self.basins: tuple[Basin, ...] = (Basin(slice(0, self.bands), float(scenario.link.buffer)),)
        #: Which band a class sends into: the L4S one takes the scalable senders.
        self.band = tuple(int(self.bands == 2 and s.signal == "scalable") for s in self.senders)
        keys = list(zip(self.base_rtt, self.band, strict=True))
        groups = list(dict.fromkeys(keys))
        #: Classes with the same delay read the same past; senders of a constant rate read none.
        self.group = tuple(groups.index(key) for key in keys)
        self.group_count = len(groups)
        #: Traffic that ignores signals, but of which the queue drops what it signals.
        self.thinned = tuple(self.aqm.thins and s.thinned for s in self.senders)
        self._lay_out()
        own = type(self.aqm)
        if self.aqm.update_interval is None:
            self._slope = self._flow if is_bounded(self.aqm) else self._drift
        elif update == "continuous":
            self._slope = self._flow
        else:
            self._slope = self._drift if own.drift is not Aqm.drift else self._hold
        self.continuous = self._slope == self._flow
        self._simple_signals = own.signals is Aqm.signals and self.bands == 1
        queue = compared_queue(self.aqm, flows=self.continuous)
        #: What compares, of each queue's law and of each class's; None: it compares nothing.
        self.compared: tuple[Compared | None, ...] = (queue, *map(compared_rate, self.senders))
        self._queue_compared = queue

    def _take_classes(self, scenario: Scenario, beginning: Beginning | None) -> None:
        """Take over the classes of flows."""
        self.scenario, self.beginning = scenario, beginning
        self.flows = scenario.flows
        self.senders = tuple(f.sender.on_link(scenario.packet_size) for f in scenario.flows)
        self.base_rtt = tuple(float(flow.base_rtt) for flow in scenario.flows)
        #: Which classes have a window that moves: all but those of a constant rate.
        self.listens = tuple(sender.constant_rate is None for sender in self.senders)
        self.thinned = tuple(sender.thinned for sender in self.senders)

    def _lay_out(self) -> None:
        self.arrived = self.bands
        first = 2 * self.bands
        self.state = slice(first, first + len(self.aqm.initial()))
        #: Each law with the place of its state.
        self.laws: tuple[tuple[Aqm, slice], ...] = ((self.aqm, self.state),)
        self._lay_out_classes(self.state.stop)

    def _lay_out_classes(self, place: int) -> None:
        """Lay out the states of the classes from `place` on."""
        slices = []
        for sender in self.senders:
            slices.append(slice(place, place + len(sender.states)))
            place += len(sender.states)
        self.windows = tuple(slices)
        self.expected = tuple(range(place, place + len(self.senders)))
        self.size = place + len(self.senders)

    def initial(self) -> tuple[list[float], Mode]:
        """Return the state before time 0: an empty queue, a constant window, no signals."""
        link = self.scenario.link
        y, mode = self._initial([float(link.capacity) / (8.0 * float(link.packet_size))])
        return (y, mode) if self.beginning is None else self._begin(self.beginning, y, mode)

    def _initial(self, capacity: Iterable[float]) -> tuple[list[float], Mode]:
        y = [0.0] * self.size
        for law, where in self.laws:
            y[where] = [float(value) for value in law.initial()]
        for flow, sender, where in zip(self.flows, self.senders, self.windows, strict=True):
            x = sender.initial(float(flow.initial_window))
            y[where] = [float(v) for v in (x if len(sender.states) > 1 else (x,))]
        none = (False,) * len(self.flows)
        mode = Mode(
            capacity=tuple(capacity),
            counts=tuple(float(flow.count) for flow in self.flows),
            started=none,
            active=none,
            ramping=none,
            slow=tuple(flow.slow_start and flow.sender.signal is not None for flow in self.flows),
            floored=none,
            bound=(EMPTY,) * self.bands,
            held=(0.0,) * (self.state.stop - self.state.start),
            signalling=False,
        )
        return y, mode

    def _begin(self, given: Beginning, y: list[float], mode: Mode) -> tuple[list[float], Mode]:
        """Return a past that goes on as it is, signals included, for those who send at time 0."""
        return self.hold_bounds(0.0, *self._begun(given, y, mode))

    def _begun(self, given: Beginning, y: list[float], mode: Mode) -> tuple[list[float], Mode]:
        y[: self.bands] = y[self.arrived : self.arrived + self.bands] = list(given.queues)
        y[self.state] = list(given.controller)
        for x, where in zip(given.senders, self.windows, strict=True):
            y[where] = list(x)
        active = tuple(flow.start == 0.0 for flow in self.flows)
        slow = tuple(s and not a for s, a in zip(mode.slow, active, strict=True))
        return y, mode._replace(started=active, active=active, slow=slow, signalling=True)

    # The state of one instant

    def x(self, y: Sequence[float], i: int) -> State:
        """Return the state of class `i` as its law wants it: a number, or a tuple of several."""
        where = self.windows[i]
        return tuple(y[where]) if where.stop - where.start > 1 else y[where.start]

    def count(self, t: float, mode: Mode, i: int) -> float:
        """Return how many flows of class `i` send at `t`."""
        if not mode.active[i]:
            return 0.0
        if not mode.ramping[i]:
            return mode.counts[i]
        begun = float((t - self.flows[i].start) / self.flows[i].start_jitter)
        return mode.counts[i] * min(1.0, max(0.0, begun))

    def observe(self, t: float, y: Sequence[float], mode: Mode) -> View:
        """Return delays, rates and signals at one instant."""
        tau, rtt, rates, net, served = self._share(t, y, mode)
        arrivals = sum(rates)
        overflow = max(0.0, self.growth(0, net, mode)) if FULL in mode.bound else 0.0
        delay = tau if self.bands == 2 else tau[0]
        seen = Seen(delay, sum(y[: self.bands]), arrivals, mode.capacity[0], overflow)
        return View(tau, rtt, rates, net, served, (seen,), (self._shown(y, seen, mode),))

    def _shown(self, y: Sequence[float], seen: Seen, mode: Mode) -> Signal:
        """Return what packets see of the queue."""
        state = tuple(y[self.state])
        if self._queue_compared is None:
            return self.aqm.signals(state, seen)
        return self._queue_compared.signals(state, seen, held(mode, 0))

    def _share(self, t: float, y: Sequence[float], mode: Mode) -> Shares:
        (capacity,) = mode.capacity
        if self.bands == 1:
            tau = (y[0] / capacity,)
            rtt = tuple(base + tau[0] for base in self.base_rtt)
            rates = self._rates(t, y, mode, rtt)
            arrivals = sum(rates)
            served = arrivals if mode.bound[0] == EMPTY else capacity
            return tau, rtt, rates, (arrivals - capacity,), (served,)
        return self._share_two(t, y, mode)

    def _share_two(self, t: float, y: Sequence[float], mode: Mode) -> Shares:
        """Share the link of a dual queue: an idle band's delay is 0, a backlogged one's follows."""
        law, (capacity,) = self.aqm, mode.capacity
        backlogged = [bound != EMPTY for bound in mode.bound]
        idle = self._rates(t, y, mode, self.base_rtt)
        arrivals = [sum(r for r, b in zip(idle, self.band, strict=True) if b == k) for k in (0, 1)]
        served = law.serve(backlogged, arrivals, capacity)
        tau = tuple(y[k] / float(served[k]) if backlogged[k] else 0.0 for k in (0, 1))
        rtt = tuple(base + tau[b] for base, b in zip(self.base_rtt, self.band, strict=True))
        rates = self._rates(t, y, mode, rtt)
        arrivals = [sum(r for r, b in zip(rates, self.band, strict=True) if b == k) for k in (0, 1)]
        # A queue that is held empty leaves 0 when it would not be served what arrives.
        net = tuple(
            arrivals[k]
            - (
                float(served[k])
                if backlogged[k]
                else float(
                    law.serve([backlogged[j] or j == k for j in (0, 1)], arrivals, capacity)[k]
                )
            )
            for k in (0, 1)
        )
        return tau, rtt, rates, net, tuple(float(value) for value in served)

    def _rates(
        self, t: float, y: Sequence[float], mode: Mode, rtt: tuple[float, ...]
    ) -> tuple[float, ...]:
        """Return what each class sends into the queue."""
        rates = tuple(
            self.count(t, mode, i) * float(sender.sending_rate(self.x(y, i), rtt[i]))
            if mode.active[i]
            else 0.0
            for i, sender in enumerate(self.senders)
        )
        if not any(self.thinned):
            return rates
        kept = 1.0 - float(self.aqm.encode(self.aqm.controller(tuple(y[self.state]))).classic)
        return tuple(r * kept if t else r for r, t in zip(rates, self.thinned, strict=True))

    def rtt(self, y: Sequence[float], mode: Mode, i: int) -> float:
        """Return the round-trip time of class `i`; in a dual queue that of its first band."""
        return self.base_rtt[i] + y[0] / mode.capacity[0]

    def met(self, view: View, mode: Mode, i: int) -> float:
        """Return the probability with which packets of class `i` are signalled on their way."""
        return self.signal(view.signals[0], i)

    def signal(self, signals: Signal, i: int) -> float:
        """Return the probability with which packets of class `i` are signalled."""
        kind = "classic" if self.thinned[i] else self.senders[i].signal
        return float(getattr(signals, kind)) if kind else 0.0

    def within_bounds(self, y: list[float]) -> list[float]:
        """Return the state with what interpolation has carried past a bound put back on it."""
        y = list(y)
        size = self.basins[0].size
        y[: self.bands] = [min(max(q, 0.0), size) for q in y[: self.bands]]
        y[self.state] = [float(value) for value in self.aqm.saturate(tuple(y[self.state]))]
        for where in self.windows:
            y[where.start] = max(y[where.start], 0.0)
        return y

    def heard(self, t: float, y: Sequence[float], mode: Mode, i: int) -> tuple[Any, float, float]:
        """Return (state, signal probability, round-trip time) of class `i` at an earlier instant.

        This is what reaches it one round trip later. Before it starts, nothing does.
        """
        if self._simple_signals:
            rtt = self.base_rtt[i] + y[0] / mode.capacity[0]
            signals = self._shown(y, UNSEEN, mode)
        else:
            view = self.observe(t, y, mode)
            rtt, (signals,) = view.rtt[i], view.signals
        heard = mode.signalling and mode.active[i]
        return self.x(y, i), self.signal(signals, i) if heard else 0.0, rtt

    def past(self, t: float, view: View, mode: Mode, read: Read) -> list[Heard | None]:
        """Return what each class hears now, None if it does not listen."""
        found: dict[int, tuple[float, list[float], Mode]] = {}
        past: list[Heard | None] = []
        for i, group in enumerate(self.group):
            if not (mode.active[i] and self.listens[i]):
                past.append(None)
                continue
            if group not in found:
                found[group] = read(group, t - view.rtt[i])
            past.append(self.heard(*found[group], i))
        return past

    def listeners(self, group: int) -> list[int]:
        """Return the classes of a group."""
        return [i for i, mine in enumerate(self.group) if mine == group]

    def delayed(
        self, group: int, t: float, y: list[float], f: list[float], view: View, mode: Mode
    ) -> tuple[float, float] | None:
        """Return the delayed time of a group and how fast it moves; None if nobody listens."""
        for i, mine in enumerate(self.group):
            if mine == group and mode.active[i] and self.listens[i]:
                return t - view.rtt[i], self.speed(i, t, y, f, view, mode)
        return None

    def sizes(self, mode: Mode) -> list[tuple[int, float]]:
        """Return which components' errors count, and what is added to each to make it relative."""
        found = [(k, SLOWEST * mode.capacity[0]) for k in range(self.bands)]
        return found + self._sizes_of_laws()

    def _sizes_of_laws(self) -> list[tuple[int, float]]:
        found = [(j, 1e-3) for j in range(self.state.start, self.state.stop)]
        return found + [(j, 0.1) for w in self.windows for j in range(w.start, w.stop)]

    # The right-hand side

    def growth(self, basin: int, net: tuple[float, ...], mode: Mode) -> float:
        """Return how fast all packets of a basin would grow in number, were there room."""
        queues = self.basins[basin].queues
        found = zip(net[queues], mode.bound[queues], strict=True)
        return sum(n for n, bound in found if bound != EMPTY)

    def queue_slopes(self, net: tuple[float, ...], mode: Mode) -> list[float]:
        """Return dq/dt of each queue within the bounds that hold."""
        return slopes_in_buffer(net, mode.bound)

    def derivative(
        self, y: Sequence[float], mode: Mode, view: View, past: Sequence[Any]
    ) -> list[float]:
        """Return dy/dt; `past` holds (state, signal, round-trip time) of each class at d_i."""
        f = [0.0] * self.size
        for k, slope in enumerate(self.queue_slopes(view.net, mode)):
            f[k] = slope
            f[self.arrived + k] = view.served[k] + slope
        for i in range(len(self.senders)):
            if not mode.active[i] or not self.listens[i]:
                continue
            x_then, p_then, rtt_then = past[i]
            where = self.windows[i]
            f[where] = self._rate(i, y, mode, view, past[i])
            if mode.floored[i]:
                f[where.start] = 0.0
            if mode.slow[i]:
                f[where.start] = _DOUBLING * y[where.start] / view.rtt[i]
                then = x_then[0] if isinstance(x_then, tuple) else x_then
                f[self.expected[i]] = then / rtt_then * p_then
        moves = self.controller_slope(y, mode, view)
        f[self.state] = [0.0 if held else v for v, held in zip(moves, mode.held, strict=True)]
        return f

    def _rate(
        self, i: int, y: Sequence[float], mode: Mode, view: View, past: Heard
    ) -> Sequence[float]:
        """Return d(state)/dt of class `i` by its law."""
        compared = self.compared[len(self.laws) + i]
        if compared is not None:
            values = self._asked_of_class(i, y, view, past)
            return compared(values, held(mode, len(self.laws) + i))
        rate = self.senders[i].rate(self.x(y, i), *past[:2], view.rtt[i], past[2])
        # Python's floats compute several times as fast as NumPy's.
        return [float(v) for v in (rate if isinstance(rate, tuple) else (rate,))]

    def window_slope(
        self, i: int, y: Sequence[float], mode: Mode, view: View, past: Heard
    ) -> float:
        """Return dW/dt of class `i` by its law, whatever holds the window."""
        return self._rate(i, y, mode, view, past)[0]

    def controller_slope(self, y: Sequence[float], mode: Mode, view: View) -> Sequence[float]:
        """Return d(controller state)/dt before clipping."""
        return self._slope(y, mode, view)

    def _hold(self, y: Sequence[float], mode: Mode, view: View) -> Sequence[float]:
        return [0.0] * len(mode.held)

    def _drift(self, y: Sequence[float], mode: Mode, view: View) -> Sequence[float]:
        state, seen = tuple(y[self.state]), view.seen[0]
        if self._queue_compared is not None:
            return self._queue_compared.slopes(state, seen, 0.0, held(mode, 0))
        return [float(v) for v in self.aqm.drift(state, seen)]

    def _flow(self, y: Sequence[float], mode: Mode, view: View) -> Sequence[float]:
        growth = self.queue_slopes(view.net, mode)[0] / mode.capacity[0]
        return self._flow_by(y, mode, view.seen[0], growth)

    def _flow_by(
        self, y: Sequence[float], mode: Mode, seen: Seen, growth: float
    ) -> Sequence[float]:
        state = tuple(y[self.state])
        if self._queue_compared is not None:
            return self._queue_compared.slopes(state, seen, growth, held(mode, 0))
        return [float(v) for v in self.aqm.flow(state, seen, growth)]

    # Sides

    def asked(
        self, k: int, y: Sequence[float], mode: Mode, view: View, past: Sequence[Heard | None]
    ) -> list[float] | None:
        """Return what the k-th of `compared` is called with now, None if it is not."""
        if k < len(self.laws):
            queue, where = self.compared[k], self.laws[k][1]
            growth = self.queue_slopes(view.net, mode)[self.first_queue[k]] / mode.capacity[k]
            return (
                queue.values(y[where], view.seen[k], growth)
                if isinstance(queue, QueueCompared)
                else None
            )
        i = k - len(self.laws)
        heard = past[i]
        return None if heard is None else self._asked_of_class(i, y, view, heard)

    def _asked_of_class(self, i: int, y: Sequence[float], view: View, past: Heard) -> list[float]:
        x_then, p_then, rtt_then = past
        then = x_then if isinstance(x_then, tuple) else (x_then,)
        return [*y[self.windows[i]], *then, p_then, view.rtt[i], rtt_then]

    def by_numbers(self, mode: Mode) -> Mode:
        """Return the mode without sides: what is compared decides."""
        return mode._replace(sides=()) if mode.sides else mode

    def take_sides(
        self,
        t: float,
        y: Sequence[float],
        mode: Mode,
        past: Callable[[float, View], Sequence[Heard | None]],
    ) -> Mode:
        """Return the mode in which every comparison holds the answer that it has now."""
        if not any(self.compared):
            return mode
        mode = self.by_numbers(mode)
        view = self.observe(t, y, mode)
        heard, sides = past(t, view), list[Sides]()
        for k, compared in enumerate(self.compared):
            values = None if compared is None else self.asked(k, y, mode, view, heard)
            sides.append(None if compared is None or values is None else compared.sides(values))
        return mode._replace(sides=tuple(sides))

    def speed(
        self, i: int, t: float, y: Sequence[float], f: Sequence[float], view: View, mode: Mode
    ) -> float:
        """Return how fast the instant moves that class `i` reads, d(t - R)/dt."""
        if self.bands == 1:
            return 1.0 - f[0] / mode.capacity[0]
        # The rate at which a band is served moves as well: look ahead a little.
        ahead = _AHEAD * view.rtt[i]
        after = [v + ahead * slope for v, slope in zip(y, f, strict=True)]
        return 1.0 - (self.observe(t + ahead, after, mode).rtt[i] - view.rtt[i]) / ahead

    # Jumps

    def tick(
        self, t: float, y: list[float], mode: Mode, links: Sequence[int] = (0,)
    ) -> list[float]:
        """Return the state after one update of the controllers of some links."""
        (seen,) = self.observe(t, y, mode).seen
        interval = self.aqm.update_interval
        assert interval is not None, "what has no ticks is not ticked"
        state = self.aqm.update(tuple(y[self.state]), seen, interval)
        y = list(y)
        y[self.state] = [float(value) for value in self.aqm.saturate(state)]
        return y

    def jump(self, t: float, y: list[float], before: Mode, after: Mode) -> list[float]:
        """Return the state after the capacity has jumped: the delay, and what follows it, jump."""
        if not self.continuous:
            return y
        old, new = self.observe(t, y, before), self.observe(t, y, after)
        state, (seen,) = tuple(y[self.state]), old.seen
        still = self._flow_by(y, before, seen, 0.0)
        moved = self._flow_by(y, before, seen, new.tau[0] - old.tau[0])
        impulse = [s + m - f for s, m, f in zip(state, moved, still, strict=True)]
        y = list(y)
        y[self.state] = [float(value) for value in self.aqm.saturate(tuple(impulse))]
        return y

    # Which bounds hold

    def hold_bounds(self, t: float, y: list[float], mode: Mode) -> tuple[list[float], Mode]:
        """Return the mode in which every bound that stops the motion is held, and no other.

        Nobody is in slow start while the buffer is full: a flow that starts then leaves it at
        once, which may change its state.
        """
        for _ in range(2):  # whether one band is served decides about the other
            view = self.observe(t, y, mode)
            full = sum(y[: self.bands]) >= self.basins[0].size
            bound: list[int] = []
            for k in range(self.bands):
                if y[k] <= 0.0 and view.net[k] <= 0.0:
                    bound.append(EMPTY)
                elif full and self.growth(0, view.net, mode) >= 0.0:
                    bound.append(FULL)
                else:
                    bound.append(FREE)
            mode = mode._replace(bound=tuple(bound))
        if FULL in mode.bound:
            y, mode = self.end_slow_start(self.crossing(0), y, mode)
        mode = mode._replace(held=self.clips(y, mode, self.observe(t, y, mode)))
        return y, mode

    def crossing(self, basin: int) -> Iterable[int]:
        """Return the classes that meet the queues of a basin."""
        return range(len(self.senders))

    def end_slow_start(
        self, classes: Iterable[int], y: list[float], mode: Mode
    ) -> tuple[list[float], Mode]:
        """Return state and mode after slow start, of those of the classes that send in it."""
        y = list(y)
        for i in classes:
            if mode.slow[i] and mode.active[i]:
                x = self.senders[i].leave_slow_start(self.x(y, i))
                y[self.windows[i]] = [float(v) for v in (x if isinstance(x, tuple) else (x,))]
                slow = (*mode.slow[:i], False, *mode.slow[i + 1 :])
                mode = mode._replace(slow=slow)
        return y, mode

    def clipped(self, state: Sequence[float]) -> Sequence[float]:
        """Return the controller's state within its clips."""
        return [float(v) for v in self.aqm.saturate(tuple(state))]

    def clips(self, y: Sequence[float], mode: Mode, view: View) -> tuple[float, ...]:
        """Return, for each controller state, the direction in which a clip holds it (else 0)."""
        if not self.continuous:
            return mode.held
        state = y[self.state]
        slope = self.controller_slope(y, mode, view)
        ahead = tuple(s + _NUDGE * v for s, v in zip(state, slope, strict=True))
        clipped = self.clipped(ahead)
        return tuple(
            math.copysign(1.0, v) if c != a and c == s else 0.0
            for s, v, a, c in zip(state, slope, ahead, clipped, strict=True)
        )


def slopes_in_buffer(net: Sequence[float], bound: Sequence[int]) -> list[float]:
    """Return dq/dt of the queues of one buffer, given how they would grow were there room."""
    slopes = [0.0 if b == EMPTY else n for n, b in zip(net, bound, strict=True)]
    if FULL in bound:
        # Room that one band frees is taken by the other; the rest is lost.
        growing = sum(v for v in slopes if v > 0.0)
        freed = -sum(v for v in slopes if v < 0.0)
        if growing > freed:
            slopes = [v * freed / growing if v > 0.0 else v for v in slopes]
    return slopes


def is_bounded(aqm: Aqm) -> bool:
    """Return whether a law clips its state, so that its motion without updates may be held."""
    return type(aqm).saturate is not Aqm.saturate


def held(mode: Mode, k: int) -> Sides:
    """Return the sides of the k-th that compares."""
    return mode.sides[k] if mode.sides else None
