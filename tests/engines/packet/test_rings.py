"""Rings of devices below the queue: who waits where, and byte queue limits beside their rules.

The rules of byte queue limits are written out anew, in counters of all bytes that ever entered and
left, over the instants at which a trace says that packets entered the ring: a reference that shares
neither code nor variables with the simulator's.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.errors import DomainError, ScenarioError, UnsupportedError

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import FloatArray

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

ENQUEUED, DEQUEUED = 0, 1  # of events
SECOND = 1_000_000_000  # ns, over which the least slack is looked for


def events(run: xr.Dataset, what: int, name: str) -> FloatArray:
    one = run.isel(seed=0)
    return one[f"event_{name}"].to_numpy()[(one.event_what == what).to_numpy()]


def two_flows(link: pf.Link, aqm: pf.Aqm | None = None, duration: str = "4s") -> pf.Scenario:
    return pf.Scenario(duration, link, aqm or pf.TailDrop(), pf.Flows(pf.Cubic(), 2, "20ms"))


def bursts(**ring) -> pf.Scenario:
    """Packets of two sizes in bursts that leave the wire idle at times."""
    flows = [
        pf.Flows(pf.Cbr(bitrate="300kbit/s", burst="20kB"), 1, "20ms", packet_size="1500B"),
        pf.Flows(pf.Cbr(bitrate="400kbit/s", burst="3kB", spacing="poisson"), 1, "20ms",
                 packet_size="200B"),
        pf.Flows(pf.Reno(), 1, "30ms", start="10s", stop="20s"),
    ]  # fmt: skip
    return pf.Scenario("30s", pf.Link("1Mbit/s", buffer=5000, **ring), pf.TailDrop(), flows)


def test_a_ring_of_one_packet_is_no_ring() -> None:
    plain, ring = (
        pf.simulate(two_flows(pf.Link("10Mbit/s", **more), pf.Pi2()), pf.Packets(seeds=2, trace=9))
        for more in ({}, {"ring": 1})
    )
    for name, values in plain.data_vars.items():
        np.testing.assert_array_equal(values, ring[name], str(name))
    assert float(ring.ring_delay.max()) == float(ring.ring_queue.max()) == 0.0
    assert "ring_delay" not in plain


def test_the_queue_empties_into_the_ring_and_the_ring_onto_the_wire() -> None:
    """Without drops a tail-dropping queue and its ring delay packets as one queue would."""
    plain, ring = (pf.simulate(bursts(**more), pf.Packets(seeds=1)) for more in ({}, {"ring": 7}))
    np.testing.assert_array_equal(plain.throughput, ring.throughput)
    left = np.asarray(ring.ring_departures).sum()
    together = float((ring.ring_delay * ring.ring_departures).sum()) / left
    together += float((ring.class_sojourn * ring.departures).sum() / ring.departures.sum())
    alone = float((plain.class_sojourn * plain.departures).sum() / plain.departures.sum())
    assert together == pytest.approx(alone, rel=5e-3)  # six of 2,700 are still in the ring
    assert float(ring.ring_queue.max()) <= 6.0
    # Little's law: what is there is what comes times what it waits.
    mean = float((ring.ring_delay * ring.ring_departures).sum()) / 30.0
    bytes_waiting = float((ring.ring_queue * ring.bin).sum()) / 30.0
    assert 0.2 * mean < bytes_waiting <= mean  # packets of 200 and of 1500 bytes


def test_no_queue_knows_of_a_ring_that_is_too_large() -> None:
    """A ring that is always full adds its packets' time, and the queue keeps its target above."""
    link = pf.Link("12Mbit/s", ring=101, buffer=2000)
    run = pf.simulate(two_flows(link, pf.Pi2(target="15ms"), "40s"), pf.Packets(seeds=2))
    told = pf.summarize(run, after="10s")
    # 100 packets of 1 ms, less what is gone while a window is halved
    assert 0.09 < float(told.ring_delay_mean.min()) <= float(told.ring_delay_mean.max()) <= 0.1
    assert float(told.delay_mean.max()) < 0.02


