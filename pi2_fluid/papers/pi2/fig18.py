"""Figure 18 of the PI2 paper: how much of the link is used while two kinds of flows share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.papers.pi2.grid import (
    GRID_DECISIONS,
    LIMIT_TEXT,
    points_of,
    scenarios,
    tables_of,
)
from pi2_fluid.papers.pi2.grid_axes import draw_panels
from pi2_fluid.papers.pi2.pairs import CHANGEABLE, Runs
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray


def _uses(runs: Runs) -> dict[str, FloatArray]:
    return dict(zip(("use_mean", "use_p1", "use_p99"), runs.use, strict=True))


def _measure(case: Case) -> Measured:
    points = points_of(case)
    means = [point.runs.use[0] for point in points if point.at.within_limit]
    return Measured(tables_of(points, _uses), {"use": 100.0 * np.min(means, axis=0)})


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    columns = ("use_mean", "use_p1", "use_p99")
    draw_panels(figure, measured.tables[""], columns, "use of the link [%]", 100.0, "lower left")
    least = float(np.median(np.asarray(measured.found["use"])))
    return Caption(
        f"The link is nearly full at every capacity and RTT: {least:.0f} % in the mean at least, up"
        " to 1 MB of bandwidth times RTT",
        note="One flow of each kind. Marks: mean use of the link; bars: P1 to P99 of seconds."
        f" Medians of the seeds. Grey: more than {LIMIT_TEXT} of bandwidth times RTT.",
    )


RECIPE: Final = Recipe(
    caption="Mean, P1 and P99 of the use of the link, one flow of each kind, over links and RTTs",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (10.0, 6.0))},
    scenarios=scenarios,
    changeable=CHANGEABLE,
    coarse=True,
    decisions=(*GRID_DECISIONS, "Percentiles are over seconds."),
    why={
        "use": "The number is of the point with the least use: Cubic beside ECN-Cubic on a long"
        " path. There both windows fall by more than 20 ms of queue can fill."
    },
)
