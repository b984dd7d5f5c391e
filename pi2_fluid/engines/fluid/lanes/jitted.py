"""The JAX engine of a batch: any law, all runs of a chunk side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import jax
import numpy as np
from jax import numpy as jnp

from pi2_fluid.engines.fluid.lanes.controller import jump
from pi2_fluid.engines.fluid.lanes.device import IN_CACHE, Device, lanes_at_once, this_device
from pi2_fluid.engines.fluid.lanes.laws import (
    Array,
    Given,
    Laws,
    Node,
    Outcome,
    Shape,
    Stage,
    State,
)
from pi2_fluid.engines.fluid.lanes.motion import motion_of
from pi2_fluid.engines.fluid.lanes.stepping import advance, arrive, begin
from pi2_fluid.engines.fluid.lanes.timetable import Timetable, take_runs
from pi2_fluid.errors import UnsupportedError

if TYPE_CHECKING:
    from numpy.typing import NDArray


#: Sums and extremes over the steps that count, of all runs: see `batch_results`.
_SUMS: Final = ("delay", "delay_square", "controller", "controller_square", "served", "lost")
_CLASS_SUMS: Final = ("sent", "window", "signal")


class Plan(NamedTuple):
    """The schedule of a chunk, and what counts."""

    event: Any
    capacity: Any
    count: Any
    stop: Any
    first: Any
    last: Any
    window: Any
    breaks: Any
    """Nodes between which nothing changes in any run; the last one is repeated."""
    stretches: Any
    """How many of them there are."""
    row: Any
    """Which sample is taken at each of `breaks`, or at every node; the last row is waste."""


def run_lanes(
    table: Timetable, depth: int, rows: int, device: Device | None = None
) -> dict[str, NDArray[Any]]:
    """Run all of a table's runs and return sums, extremes and samples as NumPy arrays.

    Parameters
    ----------
    table : Timetable
        The runs; samples of all of them at the same nodes.
    depth : int
        Nodes of the past to keep, a power of two.
    rows : int
        Runs to compute at once: padded to that many, so that few sizes are ever compiled.
    device : Device, optional
        What the loops are made for; that on which they run unless given.

    Raises
    ------
    UnsupportedError
        If a law cannot be traced by JAX.
    """
    n, shape = table.h.size, shape_of(table, depth, device or this_device())
    padded = take_runs(table, np.minimum(np.arange(rows), n - 1))
    given, plan = given_of(padded), plan_of(padded, shape.nodes)
    with jax.enable_x64(True), refusing(table):
        results = run_shape(shape, len(table.sample), given, plan)
        found = {name: np.asarray(value)[..., :n] for name, value in results.items()}
    written = rows_written(table)
    return {
        name: value[written] if name.startswith("sample") else value
        for name, value in found.items()
    }


def rows_written(table: Timetable) -> NDArray[np.intp]:
    """Return the row of each sample: of several at one node only the last is written."""
    sampled = _sampled(table)
    rows: NDArray[np.intp] = np.searchsorted(sampled, sampled, side="right") - 1
    return rows


def runs_at_once(table: Timetable, depth: int, device: Device | None = None) -> int:
    """Return how many of a table's runs go side by side.

    Parameters
    ----------
    table, depth, device
        As in `run_lanes`.
    """
    device = device or this_device()
    if device.is_cpu:
        return IN_CACHE
    return lanes_at_once(device, table.h.size, bytes_of_a_run(table, depth))


def bytes_of_a_run(table: Timetable, depth: int) -> int:
    """Return what memory a run takes at most on a device, counted from the arrays of one.

    The past and the samples are written in place; what else goes from step to step is there twice,
    as it was and as it will be.
    """
    shape = shape_of(table, depth, Device(is_cpu=False))
    one = take_runs(table, [0])
    given, plan = given_of(one), plan_of(one, shape.nodes)

    def first() -> tuple[State, _Tally]:
        laws = Laws(shape, given)
        return begin(laws, plan.window), _begin(laws, len(table.sample))

    with jax.enable_x64(True), refusing(table):
        state, tally = jax.eval_shape(first)
    in_place = state.history, tally.samples
    own = given, plan._replace(row=())  # which all runs share
    return 2 * _bytes((state, tally)) - _bytes(in_place) + _bytes(own)


def _bytes(tree: object) -> int:
    """Return what the arrays of a tree take; lone numbers are those of all runs."""
    arrays = [leaf for leaf in jax.tree.leaves(tree) if np.ndim(leaf)]
    return sum(leaf.size * leaf.dtype.itemsize for leaf in arrays)


def shape_of(table: Timetable, depth: int, device: Device) -> Shape:
    """Return what code is compiled for a table's runs."""
    return Shape(
        group=table.group,
        slow_start=table.slow_start,
        thinned=tuple(table.aqm.thins and sender.thinned for sender in table.senders),
        motion=motion_of(table.aqm, continuous=table.continuous),
        capacity_changes=bool((table.capacity != table.capacity[0]).any()),
        ramps=bool(table.ramp.any()),
        depth=depth,
        nodes=0 if device.is_cpu else int(table.last.max()) + 1,
    )


