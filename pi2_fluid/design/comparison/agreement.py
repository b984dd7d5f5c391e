"""`compare`: one scenario as a fluid and in packets, and where the two agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.design.comparison.causes import Facts, gather_facts, name_causes
from pi2_fluid.design.comparison.oscillation import Oscillation, read_oscillation
from pi2_fluid.design.comparison.stages import answer_to_push, last_stage, loop_rtts
from pi2_fluid.errors import DomainError
from pi2_fluid.fluid import engine as fluid_engine
from pi2_fluid.model.aqms.pi_family import PiFamily
from pi2_fluid.model.scenario import Scenario, require_scenario
from pi2_fluid.packet import engine as packet_engine
from pi2_fluid.packet.request import require_packets, seed_list
from pi2_fluid.result import summarize
from pi2_fluid.result.dataset import Column, make_dataset
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    import xarray

__all__ = ["Both", "compare", "run_both", "tabulate"]

_LONGEST_START: Final = 20.0  # s
_START: Final = 0.2  # of the run, or of a stage
_SLACK: Final = 0.1  # by how much the fluid may lie outside the range of the seeds
_TOLERANCE: Final = 1e-6  # of the trajectory: far below what packets tell
_MOST_SAMPLES: Final = 50_000  # of one seed
_PER_RTT: Final = 8.0  # samples
_SHORTEST, _LONGEST = 1e-3, 0.1  # s between samples
_SHORTEST_RUN: Final = 1e-6  # s
_PERIODS: Final = 5.0  # that the longest period looked for fits into the stretch
_CYCLE: Final = 0.01  # swing, as part of the mean, from which a fluid is not at rest
_SUMMARY: Final = (
    *("delay_mean", "delay_sd", "delay_p05", "delay_p25", "delay_p50", "delay_p75", "delay_p95"),
    *("delay_p99", "queue_delay_mean", "utilization", "drop_fraction", "mark_fraction"),
)


class Both(NamedTuple):
    """One scenario, run twice."""

    scenario: Scenario
    fluid: xarray.Dataset
    """The trajectory."""
    packets: xarray.Dataset
    """The runs of the seeds, with bins as long as the fluid's samples."""
    after: float
    """Where statistics begin (s)."""
    controller: str
    """How the fluid's controller moves."""


class _Row(NamedTuple):
    units: str
    fluid: float
    packets: Any
    """Of each seed."""


def compare(
    scenario: Scenario,
    seeds: int | Sequence[int] = 10,
    *,
    after: float | str | None = None,
    controller: str = "sampled",
    progress: Callable[[float, float], None] | None = None,
    threads: int | None = None,
) -> xarray.Dataset:
    """Run a scenario as a fluid and in packets, and return one table of both.

    Parameters
    ----------
    scenario : Scenario
        Link, queue, flows and schedule; numbers of flows are whole.
    seeds : int or sequence of int
        As for `packet.simulate`.
    after : float or str, optional
        Where the statistics begin (s). Default: when slow start is over, taken to be after 20 s,
        or after a fifth of the run if that is less.
    controller : {"sampled", "continuous"}
        Of the fluid, as for `fluid.simulate`.
    progress : callable, optional
        Called as ``progress(done, total)``, in seconds of packets simulated.
    threads : int, optional
        As for `packet.simulate`.

    Returns
    -------
    xarray.Dataset
        Dim ``name``, with the coordinate ``unit``. The names are those of `summarize`:
        ``delay_mean``, ``delay_sd``, ``delay_p05`` to ``delay_p99``, ``queue_delay_mean`` (of a
        dual queue ``queue_delay_mean.C`` and ``.L``, in packets the mean over time of what they
        spend in it), ``utilization``, ``drop_fraction``,
        ``mark_fraction``; of the PI family ``controller``, its mean; ``frequency`` (rad/s) and
        ``damping`` (ratio) of the dominant oscillation; and per class ``throughput.reno``,
        ``window.reno`` and so on (a window only if the class obeys signals).

        ``fluid``; ``packet``, the median over the seeds, and ``packet_low`` and ``packet_high``,
        their range; ``relative``, packet / fluid - 1, which is 0 if both are 0 and infinite if
        only the fluid is; ``disagreement``, whether the fluid lies below the range by more than
        10 % of its lower end or above it by more than 10 % of its upper; and ``why``: causes that
        hold in this scenario and bear on that number, empty if the two agree.

    Raises
    ------
    ScenarioError, QuantityError, DomainError
        If the scenario or an argument is not as it should be.
    UnsupportedError
        If a law has no fluid form (CoDel), or no packets follow it (a law of one's own).
    SolverError
        If the trajectory needs too many steps.

    Notes
    -----
    Both oscillations are read off the autocorrelation of the (Classic) queue's delay: its first
    maximum after it has been negative is one period away, and its height, what is left of a swing
    after one period, gives the damping ratio: 0 in a limit cycle. Where that is too low to be told
    from noise, the first minimum serves, half a period away; where that is, too, nothing
    oscillates: frequency 0, damping 1. Read so, the frequency of a swing is right within a few per
    cent while it is lightly damped, and rough from a damping of 0.3 on.

    Of packets it is the delay after the start-up of the last stage of the schedule, kept moving by
    chance. A fluid that cycles there is read in the same way. One that has come to rest is pushed:
    the autocorrelation of its answer to one small push is what white noise arriving at its queue
    would give, so the two are the same measure.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> flows = pf.Flows(pf.Reno(), 20, "80ms")
    >>> table = pf.compare(pf.Scenario("60s", pf.Link("40Mbit/s"), pf.Pi2(), flows), seeds=4)
    >>> mean = table.sel(name="delay_mean")
    >>> round(1e3 * float(mean.fluid)), round(1e3 * float(mean.packet)), bool(mean.disagreement)
    (20, 20, False)
    """
    return tabulate(
        run_both(
            scenario,
            seeds,
            after=after,
            controller=controller,
            progress=progress,
            threads=threads,
        )
    )


