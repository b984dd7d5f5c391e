"""Figure 14 of the PI2 paper packet by packet: how the queue delay is distributed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import delay_distribution
from pi2_fluid.papers.pi2.experiments import NAMES, first_start
from pi2_fluid.papers.pi2.packet_experiments import LINE_COLORS, SEEDS, spread
from pi2_fluid.plot import COLORS, draw_fluid, draw_runs, page_style, save_figure, write_caption
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["curves", "draw", "level", "share_below"]

#: The scenarios of each panel, from left to right and from top to bottom, as in the paper.
_PANELS: Final = {
    "a) 20 Reno flows, target 5 ms": ("pi2_fig14a_5ms_pie", "pi2_fig14a_5ms_pi2"),
    "b) 5 Reno and 2 UDP flows, target 5 ms": (
        "pi2_fig14b_5ms_pie",
        "pi2_fig14b_5ms_pi2",
        "pi2_fig14b_5ms_uncapped",
    ),
    "a) 20 Reno flows, target 20 ms": ("pi2_fig14a_20ms_pie", "pi2_fig14a_20ms_pi2"),
    "b) 5 Reno and 2 UDP flows, target 20 ms": (
        "pi2_fig11c_pie",
        "pi2_fig11c_pi2",
        "pi2_fig11c_uncapped",
    ),
}
_COLORS: Final = {**LINE_COLORS, "uncapped": COLORS[4]}
_NAMES: Final = {**NAMES, "uncapped": "PI2 without its cap"}
_AFTER: Final = 20.0  # s after the first flow: when the start-up is over
_SHOWN: Final = 0.06  # s
_TOLERANCE: Final = 1e-6


def curves() -> list[dict[str, Any]]:
    """Return the plotted numbers, one mapping of columns per queue and panel."""
    return [
        _curve(panel, name, name.rpartition("_")[2])
        for panel, names in _PANELS.items()
        for name in names
    ]


def _curve(panel: str, name: str, line: str) -> dict[str, Any]:
    scenario = pf.named_scenario(name)
    fluid = pf.fluid.simulate(scenario, tolerance=_TOLERANCE)
    packets = uninterrupted(pf.packet.simulate(scenario, seeds=SEEDS))
    after = first_start(scenario) + _AFTER
    delays, below = delay_distribution(packets, after)
    shown = delays <= 2.0 * _SHOWN
    at, share = delay_distribution(fluid, after)
    place = np.searchsorted(at, delays[shown], side="right")
    return {
        "line": line,
        "scenario": name,
        "panel": panel,
        "target_s": float(getattr(scenario.aqm, "target", 0.0)),
        "lost": float(pf.summarize(packets, after).drop_fraction.median()),
        "queue_delay_s": delays[shown],
        **spread("below", below[:, shown]),
        "below_fluid": np.append(0.0, share)[place],
    }


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    rows = curves()
    high = {row["scenario"]: f"{1e3 * level(row, 0.99):.0f}" for row in rows}
    stuck = max(rows, key=lambda row: level(row, 0.5, "below_fluid"))
    mixed = [row for row in rows if row["panel"].startswith("b)")]
    lost = float(mixed[0]["lost"])
    below: dict[str, list[str]] = {}
    for row in mixed:
        part = share_below(row, row["target_s"])
        below.setdefault(row["line"], []).append(f"{100.0 * part:.0f}")
    with page_style():
        figure = Figure(figsize=(9.0, 6.6))
        axes = figure.subplots(2, 2, sharex=True, sharey=True)
        for ax, panel in zip(axes.flat, _PANELS, strict=True):
            _draw_panel(ax, panel, [row for row in rows if row["panel"] == panel])
        for ax in axes[:, 0]:
            ax.set_ylabel("part of packets below [%]")
        for ax in axes[1]:
            ax.set_xlabel("queue delay [ms]")
        axes[0, 1].legend(loc="lower right", fontsize=8)
        write_caption(
            figure,
            "PIE and PI2 spread the delay alike, as the paper says, but against UDP only if PI2 has"
            " no cap",
            note=(
                f"10 Mbit/s, RTT 100 ms, a packet takes 1.2 ms; packets that leave after"
                f" {_AFTER:g} s, median and range of {SEEDS} seeds. P99 [ms], PIE and PI2: a)"
                f" {high['pi2_fig14a_5ms_pie']} and {high['pi2_fig14a_5ms_pi2']},"
                f" {high['pi2_fig14a_20ms_pie']} and {high['pi2_fig14a_20ms_pi2']}; b)"
                f" {high['pi2_fig14b_5ms_pie']} and {high['pi2_fig14b_5ms_pi2']}"
                f" ({high['pi2_fig14b_5ms_uncapped']} without cap),"
                f" {high['pi2_fig11c_pie']} and {high['pi2_fig11c_pi2']}"
                f" ({high['pi2_fig11c_uncapped']}).\n"
                "b) UDP alone exceeds the link. To keep 5 ms takes a loss of"
                f" {100.0 * lost:.0f} %, and PI2 of 2016 drops 25 % at most (section 5): too close"
                " for its controller. Below the targets of 5 and 20 ms are"
                f" {' and '.join(below['pie'])} % of PIE's packets,"
                f" {' and '.join(below['pi2'])} % of PI2's, {' and '.join(below['uncapped'])} %"
                " without the cap: agrees without the cap. In the fluid,"
                " which has no timeouts, 25 % are too little for either target, and the delay"
                f" stands at {1e3 * level(stuck, 0.5, 'below_fluid'):.0f} ms, off the picture."
            ),
            source="PI2 paper, Figure 14",
        )
        return save_figure(figure, out / "pi2_fig14", rows)


def _draw_panel(ax: Axes, panel: str, rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        color, name = _COLORS[row["line"]], _NAMES[row["line"]]
        delay = 1e3 * row["queue_delay_s"]
        runs = np.array([row[f"below{which}"] for which in ("_low", "", "_high")])
        draw_runs(ax, delay, 100.0 * runs, color, f"{name}, packets")
        draw_fluid(ax, delay, 100.0 * row["below_fluid"], color, f"{name}, fluid")
    ax.axvline(1e3 * rows[0]["target_s"], color="0.6", linewidth=0.8, zorder=1)
    ax.set(xlim=(0.0, 1e3 * _SHOWN), ylim=(0.0, 101.0))
    ax.set_title(panel, fontsize=9.5)
    ax.grid(visible=True)


def level(row: Mapping[str, Any], part: float, column: str = "below") -> float:
    """Return the delay (s) that a part of the packets stays below."""
    place = int(np.searchsorted(row[column], part))
    return float(row["queue_delay_s"][min(place, len(row[column]) - 1)])


def share_below(row: Mapping[str, Any], delay: float) -> float:
    """Return which part of the packets meets at most a delay (s)."""
    return float(np.interp(delay, row["queue_delay_s"], row["below"]))
