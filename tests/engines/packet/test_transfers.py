"""Transfers packet by packet: how long they take by hand, what is conserved, what is random."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.engines.packet.packets import simulate_discipline

RTT = 0.04
SLOT = 1e-6  # s of a packet of 1500 bytes
SYN = 74 / 1500 * SLOT
FAST = pf.Link("12Gbit/s", ack_jitter=0)


def transfers(size: Any, count: int = 1, **given: Any) -> pf.Transfers:
    usual = {"idle": "1s", "delayed_ack": False, "name": "web"}
    arriving = {"idle": None} if "arrivals" in given else {}
    sizes = pf.Fixed(size) if isinstance(size, (int, float)) else size
    return pf.Transfers(pf.Reno(), count, RTT, size=sizes, **usual | arriving | given)


def over(link: pf.Link, *flows: pf.Flows, duration: Any = "10s", **given: Any) -> pf.Scenario:
    return pf.Scenario(duration, link, given.pop("aqm", pf.TailDrop()), flows, **given)


def times_of(runs: Any) -> Any:
    """What finished transfers took, of all seeds (s)."""
    took = runs.transfer_time.to_numpy()
    return took[np.isfinite(took)]


def alike(a: Any, b: Any) -> bool:
    """The same transfers, as far as both have room for them."""
    names = [name for name in a.data_vars if str(name).startswith("transfer_")]
    return all(np.array_equal(a[name], b[name], equal_nan=True) for name in names)


# --- by hand --------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 10])
@pytest.mark.parametrize("size", [1, 2, 9, 10, 11, 30, 31, 150, 1000])
def test_the_time_of_slow_start(size, window) -> None:
    """A handshake, a round trip for each window of w, 2 w, 4 w ..., and the last one's packets.

    Each round begins when the first packet of the one before is acknowledged, a slot and a round
    trip after it was sent. From then on acknowledgements come a slot apart, and packets leave as
    fast.
    """
    rounds, sent, w = 0, 0, window
    while sent + w < size:
        rounds, sent, w = rounds + 1, sent + w, 2 * w
    expected = SYN + RTT + rounds * (SLOT + RTT) + (size - sent) * SLOT + RTT
    runs = pf.simulate(over(FAST, transfers(size, initial_window=window)), pf.Packets(seeds=1))
    assert times_of(runs) == pytest.approx(expected, abs=2e-9)
    assert (runs.transfer_size == size).all()


def test_it_ends_at_once_though_acknowledgements_are_delayed() -> None:
    """The last segment of an odd number is alone; whoever ends a transfer is answered."""
    runs = pf.simulate(over(FAST, transfers(31, delayed_ack=True)), pf.Packets(seeds=1))
    assert times_of(runs) == pytest.approx(4 * RTT, abs=1e-4)


def test_each_begins_as_the_first() -> None:
    """An elephant's window, its round-trip time and its losses leave nothing to the next."""
    link = pf.Link("12Mbit/s", buffer=20, ack_jitter=0)
    flows = transfers(pf.Empirical([1, 3000]), idle="2s")
    runs = pf.simulate(over(link, flows, duration="60s"), pf.Packets(seeds=1))
    size, took = runs.transfer_size.to_numpy()[0], runs.transfer_time.to_numpy()[0]
    assert runs.retransmissions.sum() > 10
    assert np.count_nonzero(size == 3000) > 3
    small = took[size == 1]
    assert small.size > 3
    assert small == pytest.approx(2 * RTT + 0.001 * (1 + 74 / 1500), abs=2e-9)


def test_what_is_lost_at_the_end_is_probed_for() -> None:
    """One segment: the probe follows after the timeout of 200 ms + a round trip, then the ACK."""
    flows = transfers(1, 5, idle="100ms")
    runs = simulate_discipline(
        over(FAST, flows, duration="30s"), ("lottery", {"p": 0.1, "mark": 0.0}), seeds=1
    )
    took, ways = times_of(runs), []
    for wait in (0.0, 0.2 + RTT, 1.0):  # nothing lost, the segment, the SYN
        ways.append((took >= 2 * RTT + wait - 1e-6) & (took < 2 * RTT + wait + 0.07))
    assert [way.mean() for way in ways] == pytest.approx([0.81, 0.08, 0.08], abs=0.05)
    assert runs.retransmissions.sum() > 0
    # Whatever was lost, nearly all have ended: each that had some seconds.
    begun = runs.transfer_start.to_numpy()[0]
    assert np.isfinite(runs.transfer_time.to_numpy()[0][begun < 15.0]).all()


@pytest.mark.parametrize("size", [2, 5, 12])
def test_all_end_however_much_is_lost(size) -> None:
    flows = transfers(size, 10, idle="100ms")
    runs = simulate_discipline(
        over(FAST, flows, duration="100s"), ("lottery", {"p": 0.25, "mark": 0.0}), seeds=1
    )
    begun = runs.transfer_start.to_numpy()[0]
    assert np.isfinite(runs.transfer_time.to_numpy()[0][begun < 20.0]).all()
    assert runs.timeouts.sum() > 10


