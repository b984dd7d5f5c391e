"""`batch`: one scenario, thousands of runs with other numbers, side by side."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.batches.results import batch_dataset
from pi2_fluid.engines.fluid.batches.threads import Rows, run_in_threads, scenarios_of
from pi2_fluid.engines.fluid.fluid import Fluid
from pi2_fluid.engines.fluid.lanes.in_c import obstacle, run_compiled
from pi2_fluid.engines.fluid.lanes.timetable import Timetable, tabulate, take_runs
from pi2_fluid.engines.fluid.lanes.variation import Variation, vary
from pi2_fluid.engines.fluid.outages import has_outages, refuse_outages
from pi2_fluid.engines.fluid.refusals import UPDATES, not_modelled, require_round_trips
from pi2_fluid.engines.fluid.validity import check_runs
from pi2_fluid.errors import (
    AssumptionWarning,
    QuantityError,
    ScenarioError,
    UnsupportedError,
    renamed,
    show_value,
)
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import CLOCKS
from pi2_fluid.network.scenario import Scenario, require_scenario
from pi2_fluid.results import Column, make_dataset
from pi2_fluid.results.schema import scenario_text
from pi2_fluid.units import validate_choice, validate_quantity

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray, Real

ENGINES: Final = ("auto", "c", "jax", "threads")
_TOLERANCE: Final = 1e-6  # of runs in threads: far below what rows some ms apart can tell
_AT_ONCE: Final = 512  # runs of the compiled engine between two reports of progress
_PAST: Final = 0.3  # s of queue delay for which the first try keeps enough of the past
_SPARE: Final = 4  # nodes
_MOST_PAST: Final = 2**26  # nodes of all runs together: some GB


@renamed(controller="update")
def batch(
    scenario: Scenario,
    over: Mapping[str, Any],
    *,
    update: str = "sampled",
    clock: str = "rate",
    engine: str = "auto",
    step: float | str = "8ms",
    after: float | str = "0s",
    sample: float | str | None = None,
    chunk: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> xarray.Dataset:
    """Return statistics of many runs of a scenario that differ in a few numbers.

    Parameters
    ----------
    scenario : Scenario
        What the runs have in common.
    over : mapping of str to number, text or sequence
        What differs: paths into the scenario, such as ``"aqm.alpha"``, ``"link.capacity"``,
        ``"flows.0.count"`` (or by name, ``"flows.reno.count"``), ``"flows.0.sender.decrease"``,
        ``"aqm.update_interval"``, ``"changes.0.at"``, each with one value for every run, or with
        one for all.
    update : {"sampled", "continuous"}
        As in `Fluid`.
    clock : {"rate", "acks"}
        As in `Fluid`.
    engine : {"auto", "c", "jax", "threads"}
        "c" and "jax" take runs of one queue side by side, with equal steps: "c" any law that is a
        line of operations (own ones too, see `laws.tape`) and whose senders send window / rtt,
        "jax" any law, with the same numbers. "threads" runs whatever `Fluid` does (several links,
        dual queues, acknowledgements), one run after the other on each processor. "auto" takes "c"
        where it can, "jax" where it cannot and JAX has a GPU, and "threads" otherwise.
    step : float or str
        Longest step (s). Steps divide the update interval, and no step is longer than the shortest
        `base_rtt`. Of "threads" it is the time between two rows that statistics are made of, and
        `Fluid` takes its own steps, within a tolerance of 1e-6.
    after : float or str
        Statistics begin here (s) and go on to the end.
    sample : float or str, optional
        Time between two rows of traces (s), which are left out otherwise.
    chunk : int, optional
        Runs to hold in memory at once. Default: 512, and with JAX on a GPU as many as fit, up to
        2^20.
    progress : callable, optional
        Called as ``progress(done, runs)`` after every chunk.

    Returns
    -------
    xarray.Dataset
        Dims ``run`` and ``flows``, of several links or of a dual queue also ``link`` and ``band``,
        for what is of them; a coordinate for each key of `over`. Of each run
        ``queue_delay_mean``, ``_sd``, ``_min`` and ``_max`` (s, over time), the same of
        ``controller``, and ``utilization``; but of "threads" also ``overflow`` (packets/s) and
        ``step``, the step it was computed with; of each class ``throughput`` (bit/s), and
        ``window_mean``, ``window_min`` (segments) and ``p_mean`` over the time in which it sends
        (0 if it never does). With `sample` also the traces ``queue_delay``, ``queue``,
        ``controller``, ``window`` and ``p`` over ``time``. An interrupted batch (Ctrl-C) has the
        runs that were finished, and ``attrs["interrupted"]`` is 1.

    Raises
    ------
    ScenarioError
        If a path is no number of the scenario, or a run contradicts itself.
    QuantityError, DomainError
        If values are no numbers, of unequal lengths, or out of range.
    UnsupportedError
        If a law has no fluid form, or none in the engine asked for.
    SolverError
        If no run of "threads" can be followed to its end.

    Warns
    -----
    AssumptionWarning
        If the numbers of some runs leave the range of floats, or "threads" cannot follow them to
        their end; their statistics are not finite then.
        If flows begin in slow start one after the other over more than a round trip: here they are
        copies of one another, which `simulate` knows better.
        If mean windows are smaller than their law describes (2 segments), or the mean of p is 0.9
        and more of Classic senders, 1 of scalable ones; ``attrs["beyond_the_laws"]`` names the
        class and the runs.

    Notes
    -----
    Of "c" and "jax": a method of order 2 with equal steps, see `engines.fluid.lanes.stepping`. At
    8 ms the queue delay is within 1 % of its target of the exact solution in all nine reference
    trajectories, and four times closer at half the step. Changes, starts, stops, `after` and rows
    of traces fall on the nearest end of a step, at most half a step away; ticks are exact. Signals
    that jump between ticks (a full buffer's, the end of a burst allowance) make it order 1.

    Source: the equations are those of `simulate`.

    Examples
    --------
    >>> import numpy as np
    >>> import pi2_fluid as pf
    >>> scenario = pf.Scenario(
    ...     duration="60s", link=pf.Link("10Mbit/s"), aqm=pf.Pi2(),
    ...     flows=[pf.Flows(pf.Reno(), 10, "100ms")],
    ... )
    >>> gains = {"aqm.alpha": np.array([0.1, 0.3125]), "aqm.beta": np.array([1.0, 3.125])}
    >>> runs = batch(scenario, gains, after="5s")
    >>> [f"{1e3 * float(sd):.1f} ms" for sd in runs.queue_delay_sd]
    ['3.7 ms', '0.4 ms']
    """
    require_scenario(scenario)
    validate_choice(update, UPDATES, "update")
    validate_choice(clock, CLOCKS, "clock")
    validate_choice(engine, ENGINES, "engine")
    step = _time(step, "step")
    begin = float(validate_quantity(after, "time", "after", closed=True))
    chunk = _as_count(chunk)
    spacing = None if sample is None else _time(sample, "sample")
    fluid = Fluid(update=update, clock=clock).with_tolerance(_TOLERANCE)
    beyond = beyond_lanes(scenario, clock)
    if engine == "threads" or (engine == "auto" and beyond):
        return _in_threads(scenario, over, fluid, (step, begin, spacing), progress)
    if beyond:
        raise UnsupportedError(f'{beyond} is not in engine = "{engine}": use engine = "threads".')
    varied = vary(scenario, over)
    check_varied(varied, begin)
    times = None if spacing is None else _samples(varied, spacing)
    table = tabulate(
        varied, continuous=update == "continuous", step=step, after=begin, sample=times
    )
    engine = _fastest(table) if engine == "auto" else engine
    if engine == "threads":
        return _in_threads(scenario, over, fluid, (step, begin, spacing), progress)
    _warn_of_copies(varied.scenario)
    lanes = _with_jax() if engine == "jax" else _with_c(table)
    found, done, interrupted = _run_all(table, lanes, chunk, progress)
    _warn(found, done)
    attrs: dict[str, str | float] = {
        "engine": f"fluid.batch ({engine})",
        "update": update,
        "longest_step": step,
        "after": begin,
        **({"interrupted": 1} if interrupted else {}),
    }
    result = batch_dataset(scenario, varied, take_runs(table, done), found, done, times, attrs)
    window, p = result["window_mean"].to_numpy(), result["p_mean"].to_numpy()
    return result.assign_attrs(beyond_the_laws=check_runs(scenario, window, p, done))


# Checks


def beyond_lanes(scenario: Scenario, clock: str) -> str:
    """Return what of a scenario no lanes take, "" if they may."""
    if clock == "acks":
        return "clock = 'acks'"
    if len(scenario.network.nodes) > 1:
        return f"a scenario of {len(scenario.network.nodes)} links"
    aqm = scenario.aqm
    aqm.initial()  # a law without a fluid form says so here
    if aqm.bands != 1:
        return f"{type(aqm).__name__}, a law of {aqm.bands} queues,"
    if type(aqm).pushes is not Aqm.pushes:
        return f"{type(aqm).__name__}, which follows what is given over time,"
    for flow in scenario.flows:
        if flow.sender.answers_at_once:
            return f"{type(flow.sender).__name__}, which lets signals act on its rate at once,"
    if has_outages(scenario):
        return "a link without capacity"
    return ""


def _fastest(table: Timetable) -> str:
    """Return which engine takes the runs of a table soonest."""
    if not obstacle(table):
        return "c"
    return "jax" if _has_device() else "threads"


def _has_device() -> bool:
    """Whether JAX is there and computes on something better than the processor."""
    try:
        from pi2_fluid.engines.fluid.lanes.device import this_device
    except ModuleNotFoundError as error:
        if error.name != "jax":
            raise
        return False
    return not this_device().is_cpu


def check_varied(varied: Variation, after: float) -> None:
    """Refuse flows without a round-trip time, outages, rates beside states, and short runs.

    Raises
    ------
    QuantityError, ScenarioError, UnsupportedError
        One sentence each.
    """
    require_round_trips(varied.scenario)
    refuse_outages(varied.scenario, "a batch has no answer")
    _require_rest(after, float(np.min(varied.scenario.duration)))


def _require_rest(after: float, shortest: float) -> None:
    if after >= shortest:
        raise QuantityError(
            f"after = {after:g} s leaves nothing of a run of duration = {shortest:g} s: give a"
            " smaller after."
        )


def _warn_of_copies(scenario: Any) -> None:
    """Say where flows join as copies of others that have doubled their windows meanwhile."""
    for flow, name in zip(scenario.flows, scenario.class_names, strict=True):
        rounds = np.max(flow.start_jitter / flow.base_rtt) if flow.sender.signal else 0.0
        if flow.slow_start and rounds > 1.0:
            warnings.warn(
                f"in a batch the flows of class {show_value(name)}, which start one after the other"
                f" over {rounds:.3g} round trips, begin as copies of the first of them, whose"
                " window slow start has doubled as often: their start-up overshoots far too high."
                " Give start_jitter = 0, slow_start = False or an `after` beyond the start-up, or"
                " use simulate.",
                AssumptionWarning,
                stacklevel=3,
            )


def _time(value: object, name: str) -> float:
    return float(validate_quantity(value, "time", name))


def _as_count(chunk: object) -> int | None:
    if chunk is None:
        return None
    if isinstance(chunk, bool) or not isinstance(chunk, (int, np.integer)) or chunk < 1:
        raise QuantityError(f"chunk = {show_value(chunk)} is no number of runs: give 1 or more.")
    return int(chunk)


def _samples(varied: Variation, sample: float) -> FloatArray:
    duration = np.unique(varied.scenario.duration)
    _require_one_table(set(duration.tolist()), sample)
    return np.arange(int(duration[0] / sample * (1.0 + 1e-12)) + 1, dtype=float) * sample


def _require_one_table(durations: set[float], sample: float) -> None:
    if len(durations) > 1:
        raise ScenarioError(
            "sample and over['duration'] do not go together, for traces of different lengths make"
            " no table: leave one of them out."
        )
    if sample > min(durations):
        raise QuantityError(
            f"sample = {sample:g} s is longer than duration = {min(durations):g} s: give less."
        )


# Running


class _Lanes(NamedTuple):
    """What computes the runs of a table side by side."""

    run: Callable[[Timetable, int, int], dict[str, Any]]
    """From a table, the nodes of the past to keep, and to how many runs it may be padded."""
    at_once: Callable[[Timetable, int], int]
    """How many of a table's runs it takes at once, with so many nodes of the past."""


def _in_threads(
    scenario: Scenario,
    over: Mapping[str, Any],
    fluid: Fluid,
    when: tuple[float, float, float | None],
    progress: Callable[[int, int], None] | None,
) -> xarray.Dataset:
    """Return the Dataset of runs by `Fluid`; `when`: the step, `after` and the sample (s)."""
    step, begin, sample = when
    made, axes = scenarios_of(scenario, over)
    shortest = min(float(each.duration) for each in made)
    _require_rest(begin, shortest)
    if sample is not None:
        _require_one_table({float(each.duration) for each in made}, sample)
    kept = 0 if sample is None else max(1, math.ceil(sample / step - 1e-9))
    rows = Rows(step if sample is None else sample / kept, begin, kept)
    many = run_in_threads(made, fluid, rows, progress)
    coords = {"run": Column(("run",), many.runs, "1", "index of the run"), **many.coords} | {
        key: Column(("run",), values[many.runs], units, f"{key} of the scenario")
        for key, (values, units) in axes.items()
    }
    if many.failed:
        first, why = next(iter(many.failed.items()))
        warnings.warn(
            f"{len(many.failed)} of {len(many.runs)} runs could not be followed to their end, so"
            f" that their statistics are NaN; of run {first}: {why}",
            AssumptionWarning,
            stacklevel=3,
        )
    window, p = (np.asarray(many.variables[name].values) for name in ("window_mean", "p_mean"))
    attrs: dict[str, str | float] = {
        "engine": "fluid.batch (threads)",
        "update": fluid.update,
        "clock": fluid.clock,
        "after": begin,
        **({"interrupted": 1} if many.interrupted else {}),
        "beyond_the_laws": check_runs(scenario, window, p, many.runs),
        "not_modelled": ", ".join(not_modelled(scenario)),
        "scenario": scenario_text(scenario),
    }
    return make_dataset(many.variables, coords, attrs)


def _run_all(
    table: Timetable,
    lanes: _Lanes,
    chunk: int | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[dict[str, Any], Any, bool]:
    """Return results of the runs, which runs they are, and whether it was interrupted."""
    parts: list[dict[str, Any]] = []
    finished: list[Any] = []
    interrupted, n = False, table.h.size
    depth = depth_for(table)
    chunk = chunk or lanes.at_once(table, depth)
    chunks = _chunks(table, chunk)
    rows = min(chunk, 1 << (max(map(len, chunks)) - 1).bit_length())
    try:
        for runs in chunks:
            parts.append(_run_deep_enough(take_runs(table, runs), lanes, rows, depth))
            finished.append(runs)
            if progress is not None:
                progress(sum(map(len, finished)), n)
    except KeyboardInterrupt:
        interrupted = True
        parts = parts[: len(finished)]
        if not finished:
            raise
    done = np.concatenate(finished)
    order = np.argsort(done)
    found = {
        name: np.concatenate([part[name] for part in parts], axis=-1)[..., order]
        for name in parts[0]
    }
    return found, done[order], interrupted


def _chunks(table: Timetable, chunk: int) -> list[Any]:
    """Return the runs of each chunk.

    Runs of about equal length go together, as all of a chunk take as many steps as the longest; if
    there are samples, only runs whose samples lie at the same nodes.
    """
    order = np.argsort(table.last, kind="stable")
    groups = [order]
    if len(table.sample):
        _, kind = np.unique(table.h, return_inverse=True)
        groups = [order[kind[order] == value] for value in range(kind.max() + 1)]
    return [g[begin : begin + chunk] for g in groups for begin in range(0, len(g), chunk)]


def _run_deep_enough(table: Timetable, lanes: _Lanes, rows: int, depth: int) -> dict[str, Any]:
    """Run a chunk, and once more with a longer past those whose queue grew beyond it."""
    base = table.base_rtt.max(axis=0)
    sums = lanes.run(table, depth, rows)
    while True:
        needed = (base + sums["deepest"]) / table.h + _SPARE
        short = np.flatnonzero(needed > depth)
        if not short.size:
            return sums
        depth = _power_of_two(needed[short])
        most = min(rows, _MOST_PAST // depth, lanes.at_once(take_runs(table, short), depth))
        size = max(1, min(most, 1 << (short.size - 1).bit_length()))
        for begin in range(0, short.size, size):
            some = short[begin : begin + size]
            for name, values in lanes.run(take_runs(table, some), depth, size).items():
                sums[name] = np.array(sums[name])
                sums[name][..., some] = values


def depth_for(table: Timetable, delay: Real = _PAST) -> int:
    """Return how many nodes of the past are kept for queues that wait so long (s) at most."""
    return _power_of_two((table.base_rtt.max(axis=0) + delay) / table.h)


def _power_of_two(nodes: Real) -> int:
    return 1 << int(np.ceil(np.max(nodes) + _SPARE) - 1).bit_length()


def _with_jax() -> _Lanes:
    try:
        from pi2_fluid.engines.fluid.lanes.jitted import run_lanes, runs_at_once
    except ModuleNotFoundError as error:
        if error.name != "jax":
            raise
        raise UnsupportedError(
            'engine = "jax" needs JAX, which is not installed: pip install jax, or use engine="c".'
        ) from error
    return _Lanes(run_lanes, runs_at_once)


def _with_c(table: Timetable) -> _Lanes:
    reason = obstacle(table)
    if reason:
        raise UnsupportedError(
            f'{reason} is not in the compiled engine: use engine="jax" or "threads".'
        )
    return _Lanes(lambda part, depth, _: run_compiled(part, depth), lambda *_: _AT_ONCE)


def _warn(found: Mapping[str, FloatArray], done: NDArray[np.intp]) -> None:
    broken = ~np.isfinite(found["delay"])
    if broken.any():
        first = int(done[np.argmax(broken)])
        warnings.warn(
            f"{int(broken.sum())} of {len(done)} runs, the first of them run {first}, left the"
            " range of floats, so that their statistics are not finite: give a shorter step, or a"
            " scenario of less extreme numbers.",
            AssumptionWarning,
            stacklevel=3,
        )
