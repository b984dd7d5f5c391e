"""Pairs: what a fluid says, and what several runs of packets do, in one pair of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from pi2_fluid.values import FloatArray

#: How a fluid is drawn beside packets: thin and dashed, on top of them.
_FLUID: Final[dict[str, Any]] = {"linestyle": (0, (4, 1.5)), "linewidth": 1.2, "zorder": 4}
_BAND: Final = 0.28  # opacity


def draw_runs(
    ax: Axes, x: FloatArray, runs: FloatArray, color: str, label: str | None = None
) -> list[Artist]:
    """Draw the median of several runs, in the band from the smallest to the largest.

    Parameters
    ----------
    ax : matplotlib Axes
    x : array (points,)
    runs : array (runs, points)
    color : str
    label : str, optional
        For the legend.
    """
    runs = np.atleast_2d(runs)
    band = ax.fill_between(
        x, runs.min(axis=0), runs.max(axis=0), color=color, alpha=_BAND, linewidth=0, zorder=2
    )
    line = ax.plot(x, np.median(runs, axis=0), color=color, linewidth=1.1, label=label, zorder=3)
    return [band, *line]


def draw_fluid(
    ax: Axes, x: FloatArray, y: FloatArray, color: str, label: str | None = None
) -> list[Artist]:
    """Draw a fluid's curve as dashes with a light edge, so that they show on any band.

    Parameters
    ----------
    ax : matplotlib Axes
    x, y : array (points,)
    color : str
    label : str, optional
        For the legend.
    """
    from matplotlib import patheffects

    edge = [patheffects.withStroke(linewidth=2.4, foreground="white")]
    return [*ax.plot(x, y, color=color, label=label, path_effects=edge, **_FLUID)]


def scale_root(ax: Axes, highest: float) -> None:
    """Give an axis of delays (ms), or packets, a square-root scale from 0 to `highest`.

    It shows the target and a start-up a hundred times as high in one picture.
    """
    from matplotlib.ticker import FixedLocator, NullLocator

    ax.set_yscale("function", functions=(lambda y: np.sqrt(np.maximum(y, 0.0)), np.square))
    ax.set_ylim(0.0, highest)
    low = [0, 20, 100] if highest > 800.0 else [0, 5, 20, 50, 100]
    ticks = [*low, 200, 400, 700, 1000, 1500, 2000]
    if highest > 4000.0:
        ticks = [0, 200, 1000, 2000, 5000, 10_000, 20_000, 40_000, 70_000, 100_000]
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.yaxis.set_minor_locator(NullLocator())
