"""Dual queues over routes: against the engine of one link, other steps, and what must be true."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.engines.fluid import compiled
from pi2_fluid.engines.fluid.accuracy import Accuracy
from pi2_fluid.engines.fluid.beginning import begin, begin_links
from pi2_fluid.engines.fluid.oracle.integration import Run
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.oracle.rows import trace_rows
from pi2_fluid.engines.fluid.timeline import Schedule
from pi2_fluid.ops import maximum, minimum, where

RAMP = pf.DualPi2(step="2ms", ramp="2ms")
FAST = pf.Link("20Mbit/s", "40000 packets")
ONE = {
    "both wait": pf.Scenario(
        0.3,
        FAST,
        RAMP,
        [pf.Flows(pf.Reno(), 3, "30ms"), pf.Flows(pf.Scalable(), 3, "20ms", start=0.05)],
    ),
    "L empties again and again": pf.Scenario(
        0.3,
        FAST,
        pf.DualPi2(),
        [pf.Flows(pf.Reno(), 3, "30ms"), pf.Flows(pf.Dctcp(), 3, "20ms", slow_start=False)],
    ),
    "a full buffer": pf.Scenario(
        0.3,
        pf.Link("8Mbit/s", 30),
        pf.DualPi2(),
        [pf.Flows(pf.Reno(), 6, "30ms"), pf.Flows(pf.Scalable(), 6, "20ms")],
    ),
    "a flood": pf.Scenario(
        0.3,
        FAST,
        RAMP,
        [
            pf.Flows(pf.Reno(), 3, "30ms"),
            pf.Flows(pf.Scalable(), 3, "20ms"),
            pf.Flows(pf.Cbr(rate="25Mbit/s", thinned=True), start=0.03, stop=0.15),
        ],
        [pf.Change(0.2, "10Mbit/s")],
    ),
}
OF_TRACES = ("queue", "queue_delay", "controller", "p", "window", "leaving", "capacity")
#: But for rates behind links, which jump at instants that are as near as the tolerance.
OF_STATES = ("queue", "queue_delay", "controller", "window", "link_p")


def over_routes(scenario: pf.Scenario, tolerance: float, times: list[float]) -> Any:
    """What the readable engine of several links makes of one."""
    run = Run(
        Plant(scenario, "sampled"),
        Schedule(scenario, ticks=True),
        Accuracy(float(scenario.duration), tolerance),
    )
    return trace_rows(run.plant, list(run.follow(times)))


def assert_near(got: Any, want: Any, within: float) -> None:
    for each in OF_TRACES:
        mine, its = getattr(got, each), getattr(want, each)
        assert mine.shape == its.shape, each
        # Between the ends of steps the compiled engine reports what arrived by cubics of its own.
        off = 1e-7 if each == "leaving" else within
        np.testing.assert_allclose(mine, its, rtol=0.0, atol=off * np.abs(its).max())


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE)
def test_one_dual_node_is_one_link(name: str) -> None:
    """Another body with another way to keep rates, from which delays follow where bands share."""
    times = np.linspace(0.0, 0.3, 61).tolist()
    over = over_routes(ONE[name], 1e-8, times)
    link = compiled.run_compiled(ONE[name], "sampled", Accuracy(0.3, 1e-8), times)
    assert_near(over, link, 1e-9)


@pytest.mark.parametrize("name", ONE)
def test_fixed_steps_are_of_order_four(name: str) -> None:
    """Through bands that empty and fill, a full buffer and a flood.

    A quarter of a step errs by a 64th at order 3, and by a 256th at order 4.
    """
    times = np.linspace(0.0, 2.0, 201).tolist()
    scenario = dataclasses.replace(ONE[name], duration=2.0)
    want = compiled.run_compiled(scenario, "sampled", Accuracy(2.0, 1e-11), times)
    errors = []
    for step in (0.001, 0.00025):
        found = compiled.run_compiled(scenario, "sampled", Accuracy(step, 0.0), times)
        errors.append(float(np.abs(found.queue - want.queue).max()))
    assert errors[1] < errors[0] / 64.0


def before_a_fast_one(scenario: pf.Scenario) -> pf.Scenario:
    """The same link, behind it one on which nothing waits."""
    nodes = [
        pf.Node("a", scenario.link, scenario.aqm),
        pf.Node("b", pf.Link("1Gbit/s", "40000 packets"), pf.DualPi2()),
    ]
    flows = [dataclasses.replace(flow, route=("a", "b")) for flow in scenario.flows]
    changes = [dataclasses.replace(change, link="a") for change in scenario.changes]
    return pf.Scenario(
        scenario.duration, network=pf.Network(nodes, flows, combine="sum"), changes=changes
    )


@pytest.mark.parametrize("name", ["both wait", "L empties again and again"])
def test_a_link_on_which_nothing_waits_changes_nothing(name: str) -> None:
    one = pf.simulate(ONE[name], pf.Fluid(tolerance=1e-10))
    two = pf.simulate(before_a_fast_one(ONE[name]), pf.Fluid(tolerance=1e-9))
    assert float(two.queue.sel(link="b").max()) == 0.0
    for each in ("queue", "queue_delay", "controller"):
        want = one[each].to_numpy()
        got = two[each].sel(link="a").to_numpy()
        np.testing.assert_allclose(got, want, rtol=0.0, atol=1e-6 * np.abs(want).max())
    np.testing.assert_allclose(two.throughput, one.throughput, rtol=1e-6, atol=1.0)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Halves(pf.DualPi2):
    """Half of the link for each while both wait."""

    def serve(self, backlogged: Any, arrivals: Any, capacity: Any) -> tuple[Any, Any]:
        half = 0.5 * capacity
        need_c, need_l = (
            where(waits, np.inf, rate) for waits, rate in zip(backlogged, arrivals, strict=True)
        )
        to_c = minimum(need_c, maximum(half, capacity - need_l))
        return to_c, minimum(need_l, maximum(half, capacity - need_c))


def two_links(duration: float, first: pf.Link, second: pf.Link, queue: pf.Aqm) -> pf.Scenario:
    """Return two classes over both links, one of each kind, and one alone on each link."""
    both: dict[str, Any] = {"route": ("a", "b"), "hops": ("2ms", "5ms")}
    flows = [
        pf.Flows(pf.Reno(), 3, "40ms", **both),
        pf.Flows(pf.Scalable(), 2, "30ms", "s", start=0.05, **both),
        pf.Flows(pf.Scalable(), 2, "20ms", "x", route="b", hops="1ms"),
        pf.Flows(pf.Reno(), 2, "25ms", "y", route="a", hops="1ms"),
    ]
    nodes = [pf.Node("a", first, queue), pf.Node("b", second, queue)]
    return pf.Scenario(duration, network=pf.Network(nodes, flows))


TWO = two_links(0.1, FAST, pf.Link("14Mbit/s", "40000 packets"), RAMP)


def worst(got: Any, want: Any, names: tuple[str, ...]) -> float:
    return max(
        float(np.abs(got[name] - want[name]).max() / np.abs(want[name]).max()) for name in names
    )


@pytest.mark.slow
def test_both_engines_find_the_same() -> None:
    """Bands fill and empty on both links meanwhile."""
    found = [
        pf.simulate(TWO, pf.Fluid(tolerance=tolerance, engine=engine))
        for engine, tolerance in (("c", 1e-9), ("python", 1e-7))
    ]
    assert [each.attrs["compiled"] for each in found] == [1, 0]
    assert 0.0 < float((found[0].queue == 0.0).mean()) < 1.0
    assert worst(found[1], found[0], (*OF_STATES, "link_throughput")) < 1e-5


@pytest.mark.slow
def test_two_bands_may_share_by_a_law_of_ones_own() -> None:
    scenario = two_links(0.1, FAST, pf.Link("14Mbit/s", "40000 packets"), Halves(step="2ms"))
    found = [
        pf.simulate(scenario, pf.Fluid(tolerance=1e-7, engine=engine)) for engine in ("c", "python")
    ]
    assert worst(found[1], found[0], OF_STATES) < 1e-5
    usual = pf.simulate(TWO, pf.Fluid(tolerance=1e-7))
    assert worst(usual, found[0], ("queue",)) > 1e-2, "shares should matter"


@pytest.mark.parametrize("hops", [True, False], ids=["hops", "at once"])
def test_any_tolerance_comes_to_the_same(hops: bool) -> None:
    """Errors are some tolerances, also where what is sent is at all links at once."""
    scenario = dataclasses.replace(TWO, duration="2s")
    if not hops:
        flows = [dataclasses.replace(flow, hops=()) for flow in TWO.flows]
        scenario = pf.Scenario("2s", network=pf.Network(TWO.network.nodes, flows))
    want = pf.simulate(scenario, pf.Fluid(tolerance=1e-11))
    for tolerance in (1e-9, 1e-7):
        found = pf.simulate(scenario, pf.Fluid(tolerance=tolerance))
        assert worst(found, want, OF_STATES) < 30.0 * tolerance


def test_what_is_reported_is_as_of_packets() -> None:
    short = dataclasses.replace(
        TWO,
        duration="0.06s",
        network=dataclasses.replace(
            TWO.network,
            nodes=(TWO.network.nodes[0], dataclasses.replace(TWO.network.nodes[1], aqm=pf.Pi2())),
        ),
    )
    found = pf.simulate(short, pf.Fluid(tolerance=1e-4))
    packets = pf.simulate(short, pf.Packets(seeds=1))
    for name in ("queue", "queue_delay"):
        assert found[name].dims == ("time", "link", "band")
        assert set(packets[name].dims) - {"seed"} == {"time", "link", "band"}
    assert found.band_of.to_numpy().tolist() == [0, 1, 1, 0]
    assert float(found.queue.sel(link="b").isel(band=1).max()) == 0.0, "it has one queue"
    assert float(found.link_p.sel(link="a", flows="s").max()) >= 0.0


def test_summaries_know_which_links_have_one_queue() -> None:
    """There L4S packets wait as long as Classic ones; the target at both links."""
    nodes = (
        pf.Node("a", FAST, pf.CoupledPi2(target="15ms", update_interval="16ms")),
        TWO.network.nodes[1],
    )
    flows = [
        pf.Flows(pf.Reno(), 6, "30ms", "r", route=("a", "b"), hops=("2ms", "5ms")),
        pf.Flows(pf.Scalable(), 3, "30ms", "s", route=("a",), hops=("2ms",)),
    ]
    network = pf.Network(nodes, flows)
    found = pf.simulate(pf.Scenario(20.0, network=network), pf.Fluid(tolerance=1e-6))
    mean = pf.summarize(found, after=15).delay_mean
    assert float(mean.sel(link="a")) == pytest.approx(
        float(found.queue_delay.sel(link="a").isel(band=0)[-1]), rel=0.02
    )


def test_dual_queues_begin_with_what_waits_in_the_first() -> None:
    initial = {"window": [9.0, 7.0, 5.0, 5.0], "queue": {"a": 30.0}, "controller": {"a": 0.2}}
    found = begin_links(TWO, initial)
    assert found.queues == (30.0, 0.0, 0.0, 0.0)
    alone = pf.Scenario(1.0, FAST, RAMP, pf.Flows(pf.Reno(), 3, "30ms"))
    assert begin(alone, {"queue": 30.0}).queues == (30.0, 0.0)


def test_what_enters_leaves() -> None:
    """Of each band of each link: what has entered less what has left is what waits."""
    full = two_links(0.4, pf.Link("12Mbit/s", 60), pf.Link("8Mbit/s", 40), pf.DualPi2())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pf.AssumptionWarning)
        found = pf.simulate(full, pf.Fluid(tolerance=1e-6))
    waiting = found.queue.sum("band")
    assert float(waiting.sel(link="b").max()) == pytest.approx(40.0, rel=1e-6)
    left = found.link_throughput.sum("flows") / found.capacity
    assert float(left.max()) < 1.0 + 1e-6
    busy = waiting.to_numpy() > 1.0
    np.testing.assert_allclose(left.to_numpy()[busy], 1.0, rtol=1e-6)


def over_two_links(**how: Any) -> pf.Scenario:
    """Sixteen flows of each class, so that chance is small."""
    both: dict[str, Any] = {"route": ("a", "b"), "hops": ("2ms", "5ms")} | how
    flows = [
        pf.Flows(pf.CReno(), 16, "40ms", "C", **both),
        pf.Flows(pf.Dctcp(), 16, "40ms", "L", **both),
        pf.Flows(pf.CReno(), 16, "30ms", "C at a", route=("a",), hops=("2ms",), **how),
        pf.Flows(pf.Dctcp(), 16, "30ms", "L at b", route=("b",), hops=("2ms",), **how),
    ]
    nodes = [
        pf.Node(name, pf.Link(rate, "40000 packets"), pf.DualPi2())
        for name, rate in (("a", "160Mbit/s"), ("b", "120Mbit/s"))
    ]
    return pf.Scenario(50.0, network=pf.Network(nodes, flows))


@pytest.mark.slow
def test_packets_wait_and_flow_as_the_fluid_says() -> None:
    """The Classic class of both links is the furthest off, as under one coupled queue a link.

    Reno in packets gets less than its law where windows are small.
    """
    scenario = over_two_links()
    fluid, packets = (
        pf.summarize(pf.simulate(scenario, engine), after=20)
        for engine in (pf.Fluid(tolerance=1e-6), pf.Packets(seeds=3))
    )
    waited = packets.delay_mean_of.mean("seed")
    for link, classes in (("a", ("C", "C at a")), ("b", ("C",))):
        want = float(fluid.queue_delay_mean.sel(link=link).isel(band=0))
        for name in classes:
            assert float(waited.sel(link=link, flows=name)) == pytest.approx(want, rel=0.05)
        assert float(fluid.queue_delay_mean.sel(link=link).isel(band=1)) == 0.0
        assert float(waited.sel(link=link, flows="L")) < 4e-4, "it waits for single packets"
    off = fluid.throughput / packets.throughput.mean("seed") - 1.0
    assert float(np.abs(off.drop_sel(flows="C")).max()) < 0.05
    assert float(np.abs(off.sel(flows="C"))) < 0.08


@pytest.mark.slow
def test_packets_deliver_their_windows_in_the_round_trips_of_the_fluid() -> None:
    """So that what shares are off by is in the windows: of links and queues all is as it should be.

    L4S packets wait for single ones, of 40 ms half a millisecond. Acknowledgements are not delayed,
    which would be a longer path.
    """
    scenario = over_two_links(delayed_ack=False)
    rest = pf.equilibrium(scenario.network)
    packets = pf.summarize(pf.simulate(scenario, pf.Packets(seeds=2)), after=20).mean("seed")
    kept = 1.0 - packets.drop_fraction_of.sum("link").to_numpy()
    expected = 16.0 * 12000.0 * kept * packets.window_mean.to_numpy() / rest.rtt.to_numpy()
    np.testing.assert_allclose(packets.throughput.to_numpy(), expected, rtol=0.02)
    # Classic windows are below their law, and those of both links further below
    size = packets.window_mean * np.sqrt(packets.drop_fraction_of.sum("link"))
    law = (rest.window * np.sqrt(rest.p)).to_numpy()
    assert 0.8 < float(size.sel(flows="C")) / law[0] < 0.88
    assert 0.87 < float(size.sel(flows="C at a")) / law[2] < 0.93
