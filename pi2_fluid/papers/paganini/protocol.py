"""Paganini, Wang, Low, Doyle (2002), claims 36 to 41: Figures 1 and 2, fairness, and its steps."""

from __future__ import annotations

from typing import Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.claim import Claim, decide, matches
from pi2_fluid.papers.paganini.claims import BETA, FLOWS, GROUPS, PHI, UTILITY
from pi2_fluid.papers.paganini.claims import RTTS as GROUP_RTTS
from pi2_fluid.papers.paganini.fig02 import ETA, largest_published
from pi2_fluid.papers.paganini.loci import RATIOS, RTTS, Z, crossing, hulls, locus, perturbed

STEP: Final = 0.005  # s, T_s
CAPACITY: Final = "2Gbit/s"
PACKET: Final = "1000B"
_HIGH: Final = 6 * np.pi  # three turns about the origin


def _coincide() -> Claim:
    theta = np.linspace(1.0, _HIGH, 20_001)
    alike = locus(theta, 0.0, 1.0)
    apart = {
        rtt: max(
            float(np.max(np.abs(locus(theta, Z * rtt, ratio) / alike - 1.0))) for ratio in RATIOS
        )
        for rtt in RTTS
    }
    told = ", ".join(f"{100 * part:.2g} % (tau = {1e3 * rtt:g} ms)" for rtt, part in apart.items())
    return Claim(
        id="paganini-36",
        source="Paganini et al., section III-A, Figure 1",
        text="Only the high frequency portions of the curves coincide.",
        computed=f"From tau w = 1 on, they are at most this far from that of nu = kappa: {told}.",
        verdict=decide(*(part < 0.02 for part in apart.values())),
        why=(
            "They do where the round-trip time is short beside 1/z = 5 s. With 1 s, and a utility"
            " that asks for a small gain, they approach each other only as z/w does. Within 2 %"
            " counts."
        ),
    )


def _no_line() -> Claim:
    all_points, one_frequency = hulls()
    deep, left = -all_points, one_frequency
    return Claim(
        id="paganini-37",
        source="Paganini et al., section III-A, Figure 1",
        text="There is no obvious separation between the convex hull of these points and -1.",
        computed=(
            f"-1 is inside the hull of all points and 0, {deep:.2f} deep. The points of one"
            " frequency and 0, of which eigenvalues are combinations, leave it out by"
            f" {left:.3f} or more."
        ),
        verdict=decide(deep > 0.0),
        why=(
            "There is none. But only points of one frequency combine, and eta = 0.2 is allowed for"
            " alpha = 1, by the paper's bound and by loop.alpha_max."
        ),
    )


def _small_enough() -> Claim:
    theta = np.linspace(0.5, 4.0, 200_001)
    solid = crossing(perturbed(theta, 0.0))
    dashed = crossing(perturbed(theta, ETA))
    alphas = (0.37, 1.0, 1.2, 1.5)
    published = {alpha: min(largest_published(alpha), 1 / np.tan(1.0)) for alpha in alphas}
    tight = {alpha: float(pf.loop.eta_max(alpha)) for alpha in alphas}
    told = ", ".join(
        f"{published[alpha]:.4f} and {tight[alpha]:.4f} (alpha = {alpha:g})" for alpha in alphas
    )
    return Claim(
        id="paganini-38",
        source="Paganini et al., Proposition 3, Figure 2",
        text="For alpha < pi/2 a small enough eta keeps the dashed curve below -1.",
        computed=(
            f"With alpha = 1 the solid curve crosses the real axis at {solid:.4f}, the dashed one"
            f" of eta = {ETA:g} at {dashed:.4f}. The largest eta by the proof, and that of"
            f" loop.eta_max, which is tight: {told}."
        ),
        verdict=decide(
            dashed > -1.0, all(0.0 < published[a] <= tight[a] * (1 + 1e-9) for a in alphas)
        ),
        why="Both conditions of the proof, at low and at high frequencies, leave room for eta.",
    )


