"""What classes and controllers do, whatever way packets take: on plain floats, for any law.

With R_i the round-trip time of class i, and d_i = t - R_i(t) the instant at which what it hears now
left its route,

    dx_i/dt = rate(x_i(t), x_i(d_i), p_i(d_i), R_i(t), R_i(d_i)),

and a queue's controller moves by its `update` every T ("sampled") or by its `flow` ("continuous").
What is discrete (who is active, which bound holds, the capacity) is the `Mode`; it changes at
events only, so that between two events everything is smooth.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.oracle.sides import Compared, QueueCompared, Sides
from pi2_fluid.engines.fluid.oracle.state import EMPTY, FULL, Basin, Heard, Mode, State, View
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.seen import Seen
from pi2_fluid.network.scenario import Scenario

_DOUBLING: Final = math.log(2.0)  # slow start doubles the window in one round trip
_NUDGE: Final = 1e-6  # s: how far ahead a clip is felt
#: s of queue, added to its length to make its error relative
SLOWEST: Final = 1e-3
UNSEEN: Final = Seen(0.0, 0.0, 0.0, 0.0)  # by signals that follow from the state alone


class Equations(ABC):
    """The part of a plant that is the same whatever way packets take."""

    #: Each law with the place of its state, and the first of its queues.
    laws: tuple[tuple[Aqm, slice], ...]
    first_queue: tuple[int, ...]
    #: How many queues there are, and which of them share a buffer.
    bands: int
    basins: tuple[Basin, ...]
    #: Where the state has what entered the queues, and the controllers' states.
    arrived: int
    state: slice
    #: Whether some law moves by its flow.
    continuous: bool
    #: What compares, of each queue's law and of each class's; None: it compares nothing.
    compared: tuple[Compared | None, ...]

    @abstractmethod
    def observe(self, t: float, y: Sequence[float], mode: Mode) -> View:
        """Return delays, rates and signals at one instant."""

    @abstractmethod
    def queue_slopes(self, net: tuple[float, ...], mode: Mode) -> list[float]:
        """Return dq/dt of each queue within the bounds that hold."""

    @abstractmethod
    def controller_slope(self, y: Sequence[float], mode: Mode, view: View) -> Sequence[float]:
        """Return d(controllers' states)/dt before clipping."""

    @abstractmethod
    def clipped(self, state: Sequence[float]) -> Sequence[float]:
        """Return the controllers' states within their clips."""

    def _take_classes(self, scenario: Scenario, beginning: Beginning | None) -> None:
        """Take over the classes of flows."""
        self.scenario, self.beginning = scenario, beginning
        self.flows = scenario.flows
        self.senders = tuple(f.sender.on_link(scenario.packet_size) for f in scenario.flows)
        self.base_rtt = tuple(float(flow.base_rtt) for flow in scenario.flows)
        #: Which classes have a window that moves: all but those of a constant rate.
        self.listens = tuple(sender.constant_rate is None for sender in self.senders)
        self.thinned = tuple(sender.thinned for sender in self.senders)

    def _lay_out_classes(self, place: int) -> None:
        """Lay out the states of the classes from `place` on."""
        slices = []
        for sender in self.senders:
            slices.append(slice(place, place + len(sender.states)))
            place += len(sender.states)
        self.windows = tuple(slices)
        self.expected = tuple(range(place, place + len(self.senders)))
        self.size = place + len(self.senders)

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

    def _begun(self, given: Beginning, y: list[float], mode: Mode) -> tuple[list[float], Mode]:
        y[: self.bands] = y[self.arrived : self.arrived + self.bands] = list(given.queues)
        y[self.state] = list(given.controller)
        for x, where in zip(given.senders, self.windows, strict=True):
            y[where] = list(x)
        active = tuple(flow.start == 0.0 for flow in self.flows)
        slow = tuple(s and not a for s, a in zip(mode.slow, active, strict=True))
        return y, mode._replace(started=active, active=active, slow=slow, signalling=True)

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

    def signal(self, signals: Signal, i: int) -> float:
        """Return the probability with which packets of class `i` are signalled."""
        kind = "classic" if self.thinned[i] else self.senders[i].signal
        return float(getattr(signals, kind)) if kind else 0.0

    def growth(self, basin: int, net: tuple[float, ...], mode: Mode) -> float:
        """Return how fast all packets of a basin would grow in number, were there room."""
        queues = self.basins[basin].queues
        found = zip(net[queues], mode.bound[queues], strict=True)
        return sum(n for n, bound in found if bound != EMPTY)

    def _sizes_of_laws(self) -> list[tuple[int, float]]:
        found = [(j, 1e-3) for j in range(self.state.start, self.state.stop)]
        return found + [(j, 0.1) for w in self.windows for j in range(w.start, w.stop)]

    def derivative(
        self, y: Sequence[float], mode: Mode, view: View, past: Sequence[Heard | None]
    ) -> list[float]:
        """Return dy/dt; `past` is what each class hears, None if it does not."""
        f = [0.0] * self.size
        for k, slope in enumerate(self.queue_slopes(view.net, mode)):
            f[k] = slope
            f[self.arrived + k] = view.served[k] + slope
        for i, heard in enumerate(past):
            if heard is None:
                continue
            x_then, p_then, rtt_then = heard
            where = self.windows[i]
            f[where] = self._rate(i, y, mode, view, heard)
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
