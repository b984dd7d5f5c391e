"""A network of one node: a scenario without its schedule, and what loops and rests make of it."""

from __future__ import annotations

import pytest
from refusals import refused

import pi2_fluid as pf

NODE = pf.Node("a", pf.Link("12Mbit/s", packet_size="1000B"), pf.Pi2())
FLOWS = (pf.Flows(pf.Reno(), 10, "80ms"), pf.Flows(pf.Cubic(), 2, "30ms"))
NETWORK = pf.Network(NODE, FLOWS)
SCENARIO = pf.Scenario("10s", NODE.link, NODE.aqm, FLOWS, pf.Change("5s", counts={"reno": 3}))


def test_a_scenario_is_the_network_of_one_node() -> None:
    network = SCENARIO.network
    assert network.flows == FLOWS
    assert network.node == pf.Node("bottleneck", NODE.link, NODE.aqm)
    assert network.nodes == (network.node,)


def test_it_rests_where_its_parts_do() -> None:
    apart = pf.equilibrium(FLOWS, NODE.aqm, "12Mbit/s", "1000B")
    assert pf.equilibrium(NETWORK) == apart
    assert pf.equilibrium(SCENARIO.network) == apart
    # the packet size is that of its link
    assert pf.equilibrium(FLOWS, NODE.aqm, "12Mbit/s").window != apart.window


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
def test_its_loop_is_that_of_its_parts(update: str) -> None:
    apart = pf.Loop(FLOWS, NODE.aqm, capacity="12Mbit/s", packet_size="1000B", update=update)
    together = pf.Loop(NETWORK, update=update)
    assert together.margins() == apart.margins()
    assert together(1j) == apart(1j)


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (
            lambda: pf.Network([NODE, pf.Node("b", NODE.link, pf.Pie())], FLOWS),
            pf.UnsupportedError,
            "Network has the nodes 'a', 'b', and loops and engines know of one bottleneck: give ",
        ),
        (lambda: pf.Network([], FLOWS), pf.ScenarioError, "Network nodes = .* is empty"),
        (lambda: pf.Network(NODE, []), pf.ScenarioError, "Network flows = .* is empty"),
        (lambda: pf.Network(NODE.link, FLOWS), pf.ScenarioError, "Network nodes = Link.* no Node"),
        (lambda: pf.Network(NODE, [NODE]), pf.ScenarioError, "Network flows 1 = Node.* no Flows"),
        (lambda: pf.Node("", NODE.link, NODE.aqm), pf.ScenarioError, "name = '' is no name"),
        (lambda: pf.Node(1, NODE.link, NODE.aqm), pf.ScenarioError, "name = 1 is no name"),
        (lambda: pf.Node("a", "12Mbit/s", NODE.aqm), pf.ScenarioError, "link = .* is no Link"),
        (lambda: pf.Node("a", NODE.link, pf.Reno()), pf.ScenarioError, "aqm = .* is no Aqm"),
        (lambda: pf.equilibrium(NETWORK, pf.Pi2()), pf.ScenarioError, "beside a network"),
        (lambda: pf.equilibrium(FLOWS, pf.Pi2()), pf.ScenarioError, "capacity is missing"),
        (lambda: pf.equilibrium(FLOWS, capacity=1e6), pf.ScenarioError, "aqm = None is no Aqm"),
        (lambda: pf.Loop(NETWORK, capacity="1Mbit/s"), pf.ScenarioError, "beside a network"),
        (lambda: pf.Loop(NETWORK, packet_size="1kB"), pf.ScenarioError, "beside a network"),
        (lambda: pf.Loop(NETWORK, rtt="100ms"), pf.ScenarioError, "go with a single sender"),
        (lambda: pf.Loop(pf.Reno(), rtt="1s", p=0.1), pf.ScenarioError, "aqm = None is no Aqm"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(make, error, sentence) -> None:
    with refused(error, match=sentence):
        make()
