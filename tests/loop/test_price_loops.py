"""Loops of networks of prices: known answers, the closed form of one source, and mixed networks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.loop.matrix.bounds import response_bound
from pi2_fluid.loop.matrix.delays import CharacteristicMatrix, closed_system
from pi2_fluid.loop.matrix.response import matrix_characteristic, passed_on
from pi2_fluid.loop.matrix.sampled import sampled_matrix

KNOWN = json.loads(
    (Path(__file__).parents[1] / "data/price_loops.json").read_text(encoding="utf-8")
)
PACKET = 12000.0  # bits


def built(
    packets_per_s, route, hops, base_rtt, count, bottlenecks, alpha, largest, beta, k
) -> pf.Network:
    """A network of columns; rates are those that links with a price aim at."""
    nodes = [
        pf.Node(f"l{place}", pf.Link(PACKET * rate / 0.95), pf.Price())
        for place, rate in enumerate(packets_per_s)
    ]
    flows = []
    for place, way in enumerate(route):
        law: dict[str, Any] = {"alpha": alpha, "bottlenecks": float(bottlenecks[place])}
        if largest is None:
            law |= {"beta": beta, "k": k}
        else:
            law |= {"static": True, "max_rate": PACKET * largest[place]}
        names = [f"l{link}" for link in way]
        flows.append(
            pf.Flows(
                pf.Paganini(**law), count[place], base_rtt[place], route=names, hops=hops[place]
            )
        )
    return pf.Network(nodes, flows)


@pytest.mark.parametrize("known", KNOWN, ids=[known["name"] for known in KNOWN])
def test_known_loops(known: dict[str, Any]) -> None:
    loop: Any = pf.Loop(built(**known["network"]))
    margins = loop.margins()
    for name, value in known["margins"].items():
        assert getattr(margins, name) == pytest.approx(value, rel=1e-11), name
    assert margins.verdict == "stable"


@pytest.mark.slow
@pytest.mark.parametrize("known", KNOWN, ids=[known["name"] for known in KNOWN])
def test_known_roots(known: dict[str, Any]) -> None:
    loop: Any = pf.Loop(built(**known["network"]))
    expected = [complex(*pair) for pair in known["roots"]]
    assert loop.roots(len(expected)) == pytest.approx(np.array(expected), rel=1e-10)


def test_one_source_is_the_papers_loop() -> None:
    """Equation (16) with N sources on one link, also if its hop takes a while."""
    alpha, beta, tau = 0.6, 1.2, 0.1
    law = pf.Paganini(alpha=alpha, beta=beta, k=40.0)
    node = pf.Node("a", pf.Link("20Mbit/s"), pf.Price())
    flows = [pf.Flows(law, 12, tau, hops=hop) for hop in ("0ms", "30ms")]
    s = np.array([0.5j, 3 + 4j, 20j])
    for each in flows:
        loop: Any = pf.Loop(pf.Network(node, each))
        rate = float(loop.operating_point.rate[0])
        kappa, slope = alpha * rate / tau, rate**2 / 40.0
        z = beta / alpha
        lag = (s + z) / (s + z * kappa / slope)
        expected = alpha * np.exp(-tau * s) / (tau * s) * lag
        assert loop(s)[:, 0, 0] == pytest.approx(expected, rel=1e-9)


def test_the_criterion_holds_and_is_reached() -> None:
    """A gain margin of alpha_max/alpha at least, of the static law (pi/2)/alpha."""
    for known in KNOWN:
        loop: Any = pf.Loop(built(**known["network"]))
        network = known["network"]
        eta = 0.0
        if network["largest"] is None:
            # z of the source with the most bottlenecks
            z = network["beta"] * max(network["bottlenecks"]) / network["alpha"]
            eta = z * max(network["base_rtt"])
        least = pf.loop.alpha_max(eta) / network["alpha"]
        assert loop.margins().gain_margin > least * (1 - 1e-12)
    static = pf.Paganini(alpha=1.0, static=True, max_rate="30Mbit/s")
    node = pf.Node("a", pf.Link("20Mbit/s"), pf.Price())
    margins = pf.Loop(pf.Network(node, pf.Flows(static, 1, "80ms"))).margins()
    assert margins.gain_margin == pytest.approx(np.pi / 2, rel=1e-9)
    assert margins.phase_margin_deg == pytest.approx(90.0 - np.degrees(1.0), rel=1e-9)


def mixed() -> pf.NetworkLoop:
    """A link with a price behind a queue, and classes that heed both."""
    nodes = [
        pf.Node("queue", pf.Link("12Mbit/s"), pf.CoupledPi2()),
        pf.Node("price", pf.Link("10Mbit/s"), pf.Price()),
    ]
    flows = [
        pf.Flows(pf.Paganini(k=10.0), 5, "60ms", route=("queue", "price"), hops=("4ms", "9ms")),
        pf.Flows(pf.Reno(), 4, "40ms", route="queue", hops="3ms"),
        pf.Flows(pf.Paganini(k=20.0), 3, "50ms", route="price", hops="5ms"),
    ]
    loop: Any = pf.Loop(pf.Network(nodes, flows), rtt_terms="exact")
    return loop


def test_a_price_behind_a_queue() -> None:
    loop = mixed()
    linear = loop.linear
    assert loop.links == ("queue", "price")
    assert linear.waits.tolist() == [True, False]
    assert len(linear.passings) == 1  # what the queue lets through reaches the price
    s, scale = np.array([0.7 + 6j]), 5.0
    written_out = np.linalg.det(CharacteristicMatrix(closed_system(linear))(s, scale))
    whole = matrix_characteristic(linear, s, scale)
    assert written_out / np.linalg.det(passed_on(linear, s)) == pytest.approx(whole, rel=1e-9)
    w = 400.0
    bound = response_bound(linear, w)
    assert np.all(np.abs(loop(1j * w * np.geomspace(1, 100, 500))) <= bound)
    assert (loop.nyquist_count() == 0) == (loop.margins().verdict == "stable")
    assert (loop.roots().real < 0.0) == (loop.nyquist_count() == 0)


# Updates


def one_link(alpha: float, interval: float, rtt: float = 0.08) -> pf.Network:
    """Sources with the static law on one link: L(s) = alpha e^{-s rtt}/(s rtt) without updates."""
    law = pf.Paganini(alpha=alpha, static=True, max_rate="30Mbit/s")
    node = pf.Node("a", pf.Link("20Mbit/s"), pf.Price(update_interval=interval))
    return pf.Network(node, pf.Flows(law, 2, rtt))


def of_updates(interval: float, update: str, which: int = 1) -> tuple[pf.NetworkLoop, float]:
    """A known loop with updates, and T."""
    network = built(**KNOWN[which]["network"])
    nodes = [
        pf.Node(node.name, node.link, pf.Price(update_interval=interval)) for node in network.nodes
    ]
    loop: Any = pf.Loop(pf.Network(nodes, network.flows), update=update)
    return loop, interval


def test_delayed_is_half_an_interval_late() -> None:
    delayed, T = of_updates(0.02, "delayed")
    without, _ = of_updates(0.02, "continuous")
    s = np.array([0.5j, 3 + 4j, 20j])
    expected = without(s) * np.exp(-s * T / 2)[:, None, None]
    assert delayed(s) == pytest.approx(expected, rel=1e-13)
    assert delayed.roots().real < 0.0
    assert "prices without updates" in delayed.criteria().missing
    assert without.criteria().missing == ()
    assert delayed.margins().delay_margin == pytest.approx(
        without.margins().delay_margin - T / 2, rel=1e-9
    )


@pytest.mark.parametrize("interval", [0.08, 0.02])
def test_delayed_of_one_link_in_closed_form(interval: float) -> None:
    """s rtt + alpha e^{-s (rtt + T/2)} = 0, on the axis at s = j pi/2/(rtt + T/2)."""
    rtt, late = 0.08, 0.08 + interval / 2
    limit = np.pi / 2 * rtt / late
    loop: Any = pf.Loop(one_link(0.7, interval), update="delayed")
    assert loop.margins().gain_margin == pytest.approx(limit / 0.7, rel=1e-9)
    for alpha, stable in ((0.99 * limit, True), (1.01 * limit, False)):
        loop = pf.Loop(one_link(alpha, interval), update="delayed")
        root = loop.roots()
        assert (root.real < 0.0) == stable == (loop.nyquist_count() == 0)
        assert abs(root * rtt + alpha * np.exp(-root * late)) < 1e-9


@pytest.mark.parametrize("intervals", [1, 2, 4])
def test_sampled_of_one_link_in_closed_form(intervals: int) -> None:
    """price_{n+1} = price_n - (alpha T/rtt) price_{n-m}, rtt = m T: Levin and May (1976)."""
    limit = 2.0 * np.sin(np.pi / (2.0 * (2 * intervals + 1))) * intervals
    loop: Any = pf.Loop(one_link(0.4, 0.08 / intervals), update="sampled")
    margins = loop.margins()
    assert margins.gain_margin == pytest.approx(limit / 0.4, rel=1e-7)
    assert margins.verdict == "stable"
    unstable: Any = pf.Loop(one_link(1.01 * limit, 0.08 / intervals), update="sampled")
    assert unstable.nyquist_count() == 2


@pytest.mark.filterwarnings("ignore:update_interval")
@pytest.mark.parametrize(("interval", "limit", "grow"), [(0.12, 1.0, 2), (0.4, 2.0 / 3.0, 1)])
def test_sampled_of_one_link_with_longer_intervals(
    interval: float, limit: float, grow: int
) -> None:
    """z^2 = z - (alpha/rtt) ((T - rtt) z + rtt): alpha < 1, and alpha < 2/(T/rtt - 2)."""
    margins = pf.Loop(one_link(0.4, interval), update="sampled").margins()
    assert margins.gain_margin == pytest.approx(limit / 0.4, rel=1e-7)
    unstable: Any = pf.Loop(one_link(1.01 * limit, interval), update="sampled")
    assert unstable.nyquist_count() == grow


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.96, 1.04])
def test_sampled_and_what_the_fluid_does(factor: float) -> None:
    """On both sides of a margin that is far from the one without updates, 1.57."""
    alpha = factor * pf.Loop(one_link(1.0, 0.04), update="sampled").margins().gain_margin
    assert alpha < 1.3
    network = one_link(alpha, 0.04)
    rest = float(pf.equilibrium(network).controller)
    scenario = pf.Scenario(12.0, network=network)
    run = pf.simulate(scenario, pf.Fluid(update="sampled", initial={"controller": 1.001 * rest}))
    assert run.queue_delay.max() == 0.0  # so little that no queue fills, as the loop has it
    away = np.abs(run.controller.to_numpy().ravel() / rest - 1.0)
    early, late = (
        float(np.max(part)) for part in (away[: away.size // 8], away[-away.size // 8 :])
    )
    assert (late < 0.5 * early) == (factor < 1.0)
    assert (late > 2.0 * early) == (factor > 1.0)


def test_sampled_is_a_sum_over_aliases() -> None:
    """What has been counted since the last update, held for T, alias by alias, nothing else."""
    loop, T = of_updates(0.02, "sampled")
    s = np.array([2j, 11j])
    k = np.arange(-4001, 4001)
    aliased = s[:, None] + 2j * np.pi * k / T
    without, _ = of_updates(0.02, "continuous")
    held = (without(aliased) / aliased[..., None, None]).sum(axis=1) / T
    expected = -np.expm1(-s * T)[:, None, None] * held
    assert loop(s) == pytest.approx(expected, rel=1e-5)
    assert loop(s) == pytest.approx(sampled_matrix(loop.linear, s, aliases=1000), rel=1e-7)


def test_sampled_tends_to_continuous() -> None:
    s = np.array([0.7j, 9j])
    without = of_updates(0.02, "continuous")[0](s)
    off = [np.max(np.abs(of_updates(T, "sampled")[0](s) / without - 1.0)) for T in (4e-3, 1e-3)]
    assert off[1] == pytest.approx(off[0] / 4.0, rel=0.02)  # by e^{-sT/2}, to first order
    late = of_updates(1e-3, "delayed")[0](s)
    assert of_updates(1e-3, "sampled")[0](s) == pytest.approx(late, rel=1e-4)


def test_sampled_answers_at_once_through_queues_too() -> None:
    """A queue sums up what arrives, so that its delay follows signals by one integral less."""
    nodes = [
        pf.Node("queue", pf.Link("12Mbit/s"), pf.CoupledPi2(update_interval=0.02)),
        pf.Node("price", pf.Link("10Mbit/s"), pf.Price(update_interval=0.02)),
    ]
    flows = [
        pf.Flows(pf.Paganini(k=10.0), 5, "60ms", route=("queue", "price"), hops=("4ms", "9ms")),
        pf.Flows(pf.Paganini(k=20.0), 3, "50ms", route="price", hops="5ms"),
    ]
    loop: Any = pf.Loop(pf.Network(nodes, flows), update="sampled")
    s = np.array([1j, 10j])
    assert loop(s) == pytest.approx(sampled_matrix(loop.linear, s, aliases=3000), rel=1e-6)


def test_what_is_not_there_is_said() -> None:
    nodes = [
        pf.Node("a", pf.Link("20Mbit/s"), pf.Price(update_interval="4ms")),
        pf.Node("b", pf.Link("10Mbit/s"), pf.Price(update_interval="6ms")),
    ]
    flows = [pf.Flows(pf.Paganini(), 5, "80ms", route=name) for name in "ab"]
    with refused(pf.UnsupportedError, "update_interval is 4 ms at 'a', 6 ms at 'b'", "delayed"):
        pf.Loop(pf.Network(nodes, flows), update="sampled")
    with refused(pf.UnsupportedError, "Paganini lets signals act on its rate at once", "network"):
        pf.Loop(pf.Flows(pf.Paganini(), 5, "80ms"), pf.Pi2(), capacity="20Mbit/s")
    with refused(pf.UnsupportedError, "Price acts on what arrives, not on the queue"):
        pf.Loop(pf.Flows(pf.Reno(), 5, "80ms"), pf.Price(), capacity="20Mbit/s")
