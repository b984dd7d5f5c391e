"""Figure 2 of Paganini and others (2002): the proof's bounds on those curves, and the tight one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.paganini.loci import ALPHA, crossing, locus, perturbed, signed
from pi2_fluid.plot import label_curve, page_style, save_figure, write_caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pi2_fluid.values import ComplexArray, FloatArray

__all__ = ["bounds", "curves", "draw", "largest_published"]

ETA: Final = 0.2
#: alpha and eta of the paper's own simulation: beta 1.5, M 1, round trips of 200 ms and less.
SIMULATED: Final = (0.37, 1.5 / 0.37 * 0.2)
_POINTS: Final = 1500
_BLACK, _BLUE, _RED = "#000000", "#0072B2", "#D55E00"


def largest_published(alpha: float = ALPHA) -> float:
    """Return the eta at which the dashed curve of this alpha reaches -1."""
    from scipy.optimize import brentq

    def beyond(eta: float) -> float:
        return alpha * math.hypot(1.0, eta) - (math.pi / 2 - math.atan(eta))

    return float(brentq(beyond, 0.0, 10.0))


def curves() -> list[dict[str, Any]]:
    """Return the plotted curves, one mapping of columns each."""
    theta = np.geomspace(0.05, 6 * np.pi, _POINTS)
    most = float(pf.loop.eta_max(ALPHA))
    found = {
        "nabla": (0.0, perturbed(theta, 0.0)),
        "nabla_eta": (ETA, perturbed(theta, ETA)),
        "nabla_eta_largest": (largest_published(), perturbed(theta, largest_published())),
        # Of a source that has a utility only, at the longest round-trip time.
        "locus_eta_max": (most, locus(theta, most, np.inf)),
    }
    return [
        {"line": name, "eta": eta, "theta": theta, "real": z.real, "imaginary": z.imag}
        for name, (eta, z) in found.items()
    ]


def bounds() -> list[dict[str, Any]]:
    """Return the largest alpha over eta, published and tight."""
    eta = np.linspace(0.0, 1.0, 401)
    laws = {"published": pf.loop.alpha_max_published, "alpha_max": pf.loop.alpha_max}
    return [{"line": name, "eta": eta, "alpha": law(eta)} for name, law in laws.items()]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    rows, limits = curves(), bounds()
    with page_style():
        figure = Figure(figsize=(9.4, 5.0))
        plane, map_ = figure.subplots(1, 2)
        _draw_curves(plane, rows)
        published, tight = limits
        _draw_bounds(map_, published["alpha"], tight["alpha"], tight["eta"])
        alpha, eta = SIMULATED
        write_caption(
            figure,
            "The proof turns and enlarges one curve; what a source does at most allows for more",
            f"The curves of α = {ALPHA:g}",
            f"∇ crosses the axis at −2α/π = {signed(crossing(_points(rows[0])), 4)}, ∇η of η ="
            f" {ETA:g} at {signed(crossing(_points(rows[1])), 4)}; by (17) and (18) −1 is reached"
            f" at η = {rows[2]['eta']:.4f}, by a source at η = {rows[3]['eta']:.4f}.\n"
            "Right: stable below the lines, whatever the routes and round-trip times. Below the"
            " dashed one by Proposition 3, which says nothing from η = 1/tan 1 = 0.642 on; below"
            f" the solid one by loop.alpha_max. The paper's simulation, α = {alpha:g} and η ="
            f" {eta:.3f}, is below α = {float(pf.loop.alpha_max(eta)):.3f}.",
            source="Paganini et al. (2002), Figure 2",
        )
        return save_figure(figure, out / "paganini_fig02", rows, bounds=limits)


def _points(row: dict[str, Any]) -> ComplexArray:
    points: ComplexArray = row["real"] + 1j * row["imaginary"]
    return points


def _draw_curves(ax: Axes, rows: list[dict[str, Any]]) -> None:
    styles: tuple[dict[str, Any], ...] = (
        {"color": _BLACK, "linestyle": "-", "label": "∇"},
        {"color": _BLACK, "linestyle": "--", "label": f"∇η, η = {ETA:g}"},
        {
            "color": _BLUE,
            "linestyle": (0, (1, 1)),
            "label": f"∇η, η = {rows[2]['eta']:.3f}",
        },
        {
            "color": _RED,
            "linestyle": "-",
            "label": f"λ of ν/κ → ∞, η = {rows[3]['eta']:.3f}",
        },
    )
    for row, style in zip(rows, styles, strict=True):
        ax.plot(row["real"], row["imaginary"], **style)
    ax.plot(-1.0, 0.0, "k+", markersize=11, markeredgewidth=1.8, zorder=5)
    label_curve(ax, (-1.0, 0.0), "−1", "black", "above")
    ax.axhline(0.0, color="0.6", linewidth=0.6, zorder=0)
    ax.axvline(0.0, color="0.6", linewidth=0.6, zorder=0)
    ax.set(xlim=(-2.0, 0.6), ylim=(-2.0, 0.6), xlabel="real part", ylabel="imaginary part")
    ax.set_aspect("equal")
    ax.grid(visible=True)
    ax.legend(loc="lower right", frameon=True, fontsize=8)


def _draw_bounds(ax: Axes, published: FloatArray, ours: FloatArray, eta: FloatArray) -> None:
    says = published > 0.0
    ax.plot(eta, ours, color=_RED, linestyle="-")
    ax.plot(eta[says], published[says], color=_BLUE, linestyle="--")
    ax.plot(eta[says][-1], published[says][-1], "o", color=_BLUE, markersize=4)
    alpha, at = SIMULATED
    ax.plot(at, alpha, "kD", markersize=5)
    label_curve(ax, (at, alpha), "simulated", "black", "left")
    k = int(np.searchsorted(eta, 0.35))
    label_curve(ax, (eta[k] + 0.03, ours[k] + 0.06), "αmax", _RED, "right")
    label_curve(ax, (0.2, published[np.searchsorted(eta, 0.2)] - 0.12), "Prop. 3", _BLUE, "left")
    ax.set(xlim=(0, 1), ylim=(0, 1.7), xlabel="η = z × longest round-trip time", ylabel="α")
    ax.set_yticks([0.0, 0.37, 1.0, math.pi / 2], ["0", "0.37", "1", "π/2"])
    ax.grid(visible=True)
