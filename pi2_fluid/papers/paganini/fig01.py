"""Figure 1 of Paganini and others (2002): what a source adds to the loop, over frequency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.paganini.loci import ALPHA, RATIOS, RTTS, Z, crossing, hulls, locus, signed
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.plot import label_curve
from pi2_fluid.units import validate_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import ComplexArray

# Colour and width of each ratio, dashes of each round-trip time.
_COLORS: Final = dict(zip(RATIOS, ("#CC79A7", "#000000", "#0072B2", "#D55E00"), strict=True))
_WIDTHS: Final = dict(zip(RATIOS, (0.9, 1.2, 1.2, 1.9), strict=True))
_DASHES: Final[dict[float, Any]] = dict(
    zip(RTTS, ((0, (1, 1)), (0, (5, 1, 1, 1)), (0, (4, 1.5)), "-"), strict=True)
)
_POINTS: Final = 2000
_ALIKE: Final = (0.8, 1.25)


def curves(z: float = Z, alpha: float = ALPHA) -> list[dict[str, Any]]:
    """Return the plotted numbers, one mapping of columns per round-trip time and ratio."""
    rows = []
    for rtt in RTTS:
        # From so low that curves leave the picture to three turns.
        theta = np.geomspace(0.02 * (z * rtt) ** 0.5, 6 * np.pi, _POINTS)
        for ratio in RATIOS:
            points = locus(theta, z * rtt, ratio, alpha)
            rows.append(
                {
                    "line": f"{1e3 * rtt:g}ms_{ratio:g}",
                    "rtt_s": rtt,
                    "nu_over_kappa": ratio,
                    "omega_rad_s": theta / rtt,
                    "real": points.real,
                    "imaginary": points.imag,
                    "crossing": crossing(points),
                    "nearest": float(np.min(np.abs(points + 1.0))),
                }
            )
    return rows


def _points(row: Mapping[str, Any]) -> ComplexArray:
    points: ComplexArray = row["real"] + 1j * row["imaginary"]
    return points


def _farthest(z: float, high: bool) -> float:
    """Return the modulus over that of nu = kappa where that is farthest from 1.

    Of all sources, at frequencies from 1/tau on, or below.
    """
    theta = np.geomspace(1.0, 6 * np.pi, 2001) if high else np.geomspace(1e-3, 1.0, 2001)
    alike = np.abs(locus(theta, 0.0, 1.0))
    moduli = np.array([np.abs(locus(theta, z * t, r)) / alike for t in RTTS for r in RATIOS])
    return float(moduli.ravel()[np.argmax(np.abs(np.log(moduli)))])


def _measure(case: Case) -> Measured:
    z = validate_number(case.settings["z"], "number", "z", closed=True)
    alpha = validate_number(case.settings["alpha"], "number", "alpha")
    rows = curves(z, alpha)
    every, one = hulls(z, alpha)
    low = _farthest(z, high=False)
    return Measured(
        {
            "": rows,
            "hulls": [
                {"points": "of all frequencies", "from_minus_1": every},
                {"points": "of one frequency", "from_minus_1": one},
            ],
        },
        {
            "alpha": alpha,
            "z": z,
            "rtt_least": 1e3 * min(row["rtt_s"] for row in rows),
            "rtt_most": 1e3 * max(row["rtt_s"] for row in rows),
            "ratio_least": min(row["nu_over_kappa"] for row in rows),
            "ratio_most": max(row["nu_over_kappa"] for row in rows),
            "apart": not _ALIKE[0] < low < _ALIKE[1],
            "coincide": _farthest(z, high=True),
            "hull": every < 0.0,
        },
    )


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows = measured.tables[""]
    every, single = (float(row["from_minus_1"]) for row in measured.tables["hulls"])
    alpha, z = (float(measured.found[name]) for name in ("alpha", "z"))  # type: ignore[arg-type]
    farthest = min(row["crossing"] for row in rows)
    shorter = [row["crossing"] for row in rows if row["rtt_s"] < max(RTTS)]
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
    no_line = "no line keeps them" if every < 0.0 else "a line keeps them"
    return Caption(
        f"Sources answer alike at high frequencies except over long paths, and {no_line} from −1",
        setting=f"Each λ of (16), α = {alpha:g}, z = {z:g}/s",
        note=(
            f"Nearest to −1: {min(row['nearest'] for row in rows):.3f}. Shorter round-trip times"
            f" than {_time(max(RTTS))} cross the axis at {signed(min(shorter), 2)} to"
            f" {signed(max(shorter), 2)}. −1 is {_distance(every)} the hull of all points,\n"
            f"and {_distance(single)} that of the points of one frequency and 0, in which"
            " eigenvalues lie."
        ),
    )


def _distance(reached: float) -> str:
    return f"{abs(reached):.2f} {'inside' if reached < 0.0 else 'outside'}"


def _name(ax: Axes, rows: Rows, ratio: float, at: float, side: str) -> None:
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


RECIPE: Final = Recipe(
    caption="Nyquist plots of what one source adds to the loop, by round-trip time and utility",
    kind="loop",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 5.8))},
    parameters={"alpha": f"{ALPHA:g}", "z": f"{Z:g}"},
    seeds=1,
    decisions=(
        (
            "The paper gives the ends of the ranges. Between them we take powers of ten, of"
            " nu/kappa 1 and 10."
        ),
        "High frequencies begin at 1/tau, as in the proof. Alike is 0.8 to 1.25.",
    ),
    why={
        "coincide": "The curves of 1 ms to 100 ms coincide. At 1 s, which is not short beside 1/z"
        " = 5 s, and nu/kappa = 0.1 they approach each other only as z/w does (claim paganini-36).",
        "hull": "The hull of all points holds -1. But only points of one frequency combine, and"
        " their hull does not (claim paganini-37).",
        "": "This is equation (16).",
    },
)