# --- sources and arrivals -------------------------------------------------------------------


def test_sources_wait_exponentially() -> None:
    runs = pf.simulate(
        over(FAST, transfers(1, 40, idle="250ms"), duration="60s"), pf.Packets(seeds=1)
    )
    start, took = runs.transfer_start.to_numpy()[0], runs.transfer_time.to_numpy()[0]
    flow = runs.transfer_flow.to_numpy()[0]
    waits = np.concatenate(
        [start[flow == i][1:] - (start + took)[flow == i][:-1] for i in range(40)]
    )
    assert waits.size > 6000
    assert waits.mean() == pytest.approx(0.25, rel=0.04)
    assert waits.std() == pytest.approx(0.25, rel=0.05)
    assert np.quantile(waits, 0.9) == pytest.approx(0.25 * np.log(10), rel=0.06)


def test_without_waiting_one_follows_the_other() -> None:
    runs = pf.simulate(over(FAST, transfers(1, idle=0)), pf.Packets(seeds=1))
    start, took = runs.transfer_start.to_numpy()[0], runs.transfer_time.to_numpy()[0]
    assert np.diff(start) == pytest.approx(took[:-1], abs=2e-9)
    assert runs.transfer_count == 125  # of 80 ms


def test_arrivals_do_not_wait_for_one_another() -> None:
    """Poisson: counts of a second scatter as their mean, whatever transfers take."""
    found = [
        pf.simulate(over(FAST, transfers(size, 500, arrivals="50/s"), duration="60s"),
                    pf.Packets(seeds=1))
        for size in (1, 200)
    ]  # fmt: skip
    one, other = (runs.transfer_start.to_numpy()[0] for runs in found)
    assert np.array_equal(one, other)
    counts = np.histogram(one, bins=60, range=(0, 60))[0]
    assert counts.mean() == pytest.approx(50, rel=0.05)
    assert counts.var() == pytest.approx(50, rel=0.5)
    assert not any(runs.turned_away.any() for runs in found)


def test_no_more_at_once_than_allowed() -> None:
    """Erlang's loss formula: 20 arrivals a second of 80 ms each, and room for two."""
    runs = pf.simulate(
        over(FAST, transfers(1, 2, arrivals="20/s"), duration="300s"), pf.Packets(seeds=1)
    )
    begun, away = float(runs.transfer_count[0]), float(runs.turned_away[0, 0])
    load = 20 * 2 * RTT
    lost = load**2 / 2 / (1 + load + load**2 / 2)
    assert away / (begun + away) == pytest.approx(lost, abs=0.025)
    assert set(runs.transfer_flow.to_numpy()[0]) == {0, 1}


def test_start_and_stop() -> None:
    """Sources begin within the jitter, what is under way at the stop is cut off and stays so."""
    flows = transfers(1000, 20, start="1s", stop="2s", start_jitter="500ms", idle="50ms")
    runs = pf.simulate(over(FAST, flows), pf.Packets(seeds=1))
    start, took = runs.transfer_start.to_numpy()[0], runs.transfer_time.to_numpy()[0]
    assert (np.sort(start)[:20] <= 1.5).all()
    assert 1.0 <= start.min() < start.max() < 2.0
    assert (np.isfinite(took) == (start + took < 2.0)).all()
    assert np.isnan(took).any()
    assert float(runs.active_flows.sel(time=slice(2.1, None)).max()) == 0.0
    arriving = replace(flows, idle=None, arrivals="30/s", start_jitter=0)
    start = pf.simulate(over(FAST, arriving), pf.Packets(seeds=1)).transfer_start.to_numpy()[0]
    assert 1.0 < start.min() < start.max() < 2.0


# --- books, chance ----------------------------------------------------------------------------


WEB = over(
    pf.Link("10Mbit/s", buffer=60),
    transfers(pf.Pareto(1.2, 5), 10, idle="500ms"),
    pf.Flows(pf.Cubic(), 2, "30ms", name="long"),
    transfers(pf.Exponential(20), 50, arrivals="10/s", name="mice", ecn=True),
    aqm=pf.Pi2(ecn=True),
    duration="20s",
)


@pytest.fixture(scope="module")
def web() -> Any:
    return pf.simulate(WEB, pf.Packets(seeds=2))


