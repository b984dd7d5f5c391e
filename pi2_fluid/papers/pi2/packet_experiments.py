"""The experiments of the PI2 paper packet by packet, beside the fluid: numbers and one drawing.

The paper plots means over 1 s of one run. Here there are ten, whose median and range are drawn; the
fluid of the same scenario is dashed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import stretch_means
from pi2_fluid.papers.pi2.experiments import NAMES, first_start
from pi2_fluid.plot import COLORS, draw_fluid, draw_runs, scale_root
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pi2_fluid.values import FloatArray

__all__ = ["LINE_COLORS", "SEEDS", "draw_cases", "peaks_text", "run_both", "spread", "value_at"]

#: Runs of each scenario.
SEEDS: Final = 10
#: Colours of the paper's queues, as in its other figures here.
LINE_COLORS: Final = {"pi": COLORS[3], "pie": COLORS[2], "pi2": COLORS[1]}
_BIN: Final = 0.1  # s, of peaks
_MEAN: Final = 1.0  # s, as in the paper
_AFTER: Final = 10.0  # s: how long after a change its peak is looked for
_TOLERANCE: Final = 1e-6


def run_both(
    line: str, name: str, begins: Sequence[float]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a scenario's curves of both engines, and its highest delays after some instants.

    Parameters
    ----------
    line : str
        Which queue it is.
    name : str
        Of a scenario that comes with the package.
    begins : sequence of float
        Seconds after the first flow; each peak is the highest mean over 0.1 s of the 10 s from
        there on.
    """
    scenario = pf.named_scenario(name)
    origin = first_start(scenario)
    fluid = pf.fluid.simulate(scenario, sample=_BIN / 2, tolerance=_TOLERANCE)
    packets = uninterrupted(pf.packet.simulate(scenario, seeds=SEEDS, bin=_BIN))
    # What is lost, of what comes: in the fluid p, weighted by the traffic that meets it.
    rates = fluid["throughput"]
    fluid["lost"] = (rates * fluid["p"]).sum("flows") / rates.sum("flows").clip(min=1.0)
    for key in ("arrivals", "drops"):
        packets[f"all_{key}"] = packets[key].sum("flows")
    for run in (fluid, packets):
        run["time"] = run["time"] - origin

    def means(run: xarray.Dataset, name: str) -> FloatArray:
        time, values = stretch_means(run, name, _MEAN)
        result: FloatArray = values[..., time > 0.0]
        return result

    arrivals, drops = (means(packets, f"all_{key}") for key in ("arrivals", "drops"))
    time = stretch_means(packets, "queue_delay", _MEAN)[0]
    row = {
        "line": line,
        "scenario": name,
        "time_s": time[time > 0.0],
        **spread("queue_delay", means(packets, "queue_delay"), "_s"),
        "queue_delay_fluid_s": means(fluid, "queue_delay"),
        **spread("lost", drops / np.maximum(arrivals, 1e-9)),
        "lost_fluid": means(fluid, "lost"),
    }
    peaks = [
        {"line": line, "scenario": name, "from_s": begin, **_peaks(fluid, packets, begin)}
        for begin in begins
    ]
    return row, peaks


def spread(name: str, runs: FloatArray, unit: str = "") -> dict[str, Any]:
    """Return median, smallest and largest of several runs (the first dim), as columns."""
    return {
        f"{name}{unit}": np.median(runs, axis=0),
        f"{name}_low{unit}": np.min(runs, axis=0),
        f"{name}_high{unit}": np.max(runs, axis=0),
    }


def _peaks(fluid: xarray.Dataset, packets: xarray.Dataset, begin: float) -> dict[str, Any]:
    found = []
    for run in (packets, fluid):
        time, delay = stretch_means(run, "queue_delay", _BIN)
        found.append(delay[..., (time >= begin) & (time < begin + _AFTER)].max(axis=-1))
    return {**spread("peak", found[0], "_s"), "peak_fluid_s": found[1]}


