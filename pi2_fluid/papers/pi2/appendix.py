"""Appendices of the PI2 paper: its constants and loops as printed, beside those derived here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.pi2.claims.practice import cubic_sawtooth, sawtooth
from pi2_fluid.papers.pi2.scene import INTERVAL, PIE, RTT, read_settings
from pi2_fluid.papers.recipe import Case, Measured, Recipe
from pi2_fluid.papers.stated import stated
from pi2_fluid.units import format_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray

#: p' of the loops that are compared.
LOADS: Final = (0.01, 0.1, 0.5)
_FREQUENCIES: Final = np.geomspace(0.1, 100.0, 50)
_NEAR: Final = 1e-9
#: Cubic's decrease in the paper that (6) is taken from; Linux came to remove 0.3.
_FIRST_CUBIC: Final = 0.2
#: p at which fluid windows are asked for: there Cubic is in its cubic region.
_LIGHT: Final = 1e-8


def constants() -> list[dict[str, Any]]:
    """Return the constants by key: as printed, of periodic signals, and of the fluid model."""
    reno, creno = (sawtooth(float(law.decrease)) for law in (pf.Reno(), pf.CReno()))
    cubic, dctcp = cubic_sawtooth(_FIRST_CUBIC), _LIGHT * _window(pf.Dctcp())
    fluid = [_window(pf.Reno()) * _LIGHT**0.5, _window(pf.CReno()) * _LIGHT**0.5]
    fluid_cubic = _window(pf.Cubic()) * (_LIGHT / RTT) ** 0.75
    both = {
        "reno": (reno, fluid[0]),
        "cubic": (cubic, fluid_cubic),
        "creno": (creno, fluid[1]),
        # Where (6) and (7) give the same window, and where (7) and (11) do.
        "switch": (creno**3 / cubic**2, fluid[1] ** 3 / fluid_cubic**2),
        "dctcp": (dctcp, dctcp),
        "k": (dctcp / creno, dctcp / fluid[1]),
    }
    printed = {row.key: row.value for row in stated("pi2:appendix")}
    return [
        {"constant": key, "printed": float(printed[key]), "periodic": periodic, "fluid": mean}
        for key, (periodic, mean) in both.items()
    ]


def _window(sender: pf.Sender) -> float:
    """Return the window at rest (segments), the first of what a sender's rest is."""
    return float(np.ravel(np.asarray(sender.at_rest(RTT, _LIGHT), dtype=float))[0])


def printed_loop(
    equation: int,
    s: ComplexArray,
    p_prime: float,
    rtt: float,
    interval: float,
    gains: tuple[float, float],
) -> ComplexArray:
    """Return L(s) by (35), (36) or (37), letter by letter; `gains` are alpha and beta (Hz)."""
    alpha, beta = gains
    kappa_s, s_s = 1.0 / p_prime, p_prime / (2.0 * rtt)
    kappa_r, s_r = kappa_s**2 / 2.0, np.sqrt(2.0) * p_prime / rtt
    kappa_a, z_a, s_a = alpha * rtt / interval, alpha / (interval * (beta + alpha / 2.0)), 1.0 / rtt
    e = np.exp(-s * rtt)
    kappa = kappa_r if equation == 35 else kappa_s
    window = s / s_s + e if equation == 37 else s / s_r + (1.0 + e) / 2.0
    loop: ComplexArray = kappa * kappa_a * (s / z_a + 1.0) * e / (window * (s / s_a + 1.0) * s)
    return loop


def compare_loops(rtt: float = RTT, update_interval: float = INTERVAL) -> list[dict[str, Any]]:
    """Return L(jw) as printed and as linearised here, one mapping of columns per loop and load."""
    s = 1j * _FREQUENCIES
    rows = []
    for equation, sender, law, factor in (
        (35, pf.Reno(), pf.Pi, 1.0),
        (36, pf.Reno(), pf.Pi2, 2.5),
        (37, pf.Scalable(), pf.Pi, 5.0),
    ):
        alpha, beta = (factor * gain for gain in PIE)
        aqm = law(alpha=alpha, beta=beta, update_interval=update_interval)
        for p_prime in LOADS:
            ours = np.asarray(pf.Loop(sender, aqm, rtt=rtt, p_prime=p_prime)(s))
            theirs = printed_loop(equation, s, p_prime, rtt, update_interval, (alpha, beta))
            rows.append(
                {
                    "equation": equation,
                    "p_prime": p_prime,
                    "omega_rad_s": _FREQUENCIES,
                    "real": ours.real,
                    "imaginary": ours.imag,
                    "printed_real": theirs.real,
                    "printed_imaginary": theirs.imag,
                    "relative_difference": np.abs(ours / theirs - 1.0),
                }
            )
    return rows


def _measure(case: Case) -> Measured:
    rows, loops = constants(), compare_loops(**read_settings(case.settings))
    found = {row["constant"]: row["periodic"] for row in rows}
    apart = max(float(np.max(row["relative_difference"])) for row in loops)
    return Measured({"": rows, "loops": loops}, found | {"loops": float(apart < _NEAR)})


RECIPE: Final = Recipe(
    caption="Constants of the windows and loop transfer functions, as printed and as derived",
    kind="numbers",
    measure=_measure,
    pages={},
    parameters={
        "rtt": format_quantity(RTT, "time"),
        "update_interval": format_quantity(INTERVAL, "time"),
    },
    seeds=1,
    decisions=(
        (
            "The windows are means over one period of periodic signals, as in the papers cited for"
            " (5) and (6). Cubic has the decrease of its paper, 0.2."
        ),
        (
            f"The loops are compared at p′ = {', '.join(f'{p:g}' for p in LOADS)} and"
            f" {_FREQUENCIES.size} frequencies from {_FREQUENCIES[0]:g} to {_FREQUENCIES[-1]:g}"
            " rad/s, with the gains of Figure 7."
        ),
        (
            "After (34) the paper prints s_R in two ways, √2 p0′/R0 and √2 p0/R0, where the second"
            " lacks a root over p0. We take the first."
        ),
    ),
    why={
        "": "These are means over a sawtooth. In the fluid, where signals do not depend on the"
        " window, Reno has √2 and CReno 1.83 (claim pi2-15).",
        "dctcp": "At this window the growth by (9) balances the decrease by (10).",
        "loops": "The linearised equations of our laws agree with each printed formula up to"
        " rounding.",
    },
)
