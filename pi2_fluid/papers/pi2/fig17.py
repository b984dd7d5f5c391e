"""Figure 17 of the PI2 paper: with what probability each of two kinds of flows is signalled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.pi2.grid import (
    CAPACITIES,
    GRID_DECISIONS,
    LIMIT_TEXT,
    points_of,
    scenarios,
    tables_of,
)
from pi2_fluid.papers.pi2.grid_axes import LEGEND, draw_points, label_grid, shade_beyond_limit
from pi2_fluid.papers.pi2.pairs import CHANGEABLE, PAIRS, QUEUES, STYLES, Runs, geometric_mean
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

_LEVELS: Final = ("mean", "p25", "p99")  # as in Runs.signals
_LOWEST: Final = 1e-5
_CUBIC: Final = {"color": COLORS[2], "marker": "^"}


def _signals(runs: Runs) -> dict[str, FloatArray]:
    return {
        f"{which}_{level}": runs.signals[k, :, column]
        for column, which in enumerate(("cubic", "other"))
        for k, level in enumerate(_LEVELS)
    }


def _measure(case: Case) -> Measured:
    points = points_of(case)
    squares = [
        mean[:, 0] / (0.5 * mean[:, 1]) ** 2
        for mean in (
            point.runs.signals[0]
            for point in points
            if point.at[:3] == ("pi2", "dctcp", CAPACITIES[0])
        )
    ]
    return Measured(tables_of(points, _signals), {"square": geometric_mean(squares)})


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows = measured.tables[""]
    axes: Any = figure.subplots(len(QUEUES), len(PAIRS), sharex=True, sharey=True)
    for row_axes, (queue, name) in zip(axes, QUEUES.items(), strict=True):
        for ax, (pair, other) in zip(row_axes, PAIRS.items(), strict=True):
            mine = [row for row in rows if (row["queue"], row["pair"]) == (queue, pair)]
            for k, (which, style, label) in enumerate(
                (("cubic", _CUBIC, "Cubic: dropped"), ("other", STYLES[pair], f"{other}: marked"))
            ):
                columns = (f"{which}_mean", f"{which}_p25", f"{which}_p99")
                draw_points(
                    ax, mine, columns, shift=0.26 * k - 0.13, style=style, label=label, scale=100.0
                )
        row_axes[0].set_ylabel(f"{name}\nsignalled packets [%]")
    axes[0][0].set(yscale="log", ylim=(100.0 * _LOWEST, 100.0))
    for column, other in zip(axes.T, PAIRS.values(), strict=True):
        label_grid(column)
        shade_beyond_limit(column)
        column[0].set_title(f"Cubic beside {other}", pad=16)
        column[0].legend(loc="upper right", **LEGEND)
    square = float(np.median(np.asarray(measured.found["square"])))
    return Caption(
        "PIE signals both kinds alike; PI2 drops Cubic's packets as the square of half of DCTCP's"
        f" probability, times {square:.1f} in the means at {CAPACITIES[0]} Mb/s",
        note="One flow of each kind. Marks: mean; bars: P25 to P99 of seconds. Medians of the"
        f" seeds. Bars that reach below {100.0 * _LOWEST:g} % are cut off. Grey: more than"
        f" {LIMIT_TEXT} of bandwidth times RTT.",
    )


RECIPE: Final = Recipe(
    caption="Mean, P25 and P99 of the marking or dropping probability, over links and RTTs",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (12.0, 6.4))},
    scenarios=scenarios,
    changeable=CHANGEABLE,
    coarse=True,
    decisions=(
        *GRID_DECISIONS,
        "A probability is the part of a class's arrivals that is dropped or marked in a second.",
    ),
    why={
        "square": "The mean of p'^2 exceeds the square of the mean of p'. It does so by more where"
        " windows are large, since p' oscillates there."
    },
)
