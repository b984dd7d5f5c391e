"""Figure 16 of the PI2 paper: delays of packets while two kinds of flows share a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.papers.pi2.grid import (
    CAPACITIES,
    GRID_DECISIONS,
    LIMIT_TEXT,
    points_of,
    scenarios,
    tables_of,
)
from pi2_fluid.papers.pi2.grid_axes import draw_panels
from pi2_fluid.papers.pi2.pairs import CHANGEABLE, PAIRS, QUEUES, Runs, geometric_mean
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray


def _delays(runs: Runs) -> dict[str, FloatArray]:
    return {"delay_mean_s": runs.delay[0], "delay_p99_s": runs.delay[1]}


def _measure(case: Case) -> Measured:
    points = points_of(case)
    delays = {point.at: point.runs.delay for point in points}
    result: dict[str, FloatArray] = {}
    for queue in QUEUES:
        mine = [
            delay[0]
            for at, delay in delays.items()
            if at.queue == queue and at.pair == "dctcp" and at.within_limit
        ]
        result[f"mean_{queue}"] = 1e3 * sum(mine) / len(mine)
    for pair in PAIRS:
        ratios = [
            delay[1] / delays[at._replace(queue="pi2")][1]
            for at, delay in delays.items()
            if at.queue == "pie" and at.pair == pair and at.capacity == CAPACITIES[0]
        ]
        result[f"p99_{pair}"] = geometric_mean(ratios)
    tables = tables_of(points, _delays)
    target = float(case.scenarios[points[0].at.name].aqm.target)  # type: ignore[attr-defined]
    rows = [{**row, "target_s": target} for row in tables[""]]
    return Measured({**tables, "": rows}, result)


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows = measured.tables[""]
    columns = ("delay_mean_s", "delay_mean_s", "delay_p99_s")
    axes = draw_panels(figure, rows, columns, "queue delay [ms]", 1e3)
    for ax in axes:
        ax.axhline(1e3 * rows[0]["target_s"], color="0.4", linewidth=0.8, linestyle="--", zorder=1)
    axes[0].set_ylim(0.0, None)
    pie, pi2 = (float(np.median(np.asarray(measured.found[f"mean_{queue}"]))) for queue in QUEUES)
    more = 100.0 * (float(np.median(np.asarray(measured.found["p99_ecn_cubic"]))) - 1.0)
    return Caption(
        f"Cubic and DCTCP wait for {pie:.1f} ms under PIE and {pi2:.1f} under PI2; at"
        f" {CAPACITIES[0]} Mb/s P99 is {more:.0f} % higher under PIE, but beside ECN-Cubic only",
        note="One flow of each kind. Marks: mean delay of the packets; bars: up to P99. Medians of"
        " the seeds. Dashes: the target. Grey: more than"
        f" {LIMIT_TEXT} of bandwidth times RTT.",
    )


RECIPE: Final = Recipe(
    caption="Mean and P99 of the queue delay, one flow of each kind, over links and RTTs",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (10.0, 6.0))},
    scenarios=scenarios,
    changeable=CHANGEABLE,
    coarse=True,
    decisions=(*GRID_DECISIONS, "Delays are of all packets that leave the queue."),
    why={
        "p99_dctcp": "The two are alike, also without PIE's heuristics (1.03) or its estimate of"
        " the rate (0.98). If PIE stops marking above 10 %, as in Linux, the ratio is 1.9; but the"
        " paper says that this rule was reworked. We did not try a limit of 25 % on PIE's own"
        " probability.",
        "p99_ecn_cubic": "PIE's controller does it: the ratio is the same without PIE's"
        " heuristics, and without its estimate of the rate.",
        "": "Both controllers have the same target and an integral part.",
    },
)
