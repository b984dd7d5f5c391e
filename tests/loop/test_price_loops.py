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


def test_what_is_not_there_is_said() -> None:
    node = pf.Node("a", pf.Link("20Mbit/s"), pf.Price())
    network = pf.Network(node, pf.Flows(pf.Paganini(), 5, "80ms"))
    for update in ("delayed", "sampled"):
        with refused(pf.UnsupportedError, "Price counts what arrives from update to update"):
            pf.Loop(network, update=update)
    with refused(pf.UnsupportedError, "Paganini lets signals act on its rate at once", "network"):
        pf.Loop(pf.Flows(pf.Paganini(), 5, "80ms"), pf.Pi2(), capacity="20Mbit/s")
    with refused(pf.UnsupportedError, "Price acts on what arrives, not on the queue"):
        pf.Loop(pf.Flows(pf.Reno(), 5, "80ms"), pf.Price(), capacity="20Mbit/s")
