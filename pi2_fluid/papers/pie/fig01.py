"""Figure 1 of the PIE paper: a measurement, in whose place a simulated link is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pi2_fluid.papers.pie.stand_in import DECISIONS, NAME, axes_below_words, note, round_trips
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

_WORDS: Final = (
    "The paper's Figure 1 is a measurement that cannot be repeated: pings, overnight on 27 January"
    " 2012,\nfrom a hotel in Ireland to San Jose, CA. Many of them took 8 to 9 s. What follows is"
    " no reproduction of it."
)


def _measure(case: Case) -> Measured:
    time, rtt = round_trips(case)
    return Measured({"": [{"time_s": time, "rtt_s": rtt}]})


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    (row,) = measured.tables[""]
    ax = axes_below_words(figure, _WORDS)
    ax.plot(row["time_s"] / 60.0, row["rtt_s"], color=COLORS[1], linewidth=0.8)
    ax.set(xlabel="time [min]", ylabel="RTT [s]", ylim=(0.0, 10.0))
    ax.set_xlim(0.0, (row["time_s"][-1] + 1.0) / 60.0)
    return Caption(
        "Not reproduced, a measurement. A large buffer without AQM makes round trips of many"
        " seconds",
        note=note(case),
    )


RECIPE: Final = Recipe(
    caption="Round-trip times of pings from Ireland to San Jose over a night, as measured in 2012",
    kind="card",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 5.4))},
    scenarios=shipped(NAME),
    decisions=DECISIONS,
    seeds=1,
)
