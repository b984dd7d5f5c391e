"""Figure 1 of Paganini and others (2002): what a source adds to the loop, over frequency."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.paganini.loci import ALPHA, RATIOS, RTTS, Z, crossing, locus, reach, signed
from pi2_fluid.plot import label_curve, page_style, save_figure, write_caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["curves", "draw"]

# Colour and width of each ratio, dashes of each round-trip time.
_COLORS: Final = dict(zip(RATIOS, ("#CC79A7", "#000000", "#0072B2", "#D55E00"), strict=True))
_WIDTHS: Final = dict(zip(RATIOS, (0.9, 1.2, 1.2, 1.9), strict=True))
_DASHES: Final[dict[float, Any]] = dict(
    zip(RTTS, ((0, (1, 1)), (0, (5, 1, 1, 1)), (0, (4, 1.5)), "-"), strict=True)
)
_POINTS: Final = 2000


def curves() -> list[dict[str, Any]]:
    """Return the plotted numbers, one mapping of columns per round-trip time and ratio."""
    rows = []
    for rtt in RTTS:
        # From so low that curves leave the picture to three turns.
        theta = np.geomspace(0.02 * (Z * rtt) ** 0.5, 6 * np.pi, _POINTS)
        for ratio in RATIOS:
            points = locus(theta, Z * rtt, ratio)
            rows.append(
                {
                    "line": f"{1e3 * rtt:g}ms_{ratio:g}",
                    "rtt_s": rtt,
                    "nu_over_kappa": ratio,
                    "omega_rad_s": theta / rtt,
                    "real": points.real,
                    "imaginary": points.imag,
                }
            )
    return rows


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    rows = curves()
    points = [row["real"] + 1j * row["imaginary"] for row in rows]
    crossings = list(map(crossing, points))
    farthest = min(crossings)
    shorter = [x for x, row in zip(crossings, rows, strict=True) if row["rtt_s"] < max(RTTS)]
    nearest = min(float(np.min(np.abs(each + 1.0))) for each in points)
    inside = reach(np.concatenate([*points, [0j]]))
    with page_style():
        figure = Figure(figsize=(9.0, 5.8))
        wide, near = figure.subplots(1, 2)
        for ax in (wide, near):
            for row in rows:
                style: dict[str, Any] = {
                    "color": _COLORS[row["nu_over_kappa"]],
                    "linestyle": _DASHES[row["rtt_s"]],
                    "linewidth": _WIDTHS[row["nu_over_kappa"]],
                }
                ax.plot(row["real"], row["imaginary"], **style)
            ax.plot(-1.0, 0.0, "k+", markersize=11, markeredgewidth=1.8, zorder=5)
            ax.set(xlabel="real part", aspect="equal")
            ax.axhline(0.0, color="0.6", linewidth=0.6, zorder=0)
            ax.axvline(0.0, color="0.6", linewidth=0.6, zorder=0)
            ax.grid(visible=True)
        wide.set(xlim=(-6.0, 1.0), ylim=(-6.0, 1.0), ylabel="imaginary part")
        near.set(xlim=(-1.3, 0.5), ylim=(-1.2, 0.6))
        near.set_title("near −1")
        label_curve(near, (-1.0, -0.11), "−1", "black", "above")
        label_curve(near, (farthest, 0.0), signed(farthest, 3), _COLORS[1000.0], "left")
        for at, ratio, side in ((-3.4, 1000.0, "above"), (-3.4, 10.0, "right")):
            _name(wide, rows, ratio, at, side)
        _legend(wide)
        write_caption(
            figure,
            "Sources answer alike at high frequencies, and no line keeps them from −1",
            f"Each λ of (16), α = {ALPHA:g}, z = {Z:g}/s",
            "The curve of τ = 1 s and ν/κ = 1000 comes nearest to −1, to"
            f" {nearest:.3f}, and crosses the axis farthest out, at {signed(farthest, 3)}. All but"
            f" those of τ = 1 s cross it between {signed(min(shorter), 2)} and"
            f" {signed(max(shorter), 2)}.\n"
            f"The convex hull of all points, of whatever frequencies, holds −1, {-inside:.2f} deep."
            " The eigenvalues of a loop are in the hull of the points of one frequency and 0, which"
            " leaves −1 out.",
            source="Paganini et al. (2002), Figure 1",
        )
        return save_figure(figure, out / "paganini_fig01", rows)


def _name(ax: Axes, rows: list[dict[str, Any]], ratio: float, at: float, side: str) -> None:
    """Name the curve of the longest round-trip time and this ratio where its real part is `at`."""
    (row,) = (r for r in rows if r["nu_over_kappa"] == ratio and r["rtt_s"] == max(RTTS))
    k = int(np.argmax(row["real"] > at))
    text = f"ν/κ = {ratio:g}, τ = {_time(max(RTTS))}"
    label_curve(ax, (at, row["imaginary"][k]), text, _COLORS[ratio], side, rotation=28)


def _legend(ax: Axes) -> None:
    from matplotlib.lines import Line2D

    ratios = [
        Line2D([], [], color=color, linewidth=_WIDTHS[ratio], label=f"ν/κ = {ratio:g}")
        for ratio, color in _COLORS.items()
    ]
    rtts = [
        Line2D([], [], color="0.3", linestyle=dashes, label=f"τ = {_time(rtt)}")
        for rtt, dashes in _DASHES.items()
    ]
    ax.legend(handles=[*ratios, *rtts], loc="lower left", ncols=2, frameon=True, fontsize=8)


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:g} ms" if seconds < 1.0 else f"{seconds:g} s"