def run_both(
    scenario: Scenario,
    seeds: int | Sequence[int] = 10,
    *,
    after: float | str | None = None,
    controller: str = "sampled",
    progress: Callable[[float, float], None] | None = None,
    threads: int | None = None,
) -> Both:
    """Run a scenario in both engines, as `compare` describes it, and return both results."""
    require_scenario(scenario)
    require_packets(scenario)
    seed_list(seeds)  # refused before the fluid has run
    if float(scenario.duration) < _SHORTEST_RUN:
        raise DomainError(
            f"Scenario duration = {float(scenario.duration):g} s is too short to compare anything"
            f" in: give {_SHORTEST_RUN:g} s or more."
        )
    begin = _begin(scenario, after)
    step = _step(scenario)
    fluid = fluid_engine.simulate(
        scenario, controller=controller, sample=step, tolerance=_TOLERANCE
    )
    packets = packet_engine.simulate(
        scenario, seeds=seeds, bin=step, threads=threads, progress=progress
    )
    return Both(scenario, fluid, packets, begin, controller)


def tabulate(both: Both) -> xarray.Dataset:
    """Return the table of two results, as `compare` describes it."""
    of_fluid = summarize(both.fluid, both.after)
    of_packets = summarize(both.packets, both.after)
    rows = _rows(both, of_fluid, of_packets)
    stretch = slice(both.after, None)
    facts = gather_facts(
        both.scenario,
        both.fluid.sel(time=stretch),
        both.packets.sel(time=stretch),
        of_packets.median("seed"),
        both.after,
        rows["damping"].fluid,
    )
    return _table(both, rows, facts, of_packets.attrs["until"])


def _begin(scenario: Scenario, after: float | str | None) -> float:
    if after is None:
        return min(_LONGEST_START, _START * float(scenario.duration))
    return float(
        validate_quantity(after, "time", "after", high=float(scenario.duration), closed=True)
    )


def _step(scenario: Scenario) -> float:
    """Return the time between samples (s): a round one, a few in every round trip."""
    wanted = min(max(min(loop_rtts(scenario)) / _PER_RTT, _SHORTEST), _LONGEST)
    wanted = max(wanted, float(scenario.duration) / _MOST_SAMPLES)
    decade = 10.0 ** math.floor(math.log10(wanted))
    step = max(k * decade for k in (1.0, 2.0, 5.0) if k * decade <= wanted * (1.0 + 1e-9))
    return min(float(f"{step:.12g}"), float(scenario.duration) / 2)


# The rows


def _rows(both: Both, of_fluid: Any, of_packets: Any) -> dict[str, _Row]:
    rows: dict[str, _Row] = {}
    for name in _SUMMARY:
        rows |= _of_labels(name, of_fluid[name], of_packets[name], "band")
    if "band" in of_packets.dims:
        # Packets count the backlog at the rate of the link; what serves a queue of two is less.
        spent = both.packets["sojourn"].sel(time=slice(both.after, None)).mean("time")
        mine = of_packets["queue_delay_mean"].copy(data=spent.transpose("seed", "band"))
        rows |= _of_labels("queue_delay_mean", of_fluid["queue_delay_mean"], mine, "band")
    if rows["delay_sd"].fluid < _TOLERANCE * rows["delay_mean"].fluid:
        # Of a fluid at rest, what is left is the solver's.
        rows["delay_sd"] = rows["delay_sd"]._replace(fluid=0.0)
    if isinstance(both.scenario.aqm, PiFamily):
        mine = [
            run["controller"].sel(time=slice(both.after, None)).mean("time")
            for run in (both.fluid, both.packets)
        ]
        rows["controller"] = _Row("1", float(mine[0]), mine[1].to_numpy())
    rows |= _swing_rows(both)
    for short, name in (("throughput", "throughput"), ("window", "window_mean")):
        labelled = _of_labels(short, of_fluid[name], of_packets[name], "flows")
        for flow, label in zip(both.scenario.flows, labelled, strict=True):
            if short == "throughput" or flow.sender.signal is not None:
                rows[label] = labelled[label]
    return rows


