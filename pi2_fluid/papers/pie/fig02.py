"""Figure 2 of the PIE paper: a measurement, in whose place a simulated link is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.papers.pie.stand_in import DECISIONS, NAME, axes_below_words, note, round_trips
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

_WORDS: Final = (
    "The paper's Figure 2 is a measurement that cannot be repeated: how often which round-trip time"
    " occurred\nin the pings of its Figure 1, with spikes a retransmission timeout apart. What"
    " follows is no reproduction of it."
)
_WIDTH: Final = 0.2  # s


def _measure(case: Case) -> Measured:
    _, rtt = round_trips(case)
    edges = _WIDTH * np.arange(int(rtt.max() / _WIDTH) + 2)
    counts, _ = np.histogram(rtt, edges)
    return Measured({"": [{"rtt_from_s": edges[:-1], "rtt_to_s": edges[1:], "pings": counts}]})


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    (row,) = measured.tables[""]
    ax = axes_below_words(figure, _WORDS)
    middle = 0.5 * (row["rtt_from_s"] + row["rtt_to_s"])
    ax.bar(middle, row["pings"], 0.9 * _WIDTH, color=COLORS[1])
    ax.set(xlabel="RTT [s]", ylabel=f"pings per {_WIDTH:g} s", xlim=(0.0, 10.0))
    return Caption(
        "Not reproduced, a measurement. A large buffer without AQM is empty, full, or anything in"
        " between",
        note=note(case) + case.as_printed(" It has no spikes between its two ends."),
    )


RECIPE: Final = Recipe(
    caption="Distribution of the round-trip times of its Figure 1, as measured in 2012",
    kind="card",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 5.4))},
    scenarios=shipped(NAME),
    decisions=DECISIONS,
    seeds=1,
)
