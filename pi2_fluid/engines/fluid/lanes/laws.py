"""The laws of a batch, applied to all lanes at once, and the records that a step works with.

All arrays have one element for each run. States of a sender are a tuple here even if there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import jax
from jax import numpy as jnp

from pi2_fluid.engines.fluid.lanes.motion import Motion
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.traceable import call_traceable

if TYPE_CHECKING:
    from pi2_fluid.values import Number

Array = jax.Array  # one element for each run
Values = tuple[Array, ...]


class Shape(NamedTuple):
    """What the compiled code depends on."""

    group: tuple[int, ...]
    slow_start: tuple[bool, ...]
    thinned: tuple[bool, ...]
    motion: Motion
    capacity_changes: bool
    ramps: bool
    depth: int
    """Nodes of the past that are kept, a power of two."""
    nodes: int
    """Of one loop over all of them; 0 for loops whose lengths are not compiled in."""


class Given(NamedTuple):
    """What stays the same during a run; see `Timetable`."""

    aqm: Aqm
    senders: tuple[Sender, ...]
    h: Array
    ticks: Array
    buffer: Array
    base_rtt: Array
    start: Array
    ramp: Array


class Stage(NamedTuple):
    """What stays the same until the next change."""

    capacity: Array
    flows: Values
    """Flows of each class that sends."""
    active: Values
    running: Array
    """Whether the run goes on."""
    counted: Array
    """Whether the statistics count its steps."""


class Part(NamedTuple):
    """One of the two parts of the past that a group hears in a step."""

    weight: Array
    share: Array
    """Where between its two nodes the part is read, 0 to 1."""
    cell: Array
    """The earlier of them."""
    here: Array
    """Its place in the history."""
    there: Array
    rtt: Array
    """Round-trip time in the middle of the part."""


class Heard(NamedTuple):
    """What a class hears of one part of the past."""

    x: Values
    signal: Array
    rtt: Array


class State(NamedTuple):
    """What the past leaves to the future."""

    x: tuple[Values, ...]
    moved: tuple[Values, ...]
    """By how much each state moved in the last step."""
    slow: Values
    expected: Values
    """Signals that a flow in slow start has been sent so far."""
    queue: Array
    lost: Array
    """Packets per second lost in the last step."""
    controller: Values
    turned: Array
    """By how much the controller's variable moved in the last step, apart from ticks."""
    history: dict[str, Array]


class Node(NamedTuple):
    """What is known at a node, and where the queue is predicted to go."""

    controller: Values
    u: Array
    signal: Values
    arrivals: Array
    rates: Values
    delay: Array
    rtt: tuple[Values, ...]
    """Of each group: now, in the middle and at the end of the step."""
    parts: tuple[tuple[Part, Part], ...]


class Outcome(NamedTuple):
    """What a step did, for statistics: at its end, and packets served and lost in it."""

    delay: Array
    u: Array
    signal: Values
    served: Array
    lost: Array
    rates: Values
    arrivals: Array
    rtt: Values


def within(x: Array, low: Array | float, high: Array | float) -> Array:
    """Return x kept in [low, high]."""
    return jnp.minimum(jnp.maximum(x, low), high)


def pick(condition: Array, a: Values, b: Values) -> Values:
    """Return `a` where the condition holds, else `b`."""
    return tuple(jnp.where(condition, x, y) for x, y in zip(a, b, strict=True))


def excursion(a: Array, b: Array) -> tuple[Array, Array]:
    """Return how far below and above its start a parabola goes of slopes a and b at both ends."""
    turns = a * b < 0.0
    turn = jnp.where(turns, 0.5 * a * a / jnp.where(turns, a - b, 1.0), 0.0)
    return jnp.minimum(turn, 0.0), jnp.maximum(turn, 0.0)


