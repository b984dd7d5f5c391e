"""Figure 4.6 of the thesis on PI2 in ns-3: throughput with heavy TCP traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.thesis.experiments import (
    COMMON,
    draw_lines,
    highest_rate,
    measure_totals,
    rates_note,
)

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    draw_lines(figure, measured.tables[""], "throughput", highest_rate(case), {})
    return Caption(
        "50 flows keep the link full under both queues, also while they start",
        note=rates_note(case),
    )


RECIPE: Final = Recipe(
    caption="Throughput with heavy TCP traffic: 50 flows, PIE and PI2",
    shows="Throughput of TCP flows, PIE and PI2",
    kind="packets",
    measure=measure_totals,
    pages={"": Page(_draw, (9.0, 5.0))},
    scenarios=shipped("thesis_fig4_5_pie", "thesis_fig4_5_pi2"),
    decisions=(*COMMON, "Throughput is drawn in means over 0.5 s and judged from 20 s on."),
    why={"": "When some of 50 flows lose packets, others go on: the queue never runs empty."},
)