def _of_labels(name: str, fluid: Any, packets: Any, dim: str) -> dict[str, _Row]:
    units = str(packets.attrs["units"])
    if dim not in packets.dims:
        return {name: _Row(units, float(fluid), packets.to_numpy())}
    return {
        f"{name}.{label}": _Row(
            units, float(fluid.sel({dim: label})), packets.sel({dim: label}).to_numpy()
        )
        for label in packets[dim].to_numpy()
    }


def _swing_rows(both: Both) -> dict[str, _Row]:
    fluid, packets = _swings(both)
    return {
        "frequency": _Row("rad/s", fluid.frequency, np.array([one.frequency for one in packets])),
        "damping": _Row("1", fluid.damping, np.array([one.damping for one in packets])),
    }


def _swings(both: Both) -> tuple[Oscillation, list[Oscillation]]:
    """Return the oscillation of the fluid, and that of each seed, in the last stage."""
    step = float(both.packets["bin"].max())
    begin = last_stage(both.scenario).begin
    begin = max(both.after, begin + _START * (float(both.scenario.duration) - begin))
    fluid, packets = (
        _classic(run["queue_delay"].sel(time=slice(begin, None)))
        for run in (both.fluid, both.packets)
    )
    length = step * packets.shape[-1]
    longest = length / _PERIODS
    seen = fluid
    if not _cycles(fluid):
        answer = answer_to_push(both.scenario, both.controller, step, length)
        seen = fluid if answer is None else answer
    return (
        read_oscillation(seen, step, longest),
        [read_oscillation(seed, step, longest) for seed in packets],
    )


def _classic(delay: Any) -> Any:
    return (delay.isel(band=0) if "band" in delay.dims else delay).to_numpy()


def _cycles(delay: Any) -> bool:
    """Whether a delay keeps on swinging: neither at rest nor on its way there."""
    first, _, last = (np.asarray(part) for part in np.array_split(delay, 3))
    swing = float(last.std())
    return swing > _CYCLE * float(delay.mean()) and swing > 0.5 * float(first.std())


# The table


def _table(both: Both, rows: dict[str, _Row], facts: Facts, until: float) -> xarray.Dataset:
    fluid = np.array([row.fluid for row in rows.values()])
    seeds = np.stack([np.asarray(row.packets, dtype=float) for row in rows.values()])
    middle, low, high = np.median(seeds, axis=1), seeds.min(axis=1), seeds.max(axis=1)
    apart = (fluid < (1.0 - _SLACK) * low) | (fluid > (1.0 + _SLACK) * high)
    why = [name_causes(facts, name) if off else "" for name, off in zip(rows, apart, strict=True)]
    dims, own = ("name",), "unit"
    variables = {
        "fluid": Column(dims, fluid, own, "the fluid's value"),
        "packet": Column(dims, middle, own, "median over the seeds of packets"),
        "packet_low": Column(dims, low, own, "smallest of the seeds"),
        "packet_high": Column(dims, high, own, "largest of the seeds"),
        "relative": Column(dims, _relative(middle, fluid), "1", "packet / fluid - 1"),
        "disagreement": Column(
            dims, apart, "1", "whether the fluid lies outside the seeds' range by more than 10 %"
        ),
        "why": Column(dims, np.array(why, dtype=object), "1", "causes of the disagreement"),
    }
    coords = {
        "name": Column(dims, np.array(list(rows), dtype=object), "1", "what is compared"),
        "unit": Column(
            dims, np.array([row.units for row in rows.values()], dtype=object), "1", "its unit"
        ),
    }
    attrs: dict[str, str | float] = {
        "engine": "fluid and packet",
        "scenario": both.packets.attrs["scenario"],
        "seed": both.packets.attrs["seed"],
        "controller": both.controller,
        "after": both.after,
        "until": float(until),
        "not_modelled": both.fluid.attrs["not_modelled"],
        "interrupted": both.packets.attrs["interrupted"],
    }
    return make_dataset(variables, coords, attrs)


def _relative(packets: Any, fluid: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = packets / fluid - 1.0
    return np.where(packets == fluid, 0.0, ratio)
