"""Networks of prices that are stable whatever comes, and known loops and counter-examples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from price_networks import PACKET, price_links

import pi2_fluid as pf

GROUPS = [(32, 0.04), (32, 0.08), (64, 0.12), (128, 0.16), (256, 0.2)]


def the_papers(groups: int) -> Any:
    node = pf.Node("a", pf.Link("2Gbit/s", packet_size="1000B"), pf.Price())
    return pf.Loop(
        pf.Network(node, [pf.Flows(pf.Paganini(), n, rtt) for n, rtt in GROUPS[:groups]])
    )


@pytest.mark.parametrize(
    ("groups", "gain", "phase"),
    [
        (1, 3.942683446176046, 46.46939291209334),
        (2, 4.4804132716530916, 41.845660957907704),
        (3, 4.7882292296292555, 37.14808324907822),
        (4, 4.55446626258347, 34.57333999570122),
        (5, 4.2316661042704045, 33.99839673038349),
    ],
)
def test_the_papers_five_stages(groups: int, gain: float, phase: float) -> None:
    margins = the_papers(groups).margins()
    assert margins.gain_margin == pytest.approx(gain, rel=1e-12)
    assert margins.phase_margin_deg == pytest.approx(phase, abs=1e-11)


def test_the_rightmost_roots_of_the_last_stage() -> None:
    roots = the_papers(5).roots(3)
    wanted = [-0.9278789547972907, -1.2619648693797891, -1.4643985011723335 + 3.3151391552280045j]
    assert roots == pytest.approx(wanted, rel=1e-12)


def placed(
    alpha: float, rates: list[float], ways: list[list[int]], eta: float = 0.0, ratio: float = 1.0,
    rtts: list[float] | None = None, hops: list[list[float]] | None = None,
    capacity: list[float] | None = None, links: float | None = None,
) -> Any:  # fmt: skip
    """A loop that rests at these rates, prices 0.05 s each; dynamic with z tau_max = eta."""
    rtts = rtts or [0.1] * len(rates)
    loads = [sum(x for x, way in zip(rates, ways, strict=True) if k in way) for k in range(3)]
    capacity = capacity or [load for load in loads if load]
    flows = []
    for i, (rate, way, rtt) in enumerate(zip(rates, ways, rtts, strict=True)):
        q, counted = 0.05 * len(way), links or len(way)
        fade = alpha * q / (counted * rtt)
        if eta:
            # nu/kappa = M tau / (alpha fairness q), z = beta M / alpha
            fairness = counted * rtt / (alpha * q * ratio)
            law = pf.Paganini(
                alpha=alpha, beta=eta / max(rtts) * alpha / counted, fairness=fairness,
                k=q * rate**fairness, bottlenecks=links,
            )  # fmt: skip
        else:
            most = rate * math.exp(fade) * PACKET
            law = pf.Paganini(alpha=alpha, static=True, max_rate=most, bottlenecks=links)
        way_of = [f"l{k}" for k in way]
        hop = hops[i] if hops else ()
        flows.append(pf.Flows(law, 1, rtt, f"f{i}", route=way_of, hops=hop))
    return pf.Loop(pf.Network(price_links(capacity), flows))


PARKING: Any = {
    "rates": [200.0, 800.0, 800.0, 800.0],
    "ways": [[0, 1, 2], [0], [1], [2]],
    "rtts": [0.2, 0.04, 0.08, 0.1],
    "hops": [[0.01, 0.02, 0.03], [0.005], [0.02], [0.04]],
}
CHAIN: Any = {
    "rates": [300.0, 700.0, 1200.0],
    "ways": [[0, 1], [0], [1]],
    "rtts": [0.15, 0.06, 0.03],
    "hops": [[0.01, 0.04], [0.02], [0.01]],
}


@pytest.mark.parametrize(
    ("alpha", "given", "gain", "phase"),
    [
        (1.0, PARKING, 1.89578746224, 41.2075975276),
        (1.5, PARKING, 1.26385830816, 17.5465939427),
        (0.37, PARKING | {"eta": 0.5, "ratio": 5.0}, 4.54719047373, 41.9930933308),
        (1.0, CHAIN | {"eta": 0.45, "ratio": 1000.0}, 1.84595962455, 29.3016029605),
    ],
)
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
def test_other_known_networks(alpha: float, given: Any, gain: float, phase: float) -> None:
    loop = placed(alpha, **given)
    assert loop.margins().gain_margin == pytest.approx(gain, rel=1e-8)
    assert loop.margins().phase_margin_deg == pytest.approx(phase, abs=1e-6)
    known = loop.criteria()
    assert known.missing == ()
    assert known.stable
    assert loop.margins().gain_margin >= known.least_gain_margin


class TestCriteria:
    def test_beyond_pi_2_one_link_is_unstable(self) -> None:
        loop = placed(1.6, [500.0], [[0]])
        assert loop.margins().gain_margin == pytest.approx(math.pi / 2 / 1.6, rel=1e-9)
        assert loop.nyquist_count() == 2
        assert not loop.criteria().stable
        assert not loop.criteria().stable_by_the_paper
        assert loop.criteria().eta == 0.0

    @pytest.mark.parametrize(("alpha", "gain"), [(1.0, 0.5610), (0.6, 0.9350), (0.5, 1.1220)])
    def test_where_m_is_ignored(self, alpha: float, gain: float) -> None:
        """A long flow that has most of three links, and takes them for one."""
        rates, ways = [900.0, 100.0, 100.0, 100.0], [[0, 1, 2], [0], [1], [2]]
        loop = placed(alpha, rates, ways, links=1.0)
        assert loop.margins().gain_margin == pytest.approx(gain, abs=5e-5)
        assert loop.nyquist_count() == (2 if gain < 1.0 else 0)
        known = loop.criteria()
        assert known.missing == ("M of at least the full links on each route",)
        assert not known.stable
        assert known.least_gain_margin == 0.0
        counted = placed(alpha, rates, ways)
        assert counted.criteria().stable
        assert counted.nyquist_count() == 0

    @pytest.mark.parametrize(("eta", "gain"), [(0.8, 0.5259), (0.49, 1.0862)])
    @pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
    def test_where_eta_is_too_large(self, eta: float, gain: float) -> None:
        loop = placed(1.0, [500.0], [[0]], eta=eta, ratio=1000.0)
        assert loop.margins().gain_margin == pytest.approx(gain, abs=5e-5)
        assert loop.nyquist_count() == (2 if gain < 1.0 else 0)
        known = loop.criteria()
        assert known.eta == pytest.approx(eta, rel=1e-12)
        assert known.stable is (gain > 1.0)
        assert known.alpha_max == pytest.approx(float(pf.loop.alpha_max(eta)))

    def test_the_papers_simulation_is_stable_by_ours_alone(self) -> None:
        known = the_papers(5).criteria()
        assert known.alpha == 0.37
        assert known.eta == pytest.approx(1.5 / 0.37 * 0.2)
        assert known.stable
        assert not known.stable_by_the_paper
        assert the_papers(5).margins().gain_margin > known.least_gain_margin > 1.0

    def test_what_they_are_not_of(self) -> None:
        nodes = [
            pf.Node("a", pf.Link("12Mbit/s"), pf.Price()),
            pf.Node("b", pf.Link(6e6), pf.Pi2()),
        ]
        flows = [
            pf.Flows(pf.Paganini(phi=50.0), 2, 0.1, route=("a", "b")),
            pf.Flows(pf.Reno(), 2, 0.1, "reno", route="a"),
        ]
        known = pf.Loop(pf.Network(nodes, flows, "sum")).criteria()
        assert known.missing == (
            "only sources and links of prices", "one phi", "signals by independent draws",
        )  # fmt: skip
        assert not known.stable


class TestMixtures:
    """Prices beside queues, and senders that answer at once beside those that do not."""

    def test_by_the_matrices_of_the_equations(self) -> None:
        """Paganini over a PI2 queue: dx = -kappa V dq, q read from p'^2, felt by the round trip."""
        flows = pf.Flows(pf.Paganini(k=2.0), 5, "100ms")
        network = pf.Network(pf.Node("a", pf.Link("12Mbit/s"), pf.Pi2()), flows)
        loop: Any = pf.Loop(network)
        point = pf.equilibrium(network)
        x, rtt, p = float(point.rate[0]), float(point.rtt[0]), float(point.p[0])
        kappa, z = 0.37 * x / rtt, 1.5 / 0.37
        s = np.array([0.3j, 3j, 1.0 + 20j])
        lead = (s + z) / (s + 1.5 * 2.0 / (rtt * x))
        reads = 1.0 / ((1.0 - p) * math.log(100.0)) * 2.0 * float(point.controller)
        pi2 = pf.Pi2()
        control = (pi2.alpha / pi2.update_interval + (pi2.beta + pi2.alpha / 2) * s) / s
        sends = kappa * lead * np.exp(-s * rtt) * reads
        moved = loop(s)[:, 0, 0]
        parts = 5.0 * sends / 1000.0 * control
        slope = parts / moved - s  # what the queue's own delay takes from W/R e^{-alpha q/R}
        damping = 0.37 * float(pf.Paganini().price(p)) / rtt
        assert slope == pytest.approx(5.0 * x / 1000.0 / rtt * (1.0 - damping), rel=1e-9)

    @pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
    def test_a_price_and_a_queue(self) -> None:
        """The roots of the matrices in time are zeros of det(I + L)."""
        nodes = [
            pf.Node("a", pf.Link("12Mbit/s"), pf.Price()),
            pf.Node("b", pf.Link(2.5e6), pf.Pi2()),
        ]
        flows = [
            pf.Flows(pf.Reno(), 5, "60ms", route=("a", "b"), hops=("5ms", "5ms")),
            pf.Flows(pf.Paganini(k=5.0), 3, "80ms", route="a"),
        ]
        loop: Any = pf.Loop(pf.Network(nodes, flows))
        assert loop.links == ("a", "b")
        roots = loop.roots(3)
        for root in roots:
            matrix = np.eye(2) + loop(np.array([root]))[0]
            assert abs(np.linalg.det(matrix)) < 1e-9 * np.max(np.abs(matrix)) ** 2
        assert (loop.nyquist_count() > 0) == (roots[0].real > 0.0)