def counters(run: xr.Dataset, rate: float, least: int, most: float) -> dict[str, list]:
    """Return what byte queue limits make of the packets that entered the ring, at each report.

    Linux counts all bytes that were ever queued and completed, and compares the counts.
    """
    times, sizes = (events(run, DEQUEUED, name).tolist() for name in ("time", "bytes"))
    entered = deque(zip(times, sizes, strict=True))
    queued = completed = queued_then = over_then = newest = newest_then = 0
    limit, least_slack, since = least, float("inf"), 0
    inside: deque = deque()
    free, counts = 0, {"time": [], "limit": [], "inside": [], "entered_at": [], "room": []}
    while entered or inside:
        end = inside[0][0] if inside else None
        if entered and (end is None or entered[0][0] < end):
            time, size = entered.popleft()
            counts["entered_at"].append(time)
            counts["room"].append(limit - (queued - completed))
            queued, newest = queued + size, size
            free = max(free, time) + round(8e9 * size / rate)
            inside.append((free, size))
            continue
        time, size = inside.popleft()
        over = max(queued - completed - limit, 0)
        there_then, done = queued_then - completed, completed + size
        all_then = done >= queued_then
        before = limit
        if (over and queued == done) or (over_then and all_then):
            limit += max(done - queued_then, 0) + over_then
            since, least_slack = time, float("inf")
        elif queued > done and there_then > 0 and not all_then:
            slack = max(limit + over_then - 2 * size, 0)
            if over_then:
                slack = max(slack, newest_then - over_then)
            least_slack = min(least_slack, slack)
            if time > since + SECOND:
                limit = max(limit - least_slack, 0)
                since, least_slack = time, float("inf")
        limit = min(max(limit, least), most)
        over_then = over if limit == before else 0
        completed, queued_then, newest_then = done, queued, newest
        counts["time"].append(time)
        counts["limit"].append(limit)
        counts["inside"].append(queued - completed)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(
    ("least", "most"), [(None, None), ("5kB", None), (None, "2kB"), ("9kB", "9kB")]
)
def test_byte_queue_limits_do_as_their_rules_say(least: str | None, most: str | None) -> None:
    scenario = bursts(ring=1000, bql=True, bql_min=least, bql_max=most)
    run = pf.simulate(scenario, pf.Packets(seeds=1, trace=500_000, bin="100ms"))
    low, high = float(scenario.link.bql_min or 0), float(scenario.link.bql_max or 1e18)
    told = counters(run, 1e6, int(low), high)
    assert min(told["room"]) >= 0.0  # all had been let in
    falls = bool((np.diff(np.array(told["limit"])) < 0).any())
    assert falls == (least is None and most is None)
    ends = np.round(run.time.to_numpy() * 1e9)
    last = np.searchsorted(told["time"], ends, side="left") - 1
    limits = np.array([told["limit"][k] if k >= 0 else low for k in last])
    np.testing.assert_array_equal(run.ring_limit.isel(seed=0), limits)
    # Nobody who may enter waits: it enters as it comes, or when something was sent.
    sent = set(told["time"])
    came = set(events(run, ENQUEUED, "time"))
    assert all(time in sent or time in came for time in told["entered_at"])


def test_what_comes_during_an_outage_fills_the_ring_and_leaves_afterwards() -> None:
    """None is in service while an idle link is out, so that the ring holds all of its packets."""
    flows = pf.Flows(pf.Cbr(bitrate="1.2Mbit/s"), 1, "10ms", stop="3s")
    link = pf.Link("12Mbit/s", buffer=1000, ring=20)
    changes = [pf.Change("1.005s", 0), pf.Change("2s", "12Mbit/s")]
    run = pf.simulate(
        pf.Scenario("4s", link, pf.TailDrop(), flows, changes), pf.Packets(seeds=1, bin="10ms")
    ).isel(seed=0)
    count = run["count"].isel(flows=0)
    assert int(count.sel(cause="delivered")) == int(count.sel(cause="sent"))
    assert float(run.ring_queue.sel(time=slice(1.5, 1.99)).min()) == 20.0
    queue = float(run.queue.sel(time=1.99, method="nearest"))
    assert queue == pytest.approx(99 - 20, abs=2)  # a packet each 10 ms
    # ten leave in the first bin, one each ms, where they came each 10 ms
    assert float(run.ring_delay.max()) == pytest.approx(0.99 - 0.009 * 4.5, abs=1e-3)


def test_byte_queue_limits_leave_two_packets_to_a_wire_that_is_full() -> None:
    """Which is what one finds where packets are reported one by one: 3,000 bytes."""
    link = pf.Link("10Mbit/s", ring=1000, bql=True)
    run = pf.simulate(two_flows(link, pf.Pi2(), "10s"), pf.Packets(seeds=1))
    assert float(run.ring_limit[0, -1]) == 3000.0
    assert pf.summarize(run, after="2s").ring_delay_mean.item() == pytest.approx(2.4e-3, rel=0.05)


def test_a_shaper_above_a_slower_modem_moves_no_queue() -> None:
    """The queue is where the rate is the smaller; the limits of both hold, in each order."""
    for shaped, modem, fills in (("8Mbit/s", "10Mbit/s", 0), ("12Mbit/s", "10Mbit/s", 1)):
        nodes = [
            pf.Node("shaper", pf.Link(shaped, kind="htb"), pf.FqCodel()),
            pf.Node("modem", pf.Link(modem, buffer=100), pf.TailDrop()),
        ]
        flows = pf.Flows(pf.Cubic(), 2, "30ms", route=["shaper", "modem"])
        run = pf.simulate(pf.Scenario("20s", network=pf.Network(nodes, flows)), pf.Packets(seeds=1))
        delay = pf.summarize(run, after="5s").delay_mean.isel(seed=0).to_numpy()
        assert int(np.argmax(delay)) == fills
        assert delay[1 - fills] < 2e-3 < delay[fills]


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"ring": 0}, DomainError, "ring"),
        ({"ring": 10, "kind": "htb"}, ScenarioError, "node of its own"),
        ({"ring": 10, "aggregate": 4}, ScenarioError, "one by one"),
        ({"bql": True}, ScenarioError, "give ring"),
        ({"ring": 10, "bql_max": "3kB"}, ScenarioError, "bql = True"),
        ({"ring": 9, "bql": True, "bql_min": "3kB", "bql_max": "1kB"}, ScenarioError, "below"),
    ],
)
def test_bad_rings_are_refused(more: dict, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        pf.Link("10Mbit/s", **more)


def test_fractions_of_packets_are_refused() -> None:
    with pytest.raises(DomainError, match=r"Link ring = 2\.5 is no whole number"):
        pf.simulate(two_flows(pf.Link("10Mbit/s", ring=2.5)), pf.Packets(seeds=1))


def test_fluids_and_loops_name_what_a_full_ring_adds() -> None:
    scenario = two_flows(pf.Link("12Mbit/s", ring=101), pf.Pi2())
    for ask in (pf.simulate, pf.margins_along, lambda one: pf.equilibrium(one.network)):
        with pytest.raises(UnsupportedError, match=r"adds \(0\.1s without"):
            ask(scenario)
