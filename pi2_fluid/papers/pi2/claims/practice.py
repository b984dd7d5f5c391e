"""PI2 paper (CoNEXT'16), claims 14 to 17: its constants, and the loops of its experiments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.claim import Claim, decide, matches
from pi2_fluid.papers.pi2.scene import CLASSIC, INTERVAL, RTT, TUNED_PI2, fixed_pi, gain_margin

#: Name, update, RTT terms and clock of the models an experiment's operating point is put to.
_MODELS: Final = (
    ("continuous", "continuous", "frozen", "rate"),
    ("sampled", "sampled", "frozen", "rate"),
    ("sampled with the RTT varying", "sampled", "exact", "rate"),
    ("sampled by acknowledgements", "sampled", "frozen", "acks"),
)


def _probabilities() -> Claim:
    coupled = pf.CoupledPi2(k=2.0)
    root = 100 * float(np.sqrt(0.20))
    classic = 100 * float(coupled.encode(1.0 / coupled.k).classic)
    square = 100 * float(pf.Pi2().encode(0.6).classic)
    return Claim(
        id="pi2-14",
        source="PI2 paper, sections 4 and 5",
        text=(
            "20 % becomes 45 % in the linear domain; 25 % Classic corresponds to 100 % Scalable at"
            " k = 2; p' = 60 % is p = 36 %."
        ),
        computed=f"{root:.1f} %, {classic:.1f} %, {square:.1f} %.",
        verdict=decide(
            matches(root, "45") and matches(classic, "25") and matches(square, "36"),
        ),
        why="These are squares and square roots, by the queues' own encoders.",
    )


def sawtooth(removed: float) -> float:
    """Return the mean of W sqrt(p) over a sawtooth that falls by the fraction `removed`."""
    return float(np.sqrt((2.0 - removed) / (2.0 * removed)))


def cubic_sawtooth(removed: float, c: float = 0.4) -> float:
    """Return Cubic's constant in W = constant R^(3/4) / p^(3/4)."""
    return float((c * (4.0 - removed) / (4.0 * removed)) ** 0.25)


def _window_constants() -> Claim:
    reno, creno, cubic = sawtooth(0.5), sawtooth(0.3), cubic_sawtooth(0.2)
    # From the constants as printed, as the paper has it. Where (6) and (7) give the same window:
    switch = 1.68**3 / 1.17**2
    k = 2.0 / 1.68
    fluid = [float(CLASSIC.at_rest(RTT, 1.0)), float(pf.CReno().at_rest(RTT, 1.0))]
    pairs = [(reno, "1.22"), (creno, "1.68"), (cubic, "1.17"), (switch, "3.5"), (k, "1.19")]
    return Claim(
        id="pi2-15",
        source="PI2 paper, appendix A, (5) to (8) and (14)",
        text=(
            "Window constants 1.22 (Reno), 1.68 (CReno), 1.17 (Cubic); Cubic takes over at"
            " W R^(3/2) = 3.5; equal rates need k = 1.19."
        ),
        computed=(
            f"{reno:.4f}, {creno:.4f}, {cubic:.3f}; {switch:.3f}; {k:.3f}. The fluid model's"
            f" constants are {fluid[0]:.3f} and {fluid[1]:.3f}; with one decrease of 0.3 throughout"
            f" the switch-over would be {creno**3 / cubic_sawtooth(0.3) ** 2:.3f}."
        ),
        verdict=decide(all(matches(value, text) for value, text in pairs)),
        why=(
            "All five round as printed. They are averages of a sawtooth, not of the fluid used"
            " elsewhere. Cubic's has another decrease than CReno's."
        ),
    )


def _at_flows(aqm: pf.Aqm, count: int, base_rtt: str, capacity: str) -> dict[str, float]:
    flows = pf.Flows(CLASSIC, count=count, base_rtt=base_rtt)
    found = {}
    for name, update, terms, clock in _MODELS:
        loop = pf.Loop(flows, aqm, capacity=capacity, update=update, rtt_terms=terms, clock=clock)
        found[name] = float(loop.margins().gain_margin_db)
    return found


def _listed(margins: Mapping[str, float]) -> str:
    return ", ".join(f"{value:.2f} dB {name}" for name, value in margins.items())


def _untuned_pi_oscillates() -> Claim:
    aqm = fixed_pi()
    rows = {count: _at_flows(aqm, count, "10ms", "100Mbit/s") for count in (10, 30, 50)}
    edge = [
        float(gain_margin(CLASSIC, aqm, p=1e-3, rtt=0.03, update=update))
        for update in ("continuous", "sampled")
    ]
    more = "; ".join(f"{count} flows {rows[count]['continuous']:.1f} dB" for count in (30, 50))
    return Claim(
        id="pi2-16",
        source="PI2 paper, section 4, Figure 6",
        text="Untuned PI oscillates with 10 Reno flows at 100 Mb/s and 10 ms.",
        computed=(
            f"10 flows: gain margin {_listed(rows[10])}; {more} (continuous). A load of p = 0.001"
            f" would be on the edge: {edge[0]:.2f} dB continuous, {edge[1]:.2f} dB sampled."
        ),
        verdict=decide(*(margin < 0.0 for margin in rows[10].values())),
        why=(
            "The linear loop at the stated operating point is stable in every model: least with 10"
            " flows, and hardly by acknowledgements. The measurement needs what the linear loop"
            " lacks: bursts, whole packets, large oscillations."
        ),
    )


def _experiments_stable() -> Claim:
    aqm = pf.Pi2(alpha=TUNED_PI2[0], beta=TUNED_PI2[1], update_interval=INTERVAL)
    rows = {count: _at_flows(aqm, count, "100ms", "10Mbit/s") for count in (5, 10, 50)}
    return Claim(
        id="pi2-17",
        source="PI2 paper, section 6, Figures 11 and 13",
        text="PI2's higher gains risk no instability with 5 to 50 flows at 10 Mb/s, RTT 100 ms.",
        computed="; ".join(f"{n} flows: {_listed(row)}" for n, row in rows.items()) + ".",
        verdict=decide(*(margin > 0.0 for row in rows.values() for margin in row.values())),
        why=(
            "With the target of 20 ms the RTT exceeds that for which the gains are made. With 5"
            " flows the loop is so near the edge that a simplification decides the sign."
        ),
    )


CLAIMS: Final = (
    _probabilities,
    _window_constants,
    _untuned_pi_oscillates,
    _experiments_stable,
)
