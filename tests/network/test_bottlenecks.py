"""Where networks of several links rest: known answers, a second method, and what must be true."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from networks import PACKET, built, random_network
from refusals import refused

import pi2_fluid as pf

ROOT = Path(__file__).parents[2]
KNOWN = json.loads((ROOT / "tests/data/network_rests.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("known", KNOWN, ids=[known["name"] for known in KNOWN])
def test_known_rests(known: dict[str, Any]) -> None:
    point = pf.equilibrium(built(**known["network"]))
    for name, values in known["rest"].items():
        assert getattr(point, name).to_numpy() == pytest.approx(values, rel=1e-12, abs=0), name
    assert point.bottleneck.all()
    assert point.unique


def test_one_link_that_matters_is_one_queue() -> None:
    flows = [pf.Flows(pf.Reno(), 10, "80ms"), pf.Flows(pf.Cubic(), 3, "30ms")]
    alone = pf.equilibrium(flows, pf.Pie(), "12Mbit/s")
    nodes = [
        pf.Node(name, pf.Link(rate), pf.Pie())
        for name, rate in (("wide", "90Mbit/s"), ("b", "12Mbit/s"), ("unused", "1Mbit/s"))
    ]
    routed = [
        pf.Flows(each.sender, each.count, each.base_rtt, route=("wide", "b")) for each in flows
    ]
    point = pf.equilibrium(pf.Network(nodes, routed))
    for name in ("p", "p_prime", "window", "rtt", "rate"):
        assert getattr(point, name).to_numpy() == pytest.approx(getattr(alone, name), rel=1e-11)
    assert point.share.sel(link="b").to_numpy() == pytest.approx(alone.share, rel=1e-11)
    assert point.controller.to_numpy() == pytest.approx([0.0, alone.controller, 0.0], rel=1e-11)
    assert point.bottleneck.to_numpy().tolist() == [False, True, False]
    assert point.load.to_numpy() == pytest.approx([12 / 90, 1.0, 0.0], rel=1e-12)
    assert point.queue_delay.to_numpy().tolist() == [0.0, nodes[1].aqm.target, 0.0]
    # and a network of that one node is the queue itself, digit by digit
    assert pf.equilibrium(pf.Network(nodes[1], flows)) == alone


def relaxed(network: pf.Network) -> tuple[np.ndarray, np.ndarray]:
    """(u, y/C) by log u += .3 log(y/C), a link without signals left out: none of Newton's."""
    places = [[network.node_names.index(n) for n in each.route or ()] for each in network.flows]
    capacity = np.array([node.link.capacity / PACKET for node in network.nodes])
    u = np.full(len(capacity), 0.1)
    for _ in range(3000):
        loads = np.zeros(len(u))
        for flows, route in zip(network.flows, places, strict=True):
            kind = flows.sender.signal or "classic"
            marks = [getattr(network.nodes[i].aqm.encode(u[i]), kind) for i in route]
            rtt = flows.base_rtt + sum(network.nodes[i].aqm.target for i in route if u[i] > 0)
            state = flows.sender.at_rest(rtt, 1.0 - prod(1.0 - p for p in marks))
            loads[route] += flows.count * flows.sender.sending_rate(state, rtt) / capacity[route]
        left = (u > 0.0) & (u < 1e-9)  # without its delay, loads are others
        u = np.where(left, 0.0, u * loads**0.3)
        if not left.any() and np.all((u == 0.0) | (np.abs(loads - 1.0) < 1e-13)):
            break
    return u, loads


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5])  # where the slow method is not too slow
def test_a_second_method_agrees(seed: int) -> None:
    network = random_network(np.random.default_rng(seed))
    point = pf.equilibrium(network)
    u, loads = relaxed(network)
    assert np.all(loads < 1 + 1e-9)
    assert point.controller.to_numpy() == pytest.approx(u, rel=1e-10, abs=1e-12)
    assert point.load.to_numpy() == pytest.approx(loads, rel=1e-10)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
