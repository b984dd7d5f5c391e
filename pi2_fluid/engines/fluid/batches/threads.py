"""Batches of every shape: each run by `Fluid`, some at a time, and what remains of it.

The lanes take thousands of runs of one queue side by side. What they do not know (several links,
dual queues, acknowledgements, laws of many states) runs here, one scenario after the other in as
many threads as there are processors: the compiled solver does not hold the interpreter's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.fluid import Fluid
from pi2_fluid.engines.fluid.lanes.variation import require_mapping
from pi2_fluid.errors import QuantityError, ScenarioError, SolverError, quietly
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.records.paths import dimension_at, read_path, replace_path
from pi2_fluid.results import Column
from pi2_fluid.units import si_unit

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray

_TRACES: Final = ("queue_delay", "queue", "controller", "window", "p")


class Rows(NamedTuple):
    """Of a trajectory: how far apart rows are, from when on they count, and which are kept."""

    spacing: float
    """s."""
    after: float
    """s."""
    kept: int
    """Every how many rows one is kept as a trace; 0: none."""


class Many(NamedTuple):
    """What is left of the runs that were finished."""

    variables: dict[str, Column]
    """Dims ``run`` and those of a trajectory but ``time``; of traces with it."""
    coords: dict[str, Column]
    runs: NDArray[np.intp]
    interrupted: bool
    failed: dict[int, str]
    """Of runs that could not be followed to their end, why; their statistics are NaN."""


def scenarios_of(
    scenario: Scenario, over: Mapping[str, Any]
) -> tuple[list[Scenario], dict[str, tuple[FloatArray, str]]]:
    """Return the scenario of each run, and for each key its numbers and their unit.

    Raises
    ------
    ScenarioError
        If a path is no number of the scenario, or a run contradicts itself.
    QuantityError, DomainError
        If values are no numbers, not one for each run, or out of range.
    """
    require_mapping(over)
    columns = {key: [value] if _is_single(value) else list(value) for key, value in over.items()}
    runs = max(map(len, columns.values()), default=1)
    for key, column in columns.items():
        if len(column) not in {1, runs}:
            raise QuantityError(
                f"over[{key!r}] has {len(column)} values, where others have {runs}: give one value"
                " for every run, or a single number."
            )
    scenarios: list[Scenario] = []
    for run in range(runs):
        changed = scenario
        try:
            for key, column in columns.items():
                changed = replace_path(changed, key, column[run % len(column)])
        except ScenarioError as error:
            raise ScenarioError(f"In run {run}, {error}") from None
        scenarios.append(changed)
    axes = {
        key: (np.array([read_path(each, key) for each in scenarios], float), _unit(scenario, key))
        for key in columns
    }
    return scenarios, axes


def _is_single(value: object) -> bool:
    return isinstance(value, str) or np.ndim(value) == 0  # type: ignore[arg-type]


def _unit(scenario: Scenario, key: str) -> str:
    return si_unit(dimension_at(scenario, key)) or "1"


def run_in_threads(
    scenarios: list[Scenario],
    engine: Fluid,
    rows: Rows,
    progress: Callable[[int, int], None] | None = None,
) -> Many:
    """Run every scenario, and return the statistics of those that were finished.

    An interrupt (Ctrl-C) ends it with what is done, unless nothing is.

    Raises
    ------
    SolverError
        If none could be followed to its end.
    """
    for scenario in scenarios:
        engine.require(scenario)
    done: dict[int, tuple[dict[str, Column], dict[str, Column]] | SolverError] = {}
    interrupted = False
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        waiting: dict[Future[Any], int] = {
            pool.submit(_run_one, engine, scenario, rows): run
            for run, scenario in enumerate(scenarios)
        }
        try:
            while waiting:
                finished, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    done[waiting.pop(future)] = future.result()
                if progress is not None:
                    progress(len(done), len(scenarios))
        except KeyboardInterrupt:
            interrupted = True
            if not done:
                raise
        finally:
            for future in waiting:
                future.cancel()
    return _gathered(done, interrupted=interrupted)


def _gathered(
    done: Mapping[int, tuple[dict[str, Column], dict[str, Column]] | SolverError],
    *,
    interrupted: bool,
) -> Many:
    runs = sorted(done)
    failed = {run: found for run, found in done.items() if isinstance(found, SolverError)}
    tables = {run: found[0] for run, found in done.items() if not isinstance(found, SolverError)}
    if not tables:
        raise failed[runs[0]]
    _, coords = next(found for found in done.values() if not isinstance(found, SolverError))
    variables: dict[str, Column] = {}
    for name, column in next(iter(tables.values())).items():
        nothing = np.full(np.shape(column.values), np.nan)
        values = [tables[run][name].values if run in tables else nothing for run in runs]
        variables[name] = Column(
            ("run", *column.dims), np.stack(values), column.units, column.long_name
        )
    reasons = {run: str(failed[run]) for run in sorted(failed)}
    return Many(variables, coords, np.array(runs, dtype=np.intp), interrupted, reasons)


def _run_one(
    engine: Fluid, scenario: Scenario, rows: Rows
) -> tuple[dict[str, Column], dict[str, Column]] | SolverError:
    try:
        with quietly():  # of each run the same would be said; `batch` says it once
            result = engine.with_rows(rows.spacing).run(scenario)
    except SolverError as error:
        return error
    variables = _statistics(result, scenario, rows.after)
    if rows.kept:
        kept = result.isel(time=slice(None, None, rows.kept))
        variables |= {name: _column(kept[name]) for name in _TRACES}
        result = kept
    coords = {
        str(name): _column(value)
        for name, value in result.coords.items()
        if name in {"link", "band", "flows"} or (rows.kept and name == "time")
    }
    return variables, coords


def _column(array: xarray.DataArray) -> Column:
    return Column(
        tuple(map(str, array.dims)),
        array.to_numpy(),
        str(array.attrs["units"]),
        str(array.attrs["long_name"]),
    )


def _statistics(result: xarray.Dataset, scenario: Scenario, after: float) -> dict[str, Column]:
    """Return means over time and the like, of rows that straight lines join."""
    time = result["time"].to_numpy()
    counted = time >= after - 1e-9
    columns: dict[str, Column] = {}
    for name, text in (("queue_delay", "queue delay"), ("controller", "controller's own variable")):
        array = result[name]
        dims = tuple(map(str, array.dims[1:]))
        mean, sd = _mean_and_sd(time[counted], array.to_numpy()[counted])
        units = str(array.attrs["units"])
        columns[f"{name}_mean"] = Column(dims, mean, units, f"mean {text} over time")
        columns[f"{name}_sd"] = Column(dims, sd, units, f"standard deviation of the {text}")
        for what, extreme, of in (("min", np.min, "smallest"), ("max", np.max, "largest")):
            value = extreme(array.to_numpy()[counted], axis=0)
            columns[f"{name}_{what}"] = Column(dims, value, units, f"{of} {text}")
    leaves = result["link_throughput" if "link_throughput" in result else "throughput"]
    capacity = result["capacity"]
    used, _ = _mean_and_sd(time[counted], leaves.sum("flows").to_numpy()[counted])
    offered, _ = _mean_and_sd(time[counted], capacity.to_numpy()[counted])
    columns["utilization"] = Column(
        tuple(map(str, capacity.dims[1:])), used / offered, "1", "part of the capacity used"
    )
    mean, _ = _mean_and_sd(time[counted], result["throughput"].to_numpy()[counted])
    columns["throughput"] = Column(("flows",), mean, "bit/s", "mean throughput")
    return columns | _while_sending(result, scenario, time, counted)


def _while_sending(
    result: xarray.Dataset, scenario: Scenario, time: FloatArray, counted: NDArray[np.bool_]
) -> dict[str, Column]:
    classes = range(len(scenario.flows))
    window, p = result["window"].to_numpy(), result["p"].to_numpy()
    table = np.zeros((3, len(classes)))
    for i in classes:
        flow = scenario.flows[i]
        sends = counted & (time >= float(flow.start))
        if flow.stop is not None:
            sends &= time <= float(flow.stop)
        if sends.sum() < 2:
            continue
        table[0, i] = _mean_and_sd(time[sends], window[sends, i])[0]
        table[1, i] = window[sends, i].min()
        table[2, i] = _mean_and_sd(time[sends], p[sends, i])[0]
    said = "while the class sends"
    return {
        "window_mean": Column(("flows",), table[0], "segments", f"mean window of a flow {said}"),
        "window_min": Column(("flows",), table[1], "segments", f"smallest window of a flow {said}"),
        "p_mean": Column(
            ("flows",), table[2], "1", f"mean probability that a packet is signalled {said}"
        ),
    }


def _mean_and_sd(time: FloatArray, rows: FloatArray) -> tuple[Any, Any]:
    """Return mean and standard deviation over time of the lines through rows (time, ...)."""
    steps = np.diff(time).reshape(-1, *(1,) * (rows.ndim - 1))
    whole = time[-1] - time[0]
    begin, end = rows[:-1], rows[1:]
    mean = (steps * (begin + end)).sum(axis=0) / (2.0 * whole)
    square = (steps * (begin**2 + begin * end + end**2)).sum(axis=0) / (3.0 * whole)
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))
