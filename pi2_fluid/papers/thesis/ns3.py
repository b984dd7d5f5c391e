"""What ns-3 itself makes of the thesis's scenarios, stored with the package, and beside it ours.

The tables are written by tools/write_ns3.py, which says how; no ns-3 is needed to draw them.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import stretch_means
from pi2_fluid.papers.recipe import Caption, Case, Measured, Rows
from pi2_fluid.papers.runs import packet_runs, spread
from pi2_fluid.papers.thesis.experiments import (
    BIN,
    LINES,
    MEAN,
    by_line,
    highest_delay,
    summary_of,
)
from pi2_fluid.papers.words import quantity_text
from pi2_fluid.plot import draw_runs, scale_root

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

#: How the table calls the access links that are nowhere, as in the engine, and the thesis's.
ACCESS: Final = ("none", "10Mbit/s")
#: Who ran what, and how it is marked.
_WHO: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "packets": ("packets", {"marker": "o"}),
    "ns3_none": ("ns-3.44", {"marker": "^", "facecolor": "none"}),
    "ns3_10Mbit/s": (f"ns-3.44, access links of {ACCESS[1].replace('M', ' M')}", {"marker": "x"}),
}
#: Numbers that are shown of each run, from left to right.
_SHOWN: Final = {"peak_ms": "first peak", "p95_ms": "P95", "mean_ms": "mean", "sd_ms": "deviation"}


@cache
def _table(name: str) -> tuple[dict[str, str], ...]:
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(line for line in file if not line.startswith("#")))


def ns3_numbers(scenario: str, access: str = ACCESS[0]) -> dict[str, FloatArray]:
    """Return what `summary_of` found of ns-3, one number per seed, of a scenario by its name.

    Examples
    --------
    >>> len(ns3_numbers("thesis_fig4_2_pie")["peak_ms"])
    10
    """
    rows = [
        row for row in _table("ns3.csv") if (row["scenario"], row["access"]) == (scenario, access)
    ]
    names = [name for name in rows[0] if name not in {"scenario", "access"}]
    return {name: np.array([float(row[name]) for row in rows]) for name in names}


def ns3_curve(scenario: str) -> dict[str, FloatArray]:
    """Return ns-3's queue delay (ms) over time (s): median, least and most of the seeds."""
    rows = [row for row in _table("ns3_curves.csv") if row["scenario"] == scenario]
    return {
        name: np.array([float(row[name]) for row in rows]) for name in rows[0] if name != "scenario"
    }


def compared(scenarios: Mapping[str, pf.Scenario], seeds: int) -> dict[str, Rows]:
    """Return the tables of the page: ``ns3``, curves of both, and ``ns3_runs``, every run.

    Of a scenario that was changed there is nothing of ns-3.
    """
    curves: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    for line, scenario in by_line(scenarios).items():
        name = next(name for name, one in scenarios.items() if one is scenario)
        packets = packet_runs(scenario, seeds, BIN)
        time, delay = stretch_means(packets, "queue_delay", MEAN)
        found = {"packets": summary_of(packets, scenario)}
        curves.append(
            {"line": line, "by": "packets", "time_s": time}
            | spread("queue_delay", 1e3 * delay, "_ms")
        )
        if scenario == pf.named_scenario(name):
            curves.append({"line": line, "by": "ns3_none"} | ns3_curve(name))
            found |= {f"ns3_{access}": ns3_numbers(name, access) for access in ACCESS}
        for by, numbers in found.items():
            shown = {key: numbers[key] for key in (*_SHOWN, "total_mbit_s", "lost_5s", "dropped")}
            runs.append({"line": line, "by": by} | shown)
    return {"ns3": curves, "ns3_runs": runs}


def draw_compared(figure: FigureBase, measured: Measured, case: Case, message: str) -> Caption:
    """Draw ours beside ns-3's: the delay over time, and numbers of all runs."""
    curves, runs = measured.tables["ns3"], measured.tables["ns3_runs"]
    lines = list(dict.fromkeys(row["line"] for row in curves))
    axes = figure.subplots(len(lines), 2, sharex="col", sharey=True, width_ratios=(1.7, 1.0))
    for (left, right), line in zip(axes, lines, strict=True):
        _draw_curves(left, [row for row in curves if row["line"] == line])
        _draw_runs(right, line, [row for row in runs if row["line"] == line])
        left.set_ylabel(f"{LINES[line][0]}\nqueue delay [ms]\n(square-root scale)")
    scale_root(axes[0, 0], highest_delay(case))
    axes[0, 0].legend(loc="upper right", ncols=2)
    axes[-1, 0].set_xlabel("time [s]")
    axes[0, 1].legend(loc="upper right", fontsize=8)
    return Caption(
        message,
        note=f"Left: means over {MEAN:g} s, median and range (packets)"
        f"{case.as_printed(' and median, thin the range (ns-3, ten seeds)')}. Right: every run; P95"
        f" of packets, deviation of means over {quantity_text(BIN, 'time')}."
        + case.as_printed(
            "\nns-3's PIE is its own, its PI2 the thesis's pseudo code. Its device holds a packet"
            " of 0.8 ms more."
        ),
    )


def _draw_curves(ax: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        low, middle, high = (row[f"queue_delay{which}_ms"] for which in ("_low", "", "_high"))
        name, color = LINES[row["line"]]
        if row["by"] == "packets":
            draw_runs(ax, row["time_s"], np.array([low, middle, high]), color, f"{name}, packets")
            continue
        style: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 1.2)), "zorder": 4}
        ax.plot(row["time_s"], middle, linewidth=1.1, label="ns-3.44", **style)
        for edge in (low, high):
            ax.plot(row["time_s"], edge, linewidth=0.5, color="black", alpha=0.6, zorder=4)
    ax.set_xlim(0.0, 40.0)
    ax.grid(visible=True)


def _draw_runs(ax: Axes, line: str, rows: Sequence[Mapping[str, Any]]) -> None:
    for k, row in enumerate(rows):
        name, style = _WHO[row["by"]]
        color = LINES[line][1] if row["by"] == "packets" else "black"
        style = {**style, "edgecolor" if "facecolor" in style else "color": color}
        for place, key in enumerate(_SHOWN):
            at = place + 0.24 * (k - 1)
            ax.scatter(
                np.full(len(row[key]), at), row[key], s=16, linewidth=0.8, zorder=3,
                label=name if place == 0 else None, **style,
            )  # fmt: skip
    ax.set_xticks(range(len(_SHOWN)), list(_SHOWN.values()))
    ax.set_xlim(-0.5, len(_SHOWN) - 0.5)
    ax.grid(visible=True, axis="y")
