"""Packets over several links: what is conserved, what is independent, what is reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from networks import PACKET, built
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.engines.packet import compiled
from pi2_fluid.network.schedule import mean_capacity

DATA = Path(__file__).resolve().parents[2] / "data"
KNOWN = {
    each["name"]: each["network"]
    for each in json.loads((DATA / "network_rests.json").read_text(encoding="utf-8"))
}
COUNTED = ("arrivals", "departures", "drops", "marks")


def node(name: str, rate: str = "4Mbit/s", aqm: Any = None, **link: Any) -> pf.Node:
    return pf.Node(
        name, pf.Link(rate, **{"buffer": "40000 packets"} | link), aqm or pf.Pi2(ecn=True)
    )


def crossing(*route: str, **options: Any) -> pf.Flows:
    given = {"count": 3, "base_rtt": "20ms", "name": " ".join(route), "ecn": True}
    return pf.Flows(pf.Reno(), route=route, **given | options)


def over(nodes: Any, flows: Any, duration: str = "4s", **options: Any) -> pf.Scenario:
    return pf.Scenario(duration, network=pf.Network(nodes, flows), **options)


def two_links(**options: Any) -> pf.Scenario:
    flows = [crossing("b", "a", hops=("1ms", "3ms")), crossing("a"), crossing("b", base_rtt="9ms")]
    return over([node("a"), node("b", "3Mbit/s")], flows, **options)


RUNS = pf.simulate(two_links(), pf.Packets(seeds=2, bin="500ms"))


# --- what is packed -------------------------------------------------------------------------


def test_routes_hops_and_changes_go_by_number() -> None:
    change = pf.Change("1s", capacity="2Mbit/s", link="b")
    packed: Any = compiled.pack(two_links(changes=change), 1, 10**8)
    assert [link["capacity"] for link in packed[2]] == [4e6, 3e6]
    assert [each["route"] for each in packed[3]] == [[1, 0], [0], [1]]
    assert [each["hops"] for each in packed[3]] == [[10**6, 3 * 10**6], [0], [0]]
    assert packed[4] == [{"at": 10**9, "capacity": 2e6, "link": 1, "counts": [-1, -1, -1]}]


def test_hops_that_rounding_makes_longer_than_the_path_are_not() -> None:
    """Each of 0.6 ns would be 1 ns, the path of 1.8 ns is 2: it is places that are rounded."""
    flows = crossing("a", "b", "c", base_rtt=1.8e-9, hops=[0.6e-9] * 3)
    packed: Any = compiled.pack(over([node("a"), node("b"), node("c")], flows), 1, 10**8)
    assert packed[3][0]["hops"] == [1, 0, 1]


# --- what packets do ------------------------------------------------------------------------


def test_nothing_is_lost_between_links() -> None:
    """Of each class at each link; what left one came to the next."""
    count = {cause: RUNS["count"].sel(cause=cause) for cause in RUNS.cause.to_numpy()}
    gone = count["drop_aqm"] + count["drop_full"] + count["drop_overload"]
    rest = count["queued"] + count["in_flight"]
    assert (count["sent"] == count["delivered"] + gone + rest).all()
    first, second = (count[cause].sel(flows="b a") for cause in ("delivered", "sent"))
    assert (first.sel(link="b") == second.sel(link="a")).all()
    assert (second > 100).all()
    assert (count["sent"].where(RUNS.place == 0, 0) == 0).all()
    for name, cause in (("arrivals", "sent"), ("drops", "drop_aqm"), ("marks", "mark_aqm")):
        assert (RUNS[name].sum("time") == count[cause]).all()


def test_another_link_changes_nothing() -> None:
    """Nor do those who cross it: draws, and late acknowledgements, are each link's own."""
    here = [crossing("a", start_jitter="50ms"), crossing("a", name="far", base_rtt="50ms")]
    both = over([node("a"), node("b")], [*here, crossing("b", count=2)])
    alone = pf.Scenario("4s", pf.Link("4Mbit/s", "40000 packets"), pf.Pi2(ecn=True), [
        pf.Flows(pf.Reno(), 3, each.base_rtt, each.name, start_jitter=each.start_jitter, ecn=True)
        for each in here
    ])  # fmt: skip
    found, expected = (pf.packet.simulate(each, seeds=[5]) for each in (both, alone))
    found = found.sel(link="a").isel(flows=[0, 1])
    assert expected.marks.sum() > 10
    for name in (*COUNTED, "queue", "controller", "sojourn", "class_sojourn", "window", "count"):
        np.testing.assert_array_equal(found[name], expected[name])
    np.testing.assert_array_equal(found.link_p, expected.p)