def given_of(table: Timetable) -> Given:
    """Return what of a table stays the same during its runs."""
    arrays: Any = table  # of NumPy here, which become those of JAX in the call
    return Given(
        aqm=table.aqm,
        senders=table.senders,
        h=arrays.h,
        ticks=arrays.ticks,
        buffer=arrays.buffer,
        base_rtt=arrays.base_rtt,
        start=arrays.start,
        ramp=arrays.ramp,
    )


@contextmanager
def refusing(table: Timetable) -> Iterator[None]:
    """Say in a sentence that a law cannot be traced."""
    try:
        yield
    except (jax.errors.JAXTypeError, TypeError) as error:
        if isinstance(error, UnsupportedError):
            raise
        laws = ", ".join(sorted({type(law).__name__ for law in (table.aqm, *table.senders)}))
        raise UnsupportedError(
            f"{laws} cannot be compiled: use only + - * / ** and pi2_fluid.ops in laws"
            f" ({type(error).__name__})."
        ) from error


def plan_of(table: Timetable, nodes: int) -> Plan:
    """Lay out the schedule of a chunk, for one loop over so many nodes, or for two if it is 0."""
    breaks = np.empty(0, np.int32) if nodes else _breaks(table)
    size = nodes or 1 << max(4, (len(breaks) - 1).bit_length())
    sampled = _sampled(table)
    row = np.full(size, len(sampled), np.int32)
    row[sampled if nodes else np.searchsorted(breaks, sampled)] = np.arange(len(sampled))
    return Plan(
        event=table.event,
        capacity=table.capacity,
        count=table.count,
        stop=table.stop,
        first=table.first,
        last=table.last,
        window=table.window,
        breaks=breaks if nodes else np.pad(breaks, (0, size - len(breaks)), mode="edge"),
        stretches=np.int32(len(breaks) - 1),
        row=row,
    )


def _breaks(table: Timetable) -> NDArray[np.int32]:
    """Return the nodes at which something changes in any run, or a sample is taken; the end twice.

    So does the last stretch, in which no step is taken, report the sample at the end.
    """
    end = table.last.max()
    nodes = [table.event, table.start, table.stop, table.first, table.last, _sampled(table)]
    breaks = np.unique(np.concatenate([np.ravel(x) for x in nodes]))
    inner = breaks[(breaks > 0) & (breaks < end)]
    return np.concatenate([[0], inner, [end, end]]).astype(np.int32)


def _sampled(table: Timetable) -> NDArray[np.int32]:
    return table.sample[:, 0] if len(table.sample) else np.empty(0, np.int32)


