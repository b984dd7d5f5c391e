"""Figure 4.2 of the thesis on PI2 in ns-3: queue delay with light TCP traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.thesis.experiments import (
    BIN,
    COMMON,
    curves,
    draw_lines,
    range_text,
    summaries,
)

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["RECIPE"]


def _measure(case: Case) -> Measured:
    found = summaries(case.scenarios, case.seeds)
    rows = curves(case.scenarios, case.seeds, "queue_delay", BIN, fluid=True)
    return Measured({"": rows}, {f"peak_{line}": f["peak_ms"] for line, f in found.items()})


def _draw(figure: FigureBase, measured: Measured) -> Caption:
    stated = {"pie": (160.0, "stated peak: 160 ms"), "pi2": (120.0, "stated: under 120 ms")}
    draw_lines(figure, measured.tables[""], "queue_delay", 190.0, stated)
    pie, pi2 = (range_text(measured.found[f"peak_{line}"]) for line in ("pie", "pi2"))
    return Caption(
        f"PIE's first peak is {pie} ms, PI2's {pi2} ms; both settle at their target or below",
        note="5 NewReno flows over 10 Mbit/s, RTT 80 ms without queue, 160 ms of buffer; means over"
        " 50 ms; circle: the highest. The fluid's slow start fills the buffer: its drops"
        " leave no hole in the queue.",
    )


RECIPE: Final = Recipe(
    caption="Queue delay with light TCP traffic: 5 flows, PIE and PI2",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 5.4))},
    scenarios=shipped("thesis_fig4_2_pie", "thesis_fig4_2_pi2"),
    decisions=COMMON,
    why={
        "peak_pie": "The whole buffer of 200 KB is 160 ms, and PIE drops nothing while its burst"
        " allowance lasts.",
        "peak_pi2": "PI2 has no burst allowance and larger gains. Growth per segment brings 159 ms;"
        " an initial window of 1, 122 ms; means over 10 ms instead of 50, 120 ms (12 seeds).",
    },
    conditions={
        "peak_pi2": "initial windows are 10, NewReno grows per acknowledgement, and the peak is a"
        " mean over 50 ms"
    },
)
