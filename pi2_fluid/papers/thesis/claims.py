"""Thesis on PI2 in ns-3, claims 34 and 35."""

from __future__ import annotations

from typing import Final

from scipy.optimize import brentq

import pi2_fluid as pf
from pi2_fluid.papers.claim import Claim, decide, matches
from pi2_fluid.papers.pi2.scene import (
    CLASSIC,
    INTERVAL,
    PIE,
    RTT,
    TUNED_PI2,
    decades,
    gain_margin,
    load_where,
)

#: The thesis's tupdate; the analysis it refers to has 32 ms.
THESIS_INTERVAL: Final = 0.030
_MODES: Final = ("continuous", "sampled")


def _pi2(interval: float) -> pf.Pi2:
    return pf.Pi2(alpha=TUNED_PI2[0], beta=TUNED_PI2[1], update_interval=interval)


def _low_load(interval: float, rtt: float, update: str) -> float:
    return float(pf.loop.low_load(CLASSIC, _pi2(interval), rtt, update).gain_margin_db)


def _longest_rtt(interval: float, update: str) -> float:
    """Return the RTT (s) up to which every load is stable: where the limit p' -> 0 is."""
    return float(brentq(lambda rtt: _low_load(interval, rtt, update), 0.05, 0.14, xtol=1e-9))


def _lightest_stable_load() -> float:
    """Return the p' below which the thesis's sampled loop is unstable at 100 ms."""
    aqm = _pi2(THESIS_INTERVAL)

    def margin(p_prime: float) -> float:
        return float(gain_margin(CLASSIC, aqm, p_prime=p_prime, update="sampled"))

    return load_where(margin, 1e-3, 0.3)


def _scenario(count: int) -> list[float]:
    """Return the gain margins of the thesis's flows, 100 ms with the target, 1000-byte packets."""
    aqm = _pi2(THESIS_INTERVAL)
    flows = pf.Flows(CLASSIC, count=count, base_rtt=RTT - aqm.target)
    return [
        float(
            pf.Loop(flows, aqm, capacity="10Mbit/s", packet_size="1000B", update=update)
            .margins()
            .gain_margin_db
        )
        for update in _MODES
    ]


def _only_up_to_100_ms() -> Claim:
    lines: list[str] = []
    holds: list[bool] = []
    for interval in (INTERVAL, THESIS_INTERVAL):
        limits = [1e3 * _longest_rtt(interval, update) for update in _MODES]
        lines.append(
            f"T = {1e3 * interval:.0f} ms: stable at every load up to {limits[0]:.1f} ms"
            f" (continuous), {limits[1]:.1f} ms (sampled)"
        )
        holds.extend(limit >= 1e3 * RTT for limit in limits)
    margins = [_low_load(THESIS_INTERVAL, RTT, update) for update in _MODES]
    lines.append(
        f"the latter at {1e3 * RTT:.0f} ms, p' going to 0: {margins[0]:.2f} dB, sampled"
        f" {margins[1]:.2f} dB"
    )
    if margins[1] < 0.0:
        lines[-1] += f", unstable below p' = {_lightest_stable_load():.4f}"
    acks = gain_margin(
        CLASSIC, _pi2(THESIS_INTERVAL), p_prime=decades(-3, 4), update="sampled", clock="acks"
    )
    lines.append(f"by acknowledgements at least {acks.min():.2f} dB from p' = 0.001 on")
    for count in (5, 50):
        loaded = _scenario(count)
        lines.append(f"its {count} flows: {loaded[0]:.1f} dB, sampled {loaded[1]:.1f} dB")
    return Claim(
        id="thesis-34",
        source="Thesis, section 4.1",
        text="The gains alpha and beta are stable only up to an RTT of 100 ms.",
        computed="; ".join(lines) + ".",
        verdict=decide(*holds),
        why=(
            "With 32 ms, as in the analysis that it cites, the exact sampled limit is 100 ms. With"
            " its own 30 ms it is less, but its scenarios have enough load to be stable."
        ),
    )


def _setup() -> Claim:
    factors = [new / old for new, old in zip(TUNED_PI2, PIE, strict=True)]
    total = 76 + 2 + 2 + 20
    return Claim(
        id="thesis-35",
        source="Thesis, section 4.1, Table 4.1",
        text="PI2's gains are 2.5 times PIE's; RTTs of 76, 2, 2 and a target of 20 ms make 100.",
        computed=f"{factors[0]:.2f} and {factors[1]:.2f} times; {total} ms.",
        verdict=decide(all(matches(f, "2.5") for f in factors) and matches(total, "100")),
        why="This is arithmetic. The sum is the RTT with the target of the queue.",
    )


CLAIMS: Final = (_only_up_to_100_ms, _setup)
