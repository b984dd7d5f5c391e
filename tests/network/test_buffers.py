"""Buffers that are not given: a time, at the largest capacity of the schedule."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.engines.fluid.lanes.timetable import tabulate
from pi2_fluid.engines.fluid.lanes.variation import vary
from pi2_fluid.network.outstanding import most_outstanding
from pi2_fluid.records.paths import replace_path


def scenario(capacity: str = "5Mbit/s", *changes: pf.Change, **link: Any) -> pf.Scenario:
    overload = pf.Flows(pf.Cbr(rate=f"{1.5 * pf.Link(capacity).capacity} bit/s"), 1)
    return pf.Scenario("2s", pf.Link(capacity, **link), pf.TailDrop(), overload, changes)


def longest_wait(engine: pf.Engine, run: pf.Scenario) -> float:
    return float(pf.simulate(run, engine).queue_delay.max())


@pytest.mark.parametrize("engine", [pf.Fluid(), pf.Packets(seeds=1, threads=1)], ids=repr)
def test_whatever_the_rate_packets_wait_250_ms_at_most(engine: pf.Engine) -> None:
    """A packet of 1500 bytes takes 2.4 ms at 5 Mbit/s, and the buffer ends on a whole one."""
    waits = [longest_wait(engine, scenario(rate)) for rate in ("5Mbit/s", "50Mbit/s")]
    assert waits == pytest.approx([0.25, 0.25], abs=2.4e-3)


def test_the_largest_capacity_of_the_schedule_counts_and_only_that_links() -> None:
    """250 ms are 104.2 packets of 5 Mbit/s, 1041.7 of 50."""
    up, down = pf.Change("1s", "50Mbit/s"), pf.Change("1s", "2Mbit/s")
    for changes, packets in (((), 105.0), ((up,), 1042.0), ((down,), 105.0)):
        assert scenario("5Mbit/s", *changes).as_run.link.buffer == packets
    nodes = [pf.Node(name, pf.Link("5Mbit/s"), pf.Pi2()) for name in "ab"]
    network = pf.Network(nodes, pf.Flows(pf.Reno(), 1, "50ms", route=("a", "b")))
    several = pf.Scenario("9s", network=network, changes=dataclasses.replace(up, link="b"))
    assert [node.link.buffer for node in several.as_run.network.nodes] == [105.0, 1042.0]
    assert [node.link.buffer for node in network.with_buffers().nodes] == [105.0, 105.0]
    assert several == pf.Scenario.from_toml(several.to_toml())


def test_a_slow_link_holds_two_initial_windows() -> None:
    assert scenario("64kbit/s").as_run.link.buffer == 20.0
    assert scenario("1Mbit/s").as_run.link.buffer == 21.0


def test_what_is_given_stays_and_what_is_not_stays_open() -> None:
    given, left = scenario(buffer=7), scenario()
    assert given.as_run is given
    assert "buffer" not in left.to_toml()
    assert pf.Scenario.from_toml(left.to_toml()) == left
    assert left.as_run != left
    assert left.as_run == scenario(buffer=105) == pf.Scenario.from_toml(left.as_run.to_toml())
    assert left.link.buffer is None  # asking does not settle it
    faster = replace_path(left, "link.capacity", 50e6)
    assert faster.as_run.link.buffer == 1042.0
    runs = pf.packet.simulate(left, seeds=1, threads=1)
    assert pf.Scenario.from_toml(runs.attrs["scenario"]) == left


def test_each_run_of_a_batch_has_its_own() -> None:
    up = pf.Change("1s", "20Mbit/s")
    varied = vary(scenario("5Mbit/s", up), {"link.capacity": np.array([5e6, 50e6])})
    table = tabulate(varied, continuous=False, step=0.01, after=0.0, sample=None)
    np.testing.assert_array_equal(table.buffer, [417.0, 1042.0])


def test_rests_and_sockets_count_it() -> None:
    """One flow behind two tail drops: the slower fills, and is full for 250 ms."""
    nodes = [pf.Node(name, pf.Link(rate), pf.TailDrop()) for name, rate in (("a", 9e6), ("b", 6e6))]
    network = pf.Network(nodes, pf.Flows(pf.Reno(), 1, "50ms", route=("a", "b")))
    assert pf.equilibrium(network).queue_delay.to_numpy() == pytest.approx([0.0, 0.25])
    both = pf.Scenario("1s", network=network)
    assert most_outstanding(both) == pytest.approx(9e6 * 0.05 / 8 + 1500 * (188 + 125))