class _Tally(NamedTuple):
    """Sums over the steps that count, and samples. Names are those of the results."""

    sums: dict[str, Array]
    each: dict[str, tuple[Array, ...]]
    """Of each class: sums, and the smallest window."""
    low: dict[str, Array]
    high: dict[str, Array]
    deepest: Array
    samples: dict[str, Array]


#: What a stretch hands to the next: the state, the sums, and the capacity before it.
_Carry: TypeAlias = tuple[State, _Tally, Array]


@partial(jax.jit, static_argnums=(0, 1))
def run_shape(shape: Shape, samples: int, given: Given, plan: Plan) -> dict[str, Array]:
    """Return what `run_lanes` does, as arrays of JAX, with a row of waste below the samples."""
    laws = Laws(shape, given)

    def enter(k: Array, row: Array, carry: _Carry) -> tuple[Stage, State, Node, _Tally]:
        """Let happen what happens at node k."""
        state, tally, old = carry
        stage = _stage(laws, plan, k)
        state = jump(laws, state, old, stage.capacity)
        node, state = arrive(laws, stage, k, state)
        if samples:
            tally = _sample(laws, stage, k, row, state, node, tally)
        return stage, state, node, tally

    def leave(
        stage: Stage, k: Array, state: State, node: Node, tally: _Tally
    ) -> tuple[State, _Tally]:
        """Take the step after node k, and count it."""
        after, outcome = advance(laws, stage, k, state, node)
        return after, _count(laws, stage, k, state, after, node, outcome, tally)

    def stretch(j: Array, carry: _Carry) -> _Carry:
        """Go from one of the breaks to the next; what happens there happens once."""
        k = plan.breaks[j]
        stage, state, node, tally = enter(k, plan.row[j], carry)

        def step(k: Array, inner: tuple[State, Node, _Tally]) -> tuple[State, Node, _Tally]:
            state, tally = leave(stage, k, *inner)
            node, state = arrive(laws, stage, k + 1, state)
            return state, node, tally

        state, _, tally = jax.lax.fori_loop(k, plan.breaks[j + 1], step, (state, node, tally))
        return state, tally, stage.capacity

    def visit(k: Array, carry: _Carry) -> _Carry:
        """Go from any node to the next, as if each were a break; nothing counts after the end."""
        k = k.astype(jnp.int32)
        stage, state, node, tally = enter(k, plan.row[k], carry)
        state, tally = leave(stage, k, state, node, tally)
        return state, tally, stage.capacity

    start = (begin(laws, plan.window), _begin(laws, samples), plan.capacity[0])
    if shape.nodes:
        _, tally, _ = jax.lax.fori_loop(0, shape.nodes, visit, start)
    else:
        _, tally, _ = jax.lax.fori_loop(0, plan.stretches, stretch, start)
    found = {**tally.sums, "deepest": tally.deepest, **tally.samples}
    found |= {f"{name}_min": value for name, value in tally.low.items()}
    found |= {f"{name}_max": value for name, value in tally.high.items()}
    found |= {name: jnp.stack(values) for name, values in tally.each.items()}
    return found


def _stage(laws: Laws, plan: Plan, k: Array) -> Stage:
    """Return who sends, how fast the link is, and what counts from node k on."""
    n, m = laws.n, len(laws.classes)
    capacity, count = plan.capacity[0], plan.count[0]
    if len(plan.event):
        place = jnp.sum(plan.event <= k, axis=0)
        capacity = jnp.take_along_axis(plan.capacity, place[None], axis=0)[0]
        every = jnp.broadcast_to(place, (1, m, n))
        count = jnp.take_along_axis(plan.count, every, axis=0)[0]
    active = (k >= laws.given.start) & (k < plan.stop)
    flows = tuple(jnp.where(active, count, 0.0))
    running = k < plan.last
    return Stage(capacity, flows, tuple(active), running, running & (k >= plan.first))


