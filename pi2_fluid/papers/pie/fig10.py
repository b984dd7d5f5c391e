"""Figure 10 of the PIE paper: how long packets of 20 TCP flows wait under PIE and CoDel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.papers.pie.simulations import SETTLED, median_of, path_text
from pi2_fluid.papers.pie.testbed import DECISIONS, LINES, TARGETS, draw_panels, measure_waits
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.words import quantity_text, seeds_text

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

_STATED: Final = {
    "a": ((5.0, 0.70, "pie"), (5.0, 0.30, "codel"), (20.0, 0.90, "")),
    "b": ((20.0, 0.50, "pie"), (20.0, 0.40, "codel")),
}


def _measure(case: Case) -> Measured:
    waits, measured = measure_waits(case)
    shares = {f"a_{line}_{ms}ms": waits[f"a_{line}"].below(ms) for line in LINES for ms in (5, 20)}
    shares |= {f"b_{line}_20ms": waits[f"b_{line}"].below(20) for line in LINES}
    return Measured(measured.tables, {**measured.found, **shares})


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    draw_panels(figure, measured.tables[""], 60.0, {} if case.changed else _STATED)
    pie, codel, late, slow = (
        100.0 * median_of(measured, key)
        for key in ("a_pie_5ms", "a_codel_5ms", "b_pie_20ms", "b_codel_20ms")
    )
    link: Any = next(iter(case.scenarios.values())).link
    size = float(link.packet_size)
    each = 8.0 * size / float(link.capacity)
    return Caption(
        f"20 TCP flows: below 5 ms wait {pie:.0f} % of the packets under PIE, {codel:.0f} % under"
        f" CoDel; below 20 ms {late:.0f} and {slow:.0f} %",
        note=f"{path_text(case)}, packets of {size:g} bytes, which take {1e3 * each:.3g} ms each:"
        f" hence the stairs. Medians and ranges of"
        f" {seeds_text(int(measured.tables[''][0]['seeds']))}, packets after"
        f" {quantity_text(SETTLED, 'time')}. Dotted: the reference delay.",
    )


RECIPE: Final = Recipe(
    caption="Distribution of the queue delay of 20 TCP flows under PIE and CoDel",
    shows="Distribution of the queue delay of TCP flows under PIE and CoDel",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 4.6))},
    scenarios=shipped(*(f"pie_fig10{panel}_{line}" for panel in TARGETS for line in LINES)),
    least_duration=SETTLED,
    decisions=DECISIONS,
    why={
        "": "Windows have 7 segments and p is about 2 %, so reductions are many and small.",
        "a_pie_5ms": "Open. PIE holds the mean at 5 ms, so 70 % below it take a longer tail than"
        " ours. We tried growth per segment, other variants of PIE, T of 15 ms, RTTs of 50 and 80"
        " ms, a wire, and packets of 1500 B: 52 to 59 %.",
        "a_codel_20ms": "Linux 3.5 adds 1/W per acknowledgement. With growth per segment, as in"
        " newer kernels, it is 64 %. CoDel's integers, HTB, buffer and initial window change"
        " nothing.",
        "b_pie_20ms": "In the paper PIE is slightly better than CoDel. Ours are nearly equal, in"
        " the other order.",
    },
    conditions={"a_codel_20ms": "senders grow per acknowledgement, as in Linux 3.5"},
)
