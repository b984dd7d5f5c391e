"""Paganini, Wang, Low, Doyle (2002), claims 25 to 33: the scalable law and its marking.

With one bottleneck the loop is the share-weighted sum over sources of

    lambda(s) = alpha e^{-tau s} / (tau s) * (s + z) / (s + z kappa/nu),          equation (16)

in which the second factor, absent from the earlier law (6), lets a source follow its utility.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.optimize import brentq
from scipy.special import lambertw

from pi2_fluid.loop.price_criteria import alpha_max
from pi2_fluid.papers.claim import Claim, decide, matches

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

#: Parameters of the simulations, section V-A.
ALPHA: Final = 0.37
BETA: Final = 1.5
UTILITY: Final = 50.0  # K of the utility K log x
BOTTLENECKS: Final = 1.0  # M
PHI: Final = 100.0
CAPACITY: Final = 0.95 * 250e3  # packets/s, the virtual one
FLOWS: Final = (32, 64, 128, 256, 512)
GROUPS: Final = (32, 32, 64, 128, 256)  # what each doubling adds
RTTS: Final = (0.04, 0.08, 0.12, 0.16, 0.2)  # of the groups
#: Marks averaged for one estimate, N.
WINDOW: Final = 31


def _growth(alpha: float, delay: float = 1.0) -> complex:
    """Return tau s of the rightmost root of tau s + alpha e^{-delay tau s} = 0 (Lambert's W)."""
    return complex(lambertw(-alpha * delay)) / delay


def _stability_bound() -> Claim:
    limit = float(brentq(lambda alpha: _growth(alpha).real, 1.0, 2.0, xtol=1e-14))
    # A gain below the limit and one above, to see the sign on either side.
    below, above = (_growth(factor * limit).real for factor in (0.99, 1.01))
    return Claim(
        id="paganini-25",
        source="Paganini et al., Theorem 2",
        text="The law (5), (6) is stable for alpha < pi/2.",
        computed=(
            f"One bottleneck, equal sources: stable up to alpha = {limit:.5f} (pi/2 ="
            f" {np.pi / 2:.5f}); at 0.99 and 1.01 times that, tau times the real part of the"
            f" rightmost root is {below:.4f} and {above:.4f}."
        ),
        verdict=decide(abs(limit - np.pi / 2) < 1e-9 and below < 0.0 < above),
        why="The bound is sharp for this network; the theorem is about every network.",
    )


def _critical_damping() -> Claim:
    # s e^s has its minimum where two real roots of s + alpha e^{-s} meet.
    s = float(brentq(lambda s: (1.0 + s) * np.exp(s), -2.0, 0.0, xtol=1e-14))
    alpha = -s * float(np.exp(s))
    return Claim(
        id="paganini-26",
        source="Paganini et al., section IV-A",
        text="alpha = 0.37 is critically damped for many equal sources without estimation delay.",
        computed=f"Double real root tau s = {s:.4f} at alpha = {alpha:.5f}.",
        verdict=decide(matches(alpha, "0.37")),
        why="The two rightmost roots meet at 1/e, between overdamped and oscillating.",
    )


def _largest_eta(alpha: float) -> float:
    """Return the eta at which the curve of (17), (18) reaches -1."""
    return float(
        brentq(lambda e: alpha * np.sqrt(1 + e * e) - (np.pi / 2 - np.arctan(e)), 0.0, 10.0)
    )


def _slow_loop() -> Claim:
    v = np.linspace(1e-6, 1.0, 100_001)
    low = float(np.min(v / np.tan(v)))
    high = ", ".join(f"{_largest_eta(a):.4g} (alpha = {a:g})" for a in (ALPHA, 1.0, 1.2, 1.5))
    return Claim(
        id="paganini-27",
        source="Paganini et al., Proposition 3",
        text="Low frequencies are harmless if eta = z tau_max < 1/tan(1), about 0.64.",
        computed=f"{low:.6f}. At high frequencies the proof also needs eta < {high}.",
        verdict=decide(matches(low, "0.64")),
        why=(
            "This is the smallest v/tan v up to v = 1. For larger alpha the other condition binds,"
            " which the paper calls 'small enough'."
        ),
    )


def _price_range() -> Claim:
    printed = {10.0: ("0.022", "1.3"), 100.0: ("0.011", "0.65"), 1000.0: ("0.007", "0.43")}
    rows, holds = [], []
    for phi, texts in printed.items():
        low, high = (float(-np.log(1.0 - share) / np.log(phi)) for share in (0.05, 0.95))
        rows.append(f"phi = {phi:.0f}: {low:.5f} to {high:.4f} s")
        holds.append(matches(low, texts[0]) and matches(high, texts[1]))
    return Claim(
        id="paganini-28",
        source="Paganini et al., section IV-A, table",
        text="Marking of 5 to 95 % means prices of 0.022-1.3, 0.011-0.65, 0.007-0.43 s.",
        computed="; ".join(rows) + ".",
        verdict=decide(all(holds)),
        why="Equation (21) solved for the price; all six numbers round as printed.",
    )


def _estimation_delay() -> Claim:
    # tau = w = 1: one packet per unit of time, so delays come out in units of tau/w.
    w = 1e-4
    response = np.exp(-1j * w * np.arange(WINDOW)).mean()
    exact = float(-np.angle(response)) / w
    high = 100 * (WINDOW / 2 / exact - 1)
    return Claim(
        id="paganini-29",
        source="Paganini et al., (22)",
        text="Averaging N marks delays the price by about N tau / (2w).",
        computed=(
            f"N = {WINDOW}: {exact:.3f} tau/w by the phase of the average, {WINDOW / 2:.3f} by the"
            f" formula, {high:.1f} % high."
        ),
        verdict=decide(abs(high) < 5.0),
        why='The phase is linear, with N - 1 in place of N. "About" means here: within 5 %.',
    )


def _price(flows: int) -> float:
    """Return the equilibrium price (s): each source sends K/q, and together the capacity."""
    return flows * UTILITY / CAPACITY


def _small_marking() -> Claim:
    most, least = FLOWS[-1], FLOWS[0]
    phi = float((1.0 - 0.05) ** (-1.0 / _price(most)))
    marking = 100 * float(1.0 - phi ** -_price(least))
    return Claim(
        id="paganini-30",
        source="Paganini et al., sections IV-A and V-A, Figure 10",
        text="With at most 5 % marking under the heaviest load, marking goes down to 0.3 %.",
        computed=(
            f"Price {_price(most):.4f} s at {most} flows, so phi = {phi:.3f}; at {least} flows"
            f" {_price(least):.5f} s and {marking:.3f} %."
        ),
        verdict=decide(matches(marking, "0.3")),
        why="This is the equilibrium of K log x sources on the stated link. The two numbers fit"
        " each other.",
    )


def _loop(w: FloatArray) -> ComplexArray:
    """Return the loop of all five groups at equilibrium, at frequencies `w` (rad/s)."""
    z = BETA * BOTTLENECKS / ALPHA
    rate = CAPACITY / FLOWS[-1]
    total = np.zeros_like(w, dtype=complex)
    for count, tau in zip(GROUPS, RTTS, strict=True):
        # kappa = alpha x / (M tau), equation (11); nu = x^2 / K, the slope of K/q.
        pole = z * ALPHA * UTILITY / (BOTTLENECKS * tau * rate)
        lead = (1j * w + z) / (1j * w + pole)
        total += count / FLOWS[-1] * ALPHA * np.exp(-1j * w * tau) / (1j * w * tau) * lead
    return total


def _theorem_covers_simulations() -> Claim:
    z = BETA * BOTTLENECKS / ALPHA
    eta = z * RTTS[-1]
    bound = min(1.0 / float(np.tan(1.0)), _largest_eta(ALPHA))
    w = np.geomspace(1e-3, 1e3, 200_001)
    loop = _loop(w)
    phase = np.degrees(np.unwrap(np.angle(loop)))
    margin = 180.0 + float(phase[np.flatnonzero(np.abs(loop) > 1.0)[-1]])
    return Claim(
        id="paganini-31",
        source="Paganini et al., Theorem 4 and section V-A",
        text="The simulated parameters satisfy the theorem's condition (implied).",
        computed=(
            f"z = {z:.3f}/s and, at the longest RTT of {1e3 * RTTS[-1]:.0f} ms, eta = {eta:.3f};"
            f" the proof needs eta < {bound:.3f}. The loop of all {FLOWS[-1]} flows has a"
            f" phase margin of {margin:.0f} deg. With this eta, loop.alpha_max is"
            f" {float(alpha_max(eta)):.3f}, above alpha = {ALPHA:g}."
        ),
        verdict=decide(eta < bound),
        why=(
            "The condition is sufficient, not necessary. The simulated loop is stable by the"
            " sharper bound of loop.alpha_max, not by this theorem."
        ),
    )


def _tolerated_delay() -> Claim:
    def phase(ratio: float) -> float:
        # |alpha / (j tau w)| = 1 at tau w = alpha, whatever the delay
        return np.pi / 2 - ALPHA * (1.0 + ratio)

    ratio = float(brentq(phase, -1.0, 100.0))
    window = WINDOW / (2.0 * ratio)
    return Claim(
        id="paganini-32",
        source="Paganini et al., section IV-A",
        text="alpha = 0.37 tolerates some additional delay from the estimation.",
        computed=(
            f"Stable up to an additional delay of {ratio:.3f} tau, that is, with N = {WINDOW}, for"
            f" windows of at least {window:.2f} packets."
        ),
        verdict=decide(ratio > 0.0),
        why="The phase margin at the gain crossover, tau w = alpha, is spent on delay.",
    )


def _marking_range() -> Claim:
    marks = [100 * float(1.0 - PHI ** -_price(flows)) for flows in FLOWS]
    inside = [5.0 <= mark <= 95.0 for mark in marks]
    return Claim(
        id="paganini-33",
        source="Paganini et al., sections IV-A and V-A",
        text="phi = 100 keeps marking within 5 to 95 % in the simulations (implied).",
        computed=(
            ", ".join(f"{mark:.2f}" for mark in marks)
            + " % at "
            + ", ".join(str(flows) for flows in FLOWS)
            + " flows."
        ),
        verdict=decide(*inside),
        why="It holds except under the lightest load, where the paper itself accepts less than 5"
        " %.",
    )


CLAIMS: Final = (
    _stability_bound,
    _critical_damping,
    _slow_loop,
    _price_range,
    _estimation_delay,
    _small_marking,
    _theorem_covers_simulations,
    _tolerated_delay,
    _marking_range,
)
