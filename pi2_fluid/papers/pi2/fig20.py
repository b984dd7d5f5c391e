"""Figure 20 of the PI2 paper: how steady the rates of single flows are around their fair share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.pi2.combinations import (
    COMBINATION_DECISIONS,
    COMBINATIONS,
    LINK_TEXT,
    label_combinations,
    runs_of,
    scenarios,
    shares_of,
)
from pi2_fluid.papers.pi2.grid_axes import LEGEND
from pi2_fluid.papers.pi2.more_balances import label_ratios
from pi2_fluid.papers.pi2.pairs import CHANGEABLE, PAIRS, QUEUES, STYLES
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.papers.words import quantity_text
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

_KINDS: Final = ("cubic", "other")
_LEVELS: Final = ("mean", "p1", "p99")
_CUBIC: Final = {"color": COLORS[2], "marker": "^"}
_LOWEST, _HIGHEST = 0.03, 12.0


def _levels(shares: FloatArray) -> FloatArray:
    """Return mean, P1 and P99 over blocks and flows of each seed, (3, seeds)."""
    each = shares.reshape(len(shares), -1)
    return np.stack([each.mean(axis=1), *np.percentile(each, (1.0, 99.0), axis=1)])


def _measure(case: Case) -> Measured:
    points = runs_of(case)
    middle, single = [], []
    for queue in QUEUES:
        for pair in PAIRS:
            for kind, name in enumerate(_KINDS):
                of_pair = [
                    point
                    for point in points
                    if point.at[:2] == (queue, pair) and point.at.counts[kind]
                ]
                levels = np.stack([_levels(shares_of(point, kind)) for point in of_pair])
                head = {"queue": queue, "pair": pair, "kind": name}
                counts = np.array([point.at.counts for point in of_pair], dtype=float)
                middle.append({**head, **_columns(counts, np.median(levels, axis=2))})
                seeds = levels.shape[2]
                each = np.moveaxis(levels, 2, 1).reshape(-1, len(_LEVELS))
                order = np.tile(np.arange(1, seeds + 1), len(of_pair))
                columns = _columns(np.repeat(counts, seeds, axis=0), each)
                single.append({**head, "seed": order, **columns})
    mixed = [point for point in points if point.at[:2] == ("pi2", "dctcp") and point.at.mixed]
    classic, scalable = (
        np.mean([_levels(shares_of(point, kind))[0] for point in mixed], axis=0) for kind in (0, 1)
    )
    found = {"classic": classic, "scalable": scalable, "block_s": points[0].runs.block}
    return Measured({"": middle, "runs": single}, found)


def _columns(counts: FloatArray, levels: FloatArray) -> dict[str, FloatArray]:
    """Return combinations (points, 2) and levels (points, 3) as columns."""
    rates = {f"rate_{level}": levels[:, k] for k, level in enumerate(_LEVELS)}
    return {"cubic": counts[:, 0], "other": counts[:, 1], **rates}


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows = measured.tables[""]
    counts = list(COMBINATIONS)
    axes: Any = figure.subplots(len(QUEUES), len(PAIRS), sharex=True, sharey=True)
    for row_axes, (queue, name) in zip(axes, QUEUES.items(), strict=True):
        for ax, pair in zip(row_axes, PAIRS, strict=True):
            mine = [row for row in rows if (row["queue"], row["pair"]) == (queue, pair)]
            _draw_shares(ax, mine, counts, pair)
        row_axes[0].set_ylabel(f"{name}\nrate of a flow / fair rate")
    axes[0][0].set(yscale="log", ylim=(_LOWEST, _HIGHEST))
    label_ratios(axes[:, 0])
    for column, other in zip(axes.T, PAIRS.values(), strict=True):
        label_combinations(column, counts)
        column[0].set_title(f"Cubic beside {other}")
        column[1].legend(loc="upper right", ncols=2, **LEGEND)
    classic, scalable = (
        float(np.median(np.asarray(measured.found[key]))) for key in ("classic", "scalable")
    )
    block = float(np.asarray(measured.found["block_s"]))
    return Caption(
        f"However many flows there are, under PI2 one of Cubic has {classic:.2f} and one of DCTCP"
        f" {scalable:.2f} of the fair rate",
        note=f"{LINK_TEXT}. Marks: mean; bars: P1 to P99 of all flows of the kind over"
        f" blocks of {quantity_text(block, 'time')}. Medians of the seeds. Bars that reach below"
        f" {_LOWEST:g} are cut off.",
    )


def _draw_shares(ax: Axes, rows: Rows, counts: list[tuple[int, int]], pair: str) -> None:
    styles = (("Cubic", _CUBIC), (PAIRS[pair], STYLES[pair]))
    for k, (row, (label, style)) in enumerate(zip(rows, styles, strict=True)):
        there = zip(row["cubic"], row["other"], strict=True)
        at = np.array([counts.index((int(a), int(b))) for a, b in there]) + 0.26 * k - 0.13
        low = np.maximum(row["rate_p1"], 0.1 * _LOWEST)
        ax.vlines(at, low, row["rate_p99"], color=style["color"], linewidth=1.0)
        ax.plot(at, row["rate_mean"], linestyle="", markersize=4.5, label=label, **style)
    ax.axhline(1.0, color="0.4", linewidth=0.8, zorder=1)


RECIPE: Final = Recipe(
    caption="Mean, P1 and P99 of a flow's rate over its fair share, for numbers of flows",
    kind="packets",
    measure=_measure,
    pages={"": Page(_draw, (12.0, 6.4))},
    scenarios=scenarios,
    changeable=CHANGEABLE,
    decisions=(*COMBINATION_DECISIONS, "Rates are over blocks of 2 s."),
    why={"": "This is the mean over all combinations of both kinds; compare Figure 19."},
)
