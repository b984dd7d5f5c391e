"""Figure 4 of the PI2 paper: margins of Reno under PIE, with fixed gains and with PIE's table."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

import pi2_fluid as pf
from pi2_fluid.laws.aqms.pie import TABLES
from pi2_fluid.papers.pi2.scene import FEWEST, INTERVAL, OUTSIDE, PIE, RTT, read_settings
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe
from pi2_fluid.plot import (
    label_curve,
    mark_outside,
    mark_unstable,
    sample_decades,
    show_percent,
)
from pi2_fluid.units import format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.papers.recipe import Rows

# name in the file, factor on both gains (None: the table), name shown, colour, dashes, width
_LINES: Final[tuple[tuple[Any, ...], ...]] = (
    ("tune=1", 1.0, "tune = 1", "#B34700", "-.", 1.6),
    ("tune=1/2", 1 / 2, "tune = 1/2", "#CC79A7", "--", 1.6),
    ("tune=1/8", 1 / 8, "tune = 1/8", "#0072B2", (0, (1, 1)), 1.8),
    ("auto_rfc8033", None, "tune = auto (table of RFC 8033)", "#000000", "-", 1.6),
)


def curves(
    rtt: float = RTT,
    update_interval: float = INTERVAL,
    alpha: float = PIE[0],
    beta: float = PIE[1],
) -> list[dict[str, Any]]:
    """Return the plotted numbers, one mapping of columns per line.

    The window of Reno falls below two segments for p > 0.5, where the model ends; the paper plots
    this range and so do we, so that the library's warning about it is not repeated here.
    """
    rows = []
    for name, factor, *_ in _LINES:
        edges = [edge for edge, _ in TABLES["rfc8033"]] if factor is None else []
        p = sample_decades(-6, 0, 40, edges)
        pie = pf.Pie(
            alpha=alpha * (factor or 1.0),
            beta=beta * (factor or 1.0),
            update_interval=update_interval,
            table="rfc8033" if factor is None else "none",
            derandomize=False,
        )
        with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
            margins = pf.Loop(pf.Reno(), pie, rtt=rtt, p=p).margins()
        tune = pie.gain_factor(p) if factor is None else factor
        rows.append(
            {
                "line": name,
                "rtt_s": rtt,
                "update_interval_s": update_interval,
                "p": p,
                "tune": tune,
                "alpha_hz": alpha * tune,
                "beta_hz": beta * tune,
                "gain_margin_db": margins.gain_margin_db,
                "phase_margin_deg": margins.phase_margin_deg,
                "gain_crossover_rad_s": margins.gain_crossover,
                "phase_crossover_rad_s": margins.phase_crossover,
            }
        )
    return rows


def _measure(case: Case) -> Measured:
    rows = curves(**read_settings(case.settings))
    auto = rows[-1]
    found = {
        "gain_margin": float(auto["gain_margin_db"].min()),
        "phase_margin": float(auto["phase_margin_deg"].min()),
    }
    return Measured({"": rows}, found)


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    top, bottom = figure.subplots(2, 1, sharex=True)
    top.set(ylabel="gain margin [dB]", ylim=(-20, 45), xscale="log", xlim=(1e-6, 1))
    bottom.set(ylabel="phase margin [deg]", ylim=(-60, 120), xlabel="drop probability p")
    bottom.set_yticks(range(-60, 121, 30))
    for row, (_, _, text, color, dashes, width) in zip(rows, _LINES, strict=True):
        style = {"color": color, "linestyle": dashes, "linewidth": width, "label": text}
        top.plot(row["p"], row["gain_margin_db"], **style)
        bottom.plot(row["p"], row["phase_margin_deg"], **style)
    for ax in (top, bottom):
        ax.grid(visible=True)
        mark_unstable(ax)
        mark_outside(ax, 2.0 / FEWEST**2, f"W < {FEWEST}" if ax is bottom else "")
    _name_lines(top, rows)
    show_percent(bottom)
    whole = rows[0]  # tune = 1
    return Caption(
        "Fixed gains lose margin at low load; PIE's table does not",
        note=case.as_printed(_below(rows)) + OUTSIDE,
        setting=f"Reno, R = {1e3 * whole['rtt_s']:g} ms, α = {whole['alpha_hz']:g} Hz × tune,"
        f" β = {whole['beta_hz']:g} Hz × tune, T = {1e3 * whole['update_interval_s']:g} ms,"
        " continuous model",
    )


def _name_lines(ax: Axes, rows: Rows) -> None:
    """Name the fixed gains below zero, where their lines are apart, and the table above."""
    for row, (_, factor, text, color, *_) in zip(rows, _LINES, strict=True):
        level = -12.5 if factor else 20.0
        side = "above" if factor is None else "right" if factor == 1.0 else "left"
        index = int((row["gain_margin_db"] >= level).argmax())
        label_curve(ax, (row["p"][index], level), text, color, side)


def _below(rows: Rows) -> str:
    """Return where lines end that leave the frames, as they do with the paper's gains."""
    lowest = rows[0]  # tune = 1
    text = (
        "The fixed gains' lines go on below the frames: tune = 1 ends at"
        f" {lowest['gain_margin_db'][0]:.0f} dB and {lowest['phase_margin_deg'][0]:.0f}°"
        f" (not wrapped) at p = {100 * lowest['p'][0]:.4f} %.\n"
    )
    return text.replace("-", "\N{MINUS SIGN}")


RECIPE: Final = Recipe(
    caption="Gain and phase margin over the drop probability, with fixed gains and PIE's table",
    kind="loop",
    measure=_measure,
    pages={"": Page(_draw, (7.2, 6.8))},
    parameters={
        "rtt": format_quantity(RTT, "time"),
        "update_interval": format_quantity(INTERVAL, "time"),
        "alpha": f"{PIE[0]:g}",
        "beta": f"{PIE[1]:g}",
    },
    seeds=1,
    decisions=(
        "PIE's table is that of RFC 8033: the paper cites its draft.",
        "The loop is the continuous equation (35), with a constant round-trip time as printed.",
    ),
    why={
        "": "The steps of the table follow the load. The margins are lowest just above a step, and"
        " the table ends at p = 0.0001 % (claim pi2-03)."
    },
)
