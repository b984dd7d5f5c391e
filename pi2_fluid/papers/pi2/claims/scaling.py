"""PI2 paper (CoNEXT'16), claims 1 to 8: why PIE scales its gains, and by how much PI2 beats it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.claim import Claim, decide, matches
from pi2_fluid.papers.pi2.scene import (
    CLASSIC,
    INTERVAL,
    PIE,
    TUNED_PI2,
    decades,
    fixed_pi,
    gain_margin,
    load_where,
    pie,
)

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

#: The table of the draft the paper cites, which became RFC 8033.
EXTENDED_TABLE: Final = "rfc8033"
_JUST_BELOW: Final = 1.0 - 1e-6  # within reach of a table's edge, beyond its snapping
_SAMPLE: Final = 60
_SEED: Final = 2016


def _diagonal() -> Claim:
    loads = decades(-6)
    gm = gain_margin(CLASSIC, fixed_pi(), p=loads)
    rise = gm[-1] - gm[0]
    bow = np.max(np.abs(gm - np.linspace(gm[0], gm[-1], gm.size)))

    def slope(p: float) -> float:
        step = 1e-3  # decades
        ends = gain_margin(CLASSIC, fixed_pi(), p=p * 10.0 ** np.array([-step, step]))
        return float(ends[1] - ends[0]) / (2 * step)

    slopes = ", ".join(f"{slope(p):.1f}" for p in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1))
    return Claim(
        id="pi2-01",
        source="PI2 paper, section 3, Figure 4",
        text="With fixed alpha and beta the gain margin runs diagonally over the load p.",
        computed=(
            f"Slope {slopes} dB per decade at p = 1e-5 to 1e-1; from 1e-6 to 1 a rise of"
            f" {rise:.1f} dB, never more than {bow:.1f} dB off the straight line."
        ),
        verdict=decide(bool(np.all(np.diff(gm) > 0)) and bow < 0.1 * rise),
        why=(
            '"Diagonal" means here: rising everywhere, and within a tenth of its rise of a'
            " straight line. The slope starts at that of 1/sqrt(p) and steepens with the load."
        ),
    )


def random_loops(rng: np.random.Generator) -> pf.Loop:
    """Return one random loop: Reno under PI or PI2, or Scalable under PI, T at most the RTT."""
    sender, law = [(pf.Reno(), pf.Pi), (pf.Reno(), pf.Pi2), (pf.Scalable(), pf.Pi)][rng.integers(3)]
    rtt = 10.0 ** rng.uniform(-2, -0.3)
    alpha = 10.0 ** rng.uniform(-2, 0)
    aqm = law(
        alpha=alpha,
        beta=alpha * 10.0 ** rng.uniform(0.5, 1.5),
        update_interval=rtt * rng.uniform(0.1, 1.0),
    )
    return pf.Loop(sender, aqm, rtt=rtt, p_prime=10.0 ** rng.uniform(-3, -0.2))


def _margins_tell_stability() -> Claim:
    rng = np.random.default_rng(_SEED)
    agree = unstable = 0
    for _ in range(_SAMPLE):
        loop = random_loops(rng)
        margins = loop.margins()
        growth = float(np.sign(loop.roots().real))
        signs = np.sign([float(margins.gain_margin_db), float(margins.phase_margin_deg)])
        agree += bool(np.all(signs == -growth))
        unstable += growth > 0
    return Claim(
        id="pi2-02",
        source="PI2 paper, section 3",
        text="Where gain margin and phase margin are negative, the loop is unstable.",
        computed=(
            f"In {agree} of {_SAMPLE} random loops both margins have the sign opposite to the real"
            f" part of the rightmost characteristic root; {unstable} of the loops are unstable."
        ),
        verdict=decide(agree == _SAMPLE),
        why=(
            "The roots are found without the margins. Both margins change sign together, so either"
            " one decides."
        ),
    )


def _table_keeps_margins() -> Claim:
    edges = 10.0 ** np.arange(-6.0, 1.0)
    loads = np.sort(np.concatenate([decades(-6), edges[1:-1] * _JUST_BELOW]))

    def margins(table: str) -> pf.Margins:
        return pf.Loop(CLASSIC, pie(table), rtt="100ms", p=loads).margins()

    def unstable_below(table: str, high: float) -> float:
        return load_where(lambda p: float(gain_margin(CLASSIC, pie(table), p=p)), 1e-6, high)

    extended = margins(EXTENDED_TABLE)
    gm, pm = np.asarray(extended.gain_margin_db), np.asarray(extended.phase_margin_deg)
    limits = unstable_below("hpsr13", 9e-3), unstable_below("ietf_early", 9e-4)
    return Claim(
        id="pi2-03",
        source="PI2 paper, section 3, Figure 4 ('auto')",
        text="PIE's scaling steps keep both margins above zero from p = 0.0001 % to 100 %.",
        computed=(
            f"Extended table: gain margin at least {gm.min():.3f} dB (p ="
            f" {loads[gm.argmin()]:.4g}), phase margin at least {pm.min():.1f} deg (p ="
            f" {loads[pm.argmin()]:.6g}). Without the extension unstable below p = {limits[0]:.3g}"
            f" (PIE paper's table) and {limits[1]:.3g} (first drafts' table)."
        ),
        verdict=decide(bool(gm.min() > 0 and pm.min() > 0)),
        why=(
            "The extended table decides, to which the paper refers. Kernels of its time had the"
            " PIE paper's table of three levels, with which it does not hold."
        ),
    )


def _low_margin_at_high_load() -> Claim:
    loads = np.array([1e-1, 10**-0.5, 1.0])
    auto = gain_margin(CLASSIC, pie(EXTENDED_TABLE), p=loads)
    eighth = gain_margin(CLASSIC, fixed_pi(1 / 8), p=loads)
    return Claim(
        id="pi2-04",
        source="PI2 paper, section 3, Figure 4 ('auto')",
        text="The same steps keep the gain margin low at higher p.",
        computed=(
            f"At p = 0.1, 0.32, 1: {auto[0]:.1f}, {auto[1]:.1f}, {auto[2]:.1f} dB, against"
            f" {eighth[0]:.1f}, {eighth[1]:.1f}, {eighth[2]:.1f} dB with the gains kept at one"
            " eighth."
        ),
        verdict=decide(bool(np.all(auto < eighth))),
        why=(
            "The margin is low beside that of gains that stay scaled down. It still grows with the"
            " load, because the table ends at 1."
        ),
    )


def _table_ratio() -> tuple[Any, Any]:
    """Return ln p and ln(tune / sqrt(2p)) from p = 1e-6 to 1, and both sides of each edge."""
    middles = np.log(10.0) * (np.arange(6000) + 0.5) / 1000.0 - np.log(1e6)
    tune = pie(EXTENDED_TABLE).gain_factor(np.exp(middles))
    return middles, np.log(tune) - 0.5 * np.log(2.0 * np.exp(middles))


def _edge_ratios() -> FloatArray:
    edges = 10.0 ** np.arange(-6.0, 1.0)
    loads = np.concatenate([edges, edges[1:] * _JUST_BELOW])
    return np.asarray(pie(EXTENDED_TABLE).gain_factor(loads)) / np.sqrt(2.0 * loads)


def table_fit() -> tuple[float, float]:
    """Return the geometric mean of tune / sqrt(2p) over p from 1e-6 to 1, and tune's exponent.

    The exponent is the slope of the straight line through tune, both axes logarithmic.
    """
    log_p, log_ratio = _table_ratio()
    return float(np.exp(log_ratio.mean())), 0.5 + float(np.polyfit(log_p, log_ratio, 1)[0])


def _square_root() -> Claim:
    mean, slope = table_fit()
    ends = _edge_ratios()
    return Claim(
        id="pi2-05",
        source="PI2 paper, section 4, Figure 5",
        text="PIE's stepped factor 'tune' broadly fits sqrt(2p).",
        computed=(
            f"tune / sqrt(2p) from {ends.min():.3f} to {ends.max():.2f}, geometric mean"
            f" {mean:.3f}; log-log slope {slope:.3f}."
        ),
        verdict=decide(abs(slope - 0.5) < 0.05, bool(np.all((ends > 0.5) & (ends < 2.0)))),
        why=(
            "The exponent fits. Steps of four could stay within a factor of two of the curve;"
            " these lie too high on average."
        ),
    )


def gain_over_pie() -> float:
    """Return the gain of PI2 over that of PIE with its table, geometric mean over the loads."""
    # tune = ratio sqrt(2p), and K = tune / (2 sqrt(p)) = ratio / sqrt(2)
    return TUNED_PI2[0] / PIE[0] * float(np.sqrt(2.0)) / table_fit()[0]


def _gain_ratio() -> Claim:
    exact = TUNED_PI2[0] / PIE[0] / _pie_factor(pie("sqrt2p"), 0.01)
    ends = TUNED_PI2[0] / PIE[0] * np.sqrt(2.0) / _edge_ratios()
    mean = gain_over_pie()
    return Claim(
        id="pi2-06",
        source="PI2 paper, section 4",
        text="PIE's gain on p' is about 1/sqrt(2), so PI2's is 2.5 sqrt(2), about 3.5, times it.",
        computed=(
            f"{exact:.4f} if tune were sqrt(2p); with the table {ends.min():.1f} to"
            f" {ends.max():.1f}, geometric mean {mean:.2f}."
        ),
        verdict=decide(matches(exact, "3.5"), matches(mean, "3.5")),
        why=(
            "This follows from the smooth curve. With PIE's steps the ratio depends on the load,"
            " and is lower on average."
        ),
    )


def _pie_factor(aqm: pf.Pie, p: float) -> float:
    """Return K of section 4: how much PIE's step, seen on p' = sqrt(p), is scaled."""
    return float(aqm.gain_factor(p) / (2.0 * np.sqrt(p)))


def _decibels() -> Claim:
    loads = decades(-6, 5)
    pi2 = pf.Pi2(alpha=TUNED_PI2[0], beta=TUNED_PI2[1], update_interval=INTERVAL)
    difference = gain_margin(CLASSIC, pie("sqrt2p"), p=loads) - gain_margin(CLASSIC, pi2, p=loads)
    power = float(np.mean(difference)) / 2.0  # 10 log10 of the same ratio
    return Claim(
        id="pi2-07",
        source="PI2 paper, section 4",
        text="A gain 3.5 times as large is 5.5 dB.",
        computed=(
            f"The gain margins differ by {difference.min():.3f} to {difference.max():.3f} dB over"
            f" all loads; 10 log10 instead of 20 log10 would give {power:.3f}."
        ),
        verdict=decide(all(matches(float(value), "5.5") for value in difference)),
        why=(
            "Gains and gain margins are 20 log10, also in the paper's figures. The printed number"
            " counts the ratio as power."
        ),
    )


def _ten_decibels() -> Claim:
    pi2 = pf.Pi2(alpha=TUNED_PI2[0], beta=TUNED_PI2[1], update_interval=INTERVAL)
    stated = 0.6

    def margin(p_prime: float, terms: str) -> float:
        return float(gain_margin(CLASSIC, pi2, p_prime=p_prime, rtt_terms=terms))

    def beyond(terms: str, p_prime: float) -> float:
        return margin(p_prime, terms) - 10.0

    lines, holds = [], []
    for terms, name in (("frozen", "RTT frozen"), ("exact", "RTT varying with the queue")):
        ten = load_where(partial(beyond, terms), 0.05, 1.0)
        lines.append(
            f"{name}: 10 dB at p' = {ten:.4f} (p = {100 * ten**2:.1f} %),"
            f" {margin(stated, terms):.2f} dB at {stated}, {margin(1.0, terms):.2f} dB at 1"
        )
        holds.append(ten >= stated)
    return Claim(
        id="pi2-08",
        source="PI2 paper, section 4, Figure 7",
        text="PI2's gain margin is slightly above 10 dB only where p' > 60 %, p > 36 %.",
        computed="; ".join(lines) + ".",
        verdict=decide(*holds),
        why=(
            "It is true, with a rounded limit, in the paper's model, where the round-trip time is"
            " constant in the window law. Otherwise the margin passes 10 dB earlier."
        ),
    )


CLAIMS: Final = (
    _diagonal,
    _margins_tell_stability,
    _table_keeps_margins,
    _low_margin_at_high_load,
    _square_root,
    _gain_ratio,
    _decibels,
    _ten_decibels,
)
