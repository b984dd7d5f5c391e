"""Coexistence: whose flows are ahead, over pairs of paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet

    from pi2_fluid.values import BoolArray, FloatArray

# Its lightness rises all the way, so that a picture in grey can be read, and it is safe for
# colour-blind readers.
_COLORS: Final = "cividis"
#: Ratios at which a line is drawn.
_LEVELS: Final = (1 / 20, 1 / 10, 1 / 5, 1 / 2, 1.0, 2.0, 5.0, 10.0, 20.0)
_TICKS: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # ms
_LEAST_END: Final = 2.0  # of the colours, so that nearly equal rates look nearly equal
_OUTSIDE: Final = "0.85"
_HATCH: Final = "////"
_MILLI: Final = 1e3


def draw_rate_ratio(
    ax: Axes,
    rtt_classic: FloatArray,
    rtt_scalable: FloatArray,
    ratio: FloatArray,
    *,
    outside: BoolArray | None = None,
    largest: float | None = None,
) -> list[Artist]:
    """Draw the rate of a Classic flow over that of a Scalable flow, for pairs of paths.

    A dotted line shows where both paths are equal.

    Parameters
    ----------
    ax : matplotlib Axes
    rtt_classic, rtt_scalable : array (n,), array (m,)
        Round-trip times of the paths (s), rising.
    ratio : array (n, m)
        Rate of one Classic flow over that of one Scalable flow. Its colours are logarithmic, with 1
        in the middle; the line of 1 is drawn thick.
    outside : array of bool (n, m), optional
        Where the ratio does not hold: grey, with stripes.
    largest : float, optional
        Ratio at which the colours end, as they do at its inverse on the other side; by default
        what the ratios need. For several pictures with the same colours.

    Returns
    -------
    list of artists
        The coloured field first, the colour bar last.
    """
    from matplotlib import patheffects
    from matplotlib.colors import LogNorm

    x, y = _MILLI * np.asarray(rtt_classic, float), _MILLI * np.asarray(rtt_scalable, float)
    values = np.asarray(ratio, float).T
    needed = float(np.exp(np.nanmax(np.abs(np.log(values)))))
    end = max(needed, _LEAST_END) if largest is None else float(largest)
    ax.set(xscale="log", yscale="log")
    norm = LogNorm(vmin=1.0 / end, vmax=end)
    field = ax.pcolormesh(x, y, values, norm=norm, cmap=_COLORS, shading="gouraud", rasterized=True)
    artists: list[Any] = [field]
    hidden = np.zeros(values.shape, bool) if outside is None else np.asarray(outside, bool).T
    levels = [level for level in _LEVELS if np.nanmin(values) < level < np.nanmax(values)]
    if levels:
        # Of the logarithm, which is smoother between the points.
        names = {float(np.log(level)): _name(level) for level in levels}
        widths = [2.2 if level == 1.0 else 0.8 for level in levels]
        inside = np.ma.array(np.log(values), mask=hidden)
        lines = ax.contour(x, y, inside, levels=list(names), colors="black", linewidths=widths)
        lines.set_linestyle("solid")  # not dashed where the logarithm is negative
        for text in ax.clabel(lines, fmt=names, fontsize=8):
            text.set_path_effects([patheffects.withStroke(linewidth=2.5, foreground="white")])
        artists.append(lines)
    if hidden.any():
        artists.append(_stripe(ax, x, y, hidden))
    both = max(x[0], y[0]), min(x[-1], y[-1])
    if both[0] < both[1]:
        artists += ax.plot(both, both, color="0.95", linewidth=1.0, linestyle=(0, (2, 3)))
    _label(ax, x, y)
    bar = ax.figure.colorbar(field, ax=ax, label="rate of a Classic flow / of a Scalable flow")
    marks = [level for level in _LEVELS if 1.0 / end <= level <= end]
    bar.set_ticks(marks, labels=[_name(level) for level in marks])
    bar.ax.minorticks_off()
    return [*artists, bar]


def _stripe(ax: Axes, x: FloatArray, y: FloatArray, outside: BoolArray) -> ContourSet:
    """Cover a region with grey and stripes."""
    covered = ax.contourf(
        x, y, outside.astype(float), levels=[0.5, 1.5], colors=[_OUTSIDE], hatches=[_HATCH]
    )
    covered.set(edgecolor="0.5", linewidth=0.0)
    return covered


def _label(ax: Axes, x: FloatArray, y: FloatArray) -> None:
    for axis, values in ((ax.xaxis, x), (ax.yaxis, y)):
        low, high = values[0] * (1.0 - 1e-9), values[-1] * (1.0 + 1e-9)
        ticks = [tick for tick in _TICKS if low <= tick <= high]
        axis.set_ticks(ticks, labels=[str(tick) for tick in ticks])
        axis.set_ticks([], minor=True)
    ax.set(
        xlabel="round trip of the Classic flow's path [ms]",
        ylabel="round trip of the Scalable flow's path [ms]",
    )


def _name(level: float) -> str:
    return f"{level:g}" if level >= 1.0 else f"1/{round(1.0 / level)}"
