"""Figure 14 of the PIE paper: the loop at two round-trip times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.errors import DomainError
from pi2_fluid.papers.pi2.scene import read_settings
from pi2_fluid.papers.pie.claims import DERIVED, FULL, HALF, LIGHTEST, STATED
from pi2_fluid.papers.pie.loads import PARAMETERS
from pi2_fluid.papers.pie.reading import DELAY, INTERVAL, LONGEST_RTT, RATIO, fits
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.units import format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

#: alpha (Hz) of the paper's pairs of gains, largest first.
PAIRS: Final = (FULL, HALF, LIGHTEST)
_FREQUENCIES: Final = np.geomspace(0.1, 50.0, 401)
_COLORS: Final = ("#000000", "#D55E00")
# Where the margin of each round-trip time is written.
_PLACES: Final[tuple[dict[str, Any], ...]] = (
    {"xytext": (0, -4), "ha": "center", "va": "top"},
    {"xytext": (4, 3), "ha": "left", "va": "bottom"},
)
_DASHES: Final = ("-", (0, (5, 1.5)))


def curves(rtt: float = LONGEST_RTT, update_interval: float = INTERVAL) -> list[dict[str, Any]]:
    """Return L(jw), one mapping of columns per pair of gains and round-trip time.

    These are `rtt` and half of it. The load of each pair is the one that gives the first of the
    stated margins at `rtt`.

    Raises
    ------
    DomainError
        If no load does.
    """
    loads = {
        fit.alpha: fit.p
        for fit in fits([DERIVED], PAIRS, float(STATED[0]), rtt, update_interval)
        if fit.times == 1
    }
    if len(loads) < len(PAIRS):
        raise DomainError(
            f"rtt = {format_quantity(rtt, 'time')} has no load at which all pairs of gains have"
            f" {STATED[0]} deg: give a longer one, such as {1e3 * LONGEST_RTT:g}ms."
        )
    p, alpha = np.array([loads[alpha] for alpha in PAIRS]), np.array(PAIRS)
    aqm = pf.Pi(alpha=alpha, beta=RATIO * alpha, update_interval=update_interval)
    rtts = (rtt, rtt / 2)
    loop = pf.Loop(pf.Reno(), aqm, rtt=np.array(rtts)[:, None], p=p)
    margins = loop.margins()
    margin, crossover = map(np.asarray, (margins.phase_margin_deg, margins.gain_crossover))
    response = np.asarray(loop(1j * _FREQUENCIES[:, None, None]))
    return [
        {
            "alpha_hz": alpha[k],
            "beta_hz": RATIO * alpha[k],
            "p": p[k],
            "rtt_s": each,
            "update_interval_s": update_interval,
            "phase_margin_deg": margin[j, k],
            "gain_crossover_rad_s": crossover[j, k],
            "omega_rad_s": _FREQUENCIES,
            "gain_db": 20.0 * np.log10(np.abs(response[:, j, k])),
            "phase_deg": np.degrees(np.unwrap(np.angle(response[:, j, k]))),
        }
        for k in range(len(PAIRS))
        for j, each in enumerate(rtts)
    ]


def _draw_pair(axes: tuple[Axes, Axes], rows: Rows) -> None:
    """Draw gain and phase of one pair of gains, with its phase margins."""
    for ax, level in zip(axes, (0.0, -180.0), strict=True):
        ax.axhline(level, color="0.5", linewidth=0.8)
        ax.grid(visible=True)
    for row, color, dashes, place in zip(rows, _COLORS, _DASHES, _PLACES, strict=True):
        style: dict[str, Any] = {"color": color, "linestyle": dashes}
        name = f"R = {1e3 * row['rtt_s']:g} ms"
        axes[0].semilogx(row["omega_rad_s"], row["gain_db"], label=name, **style)
        axes[1].semilogx(row["omega_rad_s"], row["phase_deg"], **style)
        w, margin = float(row["gain_crossover_rad_s"]), float(row["phase_margin_deg"])
        axes[1].vlines(w, -180.0, margin - 180.0, color=color, linewidth=3, alpha=0.4)
        # Beside the longer bar's end, and below the shorter bar, where no curve is.
        at = -180.0 if place["va"] == "top" else margin - 180.0
        axes[1].annotate(
            f"{margin:.1f}°", (w, at), textcoords="offset points", color=color, **place
        )


def _draw_stated(ax: Axes, rows: Rows) -> None:
    """Draw the phase that the second of the stated margins means."""
    stated = float(STATED[1]) - 180.0
    half = float(rows[1]["gain_crossover_rad_s"])
    ax.hlines(stated, _FREQUENCIES[0], half, color="0.35", linewidth=1.0, linestyle="dotted")
    ax.annotate(
        f"stated: {STATED[1]}°", (_FREQUENCIES[0], stated), (4, 2), textcoords="offset points"
    )


def _measure(case: Case) -> Measured:
    rows = curves(**read_settings(case.settings))
    first, half = ([float(row["phase_margin_deg"]) for row in rows[j::2]] for j in (0, 1))
    # Of three pairs of gains, the one that comes closest to what is stated.
    best = [
        min(found, key=lambda margin, said=float(text): abs(margin - said))  # type: ignore[misc]
        for found, text in zip((first, half), STATED, strict=True)
    ]
    return Measured({"": rows}, {"margin_100ms": best[0], "margin_50ms": best[1]})


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    halves = rows[1::2]
    axes: Any = figure.subplots(2, len(PAIRS), sharex=True, sharey="row")
    for pair, half in zip(axes.T, zip(rows[::2], halves, strict=True), strict=True):
        _draw_pair(pair, half)
        if not case.changed:
            _draw_stated(pair[1], half)
    axes[0][0].set(ylabel="|L| [dB]", ylim=(-40, 40), xlim=_FREQUENCIES[[0, -1]])
    axes[1][0].set(ylabel="phase of L [deg]", ylim=(-360, -45), yticks=range(-360, -45, 45))
    for ax in axes[1]:
        ax.set_xlabel("frequency [rad/s]")
    axes[0][0].legend(loc="lower left")
    for ax, row in zip(axes[0], halves, strict=True):
        text = f"α = {row['alpha_hz']:g}, β = {row['beta_hz']:g} Hz\np = {100 * row['p']:.2f} %"
        ax.set_title(text, fontsize=9, color="0.25")
    reached = max(float(row["phase_margin_deg"]) for row in halves)
    stated = case.as_printed(f", not to {STATED[1]}°")
    return Caption(
        f"Half the round-trip time lifts the phase margin from {STATED[0]}° to at most"
        f" {reached:.1f}°{stated}",
        note=f"Reno under PI, T = {1e3 * rows[0]['update_interval_s']:g} ms, loads fitted to"
        f" {STATED[0]}° at {1e3 * rows[0]['rtt_s']:g} ms. Bars: phase margins.",
    )


RECIPE: Final = Recipe(
    caption="Bode diagram of the loop at round-trip times of 100 and 50 ms",
    shows="Bode diagram of the loop at a round-trip time and half of it",
    kind="loop",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 6.4))},
    parameters=PARAMETERS,
    seeds=1,
    decisions=(
        f"The loop is equation (9) with κ = αR/(2pT). We keep (1 + e)/2, {DELAY}.",
        (
            f"The paper gives neither gains nor load. We fit the load of each pair to {STATED[0]}°"
            " at 100 ms, and keep it at 50 ms."
        ),
    ),
    why={
        "margin_50ms": "No reading of the equation gives both numbers, at any load or with any of"
        " the paper's gains (claims pie-18 and pie-18b)."
    },
    conditions={"margin_100ms": "we fit the load to it"},
)
