"""Figure 2 of Paganini and others (2002): the proof's bounds on those curves, and the tight one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.errors import DomainError
from pi2_fluid.papers.paganini.loci import ALPHA, crossing, locus, perturbed, signed
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.plot import label_curve
from pi2_fluid.units import validate_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import ComplexArray, FloatArray

ETA: Final = 0.2
#: alpha and eta of the paper's own simulation: beta 1.5, M 1, round trips of 200 ms and less.
SIMULATED: Final = (0.37, 1.5 / 0.37 * 0.2)
_POINTS: Final = 1500
#: nu/kappa on which bounds are checked.
_RATIOS: Final = (0.1, 1.0, 10.0, 1000.0, math.inf)
_BLACK, _BLUE, _RED = "#000000", "#0072B2", "#D55E00"


def largest_published(alpha: float = ALPHA) -> float:
    """Return the eta at which the dashed curve of this alpha reaches -1."""
    from scipy.optimize import brentq

    def beyond(eta: float) -> float:
        return alpha * math.hypot(1.0, eta) - (math.pi / 2 - math.atan(eta))

    return float(brentq(beyond, 0.0, 10.0))


def curves(alpha: float = ALPHA, eta: float = ETA) -> list[dict[str, Any]]:
    """Return the plotted curves, one mapping of columns each."""
    theta = np.geomspace(0.05, 6 * np.pi, _POINTS)
    most, published = float(pf.loop.eta_max(alpha)), largest_published(alpha)
    curve_points = {
        "nabla": (0.0, perturbed(theta, 0.0, alpha)),
        "nabla_eta": (eta, perturbed(theta, eta, alpha)),
        "nabla_eta_largest": (published, perturbed(theta, published, alpha)),
        # Of a source that has a utility only, at the longest round-trip time.
        "locus_eta_max": (most, locus(theta, most, np.inf, alpha)),
    }
    return [
        {
            "line": name,
            "alpha": alpha,
            "eta": at,
            "theta": theta,
            "real": z.real,
            "imaginary": z.imag,
            "crossing": crossing(z),
        }
        for name, (at, z) in curve_points.items()
    ]


def bounds() -> list[dict[str, Any]]:
    """Return the largest alpha over eta, published and tight."""
    eta = np.linspace(0.0, 1.0, 401)
    laws = {"published": pf.loop.alpha_max_published, "alpha_max": pf.loop.alpha_max}
    return [{"line": name, "eta": eta, "alpha": law(eta)} for name, law in laws.items()]


def low_bound() -> float:
    """Return 1/tan(1) by what the proof needs: the least of v/tan(v) up to v = 1."""
    v = np.linspace(1e-6, 1.0, 100_001)
    return float(np.min(v / np.tan(v)))


def _lead(theta: FloatArray, eta: float, ratio: float) -> ComplexArray:
    """Return V of (16): a source's curve over that of nu = kappa."""
    result: ComplexArray = locus(theta, eta, ratio) / locus(theta, 0.0, 1.0)
    return result


def _measure(case: Case) -> Measured:
    alpha = validate_number(case.settings["alpha"], "number", "alpha")
    eta = validate_number(case.settings["eta"], "number", "eta", closed=True)
    if not 0.0 < alpha < math.pi / 2:
        raise DomainError(
            f"alpha = {alpha:g} has no stable curve: give one above 0 and below pi/2, about 1.57."
        )
    rows = curves(alpha, eta)
    high, low = np.geomspace(1.0, 1e3, 2001), np.linspace(1e-3, 1.0, 2001)[:-1]
    leads = [_lead(high, eta, ratio) for ratio in _RATIOS]
    rounding = 1.0 + 1e-12
    # Of the longest round-trip time and shorter ones, eta just below its bound.
    slow = [
        locus(part * low, part * 0.999 * low_bound(), ratio, alpha).imag
        for part in (0.01, 0.1, 0.3, 1.0)
        for ratio in _RATIOS
    ]
    some = [min(largest_published(a), low_bound()) for a in (0.37, 1.0, 1.2, 1.5)]
    return Measured(
        {"": rows, "bounds": bounds()},
        {
            "solid": rows[0]["crossing"],
            "dashed": rows[1]["crossing"],
            "gain": all(np.all(np.abs(v) <= math.hypot(1, eta) * rounding) for v in leads),
            "lag": all(np.all(np.angle(v) >= -math.atan(eta) * rounding) for v in leads),
            "low": all(np.all(imaginary < 0.0) for imaginary in slow),
            "eta": low_bound(),
            "small_enough": all(eta > 0.0 for eta in some),
        },
    )


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows = measured.tables[""]
    published, tight = measured.tables["bounds"]
    plane, map_ = figure.subplots(1, 2)
    _draw_curves(plane, rows)
    _draw_bounds(map_, published["alpha"], tight["alpha"], tight["eta"])
    solid, dashed, by_proof, by_source = rows
    return Caption(
        "The proof turns and enlarges one curve; what a source does at most allows for more",
        setting=f"The curves of α = {solid['alpha']:g}",
        note=(
            f"∇ crosses the axis at {signed(solid['crossing'], 4)}, ∇η of η = {dashed['eta']:g} at"
            f" {signed(dashed['crossing'], 4)}; −1 is reached at η = {by_proof['eta']:.4f} by (17)"
            f" and (18), at {by_source['eta']:.4f} by a source.\n"
            "Right: stable below the lines whatever the routes; dashed by Proposition 3, solid by"
            " loop.alpha_max, which covers the paper's own simulation."
        ),
    )


def _draw_curves(ax: Axes, rows: Rows) -> None:
    styles: tuple[dict[str, Any], ...] = (
        {"color": _BLACK, "linestyle": "-", "label": "∇"},
        {"color": _BLACK, "linestyle": "--", "label": f"∇η, η = {rows[1]['eta']:g}"},
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


RECIPE: Final = Recipe(
    caption="The curve of a source without utility, and the one that bounds all others",
    kind="loop",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 5.0))},
    parameters={"alpha": f"{ALPHA:g}", "eta": f"{ETA:g}"},
    seeds=1,
    decisions=(
        (
            f"The paper gives no numbers for its curves: alpha = {ALPHA:g}, as in Figure 1, and eta"
            f" = {ETA:g}, which Figure 1 has at 1 s."
        ),
        "The dotted and the red curve and the map on the right are ours.",
    ),
    why={
        "dashed": "The curve crosses where it has made up for atan(eta) of its turn. Up to eta ="
        " 0.49 it would stay below -1 at alpha = 1.",
        "low": "This was computed for 5 ratios nu/kappa and 4 round-trip times, up to the longest.",
        "eta": "This is the least v/tan(v) up to v = 1 (claim paganini-27).",
        "small_enough": "This was computed for alpha = 0.37, 1, 1.2 and 1.5 (claim paganini-38).",
        "": "These are equations (16) to (18).",
    },
    conditions={"dashed": "eta is 0.2; the paper does not give it"},
)
