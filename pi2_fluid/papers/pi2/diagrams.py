"""Figures 1, 2, 3, 8 and 9 of the PI2 paper: what PIE adds to PI, and PI2 instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.papers.pi2.scene import INTERVAL, PIE, RTT, TUNED_PI2, read_settings
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe
from pi2_fluid.units import format_quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import ComplexArray

#: p′ at which the constants are given.
LOAD: Final = 0.1
_GREY, _GREEN, _BLUE = "#4D4D4D", "#00785A", "#00579C"


class Block(NamedTuple):
    """A block of a loop."""

    formula: str
    """Its transfer function as mathtext."""
    response: Callable[[Mapping[str, Any], ComplexArray], ComplexArray]
    """The same, of the loop's constants at complex s."""


#: What a loop L(s) is the product of: controller, queue, and one of the senders.
BLOCKS: Final[Mapping[str, Block]] = {
    "controller": Block(
        r"$\kappa_A\,(s/z_A + 1)/s$", lambda at, s: at["kappa_a_hz"] * (s / at["z_a_rad_s"] + 1) / s
    ),
    "queue": Block(r"$1/(s/s_A + 1)$", lambda at, s: 1 / (s / at["s_a_rad_s"] + 1)),
    "reno": Block(
        r"$\kappa\,e^{-sR} / \left(s/s_R + (1 + e^{-sR})/2\right)$",
        lambda at, s: at["kappa"] * _echo(at, s) / (s / at["pole_rad_s"] + (1 + _echo(at, s)) / 2),
    ),
    "scalable": Block(
        r"$\kappa\,e^{-sR} / \left(s/s_S + e^{-sR}\right)$",
        lambda at, s: at["kappa"] * _echo(at, s) / (s / at["pole_rad_s"] + _echo(at, s)),
    ),
}


def _echo(at: Mapping[str, Any], s: ComplexArray) -> ComplexArray:
    echo: ComplexArray = np.exp(-s * at["rtt_s"])
    return echo


def _charts(interval: float) -> list[tuple[str, pf.Sender, PiFamily]]:
    """Figure, sender and queue of each loop, with the gains of the paper."""
    pie: dict[str, Any] = {"alpha": PIE[0], "beta": PIE[1], "update_interval": interval}
    pi2: dict[str, Any] = {"alpha": TUNED_PI2[0], "beta": TUNED_PI2[1], "update_interval": interval}
    return [
        ("2", pf.Reno(), pf.Pi(**pie)),
        ("3", pf.Reno(), pf.Pie(**pie, target="20ms", table="rfc8033", derandomize=False)),
        ("8", pf.Reno(), pf.Pi2(**pi2)),
        ("9", pf.Reno(), pf.CoupledPi2(**pi2)),
        ("9", pf.Scalable(), pf.CoupledPi2(**pi2)),
    ]


def loops(rtt: float = RTT, update_interval: float = INTERVAL) -> list[dict[str, Any]]:
    """Return the constants of every loop drawn, as `Loop.explain` gives them at p′ = 10 %."""
    rows = []
    for figure, sender, aqm in _charts(update_interval):
        # What a loop is given as p′ is the sender's own probability, k times the controller's.
        mine = LOAD * float(getattr(aqm, "k", 1.0)) if sender.signal == "scalable" else LOAD
        loop = pf.Loop(sender, aqm, rtt=rtt, p_prime=mine)
        terms = {term.name: float(term.value) for term in loop.explain()}
        plant = "reno" if "s_R" in terms else "scalable"
        controller = loop.operating_point.controller
        rows.append(
            {
                "figure": figure,
                "queue": type(aqm).__name__,
                "sender": plant,
                "rtt_s": rtt,
                "update_interval_s": update_interval,
                "target_s": float(aqm.target),
                "alpha_hz": float(aqm.alpha),
                "beta_hz": float(aqm.beta),
                "tune": float(aqm.gain_factor(controller)),
                "k": float(getattr(aqm, "k", 1.0)),
                "controller": float(controller),
                "p": float(loop.operating_point.p),
                "kappa": terms["kappa"],
                "kappa_a_hz": terms["kappa_A"],
                "z_a_rad_s": terms["z_A"],
                "s_a_rad_s": terms["s_A"],
                "pole_rad_s": terms["s_R" if plant == "reno" else "s_S"],
            }
        )
    return rows


