"""Figure 13 of the PI2 paper: 10:30:50:30:10 flows at 10 Mbit/s and 100 ms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pi2_fluid.papers.pi2.experiments import (
    FINE_MEANS,
    GROWTH,
    MEAN,
    STARTS,
    measure_runs,
    peak_ratios,
    value_at,
)
from pi2_fluid.papers.pi2.panels import draw_stages, draw_whole, peaks_text, share_legend
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.words import link_text, listed, quantity_text, rtt_text, stages_text

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

_PIE, _PI2 = "pi2_fig13_pie", "pi2_fig13_pi2"
_BEGINS: Final = (0.0, 50.0, 100.0, 150.0, 200.0)


def _measure(case: Case) -> Measured:
    runs, measured = measure_runs(case, _BEGINS[:3], 12.0)
    found = {
        f"peak_{begin:.0f}s": peak_ratios(runs[_PI2], runs[_PIE], begin) for begin in _BEGINS[:3]
    }
    return Measured(measured.tables, found)


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    axes = draw_whole(figure, {"": measured.tables[""]}, _BEGINS, highest=0.75)
    share_legend(axes[0, 0], ncols=2)
    share_legend(axes[-1, 0], ("pie", "pi2"), kinds=False, loc="lower right", ncols=2)
    scenario = case.scenarios[_PI2]
    return Caption(
        "When flows are added PI2 overshoots less than PIE",
        f"Peaks at {listed(_BEGINS[:3], 'time')}: {peaks_text(measured.tables['peaks'], MEAN)}.",
        f"{stages_text(scenario)}, {link_text(scenario)}, RTT {rtt_text(scenario)}; means over"
        f" {quantity_text(MEAN, 'time')}",
    )


def _draw_transients(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    lost = measured.tables["losses"]
    draw_stages(figure, measured.tables, highest=0.75, most=0.6)
    needed = [100.0 * value_at(lost[0], key, 120.0, 149.0) for key in ("lost", "lost_fluid")]
    delay = 1e3 * value_at(measured.tables[""][1], "queue_delay_fluid_s", 120.0, 149.0)
    return Caption(
        f"With 50 flows packets lose {needed[0]:.0f} %, the fluid {needed[1]:.0f} %: timeouts slow"
        " down flows of 2 segments",
        f"{FINE_MEANS}.\n"
        + case.as_printed(
            f"PI2 of 2016 gives 25 % at most, so that its fluid stands at {delay:.0f} ms with 50"
            " flows; the slow start of a fluid overshoots further."
        ),
    )


RECIPE: Final = Recipe(
    caption="Queue delay under PIE and PI2 with 10:30:50:30:10 Reno flows at 10 Mbit/s and 100 ms",
    shows="Queue delay under PIE and PI2 while flows come and go",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 6.4)), "transients": Page(_draw_transients, (10.0, 6.4))},
    scenarios=shipped(_PIE, _PI2),
    decisions=(
        STARTS,
        GROWTH,
        (
            "A peak is the highest mean over 1 s in the 10 s after flows were added: the paper"
            " plots such means."
        ),
    ),
    why={
        "": "PI2's higher gain answers sooner. With means over 0.1 s the medians are 0.70, 0.59"
        " and 0.86.",
    },
    conditions={
        "peak_0s": "the queue has been there for 5 s when the first flow starts",
        "peak_50s": "added flows start within 1 s and not all at once",
        "peak_100s": "added flows start within 1 s and not all at once",
    },
)
