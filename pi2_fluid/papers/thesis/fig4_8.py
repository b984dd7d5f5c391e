"""Figure 4.8 of the thesis on PI2 in ns-3: queue delay with TCP and UDP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.thesis.experiments import (
    BIN,
    COMMON,
    by_line,
    curves,
    draw_lines,
    highest_delay,
    range_text,
    set_up,
    summaries,
)
from pi2_fluid.papers.thesis.ns3 import compared, draw_compared
from pi2_fluid.papers.words import quantity_text, target_text

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase


def _measure(case: Case) -> Measured:
    found = summaries(case.scenarios, case.seeds)
    rows = curves(case.scenarios, case.seeds, "queue_delay", BIN, fluid=False)
    return Measured(
        {"": rows} | compared(case.scenarios, case.seeds),
        {f"delay_{line}": one["mean_ms"] for line, one in found.items()},
    )


def _targets(case: Case) -> dict[str, tuple[float, str]]:
    """Return where the target of each queue is (ms), and what is said of it."""
    return {
        line: (1e3 * float(scenario.aqm.target), f"target: {target_text(scenario)}")  # type: ignore[attr-defined]
        for line, scenario in by_line(case.scenarios).items()
    }


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    draw_lines(figure, measured.tables[""], "queue_delay", highest_delay(case), _targets(case))
    pie, pi2 = (range_text(measured.found[f"delay_{line}"], ".1f") for line in ("pie", "pi2"))
    return Caption(
        f"Both hold the target against UDP of twice the link's rate: PIE {pie}, PI2 {pi2} ms",
        note=f"{set_up(case)}; means over {quantity_text(BIN, 'time')}; circle: the highest.",
    )


def _draw_ns3(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    message = "ns-3 itself holds the target against UDP as packets do"
    return draw_compared(figure, measured, case, message)


RECIPE: Final = Recipe(
    caption="Queue delay with 5 TCP and 2 UDP flows, PIE and PI2",
    shows="Queue delay of TCP and UDP flows, PIE and PI2",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 5.4)), "ns3": Page(_draw_ns3, (10.0, 6.0))},
    scenarios=shipped("thesis_fig4_8_pie", "thesis_fig4_8_pi2"),
    decisions=(
        *COMMON,
        "Each UDP source sends at 10 Mbit/s, not both together.",
        (
            "The fluid is left out: windows would settle below 2 segments, where timeouts rule and"
            " the fluid does not hold."
        ),
    ),
    why={
        "": "Both controllers integrate until the delay is the target. Half of the UDP traffic"
        " must go: PI2 of the thesis has no cap on p, unlike that of 2016. If both UDP senders"
        " together send 10 Mbit/s the delays are 21.0 and 20.3 ms. In ns-3.44 both are 20.3 ms,"
        " and 50.2 % are dropped, here 50.3 %."
    },
)
