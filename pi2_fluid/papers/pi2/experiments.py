"""The experiments of the PI2 paper, by fluid and packets: runs, curves, peaks, stages.

Figures 6 and 11 to 14 of the paper were measured in a testbed, most of them plotted as means over
1 s of one run. Here each scenario runs as a fluid and packet by packet, with several seeds, of
which median, smallest and largest are kept.

Here as in the paper time is counted from the first flow, which is there some seconds after the
queue in the scenarios.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import stretch_means
from pi2_fluid.papers.recipe import Case, Measured
from pi2_fluid.papers.runs import spread
from pi2_fluid.papers.stages import Stage, first_start, stages_of
from pi2_fluid.papers.words import quantity_text
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import FloatArray

#: s: what the paper plots means over.
MEAN: Final = 1.0
#: s: what it gives the peaks of Figure 12 as means over.
FINE: Final = 0.1
#: What the pages of transients say of their lines and numbers.
FINE_MEANS: Final = f"Means over {FINE:g} s; numbers: gain margin of the sampled loop"
#: A decision on every figure that shows a start-up.
STARTS: Final = "Flows start within 1 s, when the queue is 5 s old; UDP starts with the first."
#: Said of each as well: with `Reno(growth="per_ack")` every verdict is the same.
GROWTH: Final = (
    "Reno grows by a segment per round trip. Linux before 4.0 added 1/W per acknowledgement, which"
    " is half of that where receivers acknowledge every second segment. No verdict of Figures 6"
    " and 11 to 14 depends on it."
)
_AFTER: Final = 10.0  # s: how long after a change its peak is looked for
_TOLERANCE: Final = 1e-6  # of the trajectories: far below what a picture shows


class Both(NamedTuple):
    """What both engines made of a scenario, with time counted from the first flow."""

    scenario: pf.Scenario
    fluid: xarray.Dataset
    packets: xarray.Dataset


@cache
def run_both(scenario: pf.Scenario, seeds: int) -> Both:
    """Return the runs of a scenario.

    Both have their total throughput as ``total`` (bit/s), and ``lost``, which part of what comes is
    dropped: in the fluid p, weighted by the traffic that meets it.
    """
    # Windows below 2 segments, of which the fluid warns, are what some of these figures show.
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        fluid = pf.fluid.simulate(scenario, sample=FINE / 2, tolerance=_TOLERANCE)
    packets = uninterrupted(pf.packet.simulate(scenario, seeds=seeds, bin=FINE))
    rates = fluid["throughput"]
    fluid["lost"] = (rates * fluid["p"]).sum("flows") / rates.sum("flows").clip(min=1.0)
    for key in ("arrivals", "drops"):
        packets[f"all_{key}"] = packets[key].sum("flows")
    for run in (fluid, packets):
        run["total"] = run["throughput"].sum("flows")
        run["time"] = run["time"] - first_start(scenario)
    return Both(scenario, fluid, packets)


def line_of(name: str) -> str:
    """Return which queue a scenario has, by its name.

    Examples
    --------
    >>> line_of("pi2_fig11c_uncapped")
    'uncapped'
    """
    return name.rpartition("_")[2]


# --- stages ---------------------------------------------------------------------------------


def title_of(stage: Stage, *, by_capacity: bool = False) -> str:
    """Return when a stage begins, and with what."""
    what = quantity_text(stage.capacity, "rate") if by_capacity else f"{stage.number:g} flows"
    return f"{stage.begin:g} s: {what}"


def margin_of(stage: Stage, aqm: Any) -> str:
    """Return the gain margin of the sampled loop in a stage as text, empty if it has no rest."""
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        try:
            loop = pf.Loop(
                stage.flows, aqm, capacity=stage.capacity, update="sampled", rtt_terms="exact"
            )
        except (pf.DomainError, pf.UnsupportedError):
            return ""
        if loop.operating_point.controller > aqm.limit:
            return "at its limit"
        margin = float(loop.margins().gain_margin_db)
    return f"{margin:+.1f} dB".replace("-", "\N{MINUS SIGN}")


# --- curves ---------------------------------------------------------------------------------


def whole_run(both: Both, **columns: str) -> dict[str, Any]:
    """Return delay and throughput over a whole run, as means over 1 s, after other columns."""
    time = _means(both.packets, "queue_delay", MEAN)[0]
    return {
        **columns,
        "time_s": time,
        **_spread_of(both.packets, "queue_delay", "queue_delay", "_s"),
        "queue_delay_fluid_s": _means(both.fluid, "queue_delay", MEAN)[1],
        **_spread_of(both.packets, "total", "throughput", "_bit_s"),
        "throughput_fluid_bit_s": _means(both.fluid, "total", MEAN)[1],
    }


def losses(both: Both, **columns: str) -> dict[str, Any]:
    """Return which part of the packets is dropped, in stretches of 1 s, after other columns."""
    time, arrivals = _means(both.packets, "all_arrivals", MEAN)
    drops = _means(both.packets, "all_drops", MEAN)[1]
    return {
        **columns,
        "time_s": time,
        **spread("lost", drops / np.maximum(arrivals, 1e-9)),
        "lost_fluid": _means(both.fluid, "lost", MEAN)[1],
    }


def transients(both: Both, length: float, **columns: str) -> list[dict[str, Any]]:
    """Return the delay in the first seconds of each stage, as means over 0.1 s.

    Each row says the gain margin of that stage's loop, and counts time from its begin.
    """
    rows = []
    stages = stages_of(both.scenario)
    varies = len({stage.capacity for stage in stages}) > 1
    time, delay = _means(both.packets, "queue_delay", FINE)
    fluid = _means(both.fluid, "queue_delay", FINE)[1]
    for stage in stages:
        shown = (time >= stage.begin) & (time < stage.begin + length)
        rows.append(
            {
                **columns,
                "stage": title_of(stage, by_capacity=varies),
                "margin": margin_of(stage, both.scenario.aqm),
                "after_s": time[shown] - stage.begin,
                **spread("queue_delay", delay[:, shown], "_s"),
                "queue_delay_fluid_s": fluid[shown],
            }
        )
    return rows


def _means(run: xarray.Dataset, name: str, width: float) -> tuple[FloatArray, FloatArray]:
    """Middles and means of stretches after the first flow."""
    time, values = stretch_means(run, name, width)
    return time[time > 0.0], values[..., time > 0.0]


def _spread_of(run: xarray.Dataset, name: str, column: str, unit: str) -> dict[str, Any]:
    return spread(column, _means(run, name, MEAN)[1], unit)


def value_at(row: Mapping[str, Any], column: str, begin: float, end: float) -> float:
    """Return the mean of a column of a curve between two instants (s)."""
    there = (row["time_s"] >= begin) & (row["time_s"] <= end)
    return float(np.mean(row[column][there])) if there.any() else np.nan


# --- peaks ----------------------------------------------------------------------------------


def find_peaks(run: xarray.Dataset, begin: float, width: float) -> FloatArray:
    """Return the highest queue delay (s), of means over `width`, in the 10 s after `begin`.

    Of packets one for each seed; NaN if the run ended before.
    """
    time, delay = _means(run, "queue_delay", width)
    found = delay[..., (time >= begin) & (time < begin + _AFTER)]
    return np.max(found, axis=-1) if found.shape[-1] else np.full(delay.shape[:-1], np.nan)


def peak_rows(both: Both, begins: Iterable[float], **columns: str) -> list[dict[str, Any]]:
    """Return the peaks of both engines after some instants, of means over 1 and over 0.1 s."""
    return [
        {
            **columns,
            "from_s": begin,
            "mean_over_s": width,
            **spread("peak", find_peaks(both.packets, begin, width), "_s"),
            "peak_fluid_s": float(find_peaks(both.fluid, begin, width)),
        }
        for begin in begins
        for width in (MEAN, FINE)
    ]


def peak_ratios(pi2: Both, pie: Both, begin: float) -> FloatArray:
    """Return PI2's peak over PIE's, of means over 1 s, seed by seed."""
    above, below = (find_peaks(both.packets, begin, MEAN) for both in (pi2, pie))
    return above / below


# --- figures --------------------------------------------------------------------------------


def measure_runs(
    case: Case, begins: Sequence[float], length: float
) -> tuple[dict[str, Both], Measured]:
    """Return the runs of a figure's scenarios, and its tables, with nothing found yet.

    Parameters
    ----------
    case : Case
        Its scenarios end in the names of their queues.
    begins : sequence of float
        Seconds after the first flow at which peaks are looked for.
    length : float
        Seconds of each stage that the transients show.
    """
    runs = {name: run_both(scenario, case.seeds) for name, scenario in case.scenarios.items()}
    named = [(both, {"line": line_of(name), "scenario": name}) for name, both in runs.items()]
    tables = {
        "": [whole_run(both, **columns) for both, columns in named],
        "transients": [row for both, cs in named for row in transients(both, length, **cs)],
        "losses": [losses(both, **columns) for both, columns in named],
        "peaks": [row for both, cs in named for row in peak_rows(both, begins, **cs)],
    }
    return runs, Measured(tables)
