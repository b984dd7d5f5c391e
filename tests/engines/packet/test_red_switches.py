"""RED as switches have it: thresholds in bytes, the queue as it is, marks before drops.

The numbers are those that people give: a step of 184,320 bytes, a ramp from 104,000 to 312,000 and
one that marks from 500 kB to 2 MB with 5 %.
"""

from __future__ import annotations

import math

import pytest

import pi2_fluid as pf
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

SWITCH = {"weight": 1, "gentle": False, "ecn": True}
RATE, RTT = 10e9, 100e-6


def run(law: pf.Red, *flows: pf.Flows, duration: str = "200ms", **link):
    scenario = pf.Scenario(duration, pf.Link(RATE, buffer=8000, **link), law, flows)
    found = pf.simulate(scenario, pf.Packets(seeds=3))
    return found, pf.summarize(found, after=float(scenario.duration) / 4)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 8, 32])
def test_a_step_of_bytes_keeps_the_queue_below_itself_and_the_link_full(count: int) -> None:
    """Within A = sqrt(2 N (C R + K))/2 below K + N, and K above C R/7 keeps the link busy (Alizadeh
    et al. 2010, section 3.3)."""
    law = pf.Red(min="184320B", max="184320B", **SWITCH)
    assert law.min == law.max == 122.88
    found, told = run(law, pf.Flows(pf.Dctcp(), count, RTT))
    queue = found.queue.sel(time=slice(0.05, None))
    depth = math.sqrt(2 * count * (RATE * RTT / 12000 + law.min)) / 2
    assert law.min - depth < float(queue.mean()) < law.min + count
    assert float(told.utilization.min()) > 0.999
    assert float(found.drops.sum()) == 0.0


@pytest.mark.slow
def test_a_ramp_of_bytes_marks_twice_its_profile() -> None:
    """Signals that are spaced uniformly on 0 .. 1/p are 1/(2 p) apart in the mean."""
    law = pf.Red(min="104kB", max="312kB", max_p=0.05, **SWITCH)
    found, told = run(law, pf.Flows(pf.Dctcp(), 8, RTT))
    mean = float(found.queue.sel(time=slice(0.05, None)).mean())
    assert law.min < mean < law.max
    assert float(told.mark_fraction.mean()) == pytest.approx(2 * law.profile(mean, 0.05), rel=0.1)


@pytest.mark.slow
def test_marks_come_before_drops() -> None:
    """500 kB to 2 MB with 5 % for what can be marked, 2 MB to 8 MB for others: DCTCP is marked and
    loses nothing; Cubic fills the queue up to where others are dropped, and starves it."""
    law = pf.Red(min="2MB", max="8MB", **SWITCH, mark_min="500kB", mark_max="2MB", mark_max_p=0.05)
    flows = (pf.Flows(pf.Dctcp(), 4, 2 * RTT), pf.Flows(pf.Cubic(), 4, 2 * RTT))
    alone, told = run(law, flows[0])
    assert float(alone.drops.sum()) == 0.0
    assert 333.0 < float(alone.queue.sel(time=slice(0.05, None)).mean()) < 1333.0
    found, told = run(law, *flows, duration="1s")
    count = found["count"].sum("seed")
    assert count.sel(flows="dctcp", cause=["drop_aqm", "drop_overload", "drop_full"]).sum() == 0
    assert count.sel(flows="dctcp", cause="mark_aqm") > 1000
    assert count.sel(flows="cubic", cause="mark_aqm") == 0
    assert count.sel(flows="cubic", cause="drop_aqm") > 0
    # where DCTCP alone would be marked with 4 % or more, and Cubic is not
    assert float(found.queue.sel(time=slice(0.3, None)).min()) > 1000.0
    shares = told.throughput.mean("seed")
    assert float(shares.sel(flows="dctcp")) < 0.1 * float(shares.sel(flows="cubic"))


