"""Figure 13 of the PIE paper: the phase margin as a function of alpha and beta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.pi2.scene import read_settings
from pi2_fluid.papers.pie.claims import DERIVED, FULL, HALF, LIGHTEST, LOWEST, PRINTED
from pi2_fluid.papers.pie.loads import PARAMETERS
from pi2_fluid.papers.pie.reading import DELAY, INTERVAL, LONGEST_RTT, RATIO, TITLES, phase_margin
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe
from pi2_fluid.plot import draw_contours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray, Real

#: Phase margins (deg) at which lines are drawn; 25 is what the paper says of its lightest pair.
LEVELS: Final = (0.0, 25.0, 45.0, 60.0)
_ALPHAS: Final = np.geomspace(1e-4, 1.0, 61)
_BETAS: Final = np.geomspace(1e-3, 10.0, 61)


def curves(rtt: float = LONGEST_RTT, update_interval: float = INTERVAL) -> list[dict[str, Any]]:
    """Return the map by each kappa, one mapping of columns per map: alpha runs within beta."""

    def margins(alpha: Real, ratio: Real) -> tuple[FloatArray, FloatArray]:
        return phase_margin(reading, LOWEST, alpha, rtt, ratio, update_interval)

    beta = _BETAS[:, None]
    rows = []
    for reading in (DERIVED, PRINTED):
        margin, crossover = margins(_ALPHAS, beta / _ALPHAS)
        rows.append(
            {
                "kappa": reading.gain,
                "rtt_s": rtt,
                "update_interval_s": update_interval,
                "lightest_margin_deg": float(margins(LIGHTEST, RATIO)[0]),
                "alpha_hz": _ALPHAS,
                "beta_hz": beta,
                "phase_margin_deg": margin,
                "gain_crossover_rad_s": crossover,
            }
        )
    return rows


def _measure(case: Case) -> Measured:
    rows = curves(**read_settings(case.settings))
    return Measured({"": rows}, {"margin": rows[0]["lightest_margin_deg"]})


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for ax, row in zip(axes, rows, strict=True):
        ax.set(xscale="log", yscale="log", xlabel="α [Hz]")
        filled = draw_contours(
            ax, _ALPHAS, _BETAS, row["phase_margin_deg"], LEVELS, "\N{DEGREE SIGN}"
        )
        _mark_pairs(ax, row["lightest_margin_deg"], case.as_printed(", stated 25°"))
        ax.set_title(TITLES[row["kappa"]])
    axes[0].set_ylabel("β [Hz]")
    bar = figure.colorbar(filled, ax=list(axes), spacing="uniform", ticks=LEVELS, pad=0.02)
    bar.set_label("phase margin [deg]; hatched: unstable")
    rtt, interval = (1e3 * rows[0][name] for name in ("rtt_s", "update_interval_s"))
    return Caption(
        "At the lightest load even the smallest pair of gains is unstable"
        if rows[0]["lightest_margin_deg"] < 0.0
        else "At the lightest load the smallest pair of gains is stable",
        note=f"Reno under PI: R = {rtt:g} ms, T = {interval:g} ms, p = {100 * LOWEST:g} %,"
        f" continuous model, (1 + e)/2 kept, {DELAY}.\nCross: the pair that the paper chooses;"
        f" circles: its larger ones; dashed: β = {RATIO:g}α.",
    )


def _mark_pairs(ax: Axes, margin: float, stated: str) -> None:
    """Mark the paper's pairs of gains, the lightest with its margin."""
    from matplotlib import patheffects

    ground = [patheffects.withStroke(linewidth=2.2, foreground="white")]
    ax.plot(_ALPHAS, RATIO * _ALPHAS, "k--", linewidth=0.9, path_effects=ground)
    larger = np.array([FULL, HALF])
    ax.plot(larger, RATIO * larger, "o", color="black", markerfacecolor="white", markersize=5)
    ax.plot(LIGHTEST, RATIO * LIGHTEST, "+", color="white", markersize=15, markeredgewidth=4.5)
    ax.plot(LIGHTEST, RATIO * LIGHTEST, "+", color="black", markersize=13, markeredgewidth=2.0)
    text = f"{margin:.1f}°{stated}".replace("-", "\N{MINUS SIGN}")
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none"}
    ax.annotate(
        text, (LIGHTEST, RATIO * LIGHTEST), (13, -1), textcoords="offset points", va="top", bbox=box
    )
    ax.set(xlim=(_ALPHAS[0], _ALPHAS[-1]), ylim=(_BETAS[0], _BETAS[-1]))


RECIPE: Final = Recipe(
    caption="Phase margin over alpha and beta at the lightest load and the longest round-trip time",
    kind="loop",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 5.6))},
    parameters=PARAMETERS,
    seeds=1,
    decisions=(
        (
            "Equation (9) has two readings: κ as printed, and as (5) to (8) give it, which we"
            " judge. We keep (1 + e)/2."
        ),
        "We chose the ranges of the axes.",
    ),
    why={
        "margin": "The loop is unstable at this load in every reading that has its delay. Only"
        " without the delay does the margin come near the stated one (claim pie-19)."
    },
)
