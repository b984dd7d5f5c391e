"""Figure 7 of the PI2 paper: margins over load, as printed, and in the sampled model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.laws.aqms.pi_family import PiFamily
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
    from matplotlib.figure import Figure

__all__ = ["LINES", "curves", "draw"]

RTT: Final = 0.100
UPDATE_INTERVAL: Final = 0.032
#: name -> (sender, queue): the lines of the figure, with the gains of its caption.
LINES: Final[dict[str, tuple[pf.Sender, PiFamily]]] = {
    "reno pie": (
        pf.Reno(),
        pf.Pie(alpha=0.125, beta=1.25, update_interval=UPDATE_INTERVAL, table="rfc8033"),
    ),
    "reno pi2": (pf.Reno(), pf.Pi2(alpha=0.3125, beta=3.125, update_interval=UPDATE_INTERVAL)),
    "scal pi": (pf.Scalable(), pf.Pi(alpha=0.625, beta=6.25, update_interval=UPDATE_INTERVAL)),
}
_COLORS: Final = {"reno pie": "#E08A00", "reno pi2": "#00579C", "scal pi": "#009E73"}
_MARKS: Final = {"reno pie": "s", "reno pi2": "o", "scal pi": "^"}
_DASHES: Final = {"reno pie": "-.", "reno pi2": "-", "scal pi": "--"}
_NOTE: Final = (
    "p = p′² for reno, p = p′ for scal.\n"
    "Grey: Reno's window W is below 2 segments there, and the model no description of TCP."
)
_PER_DECADE: Final = 20  # a sampled margin costs about 10 ms


def curves(update: str) -> list[dict[str, Any]]:
    """Return the plotted numbers by this `update` of `Loop`, one mapping of columns per line.

    Reno's window falls below two segments for p' > 0.71, where the model ends; the paper plots this
    range and so do we, so that the library's warning about it is not repeated here.
    """
    rows = []
    for name, (sender, aqm) in LINES.items():
        edges = np.sqrt([edge for edge, _ in TABLES["rfc8033"]]) if name == "reno pie" else ()
        p_prime = sample_decades(-3, 0, _PER_DECADE, edges)
        with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
            loop = pf.Loop(sender, aqm, rtt=RTT, p_prime=p_prime, update=update)
        margins = loop.margins()
        tune = aqm.gain_factor(loop.operating_point.controller)
        rows.append(
            {
                "line": name,
                "update": update,
                "p_prime": p_prime,
                "p": loop.operating_point.p,
                "alpha_hz": aqm.alpha * tune,
                "beta_hz": aqm.beta * tune,
                "gain_margin_db": margins.gain_margin_db,
                "phase_margin_deg": margins.phase_margin_deg,
                "gain_crossover_rad_s": margins.gain_crossover,
                "phase_crossover_rad_s": margins.phase_crossover,
            }
        )
    return rows


def draw(out: Path) -> list[Path]:
    """Draw the figure as printed, and beside the sampled loop, into `out`; return the files."""
    continuous, sampled = curves("continuous"), curves("sampled")
    with page_style():
        return [
            *save_figure(_draw_printed(continuous), out / "pi2_fig07", continuous),
            *save_figure(
                _draw_sampled(continuous, sampled),
                out / "pi2_fig07_sampled",
                [*continuous, *sampled],
            ),
        ]


def _draw_printed(rows: list[dict[str, Any]]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 6.8))
    top, bottom = figure.subplots(2, 1, sharex=True)
    for row in rows:
        name = row["line"]
        style = {"color": _COLORS[name], "linestyle": _DASHES[name]}
        top.plot(row["p_prime"], row["gain_margin_db"], **style)
        bottom.plot(row["p_prime"], row["phase_margin_deg"], **style)
    _furnish(top, bottom, rows)
    for row in rows[1:]:
        label_curve(
            top, (1.6e-3, row["gain_margin_db"][0]), row["line"], _COLORS[row["line"]], "above"
        )
    write_caption(
        figure,
        "Squaring its output flattens the gain margin of PI2 over load",
        f"R = {1e3 * RTT:g} ms, T = {1e3 * UPDATE_INTERVAL:g} ms, continuous model\n{_gains()}",
        _NOTE,
        source="PI2 paper, Figure 7",
    )
    return figure


def _draw_sampled(continuous: list[dict[str, Any]], sampled: list[dict[str, Any]]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 6.8))
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.3, 1))
    for printed, row in zip(continuous, sampled, strict=True):
        name, color = row["line"], _COLORS[row["line"]]
        solid = {"color": color, "linewidth": 2.0, "marker": _MARKS[name], "markersize": 4.5}
        for ax, key in ((top, "gain_margin_db"), (bottom, "phase_margin_deg")):
            x = row["p_prime"]
            ax.plot(x, printed[key], color=color, linestyle=(0, (3, 2)), linewidth=1.1)
            ax.plot(x, row[key], markevery=(6, 11), **solid)
            ax.fill_between(x, row[key], printed[key], color=color, alpha=0.13, linewidth=0)
    _furnish(top, bottom, continuous)
    handles = [
        top.plot([], [], color="0.3", linestyle=(0, (3, 2)), linewidth=1.1)[0],
        top.plot([], [], color="0.3", linewidth=2.0)[0],
    ]
    labels = ["continuous model, as printed", "sampled model: updated every T"]
    top.legend(handles, labels, loc="upper left")
    limits = {name: _low_load(name) for name in ("reno pi2", "scal pi")}
    for name, (before, after) in limits.items():
        text = f"{name}: {before:.1f} → {after:.1f} dB"
        style = {"fontweight": "bold", "color": _COLORS[name], "va": "center"}
        top.annotate(text, (1.06e-3, (before + after) / 2), **style)
    before, after = limits["reno pi2"]
    write_caption(
        figure,
        f"PI2's ×2.5 gains: {before:.1f} dB on paper, {after:.1f} dB sampled, by rates",
        f"R = {1e3 * RTT:g} ms, T = {1e3 * UPDATE_INTERVAL:g} ms, {_gains()}",
        "Numbers on the lines: gain margin as p′ → 0, the smallest over all loads.\nBoth models are"
        " of mean windows, sent over their round-trip time; flows that send by acknowledgements"
        f" have {_by_acks('reno pi2'):.1f} dB (reno pi2).\n" + _NOTE,
        source="PI2 paper, Figure 7",
    )
    return figure


def _low_load(name: str) -> tuple[float, float]:
    """Return the gain margin (dB) of a line as p' -> 0, continuous and sampled."""
    continuous, sampled = (
        float(pf.loop.low_load(*LINES[name], RTT, update).gain_margin_db)
        for update in ("continuous", "sampled")
    )
    return continuous, sampled


