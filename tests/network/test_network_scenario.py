"""Scenarios of networks: of one node what they were, of several what refuses to be of one."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path

import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.records.paths import read_path, replace_path

A = pf.Node("a", pf.Link("15Mbit/s"), pf.Pi2(alpha=0.3))
B = pf.Node("b", pf.Link("12Mbit/s"), pf.Pie())
LONG = pf.Flows(pf.Reno(), 6, "80ms", "long", route=("a", "b"), hops=("5ms", "10ms"))
SHORT = pf.Flows(pf.Cubic(), 2, "40ms", "short", route="a")
NETWORK = pf.Network([A, B], [LONG, SHORT])
CHANGES = [
    pf.Change("20s", counts={"short": 3}),
    pf.Change("10s", capacity="8Mbit/s", link="a"),
    pf.Change("10s", capacity="9Mbit/s", link="b"),
]
SCENARIO = pf.Scenario("60s", network=NETWORK, changes=CHANGES, name="two")
TEXT = """\
duration = "60s"
name = "two"

[[node]]
name = "a"
capacity = "15Mbit/s"

[node.aqm]
kind = "pi2"
alpha = 0.3

[[node]]
name = "b"
capacity = "12Mbit/s"

[node.aqm]
kind = "pie"

[[flows]]
sender = "reno"
count = 6
base_rtt = "80ms"
name = "long"
route = ["a", "b"]
hops = ["5ms", "10ms"]

[[flows]]
sender = "cubic"
count = 2
base_rtt = "40ms"
name = "short"
route = ["a"]

[[changes]]
at = "10s"
capacity = "8Mbit/s"
link = "a"

[[changes]]
at = "10s"
capacity = "9Mbit/s"
link = "b"