@given(seed=st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_links_are_full_or_have_no_queue(seed: int) -> None:
    network = random_network(np.random.default_rng(seed))
    try:
        point = pf.equilibrium(network)
    except pf.DomainError:
        assume(False)
    full = point.bottleneck.to_numpy()
    target = np.array([node.aqm.target for node in network.nodes])
    load, delay, u = (x.to_numpy() for x in (point.load, point.queue_delay, point.controller))
    # conserved: what classes send over a link is its load, and that is at most 1
    sent = np.array([flows.count for flows in network.flows]) * point.rate.to_numpy()
    assert network.routing_matrix.to_numpy() @ sent == pytest.approx(load * point.capacity)
    assert np.all(load <= 1 + 1e-10)
    assert load[full] == pytest.approx(1.0, rel=1e-10)
    assert np.all(delay[~full] == 0.0)
    assert np.all(u[~full] == 0.0)
    assert delay[u > 0] == pytest.approx(target[u > 0], rel=1e-15)
    assert np.all(delay <= target)
    # every class meets a link that signals, and independent draws
    for place, (flows, route) in enumerate(
        zip(network.flows, network.routing_matrix.to_numpy().T > 0, strict=True)
    ):
        marks = point.link_p.sel(signal=flows.sender.signal).to_numpy()[route]
        assert 1 - np.prod(1 - marks) == pytest.approx(float(point.p[place]), rel=1e-9)
        assert point.p[place] > 0
        assert float(point.rtt[place]) == pytest.approx(flows.base_rtt + delay[route].sum())


def test_a_full_link_may_wait_less_than_its_target_and_signal_nothing() -> None:
    a = pf.Node("a", pf.Link("12Mbit/s"), pf.Pi2())
    short = pf.Flows(pf.Reno(), 5, "60ms", "short", route="a")

    def load(wait: float, rate: float) -> float:
        """What a link b of so many bit/s carries, if waiting there is part of the path."""
        wide = pf.Node("b", pf.Link("1Gbit/s"), pf.Pi2())
        long = pf.Flows(pf.Reno(), 5, 0.04 + wait, route=("a", "b"))
        point = pf.equilibrium(pf.Network([a, wide], [long, short]))
        assert not point.bottleneck[1]
        return float(point.load[1]) * 1e9 / rate

    b = pf.Node("b", pf.Link("5.5Mbit/s"), pf.Pi2(target="100ms"))
    long = pf.Flows(pf.Reno(), 5, "40ms", "long", route=("a", "b"))
    point = pf.equilibrium(pf.Network([a, b], [long, short]))
    assert load(b.aqm.target, 5.5e6) < 1 < load(0.0, 5.5e6)  # neither its target nor no queue
    assert point.bottleneck.all()
    assert point.load.to_numpy() == pytest.approx(1.0, rel=1e-11)
    assert float(point.controller[1]) == 0.0
    waits = float(point.queue_delay[1])
    assert 0.0 < waits < b.aqm.target
    assert load(waits, 5.5e6) == pytest.approx(1.0, rel=1e-10)


def test_links_of_almost_one_capacity_rest() -> None:
    """One of them lacks next to nothing: it waits without signals here, and is idle without Cbr."""
    nodes = [
        pf.Node("b", pf.Link("17.158Mbit/s"), pf.Pi2()),
        pf.Node("c", pf.Link("17.242Mbit/s"), pf.Pi2()),
    ]
    flows = [
        pf.Flows(pf.Reno(), 4, "63ms", route=("b", "c")),
        pf.Flows(pf.Scalable(), 1, "72ms", route=("c", "b")),
        pf.Flows(pf.Cbr(rate="0.7Mbit/s"), 5, "76ms", route=("c", "b")),
    ]
    rest = pf.equilibrium(pf.Network(nodes, flows))
    assert rest.load.to_numpy() == pytest.approx([1.0, 1.0], rel=1e-11)
    assert float(rest.controller[0]) > 0.1
    assert float(rest.controller[1]) == 0.0
    assert 0.0 < float(rest.queue_delay[1]) < 0.02
    rest = pf.equilibrium(pf.Network(nodes, flows[:2]))
    assert rest.load.to_numpy() == pytest.approx([1.0, 17.158 / 17.242], rel=1e-11)


def test_constant_rates_take_their_part_and_lose_theirs() -> None:
    nodes = [pf.Node(n, pf.Link(rate), pf.Pi()) for n, rate in (("a", "12Mbit/s"), ("b", 6e6))]
    flows = [
        pf.Flows(pf.Reno(), 4, "50ms", route=("a", "b")),
        pf.Flows(pf.Reno(), 4, "60ms", "short", route="a"),
        pf.Flows(pf.Cbr(rate="1Mbit/s"), 2, "10ms", "dropped", route=("a", "b")),
        pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False), 1, "10ms", "kept", route="b"),
    ]
    point = pf.equilibrium(pf.Network(nodes, flows))
    assert point.load.to_numpy() == pytest.approx(1.0)
    p_a, p_b = point.link_p.sel(signal="classic").to_numpy()
    sent = 2e6 / PACKET
    share = point.share.to_numpy() * point.capacity.to_numpy()[:, None]
    assert share[:, 2] == pytest.approx([sent * (1 - p_a), sent * (1 - p_a) * (1 - p_b)])
    assert share[:, 3] == pytest.approx([0.0, 0.5 * sent])