def peaks_text(peaks: Sequence[Mapping[str, Any]]) -> str:
    """Return the peaks of packets and fluid as text, queue by queue.

    Examples
    --------
    >>> peaks_text([{"line": "pie", "peak_s": 0.4694, "peak_fluid_s": 0.39}])
    'PIE 469 (fluid 390) ms'
    """
    said: dict[str, list[str]] = {}
    for peak in peaks:
        text = f"{1e3 * peak['peak_s']:.0f} (fluid {1e3 * peak['peak_fluid_s']:.0f})"
        said.setdefault(NAMES[peak["line"]], []).append(text)
    return f"{'; '.join(f'{name} ' + ', '.join(texts) for name, texts in said.items())} ms"


def value_at(row: Mapping[str, Any], column: str, begin: float, end: float) -> float:
    """Return the mean of a column of a curve between two instants (s)."""
    there = (row["time_s"] >= begin) & (row["time_s"] <= end)
    return float(np.mean(row[column][there]))


def draw_cases(
    cases: Mapping[str, Sequence[Mapping[str, Any]]],
    begins: Sequence[float],
    highest: float,
    most: float = 1.0,
) -> Figure:
    """Return a figure with one column per case: the delay of each queue, and what all of them lose.

    Parameters
    ----------
    cases : mapping of title to sequence of mapping
        Curves, as `run_both` returns them, of the same queues in each case.
    begins : sequence of float
        Instants (s) that the time axis names.
    highest : float
        Upper end of the delay axes (s).
    most : float
        Upper end of the axes of losses, at most; what is higher is cut off.
    """
    from matplotlib.figure import Figure

    lines = next(iter(cases.values()))
    figure = Figure(figsize=(10.0, 1.6 + (1.5 if len(cases) == 1 else 1.75) * (len(lines) + 1)))
    axes = figure.subplots(len(lines) + 1, len(cases), sharex=True, sharey="row", squeeze=False)
    for column, (title, rows) in enumerate(cases.items()):
        for k, row in enumerate(rows):
            _draw_delay(axes[k, column], row)
            _draw_lost(axes[-1, column], row)
        axes[0, column].set_title(title, fontsize=9.5)
        axes[-1, column].set(xlabel="s after the first flow", xlim=(0.0, _end(rows[0])))
        axes[-1, column].set_xticks([*begins, _end(rows[0])])
    for k, row in enumerate(lines):
        name = NAMES[row["line"]]
        axes[k, 0].set_ylabel(f"{name}\nqueue delay [ms]\n(square-root scale)", fontsize=9)
        scale_root(axes[k, 0], 1e3 * highest)
    axes[-1, 0].set_ylabel("packets\nlost [%]", fontsize=9)
    axes[-1, 0].set_ylim(0.0, min(100.0 * most, axes[-1, 0].get_ylim()[1]))
    for ax in axes.flat:
        ax.grid(visible=True)
    axes[0, -1].plot([], [], color="0.4", label=f"packets: median and range of {SEEDS} seeds")
    draw_fluid(axes[0, -1], np.array([]), np.array([]), "black", "fluid")
    axes[-1, -1].legend(loc="upper right", fontsize=8, ncols=3)
    axes[0, -1].legend(loc="upper right", fontsize=8, ncols=2 if len(cases) == 1 else 1)
    return figure


def _draw_delay(ax: Axes, row: Mapping[str, Any]) -> None:
    runs = [row[f"queue_delay{which}_s"] for which in ("_low", "", "_high")]
    draw_runs(ax, row["time_s"], 1e3 * np.array(runs), LINE_COLORS[row["line"]])
    draw_fluid(ax, row["time_s"], 1e3 * row["queue_delay_fluid_s"], "black")


def _draw_lost(ax: Axes, row: Mapping[str, Any]) -> None:
    runs = [row[f"lost{which}"] for which in ("_low", "", "_high")]
    color = LINE_COLORS[row["line"]]
    draw_runs(ax, row["time_s"], 100.0 * np.array(runs), color, NAMES[row["line"]])
    draw_fluid(ax, row["time_s"], 100.0 * row["lost_fluid"], color)


def _end(row: Mapping[str, Any]) -> float:
    time = row["time_s"]
    return float(time[-1] + 0.5 * (time[1] - time[0]))
