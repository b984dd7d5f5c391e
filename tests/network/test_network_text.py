"""Networks as text, routes and hops in it, and that scenarios are what they were."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.records.paths import read_path, replace_path

TEXT = """\
[[node]]
name = "a"
capacity = "15Mbit/s"

[node.aqm]
kind = "pi2"
alpha = 0.3

[[node]]
name = "b"
capacity = "12Mbit/s"
buffer = "500packet"

[node.aqm]
kind = "pie"

[[flows]]
sender = "reno"
count = 6
base_rtt = "80ms"
route = ["a", "b"]
hops = ["5ms", "10ms"]

[[flows]]
sender = "cubic"
base_rtt = "40ms"
name = "short"
route = ["a"]
"""
HEAD = '[link]\ncapacity = "1Mbit/s"\n[aqm]\nkind = "pi2"\n'
NETWORK = pf.Network.from_toml(TEXT)


def test_text_says_what_the_network_is(tmp_path: Path) -> None:
    assert NETWORK.node_names == ("a", "b")
    assert NETWORK.nodes[1] == pf.Node("b", pf.Link(12e6, 500), pf.Pie())
    assert NETWORK.nodes[0].aqm == pf.Pi2(alpha=0.3)
    assert NETWORK.flows[0] == pf.Flows(
        pf.Reno(), 6, "80ms", route=("a", "b"), hops=("5ms", "10ms")
    )
    assert NETWORK.flows[1] == pf.Flows(pf.Cubic(), 1, "40ms", "short", route="a")
    NETWORK.save(tmp_path / "network.toml")
    assert pf.Network.load(tmp_path / "network.toml") == NETWORK


def test_it_is_written_as_it_was_read() -> None:
    assert NETWORK.to_toml() == TEXT.replace("500packet", _packets(500))
    assert pf.Network.from_toml(NETWORK.to_toml()) == NETWORK


def _packets(count: int) -> str:
    line = pf.Network(pf.Node("a", pf.Link(1e6, count), pf.Pi2()), pf.Flows(pf.Reno(), 1, 1))
    return line.to_toml().partition('buffer = "')[2].partition('"')[0]


def test_routes_and_hops_are_fields_like_others() -> None:
    flows = NETWORK.flows[0]
    assert pickle.loads(pickle.dumps(flows)) == flows
    assert hash(flows) == hash(pickle.loads(pickle.dumps(flows)))
    assert flows != pf.Flows(pf.Reno(), 6, "80ms", route=("a", "b"))
    assert "route=('a', 'b'), hops=(0.005, 0.01)" in repr(flows)
    assert pf.Flows(pf.Reno(), 1, "80ms", route="a", hops="5ms").hops == (0.005,)
    changed = replace_path(NETWORK, "flows.reno.hops.1", "20ms")
    assert changed.flows[0].hops == (0.005, 0.02)
    assert read_path(replace_path(NETWORK, "nodes.b.link.capacity", 1e6), "nodes.1.link.capacity")


def test_a_scenario_may_name_its_node() -> None:
    text = f'duration = "10s"\n{HEAD}[[flows]]\nsender = "reno"\nbase_rtt = "80ms"\n'
    plain = pf.Scenario.from_toml(text)
    named = pf.Scenario.from_toml(f'{text}route = "bottleneck"\n')
    assert "route" not in plain.to_toml()
    assert "hops" not in plain.to_toml()
    assert named.to_toml() == f'{plain.to_toml()}route = ["bottleneck"]\n'
    assert named.network.node_names == ("bottleneck",)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (TEXT + HEAD, r"\[link\] is the only link of a scenario or its queue, and \[\[node\]\]"),
        (HEAD, r"\[link\] is of a scenario, and a network has \[\[node\]\] and \[\[flows\]\] only"),
        (TEXT.replace('name = "a"\n', ""), r"\[\[node\]\] 1: name is missing: give what routes"),
        (TEXT.replace("capacity", "speed"), r"\[\[node\]\] 1: speed is unknown: give 'capacity'"),
        (TEXT.replace('kind = "pie"', 'kind = "x"'), r"\[\[node\]\] 2: \[node.aqm\] kind = 'x' is"),
        (TEXT.replace("[node.aqm]", "[node.link]"), r"\[\[node\]\] 1: link is unknown: give"),
        (TEXT.replace('["a", "b"]', '["a", "c"]'), r"flows\]\] 1 route = .* has 'c', which is no"),
        (TEXT.replace('["a", "b"]', '["a", 2]'), r"route = \['a', 2\] names no nodes"),
        (TEXT.replace('"5ms", ', '"5 sheep", '), r"\[\[flows\]\] 1: hops 1 = '5 sheep'"),
        (TEXT.replace('"80ms"', '["80ms"]'), r"base_rtt = .* is a list: give one value"),
        ("", r"\[\[node\]\] is missing: give at least one such table, with a name"),
        ("[node]\nname = 'a'", r"is no list of tables: use \[\[node\]\]"),
    ],
)
def test_what_is_wrong_in_text_is_said(text: str, sentence: str) -> None:
    with refused((ValueError, TypeError), match=sentence):
        pf.Network.from_toml(text)


def test_a_network_is_no_scenario() -> None:
    with refused(pf.ScenarioError, "duration is missing: give the length of the run"):
        pf.Scenario.from_toml(TEXT)
    with refused(pf.ScenarioError, "[link] is the only link"):
        pf.Scenario.from_toml(HEAD + TEXT)
    with refused(pf.ScenarioError, "duration is of a scenario", "Scenario.from_toml(text).network"):
        pf.Network.from_toml('duration = "10s"\n' + TEXT)
