"""Figure 7 of the PI2 paper: margins over load, as printed, and in the sampled model."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.aqms.pie import TABLES
from pi2_fluid.papers.pi2.claims.scaling import gain_over_pie
from pi2_fluid.papers.pi2.scene import FEWEST, INTERVAL, OUTSIDE, PIE, RTT, read_settings
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, Rows
from pi2_fluid.plot import label_curve, mark_outside, mark_unstable, sample_decades, show_percent
from pi2_fluid.units import format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

#: Factors on PIE's gains of the caption: of PI2, and of PI with Scalable senders.
_PI2, _SCALABLE = 2.5, 5.0
_COLORS: Final = {"reno pie": "#E08A00", "reno pi2": "#00579C", "scal pi": "#009E73"}
_MARKS: Final = {"reno pie": "s", "reno pi2": "o", "scal pi": "^"}
_DASHES: Final = {"reno pie": "-.", "reno pi2": "-", "scal pi": "--"}
_NOTE: Final = f"p = p′² for reno, p = p′ for scal.\n{OUTSIDE}"
_PER_DECADE: Final = 100
_MARGINS: Final = ("gain_margin_db", "phase_margin_deg")


def lines(
    update_interval: float = INTERVAL, alpha: float = PIE[0], beta: float = PIE[1]
) -> dict[str, tuple[pf.Sender, PiFamily]]:
    """Return sender and queue of each line by its name; `alpha` and `beta` (Hz) are PIE's.

    The others' are larger by the factors of the figure's caption.
    """

    def with_gains(factor: float) -> dict[str, Any]:
        return {"alpha": factor * alpha, "beta": factor * beta, "update_interval": update_interval}

    return {
        "reno pie": (pf.Reno(), pf.Pie(**with_gains(1.0), table="rfc8033", derandomize=False)),
        "reno pi2": (pf.Reno(), pf.Pi2(**with_gains(_PI2))),
        "scal pi": (pf.Scalable(), pf.Pi(**with_gains(_SCALABLE))),
    }


def curves(update: str, rtt: float = RTT, **of_queues: float) -> list[dict[str, Any]]:
    """Return the plotted numbers by this `update` of `Loop`, one mapping of columns per line.

    Arguments besides `rtt` (s) are those of `lines`. Reno's window falls below two segments for
    p' > 0.71, where the model ends; the paper plots this range and so do we, so that the library's
    warning about it is not repeated here.
    """
    rows = []
    for name, (sender, aqm) in lines(**of_queues).items():
        edges = np.sqrt([edge for edge, _ in TABLES["rfc8033"]]) if name == "reno pie" else ()
        p_prime = sample_decades(-3, 0, _PER_DECADE, edges)
        with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
            loop = pf.Loop(sender, aqm, rtt=rtt, p_prime=p_prime, update=update)
        margins = loop.margins()
        tune = aqm.gain_factor(loop.operating_point.controller)
        rows.append(
            {
                "line": name,
                "update": update,
                "rtt_s": rtt,
                "update_interval_s": aqm.update_interval,
                "p_prime": p_prime,
                "p": loop.operating_point.p,
                "tune": tune,
                "alpha_hz": aqm.alpha * tune,
                "beta_hz": aqm.beta * tune,
                "gain_margin_db": margins.gain_margin_db,
                "phase_margin_deg": margins.phase_margin_deg,
                "gain_crossover_rad_s": margins.gain_crossover,
                "phase_crossover_rad_s": margins.phase_crossover,
            }
        )
    return rows


def limits(rtt: float = RTT, **of_queues: float) -> list[dict[str, Any]]:
    """Return the gain margins as p' goes to 0, of the lines that have one, by three models."""
    rows = []
    for name, (sender, aqm) in lines(**of_queues).items():
        if name == "reno pie":
            continue  # whose table ends at p = 0.0001 %
        continuous, sampled = (
            float(pf.loop.low_load(sender, aqm, rtt, update).gain_margin_db)
            for update in ("continuous", "sampled")
        )
        light: dict[str, Any] = {"rtt": rtt, "p_prime": 1e-6, "update": "sampled", "clock": "acks"}
        acks = float(pf.Loop(sender, aqm, **light).margins().gain_margin_db)
        rows.append(
            {
                "line": name,
                "continuous_db": continuous,
                "sampled_db": sampled,
                "sampled_by_acks_db": acks,
            }
        )
    return rows


def _measure(case: Case) -> Measured:
    settings = read_settings(case.settings)
    continuous, sampled = (curves(update, **settings) for update in ("continuous", "sampled"))
    pi2 = continuous[1]
    margin, gain = pi2["gain_margin_db"], gain_over_pie()
    found = {
        # It rises with the load.
        "p_of_10_db": 100.0 * float(np.interp(10.0, margin, pi2["p_prime"])),
        "gain_margin": float(margin.min()),
        "gain": gain,
        "gain_db": 20.0 * float(np.log10(gain)),
    }
    tables = {"": continuous, "sampled": [*continuous, *sampled], "limits": limits(**settings)}
    return Measured(tables, found)


