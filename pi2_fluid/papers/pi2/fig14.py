"""Figure 14 of the PI2 paper: how the queue delay is distributed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import delay_distribution
from pi2_fluid.papers.pi2.experiments import (
    GROWTH,
    STARTS,
    Both,
    line_of,
    run_both,
)
from pi2_fluid.papers.pi2.panels import LINE_COLORS, NAMES
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.runs import spread
from pi2_fluid.papers.stages import first_start
from pi2_fluid.papers.words import flows_text, rate_text, rtt_text, target_text
from pi2_fluid.plot import draw_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

#: Letter and scenarios of each panel, from left to right and from top to bottom, as in the paper.
_PANELS: Final = (
    ("a", ("pi2_fig14a_5ms_pie", "pi2_fig14a_5ms_pi2")),
    ("b", ("pi2_fig14b_5ms_pie", "pi2_fig14b_5ms_pi2", "pi2_fig14b_5ms_uncapped")),
    ("a", ("pi2_fig14a_20ms_pie", "pi2_fig14a_20ms_pi2")),
    ("b", ("pi2_fig11c_pie", "pi2_fig11c_pi2", "pi2_fig11c_uncapped")),
)
#: Which scenarios' medians a statement compares.
_COMPARED: Final = {
    "a_5ms": ("pi2_fig14a_5ms_pi2", "pi2_fig14a_5ms_pie"),
    "a_20ms": ("pi2_fig14a_20ms_pi2", "pi2_fig14a_20ms_pie"),
    "b_5ms": ("pi2_fig14b_5ms_uncapped", "pi2_fig14b_5ms_pie"),
    "b_20ms": ("pi2_fig11c_pi2", "pi2_fig11c_pie"),
}
_DASHES: Final[dict[str, Any]] = {"pie": "-", "pi2": (0, (5, 1.5)), "uncapped": (0, (1, 1))}
_START: Final = 5.0  # s: when the first flow starts
_AFTER: Final = 20.0  # s after the first flow: when the start-up is over
_SHOWN: Final = 0.06  # s


def _measure(case: Case) -> Measured:
    runs = {name: run_both(scenario, case.seeds) for name, scenario in case.scenarios.items()}
    rows = [
        _curve(f"{letter}) {_panel_text(case.scenarios[name])}", name, runs[name])
        for letter, names in _PANELS
        for name in names
    ]
    medians = {name: _medians(both) for name, both in runs.items()}
    found = {key: medians[above] / medians[below] for key, (above, below) in _COMPARED.items()}
    return Measured({"": rows}, found)


def _panel_text(scenario: pf.Scenario) -> str:
    return f"{flows_text(scenario)}, target {target_text(scenario)}"


def _curve(panel: str, name: str, both: Both) -> dict[str, Any]:
    delays, below = _below(both)
    shown = delays <= 2.0 * _SHOWN
    late = both.packets.sel(time=slice(_AFTER, None))
    fluid = both.fluid["queue_delay"].sel(time=slice(_AFTER, None))
    return {
        "line": line_of(name),
        "scenario": name,
        "panel": panel,
        "target_s": float(getattr(both.scenario.aqm, "target", 0.0)),
        "lost": float((late["all_drops"].sum("time") / late["all_arrivals"].sum("time")).median()),
        "mean_delay_fluid_s": float(fluid.mean()),
        "queue_delay_s": delays[shown],
        **spread("below", below[:, shown]),
    }


def _below(both: Both) -> tuple[FloatArray, FloatArray]:
    """Delays (s), and for each seed which part of what leaves after the start-up met less."""
    delays, below = delay_distribution(both.packets, first_start(both.scenario) + _AFTER)
    return delays, below


def _medians(both: Both) -> FloatArray:
    """Return the median delay (s) of each seed."""
    delays, below = _below(both)
    return np.array([np.interp(0.5, run, delays) for run in below])


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    axes: Any = figure.subplots(2, 2, sharex=True, sharey=True)
    for ax, (_, names) in zip(axes.flat, _PANELS, strict=True):
        _draw_panel(ax, [row for row in rows if row["scenario"] in names])
    for ax in axes[:, 0]:
        ax.set_ylabel("part of packets below [%]")
    for ax in axes[1]:
        ax.set_xlabel("queue delay [ms]")
    axes[0, 1].legend(loc="lower right", fontsize=8)
    mixed = {row["scenario"]: row for row in rows if row["panel"].startswith("b)")}
    below = {
        line: " and ".join(
            f"{100.0 * share_below(row, row['target_s']):.0f}"
            for row in mixed.values()
            if row["line"] == line
        )
        for line in ("pie", "pi2", "uncapped")
    }
    every = case.scenarios.values()
    stuck = max(1e3 * float(row["mean_delay_fluid_s"]) for row in rows)
    return Caption(
        "PIE and PI2 spread the delay alike; at 5 ms against UDP only without PI2's cap",
        f"{rate_text(*every)}, RTT {rtt_text(*every)}; median and range. b) Below the targets are"
        f" {below['pie']} % of PIE's packets, {below['pi2']} % of PI2's,"
        f" {below['uncapped']} % without cap.\n"
        + (
            case.as_printed(
                f"The fluid settles at the target (triangles). With PI2's cap it settles in b) at"
                f" {stuck:.0f} ms, off the axis: without timeouts 25 % are too little."
            )
            or "Triangles: mean delay of the fluid."
        ),
    )


def _draw_panel(ax: Axes, rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        color = LINE_COLORS[row["line"]]
        runs = np.array([row[f"below{which}"] for which in ("_low", "", "_high")])
        band, line = draw_runs(
            ax, 1e3 * row["queue_delay_s"], 100.0 * runs, color, NAMES[row["line"]]
        )
        line.set(linestyle=_DASHES[row["line"]], linewidth=1.5)
        band.set(alpha=0.2)
        rest = 1e3 * float(row["mean_delay_fluid_s"])
        if rest < 1e3 * _SHOWN:
            ax.plot([rest], [1.5], color=color, marker="^", markersize=5, linestyle="", zorder=5)
    ax.axvline(1e3 * rows[0]["target_s"], color="0.6", linewidth=0.8, zorder=1)
    ax.set(xlim=(0.0, 1e3 * _SHOWN), ylim=(0.0, 101.0))
    ax.set_title(rows[0]["panel"], fontsize=9.5)
    ax.grid(visible=True)


def level(row: Mapping[str, Any], part: float) -> float:
    """Return the delay (s) that a part of the packets stays below."""
    place = int(np.searchsorted(row["below"], part))
    return float(row["queue_delay_s"][min(place, len(row["below"]) - 1)])


def share_below(row: Mapping[str, Any], delay: float) -> float:
    """Return which part of the packets meets at most a delay (s)."""
    return float(np.interp(delay, row["queue_delay_s"], row["below"]))


RECIPE: Final = Recipe(
    caption="Distribution of the queue delay under PIE and PI2, targets 5 and 20 ms, with and"
    " without UDP",
    shows="Distribution of the queue delay under PIE and PI2, with and without UDP",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 6.6))},
    scenarios=shipped(*(name for _, names in _PANELS for name in names)),
    least_duration=_START + _AFTER,
    decisions=(
        STARTS,
        GROWTH,
        "Packets count from 20 s after the first flow on.",
        (
            "At 5 flows, UDP and a target of 5 ms we judge PI2 without its cap of 25 %, and draw"
            " it with and without."
        ),
    ),
    why={
        "a_5ms": "One packet takes 1.2 ms, which is much of a target of 5 ms.",
        "b_5ms": "A delay of 5 ms takes a loss of 22 %, too near PI2's cap of 25 % (section 5)."
        " With the cap the ratio is 1.9.",
        "b_20ms": "The cap of 25 % raises PI2's median by a sixth. Without it the ratio is 0.98.",
    },
    conditions={"b_5ms": "PI2 has no cap of 25 %"},
)
