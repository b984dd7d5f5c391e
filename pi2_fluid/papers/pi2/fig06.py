"""Figure 6 of the PI2 paper: 10:30:50:30:10 flows at 100 Mbit/s and 10 ms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.papers.pi2.experiments import (
    FINE_MEANS,
    GROWTH,
    MEAN,
    STARTS,
    Both,
    measure_runs,
    peak_ratios,
    value_at,
)
from pi2_fluid.papers.pi2.panels import draw_stages, draw_whole, peaks_text, share_legend
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.stages import stages_of
from pi2_fluid.papers.words import link_text, listed, quantity_text, rtt_text, stages_text

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

_PI, _PIE, _PI2 = (f"pi2_fig06_{line}" for line in ("pi", "pie", "pi2"))
_BEGINS: Final = (0.0, 50.0, 100.0, 150.0, 200.0)
_FEW: Final = slice(10.0, 50.0)  # s: 10 flows, after their start
_IDLE: Final = 0.5e-3  # s


def _measure(case: Case) -> Measured:
    runs, measured = measure_runs(case, _BEGINS[:3], 12.0)
    use, idle = _use_and_idle(runs[_PI])
    found = {
        "use_of_pi": use,
        "idle_of_pi": idle,
        "peak": peak_ratios(runs[_PI2], runs[_PIE], 0.0),
    }
    return Measured(measured.tables, found)


def _use_and_idle(both: Both) -> tuple[FloatArray, FloatArray]:
    """Use of the link and share of 0.1 s with hardly a queue, with 10 flows, in percent."""
    few = both.packets.sel(time=_FEW)
    use = (few["total"] / few["capacity"]).mean("time").transpose("seed").to_numpy()
    idle = (few["queue_delay"] < _IDLE).mean("time").transpose("seed").to_numpy()
    # A packet is 0.0003 % of what passes in these 40 s.
    return np.round(100.0 * use, 3), 100.0 * idle


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    axes = draw_whole(figure, {"": rows}, _BEGINS, highest=0.16, throughput=False)
    share_legend(axes[0, 0], ncols=2)
    few = (rows[0]["time_s"] > _FEW.start) & (rows[0]["time_s"] < _FEW.stop)
    low = 1e3 * float(rows[0]["queue_delay_low_s"][few].min(initial=np.inf))
    use = float(np.median(np.asarray(measured.found["use_of_pi"])))
    scenario = case.scenarios[_PI]
    count = stages_of(scenario)[0].number
    return Caption(
        f"PI without tuning keeps the link full, {use:.1f} % with {count:g} flows, where the paper"
        " saw it underused",
        f"PI with {count:g} flows: no mean below {low:.0f} ms. Peaks at"
        f" {listed(_BEGINS[:3], 'time')}: {peaks_text(measured.tables['peaks'], MEAN)}.",
        f"{stages_text(scenario)}, {link_text(scenario)}, RTT {rtt_text(scenario)}; means over"
        f" {quantity_text(MEAN, 'time')}",
    )


def _draw_transients(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    lost = measured.tables["losses"]
    draw_stages(figure, measured.tables, highest=0.36, most=0.12)
    few = [1e3 * value_at(row, "queue_delay_s", 10.0, 49.0) for row in measured.tables[""]]
    fifty = [100.0 * value_at(lost[2], key, 110.0, 149.0) for key in ("lost", "lost_fluid")]
    return Caption(
        f"With 10 flows PI has the least margin, and chance lowers its mean delay to {few[0]:.1f}"
        " ms",
        f"{FINE_MEANS}.\n"
        + case.as_printed(
            f"Lost with 50 flows under PI2: {fifty[0]:.1f} %, in the fluid {fifty[1]:.1f} %: chance"
            " makes Reno's W 1.2/\N{SQUARE ROOT}p, not 1.41, and windows are 5.7 where link and"
            " queue hold 5."
        ),
    )


RECIPE: Final = Recipe(
    caption="Queue delay of PI, PIE and PI2 with 10:30:50:30:10 Reno flows at 100 Mbit/s and 10 ms",
    shows="Queue delay of PI, PIE and PI2 while flows come and go",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 6.4)), "transients": Page(_draw_transients, (10.0, 7.4))},
    scenarios=shipped(_PI, _PIE, _PI2),
    decisions=(
        STARTS,
        GROWTH,
        (
            "The 10 flows are judged from 10 to 50 s after the first one starts. A peak is the"
            " highest mean over 1 s in the first 10 s: the paper plots such means."
        ),
    ),
    why={
        "use_of_pi": "Open. PI's loop is stable by 4 dB here. The link stayed busy with Cubic,"
        " with PIE's code without its table, and at RTTs of 1 and 30 ms. At 50 ms PI uses 99.96 %"
        " of it, at 100 ms 99.3 %, but there PI2 leaves it idle, too (99.7 %).",
        "idle_of_pi": "Open, like the use of the link. PI's queue is empty in 0.4 % of the time at"
        " an RTT of 50 ms and in 6 % at 100 ms, where PI2's is in 3 %.",
        "peak": "PIE's table divides the gains while p is small, and its burst allowance drops"
        " nothing in the first 100 ms. With means over 0.1 s the ratio is 0.39.",
    },
    conditions={"peak": "the queue has been there for 5 s when the first flow starts"},
)
