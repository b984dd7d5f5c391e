"""Axes with links side by side, and within each of them the round-trip times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from pi2_fluid.papers.pi2.grid import CAPACITIES, RTTS, within_limit
from pi2_fluid.papers.pi2.pairs import PAIR_NAMES, PAIRS, QUEUES, STYLES
from pi2_fluid.papers.recipe import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

#: Of a legend over lines that part the links.
LEGEND: Final[dict[str, Any]] = {
    "frameon": True, "framealpha": 1.0, "edgecolor": "none", "fontsize": 8,
}  # fmt: skip


class Grid(NamedTuple):
    """What has a place on the axes, whether or not there is a point."""

    capacities: tuple[int, ...]
    """Mbit/s"""
    rtts: tuple[int, ...]
    """ms"""


WHOLE: Final = Grid(CAPACITIES, RTTS)


def positions(row: Mapping[str, Any], grid: Grid) -> FloatArray:
    """Return where the points of a curve stand."""
    first = len(grid.rtts) * grid.capacities.index(round(1e-6 * row["capacity_bit_s"]))
    rtts = np.round(1e3 * np.asarray(row["base_rtt_s"])).astype(int)
    return first + np.searchsorted(np.array(grid.rtts), rtts).astype(float)


def draw_points(
    ax: Axes,
    rows: Rows,
    columns: tuple[str, str, str],
    *,
    shift: float,
    grid: Grid = WHOLE,
    style: Mapping[str, Any],
    label: str,
    scale: float = 1.0,
) -> None:
    """Draw one series: per link a line over the round-trip time, with bars.

    Parameters
    ----------
    ax : matplotlib Axes
    rows : sequence of mapping
        Curves of one series, one per link.
    columns : tuple of str
        What is drawn, and from where to where its bar reaches.
    shift : float
        To the right, so that series stand side by side.
    grid : Grid
        Of the axes.
    style : mapping
        Colour and marker.
    label : str
        For the legend.
    scale : float
        Of all values.
    """
    for k, row in enumerate(rows):
        at = positions(row, grid) + shift
        middle, low, high = (scale * np.asarray(row[name]) for name in columns)
        ax.vlines(at, low, high, color=style["color"], linewidth=1.0, zorder=2)
        ax.plot(
            at, middle, linewidth=0.6, markersize=3.8, zorder=3, label=label if k == 0 else None,
            **style,
        )  # fmt: skip


def draw_panels(
    figure: FigureBase,
    rows: Rows,
    columns: tuple[str, str, str],
    label: str,
    scale: float = 1.0,
    corner: Literal["upper right", "lower left"] = "upper right",
) -> list[Axes]:
    """Draw both pairs under each queue, one below the other, and return the axes.

    `corner` is that of the legend in the first of them; the other arguments are those of
    `draw_points`.
    """
    axes: list[Axes] = list(figure.subplots(len(QUEUES), 1, sharex=True, sharey=True))
    for ax, (queue, name) in zip(axes, QUEUES.items(), strict=True):
        for k, pair in enumerate(PAIRS):
            mine = [row for row in rows if (row["queue"], row["pair"]) == (queue, pair)]
            draw_points(
                ax, mine, columns, shift=0.26 * k - 0.13, style=STYLES[pair],
                label=PAIR_NAMES[pair], scale=scale,
            )  # fmt: skip
        ax.set_ylabel(f"{name}\n{label}")
    axes[0].legend(loc=corner, ncols=2, **LEGEND)
    label_grid(axes)
    shade_beyond_limit(axes)
    return axes


def shade_beyond_limit(axes: Sequence[Axes]) -> None:
    """Shade where more is under way than the testbed's kernel carried."""
    for ax in axes:
        for k, capacity in enumerate(WHOLE.capacities):
            for j, rtt in enumerate(WHOLE.rtts):
                if not within_limit(capacity, rtt):
                    at = len(WHOLE.rtts) * k + j
                    ax.axvspan(at - 0.5, at + 0.5, color="0.92", linewidth=0, zorder=0)


def label_grid(axes: Sequence[Axes], grid: Grid = WHOLE) -> None:
    """Name links and round-trip times on axes above each other, and part the links."""
    capacities, rtts = grid
    count = len(rtts)
    for ax in axes:
        for k in range(1, len(capacities)):
            ax.axvline(count * k - 0.5, color="0.75", linewidth=0.7, zorder=0)
        ax.set_xlim(-0.5, count * len(capacities) - 0.5)
        ax.set_xticks(
            range(count * len(capacities)),
            [f"{rtt}" for rtt in rtts] * len(capacities),
            fontsize=8,
        )
        ax.grid(visible=True, axis="y")
        ax.tick_params(axis="x", labelbottom=ax is axes[-1])
    for k, capacity in enumerate(capacities):
        axes[0].annotate(
            f"{capacity} Mb/s", (count * (k + 0.5) - 0.5, 1.0), (0, 2), va="bottom",
            ha="center", fontsize=9, xycoords=("data", "axes fraction"),
            textcoords="offset points",
        )  # fmt: skip
    axes[-1].set_xlabel("RTT of the path [ms]")
