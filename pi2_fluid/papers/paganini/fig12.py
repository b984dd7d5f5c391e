"""Figure 12 of Paganini and others (2002): the new protocol with heavy tails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.papers.paganini.heavy_tails import OVERSHOOT, SELDOM, overshooting
from pi2_fluid.papers.paganini.heavy_tails_page import (
    DECISIONS,
    SIZE,
    draw_page,
    draw_times,
    shown,
    tables,
    told,
)
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

_OURS, _RED = "new protocol", "NewReno/RED"


def _measure(case: Case) -> Measured:
    found = shown(case, _OURS, _RED)
    ours, red = found[_OURS], found[_RED]
    pairs = list(zip(ours, red, strict=True))
    return Measured(
        tables(found, [_OURS]),
        {
            "used": np.array([each.used / 0.95 for each in ours]),
            "used_red": np.array([one.used / other.used for one, other in pairs]),
            "queue_red": np.array([one.waiting / other.waiting for one, other in pairs]),
            "overshoots": np.array([float(overshooting(each) < SELDOM) for each in ours]),
            "elephants": np.array([each.rates[0].mean() / each.rates[-1].mean() for each in ours]),
        },
    )


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    draw_page(figure, measured)
    return Caption(
        f"Heavy tails, new protocol: {told(measured, _OURS)}, fair elephants",
        note=(
            "Median and range of the runs; sizes have no mean, so that another seed is another"
            " story.\nBars: mean and standard deviation of the rates of elephants, over the mean of"
            " all such at the time."
        ),
    )


RECIPE: Final = Recipe(
    caption="The new protocol with transfers of heavy-tailed sizes: queue, utilization, elephants",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, SIZE), "times": Page(draw_times, (9.0, 5.0))},
    scenarios=shipped("paganini_fig12", "paganini_fig13"),
    changeable=(),
    decisions=(
        *DECISIONS,
        f"A few overshoots: less than {100 * SELDOM:g} % of the time above {OVERSHOOT:g} packets.",
    ),
    why={
        "used": "The price settles only where arrivals are 95 % of the capacity.",
        "used_red": "NewReno starts each transfer anew, and halves its windows.",
        "queue_red": "The link keeps 5 % free, which absorbs transfers that begin and end.",
        "overshoots": "The queue is above 200 packets for 2 to 6 % of the time. That is about our"
        " limit, but not in five of six runs.",
        "elephants": "At rest x = K/q for every path.",
    },
)