def test_links_draw_numbers_of_their_own() -> None:
    """Two equal links in parallel, under equal flows, do not signal the same packets."""
    cbr = {"count": 1, "sender": pf.Cbr(rate="3Mbit/s"), "base_rtt": "10ms"}
    flows = [pf.Flows(**cbr, name=name, route=name) for name in ("a", "b")]
    runs = pf.packet.simulate(over([node("a", "2Mbit/s"), node("b", "2Mbit/s")], flows), seeds=1)
    lost = runs.drops.sum("flows").isel(seed=0)
    assert (lost.sum("time") > 50).all()
    assert (lost.sel(link="a") != lost.sel(link="b")).any()


def test_a_mark_stays() -> None:
    """What leaves the first link comes to the next in its order, marked or not as it was then."""
    runs = pf.packet.simulate(two_links(duration="3s"), seeds=1, trace=20000)
    events = {
        name: runs[f"event_{name}"].isel(seed=0)[: int(runs.event_count[0])].to_numpy()
        for name in ("what", "ecn", "link", "flow", "segment", "time")
    }
    mine = events["flow"] < 3  # who cross b, then a
    left = mine & (events["what"] == 1) & (events["link"] == 1)
    came = mine & (events["what"] == 0) & (events["link"] == 0)
    total = int(came.sum())
    for name in ("flow", "segment", "ecn"):
        np.testing.assert_array_equal(events[name][came], events[name][left][:total])
    assert (events["ecn"][came] == 3).sum() > 5
    assert (events["time"][came] >= events["time"][left][:total] + 3_000_000).all()


def test_a_fast_link_behind_another_is_a_longer_path() -> None:
    """To the last packet: ten times faster, it holds each for 0.1 ms, and none waits for it.

    Packets are as small as a SYN, whose time on the link is theirs, and nothing is late by chance.
    """
    link = {"rate": "512kbit/s", "packet_size": 64, "ack_jitter": 0.0}
    flows = {"count": 5, "delayed_ack": False, "ecn": False}
    behind = over(
        [node("a", **link), node("b", **link | {"rate": "5.12Mbit/s"})],
        crossing("a", "b", base_rtt="40ms", **flows),
        duration="20s",
    )
    alone = over([node("a", **link)], crossing("a", base_rtt="40.1ms", **flows), duration="20s")
    found, expected = (pf.packet.simulate(each, seeds=2, bin="1s") for each in (behind, alone))
    assert (found.delay_quantile.sel(link="b") == 0.0).all()
    assert (expected.drops.sum("time") > 100).all()
    for name in (*COUNTED, "queue", "queue_sd", "sojourn", "controller"):
        np.testing.assert_array_equal(found[name].sel(link="a"), expected[name])
    np.testing.assert_array_equal(found.window, expected.window)


@pytest.mark.slow
def test_a_parking_lot_rests_where_the_equations_do() -> None:
    """Four times the flows on links four times as fast: queues wait the target."""
    numbers = dict(KNOWN["parking3"])
    for name in ("packets_per_s", "count"):
        numbers[name] = [4.0 * each for each in numbers[name]]
    lot = built(**numbers)
    runs = pf.simulate(pf.Scenario("60s", network=lot), pf.Packets(seeds=2, bin="1s"))
    found = pf.summarize(runs, after="20s").mean("seed")
    np.testing.assert_allclose(found.delay_mean, numbers["target"], rtol=0.05)
    rates = found.throughput / PACKET / runs.flow_count
    np.testing.assert_allclose(rates, pf.equilibrium(lot).rate, rtol=0.15)


# --- acknowledgements that cross links ------------------------------------------------------


