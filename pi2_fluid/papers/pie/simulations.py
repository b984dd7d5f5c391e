"""The experiments of the PIE paper packet by packet: runs that figures share, and their curves.

The paper draws one run. Here its line is the first seed's, in the range of all of them; the fluid
of the same scenario is dashed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import stretch_means
from pi2_fluid.papers.recipe import Case, Measured
from pi2_fluid.papers.words import rate_text, rtt_text, seeds_text
from pi2_fluid.plot import draw_fluid

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from pi2_fluid.values import FloatArray

#: Over what the paper's "instantaneous" numbers are means here (s); it does not say.
MEAN: Final = 0.1
#: When start-ups, and answers to a change, are over (s after it).
SETTLED: Final = 20.0
#: What every figure of simulations owns up to.
START: Final = (
    "The paper gives neither the duration nor the initial window. We take 10 segments, and flows"
    " start within the first second."
)
_BAND: Final = 0.28  # opacity


def instantaneous(
    name: str, runs: xarray.Dataset, fluid: xarray.Dataset | None = None
) -> dict[str, Any]:
    """Return means over 0.1 s of a variable, as columns: first seed, range of all, fluid.

    Parameters
    ----------
    name : str
        Of a variable of both; what classes have of it is added up.
    runs, fluid : xarray.Dataset
        Of one scenario. Without a fluid there is no column of it.
    """
    unit = {"s": "_s", "bit/s": "_bit_s"}[str(runs[name].attrs["units"])]
    time, values = stretch_means(_total(runs, name), name, MEAN)
    columns = {
        "time_s": time,
        f"{name}{unit}": values[0],
        f"{name}_low{unit}": values.min(axis=0),
        f"{name}_high{unit}": values.max(axis=0),
    }
    if fluid is not None:
        columns[f"{name}_fluid{unit}"] = stretch_means(_total(fluid, name), name, MEAN)[1]
    return columns


def _total(run: xarray.Dataset, name: str) -> xarray.Dataset:
    summed = run[name].sum("flows") if "flows" in run[name].dims else run[name]
    return run[[]].assign({name: summed})


def level(runs: xarray.Dataset, begin: float, end: float) -> FloatArray:
    """Return each run's mean queue delay (ms) between two instants (s); NaN if it is over."""
    delay = runs["queue_delay"].transpose("seed", "time").to_numpy()
    time = runs["time"].to_numpy()
    there = (time > begin + 1e-9) & (time <= end + 1e-9)
    if not there.any():
        return np.full(delay.shape[0], np.nan)
    result: FloatArray = 1e3 * delay[:, there].mean(axis=1)
    return result


def path_text(case: Case) -> str:
    """Return link and round-trip times of a figure, with which its notes begin."""
    every = case.scenarios.values()
    return f"{rate_text(*every)}, RTT {rtt_text(*every)}"


def reference_of(scenario: pf.Scenario) -> float:
    """Return the delay (s) at which the scenario's queue is to be."""
    aqm: Any = scenario.aqm
    return float(aqm.target)


def draw_curve(
    ax: Axes, row: Mapping[str, Any], name: str, unit: str, scale: float, color: str
) -> None:
    """Draw the first seed's line and the range of all, and the fluid if the row has it."""
    time = row["time_s"]
    low, first, high = (scale * row[f"{name}{part}{unit}"] for part in ("_low", "", "_high"))
    ax.fill_between(time, low, high, color=color, alpha=_BAND, linewidth=0, zorder=2)
    ax.plot(time, first, color=color, linewidth=0.7, zorder=3)
    if f"{name}_fluid{unit}" in row:
        draw_fluid(ax, time, scale * row[f"{name}_fluid{unit}"], "black")


def median_of(measured: Measured, key: str) -> float:
    """Return the median over the runs of what a statement is judged by."""
    return float(np.median(np.asarray(measured.found[key], dtype=float)))


def farthest(runs: Sequence[FloatArray], value: float) -> FloatArray:
    """Return of several numbers per run the one that is farthest from a value, in each run.

    Examples
    --------
    >>> farthest([np.array([19.0, 21.0]), np.array([20.5, 18.0])], 20.0).tolist()
    [19.0, 18.0]
    """
    every = np.array(runs)
    index = np.argmax(np.abs(every - value), axis=0)
    result: FloatArray = np.take_along_axis(every, index[None], axis=0)[0]
    return result


def end_of(row: Mapping[str, Any]) -> float:
    """Return when a row's run ends (s)."""
    return float(row["time_s"][-1]) + MEAN / 2


def explain_curves(
    ax: Axes, seeds: int, color: str, place: Mapping[str, Any], *, fluid: bool
) -> None:
    """Write into a legend at some place what line, band and dashes are."""
    ax.plot([], [], color=color, linewidth=0.9, label="packets: one seed")
    ax.fill_between(
        [], [], color=color, alpha=_BAND, linewidth=0, label=f"range of {seeds_text(seeds)}"
    )
    if fluid:
        draw_fluid(ax, np.array([]), np.array([]), "black", "fluid")
    ax.legend(**place)