def _fair() -> Claim:
    sender = pf.Paganini(beta=BETA, k=UTILITY)
    spread, off = 0.0, 0.0
    for n in range(1, len(GROUPS) + 1):
        flows = [
            pf.Flows(sender, count, rtt)
            for count, rtt in zip(GROUPS[:n], GROUP_RTTS[:n], strict=True)
        ]
        point = pf.equilibrium(flows, pf.Price(phi=PHI), CAPACITY, PACKET)
        rates = np.array(point.rate)
        spread = max(spread, float(np.ptp(rates) / rates[0]))
        off = max(off, abs(float(point.controller) * rates[0] / UTILITY - 1.0))
    static = [
        pf.Flows(pf.Paganini(static=True, max_rate="8Mbit/s"), count, rtt)
        for count, rtt in zip(GROUPS, GROUP_RTTS, strict=True)
    ]
    uneven = np.array(pf.equilibrium(static, pf.Price(phi=PHI), CAPACITY, PACKET).rate)
    return Claim(
        id="paganini-39",
        source="Paganini et al., section V-A, second observation",
        text="Bandwidth shares of the sources do not depend on their round-trip times.",
        computed=(
            f"Rates of the groups, at {FLOWS[0]} to {FLOWS[-1]} flows, are the same to"
            f" {_digits(spread)} digits, and rate times price is K to {_digits(off)}. With the"
            f" static law (6) and largest rates of 1000 packets/s, {1e3 * GROUP_RTTS[-1]:g} ms"
            f" would get {uneven[-1] / uneven[0]:.1f} times what {1e3 * GROUP_RTTS[0]:g} ms gets."
        ),
        verdict=decide(spread < 1e-9),
        why="At the operating point x = K/q, and all groups see one price.",
    )


def _digits(error: float) -> int:
    """Return how many digits agree, 12 at most: rounding decides about more."""
    return min(12, int(-np.log10(max(error, 1e-300))))


def _growth() -> Claim:
    law = pf.Paganini(beta=BETA, k=UTILITY)
    slopes = [float(law.rate(2.0, 2.0, 0.0, rtt, rtt)) for rtt in GROUP_RTTS]
    later = float(law.rate(200.0, 200.0, 0.0, GROUP_RTTS[0], GROUP_RTTS[0]))
    return Claim(
        id="paganini-40",
        source="Paganini et al., section V-A, another observation",
        text="While the price is small, sources grow linearly, mainly as beta K says.",
        computed=(
            f"Windows grow by {slopes[0]:.4g} segments/s, {BETA:g} times {UTILITY:g}, whatever"
            f" they are ({later:.4g} at 200 segments) and whatever the round-trip time; rates by"
            f" that over it, {slopes[0] / GROUP_RTTS[0]:.4g} packets/s^2 at"
            f" {1e3 * GROUP_RTTS[0]:g} ms."
        ),
        verdict=decide(bool(np.ptp([*slopes, later]) < 1e-9 * later)),
        why="With q = 0, equations (19) and (20) are w' = beta K.",
    )


def _window_update() -> Claim:
    law = pf.Paganini(beta=BETA, k=UTILITY)
    rtt, price = GROUP_RTTS[-1], FLOWS[-1] * UTILITY / (0.95 * 250e3)
    mark = float(pf.Price(phi=PHI).encode(price).scalable)
    rest = float(law.demand(price)) * rtt
    ours = float(law.next_window(rest, mark, mark, rtt, STEP))
    # As printed: tmp = 1 + K T q / tau at a constant price, w = w / tmp + beta K T.
    tmp = 1.0 + UTILITY * STEP / rtt * price
    printed = BETA * UTILITY * STEP * tmp / (tmp - 1.0)
    # With beta in the place of that K, and beta K T outside the division as printed.
    mended = 1.0 + BETA * STEP / rtt * price
    outside = BETA * UTILITY * STEP * mended / (mended - 1.0)
    return Claim(
        id="paganini-41",
        source="Paganini et al., (25) to (27)",
        text="Another window update, without the exponential, follows from (19) and (20).",
        computed=(
            f"At {FLOWS[-1]} flows and {1e3 * rtt:g} ms (19) settles at {rest:.2f} segments; the"
            f" update as printed at {printed:.3f}; with beta in the place of K in (26) at"
            f" {outside:.2f}; with what is added divided, too, at {ours:.2f}."
        ),
        verdict=decide(matches(printed, f"{rest:.1f}")),
        why=(
            "(25) is x' = beta K/tau - x (beta q/tau + alpha q'/(M tau)), and its step"
            " w <- (w + beta K T)/tmp; K for beta in (26) is a misprint that puts windows off by"
            " the factor beta/K. An update does follow, Paganini.next_window."
        ),
    )


CLAIMS: Final = (_coincide, _no_line, _small_enough, _fair, _growth, _window_update)