def test_every_segment_is_counted(web) -> None:
    """Finished transfers were delivered whole; with those under way no class has sent less."""
    delivered = web.flow_segments.sum("block").to_numpy()
    for seed in range(2):
        size, flow = web.transfer_size.to_numpy()[seed], web.transfer_flow.to_numpy()[seed]
        ended = np.isfinite(web.transfer_time.to_numpy()[seed])
        count = int(web.transfer_count[seed])
        assert ended[count:].sum() == 0 == size[count:].sum()
        for number in np.unique(flow[:count]):
            mine = flow == number
            begun, finished = mine.sum(), size[mine & ended].sum()
            again = web.retransmissions.to_numpy()[seed].sum()
            assert finished + np.sum(mine & ended) <= delivered[seed, number]  # a SYN for each
            assert delivered[seed, number] <= size[mine].sum() + 2 * begun + again
    owner = web.flow_class.to_numpy()[web.transfer_flow.to_numpy()]
    there = web.transfer_size.to_numpy() > 0
    assert np.array_equal(owner[there], web.transfer_class.to_numpy()[there])
    assert set(owner[there]) == {0, 2}
    sent = web["count"].sel(cause="sent")
    ends = ["delivered", "drop_aqm", "drop_full", "drop_overload", "queued", "in_flight"]
    assert (web["count"].sel(cause=ends).sum("cause") == sent).all()


def test_the_seed_decides(web) -> None:
    again = pf.simulate(WEB, pf.Packets(seeds=[2], threads=1))
    both = web.sel(seed=[2]).isel(transfer=slice(int(again.transfer_count[0])))
    assert alike(both, again)
    assert not alike(web.isel(seed=[0]), web.isel(seed=[1]))


def test_sizes_and_waits_are_the_flows_own(web) -> None:
    """What others do, or how fast the link is, changes no size and no arrival."""
    web_flows, long, mice = WEB.flows
    long = replace(long, sender=pf.Reno(), start="1s")
    other = replace(WEB, link=pf.Link("100Mbit/s"), flows=[web_flows, long, mice])
    found = pf.simulate(other, pf.Packets(seeds=[1]))

    def sizes(runs: Any, flow: int, most: int = 4) -> Any:
        return runs.transfer_size[0][runs.transfer_flow[0] == flow].to_numpy()[:most]

    for flow in range(10):
        assert np.array_equal(sizes(web, flow), sizes(found, flow)), flow
    came = [run.transfer_start[0][run.transfer_class[0] == 2].to_numpy() for run in (web, found)]
    assert np.array_equal(*came)
    assert sizes(web, 0).size == 4


def test_over_several_links() -> None:
    """The handshake and each window cross all of them, there and back."""
    nodes = [pf.Node(name, FAST, pf.TailDrop()) for name in "abc"]
    flows = transfers(1, route=("a", "b"), hops=("5ms", "5ms"), back=("c",), back_hops="4ms")
    runs = pf.simulate(pf.Scenario("5s", network=pf.Network(nodes, flows)), pf.Packets(seeds=1))
    answers = 2 * 66 / 1500 * SLOT
    assert times_of(runs) == pytest.approx(2 * (RTT + SYN + SLOT) + answers, abs=3e-9)


def test_sizes_without_a_mean_are_told() -> None:
    heavy = over(FAST, transfers(pf.Pareto(1, 10)), duration="1s")
    engine = pf.Packets(seeds=1)
    assert engine.remarks(pf.simulate(heavy, engine)) == {"sizes_without_mean": "web"}
    capped = over(FAST, transfers(pf.Pareto(1, 10, cap=100)), duration="1s")
    assert engine.remarks(pf.simulate(capped, engine)) == {}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"arrivals": 2e6}, "arrivals = 2e+06/s are 2e+07 transfers of a run"),
        ({"idle": "3000h"}, "idle = 1.08e+07 s is outside"),
        ({"count": 1.5}, "count = 1.5 is no whole number"),
    ],
)
def test_what_does_not_fit(given, says) -> None:
    with refused(pf.DomainError, says):
        pf.simulate(over(FAST, transfers(1, **given)), pf.Packets(seeds=1))


@pytest.mark.parametrize("sender", [pf.Cubic(), pf.Dctcp(), pf.Prague(), pf.Scalable()])
def test_every_sender_ends(sender) -> None:
    """On a queue that marks, paced or not: what is begun is over some time later."""
    flows = replace(transfers(pf.Exponential(100), 20, idle="200ms"), sender=sender)
    made = over(pf.Link("20Mbit/s", buffer=200), flows, aqm=pf.DualPi2(), duration="25s")
    runs = pf.simulate(made, pf.Packets(seeds=1))
    begun = runs.transfer_start.to_numpy()[0]
    assert np.isfinite(runs.transfer_time.to_numpy()[0][begun < 10.0]).all()
    assert begun.size > 150


def test_a_buffer_of_one_packet() -> None:
    flows = transfers(3, 3, idle="100ms")
    runs = pf.simulate(
        over(pf.Link("2Mbit/s", buffer=1), flows, duration="60s"), pf.Packets(seeds=1)
    )
    begun = runs.transfer_start.to_numpy()[0]
    assert runs["count"].sel(cause="drop_full").sum() > 10
    assert np.isfinite(runs.transfer_time.to_numpy()[0][begun < 30.0]).all()
