"""One step of all lanes: a method of order 2 for any window and queue law.

A step goes from node k to node k + 1:

1. *The queue ahead.* Heun's method predicts the queue at the end of the step, and a parabola
   through both ends its course, hence every round-trip time R(t) in the step.
2. *The past.* Meanwhile the delayed time t - R(t) of a group of classes sweeps a stretch of the
   past, forwards or backwards (a queue may grow faster than time). Signals jump at nodes only, so
   the stretch is cut in two at a node: at the last tick of the controller in it, else at its last
   node. What was sent is read in the middle of each part, between the two nodes around it.
3. *The windows* move over both parts by the explicit midpoint rule. Where that would take more than
   half of a state at once, the decay is damped as the exponential is, so that nothing turns
   negative for being stiff.
4. *The queue* moves by Simpson's rule, with windows that go straight in each part. At a bound it is
   pushed back by as much as it went beyond in the middle of the step, not only at its end.
5. *The controller* updates at ticks, or follows its flow by the trapezoidal rule, where the change
   of the delay enters as a difference; it is pushed back from its clips like the queue.

Without the cut in 2 the method would be of order 1, for p(t - R) jumps within steps. It is of
order 1 where signals jump between nodes, as those of a full buffer do.

`arrive` ends where the way from a node to the next is known, and `advance` goes it: what lies
between the two is carried from one step to the next, which has XLA keep it. It would otherwise
compute it anew for each of the many results that need it.
"""

from __future__ import annotations

from jax import numpy as jnp

from pi2_fluid.engines.fluid.lanes.controller import move_controller, tick
from pi2_fluid.engines.fluid.lanes.laws import (
    Array,
    Laws,
    Node,
    Outcome,
    Stage,
    State,
    excursion,
    within,
)
from pi2_fluid.engines.fluid.lanes.past import begin_history, look, record, record_end
from pi2_fluid.engines.fluid.lanes.windows import end_slow_start, move_windows
from pi2_fluid.laws.seen import Seen


def begin(laws: Laws, window: Array) -> State:
    """Return the state before the first step: an empty queue, and windows that were constant."""
    zero = jnp.zeros(laws.n)
    x = tuple(laws.initial(i, window[i]) for i in laws.classes)
    return State(
        x=x,
        moved=tuple(tuple(zero for _ in own) for own in x),
        slow=tuple(jnp.full(laws.n, slow) for slow in laws.shape.slow_start),
        expected=tuple(zero for _ in x),
        queue=zero,
        lost=zero,
        controller=laws.queue("initial"),
        turned=zero,
        history=begin_history(laws, x),
    )


def arrive(laws: Laws, stage: Stage, k: Array, state: State) -> tuple[Node, State]:
    """Return what is known at node k, and the state with that node in its history.

    Parameters
    ----------
    laws : Laws
        All runs.
    stage : Stage
        Who sends, and how fast the link is, from node k on.
    k : int
        The node.
    state : State
        The state there, before a tick.
    """
    queue = state.queue
    per_capacity = 1.0 / stage.capacity
    delay, number = queue * per_capacity, laws.number(stage, k, 0.0)
    now = laws.rtt(queue, per_capacity)
    rates = laws.rates(state.x, now, number, laws.controller(state.controller))
    seen = Seen(delay, queue, sum(rates), stage.capacity, state.lost)
    controller = tick(laws, k, state.controller, seen)
    u = laws.controller(controller)
    if any(laws.shape.thinned):
        rates = laws.rates(state.x, now, number, u)
    arrivals = laws.full(sum(rates))
    signal = laws.signals(controller, seen)
    ahead, middle = _predict(laws, stage, k, state, u, arrivals)
    ways = (laws.rtt(middle, per_capacity), laws.rtt(ahead, per_capacity))
    rtt = tuple(zip(now, *ways, strict=True))
    parts = tuple(look(laws, k, *own) for own in rtt)
    node = Node(controller, u, signal, arrivals, rates, delay, rtt, parts)
    return node, state._replace(history=record(laws, k, state, per_capacity, signal))


def _predict(
    laws: Laws, stage: Stage, k: Array, state: State, u: Array, arrivals: Array
) -> tuple[Array, Array]:
    """Return the queue at the end and in the middle of the step, if windows go on as they did."""
    h, most, queue = laws.given.h, laws.given.buffer, state.queue
    growth = arrivals - stage.capacity
    x = tuple(
        tuple(a + b for a, b in zip(own, by, strict=True))
        for own, by in zip(state.x, state.moved, strict=True)
    )
    ahead = within(queue + h * growth, 0.0, most)
    rtt, number = laws.rtt(ahead, 1.0 / stage.capacity), laws.number(stage, k, 1.0)
    then = sum(laws.rates(x, rtt, number, u + state.turned)) - stage.capacity
    ahead = within(queue + 0.5 * h * (growth + then), 0.0, most)
    free = (queue > 0.0) & (ahead > 0.0) & (queue < most) & (ahead < most)
    bow = jnp.where(free, 0.125 * h * (growth - then), 0.0)
    return ahead, 0.5 * (queue + ahead) + bow


def advance(laws: Laws, stage: Stage, k: Array, state: State, node: Node) -> tuple[State, Outcome]:
    """Return the state at node k + 1, before what happens there, and what the step did."""
    h, queue, buffer = laws.given.h, state.queue, laws.given.buffer
    after, middle = move_windows(laws, stage, state, node)
    _, ways, ends = zip(*node.rtt, strict=True)
    last, u = laws.number(stage, k, 1.0), node.u + state.turned
    rates = laws.rates(after.x, ends, last, u)
    between = laws.rates(middle, ways, laws.number(stage, k, 0.5), node.u + 0.5 * state.turned)
    arrivals, growth = laws.full(sum(rates)), node.arrivals - stage.capacity
    then = arrivals - stage.capacity
    raw = queue + h / 6.0 * (growth + 4.0 * (sum(between) - stage.capacity) + then)
    low, high = excursion(h * growth, h * then)
    beyond = jnp.minimum(queue + low, 0.0) + jnp.maximum(queue + high - buffer, 0.0)
    new = within(raw - beyond, 0.0, buffer)
    pushed = new - raw
    served, lost = h * stage.capacity - jnp.maximum(pushed, 0.0), jnp.maximum(-pushed, 0.0)
    if any(laws.shape.slow_start):
        full = (lost > 0.0) & (new >= buffer)
        part = within((buffer - queue) / jnp.where(full, raw - queue, 1.0), 0.0, 1.0)
        after = end_slow_start(laws, stage, state, after, node, full, part)
        rates = laws.rates(after.x, ends, last, u)
    delay = new / stage.capacity
    seen = Seen(delay, new, arrivals, stage.capacity, lost * laws.per_h)
    controller = move_controller(laws, stage, state, node, then, seen)
    signal, history = node.signal, state.history
    if laws.shape.motion.follows:
        signal = laws.signals(controller, seen)
        history = record_end(laws, history, k, signal)
    u = laws.controller(controller)
    after = after._replace(
        moved=tuple(
            tuple(b - a for a, b in zip(old, own, strict=True))
            for old, own in zip(state.x, after.x, strict=True)
        ),
        queue=new,
        lost=lost * laws.per_h,
        controller=controller,
        turned=u - node.u if any(laws.shape.thinned) else state.turned,
        history=history,
    )
    rtt = tuple(base + delay for base in laws.given.base_rtt)
    return after, Outcome(delay, u, signal, served, lost, rates, arrivals, rtt)
