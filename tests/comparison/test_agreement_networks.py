"""One scenario of several links in two engines: a row per link and per class, and its causes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import xarray as xr
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.agreement import run_all, tabulate
from pi2_fluid.comparison.agreement.causes import Facts, FlowFacts, _lost_before, name_causes
from pi2_fluid.comparison.agreement.curves import delay_distribution
from pi2_fluid.comparison.agreement.oscillation import read_oscillation
from pi2_fluid.comparison.agreement.places import at_place, places_in
from pi2_fluid.comparison.agreement.stages import answers_to_pushes, last_stage, loop_rtts

RATES = {"a": 15e6, "b": 12e6}


def two_links(duration: str = "20s", aqm: Any = None, **options: Any) -> pf.Scenario:
    nodes = [pf.Node(name, pf.Link(rate), aqm or pf.Pi2()) for name, rate in RATES.items()]
    flows = [
        pf.Flows(pf.Reno(), 6, "80ms", "long", route=("a", "b"), hops=("5ms", "10ms")),
        pf.Flows(pf.Reno(), 5, "40ms", "short a", route="a", hops="4ms"),
        pf.Flows(pf.Reno(), 8, "60ms", "short b", route="b", hops="12ms"),
    ]
    return pf.Scenario(duration, network=pf.Network(nodes, flows), **options)


@pytest.fixture(scope="module")
def both() -> Any:
    return run_all(two_links(), pf.Fluid(), pf.Packets(seeds=2))


@pytest.fixture(scope="module")
def table(both) -> Any:
    return tabulate(both)


def value(table: Any, name: str, engine: str = "packet", column: str = "value") -> float:
    return float(table[column].sel(name=name, engine=engine))


def why(table: Any, name: str) -> str:
    return str(table["why"].sel(name=name, engine="packet").item())


# --- the table ------------------------------------------------------------------------------


def test_every_link_has_the_rows_of_one_and_classes_have_theirs(table) -> None:
    names = [str(name) for name in table["name"].to_numpy()]
    of = {link: [name for name in names if name.endswith(f".{link}")] for link in ("a", "b")}
    alone = pf.Scenario("1s", pf.Link("12Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 8, "60ms"))
    single = pf.compare(alone, pf.Fluid(), pf.Fluid(linear=True))["name"].to_numpy().tolist()
    queues = [name for name in single if not name.endswith(".reno")]
    assert [name.removesuffix(".a") for name in of["a"]] == queues
    assert [name.removesuffix(".b") for name in of["b"]] == queues
    classes = [f"{of}.{name}" for of in ("throughput", "window") for name in
               ("long", "short a", "short b")]  # fmt: skip
    assert names == [*of["a"], *of["b"], *classes]
    assert table["link"].to_numpy().tolist() == ["a"] * 15 + ["b"] * 15 + [""] * 6


def test_queues_wait_their_target_and_classes_share_in_both(table) -> None:
    for link in RATES:
        for engine in ("fluid", "packet"):
            assert value(table, f"delay_mean.{link}", engine) == pytest.approx(0.020, rel=0.05)
        assert value(table, f"utilization.{link}") > 0.99
    for name in ("long", "short a", "short b"):
        fluid, packet = (value(table, f"throughput.{name}", each) for each in ("fluid", "packet"))
        assert packet == pytest.approx(fluid, rel=0.15)
    rest = pf.equilibrium(two_links().network)
    for link in RATES:
        expected = float(rest.controller.sel(link=link))
        assert value(table, f"controller.{link}", "fluid") == pytest.approx(expected, rel=1e-3)


def test_numbers_of_a_link_are_those_of_its_summary(both, table) -> None:
    found = pf.summarize(both.runs[1].result, after=both.after).sel(link="b").median("seed")
    for name in ("delay_mean", "delay_p99", "drop_fraction", "utilization"):
        assert value(table, f"{name}.b") == pytest.approx(float(found[name]), rel=1e-12)


def test_causes_are_those_of_each_link(table) -> None:
    """The window law of the long class hears both: sqrt(2) in the fluid, where packets have 1.2."""
    for name in ("controller.a", "drop_fraction.b"):
        said = re.search(r"W sqrt\(p\) of long is ([0-9.]+)", why(table, name))
        assert said is not None
        assert float(said[1]) == pytest.approx(1.2, abs=0.05)
        assert "1.41 by its law" in why(table, name)
    assert "chance" in why(table, "delay_p99.a")


def test_dual_queues_have_rows_of_their_own_and_single_ones_none_of_them() -> None:
    nodes = [
        pf.Node("a", pf.Link("8Mbit/s"), pf.CoupledPi2(ecn=True)),
        pf.Node("b", pf.Link("4Mbit/s"), pf.DualPi2()),
    ]
    flows = [
        pf.Flows(pf.Reno(), 3, "30ms", "classic", route=("a", "b")),
        pf.Flows(pf.Dctcp(), 3, "30ms", "l4s", route=("a", "b")),
    ]
    scenario = pf.Scenario("5s", network=pf.Network(nodes, flows))
    compared = pf.compare(scenario, pf.Packets(seeds=[1]), pf.Packets(seeds=[2]))
    names = [str(name) for name in compared["name"].to_numpy()]
    waits = [name for name in names if name.startswith("queue_delay_mean")]
    assert waits == ["queue_delay_mean.a", "queue_delay_mean.b.C", "queue_delay_mean.b.L"]
    first = "packet(seeds=(1,))"
    classic, l4s = (value(compared, name, first) for name in waits[1:])
    assert l4s < classic


def test_distributions_of_a_link_are_of_what_left_it(both) -> None:
    a, _ = places_in(both.scenario)
    for run in both.runs:
        delay, below = delay_distribution(at_place(run.result, a), both.after)
        assert np.all(np.diff(below) >= 0.0)
        median = delay[np.argmax(np.atleast_2d(below)[0] >= 0.5)]
        assert median == pytest.approx(0.020, rel=0.15)


# --- oscillations ---------------------------------------------------------------------------


def test_the_last_stage_has_links_as_they_are_then() -> None:
    changes = [
        pf.Change("4s", capacity="6Mbit/s", link="b"),
        pf.Change("8s", counts={"short a": 0}),
    ]
    stage = last_stage(two_links(changes=changes))
    assert stage.begin == 8.0
    assert [node.link.capacity for node in stage.nodes] == [15e6, 6e6]
    assert [flow.name for flow in stage.flows] == ["long", "short b"]
    assert loop_rtts(two_links()) == pytest.approx([0.12, 0.06, 0.08])


def test_queues_are_pushed_one_at_a_time() -> None:
    answers = answers_to_pushes(two_links(), pf.Fluid(), 0.01, 5.0)
    assert answers is not None
    assert answers.shape[:2] == (2, 2)
    begin = answers[:, :, 0]
    np.testing.assert_allclose(begin, [[0.0204, 0.020], [0.020, 0.0204]], rtol=1e-9)
    np.testing.assert_allclose(answers[:, :, -1], 0.020, rtol=1e-4)


def test_correlations_of_several_pushes_add_up() -> None:
    t = np.arange(0.0, 60.0, 0.01)
    loud, faint = np.exp(-0.3 * t) * np.cos(5.0 * t), 1e-3 * np.exp(-t) * np.cos(9.0 * t)
    one = read_oscillation(loud, 0.01, 10.0)
    assert read_oscillation(np.stack([loud, faint]), 0.01, 10.0) == pytest.approx(one, rel=1e-4)
    assert read_oscillation(np.stack([faint, 1e-3 * faint]), 0.01, 10.0).frequency > 8.0


# --- causes ---------------------------------------------------------------------------------

QUIET = Facts(
    flows=(FlowFacts("long", True, 20.0, 0.004, 20.0, "", ""),), backlog=100.0, slot=1e-4,
    step=np.inf, unresponsive=0.0, clamped=(0.0, 0.0), spread=(0.01, 0.01), late_starts=False,
    spare=1.0, aims=True, damping=0.5,
)  # fmt: skip


def test_a_cause_that_holds_at_one_link_of_a_route_says_where() -> None:
    clamped = QUIET._replace(clamped=(0.0, 0.3))
    said = name_causes({"a": QUIET, "b": clamped}, "throughput.long")
    assert said.startswith("at b: the controller is at 0")
    everywhere = name_causes({"a": clamped, "b": clamped}, "throughput.long")
    assert everywhere.startswith("the controller is at 0")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (QUIET._replace(lost=0.031), "before this one drop 3.1 % of what would arrive"),
        (QUIET._replace(acks=0.04), "acknowledgements take 4.0 % of the link"),
        (
            QUIET._replace(flows=(QUIET.flows[0]._replace(waits=0.2),)),
            "acknowledgements of long spend 20 % of its round-trip time in queues",
        ),
    ],
    ids=["lost", "acks", "waits"],
)
def test_causes_that_only_networks_have(facts: Facts, said: str) -> None:
    assert said in name_causes(facts, "drop_fraction.a")
    assert said not in name_causes(facts, "delay_p99.a")


def test_what_is_lost_before_a_link_is_a_part_of_what_would_have_arrived() -> None:
    """Of 480 packets for b, 100 are dropped at a; what others lose there is no loss of b's."""
    counted = {"arrivals": [[350.0, 300.0], [90.0, 0.0], [0.0, 80.0]]}
    counted["drops"] = [[100.0, 7.0], [50.0, 0.0], [0.0, 9.0]]
    packets = xr.Dataset(
        {name: (("seed", "time", "flows", "link"), [[rows]]) for name, rows in counted.items()},
        {"link": ["a", "b"]},
    )
    scenario = two_links()
    first, second = places_in(scenario)
    assert _lost_before(scenario, second, packets) == 100.0 / (100.0 + 300.0 + 80.0)
    assert _lost_before(scenario, first, packets) == 0.0
    assert _lost_before(scenario, second, 0.0 * packets) == 0.0
    lost = packets.assign(arrivals=0.0 * packets["arrivals"])
    assert _lost_before(scenario, second, lost) == 1.0


