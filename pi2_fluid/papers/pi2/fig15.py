"""Figure 15 of the PI2 paper: how a Cubic flow shares a link with one of DCTCP or ECN-Cubic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.pi2 import more_balances
from pi2_fluid.papers.pi2.grid import (
    GRID_DECISIONS,
    LIMIT_TEXT,
    points_of,
    scenarios,
    tables_of,
)
from pi2_fluid.papers.pi2.grid_axes import draw_panels
from pi2_fluid.papers.pi2.pairs import CHANGEABLE, QUEUES, geometric_mean
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

_LOWEST, _HIGHEST = 0.03, 20.0


def _measure(case: Case) -> Measured:
    points = points_of(case)

    def mean(queue: str, pair: str, within: tuple[bool, ...] = (True, False)) -> FloatArray:
        return geometric_mean(
            [
                point.runs.ratio
                for point in points
                if point.at[:2] == (queue, pair) and point.at.within_limit in within
            ]
        )

    found = {
        "pie_dctcp": 1.0 / mean("pie", "dctcp"),
        "pi2_dctcp": mean("pi2", "dctcp", (True,)),
        "pie_ecn_cubic": mean("pie", "ecn_cubic"),
        "pi2_ecn_cubic": mean("pi2", "ecn_cubic"),
        "anomalous": mean("pi2", "dctcp", (False,)),
    }
    tables = tables_of(points, lambda runs: {"ratio": runs.ratio})
    return Measured({**tables, "more": more_balances.curves(case)}, found)


def _scenarios() -> dict[str, pf.Scenario]:
    return {**scenarios(), **more_balances.scenarios()}


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    axes = draw_panels(
        figure, rows, ("ratio", "ratio_low", "ratio_high"), "rate of non-ECN / ECN flow"
    )
    for ax in axes:
        ax.axhline(1.0, color="0.4", linewidth=0.8, zorder=1)
        ax.set(yscale="log", ylim=(_LOWEST, _HIGHEST))
    more_balances.label_ratios(axes)
    pie, pi2 = (float(np.median(np.asarray(measured.found[f"{queue}_dctcp"]))) for queue in QUEUES)
    return Caption(
        f"A DCTCP flow has {pie:.0f} times the rate of a Cubic flow under PIE, and"
        f" {1.0 / pi2:.1f} times under PI2",
        note="One flow of each kind. Marks: medians of the seeds; bars: their range. Grey: more"
        f" than {LIMIT_TEXT} of bandwidth times RTT, where the testbed had its limit."
        + case.as_printed(" Geometric means, of PI2 without the grey."),
    )


RECIPE: Final = Recipe(
    caption="Rate of a Cubic flow over that of a DCTCP or ECN-Cubic flow, over links and RTTs",
    kind="packets",
    measure=_measure,
    pages={
        "": Page(_draw, (10.0, 6.0)),
        "more": Page(
            more_balances.draw,
            (10.0, 7.0),
            "Rate of a Cubic or Reno flow over that of a DCTCP flow, over links and RTTs",
        ),
    },
    scenarios=_scenarios,
    changeable=CHANGEABLE,
    coarse=True,
    decisions=GRID_DECISIONS,
    why={
        "pie_dctcp": "PIE signals both with one p, and DCTCP answers far less to it. This is DCTCP"
        " of the testbed's Linux 3.18, whose alpha stays at 15/1024 or more; with that of RFC 8257"
        " the ratio is 20. If PIE stops marking above 10 % it is 12.8.",
        "pi2_dctcp": "This is DCTCP of the testbed's Linux 3.18. With that of RFC 8257 the ratio"
        " is 0.7; with that of Linux today, whose alpha stays at 0 once it gets there, 0.3.",
        "anomalous": "The number is Cubic over DCTCP under PI2 above 1 MB. DCTCP of Linux 3.18"
        " keeps an alpha of 15/1024 or more, and so loses more there than that of RFC 8257, where"
        " the ratio is 0.6. The paper suspects a limit of Linux, which our packets do not have.",
        "": "Both are Cubic, and see one probability.",
    },
)
