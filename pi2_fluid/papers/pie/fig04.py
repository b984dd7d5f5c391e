"""Figure 4 of the PIE paper: the queue delay of light, heavy and mixed traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.papers.pie.simulations import (
    MEAN,
    SETTLED,
    START,
    draw_curve,
    end_of,
    explain_curves,
    instantaneous,
    level,
    path_text,
    reference_of,
)
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.runs import fluid_run, packet_runs
from pi2_fluid.papers.words import flows_text
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

#: What the paper calls the traffic of its panels, of this figure and of the next.
PANELS: Final = {"a": "light: ", "b": "heavy: ", "c": "mixed: "}
SCENARIOS: Final = tuple(f"pie_fig04{panel}" for panel in PANELS)
_COLOR: Final = COLORS[1]
_HIGHEST: Final = 80.0  # ms


def panel_title(case: Case, panel: str) -> str:
    """Return what stands above a panel."""
    flows = flows_text(case.scenarios[f"pie_fig04{panel}"], "TCP", rated=True)
    return f"{panel}) {case.as_printed(PANELS[panel])}{flows}"


def _measure(case: Case) -> Measured:
    rows, found = [], {}
    for panel, scenario in zip(PANELS, case.scenarios.values(), strict=True):
        runs = packet_runs(scenario, case.seeds, MEAN)
        delay = instantaneous("queue_delay", runs, fluid_run(scenario, MEAN))
        reference = {"reference_s": reference_of(scenario)}
        rows.append({"panel": panel, "seeds": case.seeds, **reference, **delay})
        found[f"{panel}_delay"] = level(runs, SETTLED, float(scenario.duration))
    return Measured({"": rows}, found)


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    axes: Any = figure.subplots(len(rows), 1, sharex=True, sharey=True)
    for ax, row in zip(axes, rows, strict=True):
        draw_curve(ax, row, "queue_delay", "_s", 1e3, _COLOR)
        reference = 1e3 * row["reference_s"]
        ax.axhline(reference, color="0.35", linewidth=0.9, linestyle="dotted", zorder=1)
        ax.set_title(panel_title(case, row["panel"]), fontsize=9.5)
        ax.set(ylabel="queue delay [ms]", xlim=(0.0, end_of(row)), ylim=(0.0, _HIGHEST))
        ax.set_yticks([0, 20, 40, 60, 80])
        ax.grid(visible=True)
    axes[-1].set_xlabel("time [s]")
    seeds = int(rows[0]["seeds"])
    explain_curves(axes[0], seeds, _COLOR, {"loc": "upper right", "ncols": 3}, fluid=True)
    a, b, c = (f"{1e3 * row['queue_delay_s'][row['time_s'] > SETTLED].mean():.0f}" for row in rows)
    highest = max(1e3 * float(row["queue_delay_high_s"].max()) for row in rows)
    return Caption(
        f"PIE holds {reference:g} ms whatever the load: one run has means of {a}, {b} and {c} ms",
        note=f"{path_text(case)}; means over {MEAN:g} s. Dotted: the reference."
        + case.as_printed(
            f" The start-up reaches {highest:.0f} ms, beyond the axes. Few flows: sawteeth, and a"
            " queue that runs empty now and then."
        ),
    )


RECIPE: Final = Recipe(
    caption="Queue delay under PIE with 5 TCP flows, 50 TCP flows, 5 TCP and 2 UDP flows",
    shows="Queue delay under PIE, without and with UDP",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 7.0))},
    scenarios=shipped(*SCENARIOS),
    least_duration=SETTLED,
    decisions=(
        START,
        f"Lines are means over {MEAN:g} s; means after {SETTLED:g} s are judged.",
    ),
    why={
        "a_delay": "There are five windows of 30 segments. Halving one takes 15 packets out of a"
        " queue of 25, so the mean lies below the reference.",
    },
)
