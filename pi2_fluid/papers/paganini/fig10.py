"""Figure 10 of Paganini and others (2002): Figure 5 with few marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.papers.paganini.fig05 import SCENARIO as MANY
from pi2_fluid.papers.paganini.fig05 import farthest
from pi2_fluid.papers.paganini.joining import run_packets, settled, tables
from pi2_fluid.papers.paganini.joining_page import KEY, SIZE, draw_page
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

SCENARIO: Final = "paganini_fig10"
_ASKED: Final = 0.95  # utilization


def _measure(case: Case) -> Measured:
    few, many = (
        [
            settled(
                case.scenarios[name], run_packets(case.scenarios[name], case.seeds).isel(seed=k)
            )
            for k in range(case.seeds)
        ]
        for name in (SCENARIO, MANY)
    )
    values_of = {
        "most": [100.0 * max(stage.marked for stage in each) for each in few],
        "least": [100.0 * min(stage.marked for stage in each) for each in few],
        "used": [farthest([stage.used / _ASKED for stage in each]) for each in few],
        "shares": [each[-1].rates[0] / each[-1].rates[-1] for each in few],
        "noisier": [
            min(a.wander / b.wander for a, b in zip(*pair, strict=True))
            for pair in zip(few, many, strict=True)
        ],
    }
    return Measured(
        tables(case.scenarios[SCENARIO], case.seeds),
        {key: np.array(values) for key, values in values_of.items()},
    )


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    draw_page(figure, measured, case)
    last = measured.tables["stages"][-1]
    noisier = float(np.median(np.asarray(measured.found["noisier"])))
    return Caption(
        f"{100 * last['marked']:.0f} % marks at most: noisier, and short paths get more",
        note=(
            f"{KEY}.\n"
            + case.as_printed(
                f"Prices wander {noisier:.1f} times as far as in Figure 5 or more. Of"
                f" {last['flows']} flows 40 ms have {100 * (last['rate_shortest'] - 1):.0f} % more"
                f" than the fair rate, 200 ms {100 * (1 - last['rate_longest']):.0f} % less."
            )
        ),
    )


RECIPE: Final = Recipe(
    caption="The new protocol with 5 % marks at most",
    shows="The new protocol with few marks",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, SIZE)},
    scenarios=shipped(SCENARIO, MANY),
    decisions=(
        (
            "The text says 0.05, not phi. With phi = 1.609, 5 % are marked at the operating point"
            " of 512 flows."
        ),
        (
            '"Satisfactory" means the target utilization in each stage, and shares of all paths'
            " that are alike."
        ),
        '"Noisier" compares the standard deviation of the price in the last 10 s of a stage.',
        "All else is as in Figure 5.",
    ),
    why={
        "most": "The price, and with it the marks, settles somewhat below the operating point.",
        "least": "The price is proportional to the flows: a sixteenth at 32 flows.",
        "used": "The link's price reaches its target in spite of the noise.",
        "shares": "One mark of 31 moves the window of a short path much, by alpha q/tau. xi holds"
        " the mean of K/W, and a W that varies has a higher mean.",
        "noisier": "One mark of 31 more or less means much where 5 % are marked.",
    },
    conditions={"most": "we choose phi for it"},
)
