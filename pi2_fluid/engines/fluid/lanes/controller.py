"""The queue's controller of all lanes: at its ticks, and between them."""

from __future__ import annotations

from jax import numpy as jnp

from pi2_fluid.engines.fluid.lanes.laws import (
    Array,
    Laws,
    Node,
    Stage,
    State,
    Values,
    excursion,
)
from pi2_fluid.laws.seen import Seen


def tick(laws: Laws, k: Array, controller: Values, seen: Seen) -> Values:
    """Return the controller's state after node k: updated in those runs that tick there."""
    interval = laws.given.aqm.update_interval
    if not laws.shape.motion.ticks or interval is None:
        return controller
    updated = laws.queue("update and saturate", *controller, *seen, interval)
    node = k.astype(jnp.float64)
    phase = node - jnp.floor((node + 0.5) * laws.per_tick) * laws.ticks
    ticks = (phase == 0.0) & (k > 0)
    return tuple(jnp.where(ticks, new, old) for new, old in zip(updated, controller, strict=True))


def move_controller(
    laws: Laws, stage: Stage, state: State, node: Node, then: Array, seen: Seen
) -> Values:
    """Return the controller's state at the end of a step, before a tick.

    Parameters
    ----------
    laws, stage, state, node : Laws, Stage, State, Node
        The runs at the beginning of the step.
    then : array
        Growth of the queue (packets/s) at its end, were it free.
    seen : Seen
        What the controller sees there.
    """
    if laws.shape.motion.flows:
        return _flow(laws, stage, state, node, then, seen)
    if laws.shape.motion.drifts:
        return _drift(laws, stage, state, node, seen)
    return node.controller


def _drift(laws: Laws, stage: Stage, state: State, node: Node, seen: Seen) -> Values:
    h, start = laws.given.h, node.controller
    before = Seen(node.delay, state.queue, node.arrivals, stage.capacity, state.lost)
    first = laws.queue("drift", *start, *before)
    ahead = tuple(a + h * b for a, b in zip(start, first, strict=True))
    second = laws.queue("drift", *ahead, *seen)
    return tuple(a + 0.5 * h * (b + c) for a, b, c in zip(start, first, second, strict=True))


def _flow(laws: Laws, stage: Stage, state: State, node: Node, then: Array, seen: Seen) -> Values:
    """The trapezoidal rule, exact in the change of the delay; pushed back from the clips.

    In the middle of the step the controller may run against a clip and come back. As it is clipped
    all the time, it then ends higher (or lower) by as much as it would have gone beyond.
    """
    h, start = laws.given.h, node.controller
    before = Seen(node.delay, state.queue, node.arrivals, stage.capacity, state.lost)
    mean = (seen.queue_delay - node.delay) * laws.per_h
    first = laws.queue("flow", *start, *before, mean)
    ahead = tuple(a + h * b for a, b in zip(start, first, strict=True))
    second = laws.queue("flow", *ahead, *seen, mean)
    growth = node.arrivals - stage.capacity
    held = _held(laws, state.queue, growth), _held(laws, laws.full(seen.queue), then)
    leaves = laws.queue("flow", *start, *before, held[0] / stage.capacity)
    comes = laws.queue("flow", *ahead, *seen, held[1] / stage.capacity)
    turns = [excursion(h * a, h * b) for a, b in zip(leaves, comes, strict=True)]
    bottom = tuple(a + turn[0] for a, turn in zip(start, turns, strict=True))
    top = tuple(a + turn[1] for a, turn in zip(start, turns, strict=True))
    low, high = laws.queue("saturate", *bottom), laws.queue("saturate", *top)
    clipped = zip(bottom, low, top, high, strict=True)
    pushed = ((c - b) + (d - t) for b, c, t, d in clipped)
    end = (
        a + (0.5 * h * (b + c) + push)
        for a, b, c, push in zip(start, first, second, pushed, strict=True)
    )
    return laws.queue("saturate", *end)


def _held(laws: Laws, queue: Array, growth: Array) -> Array:
    """Return how fast the queue moves where its bounds let it."""
    held = ((queue <= 0.0) & (growth < 0.0)) | ((queue >= laws.given.buffer) & (growth > 0.0))
    return jnp.where(held, 0.0, growth)


def jump(laws: Laws, state: State, old: Array, new: Array) -> State:
    """Return the state after the capacity has changed: the delay jumps, and what follows it."""
    if not (laws.shape.motion.flows and laws.shape.capacity_changes):
        return state
    queue = state.queue
    seen = Seen(queue / old, queue, old, old, state.lost)
    still = laws.queue("flow", *state.controller, *seen, 0.0)
    moved = laws.queue("flow", *state.controller, *seen, queue / new - queue / old)
    jumped = (a + (b - c) for a, b, c in zip(state.controller, moved, still, strict=True))
    return state._replace(controller=laws.queue("saturate", *jumped))
