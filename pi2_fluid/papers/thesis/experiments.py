"""The experiments of the thesis on PI2 in ns-3: runs, their numbers, and how they are drawn.

The thesis shows instantaneous delay and throughput of one run. Here there are several, of which the
first is drawn as a line and the range is shaded. Runs are shared by the figures of one scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import delay_distribution, stretch_means
from pi2_fluid.papers.recipe import Case, Measured
from pi2_fluid.papers.runs import fluid_run, packet_runs, spread
from pi2_fluid.papers.words import (
    flows_text,
    listed,
    rate_text,
    rtt_text,
    target_text,
)
from pi2_fluid.plot import COLORS, draw_fluid, draw_runs

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase
    from numpy.typing import ArrayLike

    from pi2_fluid.values import FloatArray

#: What the thesis calls its queues, and how they are drawn here.
LINES: Final = {"pie": ("PIE", COLORS[2]), "pi2": ("PI2", COLORS[1])}
#: Of what is called instantaneous (s), and of means that are drawn over it.
BIN: Final = 0.05
MEAN: Final = 0.5
#: What the thesis does not say, and holds for all of its figures here.
COMMON: Final = (
    "The initial window is 10. NewReno grows by 1/W per acknowledgement, as in ns-3.",
    '"Instantaneous" is a mean over 50 ms here. Numbers of the whole run are from 20 s on.',
    "We leave out the access links of 10 Mbit/s.",
)
#: How "better" is read where distributions are compared.
READING: Final = (
    '"Better" compares the part of all packets from 20 s on that wait at most the target: PI2\'s'
    " over PIE's."
)
_PEAK: Final = 10.0  # s: where the first peak is looked for
_START: Final = 5.0  # s: the start-up
AFTER: Final = 20.0  # s: when it is over
_SHOWN: Final = 0.06  # s, of distributions


def by_line(scenarios: Mapping[str, pf.Scenario]) -> dict[str, pf.Scenario]:
    """Return scenarios by their queue, PIE first.

    Examples
    --------
    >>> list(by_line({"a_pi2": pf.named_scenario("thesis_fig4_2_pi2")}))
    ['pi2']
    """
    named = {name.rpartition("_")[2]: scenario for name, scenario in scenarios.items()}
    return {line: named[line] for line in LINES if line in named}


def set_up(case: Case) -> str:
    """Return who sends over what, with which the notes begin."""
    every = list(case.scenarios.values())
    flows = flows_text(every[0], "NewReno", rated=True)
    each = " each" if "UDP" in flows else ""
    return f"{flows}{each} over {rate_text(*every)}, RTT {rtt_text(*every)} without queue"


def rates_note(case: Case) -> str:
    """Return what the figures of throughput say below."""
    stops = [
        float(flow.stop)
        for scenario in case.scenarios.values()
        for flow in scenario.flows
        if flow.stop and flow.stop < scenario.duration
    ]
    said = f" Flows stop at {listed(stops, 'time')}." if stops else ""
    return f"{set_up(case)}; means over {MEAN:g} s.{said}"


def after_of(scenario: pf.Scenario) -> float:
    """Return from when on (s) a run is looked at: when its start-up is over, if it is so long."""
    return min(AFTER, _end(scenario) / 2)


def _end(scenario: pf.Scenario) -> float:
    """Return when the flows stop (s)."""
    return min([float(scenario.duration), *(float(f.stop) for f in scenario.flows if f.stop)])


def buffered(case: Case) -> str:
    """Return how long a full buffer takes to leave."""
    return f"{1e3 * _full(case):.3g} ms"


def highest_delay(case: Case) -> float:
    """Return where axes of the delay end (ms): above that of a full buffer."""
    return 1e3 * 1.1875 * _full(case)


def _full(case: Case) -> float:
    links: list[Any] = [scenario.link for scenario in case.scenarios.values()]
    return max(float(8.0 * link.buffer * link.packet_size / link.capacity) for link in links)


def highest_rate(case: Case) -> float:
    """Return where axes of the throughput end (Mbit/s)."""
    return 1.1e-6 * max(float(scenario.link.capacity) for scenario in case.scenarios.values())


def summary_of(run: xarray.Dataset, scenario: pf.Scenario) -> dict[str, FloatArray]:
    """Return what is said of runs of any simulator of packets, an array of one number per seed.

    Returns
    -------
    dict of str to array (seeds,)
        ``peak_ms``, the highest mean over a bin in the first 10 s; from 20 s to the flows' end the
        ``mean_ms`` and ``sd_ms`` of the queue delay, and ``total_mbit_s``; ``p95_ms``, a percentile
        of packets; ``lost_5s``, the part of the capacity that the first 5 s leave unused;
        ``dropped``, the part of all packets.
    """
    end, after = _end(scenario), after_of(scenario)
    time, delay = stretch_means(run, "queue_delay", BIN)
    rate = run["throughput"].sum("flows").transpose("seed", "time").to_numpy()
    late = (time > after) & (time < end)
    capacity = float(scenario.link.capacity)
    at, below = delay_distribution(run, after)
    counted = run[["arrivals", "drops"]].sum(["flows", "time"])
    return {
        "peak_ms": 1e3 * delay[:, time < _PEAK].max(axis=1),
        "mean_ms": 1e3 * delay[:, late].mean(axis=1),
        "sd_ms": 1e3 * delay[:, late].std(axis=1),
        "p95_ms": 1e3 * np.array([at[np.searchsorted(part, 0.95)] for part in below]),
        "total_mbit_s": 1e-6 * rate[:, late].mean(axis=1),
        "lost_5s": 1.0 - rate[:, time < _START].mean(axis=1) / capacity,
        "dropped": (counted["drops"] / counted["arrivals"]).to_numpy(),
    }


def summaries(scenarios: Mapping[str, pf.Scenario], seeds: int) -> dict[str, dict[str, FloatArray]]:
    """Return the `summary_of` packets, by queue."""
    return {
        line: summary_of(packet_runs(scenario, seeds, BIN), scenario)
        for line, scenario in by_line(scenarios).items()
    }


def curves(
    scenarios: Mapping[str, pf.Scenario], seeds: int, quantity: str, width: float, fluid: bool
) -> list[dict[str, Any]]:
    """Return ``queue_delay`` (s) or ``throughput`` (bit/s) of each queue, as columns.

    Parameters
    ----------
    scenarios : mapping of str to Scenario
        By names that end in their queue.
    seeds : int
    quantity : str
    width : float
        Of means (s).
    fluid : bool
        Whether there is a column of the fluid.
    """
    unit = {"queue_delay": "_s", "throughput": "_bit_s"}[quantity]
    rows = []
    for line, scenario in by_line(scenarios).items():
        time, runs = stretch_means(
            _total(packet_runs(scenario, seeds, BIN), quantity), quantity, width
        )
        row: dict[str, Any] = {"line": line, "time_s": time, f"{quantity}_first{unit}": runs[0]}
        row |= spread(quantity, runs, unit)
        if fluid:
            there = _total(fluid_run(scenario, BIN), quantity)
            row[f"{quantity}_fluid{unit}"] = stretch_means(there, quantity, width)[1]
        rows.append(row)
    return rows


def _total(run: xarray.Dataset, quantity: str) -> xarray.Dataset:
    return run[[quantity]].sum("flows", keep_attrs=True) if quantity == "throughput" else run


def range_text(found: ArrayLike, form: str = ".0f") -> str:
    """Return median and range of several runs as text.

    Examples
    --------
    >>> range_text(np.array([1.0, 4.0, 2.0]))
    '2 (1 to 4)'
    """
    runs = np.asarray(found, dtype=float)
    return f"{np.median(runs):{form}} ({runs.min():{form}} to {runs.max():{form}})"


def draw_lines(
    figure: FigureBase,
    rows: Sequence[Mapping[str, Any]],
    quantity: str,
    highest: float,
    marked: Mapping[str, tuple[float, str]],
) -> Any:
    """Draw one quantity of each queue over the whole run, PIE above PI2, and return the axes.

    Parameters
    ----------
    figure : Figure or SubFigure
    rows : sequence of mapping
        As `curves` returns them.
    quantity : str
        "queue_delay", drawn in ms, or "throughput", in Mbit/s.
    highest : float
        Upper end of the axes.
    marked : mapping of str to (float, str)
        By queue, a value that the thesis states, and what is said of it.
    """
    from matplotlib import patheffects

    unit, scale, label = {
        "queue_delay": ("_s", 1e3, "queue delay [ms]"),
        "throughput": ("_bit_s", 1e-6, "throughput [Mbit/s]"),
    }[quantity]
    axes = figure.subplots(len(rows), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for ax, row in zip(axes, rows, strict=True):
        name, color = LINES[row["line"]]
        time = row["time_s"]
        low, high, first = (
            scale * row[f"{quantity}_{which}{unit}"] for which in ("low", "high", "first")
        )
        ax.fill_between(time, low, high, color=color, alpha=0.28, linewidth=0, label="range of all")
        ax.plot(time, first, color=color, linewidth=0.7, label=f"{name}, one run")
        if (fluid := f"{quantity}_fluid{unit}") in row:
            draw_fluid(ax, time, scale * row[fluid], "black", "fluid")
        if quantity == "queue_delay":
            top = int(first.argmax())
            ax.plot(
                time[top], first[top], "o", color=color, markersize=5, fillstyle="none", zorder=6
            )
        if row["line"] in marked:
            value, said = marked[row["line"]]
            ax.axhline(value, color="0.35", linewidth=1.0, linestyle="dotted")
            ax.annotate(
                said, (1, value), (-2, 2), xycoords=("axes fraction", "data"),
                textcoords="offset points", ha="right", fontsize=8, color="0.25", zorder=7,
                path_effects=[patheffects.withStroke(linewidth=2.5, foreground="white")],
            )  # fmt: skip
        ax.set(ylabel=f"{name}\n{label}", ylim=(0.0, highest))
        ax.set_xlim(0.0, float(time[-1] + 0.5 * (time[1] - time[0])))
        ax.grid(visible=True)
        ax.legend(loc="lower right" if quantity == "throughput" else "upper center", ncols=3)
    axes[-1].set_xlabel("time [s]")
    return axes


def measure_totals(case: Case) -> Measured:
    """Return what a figure of throughput shows, and what both queues' flows have in all."""
    found = summaries(case.scenarios, case.seeds)
    rows = curves(case.scenarios, case.seeds, "throughput", MEAN, fluid=False)
    return Measured(
        {"": rows}, {f"total_{line}": one["total_mbit_s"] for line, one in found.items()}
    )


