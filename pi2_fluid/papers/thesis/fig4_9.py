"""Figure 4.9 of the thesis on PI2 in ns-3: throughput with TCP and UDP."""

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
        "With UDP the link is full from the first second on under both queues",
        note=rates_note(case),
    )


RECIPE: Final = Recipe(
    caption="Throughput with 5 TCP and 2 UDP flows, PIE and PI2",
    shows="Throughput of TCP and UDP flows, PIE and PI2",
    kind="packets",
    measure=measure_totals,
    pages={"": Page(_draw, (9.0, 5.0))},
    scenarios=shipped("thesis_fig4_8_pie", "thesis_fig4_8_pi2"),
    decisions=(
        *COMMON,
        "Each UDP source sends at 10 Mbit/s, not both together.",
        "Throughput is drawn in means over 0.5 s and judged from 20 s on.",
    ),
    why={"": "UDP alone is twice what the link carries: the queue never runs empty."},
)
