"""Networks: of one node a scenario without its schedule; of several, and what is refused."""

from __future__ import annotations

import pytest
from refusals import refused

import pi2_fluid as pf

NODE = pf.Node("a", pf.Link("12Mbit/s", packet_size="1000B"), pf.Pi2())
FLOWS = (pf.Flows(pf.Reno(), 10, "80ms"), pf.Flows(pf.Cubic(), 2, "30ms"))
NETWORK = pf.Network(NODE, FLOWS)
OTHER = pf.Node("b", pf.Link("10Mbit/s", packet_size="1000B"), pf.Pie())
SEVERAL = pf.Network(
    [NODE, OTHER],
    [
        pf.Flows(pf.Reno(), 10, "80ms", route=("b", "a"), hops=("1ms", "2ms")),
        pf.Flows(pf.Reno(), 5, "80ms", route="a"),
    ],
)
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


def routed(**fields) -> pf.Flows:
    return pf.Flows(pf.Reno(), 10, "80ms", **fields)


def test_the_routing_matrix_has_the_names_of_nodes_and_classes() -> None:
    matrix = SEVERAL.routing_matrix
    assert matrix.dims == ("link", "flows")
    assert matrix.link.to_numpy().tolist() == ["a", "b"]
    assert matrix.flows.to_numpy().tolist() == ["reno", "reno2"]
    assert matrix.to_numpy().tolist() == [[1.0, 1.0], [1.0, 0.0]]
    assert NETWORK.routing_matrix.to_numpy().tolist() == [[1.0, 1.0]]


def test_a_node_that_nobody_crosses_is_idle() -> None:
    point = pf.equilibrium(pf.Network([NODE, OTHER], routed(route="a")))
    assert point.load.to_numpy() == pytest.approx([1.0, 0.0])
    assert point.bottleneck.to_numpy().tolist() == [True, False]


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (
            lambda: pf.Network([NODE, OTHER], routed(route=("a", "c"))),
            pf.ScenarioError,
            r"Network flows 1 route = \('a', 'c'\) has 'c', which is no node: give one of 'a', 'b'",
        ),
        (
            lambda: pf.Network([NODE, OTHER], [routed(route="a"), routed()]),
            pf.ScenarioError,
            "Network flows 2 route = None is missing, for there are 2 nodes: name those that it",
        ),
        (
            lambda: pf.Network([NODE, NODE], routed(route="a")),
            pf.ScenarioError,
            "Network nodes has 'a' 2 times: give each Node a name of its own",
        ),
        (
            lambda: pf.Network(NODE, [routed(name="x"), routed(name="x")]),
            pf.ScenarioError,
            "Network flows 2 name = 'x' is also that of class 1",
        ),
        (
            lambda: routed(route=("a", "b", "a")),
            pf.ScenarioError,
            "crosses 'a' twice, and a class visits a node at most once: leave one out",
        ),
        (lambda: routed(route=()), pf.ScenarioError, r"route = \(\) names no nodes: give their"),
        (lambda: routed(route=3), pf.ScenarioError, "route = 3 names no nodes"),
        (
            lambda: routed(route=("a", "b"), hops="1ms"),
            pf.ScenarioError,
            r"hops = \(0.001,\) are 1 and the nodes of the route 2: give one time for each node",
        ),
        (
            lambda: routed(route=("a", "b"), hops=("50ms", "31ms")),
            pf.ScenarioError,
            "Flows hops take 81ms, longer than base_rtt = 80ms: shorten them, or raise base_rtt",
        ),
        (lambda: routed(hops="-1ms"), pf.DomainError, "Flows hops 1 = '-1ms' is outside"),
        (lambda: routed(hops=[[1, 2]]), pf.QuantityError, r"hops 1 = \[1, 2\] is an array: give"),
        (lambda: pf.Flows(pf.Reno(), 0, "80ms", route="a"), pf.DomainError, "count = 0"),
        (
            lambda: pf.Scenario("9s", NODE.link, NODE.aqm, routed(route="a")),
            pf.ScenarioError,
            "Scenario flows 1 route = .* has 'a', which is no node: give 'bottleneck'",
        ),
        (
            lambda: pf.Scenario("9s", NODE.link, NODE.aqm, routed(hops="1ms")),
            pf.ScenarioError,
            "Scenario flows 1 hops = .* a scenario has one: leave them out, for Link delay_on",
        ),
        (
            lambda: pf.equilibrium(routed(route=("a", "b")), pf.Pi2(), "1Mbit/s"),
            pf.ScenarioError,
            "crosses several nodes, and here one queue is given: give a Network of them all",
        ),
        (lambda: pf.equilibrium(SEVERAL, pf.Pi2()), pf.ScenarioError, "beside a network"),
        (
            lambda: pf.tune(SEVERAL),
            pf.UnsupportedError,
            "a queue is tuned by itself: give tune, for each bottleneck of .* the largest round-",
        ),
        (
            lambda: pf.coexistence(SEVERAL, rtts="20ms", load=0.1),
            pf.UnsupportedError,
            "two classes share one queue here: ask equilibrium",
        ),
        (lambda: pf.simulate(SEVERAL), pf.UnsupportedError, "'b' without a schedule, and only a"),
        (lambda: pf.Fluid().run(SEVERAL), pf.UnsupportedError, "or ask equilibrium"),
        (lambda: pf.Packets().run(NETWORK), pf.UnsupportedError, "the node 'a' without a schedule"),
    ],
)
def test_what_routes_and_networks_cannot_be_is_said(make, error, sentence) -> None:
    with refused(error, match=sentence):
        make()
