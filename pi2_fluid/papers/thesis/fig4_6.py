"""Figure 4.6 of the thesis on PI2 in ns-3: throughput with heavy TCP traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pi2_fluid.papers.recipe import Caption, Measured, Page, Recipe, shipped
from pi2_fluid.papers.thesis.experiments import COMMON, draw_lines, measure_totals

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["RECIPE"]


def _draw(figure: FigureBase, measured: Measured) -> Caption:
    draw_lines(figure, measured.tables[""], "throughput", 11.0, {})
    return Caption(
        "50 flows keep the link full under both queues, also while they start",
        note="50 NewReno flows over 10 Mbit/s, RTT 80 ms without queue; means over 0.5 s. Flows"
        " stop at 99 s.",
    )


RECIPE: Final = Recipe(
    caption="Throughput with heavy TCP traffic: 50 flows, PIE and PI2",
    kind="packets",
    measure=measure_totals,
    pages={"": Page(_draw, (9.0, 5.0))},
    scenarios=shipped("thesis_fig4_5_pie", "thesis_fig4_5_pi2"),
    decisions=(*COMMON, "Throughput is drawn in means over 0.5 s, and judged from 20 s on."),
    why={"": "What is dropped of 50 flows leaves others that send: the queue never runs empty."},
)