# How the delay is distributed


def measure_shares(
    panels: Sequence[Sequence[str]], said: Callable[[pf.Scenario], str], case: Case
) -> Measured:
    """Return distributions at targets of 5 and 20 ms, which have a panel of scenarios each.

    What is `said` of a panel's scenarios, and their target, stands above it.
    """
    every = [{name: case.scenarios[name] for name in names} for names in panels]
    titles = [
        f"{letter}) {said(first)}, target {target_text(first)}"
        for letter, first in zip("ab", (next(iter(one.values())) for one in every), strict=True)
    ]
    rows, ratios = shares(dict(zip(titles, every, strict=True)), case.seeds)
    small, large = ratios.values()
    return Measured({"": rows}, {"share_5ms": small, "share_20ms": large})


def shares(
    panels: Mapping[str, Mapping[str, pf.Scenario]], seeds: int
) -> tuple[list[dict[str, Any]], dict[str, FloatArray]]:
    """Return distributions as columns, and by panel the ratio of the parts below the target.

    Parameters
    ----------
    panels : mapping of str to mapping of str to Scenario
        Scenarios of two queues each, by names that end in their queue.
    seeds : int

    Returns
    -------
    list of dict, dict of str to array (seeds,)
        Of each panel PI2's part over PIE's, run by run.
    """
    rows, ratios = [], {}
    for panel, scenarios in panels.items():
        parts = {}
        for line, scenario in by_line(scenarios).items():
            runs = packet_runs(scenario, seeds, BIN)
            delays, below = delay_distribution(runs, after_of(scenario))
            target = float(getattr(scenario.aqm, "target", 0.0))
            parts[line] = np.array([np.interp(target, delays, part) for part in below])
            shown = delays <= 2.0 * _SHOWN
            rows.append(
                {
                    "panel": panel,
                    "line": line,
                    "target_s": target,
                    "below_target": np.median(parts[line]),
                    "queue_delay_s": delays[shown],
                    **spread("below", below[:, shown]),
                }
            )
        ratios[panel] = parts["pi2"] / parts["pie"]
    return rows, ratios


def draw_distributions(figure: FigureBase, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw distributions of the delay, one panel beside the other."""
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for ax, panel in zip(axes, panels, strict=True):
        mine = [row for row in rows if row["panel"] == panel]
        for row in mine:
            _draw_distribution(ax, row)
        ax.axvline(1e3 * mine[0]["target_s"], color="0.5", linewidth=0.8, zorder=1)
        ax.set(xlabel="queue delay [ms]", xlim=(0.0, 1e3 * _SHOWN), ylim=(0.0, 101.0))
        ax.set_title(panel, fontsize=9.5)
        ax.legend(loc="lower right", fontsize=8.5, title="below the target")
        ax.grid(visible=True)
    axes[0].set_ylabel("part of packets below [%]")


def _draw_distribution(ax: Axes, row: Mapping[str, Any]) -> None:
    name, color = LINES[row["line"]]
    runs = 100.0 * np.array([row[f"below{which}"] for which in ("_low", "", "_high")])
    _, line = draw_runs(
        ax, 1e3 * row["queue_delay_s"], runs, color, f"{name}: {100.0 * row['below_target']:.0f} %"
    )
    line.set(linestyle="-" if row["line"] == "pi2" else (0, (5, 1.5)))
