"""The past of all lanes: a ring of nodes, and which part of it is heard in a step.

What happened is kept at nodes: states, queue, capacity and signals as they were just after the
node, and, where signals follow the queue, as they were just before the next one.
"""

from __future__ import annotations

from typing import Any

import jax
from jax import numpy as jnp

from pi2_fluid.engines.fluid.lanes.laws import Array, Heard, Laws, Part, Stage, State, Values

History = dict[str, Array]


def begin_history(laws: Laws, x: tuple[Values, ...]) -> History:
    """Return the past before time 0: an empty queue, constant states, no signals."""
    zero = jnp.zeros(laws.n)
    past = {"queue": zero}
    if laws.shape.capacity_changes:
        past["per_capacity"] = zero + 1.0  # of an empty queue
    for kind in laws.kinds:
        past[f"signal {kind}"] = zero
        if laws.shape.motion.follows:
            past[f"end {kind}"] = zero
    past |= _states(laws, x)
    return {name: jnp.broadcast_to(v, (laws.shape.depth, laws.n)) for name, v in past.items()}


def record(laws: Laws, k: Array, state: State, per_capacity: Array, signal: Values) -> History:
    """Return the history with node k in it."""
    new = {"queue": state.queue, **_states(laws, state.x)}
    if laws.shape.capacity_changes:
        new["per_capacity"] = per_capacity
    new |= {f"signal {kind}": p for kind, p in zip(laws.kinds, signal, strict=True)}
    return _put(laws, state.history, k, new)


def record_end(laws: Laws, history: History, k: Array, signal: Values) -> History:
    """Return the history with the signals just before node k + 1."""
    new = {f"end {kind}": p for kind, p in zip(laws.kinds, signal, strict=True)}
    return _put(laws, history, k, new)


def _states(laws: Laws, x: tuple[Values, ...]) -> History:
    return {
        f"x {i} {j}": value for i in laws.classes if laws.listens[i] for j, value in enumerate(x[i])
    }


def _put(laws: Laws, history: History, k: Array, new: History) -> History:
    place = (k & (laws.shape.depth - 1), jnp.int32(0))
    put = jax.lax.dynamic_update_slice
    return history | {name: put(history[name], value[None], place) for name, value in new.items()}


def look(laws: Laws, k: Array, now: Array, middle: Array, end: Array) -> tuple[Part, Part]:
    """Return the two parts of the past that a group hears in the step after node k.

    Parameters
    ----------
    laws : Laws
        All runs.
    k : int
        The node.
    now, middle, end : array
        Round-trip time (s) at the beginning, in the middle and at the end of the step.
    """
    node = k.astype(jnp.float64)
    start, stop = -now * laws.per_h, 1.0 - end * laws.per_h  # in steps from node k
    low, high = jnp.minimum(start, stop), jnp.maximum(start, stop)
    first, last = jnp.floor(low), jnp.floor(high)
    cut = last
    if laws.shape.motion.ticks:
        tick = jnp.floor((last + node + 0.5) * laws.per_tick) * laws.ticks - node
        cut = jnp.where(tick > first, tick, last)
    crosses = last > first
    cut = jnp.where(crosses, cut, low)
    share = jnp.where(crosses, (cut - low) / jnp.where(crosses, high - low, 1.0), 0.0)
    older, newer = (share, 0.5 * (low + cut)), (1.0 - share, 0.5 * (cut + high))
    back = stop < start
    bow = 4.0 * (middle - 0.5 * (now + end))
    begin: Any = 0.0
    parts = []
    for forth, other in ((older, newer), (newer, older)):
        weight, place = (jnp.where(back, b, f) for b, f in zip(other, forth, strict=True))
        t = begin + 0.5 * weight
        rtt = now + t * (end - now) + t * (1.0 - t) * bow
        parts.append(_part(laws, k, weight, place, rtt))
        begin = weight
    return parts[0], parts[1]


def _part(laws: Laws, k: Array, weight: Array, place: Array, rtt: Array) -> Part:
    # The last interval that is complete ends at node k.
    cell = jnp.minimum(jnp.floor(place), -1.0)
    row, mask = cell.astype(jnp.int32) + k, laws.shape.depth - 1
    lane = jnp.arange(laws.n, dtype=jnp.int32)
    return Part(
        weight=weight,
        share=place - cell,
        cell=cell + k.astype(jnp.float64),
        here=(row & mask) * laws.n + lane,
        there=((row + 1) & mask) * laws.n + lane,
        rtt=rtt,
    )


def hear(laws: Laws, stage: Stage, history: History, i: int, reading: Part) -> Heard:
    """Return what class `i` hears of a part of the past; no signals from before it started."""

    def at(name: str, place: Array) -> Array:
        return history[name].reshape(-1).at[place].get(mode="promise_in_bounds")

    def between(name: str) -> Array:
        value = at(name, reading.here)
        return value + reading.share * (at(name, reading.there) - value)

    kind = laws.given.senders[i].signal
    changes = laws.shape.capacity_changes
    per_capacity = at("per_capacity", reading.here) if changes else 1.0 / stage.capacity
    signal = at(f"signal {kind}", reading.here) if kind else jnp.zeros(laws.n)
    if kind and laws.shape.motion.follows:
        signal += reading.share * (at(f"end {kind}", reading.here) - signal)
    return Heard(
        x=tuple(between(f"x {i} {j}") for j in range(len(laws.given.senders[i].states))),
        signal=jnp.where(reading.cell < laws.given.start[i], 0.0, signal),
        rtt=laws.given.base_rtt[laws.shape.group[i]] + between("queue") * per_capacity,
    )