def _measure(case: Case) -> Measured:
    return Measured({"": loops(**read_settings(case.settings))})


# Boxes: left edge and width; a row of them is one chart.
_PLACES: Final = {"queue": (1, 15), "controller": (20, 32), "signal": (56, 17), "sender": (77, 22)}
_ROWS: Final = {"2": (80.0, 13.0), "3": (55.0, 13.0), "8": (30.0, 13.0), "9": (0.0, 17.0)}
_TITLES: Final = {
    "2": "Figure 2: PI",
    "3": "Figure 3: PIE; in green what it adds",
    "8": "Figures 1a and 8: PI2; in blue what it puts in the place of PIE's table",
    "9": "Figures 1b and 9: coupled PI and PI2, by the ECN field of packets",
}


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    ax: Any = figure.subplots()
    ax.set(xlim=(0, 100), ylim=(-6, 100))
    ax.axis("off")
    rows = measured.tables[""]
    for chart, (bottom, height) in _ROWS.items():
        _draw_chart(ax, chart, [row for row in rows if row["figure"] == chart], bottom, height)
    rtt, interval = (1e3 * rows[0][name] for name in ("rtt_s", "update_interval_s"))
    return Caption(
        "PI2 controls p′ and squares it last, where PIE scales every step of p",
        note=f"Blocks by (31) to (34), multiplied in (35) to (37); constants at R = {rtt:g} ms,"
        f" T = {interval:g} ms, p′ = {100 * LOAD:g} %. Y: random numbers from 0 to 1.\n"
        "κ: elasticity of the window by the controller's variable. Gains in Hz; corners s and z in"
        " rad/s, κ_A in 1/s.",
    )


def _draw_chart(
    ax: Axes, chart: str, rows: list[Mapping[str, Any]], bottom: float, height: float
) -> None:
    """Draw queue, controller, signals and senders of one figure, and what leads back."""
    row, middle = rows[0], bottom + height / 2
    ax.text(0, bottom + height + 1.2, _TITLES[chart], fontsize=9.5, fontweight="bold", va="bottom")
    step = r"$\alpha\,(\tau - \tau_0) + \beta\,(\tau - \tau_{-T})$"
    variable, edge = ("p", _GREY) if chart in "23" else ("p'", _BLUE)
    sum_line = rf"${variable} \leftarrow {variable} + $" + step
    if chart == "3":
        sum_line = r"$p \leftarrow p + \mathrm{tune}(p)\,[$" + step + "$]$"
    numbers = f"α = {row['alpha_hz']:g}, β = {row['beta_hz']:g}, τ₀ = {1e3 * row['target_s']:g} ms"
    tuned = f", tune = 1/{1 / row['tune']:g}" if chart == "3" else ""
    _box(ax, "queue", bottom, height, _GREY, "queue", r"$\tau = q/C$",
         BLOCKS["queue"].formula, f"$s_A$ = {row['s_a_rad_s']:.3g}")  # fmt: skip
    _box(ax, "controller", bottom, height, _GREEN if chart == "3" else edge,
         "PI" + (" × table" if chart == "3" else "") + ", every T", sum_line,
         numbers + tuned, BLOCKS["controller"].formula,
         rf"$\kappa_A$ = {row['kappa_a_hz']:.3g}, $z_A$ = {row['z_a_rad_s']:.3g}")  # fmt: skip
    _arrow(ax, (_end("queue"), middle), (_PLACES["controller"][0], middle))
    part, low = height / len(rows), bottom
    for place, mine in enumerate(rows):
        low = bottom + height - (place + 1) * part + (0.6 if len(rows) > 1 else 0.0)
        size = part - (1.2 if len(rows) > 1 else 0.0)
        _box(ax, "signal", low, size, _GREY if chart in "23" else _BLUE, *_signal(chart, mine))
        name = {"reno": "Reno", "scalable": "Scalable (DCTCP)"}[mine["sender"]]
        pole = "s_R" if mine["sender"] == "reno" else "s_S"
        _box(ax, "sender", low, size, _GREY, f"{name}: window W", BLOCKS[mine["sender"]].formula,
             rf"$\kappa$ = {mine['kappa']:.3g}, ${pole}$ = {mine['pole_rad_s']:.3g}")  # fmt: skip
        level = low + size / 2
        _arrow(ax, (_end("controller"), level), (_PLACES["signal"][0], level))
        _arrow(ax, (_end("signal"), level), (_PLACES["sender"][0], level))
    # From the senders back to the queue, below all.
    back, out = bottom - 2.2, _PLACES["sender"][0] + _PLACES["sender"][1] / 2
    home = _PLACES["queue"][0] + _PLACES["queue"][1] / 2
    ax.plot([out, out, home], [low, back, back], color="0.3", linewidth=1.0)
    _arrow(ax, (home, back), (home, bottom))
    ax.text((out + home) / 2, back - 0.4, "packets", fontsize=7.5, color="0.35", ha="center",
            va="top")  # fmt: skip


