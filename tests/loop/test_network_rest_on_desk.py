"""Where networks rest by the desk, beside the readable way and beside what a rest is."""

from __future__ import annotations

import numpy as np
import pytest
from random_networks import REFUSALS, random_network

import pi2_fluid as pf
from pi2_fluid.errors import quietly
from pi2_fluid.loop.desk import settle_links_on_desk
from pi2_fluid.network.bottlenecks import network_equilibrium
from pi2_fluid.network.links import Links
from pi2_fluid.network.routes import on_their_ways


def links_of(network: pf.Network) -> Links:
    """What arrives at each link of a network."""
    network = network.with_buffers()
    queues = {node.name: node.aqm for node in network.nodes}
    flows = on_their_ways(network.flows, queues, network.packet_size)
    return Links(network.nodes, flows, network.combine)


def found_on_desk(seeds: range) -> int:
    """Compare random networks; return how many the desk has settled."""
    settled = 0
    for seed in seeds:
        network = random_network(seed)
        with quietly():
            links = links_of(network)
            v = settle_links_on_desk(links)
            if v is None:
                continue
            try:
                own = network_equilibrium(network)
            except REFUSALS:  # of laws that have no rest there, such as a step
                continue
            mine = network_equilibrium(network, by=settle_links_on_desk)
        settled += 1
        # What a rest is: full links are full, others have no queue and room to spare.
        excess = links.excess_at(v)
        assert np.all(np.abs(excess[v > -1.0]) < 1e-10), seed
        assert np.all(excess[v <= -1.0] < 1e-9), seed
        for name in ("controller", "queue_delay", "l4s_delay", "p", "window", "rtt", "share"):
            assert mine.numbers(name) == pytest.approx(own.numbers(name), rel=1e-9, abs=1e-12)
        assert mine.unique == own.unique
    return settled


def test_some_networks_rest_where_the_readable_way_says() -> None:
    assert found_on_desk(range(8)) >= 3


@pytest.mark.slow
def test_many_networks_rest_where_the_readable_way_says() -> None:
    assert found_on_desk(range(8, 258)) >= 150


def test_signals_that_add_up_rest_elsewhere_than_those_drawn_one_by_one() -> None:
    nodes = [pf.Node(name, pf.Link("15Mbit/s"), pf.Pi2()) for name in "ab"]
    flows = [
        pf.Flows(pf.Reno(), 6, "80ms", "both", route=("a", "b")),
        pf.Flows(pf.Reno(), 5, "40ms", "one", route="a"),
        pf.Flows(pf.Reno(), 7, "60ms", "other", route="b"),
    ]
    both = [pf.Network(nodes, flows, combine=how) for how in ("product", "sum")]
    desk = [network_equilibrium(each, by=settle_links_on_desk) for each in both]
    for point, network in zip(desk, both, strict=True):
        assert settle_links_on_desk(links_of(network)) is not None
        own = network_equilibrium(network)
        assert point.numbers("p") == pytest.approx(own.numbers("p"), rel=1e-9)
    assert desk[0].numbers("p")[0] != pytest.approx(desk[1].numbers("p")[0], rel=1e-6)


def test_the_desk_leaves_what_does_not_fit() -> None:
    """More flows than a link bears, and a queue that only overflows."""
    drop = pf.Node("b", pf.Link("15Mbit/s", "50 packets"), pf.TailDrop())
    queue = pf.Node("a", pf.Link("15Mbit/s"), pf.Pi2())
    flows = [pf.Flows(pf.Reno(), 6, "80ms", route=("a", "b"))]
    assert settle_links_on_desk(links_of(pf.Network([queue, drop], flows))) is None
    crowd = [pf.Flows(pf.Reno(), 100_000, "80ms", route=("a", "c"))]
    other = pf.Node("c", pf.Link("15Mbit/s"), pf.Pi2())
    assert settle_links_on_desk(links_of(pf.Network([queue, other], crowd))) is None
