"""Figure 4.3 of the thesis on PI2 in ns-3: throughput with light TCP traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.thesis.experiments import (
    COMMON,
    MEAN,
    curves,
    draw_lines,
    highest_rate,
    range_text,
    rates_note,
    summaries,
)

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase


def _measure(case: Case) -> Measured:
    found = summaries(case.scenarios, case.seeds)
    rows = curves(case.scenarios, case.seeds, "throughput", MEAN, fluid=True)
    return Measured({"": rows}, {"loss": found["pi2"]["lost_5s"] / found["pie"]["lost_5s"]})


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    draw_lines(figure, measured.tables[""], "throughput", highest_rate(case), {})
    return Caption(
        "In the first 5 s PI2 leaves more of the link unused than PIE:"
        f" {range_text(measured.found['loss'], '.1f')} times as much",
        note=rates_note(case),
    )


RECIPE: Final = Recipe(
    caption="Throughput with light TCP traffic: 5 flows, PIE and PI2",
    shows="Throughput of TCP flows, PIE and PI2",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 5.0))},
    scenarios=shipped("thesis_fig4_2_pie", "thesis_fig4_2_pi2"),
    decisions=(
        *COMMON,
        "The loss is the part of 10 Mbit/s that the first 5 s leave unused, in means over 0.5 s.",
    ),
    why={
        "loss": "PI2 reacts sooner and drops more in slow start. So its peak is lower, and it"
        " fills the link again later. With growth per segment this holds in 7 of 12 runs. In"
        " ns-3.44 PIE loses 14 (11 to 18) %, PI2 17 (15 to 19) %.",
    },
    conditions={"loss": "NewReno grows per acknowledgement, as in ns-3"},
)
