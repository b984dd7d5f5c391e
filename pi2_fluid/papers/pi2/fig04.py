"""Figure 4 of the PI2 paper: margins of Reno under PIE, with fixed gains and with PIE's table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pi2_fluid as pf
from pi2_fluid.laws.aqms.pie import TABLES
from pi2_fluid.plot import (
    label_curve,
    mark_outside,
    mark_unstable,
    page_style,
    sample_decades,
    save_figure,
    show_percent,
    write_caption,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["curves", "draw"]

RTT: Final = 0.100
ALPHA, BETA, UPDATE_INTERVAL = 0.125, 1.25, 0.032
# name in the file, factor on both gains (None: the table), name shown, colour, dashes, width
_LINES: Final[tuple[tuple[Any, ...], ...]] = (
    ("tune=1", 1.0, "tune = 1", "#B34700", "-.", 1.6),
    ("tune=1/2", 1 / 2, "tune = 1/2", "#CC79A7", "--", 1.6),
    ("tune=1/8", 1 / 8, "tune = 1/8", "#0072B2", (0, (1, 1)), 1.8),
    ("auto_rfc8033", None, "tune = auto (table of RFC 8033)", "#000000", "-", 1.6),
)


def curves() -> list[dict[str, Any]]:
    """Return the plotted numbers, one mapping of columns per line.

    The window of Reno falls below two segments for p > 0.5, where the model ends; the paper plots
    this range and so do we, so that the library's warning about it is not repeated here.
    """
    rows = []
    for name, factor, *_ in _LINES:
        edges = [edge for edge, _ in TABLES["rfc8033"]] if factor is None else []
        p = sample_decades(-6, 0, 40, edges)
        pie = pf.Pie(
            alpha=ALPHA * (factor or 1.0),
            beta=BETA * (factor or 1.0),
            update_interval=UPDATE_INTERVAL,
            table="rfc8033" if factor is None else "none",
        )
        with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
            margins = pf.Loop(pf.Reno(), pie, rtt=RTT, p=p).margins()
        tune = pie.gain_factor(p) if factor is None else factor
        rows.append(
            {
                "line": name,
                "p": p,
                "tune": tune,
                "alpha_hz": ALPHA * tune,
                "beta_hz": BETA * tune,
                "gain_margin_db": margins.gain_margin_db,
                "phase_margin_deg": margins.phase_margin_deg,
                "gain_crossover_rad_s": margins.gain_crossover,
                "phase_crossover_rad_s": margins.phase_crossover,
            }
        )
    return rows


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    rows = curves()
    with page_style():
        figure = Figure(figsize=(7.2, 6.8))
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
            mark_outside(ax, 0.5, "W < 2" if ax is bottom else "")
        _name_lines(top, rows)
        show_percent(bottom)
        write_caption(
            figure,
            "Fixed gains lose their margins as the load falls; PIE's table keeps them",
            f"Reno, R = {1e3 * RTT:g} ms, α = {ALPHA:g} Hz × tune, β = {BETA:g} Hz × tune,"
            f" T = {1e3 * UPDATE_INTERVAL:g} ms, continuous model",
            _note(rows),
            source="PI2 paper, Figure 4",
        )
        return save_figure(figure, out / "pi2_fig04", rows)


def _name_lines(ax: Axes, rows: list[dict[str, Any]]) -> None:
    """Name the fixed gains below zero, where their lines are apart, and the table above."""
    for row, (_, factor, text, color, *_) in zip(rows, _LINES, strict=True):
        level = -12.5 if factor else 20.0
        side = "above" if factor is None else "right" if factor == 1.0 else "left"
        index = int((row["gain_margin_db"] >= level).argmax())
        label_curve(ax, (row["p"][index], level), text, color, side)


def _note(rows: list[dict[str, Any]]) -> str:
    lowest = rows[0]  # tune = 1
    text = (
        "The fixed gains' lines go on below the frames: tune = 1 ends at"
        f" {lowest['gain_margin_db'][0]:.0f} dB and {lowest['phase_margin_deg'][0]:.0f}°"
        f" (not wrapped) at p = {100 * lowest['p'][0]:.4f} %.\n"
        "Grey: Reno's window W is below 2 segments there, and the model no description of TCP."
    )
    return text.replace("-", "\N{MINUS SIGN}")
