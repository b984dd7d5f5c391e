"""Maps: gain margin over round-trip time and rate per flow, one design or two side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import DomainError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colorbar import Colorbar
    from matplotlib.contour import ContourSet

    from pi2_fluid.values import FloatArray

#: Gain margins (dB) at which the colour changes and a line is drawn.
_LEVELS: Final = (0.0, 3.0, 6.0, 10.0)
# From the unstable region to the widest margin, each lighter than the one before (relative
# luminance 0.08, 0.29, 0.48, 0.72, 0.91), so that a picture in grey can be read.
_FILLS: Final = ("#8B1A1A", "#E06A2B", "#EBA937", "#F2DD8C", "#EAF6F0")
_HATCH: Final = "////"
_OUTSIDE: Final = "0.85"
_DOTS: Final = "..."
_FARTHEST: Final = 1e3  # dB: what is infinite is drawn there
_MEGA: Final = 1e6
_MILLI: Final = 1e3


def draw_margin_map(
    ax: Axes,
    rtts: FloatArray,
    rates: FloatArray,
    margins: FloatArray,
    *,
    longest: float | None = None,
) -> ContourSet:
    """Draw the gain margin as filled contours, with labelled lines at 0, 3, 6 and 10 dB.

    Parameters
    ----------
    ax : matplotlib Axes
    rtts : array (n,)
        Round-trip times, queue included (s).
    rates : array (m,)
        Rates per flow (bit/s).
    margins : array (n, m)
        Gain margin (dB). What is below 0, unstable, is hatched; what is NaN, outside the model,
        is grey with dots.
    longest : float, optional
        The largest RTT (s) the gains are for: a dashed line.

    Returns
    -------
    matplotlib ContourSet
        The filled contours, for a colour bar.
    """
    x, y = _MILLI * np.asarray(rtts, float), np.asarray(rates, float) / _MEGA
    if np.ndim(x) != 1 or np.ndim(y) != 1 or min(x.size, y.size) < 2:
        raise DomainError(
            f"a map of {x.size} round-trip times and {y.size} rates has no area: give two or more"
            " of each."
        )
    outside = np.isnan(margins)
    z = np.clip(np.ma.array(margins, mask=outside), -_FARTHEST, _FARTHEST).T
    ax.set(xscale="log", yscale="log", facecolor=_OUTSIDE)
    if outside.any():
        ax.patch.set(hatch=_DOTS, edgecolor="0.65", linewidth=0.0)
    filled = draw_contours(ax, x, y, z, _LEVELS, " dB")
    if longest is not None:
        ax.axvline(_MILLI * longest, color="#0072B2", linestyle=(0, (5, 2)), linewidth=1.2)
    if outside[:, 0].any():
        ax.annotate(
            "outside the model", (0, 0), (5, 5), xycoords="axes fraction",
            textcoords="offset points", path_effects=_ground(), fontsize=8, color="0.2",
        )  # fmt: skip
    _label_axes(ax)
    return filled


def draw_contours(
    ax: Axes,
    x: FloatArray,
    y: FloatArray,
    margins: FloatArray,
    levels: Sequence[float],
    unit: str,
) -> ContourSet:
    """Fill the plane by four levels of a margin, the lowest 0, and draw labelled lines at them.

    Parameters
    ----------
    ax : matplotlib Axes
    x, y : arrays (n,), (m,)
    margins : array (m, n)
        What is below 0, unstable, is hatched.
    levels : four numbers, rising from 0
    unit : str
        Written behind each level.

    Returns
    -------
    matplotlib ContourSet
        The filled contours, for a colour bar.
    """
    import matplotlib as mpl

    edges = (-_FARTHEST - 1.0, *levels, _FARTHEST + 1.0)
    filled = ax.contourf(x, y, margins, levels=edges, colors=_FILLS)
    if margins.min() < 0.0:
        with mpl.rc_context({"hatch.color": "#F6D5D0", "hatch.linewidth": 0.7}):
            ax.contourf(x, y, margins, levels=edges[:2], colors="none", hatches=[_HATCH])
    lines = ax.contour(
        x, y, margins, levels=levels, colors="black", linewidths=(1.6, 0.8, 0.8, 0.8)
    )
    for text in ax.clabel(lines, fmt=lambda v: f"{v:g}{unit}", fontsize=8, inline=False):
        text.set_path_effects(_ground())
    return filled


def _ground() -> list[Any]:
    from matplotlib import patheffects

    return [patheffects.withStroke(linewidth=2.2, foreground="white")]


def draw_margin_maps(
    axes: Sequence[Axes],
    maps: Mapping[str, tuple[FloatArray, FloatArray, FloatArray]],
    *,
    longest: float | None = None,
) -> Colorbar:
    """Draw several maps side by side, with one colour bar for all of them.

    Parameters
    ----------
    axes : sequence of matplotlib Axes
        One for each map, in one row.
    maps : mapping of title to (rtts, rates, margins)
        As for `draw_margin_map`.
    longest : float, optional
        As for `draw_margin_map`.

    Returns
    -------
    matplotlib Colorbar
    """
    for ax, (title, arrays) in zip(axes, maps.items(), strict=True):
        filled = draw_margin_map(ax, *arrays, longest=longest)
        ax.set_title(title, loc="left")
    for ax in axes[1:]:
        ax.set_ylabel("")
    figure = axes[0].get_figure()
    assert figure is not None
    bar = figure.colorbar(filled, ax=list(axes), spacing="uniform", ticks=list(_LEVELS), pad=0.02)
    bar.set_label("gain margin [dB]; hatched: unstable")
    return bar


def _label_axes(ax: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    plain = FuncFormatter(lambda value, _: f"{value:,.15g}")
    ax.set(xlabel="round-trip time, queue included [ms]", ylabel="rate per flow [Mbit/s]")
    ax.xaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0), numticks=30))
    ax.yaxis.set_major_locator(LogLocator(base=10, numticks=20))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(plain)
        axis.set_minor_formatter(NullFormatter())
