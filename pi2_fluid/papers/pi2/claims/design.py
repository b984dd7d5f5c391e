"""PI2 paper (CoNEXT'16), claims 9 to 13: how large PI2's gains can be, and Scalable's."""

from __future__ import annotations

from typing import Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.claim import Claim, decide, matches
from pi2_fluid.papers.pi2.scene import (
    CLASSIC,
    INTERVAL,
    PIE,
    RTT,
    TUNED_PI2,
    decades,
    fixed_pi,
    gain_margin,
    load_where,
)

#: By how much PI2's gains exceed PIE's.
FACTOR: Final = 2.5
#: RFC 8033's default, for comparison with the paper's 32 ms.
SHORT_INTERVAL: Final = 0.015
_SCALABLE: Final = pf.Scalable()


def _pi2(factor: float = 1.0, interval: float = INTERVAL) -> pf.Pi2:
    alpha, beta = (gain * factor for gain in TUNED_PI2)
    return pf.Pi2(alpha=alpha, beta=beta, update_interval=interval)


def _scalable_pi(factor: float) -> pf.Pi:
    alpha, beta = (gain * factor for gain in TUNED_PI2)
    return pf.Pi(alpha=alpha, beta=beta, update_interval=INTERVAL)


def _larger_gains() -> Claim:
    aqm = pf.Pi2(alpha=PIE[0] * FACTOR, beta=PIE[1] * FACTOR, update_interval=INTERVAL)
    lines, holds = [], []
    # Sampled margins take long, so they are followed on fewer loads.
    for update, loads in (("continuous", decades(-6)), ("sampled", decades(-3, 4))):
        limit = pf.loop.low_load(CLASSIC, aqm, RTT, update)
        found = pf.Loop(CLASSIC, aqm, rtt=RTT, p_prime=loads, update=update).margins()
        least = min(float(limit.gain_margin_db), np.min(found.gain_margin_db))
        phase = min(float(limit.phase_margin_deg), np.min(found.phase_margin_deg))
        lines.append(
            f"{update}: at least {least:.3f} dB and {phase:.1f} deg, reached"
            f" {'as p goes to 0' if least == limit.gain_margin_db else 'at finite load'}; the"
            f" factor could be {FACTOR * 10.0 ** (least / 20.0):.3f}"
        )
        holds.append(bool(least > 0.0))
    acks = pf.Loop(
        CLASSIC, aqm, rtt=RTT, p_prime=decades(-3, 4), update="sampled", clock="acks"
    ).margins()
    lines.append(
        f"sampled by acknowledgements: at least {np.min(acks.gain_margin_db):.2f} dB"
        f" and {np.min(acks.phase_margin_deg):.1f} deg from p' = 0.001 on"
    )
    holds.append(bool(np.min(acks.gain_margin_db) > 0.0))
    return Claim(
        id="pi2-09",
        source="PI2 paper, section 4, Figure 7",
        text="With 2.5 times PIE's gains, PI2's gain margin stays above zero at every load.",
        computed="; ".join(lines) + ".",
        verdict=decide(*holds),
        why=(
            "It holds in the paper's continuous model. With exact sampling it barely holds: next"
            " to nothing is left of either margin at low load. Flows that send by"
            " acknowledgements, as packets do, leave a little more."
        ),
    )


def _flat() -> Claim:
    both = decades(-6)
    pi2 = gain_margin(CLASSIC, _pi2(), p=both)
    fixed = gain_margin(CLASSIC, fixed_pi(), p=both)
    low = gain_margin(CLASSIC, _pi2(), p_prime=decades(-6))

    def rise_to(p_prime: float) -> float:
        return float(gain_margin(CLASSIC, _pi2(), p_prime=p_prime) - low[0])

    return Claim(
        id="pi2-10",
        source="PI2 paper, section 4, Figure 7",
        text="Squaring the controller's output flattens the otherwise diagonal gain margin.",
        computed=(
            f"From p = 1e-6 to 1: PI2 {pi2.min():.2f} to {pi2.max():.2f} dB, fixed PI"
            f" {fixed.min():.1f} to {fixed.max():.1f} dB, a span of {np.ptp(fixed):.1f} dB. From"
            f" p' = 1e-6, PI2 starts at {low[0]:.2f} dB and has risen by {rise_to(0.01):.1f} dB at"
            f" p' = 0.01 and by {rise_to(0.1):.1f} dB at p' = 0.1."
        ),
        verdict=decide(bool(np.ptp(pi2) < 0.25 * np.ptp(fixed))),
        why=(
            '"Flat" means here: less than a quarter of the span without the square. At low load'
            " the loop does not depend on the load."
        ),
    )


