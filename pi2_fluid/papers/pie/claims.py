"""PIE paper (HPSR'13), claims 18 to 24."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.optimize import brentq

import pi2_fluid as pf
from pi2_fluid.papers.claim import Claim, decide, matches
from pi2_fluid.papers.pi2.scene import load_where
from pi2_fluid.papers.pie.reading import (
    INTERVAL,
    KAPPA,
    LONGEST_RTT,
    RATIO,
    Fit,
    Gain,
    Reading,
    fits,
    gain_margin,
    nearest,
    phase_margin,
)

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Real

#: alpha (Hz) of the paper's three pairs; beta is ten times that.
FULL: Final = 0.125
HALF: Final = 0.0625
LIGHTEST: Final = 0.0156
#: p-, the load down to which the paper wants stability.
LOWEST: Final = 1e-4

#: Equation (9) by its kappa: as it follows from (5) to (8), and as printed.
DERIVED: Final = Reading()
PRINTED: Final = Reading(gain="printed")
#: Phase margins (deg) at 100 and 50 ms in Figure 14.
STATED: Final = ("29.5", "105.0")
_KAPPAS: Final[tuple[Gain, ...]] = ("derived", "printed")
_SEED: Final = 2013
_CASES: Final = 400


def _gain_needed() -> tuple[float, float]:
    """Return the factor on FULL, and p, at which 29.5 becomes 105.0 deg at the same p."""

    def same_p(factor: float) -> Fit:
        found = fits([DERIVED], [FULL * factor], float(STATED[0]))
        return next(fit for fit in found if fit.times == 1)

    factor = float(brentq(lambda x: same_p(x).margin - float(STATED[1]), 1.0, 5.0, xtol=1e-6))
    return factor, same_p(factor).p


def half_the_rtt() -> Claim:
    """Compute claim 18: the two phase margins of Figure 14."""
    readings = [
        Reading(gain=gain, kept=kept, delays=delays)
        for gain, kept, delays in product(_KAPPAS, (True, False), (1, 2))
    ]
    candidates = fits(readings, (FULL, HALF, LIGHTEST), float(STATED[0]))
    plain = [f for f in candidates if f.reading == DERIVED and f.times == 1]
    values = ", ".join(f"{fit.margin:.1f}" for fit in plain)
    best = nearest(candidates, float(STATED[1]))
    factor, p = _gain_needed()
    return Claim(
        id="pie-18",
        source="PIE paper, section V-B, Figure 14",
        text="The phase margin improves from 29.5 to 105.0 deg when the RTT is 50, not 100 ms.",
        computed=(
            f"Loads fitted to {STATED[0]} deg at 100 ms. As derived, at the same p, the three"
            f" pairs of gains give {values} deg at 50 ms. Nearest of {len(candidates)} readings:"
            f" {best}. {STATED[1]} deg would need {factor:.2f} times the largest gains, at p ="
            f" {p:.3f}."
        ),
        verdict=decide(any(matches(fit.margin, STATED[1]) for fit in candidates)),
        why=(
            "The paper gives neither gains nor load of this figure. No reading of its equation"
            " gives both numbers, at any load or with any of its gains."
        ),
    )


def _half_the_rtt_without_delay() -> Claim:
    readings = [
        Reading(gain=gain, kept=kept, delays=0) for gain, kept in product(KAPPA, (True, False))
    ]
    candidates = fits(readings, (FULL, HALF, LIGHTEST), float(STATED[0]))
    best = nearest(candidates, float(STATED[1]))
    as_printed = Reading(kept=False, delays=0)
    first, second = (
        float(phase_margin(as_printed, LOWEST, LIGHTEST, rtt)[0])
        for rtt in (LONGEST_RTT, LONGEST_RTT / 2)
    )
    return Claim(
        id="pie-18b",
        source="PIE paper, section V-B, Figure 14",
        text="The same two numbers, supposing that the loop's delay was left out of the phase.",
        computed=(
            f"{as_printed}, alpha = {LIGHTEST:g}, p = {LOWEST:g}: {first:.2f} deg at 100 ms, but"
            f" {second:.1f} deg at 50 ms. Nearest of {len(candidates)} readings: {best}."
        ),
        verdict=decide(any(matches(fit.margin, STATED[1]) for fit in candidates)),
        why=(
            "One reading comes close to the first number and not to the second; the other needs a"
            " gain that is printed nowhere. How the numbers came about is open."
        ),
    )


def _excess(reading: Reading, alpha: float, wanted: float, p: float) -> float:
    """Return by how much the phase margin at 100 ms exceeds the one wanted (deg)."""
    return float(phase_margin(reading, p, alpha, LONGEST_RTT)[0]) - wanted


def light_load_margin() -> Claim:
    """Compute claim 19: the phase margin of the smallest gains at the lightest load."""
    stated = "25"
    with_delay = [Reading(gain=g, kept=k) for g, k in product(_KAPPAS, (True, False))]
    margins = [float(phase_margin(r, LOWEST, LIGHTEST, LONGEST_RTT)[0]) for r in with_delay]
    values = "; ".join(f"{m:.1f} ({r})" for r, m in zip(with_delay, margins, strict=True))
    needed = [
        load_where(partial(_excess, r, LIGHTEST, float(stated)), 1e-5, 0.1)
        for r in (DERIVED, PRINTED)
    ]
    without = [
        float(phase_margin(Reading(gain=g, kept=False, delays=0), LOWEST, LIGHTEST, LONGEST_RTT)[0])
        for g in _KAPPAS
    ]
    return Claim(
        id="pie-19",
        source="PIE paper, section V-B",
        text="alpha = 0.0156, beta = 0.156 guarantee 25 deg of phase margin at p about 0.01 %.",
        computed=(
            f"{values}. 25 deg are reached at p = {100 * needed[0]:.3f} % (kappa derived) and"
            f" {100 * needed[1]:.3f} % (printed). Without the loop's delay {without[0]:.1f} and"
            f" {without[1]:.1f} deg."
        ),
        verdict=decide(any(margin >= float(stated) for margin in margins)),
        why=(
            "The loop is unstable at this load in every reading that has its delay. Only without"
            " the delay does the margin come near the stated one."
        ),
    )


def too_large_gains() -> Claim:
    """Compute claim 20: the larger gains below 1 %."""
    stated = 0.01
    lines, holds = [], []
    for name, reading in (("derived", DERIVED), ("printed", PRINTED)):
        limits = []
        for alpha in (FULL, HALF):
            limit = load_where(partial(_excess, reading, alpha, 0.0), 1e-4, 0.5)
            at = float(phase_margin(reading, stated, alpha, LONGEST_RTT)[0])
            limits.append(limit)
            lines.append(
                f"kappa {name}, alpha = {alpha:g}: unstable below p = {100 * limit:.3f} %,"
                f" {at:.1f} deg at 1 %"
            )
        holds.append(min(limits) >= stated)
    return Claim(
        id="pie-20",
        source="PIE paper, section V-B, Figure 15",
        text="0.125:1.25 and 0.0625:0.625 lack the phase margin for stability when p < 1 %.",
        computed="; ".join(lines) + ".",
        verdict=decide(*holds),
        why=(
            "It is true of the larger pair. Of the smaller one it is true up to 1 % with the"
            " printed kappa; with kappa by the paper's equations the limit is lower."
        ),
    )


def auto_tuning() -> Claim:
    """Compute claim 21: the table in three steps."""
    table = pf.Pie(alpha=FULL, beta=RATIO * FULL, update_interval=INTERVAL, variant="hpsr13")
    loads = np.sort(np.concatenate([np.geomspace(0.01, 1.0, 201), [0.1 * (1 - 1e-6)]]))

    def margin(reading: Reading, p: Real) -> FloatArray:
        return phase_margin(
            reading, p, float(table.alpha) * np.asarray(table.gain_factor(p)), LONGEST_RTT
        )[0]

    least = float(margin(DERIVED, loads).min())
    limit = load_where(lambda p: float(margin(DERIVED, p)), 1e-5, 9e-3)
    printed = float(margin(PRINTED, 0.01))
    return Claim(
        id="pie-21",
        source="PIE paper, section V-B, Figure 15",
        text="Auto-tuning in three steps improves the response without losing stability.",
        computed=(
            f"kappa derived: at least {least:.1f} deg for p >= 1 %, but unstable below p ="
            f" {limit:.2g}, above the p- = {LOWEST:g} the design is for. kappa printed:"
            f" {printed:.1f} deg already at p = 1 %."
        ),
        verdict=decide(least > 0.0, limit <= LOWEST),
        why=(
            "With kappa by the paper's equations the two upper steps are safe. The lowest is too"
            " large for the lightest loads; later tables have more steps."
        ),
    )


def lower_gains() -> Claim:
    """Compute claim 22: what lower gains give and cost."""
    alphas = np.array([FULL, HALF, LIGHTEST])
    loads = np.geomspace(LOWEST, 1.0, 401)
    margins, crossovers = phase_margin(DERIVED, loads[:, None], alphas, LONGEST_RTT)
    ordered = np.all(np.diff(margins, axis=1) > 0.0, axis=1)
    # Above 10 % the table does not choose a lower pair.
    chosen = loads <= 0.1
    rest = margins[~ordered]
    margin, crossover = phase_margin(DERIVED, 0.01, alphas, LONGEST_RTT)
    return Claim(
        id="pie-22",
        source="PIE paper, section V-B, Figures 15 and 16",
        text="Lower gains have more phase margin and less bandwidth.",
        computed=(
            f"At p = 1 % the three pairs, largest first, cross at {_row(crossover, 2)} rad/s with"
            f" {_row(margin, 1)} deg. The margins keep this order up to p ="
            f" {100 * loads[ordered].max():.0f} %; above, all lie between {rest.min():.1f} and"
            f" {rest.max():.1f} deg."
        ),
        verdict=decide(
            bool(np.all(ordered[chosen])) and bool(np.all(np.diff(crossovers, axis=1) < 0.0))
        ),
        why=(
            "Loads from 0.01 % to 10 % decide, where PIE's table chooses between the pairs. At the"
            " highest loads the order of the margins is reversed, by a degree or two."
        ),
    )


def _row(values: Iterable[float], digits: int) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def _random_pairs(reading: Reading) -> tuple[Any, ...]:
    """Return alpha, (rtt, p) of stable loops, and for each a shorter rtt and a higher p."""
    rng = np.random.default_rng(_SEED)
    draws = 3 * _CASES
    alpha = 10.0 ** rng.uniform(-3, 0, draws)
    rtt = 10.0 ** rng.uniform(-2, -0.3, draws)
    p = 10.0 ** rng.uniform(-5, -1, draws)
    shorter = rtt * rng.uniform(0.05, 1.0, draws)
    higher = p ** rng.uniform(0.0, 1.0, draws)
    stable = np.flatnonzero(phase_margin(reading, p, alpha, rtt)[0] > 0.0)[:_CASES]
    return tuple(value[stable] for value in (alpha, rtt, p, shorter, higher))


def _worst_case_covers_all() -> Claim:
    cases, violations = [], 0
    for reading in (DERIVED, Reading(kept=False)):
        alpha, _, _, shorter, higher = _random_pairs(reading)
        cases.append(alpha.size)
        violations += int(np.sum(phase_margin(reading, higher, alpha, shorter)[0] <= 0.0))
    alpha, rtt, p, shorter, higher = _random_pairs(DERIVED)
    shrinks = int(np.sum(gain_margin(higher, alpha, shorter) < gain_margin(p, alpha, rtt)))
    w = 10.0
    aqm = pf.Pi(alpha=LIGHTEST, beta=RATIO * LIGHTEST, update_interval=INTERVAL)
    rtts = LONGEST_RTT / np.array([1.0, 2.0, 4.0])
    gains = np.abs(pf.Loop(pf.Reno(), aqm, rtt=rtts, p=LOWEST)(1j * w))
    return Claim(
        id="pie-23",
        source="PIE paper, section V-B",
        text="A loop stable at (R+, p-) is stable for every shorter RTT and every higher p.",
        computed=(
            f"{violations} violations in {cases[0]} + {cases[1]} random cases ((1+e)/2 kept, and"
            f" taken as 1); the gain margin shrinks in {shrinks} of the former. At {w:g} rad/s the"
            f" gain nevertheless rises as the RTT falls: {_row(gains, 3)} at 100, 50, 25 ms."
        ),
        verdict=decide(violations == 0),
        why=(
            "The conclusion holds in every case tried. The paper's reason, a smaller gain, is true"
            " only of the lowest frequencies: the corner frequencies move out."
        ),
    )


def _oversubscription() -> Claim:
    flows, rate, capacity = 2, 6e6, 10e6
    excess = 100 * (flows * rate / capacity - 1)
    return Claim(
        id="pie-24",
        source="PIE paper, section IV-B",
        text="Two UDP flows of 6 Mb/s oversubscribe 10 Mb/s by 20 %.",
        computed=f"{excess:.1f} %.",
        verdict=decide(matches(excess, "20")),
        why="This is arithmetic. The TCP flows come on top.",
    )


CLAIMS: Final = (
    half_the_rtt,
    _half_the_rtt_without_delay,
    light_load_margin,
    too_large_gains,
    auto_tuning,
    lower_gains,
    _worst_case_covers_all,
    _oversubscription,
)