def _signal(chart: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what turns the controller's variable into signals, and how it is drawn."""
    if chart in "23":
        return "drop or mark", "$p$", r"if $Y < p$"
    if row["sender"] == "scalable":
        return "mark: ECT(1)", rf"$p_s = k\,p'$, $k$ = {row['k']:g}", r"if $Y < k\,p'$"
    formula = "$p = p'^2$" if chart == "8" else r"$p_c = p'^2 = (p_s/k)^2$"
    return "drop or mark", formula, r"if $\max(Y_1, Y_2) < p'$"


def _end(name: str) -> float:
    return float(sum(_PLACES[name]))


def _box(ax: Axes, name: str, low: float, height: float, color: str, *lines: str) -> None:
    """Draw a box with its name and lines of text, evenly spaced."""
    from matplotlib.patches import FancyBboxPatch

    left, width = _PLACES[name]
    style: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=0.8", "linewidth": 1.4}
    ground = {_GREY: "#F4F4F4", _GREEN: "#E3F3EC", _BLUE: "#E4EEF8"}[color]
    box = FancyBboxPatch((left, low), width, height, edgecolor=color, facecolor=ground, **style)
    ax.add_patch(box)
    for place, text in enumerate(lines):
        level = low + height * (0.5 + 0.88 * (0.5 - (place + 0.5) / len(lines)))
        weight = "bold" if place == 0 else "normal"
        ax.text(left + width / 2, level, text, fontsize=7.6, ha="center", va="center",
                fontweight=weight, color=color if place == 0 else "0.1")  # fmt: skip


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": "0.3", "shrinkA": 0, "shrinkB": 0, "linewidth": 1.0}
    ax.annotate("", end, start, arrowprops=style)


RECIPE: Final = Recipe(
    caption="Block diagrams of PI, PIE, PI2 and the coupled queue, with the terms of their loops",
    kind="diagram",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 8.8))},
    parameters={
        "rtt": format_quantity(RTT, "time"),
        "update_interval": format_quantity(INTERVAL, "time"),
    },
    seeds=1,
    decisions=(
        (
            "One page has Figures 1, 2, 3, 8 and 9. Sender and queue, from Appendix B of the"
            " paper, close each loop. Of PIE's heuristics only the table is in it."
        ),
    ),
)