def _by_acks(name: str) -> float:
    """Return the gain margin (dB) of a sampled line by the ack clock, at next to no load."""
    where: dict[str, Any] = {"rtt": RTT, "p_prime": 1e-6, "update": "sampled", "clock": "acks"}
    return float(pf.Loop(*LINES[name], **where).margins().gain_margin_db)


def _gains() -> str:
    parts = []
    for name, (_, aqm) in LINES.items():
        tune = " × tune" if isinstance(aqm, pf.Pie) else ""
        parts.append(f"{name} ({aqm.alpha:g}, {aqm.beta:g}){tune}")
    return "(α, β) in Hz: " + ", ".join(parts)


def _furnish(top: Axes, bottom: Axes, rows: list[dict[str, Any]]) -> None:
    """Scales, grids, regions and the names of the lines, which both versions share."""
    top.set(ylabel="gain margin [dB]", ylim=(-4, 28), xscale="log", xlim=(1e-3, 1))
    bottom.set(ylabel="phase margin [deg]", ylim=(-20, 110), xlabel="linear signal probability p′")
    bottom.set_yticks(range(0, 91, 30))
    for ax in (top, bottom):
        ax.grid(visible=True)
        mark_unstable(ax)
        mark_outside(ax, np.sqrt(0.5), "W < 2" if ax is bottom else "")
    show_percent(bottom)
    places = {
        "reno pie": (top, "gain_margin_db", 0.0098, "above"),
        "reno pi2": (bottom, "phase_margin_deg", 0.35, "right"),
        "scal pi": (bottom, "phase_margin_deg", 0.55, "right"),
    }
    for row in rows:
        ax, key, x, side = places[row["line"]]
        y = float(np.interp(x, row["p_prime"], row[key]))
        label_curve(ax, (x, y), row["line"], _COLORS[row["line"]], side)
    pie = (0.055, float(np.interp(0.055, rows[0]["p_prime"], rows[0]["phase_margin_deg"])))
    label_curve(bottom, pie, "reno pie", _COLORS["reno pie"], "left")
