"""The JAX engine of a batch: any law, all runs of a chunk side by side."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import jax
import numpy as np
from jax import numpy as jnp

from pi2_fluid.engines.fluid.lanes.controller import jump, motion_of
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
from pi2_fluid.engines.fluid.lanes.stepping import advance, arrive, begin
from pi2_fluid.engines.fluid.lanes.timetable import Timetable, take_runs
from pi2_fluid.errors import UnsupportedError

if TYPE_CHECKING:
    from numpy.typing import NDArray


__all__ = ["run_lanes"]

#: Sums and extremes over the steps that count, of all runs: see `batch_results`.
_SUMS: Final = ("delay", "delay_square", "controller", "controller_square", "served", "lost")
_CLASS_SUMS: Final = ("sent", "window", "signal")


class _Plan(NamedTuple):
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
    """Which sample is taken at each of `breaks`; the last row is waste."""


def run_lanes(table: Timetable, depth: int, rows: int) -> dict[str, NDArray[Any]]:
    """Run all of a table's runs and return sums, extremes and samples as NumPy arrays.

    Parameters
    ----------
    table : Timetable
        The runs; samples of all of them at the same nodes.
    depth : int
        Nodes of the past to keep, a power of two.
    rows : int
        Runs to compute at once: padded to that many, so that few sizes are ever compiled.

    Raises
    ------
    UnsupportedError
        If a law cannot be traced by JAX.
    """
    n = table.h.size
    shape = Shape(
        group=table.group,
        slow_start=table.slow_start,
        thinned=tuple(table.aqm.thins and sender.thinned for sender in table.senders),
        motion=motion_of(table.aqm, continuous=table.continuous),
        capacity_changes=bool((table.capacity != table.capacity[0]).any()),
        ramps=bool(table.ramp.any()),
        depth=depth,
    )
    padded = take_runs(table, np.minimum(np.arange(rows), n - 1))
    arrays: Any = padded  # of NumPy here, which become those of JAX in the call
    given = Given(
        aqm=padded.aqm,
        senders=padded.senders,
        h=arrays.h,
        ticks=arrays.ticks,
        buffer=arrays.buffer,
        base_rtt=arrays.base_rtt,
        start=arrays.start,
        ramp=arrays.ramp,
    )
    with jax.enable_x64(True):
        try:
            results = _run(shape, len(table.sample), given, _plan(padded))
        except (jax.errors.JAXTypeError, TypeError) as error:
            if isinstance(error, UnsupportedError):
                raise
            laws = ", ".join(sorted({type(law).__name__ for law in (given.aqm, *given.senders)}))
            raise UnsupportedError(
                f"{laws} cannot be compiled: use only + - * / ** and pi2_fluid.ops in laws"
                f" ({type(error).__name__})."
            ) from error
        found = {name: np.asarray(value)[..., :n] for name, value in results.items()}
    # Of several samples at one node only the last was written.
    sampled = table.sample[:, 0] if len(table.sample) else np.empty(0, np.int32)
    written = np.searchsorted(sampled, sampled, side="right") - 1
    return {
        name: value[written] if name.startswith("sample") else value
        for name, value in found.items()
    }


def _plan(table: Timetable) -> _Plan:
    """Find the nodes at which something changes in any run, or a sample is taken."""
    end = int(table.last.max())
    sampled = table.sample[:, 0] if len(table.sample) else np.empty(0, np.int32)
    nodes = [table.event, table.start, table.stop, table.first, table.last, sampled]
    breaks = np.unique(np.concatenate([np.ravel(x) for x in nodes]))
    breaks = np.concatenate([[0], breaks[(breaks > 0) & (breaks < end)], [end, end]])
    row = np.full(len(breaks), len(sampled), np.int32)
    row[np.searchsorted(breaks, sampled)] = np.arange(len(sampled))
    size = 1 << max(4, (len(breaks) - 1).bit_length())
    return _Plan(
        event=table.event,
        capacity=table.capacity,
        count=table.count,
        stop=table.stop,
        first=table.first,
        last=table.last,
        window=table.window,
        breaks=np.pad(breaks, (0, size - len(breaks)), mode="edge").astype(np.int32),
        stretches=np.int32(len(breaks) - 1),
        row=np.pad(row, (0, size - len(row)), constant_values=len(sampled)),
    )


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
def _run(shape: Shape, samples: int, given: Given, plan: _Plan) -> dict[str, Array]:
    laws = Laws(shape, given)

    def stretch(j: Array, carry: _Carry) -> _Carry:
        state, tally, old = carry
        k = plan.breaks[j]
        stage = _stage(laws, plan, k)
        state = jump(laws, state, old, stage.capacity)
        node, state = arrive(laws, stage, k, state)
        if samples:
            tally = _sample(laws, stage, k, plan.row[j], state, node, tally)
        counted = (k >= plan.first) & (k < plan.last)

        def step(k: Array, inner: tuple[State, Node, _Tally]) -> tuple[State, Node, _Tally]:
            before, node, tally = inner
            state, outcome = advance(laws, stage, k, before, node)
            tally = _count(laws, stage, k, counted, before, state, node, outcome, tally)
            delay = jnp.where(k < plan.last, node.delay, 0.0)
            tally = tally._replace(deepest=jnp.maximum(tally.deepest, delay))
            node, state = arrive(laws, stage, k + 1, state)
            return state, node, tally

        state, _, tally = jax.lax.fori_loop(k, plan.breaks[j + 1], step, (state, node, tally))
        return state, tally, stage.capacity

    start = (begin(laws, plan.window), _begin(laws, samples), plan.capacity[0])
    _, tally, _ = jax.lax.fori_loop(0, plan.stretches, stretch, start)
    found = {**tally.sums, "deepest": tally.deepest, **tally.samples}
    found |= {f"{name}_min": value for name, value in tally.low.items()}
    found |= {f"{name}_max": value for name, value in tally.high.items()}
    found |= {name: jnp.stack(values) for name, values in tally.each.items()}
    return found


def _stage(laws: Laws, plan: _Plan, k: Array) -> Stage:
    """Return who sends and how fast the link is from node k on."""
    n, m = laws.n, len(laws.classes)
    place = jnp.sum(plan.event <= k, axis=0) if len(plan.event) else jnp.zeros(n, jnp.int32)
    capacity = jnp.take_along_axis(plan.capacity, place[None], axis=0)[0]
    every = jnp.broadcast_to(place, (1, m, n))
    count = jnp.take_along_axis(plan.count, every, axis=0)[0]
    active = (k >= laws.given.start) & (k < plan.stop)
    return Stage(capacity, tuple(jnp.where(active, count, 0.0)), tuple(active))


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
    counted: Array,
    before: State,
    after: State,
    node: Node,
    outcome: Outcome,
    tally: _Tally,
) -> _Tally:
    """Add one step to the statistics: twice or three times its means, to save the division."""
    a, b, u, v = node.delay, outcome.delay, node.u, outcome.u
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
    each = _count_classes(laws, stage, k, counted, before, after, node, outcome, tally)
    return tally._replace(sums=sums, each=each, low=low, high=high)


def _count_classes(
    laws: Laws,
    stage: Stage,
    k: Array,
    counted: Array,
    before: State,
    after: State,
    node: Node,
    outcome: Outcome,
    tally: _Tally,
) -> dict[str, tuple[Array, ...]]:
    total = node.arrivals + outcome.arrivals
    per = outcome.served / jnp.where(total > 0.0, total, 1.0)
    each: dict[str, list[Any]] = {name: list(values) for name, values in tally.each.items()}
    first, last = laws.number(stage, k, 0.0), laws.number(stage, k, 1.0)
    for i in laws.classes:
        on, group = counted & stage.active[i], laws.shape.group[i]
        was = laws.window(i, before.x[i], first[i], node.rtt[group][0])
        now = laws.window(i, after.x[i], last[i], outcome.rtt[group])
        signal = laws.signal_of(i, node.signal) + laws.signal_of(i, outcome.signal)
        sent = per * (node.rates[i] + outcome.rates[i])
        for name, value in (("sent", sent), ("window", was + now), ("signal", signal)):
            each[name][i] += jnp.where(on, value, 0.0)
        least = each["window_min"][i]
        each["window_min"][i] = jnp.where(on, jnp.minimum(least, now), least)
    return {name: tuple(values) for name, values in each.items()}
