"""The windows of all lanes over one step, in congestion avoidance and in slow start."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from jax import numpy as jnp

from pi2_fluid.engines.fluid.lanes.laws import Array, Heard, Laws, Node, Stage, State, Values, pick
from pi2_fluid.engines.fluid.lanes.past import hear

_DOUBLING: Final = math.log(2.0)  # slow start doubles the window in one round trip


class _Move(NamedTuple):
    """How a class moves over a step."""

    x: Values
    middle: Values
    """What counts as the state in the middle of the step, in Simpson's rule."""
    heard: Heard
    """The second part of the past."""
    signals: Array
    """How many signals a flow is sent."""


def move_windows(
    laws: Laws, stage: Stage, state: State, node: Node
) -> tuple[State, tuple[Values, ...]]:
    """Return the state with its windows at the end of the step, and what counts as their middle."""
    new, middles = list(state.x), list(state.x)
    slow, expected = list(state.slow), list(state.expected)
    for i in laws.classes:
        if not laws.listens[i]:
            continue
        move = _avoid_congestion(laws, stage, state, node, i)
        x, middle = move.x, move.middle
        if laws.shape.slow_start[i]:
            x, middle, slow[i], expected[i] = _start_slowly(laws, stage, state, node, i, move)
        new[i] = pick(stage.active[i], x, state.x[i])
        middles[i] = pick(stage.active[i], middle, state.x[i])
    after = state._replace(x=tuple(new), slow=tuple(slow), expected=tuple(expected))
    return after, tuple(middles)


def _avoid_congestion(laws: Laws, stage: Stage, state: State, node: Node, i: int) -> _Move:
    """Take the midpoint rule over both parts of the past."""
    h, parts = laws.given.h, node.parts[laws.shape.group[i]]
    x, slopes = state.x[i], []
    signals: Any = 0.0
    for part in parts:
        heard = hear(laws, stage, state.history, i, part)
        d = part.weight * h
        first = laws.rate(i, x, heard, part.rtt)
        halfway = tuple(a + 0.5 * d * b for a, b in zip(x, first, strict=True))
        second = laws.rate(i, halfway, heard, part.rtt)
        slope = tuple(_damp(a, d, b, c) for a, b, c in zip(x, first, second, strict=True))
        x = _floor(tuple(a + d * b for a, b in zip(x, slope, strict=True)))
        slopes.append(slope)
        signals += d * (heard.x[0] / heard.rtt * heard.signal)
    # Simpson's rule weighs the middle 4/6: with 3/2 of the bump it gets the area right.
    bump = 0.75 * h * parts[0].weight * parts[1].weight
    middle = tuple(
        0.5 * (a + b) + bump * (first - second)
        for a, b, first, second in zip(state.x[i], x, *slopes, strict=True)
    )
    return _Move(x, _floor(middle), heard, signals)


def _floor(x: Values) -> Values:
    """Return the state with its window held at 0, where its law would carry it below."""
    return (jnp.maximum(x[0], 0.0), *x[1:])


def _damp(x: Array, d: Array, first: Array, second: Array) -> Array:
    """Return the slope of a step d: `second`, unless the `first` would take more than half of x.

    Then z = d times the law's own decay is not small, and Pade's approximant of (exp(z) - 1) / z
    leads to the right side of rest, where the midpoint rule would shoot beyond it.
    """
    stiff = x * (x + 2.0 * d * first) < 0.0
    z = jnp.minimum(2.0 * (second - first) / jnp.where(stiff, first, 1.0), 0.0)
    return jnp.where(stiff, first / (1.0 - z * (0.5 - z * (1.0 / 12.0))), second)


def _growth(laws: Laws, node: Node, i: int) -> Array:
    """Logarithm of the factor by which a window in slow start grows in the step."""
    now, middle, end = node.rtt[laws.shape.group[i]]
    return _DOUBLING * laws.given.h * ((1.0 / now + 4.0 / middle + 1.0 / end) / 6.0)


def _grown(z: Array) -> Array:
    """Return exp(z) for the small z of a step."""
    return 1.0 + z * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0 * (1.0 + z / 5.0))))


def _start_slowly(
    laws: Laws, stage: Stage, state: State, node: Node, i: int, move: _Move
) -> tuple[Values, Values, Array, Array]:
    """Return (state, its middle, whether still in slow start, signals so far) of class `i`.

    Slow start ends where one signal is expected, at a part of the step.
    """
    before, slow, held = state.expected[i], state.slow[i], state.x[i]
    after = before + jnp.where(stage.active[i], move.signals, 0.0)
    ends = after >= 1.0
    part = jnp.where(ends, (1.0 - before) / jnp.where(ends, after - before, 1.0), 1.0)
    whole = _growth(laws, node, i)
    rest = tuple(a + part * (b - a) for a, b in zip(held[1:], move.x[1:], strict=True))
    grown = (held[0] * _grown(part * whole), *rest)
    left = laws.leave_slow_start(i, grown)
    slope = laws.rate(i, left, move.heard, node.parts[laws.shape.group[i]][1].rtt)
    left = tuple(a + (1.0 - part) * laws.given.h * b for a, b in zip(left, slope, strict=True))
    left = _floor(left)
    new = pick(ends, left, grown)
    straight = tuple(0.5 * (a + b) for a, b in zip(held, new, strict=True))
    bent = (held[0] * _grown(0.5 * whole), *straight[1:])
    x = pick(slow, new, move.x)
    middle = pick(slow, pick(ends, straight, bent), move.middle)
    return x, middle, slow & ~(ends & stage.active[i]), after


def end_slow_start(
    laws: Laws, stage: Stage, before: State, after: State, node: Node, full: Array, part: Array
) -> State:
    """Return the state after slow start has ended where the buffer fills, at `part` of the step."""
    x, slow = list(after.x), list(after.slow)
    for i in laws.classes:
        if not laws.shape.slow_start[i]:
            continue
        quits = full & slow[i] & stage.active[i]
        window = before.x[i][0] * _grown(part * _growth(laws, node, i))
        x[i] = pick(quits, laws.leave_slow_start(i, (window, *x[i][1:])), x[i])
        slow[i] &= ~quits
    return after._replace(x=tuple(x), slow=tuple(slow))
