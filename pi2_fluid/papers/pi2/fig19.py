"""Figure 19 of the PI2 paper: rates of single flows where several of each kind share a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.pi2.combinations import (
    COMBINATION_DECISIONS,
    LINK_TEXT,
    label_combinations,
    mean_over,
    runs_of,
    scenarios,
)
from pi2_fluid.papers.pi2.grid_axes import LEGEND
from pi2_fluid.papers.pi2.more_balances import label_ratios
from pi2_fluid.papers.pi2.pairs import CHANGEABLE, PAIR_NAMES, PAIRS, QUEUES, STYLES
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe
from pi2_fluid.papers.runs import spread

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase


def _measure(case: Case) -> Measured:
    points = runs_of(case)
    middle, single = [], []
    for queue in QUEUES:
        for pair in PAIRS:
            of_pair = [
                point
                for point in points
                if (point.at.queue, point.at.pair) == (queue, pair) and point.at.mixed
            ]
            head = {"queue": queue, "pair": pair}
            counts = np.array([point.at.counts for point in of_pair], dtype=float)
            ratios = np.stack([point.ratio for point in of_pair])
            middle.append(
                {
                    **head,
                    "cubic": counts[:, 0],
                    "other": counts[:, 1],
                    **spread("ratio", ratios, axis=-1),
                }
            )
            seeds = ratios.shape[1]
            single.append(
                {
                    **head,
                    "cubic": np.repeat(counts[:, 0], seeds),
                    "other": np.repeat(counts[:, 1], seeds),
                    "seed": np.tile(np.arange(1, seeds + 1), len(of_pair)),
                    "ratio": ratios.ravel(),
                }
            )
    found = {
        f"{queue}_{pair}": mean_over(points, queue, pair) for queue in QUEUES for pair in PAIRS
    }
    return Measured({"": middle, "runs": single}, found)


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    axes: Any = figure.subplots(len(QUEUES), 1, sharex=True, sharey=True)
    for ax, (queue, name) in zip(axes, QUEUES.items(), strict=True):
        for k, pair in enumerate(PAIRS):
            (row,) = (row for row in rows if (row["queue"], row["pair"]) == (queue, pair))
            at = np.arange(len(row["ratio"])) + 0.26 * k - 0.13
            style = STYLES[pair]
            ax.vlines(at, row["ratio_low"], row["ratio_high"], color=style["color"], linewidth=1.0)
            ax.plot(at, row["ratio"], linestyle="", markersize=4.5, label=PAIR_NAMES[pair], **style)
        ax.axhline(1.0, color="0.4", linewidth=0.8, zorder=1)
        ax.set(yscale="log", ylim=(0.03, 20.0))
        ax.set_ylabel(f"{name}\nrate of a non-ECN / ECN flow")
    label_ratios(axes)
    counts = [(int(a), int(b)) for a, b in zip(rows[0]["cubic"], rows[0]["other"], strict=True)]
    label_combinations(axes, counts)
    axes[0].legend(loc="upper right", ncols=2, **LEGEND)
    pie, pi2 = (float(np.median(np.asarray(measured.found[f"{q}_dctcp"]))) for q in QUEUES)
    return Caption(
        f"However many flows there are, a Cubic flow has about {pi2:.2f} of a DCTCP flow's rate"
        f" under PI2, and {pie:.2f} under PIE",
        note=f"{LINK_TEXT}. Marks: medians of the seeds; bars: their range, where it is"
        " wider than the mark."
        + case.as_printed(" Numbers: geometric means over the combinations."),
    )


RECIPE: Final = Recipe(
    caption="Rate of a Cubic flow over that of one of the other kind, for numbers of flows",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (10.0, 6.0))},
    scenarios=scenarios,
    changeable=CHANGEABLE,
    decisions=COMBINATION_DECISIONS,
    why={
        "pi2_dctcp": "The ratio is on the low side, as at the fluid's operating point, 0.87: with"
        " k = 2, Cubic in its Reno mode has a little less.",
        "pie_dctcp": "Both see one p, and DCTCP answers far less to it.",
        "": "Both are Cubic, and see one probability.",
    },
)
