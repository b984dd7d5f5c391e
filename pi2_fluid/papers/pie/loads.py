"""Phase margin and gain crossover over the load, which Figures 15 and 16 of the PIE paper share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.laws.aqms.pie import TABLES
from pi2_fluid.papers.pi2.scene import load_where
from pi2_fluid.papers.pie.claims import DERIVED, FULL, HALF, LIGHTEST, PRINTED
from pi2_fluid.papers.pie.reading import (
    DELAY,
    INTERVAL,
    LONGEST_RTT,
    RATIO,
    TITLES,
    Reading,
    phase_margin,
)
from pi2_fluid.units import format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.papers.recipe import Rows
    from pi2_fluid.values import FloatArray, Real

#: What the figures of these loops can be made with other values of.
PARAMETERS: Final = {
    "rtt": format_quantity(LONGEST_RTT, "time"),
    "update_interval": format_quantity(INTERVAL, "time"),
}

#: alpha (Hz) of each line, in the paper's order; None follows PIE's table.
LINES: Final[dict[str, float | None]] = {
    "0.125:1.25": FULL,
    "0.0625:0.625": HALF,
    "0.0156:0.156": LIGHTEST,
    "auto-tuned": None,
}
_TABLE: Final = pf.Pie(alpha=FULL, beta=RATIO * FULL, variant="hpsr13")
_STYLES: Final[dict[str, dict[str, Any]]] = {
    "0.125:1.25": {"color": "#B34700", "linestyle": "-."},
    "0.0625:0.625": {"color": "#009E73", "linestyle": "--"},
    "0.0156:0.156": {"color": "#0072B2", "linestyle": (0, (1, 1)), "linewidth": 1.9},
    "auto-tuned": {"color": "0.78", "linestyle": "-", "linewidth": 6.0, "zorder": 1.5},
}
_ROOTS: Final = (0.01, 0.6)
_POINTS: Final = 237
_BELOW: Final = 1.0 - 1e-8  # of an edge of the table, so that its step is drawn as one
_SEARCHED: Final = (1e-5, 0.5)  # loads between which a loop is looked for that becomes stable


def curves(rtt: float = LONGEST_RTT, update_interval: float = INTERVAL) -> list[dict[str, Any]]:
    """Return margins and crossovers by each kappa, one mapping of columns per line.

    The simplified margin is that with (1 + e)/2 taken as 1, as (9) has it.
    """

    def margins(reading: Reading) -> tuple[FloatArray, FloatArray]:
        return phase_margin(reading, p, alpha, rtt, RATIO, update_interval)

    edges = np.array([edge for edge, _ in TABLES["hpsr13"]])
    even = np.linspace(*_ROOTS, _POINTS) ** 2
    p = np.unique(np.concatenate([even[~np.isclose(even, edges[:, None]).any(axis=0)], edges,
                                  edges * _BELOW]))  # fmt: skip
    tuned = float(_TABLE.alpha) * np.asarray(_TABLE.gain_factor(p))
    alpha = np.array([tuned if a is None else np.full_like(p, a) for a in LINES.values()])
    rows = []
    for reading in (DERIVED, PRINTED):
        margin, crossover = margins(reading)
        simplified, _ = margins(replace(reading, kept=False))
        rows += [
            {
                "line": name,
                "kappa": reading.gain,
                "rtt_s": rtt,
                "update_interval_s": update_interval,
                "sqrt_p": np.sqrt(p),
                "p": p,
                "alpha_hz": alpha[k],
                "beta_hz": RATIO * alpha[k],
                "phase_margin_deg": margin[k],
                "gain_crossover_rad_s": crossover[k],
                "simplified_margin_deg": simplified[k],
            }
            for k, name in enumerate(LINES)
        ]
    return rows


def stable_from(
    reading: Reading, alpha: float, rtt: float = LONGEST_RTT, update_interval: float = INTERVAL
) -> float:
    """Return the load from which on these gains have a phase margin, between 0.001 and 50 %."""

    def margin(p: Real) -> FloatArray:
        return phase_margin(reading, p, alpha, rtt, RATIO, update_interval)[0]

    low, high = margin(np.array(_SEARCHED))
    if low > 0.0 or high < 0.0:
        return _SEARCHED[0] if low > 0.0 else _SEARCHED[1]
    return load_where(lambda p: float(margin(p)), *_SEARCHED)


def order(rows: Rows, key: str, highest: float, sign: int) -> float:
    """Return 1 if a column rises (`sign` 1) or falls with smaller gains at every load, else 0.

    Up to the load `highest`, and by each kappa.
    """
    fixed = [[row for row in rows if row["kappa"] == kappa][:-1] for kappa in TITLES]
    shown = rows[0]["p"] <= highest
    steps = [np.diff([row[key][shown] for row in lines], axis=0) for lines in fixed]
    return float(np.all(sign * np.array(steps) > 0.0))


def setting(rows: Rows) -> str:
    """Return what both figures have in common, for their notes."""
    rtt, interval = (1e3 * rows[0][name] for name in ("rtt_s", "update_interval_s"))
    return (
        f"Reno under PI: R = {rtt:g} ms, T = {interval:g} ms, continuous model, (1 + e)/2 kept,"
        f" {DELAY}. Above: p. Broad and grey: as PIE's table chooses."
    )


def draw_over_loads(figure: FigureBase, rows: Rows, key: str) -> list[Axes]:
    """Draw one column of the curves over the root of p, a panel for each kappa."""
    axes: list[Axes] = list(figure.subplots(1, 2, sharex=True, sharey=True))
    for ax, (kappa, title) in zip(axes, TITLES.items(), strict=True):
        for row in rows:
            if row["kappa"] == kappa:
                ax.plot(row["sqrt_p"], row[key], label=row["line"], **_STYLES[row["line"]])
        ax.set(xlabel="√p", xlim=(0.0, _ROOTS[1]))
        ax.set_title(title, fontsize=9, color="0.25")
        ax.grid(visible=True)
        _show_loads(ax)
    return axes


def _show_loads(ax: Axes) -> None:
    """Give the loads themselves on a second axis above."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    above = ax.secondary_xaxis("top", functions=(np.square, np.sqrt))
    above.xaxis.set_major_locator(FixedLocator([0.0001, 0.01, 0.04, 0.1, 0.2, 0.3]))
    above.xaxis.set_minor_locator(NullLocator())
    above.xaxis.set_major_formatter(FuncFormatter(lambda p, _: f"{100 * p:.6g} %"))