[[changes]]
at = "20s"
counts = { short = 3 }
"""


def test_of_one_node_both_ways_make_the_same() -> None:
    flows = pf.Flows(pf.Reno(), 6, "80ms")
    change = pf.Change("5s", "8Mbit/s")
    plain = pf.Scenario("10s", A.link, A.aqm, flows, change)
    assert pf.Scenario("10s", network=plain.network, changes=change) == plain
    # whatever the node is called
    network = pf.Network(A, dataclasses.replace(flows, route="a"))
    given = pf.Scenario("10s", network=network, changes=dataclasses.replace(change, link="a"))
    assert given == plain
    assert given.to_toml() == plain.to_toml()
    assert repr(given) == repr(plain)
    assert type(given) is type(plain) is pf.Scenario


def test_it_keeps_a_network_of_several() -> None:
    assert SCENARIO.network is NETWORK
    assert SCENARIO.flows == NETWORK.flows
    assert SCENARIO.class_names == ("long", "short")
    assert SCENARIO.node_names == ("a", "b")
    assert [change.at for change in SCENARIO.changes] == [10.0, 10.0, 20.0]
    assert repr(SCENARIO).startswith("Scenario(duration=60.0, changes=(Change(")
    html = SCENARIO._repr_html_()
    assert all(f"<td>{name}" in html or f"{name}</t" in html for name in ("a", "b", "long"))


def test_it_is_a_value() -> None:
    again = dataclasses.replace(SCENARIO, name="two")
    assert again == SCENARIO
    assert hash(again) == hash(SCENARIO)
    assert again != dataclasses.replace(SCENARIO, duration=61.0)
    assert pickle.loads(pickle.dumps(SCENARIO)) == copy.copy(SCENARIO) == SCENARIO
    other = replace_path(SCENARIO, "network.nodes.b.aqm.alpha", 0.25)
    assert read_path(other, "network.nodes.1.aqm.alpha") == 0.25
    assert other.network.nodes[0] == A


def test_it_is_a_tree_of_numbers(jax) -> None:
    numbers, tree = jax.tree.flatten(SCENARIO)
    assert 15e6 in numbers
    assert jax.tree.unflatten(tree, numbers) == SCENARIO


def test_with_one_node_left_it_is_of_one() -> None:
    one = pf.Network(A, dataclasses.replace(SHORT, route=None))
    made = dataclasses.replace(SCENARIO, network=one, changes=())
    assert made == pf.Scenario("60s", A.link, A.aqm, one.flows, name="two")
    assert made.link == A.link


def test_its_text_is_that_of_the_network_with_a_schedule(tmp_path: Path) -> None:
    assert SCENARIO.to_toml() == TEXT
    assert pf.Scenario.from_toml(TEXT) == SCENARIO
    SCENARIO.save(tmp_path / "two.toml")
    assert pf.Scenario.load(tmp_path / "two.toml") == SCENARIO


def routed(**given) -> pf.Scenario:
    return pf.Scenario("60s", **({"network": NETWORK} | given))


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: routed(aqm=pf.Pi2()), pf.ScenarioError, "aqm = Pi2.* is given beside a network"),
        (lambda: routed(flows=[LONG]), pf.ScenarioError, "flows = .* is given beside a network"),
        (lambda: routed(network=A), pf.ScenarioError, "network = Node.* is no Network: give e.g."),
        (
            lambda: routed(network=pf.Network(A, pf.Flows(pf.Reno(), 1, "1s", hops="1ms"))),
            pf.ScenarioError,
            "Scenario flows 1 hops = .* a scenario has one",
        ),
        (
            lambda: routed(changes=pf.Change("1s", "1Mbit/s")),
            pf.ScenarioError,
            "at 1s sets capacity, and there are 2 links: give link, one of 'a', 'b'",
        ),
        (
            lambda: routed(changes=pf.Change("1s", "1Mbit/s", link="c")),
            pf.ScenarioError,
            "at 1s has link = 'c', which is no node: give one of 'a', 'b'",
        ),
        (
            lambda: routed(changes=[pf.Change("1s", "1Mbit/s", link="a")] * 2),
            pf.ScenarioError,
            "sets the capacity of 'a' twice",
        ),
        (
            lambda: pf.Scenario("9s", A.link, A.aqm, pf.Flows(pf.Reno(), 1, "1s"), CHANGES[1]),
            pf.ScenarioError,
            "at 10s is not before the end",
        ),
        (
            lambda: pf.Scenario("60s", A.link, A.aqm, pf.Flows(pf.Reno(), 1, "1s"), CHANGES[1]),
            pf.ScenarioError,
            "has link = 'a', which is no node: give 'bottleneck'",
        ),
        (lambda: pf.Change("1s", counts={"a": 1}, link="a"), pf.ScenarioError, "give both, or"),
        (lambda: pf.Change("1s", "1Mbit/s", link=3), pf.ScenarioError, "link = 3 is no name"),
        (
            lambda: routed(
                network=pf.Network([A, pf.Node("b", pf.Link(1e6, 9, 500), pf.Pi2())], [LONG])
            ),
            pf.UnsupportedError,
            "packet_size is 1500 B at 'a' and 500 B at 'b'",
        ),
        (
            lambda: pf.Scenario.from_toml(TEXT + '[link]\ncapacity = "1Mbit/s"\n'),
            pf.ScenarioError,
            "is the only link of a scenario",
        ),
        (
            lambda: pf.Scenario.from_toml(TEXT.replace('\nlink = "b"', "")),
            pf.ScenarioError,
            r"\[\[changes\]\] at 10s sets capacity, and there are 2 links",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(make, error, sentence) -> None:
    with refused(error, match=sentence):
        make()


ONE_LINK = {
    "link": lambda: SCENARIO.link,
    "aqm": lambda: SCENARIO.aqm,
    "response": lambda: pf.identify_response(SCENARIO, [2.0]),
}


@pytest.mark.parametrize("what", ONE_LINK)
def test_what_is_of_one_link_says_so_before_it_starts(what: str) -> None:
    with refused(pf.UnsupportedError, "has the nodes 'a', 'b'"):
        ONE_LINK[what]()