class Laws:
    """The senders and the queue of all runs."""

    def __init__(self, shape: Shape, numbers: Given) -> None:
        self.shape, self.given = shape, numbers
        self.n = numbers.h.shape[0]
        self.classes = range(len(numbers.senders))
        self.listens = tuple(sender.constant_rate is None for sender in numbers.senders)
        #: What each class is signalled by: what it obeys, or what the queue drops of it; or None.
        self.signal = tuple(
            "classic" if thinned else sender.signal
            for sender, thinned in zip(numbers.senders, shape.thinned, strict=True)
        )
        #: The kinds of signals that there are.
        self.kinds = tuple(kind for kind in ("classic", "scalable") if kind in self.signal)
        self.ticks = numbers.ticks.astype(jnp.float64)
        self.per_tick = 1.0 / jnp.maximum(self.ticks, 1.0)
        self.per_h = 1.0 / numbers.h

    def full(self, value: Number) -> Array:
        """Return a value as one number for each run."""
        return jnp.broadcast_to(jnp.asarray(value, jnp.float64), (self.n,))

    # Senders

    def _states(self, i: int, name: str, *values: Array) -> Values:
        sender = self.given.senders[i]
        x = call_traceable(sender, name, *values)
        if len(x) != len(sender.states):
            raise UnsupportedError(
                f"{type(sender).__name__} has the states {sender.states}, but one of its methods"
                " returns something else than a tuple of as many numbers: return one for each."
            )
        return tuple(self.full(value) for value in x)

    def _sending_rate(self, i: int, x: Values, rtt: Array) -> Array:
        rate: Array = call_traceable(self.given.senders[i], "sending_rate", *x, rtt)[0]
        return rate

    def initial(self, i: int, window: Array) -> Values:
        """Return the state of class `i` that starts with a window."""
        return self._states(i, "initial", window)

    def rate(self, i: int, x: Values, heard: Heard, rtt: Array) -> Values:
        """Return dx/dt of class `i`."""
        return self._states(i, "rate", *x, *heard.x, heard.signal, rtt, heard.rtt)

    def leave_slow_start(self, i: int, x: Values) -> Values:
        """Return the state with which congestion avoidance begins."""
        return self._states(i, "leave_slow_start", *x)

    def number(self, stage: Stage, k: Array, part: float) -> Values:
        """Return how many flows of each class send, at a part of the step after node k."""
        if not self.shape.ramps:
            return stage.flows
        ramp, past = self.given.ramp, k.astype(jnp.float64) + part - self.given.start
        share = within(past / jnp.where(ramp > 0.0, ramp, 1.0), 0.0, 1.0)
        share = jnp.where(ramp > 0.0, share, 1.0)
        return tuple(count * own for count, own in zip(stage.flows, share, strict=True))

    def rates(
        self, x: tuple[Values, ...], rtt: Sequence[Array], number: Values, u: Array
    ) -> Values:
        """Return what each class sends (packets/s), less what is dropped of thinned traffic.

        Parameters
        ----------
        x : tuple
            State of each class.
        rtt : sequence of array
            Round-trip time of each group.
        number : tuple of array
            Flows of each class.
        u : array
            The controller's variable.
        """
        rates = []
        for i in self.classes:
            rate = self._sending_rate(i, x[i], rtt[self.shape.group[i]])
            if self.shape.thinned[i]:
                rate *= 1.0 - self.queue("encode", u)[0]
            rates.append(self.full(number[i] * rate))
        return tuple(rates)

    def window(self, i: int, x: Values, number: Array, rtt: Array) -> Array:
        """Return the window; of a sender without one, what it sends in a round-trip time."""
        if self.listens[i]:
            return x[0]
        rate = self._sending_rate(i, x, rtt)
        return jnp.where(number > 0.0, rate * rtt, 0.0)

    # The queue

    def queue(self, name: str, *values: Number) -> Values:
        """Return what a function of the queue gives, of `QUEUE_FUNCTIONS`."""
        return tuple(map(self.full, call_traceable(self.given.aqm, name, *values)))

    def controller(self, state: Values) -> Array:
        """Return the controller's variable."""
        return self.queue("controller", *state)[0]

    def rtt(self, queue: Array, per_capacity: Array) -> Values:
        """Return the round-trip time of each group."""
        return tuple(base + queue * per_capacity for base in self.given.base_rtt)

    def signals(self, controller: Values, seen: Seen) -> Values:
        """Return those of the signals that packets are sent."""
        signal = Signal(*self.queue("signals", *controller, *seen))
        return tuple(getattr(signal, kind) for kind in self.kinds)

    def signal_of(self, i: int, signal: Values) -> Array:
        """Return with what probability packets of class `i` are signalled."""
        kind = self.signal[i]
        return signal[self.kinds.index(kind)] if kind else jnp.zeros(self.n)
