"""Figure 13 of the PIE paper: the phase margin as a function of alpha and beta."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.pie.claims import (
    DERIVED,
    FULL,
    HALF,
    LIGHTEST,
    LOWEST,
    PRINTED,
    light_load_margin,
)
from pi2_fluid.papers.pie.reading import DELAY, INTERVAL, LONGEST_RTT, RATIO, TITLES, phase_margin
from pi2_fluid.plot import draw_contours, page_style, save_figure, write_caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["curves", "draw"]

#: Phase margins (deg) at which lines are drawn; 25 is what the paper says of its lightest pair.
LEVELS: Final = (0.0, 25.0, 45.0, 60.0)
_ALPHAS: Final = np.geomspace(1e-4, 1.0, 61)
_BETAS: Final = np.geomspace(1e-3, 10.0, 61)


def curves() -> list[dict[str, Any]]:
    """Return the map by each kappa, one mapping of columns per map: alpha runs within beta."""
    beta = _BETAS[:, None]
    rows = []
    for reading in (DERIVED, PRINTED):
        margin, crossover = phase_margin(reading, LOWEST, _ALPHAS, LONGEST_RTT, beta / _ALPHAS)
        rows.append(
            {
                "kappa": reading.gain,
                "alpha_hz": _ALPHAS,
                "beta_hz": beta,
                "phase_margin_deg": margin,
                "gain_crossover_rad_s": crossover,
            }
        )
    return rows


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    rows = curves()
    with page_style():
        figure = Figure(figsize=(9.4, 5.6))
        axes = figure.subplots(1, 2, sharex=True, sharey=True)
        for ax, row, reading in zip(axes, rows, (DERIVED, PRINTED), strict=True):
            ax.set(xscale="log", yscale="log", xlabel="α [Hz]")
            filled = draw_contours(
                ax, _ALPHAS, _BETAS, row["phase_margin_deg"], LEVELS, "\N{DEGREE SIGN}"
            )
            here = float(phase_margin(reading, LOWEST, LIGHTEST, LONGEST_RTT)[0])
            _mark_pairs(ax, here)
            ax.set_title(TITLES[reading.gain])
        axes[0].set_ylabel("β [Hz]")
        bar = figure.colorbar(filled, ax=list(axes), spacing="uniform", ticks=LEVELS, pad=0.02)
        bar.set_label("phase margin [deg]; hatched: unstable")
        write_caption(
            figure,
            "At the lightest load even the smallest pair of gains is unstable",
            note=(
                f"Reno under PI: R = {1e3 * LONGEST_RTT:g} ms, T = {1e3 * INTERVAL:g} ms,"
                f" p = {100 * LOWEST:g} %, continuous model, (1 + e)/2 kept, {DELAY}. The ranges"
                " of the axes are ours. Cross: the pair that the paper chooses; circles: its larger"
                f" ones; dashed: β = {RATIO:g}α.\n{light_load_margin().in_short()}"
            ),
            source="PIE paper (HPSR'13), Figure 13",
        )
        return save_figure(figure, out / "pie_fig13", rows)


def _mark_pairs(ax: Axes, margin: float) -> None:
    """Mark the paper's pairs of gains, the lightest with its margin."""
    from matplotlib import patheffects

    ground = [patheffects.withStroke(linewidth=2.2, foreground="white")]
    ax.plot(_ALPHAS, RATIO * _ALPHAS, "k--", linewidth=0.9, path_effects=ground)
    larger = np.array([FULL, HALF])
    ax.plot(larger, RATIO * larger, "o", color="black", markerfacecolor="white", markersize=5)
    ax.plot(LIGHTEST, RATIO * LIGHTEST, "+", color="white", markersize=15, markeredgewidth=4.5)
    ax.plot(LIGHTEST, RATIO * LIGHTEST, "+", color="black", markersize=13, markeredgewidth=2.0)
    text = f"{margin:.1f}°, stated 25°".replace("-", "\N{MINUS SIGN}")
    box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none"}
    ax.annotate(
        text, (LIGHTEST, RATIO * LIGHTEST), (13, -1), textcoords="offset points", va="top", bbox=box
    )
    ax.set(xlim=(_ALPHAS[0], _ALPHAS[-1]), ylim=(_BETAS[0], _BETAS[-1]))
