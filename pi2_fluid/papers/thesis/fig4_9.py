"""Figure 4.9 of the thesis on PI2 in ns-3: throughput with TCP and UDP."""

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
        "With UDP the link is full from the first second on under both queues",
        note="5 NewReno and 2 UDP flows of 10 Mbit/s each over 10 Mbit/s, RTT 80 ms without queue;"
        " means over 0.5 s. Flows stop at 99 s.",
    )


RECIPE: Final = Recipe(
    caption="Throughput with 5 TCP and 2 UDP flows, PIE and PI2",
    kind="packets",
    measure=measure_totals,
    pages={"": Page(_draw, (9.0, 5.0))},
    scenarios=shipped("thesis_fig4_8_pie", "thesis_fig4_8_pi2"),
    decisions=(
        *COMMON,
        "UDP sources transmit at 10 Mbit/s: each, not together.",
        "Throughput is drawn in means over 0.5 s, and judged from 20 s on.",
    ),
    why={"": "UDP alone is twice what the link serves: its queue never runs empty."},
)