@pytest.mark.slow
def test_without_drops_nothing_stops_whoever_cannot_be_marked() -> None:
    law = pf.Red(min=20, max=60, **SWITCH)
    kind = {"arithmetic": "fixed", **SWITCH}
    flows = pf.Flows(pf.Reno(), 2, "10ms")
    for nodrop, cause in ((False, "drop_aqm"), (True, "drop_full")):
        law = pf.Red(min=20, max=60, nodrop=nodrop, **kind)
        scenario = pf.Scenario("5s", pf.Link("100Mbit/s", buffer=300), law, flows)
        count = pf.simulate(scenario, pf.Packets(seeds=1))["count"].isel(seed=0, flows=0)
        drops = {name: int(count.sel(cause=name)) for name in ("drop_aqm", "drop_full")}
        assert [name for name, number in drops.items() if number] == [cause]


def test_a_queue_of_small_packets_is_another_queue_in_bytes() -> None:
    """Half the size, half the bytes: it takes twice as many packets to be marked."""
    flows = pf.Flows(pf.Cbr(bitrate="12Gbit/s"), 1, RTT, packet_size="750B", ecn="ect0")
    by = {}
    for bytes_ in (True, False):
        law = pf.Red(min=100, max=100, bytes=bytes_, nodrop=True, **SWITCH)
        scenario = pf.Scenario("8ms", pf.Link(RATE, buffer=8000), law, flows)
        found = pf.simulate(scenario, pf.Packets(seeds=3))
        unmarked = found.arrivals.sum() - found.marks.sum()
        by[bytes_] = float(unmarked) / 3  # those that came before the queue was there
    assert by[True] == pytest.approx(2 * by[False], rel=0.02)


def test_sizes_are_counted_in_packets_of_the_link() -> None:
    law = pf.Red(min="90kB", max="180kB", packet_size="9000B", **SWITCH)
    assert (law.min, law.max) == (10.0, 20.0)
    flows = pf.Flows(pf.Dctcp(), 2, RTT)
    pf.Scenario("1ms", pf.Link(RATE, packet_size="9000B"), law, flows)
    with pytest.raises(DomainError, match="give Red the packet_size of the link"):
        pf.Scenario("1ms", pf.Link(RATE), law, flows)
    again = pf.Scenario.from_toml(
        pf.Scenario("1ms", pf.Link(RATE, packet_size="9000B"), law, flows).to_toml()
    )
    assert (again.aqm.min, again.aqm.packet_size) == (10.0, 9000.0)


@pytest.mark.parametrize(
    ("fields", "error", "says"),
    [
        ({"nodrop": True}, DomainError, "give ecn = True"),
        ({"mark_min": 3}, DomainError, "give both"),
        ({"mark_max_p": 0.5}, DomainError, "give both"),
        ({"mark_min": 3, "mark_max": 9}, DomainError, "ecn = False marks nothing"),
        ({"mark_min": 9, "mark_max": 3, "ecn": True}, DomainError, "mark_max >= mark_min"),
        ({"mark_min": "9ms", "mark_max": 3, "ecn": True}, QuantityError, "mark_min"),
        ({"packet_size": "0B"}, DomainError, "packet_size"),
    ],
)
def test_contradictions_are_refused(fields: dict, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        pf.Red(**{"min": "30kB", "max": "60kB", **fields})


def test_a_second_ramp_is_for_packets_alone() -> None:
    law = pf.Red(min=20, max=60, ecn=True, mark_min=5, mark_max=10)
    network = pf.Network(pf.Node("a", pf.Link("10Mbit/s"), law), pf.Flows(pf.Dctcp(), 2, "20ms"))
    scenario = pf.Scenario("1s", network=network)
    for ask in (pf.simulate, lambda one: pf.equilibrium(one.network)):
        with pytest.raises(UnsupportedError, match="second ramp"):
            ask(scenario)
    with pytest.raises(DomainError, match="Linux has none"):
        pf.Red(min=20, max=60, ecn=True, mark_min=5, mark_max=10, arithmetic="fixed")
