"""Figure 5 of the PIE paper: the throughput in the runs of its Figure 4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.pie.fig04 import PANELS, SCENARIOS, panel_title
from pi2_fluid.papers.pie.simulations import (
    MEAN,
    START,
    draw_curve,
    end_of,
    explain_curves,
    instantaneous,
    median_of,
    path_text,
)
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.runs import packet_runs
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

_COLOR: Final = COLORS[3]


def flow_rates(runs: xarray.Dataset, packet_size: float) -> FloatArray:
    """Return the rate of every flow over the whole run (Mbit/s), slowest first, a row per run."""
    segments = runs["flow_segments"].sum("block").transpose("seed", "flow").to_numpy()
    return np.sort(8e-6 * packet_size * segments / float(runs["time"][-1]), axis=1)


def _measure(case: Case) -> Measured:
    rows: list[dict[str, Any]] = []
    found: dict[str, Any] = {}
    for panel, scenario in zip(PANELS, case.scenarios.values(), strict=True):
        runs = packet_runs(scenario, case.seeds, MEAN)
        throughput = instantaneous("throughput", runs)
        rows.append({"panel": panel, "seeds": case.seeds, **throughput})
        found[f"{panel}_total"] = 1e-6 * runs["rate"].sum("flows").to_numpy()
        if panel == "a":
            rates = flow_rates(runs, float(scenario.link.packet_size))
            found |= {"a_flow_1": rates[:, 0], "a_flow_5": rates[:, -1]}
    return Measured({"": rows}, found)


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    axes: Any = figure.subplots(len(rows), 1, sharex=True, sharey=True)
    highest = 1.1e-6 * max(float(each.link.capacity) for each in case.scenarios.values())
    for ax, row in zip(axes, rows, strict=True):
        draw_curve(ax, row, "throughput", "_bit_s", 1e-6, _COLOR)
        ax.set_title(panel_title(case, row["panel"]), fontsize=9.5)
        ax.set(ylabel="throughput [Mbit/s]", xlim=(0.0, end_of(row)), ylim=(0.0, highest))
        ax.grid(visible=True)
    axes[-1].set_xlabel("time [s]")
    seeds = int(rows[0]["seeds"])
    explain_curves(axes[0], seeds, _COLOR, {"loc": "lower right", "ncols": 2}, fluid=False)
    a, b, c = (f"{median_of(measured, f'{panel}_total'):.2f}" for panel in PANELS)
    return Caption(
        f"Five flows leave the link idle now and then ({a} Mbit/s), 50 flows and UDP hardly ever"
        f" ({b}, {c})",
        note=f"{path_text(case)}; the runs of Figure 4; means over {MEAN:g} s."
        + case.as_printed(
            " The numbers are medians of the seeds over the whole run, start included."
        ),
    )


RECIPE: Final = Recipe(
    caption="Throughput under PIE with 5 TCP flows, 50 TCP flows, 5 TCP and 2 UDP flows",
    shows="Throughput under PIE, without and with UDP",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 6.4))},
    scenarios=shipped(*SCENARIOS),
    decisions=(
        START,
        f'"Instantaneous" is a mean over {MEAN:g} s here; the paper does not define it.',
        "Means over the whole run are judged, with its start.",
        "Of five flows we judge the slowest and the fastest, whichever they are.",
    ),
    why={
        "": "The link is idle at the start and, with five flows, after reductions that coincide.",
        "a_flow_1": "Five flows with one round-trip time get equal shares but for chance.",
        "a_flow_5": "Five flows with one round-trip time get equal shares but for chance.",
    },
)