def test_a_fast_link_on_the_way_back_is_a_longer_path() -> None:
    """Likewise: each acknowledgement is as large as a packet, and takes 0.1 ms."""
    link = {"rate": "512kbit/s", "packet_size": 64, "ack_jitter": 0.0}
    flows = {"count": 5, "delayed_ack": False, "ecn": False}
    back = node("b", **link | {"rate": "5.12Mbit/s"})
    one = crossing("a", base_rtt="40ms", back="b", back_hops="7ms", **flows)
    both = over([node("a", **link), back], one, "20s")
    alone = over([node("a", **link)], crossing("a", base_rtt="40.1ms", **flows), "20s")
    found, expected = (pf.packet.simulate(each, seeds=2, bin="1s") for each in (both, alone))
    assert (expected.drops.sum("time") > 100).all()
    for name in (*COUNTED, "queue", "queue_sd", "sojourn", "controller"):
        np.testing.assert_array_equal(found[name].sel(link="a"), expected[name])
    np.testing.assert_array_equal(found.window, expected.window)
    np.testing.assert_array_equal(found.throughput, expected.throughput)


def two_ways(there: str, back: str, aqm: Any = None) -> Any:
    flows = [
        crossing("a", base_rtt="30ms", hops="5ms", back="b", back_hops="5ms"),
        crossing("b", base_rtt="30ms", back="a"),
    ]
    described = over([node("a", there), node("b", back, aqm)], flows, "10s")
    return pf.simulate(described, pf.Packets(seeds=2, bin="1s"))


def test_acknowledgements_share_a_link_with_data() -> None:
    """One for each segment at most, and for every other at least; 66 bytes each."""
    runs = two_ways("8Mbit/s", "6Mbit/s")
    assert runs.place.to_numpy().tolist() == [[1, -1], [-1, 1]]
    for data, acks, name in (("a", "b", "a"), ("b", "a", "b")):
        mine = runs["count"].sel(flows=name)
        segments = mine.sel(link=data, cause="delivered")
        returned = mine.sel(link=acks, cause="sent")
        assert (returned < segments).all()
        assert (returned > 0.45 * segments).all()
        left = runs.link_throughput.sel(flows=name, link=acks)
        np.testing.assert_allclose(
            left.sum("time"), 8 * 66 * runs.departures.sel(flows=name, link=acks).sum("time"),
            rtol=1e-3,
        )  # fmt: skip
        rate = runs.link_throughput.sel(flows=name, link=data)
        np.testing.assert_array_equal(runs.throughput.sel(flows=name), rate)
    load = runs.link_throughput.sum("flows")[:, 2:].mean(("seed", "time")) / [8e6, 6e6]
    assert (load > 0.75).all()
    assert (load <= 1.0).all()


def test_lost_acknowledgements_do_not_stop_senders() -> None:
    """The way back is so slow that most of them are dropped: senders hear of many at once."""
    slow = pf.Node("b", pf.Link("60kbit/s", buffer=5), pf.TailDrop())
    one = crossing("a", base_rtt="30ms", back="b", count=2)
    described = over([node("a"), slow], one, "20s")
    runs = pf.simulate(described, pf.Packets(seeds=1, bin="1s"))
    lost = runs["count"].sel(link="b", cause="drop_full")
    assert (lost > 100).all()
    assert (runs.throughput[:, 5:].mean("time") > 2e6).all()


def test_only_the_named_link_changes() -> None:
    change = pf.Change("2s", capacity="1Mbit/s", link="b")
    described = two_links(changes=change)
    runs = pf.simulate(described, pf.Packets(seeds=1, bin="1s"))
    assert runs.capacity.to_numpy().tolist() == [[4e6, 3e6]] * 2 + [[4e6, 1e6]] * 2
    assert mean_capacity(described, np.array([4 * 10**9])).tolist() == [[4e6, 2e6]]
    served = runs.link_throughput.sum("flows").isel(seed=0)
    assert float(served.sel(link="b")[-1]) <= 1.02e6
    assert float(served.sel(link="a")[-1]) > 2e6


def test_a_buffer_of_one_packet_on_every_hop() -> None:
    names = [f"hop {k}" for k in range(30)]
    nodes = [node(name, "10Mbit/s", pf.TailDrop(), buffer=1, kind="htb") for name in names]
    described = over(nodes, crossing(*names, base_rtt="50ms", hops=["1ms"] * 30), "3s")
    runs = pf.simulate(described, pf.Packets(seeds=1, bin="1s"))
    assert (runs["count"].sel(cause="drop_full").sum("link") > 0).all()
    assert (runs.rate > 5e5).all()
    assert (runs.queue <= 1.0).all()