def _draw_printed(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows = measured.tables[""]
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
    return Caption(
        "The square flattens PI2's gain margin over the load",
        note=_NOTE,
        setting=f"{_times(rows)}, continuous model\n{_gains(rows)}",
    )


def _draw_sampled(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows = measured.tables["sampled"]
    continuous, sampled = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.3, 1))
    for printed, row in zip(continuous, sampled, strict=True):
        name, color = row["line"], _COLORS[row["line"]]
        solid = {"color": color, "linewidth": 2.0, "marker": _MARKS[name], "markersize": 4.5}
        for ax, key in ((top, "gain_margin_db"), (bottom, "phase_margin_deg")):
            x = row["p_prime"]
            ax.plot(x, printed[key], color=color, linestyle=(0, (3, 2)), linewidth=1.1)
            ax.plot(x, row[key], markevery=(30, 55), **solid)
            ax.fill_between(x, row[key], printed[key], color=color, alpha=0.13, linewidth=0)
    _furnish(top, bottom, continuous)
    handles = [
        top.plot([], [], color="0.3", linestyle=(0, (3, 2)), linewidth=1.1)[0],
        top.plot([], [], color="0.3", linewidth=2.0)[0],
    ]
    labels = ["continuous model, as printed", "sampled model: updated every T"]
    top.legend(handles, labels, loc="upper left")
    lowest = {row["line"]: row for row in measured.tables["limits"]}
    for name, row in lowest.items():
        before, after = row["continuous_db"], row["sampled_db"]
        text = f"{name}: {before:.1f} → {after:.1f} dB"
        style = {"fontweight": "bold", "color": _COLORS[name], "va": "center"}
        top.annotate(text, (1.06e-3, (before + after) / 2), **style)
    pi2 = lowest["reno pi2"]
    return Caption(
        f"PI2's ×{_PI2:g} gains: {pi2['continuous_db']:.1f} dB on paper,"
        f" {pi2['sampled_db']:.1f} dB sampled, by rates",
        note="Bold: gain margin as p′ → 0, the smallest, of windows sent over their round-trip"
        f" time; sent by acknowledgements: {pi2['sampled_by_acks_db']:.1f} dB (reno pi2)."
        f"\n{OUTSIDE}",
        setting=f"{_times(rows)}, {_gains(rows)}",
    )


def _times(rows: Rows) -> str:
    rtt, interval = (1e3 * rows[0][name] for name in ("rtt_s", "update_interval_s"))
    return f"R = {rtt:g} ms, T = {interval:g} ms"


def _gains(rows: Rows) -> str:
    parts = []
    for row in rows[: len(_COLORS)]:
        # The last point of PIE's has the whole gains.
        alpha, beta = (float(np.ravel(row[name])[-1]) for name in ("alpha_hz", "beta_hz"))
        tune = " × tune" if row["line"] == "reno pie" else ""
        parts.append(f"{row['line']} ({alpha:g}, {beta:g}){tune}")
    return "(α, β) in Hz: " + ", ".join(parts)


def _furnish(top: Axes, bottom: Axes, rows: Rows) -> None:
    """Scales, grids, regions and the names of the lines, which both versions share."""
    least, most = (
        [float(choose(choose(row[key]) for row in rows)) for key in _MARGINS]
        for choose in (min, max)
    )
    top.set(ylabel="gain margin [dB]", xscale="log", xlim=(1e-3, 1))
    top.set(ylim=(max(-30.0, min(-4.0, least[0] - 2.0)), max(28.0, most[0] + 3.0)))
    bottom.set(ylim=(max(-90.0, min(-20.0, least[1] - 10.0)), max(110.0, most[1] + 10.0)))
    bottom.set(ylabel="phase margin [deg]", xlabel="linear signal probability p′")
    bottom.set_yticks(range(0, 91, 30))
    for ax in (top, bottom):
        ax.grid(visible=True)
        mark_unstable(ax)
        mark_outside(ax, np.sqrt(2.0) / FEWEST, f"W < {FEWEST}" if ax is bottom else "")
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


RECIPE: Final = Recipe(
    caption="Gain and phase margin over p′: Reno under PIE and PI2, Scalable under PI",
    kind="loop",
    measure=_measure,
    pages={"": Page(_draw_printed, (7.2, 6.8)), "sampled": Page(_draw_sampled, (8.0, 6.8))},
    parameters={
        "rtt": format_quantity(RTT, "time"),
        "update_interval": format_quantity(INTERVAL, "time"),
        "alpha": f"{PIE[0]:g}",
        "beta": f"{PIE[1]:g}",
    },
    seeds=1,
    decisions=(
        (
            "The loops are the continuous equations (35) to (37), with a constant round-trip time"
            " as printed. PIE's table is that of RFC 8033."
        ),
        (
            "The gain of PI2 over PIE is the geometric mean over p from 0.0001 % to 100 %, with"
            " PIE's table."
        ),
        (
            f"Alpha and beta that are set are PIE's; PI2 has {_PI2:g} times and PI"
            f" {_SCALABLE:g} times these."
        ),
    ),
    why={
        "p_of_10_db": "At 60 % the margin is just below 10 dB. It passes 10 dB earlier if the"
        " round-trip time varies with the queue (claim pi2-08).",
        "gain_margin": "The margin is smallest as p′ goes to 0. For a controller sampled every T"
        " hardly any is left (claim pi2-09, second picture).",
        "gain": "The paper's 3.5 is the ratio to the curve tune = √(2p). PIE's steps lie above it"
        " on average, so the ratio to them is lower (claim pi2-06).",
        "gain_db": "Gains and gain margins are amplitudes: 3.5 is 10.9 dB. The paper's 5.5 dB"
        " counts it as power (claim pi2-07).",
    },
)
