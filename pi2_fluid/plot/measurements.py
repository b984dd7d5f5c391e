"""A measurement beside models: its line over the range of their seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from pi2_fluid.values import FloatArray

_BAND: Final = 0.25  # opacity
_DASHES: Final[tuple[Any, ...]] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (5, 1, 1, 1)))


def draw_range(
    ax: Axes,
    x: FloatArray,
    low: FloatArray,
    middle: FloatArray,
    high: FloatArray,
    color: str,
    label: str | None = None,
) -> list[Artist]:
    """Draw the range of several seeds as a band, with a thin line at their median.

    Parameters
    ----------
    ax : matplotlib Axes
    x, low, middle, high : array (points,)
    color : str
    label : str, optional
        For the legend.
    """
    band = ax.fill_between(x, low, high, color=color, alpha=_BAND, linewidth=0, zorder=2)
    line = ax.plot(x, middle, color=color, linewidth=0.8, label=label, zorder=3)
    return [band, *line]


def draw_measured(
    ax: Axes, x: FloatArray, y: FloatArray, number: int, label: str | None = None
) -> list[Artist]:
    """Draw what was measured: black, with a light edge, so that it shows on any band.

    Parameters
    ----------
    ax : matplotlib Axes
    x, y : array (points,)
        What is NaN is left out, and the line goes on behind it.
    number : int
        Which of several lines it is: each has dashes of its own.
    label : str, optional
        For the legend.
    """
    import numpy as np
    from matplotlib import patheffects

    edge = [patheffects.withStroke(linewidth=2.6, foreground="white")]
    there = np.isfinite(y)
    return [
        *ax.plot(
            x[there],
            y[there],
            color="black",
            linewidth=1.3,
            linestyle=_DASHES[number % len(_DASHES)],
            label=label,
            path_effects=edge,
            zorder=4,
        )
    ]