def _scalable_margin() -> Claim:
    loads = decades(-6)
    half, full = (gain_margin(_SCALABLE, _scalable_pi(f), p_prime=loads) for f in (1.0, 2.0))
    limit = pf.loop.low_load(CLASSIC, _pi2(), RTT).gain_margin_db
    least = pf.loop.low_load(_SCALABLE, _scalable_pi(1.0), RTT).gain_margin_db
    room = 10.0 ** ((least - limit) / 20.0)
    return Claim(
        id="pi2-11",
        source="PI2 paper, section 4, Figure 7 ('scal pi')",
        text="Scalable senders without the square leave enough margin to double alpha and beta.",
        computed=(
            f"With PI2's own gains at least {half.min():.2f} dB; doubled {full.min():.3f} to"
            f" {full.max():.2f} dB. They could be {room:.3f} times PI2's before the margin is as"
            f" small as Reno's, {limit:.3f} dB."
        ),
        verdict=decide(bool(full.min() >= limit)),
        why=(
            '"Enough" means here: at least what Reno has left. The paper\'s text names the wrong'
            " curve of the figure; its caption has the right one."
        ),
    )


def _same_margin_ratio(p_prime: float, scalable_load: float) -> float:
    """Return the ratio of Scalable to Classic gains at which both have the same gain margin."""
    classic = gain_margin(CLASSIC, _pi2(), p_prime=p_prime)
    scalable = gain_margin(_SCALABLE, _scalable_pi(1.0), p_prime=scalable_load)
    return float(10.0 ** ((scalable - classic) / 20.0))


def _coupling_factor() -> Claim:
    stated = 2.0
    classic = pf.loop.low_load(CLASSIC, _pi2(), RTT).gain_margin_db
    scalable = pf.loop.low_load(_SCALABLE, _scalable_pi(1.0), RTT).gain_margin_db
    worst = float(10.0 ** ((scalable - classic) / 20.0))
    ratios = ", ".join(f"{_same_margin_ratio(x, x):.2f}" for x in (0.1, 0.3, 0.6, 1.0))
    same_signal = load_where(lambda x: _same_margin_ratio(x, x) - stated, 0.01, 1.0)
    # W0 = sqrt(2)/p' for Reno and 2/p' for Scalable
    same_window = load_where(lambda x: _same_margin_ratio(x / 2**0.5, x) - stated, 0.01, 1.0)
    return Claim(
        id="pi2-12",
        source="PI2 paper, section 4",
        text="k = 2 is also the optimal ratio of Scalable to Classic gains for stability.",
        computed=(
            f"Equal worst-case gain margins need a ratio of {worst:.3f}; at equal p' = 0.1, 0.3,"
            f" 0.6, 1 it is {ratios}. It is 2 at p' = {same_signal:.2f}, and at equal windows at"
            f" p' = {same_window / 2**0.5:.2f} of Reno, {same_window:.2f} of Scalable."
        ),
        verdict=decide(matches(worst, "2.0")),
        why=(
            '"Optimal" means here: neither sender\'s smallest margin limits the other. Two is a'
            " compromise between low and high load, and safe at low load."
        ),
    )


def _only_maximum_rtt() -> Claim:
    lines, holds = [], []
    for interval in (INTERVAL, SHORT_INTERVAL):
        continuous, sampled = (
            1e3 * pf.loop.rtt_limit(*TUNED_PI2, interval, update)
            for update in ("continuous", "sampled")
        )
        aqm = _pi2(interval=interval)
        light = gain_margin(CLASSIC, aqm, p_prime=1e-3)
        lines.append(
            f"T = {1e3 * interval:.0f} ms: {light:.1f} dB at RTT 100 ms, p' = 0.001; at low load no"
            f" gain is stable from RTT {continuous:.0f} ms on ({sampled:.0f} ms sampled)"
        )
        holds.append(bool(pf.loop.low_load(CLASSIC, aqm, RTT).gain_margin_db > 0.0))
    return Claim(
        id="pi2-13",
        source="PI2 paper, section 4",
        text="alpha and beta need to depend only on the maximum RTT to be supported.",
        computed="; ".join(lines) + ".",
        verdict=decide(*holds),
        why=(
            "It is true for one update interval. With a shorter one the same gains fail at the"
            " same RTT: alpha acts more often, beta does not. T belongs to the tuning."
        ),
    )


CLAIMS: Final = (
    _larger_gains,
    _flat,
    _scalable_margin,
    _coupling_factor,
    _only_maximum_rtt,
)