@pytest.mark.slow
def test_ten_thousand_hops() -> None:
    """Each packet crosses all of them."""
    names = [f"hop {k}" for k in range(10_000)]
    nodes = [node(name, "100Mbit/s", pf.TailDrop()) for name in names]
    flows = crossing(*names, base_rtt="1s", hops=["10us"] * len(names), count=1)
    runs = pf.simulate(over(nodes, flows, "3s"), pf.Packets(seeds=1, bin="1s"))
    delivered = runs["count"].sel(cause="delivered").isel(seed=0, flows=0).to_numpy()
    assert 10 < delivered[-1] <= delivered[0]
    assert np.all(np.diff(delivered) <= 0)


# --- what is reported -----------------------------------------------------------------------


def test_what_links_and_classes_have() -> None:
    at_link, of_class = ("seed", "time", "link"), ("seed", "time", "flows")
    for name in ("queue", "queue_delay", "queue_sd", "sojourn", "controller"):
        assert RUNS[name].dims == at_link
    for name in ("p", "p_prime", "window", "throughput", "active_flows"):
        assert RUNS[name].dims == of_class
    for name in (*COUNTED, "class_sojourn", "p_aqm", "link_p", "link_throughput"):
        assert RUNS[name].dims == (*at_link, "flows")
    assert RUNS["count"].dims == ("seed", "link", "flows", "cause")
    assert RUNS.delay_histogram.dims == ("seed", "block", "link", "delay")
    assert RUNS.capacity.dims == ("time", "link")
    assert RUNS.place.to_numpy().tolist() == [[2, 1, 0], [1, 0, 1]]
    ends = RUNS.link_throughput.where(RUNS.place == RUNS.place.max("link")).sum("link")
    np.testing.assert_array_equal(RUNS.throughput, ends)
    passed = (1.0 - RUNS.link_p).prod("link")
    np.testing.assert_allclose(RUNS.p, 1.0 - passed, atol=1e-15)
    left = RUNS.departures.sum("flows").sum("time")
    assert (RUNS.delay_histogram.sum(("block", "delay")) == left).all()


def test_a_summary_of_links_is_that_of_each() -> None:
    found = pf.summarize(RUNS, after="1s")
    for name in ("delay_mean", "delay_p95", "queue_delay_mean", "utilization", "mark_fraction"):
        assert found[name].dims == ("seed", "link")
    for link in ("a", "b"):
        one = pf.summarize(RUNS.sel(link=link), after="1s")
        for name in ("delay_mean", "delay_sd", "delay_p95", "utilization", "mark_fraction_of"):
            np.testing.assert_array_equal(found[name].sel(link=link), one[name])
    assert found.throughput.dims == ("seed", "flows")
    assert found.jain.dims == ("seed",)
    assert (found.utilization.mean("seed") > 0.9).all()


def test_a_dual_queue_behind_a_single_one() -> None:
    flows = [
        crossing("a", "b", base_rtt="30ms"),
        pf.Flows(pf.Dctcp(), 3, "30ms", "l4s", route=("a", "b")),
    ]
    nodes = [node("a", "8Mbit/s", pf.CoupledPi2(ecn=True)), node("b", aqm=pf.DualPi2())]
    runs = pf.simulate(over(nodes, flows), pf.Packets(seeds=1, bin="500ms"))
    for name in ("queue", "sojourn", "queue_sd"):
        assert runs[name].dims == ("seed", "time", "link", "band")
        assert (runs[name].sel(link="a", band="L") == 0.0).all()
        assert (runs[name].sel(link="b").max("time") > 0.0).all()
    left = runs.departures.sum("time").isel(seed=0)
    counted = runs.delay_histogram.sum(("block", "delay")).isel(seed=0)
    assert counted.sel(link="a").to_numpy().tolist() == [int(left.sel(link="a").sum()), 0]
    assert counted.sel(link="b").to_numpy().tolist() == left.sel(link="b").to_numpy().tolist()
    levels = pf.summarize(runs, after="1s").delay_quantile
    assert levels.dims == ("seed", "quantile", "link", "band")
    assert (levels.sel(link="a", band="L") == 0.0).all()