def _begin(laws: Laws, samples: int) -> _Tally:
    zero = jnp.zeros(laws.n)
    per_class = {"sample_window", "sample_p"}
    m = len(laws.classes)
    return _Tally(
        sums=dict.fromkeys(_SUMS, zero),
        each=dict.fromkeys(_CLASS_SUMS, (zero,) * m) | {"window_min": (zero + jnp.inf,) * m},
        low=dict.fromkeys(("delay", "controller"), zero + jnp.inf),
        high=dict.fromkeys(("delay", "controller"), zero - jnp.inf),
        deepest=zero,
        samples={
            name: jnp.zeros((samples + 1, *((m,) if name in per_class else ()), laws.n))
            for name in ("sample_queue", "sample_delay", "sample_controller", *sorted(per_class))
        }
        if samples
        else {},
    )


def _sample(
    laws: Laws, stage: Stage, k: Array, row: Array, state: State, node: Node, tally: _Tally
) -> _Tally:
    number, group = laws.number(stage, k, 0.0), laws.shape.group
    windows = [laws.window(i, state.x[i], number[i], node.rtt[group[i]][0]) for i in laws.classes]
    values = {
        "sample_queue": state.queue,
        "sample_delay": node.delay,
        "sample_controller": node.u,
        "sample_window": jnp.stack(windows),
        "sample_p": jnp.stack([laws.signal_of(i, node.signal) for i in laws.classes]),
    }
    samples = {name: tally.samples[name].at[row].set(value) for name, value in values.items()}
    return tally._replace(samples=samples)


def _count(
    laws: Laws,
    stage: Stage,
    k: Array,
    before: State,
    after: State,
    node: Node,
    outcome: Outcome,
    tally: _Tally,
) -> _Tally:
    """Add one step to the statistics: twice or three times its means, to save the division."""
    a, b, u, v, counted = node.delay, outcome.delay, node.u, outcome.u, stage.counted
    means = {
        "delay": a + b,
        "delay_square": a * a + a * b + b * b,
        "controller": u + v,
        "controller_square": u * u + u * v + v * v,
        "served": outcome.served,
        "lost": outcome.lost,
    }
    sums = {name: tally.sums[name] + jnp.where(counted, x, 0.0) for name, x in means.items()}
    low, high = {}, {}
    for name, one, other in (("delay", a, b), ("controller", u, v)):
        least, most = jnp.minimum(one, other), jnp.maximum(one, other)
        low[name] = jnp.where(counted, jnp.minimum(tally.low[name], least), tally.low[name])
        high[name] = jnp.where(counted, jnp.maximum(tally.high[name], most), tally.high[name])
    each = _count_classes(laws, stage, k, before, after, node, outcome, tally)
    deepest = jnp.maximum(tally.deepest, jnp.where(stage.running, a, 0.0))
    return tally._replace(sums=sums, each=each, low=low, high=high, deepest=deepest)


def _count_classes(
    laws: Laws,
    stage: Stage,
    k: Array,
    before: State,
    after: State,
    node: Node,
    outcome: Outcome,
    tally: _Tally,
) -> dict[str, tuple[Array, ...]]:
    total = node.arrivals + outcome.arrivals
    per = outcome.served / jnp.where(total > 0.0, total, 1.0)
    counts: dict[str, list[Any]] = {name: list(values) for name, values in tally.each.items()}
    first, last = laws.number(stage, k, 0.0), laws.number(stage, k, 1.0)
    for i in laws.classes:
        on, group = stage.counted & stage.active[i], laws.shape.group[i]
        was = laws.window(i, before.x[i], first[i], node.rtt[group][0])
        now = laws.window(i, after.x[i], last[i], outcome.rtt[group])
        signal = laws.signal_of(i, node.signal) + laws.signal_of(i, outcome.signal)
        sent = per * (node.rates[i] + outcome.rates[i])
        for name, value in (("sent", sent), ("window", was + now), ("signal", signal)):
            counts[name][i] += jnp.where(on, value, 0.0)
        least = counts["window_min"][i]
        counts["window_min"][i] = jnp.where(on, jnp.minimum(least, now), least)
    return {name: tuple(values) for name, values in counts.items()}