@pytest.mark.slow
def test_acknowledgements_that_wait_and_losses_upstream_are_found() -> None:
    nodes = [
        pf.Node("there", pf.Link("10Mbit/s", 40_000), pf.Pi2()),
        pf.Node("on", pf.Link("5Mbit/s", 40_000), pf.Pi2()),
        pf.Node("back", pf.Link("1Mbit/s", 40_000), pf.Pi2()),
    ]
    flows = [
        pf.Flows(pf.Reno(), 4, "40ms", "data", route=("there", "on"), back="back"),
        pf.Flows(pf.Reno(), 10, "40ms", "cross", route="there"),
        pf.Flows(pf.Reno(), 2, "40ms", "other way", route="back"),
    ]
    scenario = pf.Scenario("20s", network=pf.Network(nodes, flows))
    found = pf.compare(scenario, pf.Fluid(), pf.Packets(seeds=2))
    assert why(found, "drop_fraction.back").startswith("acknowledgements take 4.")
    assert "links before this one drop 5." in why(found, "utilization.on")
    assert why(found, "throughput.data").startswith("at there, on: acknowledgements of data spend")


# --- what is of one link alone --------------------------------------------------------------


def test_a_response_to_one_controller_is_of_one_link() -> None:
    with refused(pf.UnsupportedError, "'a', 'b'", "a scenario of one of them", "Loop(network)"):
        pf.identify_response(two_links(), [2.0, 5.0])