def test_acknowledgements_wait_with_classic_packets() -> None:
    """Those of L4S flows, too: nothing else crosses the dual queue, and its L4S queue is empty."""
    l4s = pf.Flows(pf.Dctcp(), 2, "20ms", "l4s", route="a", back="b")
    flows = [l4s, crossing("b", name="classic", ecn=False)]
    nodes = [node("a", aqm=pf.DualPi2()), node("b", aqm=pf.DualPi2())]
    runs = pf.simulate(over(nodes, flows, "2s"), pf.Packets(seeds=1, bin="500ms", trace=20_000))
    back = runs.sel(link="b").isel(seed=0)
    left = (runs.event_what[0] == 1) & (runs.event_link[0] == 1)
    waited = runs.event_waited[0].to_numpy()[left] / 1e9
    assert back.departures.sel(flows="l4s").sum() > 100
    assert back.delay_histogram.sum(("block", "delay")).to_numpy().tolist() == [waited.size, 0]
    assert (back.sojourn.sel(band="L") == 0.0).all()
    total = float((back.sojourn.sel(band="C") * back.departures.sum("flows")).sum())
    assert total == pytest.approx(waited.sum(), rel=1e-12)
    met = back.p_aqm.sel(flows="classic")
    np.testing.assert_array_equal(back.p_aqm.sel(flows="l4s"), met)
    assert (met > 0.0).any()
    assert (runs.p_aqm.sel(link="a", flows="classic") == 0.0).all()  # which does not cross it


def test_ways_back_are_text_too() -> None:
    flows = crossing("a", back=("b", "c"), back_hops=("1ms", "2ms"))
    described = over([node("a"), node("b"), node("c")], flows)
    again = pf.Scenario.from_toml(described.to_toml())
    assert again == described
    assert again.network.flows[0].back == ("b", "c")
    assert pf.equilibrium(described.network).rate == pf.equilibrium(
        pf.Network(described.network.nodes, crossing("a"))
    ).rate  # fmt: skip
    assert "flows.back" in pf.simulate(described, pf.Fluid()).attrs["not_modelled"]


# --- what is refused ------------------------------------------------------------------------


def test_a_hop_without_capacity_is_refused() -> None:
    with refused(pf.DomainError, "capacity"):
        node("a", "0Mbit/s")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: crossing("a", back="a"), "crosses 'a', which is on the route"),
        (lambda: crossing("a", back=()), "back = () names no nodes"),
        (lambda: crossing("a", back="b", back_hops=["1ms"] * 2), "the way back 1"),
        (lambda: crossing("a", hops="12ms", back="b", back_hops="9ms"), "longer than base_rtt"),
        (lambda: over([node("a"), node("b")], crossing("a", back="c")), "'c', which is no node"),
        (
            lambda: pf.Scenario(
                "1s", pf.Link(1e6, "40000 packets"), pf.Pi2(), pf.Flows(pf.Reno(), 1, 1, back="b")
            ),
            "'b', which is no node",
        ),
        (
            lambda: pf.Network(node("a"), pf.Flows(pf.Reno(), 1, "1s", back="a")),
            "crosses the only node",
        ),
    ],
)
def test_ways_back_that_cannot_be_are_refused(make, said) -> None:
    with refused(pf.ScenarioError, said):
        make()


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"rate": "100Tbit/s"}, "Node 'b' Link capacity"),
        ({"buffer": 1.5}, "Node 'b' Link buffer"),
        # of which one link alone may have twice as many
        ({"aqm": pf.Pie(update_interval="1.5e-7s")}, "Node 'b' Pie update_interval"),
    ],
)
def test_the_node_that_packets_cannot_have_is_named(link, said) -> None:
    described = over([node("a"), node("b", **link)], crossing("a", "b"), "100s")
    with refused(pf.DomainError, said):
        pf.simulate(described, pf.Packets())


def test_results_that_do_not_fit_say_how_many_links_there_are() -> None:
    names = [f"link {k}" for k in range(300)]
    flows = [crossing(name, name=f"class {name}") for name in names]
    described = over([node(name) for name in names], flows, "100s")
    with refused(pf.QuantityError, "300 links, 300 classes and 900 flows", "a longer bin"):
        pf.Packets(seeds=1).require(described)
    pf.Packets(seeds=1, bin="50s").require(described)