def test_two_equal_links_in_a_row_share_their_signals_in_many_ways() -> None:
    nodes = [pf.Node(name, pf.Link("12Mbit/s"), pf.Pi2()) for name in ("a", "b")]
    point = pf.equilibrium(pf.Network(nodes, pf.Flows(pf.Reno(), 10, "60ms", route=("a", "b"))))
    assert not point.unique
    assert float(point.p[0]) == pytest.approx(0.02)  # W = 10 at 100 ms
    said = {name: value for name, value, _ in point.rows()}
    assert said["p' is unique"].startswith("no")
    assert "links" in point._repr_html_()


NODES = [pf.Node(name, pf.Link("12Mbit/s"), pf.Pi2()) for name in ("a", "b")]
LONG = pf.Flows(pf.Reno(), 5, "60ms", route=("a", "b"))


@pytest.mark.parametrize(
    ("first", "flows", "error", "sentence"),
    [
        (pf.Imposed(p_prime=0.1), LONG, pf.UnsupportedError, "Imposed at node 'a' is none of them"),
        (
            pf.DualPi2(),
            pf.Flows(pf.Scalable(), 5, "60ms", route="a"),
            pf.UnsupportedError,
            "DualPi2 marks L4S traffic alone by a step, which switches to and fro",
        ),
        (
            pf.Pi2(),
            pf.Flows(pf.Reno(), [5, 6], "60ms", route=("a", "b")),
            pf.UnsupportedError,
            r"Network flows\[0\].count has the shape \(2,\), and several nodes are solved for",
        ),
        (
            pf.Pi2(),
            pf.Flows(pf.Cbr(rate="1Mbit/s"), route=("a", "b")),
            pf.UnsupportedError,
            "no class of flows obeys congestion signals",
        ),
        (
            pf.Pi2(),
            [LONG, pf.Flows(pf.Cbr(rate="13Mbit/s", thinned=False), route="b")],
            pf.DomainError,
            "the flows over node 'b' offer .* times its capacity even at p = 1: raise",
        ),
    ],
)
def test_what_has_no_rest_here_is_refused(first, flows, error, sentence) -> None:
    network = pf.Network([pf.Node("a", NODES[0].link, first), NODES[1]], flows)
    with refused(error, match=sentence):
        pf.equilibrium(network)


def test_links_of_several_packet_sizes_are_refused() -> None:
    small = pf.Node("a", pf.Link("12Mbit/s", packet_size="500B"), pf.Pi2())
    with refused(pf.UnsupportedError, "packet_size is 500 B at 'a' and 1500 B at 'b'"):
        pf.equilibrium(pf.Network([small, NODES[1]], LONG))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("networks.md", 2), ("paganini.md", 4)])
def test_pages_say_what_their_code_prints(name: str, least: int) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    blocks = re.findall(r"```(\w+)\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    checked = 0
    for (kind, text), (following, printed) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if kind == "toml":
            assert pf.Network.from_toml(text).nodes
        if kind == "python":
            with redirect_stdout(io.StringIO()) as out:
                exec(compile(text, name, "exec"), names)
            if following == "text":
                assert out.getvalue() == printed
                checked += 1
    assert checked >= least
