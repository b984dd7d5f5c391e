"""Lanes that carry derivatives: all of one scenario, each over another of its numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import numpy as np
from jax import numpy as jnp

from pi2_fluid.engines.fluid.lanes.device import this_device
from pi2_fluid.engines.fluid.lanes.jitted import (
    Plan,
    given_of,
    plan_of,
    refusing,
    rows_written,
    run_shape,
    shape_of,
)
from pi2_fluid.engines.fluid.lanes.laws import Array, Given, Shape
from pi2_fluid.engines.fluid.lanes.timetable import Timetable
from pi2_fluid.network.link import with_buffer
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.records.paths import read_path, replace_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import Number

#: What numbers of a scenario move: all numbers of its laws, and arrays by their names in `Given`
#: and `Plan`.
_Moving: TypeAlias = "dict[str, Any]"


def push_lanes(
    scenario: Scenario, table: Timetable, paths: Sequence[str], depth: int
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Return what `run_lanes` does of samples, and its derivatives, lane by lane.

    Parameters
    ----------
    scenario : Scenario
        What every lane runs.
    table : Timetable
        Of as many equal runs as paths, each class with a row of its own in `base_rtt`.
    paths : sequence of str
        The number over which each lane is differentiated; none that moves a node.
    depth : int
        Nodes of the past to keep, a power of two.

    Raises
    ------
    UnsupportedError
        If a law cannot be traced by JAX.
    """
    shape = shape_of(table, depth, this_device())
    plan, given = plan_of(table, shape.nodes), given_of(table)
    with jax.enable_x64(True), refusing(table):
        structure = jax.tree.structure((table.aqm, *table.senders))
        moves = [_direction(scenario, path) for path in paths]
        lanes: _Moving = jax.tree.map(lambda *each: jnp.stack(each, axis=-1), *moves)
        moving = jax.tree.map(jnp.broadcast_to, _values(table), jax.tree.map(jnp.shape, lanes))
        both = _push(shape, len(table.sample), structure, moving, lanes, given, plan)
        values, slopes = ({k: np.asarray(v) for k, v in side.items()} for side in both)
    written = rows_written(table)
    return (
        {k: v[written] if k.startswith("sample") else v for k, v in values.items()},
        {k: v[written] for k, v in slopes.items() if k.startswith("sample")},
    )


def _direction(scenario: Scenario, path: str) -> _Moving:
    """Return how all that moves does so with the number at a path."""
    at = float(read_path(scenario, path))
    moves: _Moving
    _, moves = jax.jvp(lambda x: _parts(replace_path(scenario, path, x)), (at,), (1.0,))
    return moves


def _parts(scenario: Scenario) -> _Moving:
    """Return what of a `Timetable` numbers of its scenario move, of one run."""
    flows, link = scenario.flows, scenario.link
    bits = 8.0 * link.packet_size
    capacity, count = [link.capacity / bits], [[flow.count for flow in flows]]
    for change in sorted(scenario.changes, key=lambda change: float(change.at)):
        new = change.counts or {}
        capacity.append(capacity[-1] if change.capacity is None else change.capacity / bits)
        told = zip(scenario.class_names, count[-1], strict=True)
        count.append([new.get(name, old) for name, old in told])
    rates = [change.capacity for change in scenario.changes if change.capacity is not None]
    laws = scenario.aqm, *(flow.sender.on_link(link.packet_size) for flow in flows)
    return {
        "laws": [_array(leaf) for leaf in jax.tree.leaves(laws)],
        "buffer": _array(with_buffer(link, rates).buffer),
        "base_rtt": _array([flow.base_rtt for flow in flows]),
        "window": _array([flow.initial_window for flow in flows]),
        "capacity": _array(capacity),
        "count": _array(count),
    }


def _array(numbers: Number | list[Any]) -> Array:
    """Return numbers, or lists of them, as one array of JAX."""
    if isinstance(numbers, list):
        return jnp.stack([_array(number) for number in numbers])
    return jnp.asarray(numbers, float)


def _values(table: Timetable) -> _Moving:
    laws = [jnp.asarray(leaf, float) for leaf in jax.tree.leaves((table.aqm, *table.senders))]
    names = ("buffer", "base_rtt", "window", "capacity", "count")
    return {"laws": laws, **{name: jnp.asarray(getattr(table, name), float) for name in names}}


@partial(jax.jit, static_argnums=(0, 1, 2))
def _push(
    shape: Shape,
    samples: int,
    structure: Hashable,
    moving: _Moving,
    moves: _Moving,
    given: Given,
    plan: Plan,
) -> tuple[dict[str, Array], dict[str, Array]]:
    def run(moving: _Moving) -> dict[str, Array]:
        aqm, *senders = jax.tree.unflatten(structure, moving["laws"])
        own = {name: moving[name] for name in ("buffer", "base_rtt")}
        when = {name: moving[name] for name in ("window", "capacity", "count")}
        laws = given._replace(aqm=aqm, senders=tuple(senders), **own)
        found: dict[str, Array] = run_shape(shape, samples, laws, plan._replace(**when))
        return found

    values, slopes = jax.jvp(run, (moving,), (moves,))
    return values, slopes
