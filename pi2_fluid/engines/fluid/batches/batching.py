"""`batch`: one scenario, thousands of runs with other numbers, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.batches.results import batch_dataset
from pi2_fluid.engines.fluid.lanes.in_c import obstacle, run_compiled
from pi2_fluid.engines.fluid.lanes.timetable import Timetable, tabulate, take_runs
from pi2_fluid.engines.fluid.lanes.variation import Variation, vary
from pi2_fluid.engines.fluid.outages import refuse_outages
from pi2_fluid.engines.fluid.refusals import UPDATES, require_rates_of_states, require_round_trips
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
from pi2_fluid.units import validate_choice, validate_quantity

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray, Real

__all__ = ["batch"]

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
    engine: str = "jax",
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
        As in `Fluid`; batches run by rates alone, and "acks" is refused.
    engine : {"jax", "c"}
        "jax" runs any law; "c", several times faster, any that is a line of operations (own ones
        too, see `laws.tape`) of one queue, and whose senders send window / rtt. The numbers are
        the same.
    step : float or str
        Longest step (s). Steps divide the update interval, and no step is longer than the shortest
        `base_rtt`.
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
        Dims ``run`` and ``flows``; a coordinate for each key of `over`. Of each run
        ``queue_delay_mean``, ``_sd``, ``_min`` and ``_max`` (s, over time), the same of
        ``controller``, ``utilization``, ``overflow`` (packets/s), and ``step``, the step it was
        computed with; of each class ``throughput`` (bit/s), and ``window_mean``, ``window_min``
        (segments) and ``p_mean`` over the time in which it sends (0 if it never does). With
        `sample` also the traces ``queue_delay``, ``queue``, ``controller``, ``window`` and ``p``
        over ``time``. An interrupted batch (Ctrl-C) has the runs that were finished, and
        ``attrs["interrupted"]`` is 1.

    Raises
    ------
    ScenarioError
        If a path is no number of the scenario, or a run contradicts itself.
    QuantityError, DomainError
        If values are no numbers, of unequal lengths, or out of range.
    UnsupportedError
        If a law has no fluid form, or none in the engine asked for; by acknowledgements.

    Warns
    -----
    AssumptionWarning
        If the numbers of some runs leave the range of floats; their statistics are not finite then.
        If flows begin in slow start one after the other over more than a round trip: here they are
        copies of one another, which `simulate` knows better.
        If mean windows are smaller than their law describes (2 segments), or the mean of p is 0.9
        and more of Classic senders, 1 of scalable ones; ``attrs["beyond_the_laws"]`` names the
        class and the runs.

    Notes
    -----
    A method of order 2 with equal steps, see `engines.fluid.lanes.stepping`. At 8 ms the queue
    delay is within 1 % of its target of the exact solution in all nine reference trajectories, and
    four times closer at half the step. Changes, starts, stops, `after` and rows of traces fall on
    the nearest end of a step, at most half a step away; ticks are exact. Signals that jump between
    ticks (a full buffer's, the end of a burst allowance) make it order 1.

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
    >>> runs = batch(scenario, gains, after="5s", engine="c")
    >>> [f"{1e3 * float(sd):.1f} ms" for sd in runs.queue_delay_sd]
    ['3.7 ms', '0.4 ms']
    """
    _check(scenario, update, clock, engine)
    step = _time(step, "step")
    begin = validate_quantity(after, "time", "after", closed=True)
    chunk = _as_count(chunk)
    varied = vary(scenario, over)
    _check_varied(varied, float(begin))
    _warn_of_copies(varied.scenario)
    times = None if sample is None else _samples(varied, _time(sample, "sample"))
    table = tabulate(
        varied, continuous=update == "continuous", step=step, after=begin, sample=times
    )
    lanes = _with_jax() if engine == "jax" else _with_c(table)
    found, done, interrupted = _run_all(table, lanes, chunk, progress)
    _warn(found, done)
    attrs: dict[str, str | float] = {
        "engine": f"fluid.batch ({engine})",
        "update": update,
        "longest_step": step,
        "after": float(begin),
        **({"interrupted": 1} if interrupted else {}),
    }
    result = batch_dataset(scenario, varied, take_runs(table, done), found, done, times, attrs)
    window, p = result["window_mean"].to_numpy(), result["p_mean"].to_numpy()
    return result.assign_attrs(beyond_the_laws=check_runs(scenario, window, p, done))


# Checks


def _check(scenario: Scenario, update: str, clock: str, engine: str) -> None:
    require_scenario(scenario)
    validate_choice(update, UPDATES, "update")
    validate_choice(clock, CLOCKS, "clock")
    validate_choice(engine, ("jax", "c"), "engine")
    if clock == "acks":
        raise UnsupportedError(
            "clock = 'acks' is not of batches, which run by rates: use simulate, one run after the"
            " other."
        )
    scenario.aqm.initial()  # a law without a fluid form says so here
    if scenario.aqm.bands != 1:
        raise UnsupportedError(
            f"{type(scenario.aqm).__name__} has {scenario.aqm.bands} queues, and a batch runs laws"
            " of one queue only: use simulate, one run after the other."
        )
    if type(scenario.aqm).pushes is not Aqm.pushes:
        raise UnsupportedError(
            f"{type(scenario.aqm).__name__} follows what is given over time, which no batch does:"
            " use simulate, one run after the other."
        )


def _check_varied(varied: Variation, after: float) -> None:
    require_round_trips(varied.scenario)
    refuse_outages(varied.scenario, "a batch has no answer")
    require_rates_of_states(varied.scenario)
    shortest = float(np.min(varied.scenario.duration))
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
    if duration.size > 1:
        raise ScenarioError(
            "sample and over['duration'] do not go together, for traces of different lengths make"
            " no table: leave one of them out."
        )
    if sample > duration[0]:
        raise QuantityError(
            f"sample = {sample:g} s is longer than duration = {duration[0]:g} s: give less."
        )
    return np.arange(int(duration[0] / sample * (1.0 + 1e-12)) + 1, dtype=float) * sample


# Running


class _Lanes(NamedTuple):
    """What computes the runs of a table side by side."""

    run: Callable[[Timetable, int, int], dict[str, Any]]
    """From a table, the nodes of the past to keep, and to how many runs it may be padded."""
    at_once: Callable[[Timetable, int], int]
    """How many of a table's runs it takes at once, with so many nodes of the past."""


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
    depth = _power_of_two((table.base_rtt.max(axis=0) + _PAST) / table.h)
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
    found = lanes.run(table, depth, rows)
    while True:
        needed = (base + found["deepest"]) / table.h + _SPARE
        short = np.flatnonzero(needed > depth)
        if not short.size:
            return found
        depth = _power_of_two(needed[short])
        most = min(rows, _MOST_PAST // depth, lanes.at_once(take_runs(table, short), depth))
        size = max(1, min(most, 1 << (short.size - 1).bit_length()))
        for begin in range(0, short.size, size):
            some = short[begin : begin + size]
            for name, values in lanes.run(take_runs(table, some), depth, size).items():
                found[name] = np.array(found[name])
                found[name][..., some] = values


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
        raise UnsupportedError(f'{reason} is not in the compiled engine: use engine="jax".')
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
