"""The compiled fluid over several links against the Python one, and what it alone follows."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from networks import random_network
from refusals import refused

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.engines.fluid import compiled
from pi2_fluid.engines.fluid.accuracy import Accuracy

NODES = (
    pf.Node("a", pf.Link("15Mbit/s", "40000 packets"), pf.Pi2()),
    pf.Node("b", pf.Link("9Mbit/s", 40), pf.CoupledPi2(target="15ms", update_interval="16ms")),
    pf.Node("c", pf.Link("11Mbit/s", "40000 packets"), pf.Pi()),
)
FLOWS = (
    pf.Flows(pf.Reno(), 6, "80ms", route=("a", "b"), hops=("5ms", "10ms")),
    pf.Flows(pf.Cbr(rate="4Mbit/s", thinned=True), route="b", start="0.1s"),
    pf.Flows(pf.Cubic(), 2, "40ms", route=("c", "a"), start="0.2s", start_jitter="0.1s"),
    pf.Flows(pf.Scalable(), 3, "30ms", route=("b", "c"), hops=("0ms", "4ms")),
)
ALL = pf.Scenario(
    "0.6s",
    network=pf.Network(NODES, FLOWS),
    changes=[pf.Change("0.4s", "8Mbit/s", link="a"), pf.Change("0.5s", counts={"reno": 12})],
)
NAMES = ("queue", "controller", "window", "link_p", "link_throughput", "p", "throughput")


def assert_near(got: Any, want: Any, within: float) -> None:
    for name in NAMES:
        worst = float(np.abs(got[name] - want[name]).max() / np.abs(want[name]).max())
        assert worst < within, f"{name} differs by {worst:.1e} of its largest value"


@pytest.mark.slow
@pytest.mark.parametrize("update", ["sampled", "continuous"])
def test_both_engines_find_the_same(update: str) -> None:
    """Two programs with the same equations, each with its own steps."""
    found = [
        pf.simulate(ALL, pf.Fluid(update=update, tolerance=1e-7, engine=engine))
        for engine in ("c", "python")
    ]
    assert [each.attrs["compiled"] for each in found] == [1, 0]
    assert float(found[0].queue.sel(link="b").max()) == 40.0, "a buffer should fill"
    assert_near(*found, 1e-4)


def test_both_engines_find_the_same_at_first() -> None:
    short = dataclasses.replace(
        ALL, duration="0.15s", changes=[], network=dataclasses.replace(ALL.network, flows=FLOWS[:2])
    )
    found = [
        pf.simulate(short, pf.Fluid(tolerance=1e-6, engine=engine)) for engine in ("c", "python")
    ]
    assert_near(*found, 1e-4)


@pytest.mark.parametrize("update", ["sampled", "continuous"])
def test_a_node_alone_is_one_of_several(update: str) -> None:
    """Beside an idle node all goes the way of several links."""
    one = pf.Scenario(
        2.0,
        pf.Link("10Mbit/s", 60),
        pf.Pi2(),
        [pf.Flows(pf.Reno(), 6, "80ms"), pf.Flows(pf.Dctcp(), 3, "30ms", start=0.7)],
        [pf.Change(1.2, "6Mbit/s")],
    )
    duration, (node,), *rest = compiled.pack(one, update, Accuracy(2.0, 1e-9))
    times, found = np.linspace(0.0, 2.0, 101), []
    for nodes in ([node], [node, node]):
        many = len(nodes)
        rows = [np.empty((101, size)) for size in (many, many, many, many, 2, 2, 2)]
        run = _core.RoutesRun(duration, nodes, *rest)
        assert run.advance(times, 0, 10**6, *rows) == (101, "done")
        found.append([*(row[:, :1] for row in rows[:4]), *rows[4:]])
    names = ("queue", "queue_delay", "controller", "capacity", "window", "p", "leaving")
    for name, got, want in zip(names, *found, strict=True):
        atol = 1e-6 * np.abs(want).max()
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=atol, err_msg=name)


def test_signals_may_be_added() -> None:
    """As where they rest: the class that crosses both links, alone on neither."""
    flows = [
        dataclasses.replace(flow, slow_start=False)
        for flow in (FLOWS[0], pf.Flows(pf.Reno(), 4, "40ms", "x", route="a"))
    ]
    nodes = [NODES[0], pf.Node("b", pf.Link("4Mbit/s", "40000 packets"), pf.Pi2())]
    network = pf.Network(nodes, flows, combine="sum")
    found = pf.simulate(pf.Scenario(15.0, network=network), pf.Fluid(tolerance=1e-6)).isel(time=-1)
    assert float(found.p[0]) == pytest.approx(float(found.link_p.sum("link")[0]), rel=1e-14)
    rest, drawn = (
        pf.equilibrium(dataclasses.replace(network, combine=combine))
        for combine in ("sum", "product")
    )
    np.testing.assert_allclose(found.controller, rest.controller, rtol=1e-4)
    assert np.abs(rest.controller - drawn.controller).max() > 1e-3 * rest.controller.max()


PRICE = pf.Scenario(
    "20s",
    network=pf.Network(
        [
            pf.Node(name, pf.Link("160Mbit/s", "40000 packets", packet_size="1000B"), pf.Price())
            for name in "ab"
        ],
        [
            pf.Flows(pf.Paganini(), 20, "100ms", route=("a", "b"), hops=("5ms", "10ms")),
            pf.Flows(pf.Paganini(), 30, "60ms", route="a", start="2s"),
            pf.Flows(pf.Paganini(), 10, "40ms", route="b", stop="15s"),
        ],
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize("update", ["sampled", "continuous"])
def test_prices_come_to_where_they_rest(update: str) -> None:
    found = pf.simulate(PRICE, pf.Fluid(update=update, tolerance=1e-7)).sel(
        time=14.9, method="nearest"
    )
    rest = pf.equilibrium(PRICE.network)
    sent = found.throughput.to_numpy() / 8000.0 / [20, 30, 10]
    np.testing.assert_allclose(sent, rest.rate, rtol=1e-4)
    np.testing.assert_allclose(found.controller, rest.controller, rtol=1e-4)
    assert float(found.queue.max()) == 0.0


@pytest.mark.slow
def test_a_price_at_one_link_goes_on_resting() -> None:
    flows = pf.Flows(pf.Paganini(), 20, "100ms")
    link = pf.Link("160Mbit/s", "40000 packets", packet_size="1000B")
    one = pf.Scenario(3.0, link, pf.Price(), flows)
    rest = pf.equilibrium(one.network)
    found = pf.simulate(one, pf.Fluid(initial=rest, update="continuous"))
    assert found.controller.dims == ("time",)
    np.testing.assert_allclose(found.controller, rest.controller, rtol=1e-9)
    np.testing.assert_allclose(found.throughput, 0.95 * 160e6, rtol=1e-9)


def test_rates_answer_at_one_hour_as_at_another() -> None:
    """Flows join an instant before or after a signal is heard, by how times are rounded.

    What a reader sees of the past between the two is as short as that; the few flows of the second
    class move the price too little to make it a breakpoint.
    """
    hour, law = 64.0, pf.Paganini(static=True, max_rate="3Mbit/s")
    crowds = ((30, 0.0), (1e-3, 0.015), (30, 0.07))

    def found(engine: Any, start: float) -> Any:
        flows = [
            pf.Flows(law, count, "55ms", str(i), start=start + at, slow_start=False)
            for i, (count, at) in enumerate(crowds)
        ]
        link = pf.Link("1600Mbit/s", "40000 packets", packet_size="1000B")
        scenario = pf.Scenario(start + 0.2, link, pf.Price(utilization=0.05), flows)
        fluid = pf.Fluid(update="continuous", tolerance=1e-6, sample=0.0025, engine=engine)
        return pf.simulate(scenario, fluid).isel(time=slice(-41, None))

    one, other = found("c", hour), found("python", 0.0)
    assert float(one.queue.max()) == 0.0, "all that is sent leaves at once"
    assert float((one.throughput / one.flow_count).max()) <= 3e6 * (1.0 + 1e-12)
    for name in ("throughput", "window", "controller"):
        want = other[name].to_numpy()
        np.testing.assert_allclose(one[name], want, rtol=0.0, atol=1e-4 * want.max())


def test_linear_rates_do_not_answer_at_once() -> None:
    one = pf.Scenario(
        1.0, pf.Link("160Mbit/s", "40000 packets"), pf.Price(), pf.Flows(pf.Paganini(), 2, "100ms")
    )
    with refused(pf.UnsupportedError, "Paganini lets signals act on its rate at once"):
        pf.simulate(one, pf.Fluid(linear=True))


@pytest.mark.slow
def test_both_engines_follow_prices_and_their_queues() -> None:
    flows = [dataclasses.replace(flow, start=0.0, stop=None) for flow in PRICE.flows]
    network = dataclasses.replace(PRICE.network, flows=flows)
    crowd = pf.Change("1.5s", counts={"paganini": 60})
    scenario = pf.Scenario("2s", network=network, changes=crowd)
    found = [
        pf.simulate(scenario, pf.Fluid(update="continuous", tolerance=1e-8, engine=engine))
        for engine in ("c", "python")
    ]
    assert float(found[0].queue.max()) > 10.0, "a queue should grow"
    assert_near(*found, 1e-6)


@pytest.mark.parametrize("update", ["sampled", "continuous"])
def test_both_engines_begin_with_the_same_past(update: str) -> None:
    """A bottleneck that is full of what has come, and goes on to hand it to the next link."""
    initial = {"window": [9.0, 7.0], "queue": {"a": 30.0}, "controller": {"a": 0.2, "b": 0.1}}
    flows = (FLOWS[0], pf.Flows(pf.Scalable(), 3, "30ms", route="a", hops="2ms"))
    scenario = pf.Scenario("0.1s", network=pf.Network(NODES[:2], flows))
    found = [
        pf.simulate(
            scenario, pf.Fluid(update=update, initial=initial, tolerance=1e-8, engine=engine)
        )
        for engine in ("c", "python")
    ]
    assert found[0].queue[0].to_numpy().tolist() == [30.0, 0.0]
    assert_near(*found, 1e-6)


def test_both_engines_begin_with_the_same_past_in_a_ring() -> None:
    """Each link is full of what the other has let through."""
    initial = {"window": [9.0, 30.0], "queue": {"a": 30.0, "b": 20.0}, "controller": {"b": 0.1}}
    flows = (
        pf.Flows(pf.Reno(), 5, "60ms", route=("a", "b"), hops=("3ms", "4ms")),
        pf.Flows(pf.Scalable(), 3, "50ms", route=("b", "a"), hops=("2ms", "5ms")),
    )
    scenario = pf.Scenario("0.05s", network=pf.Network(NODES[:2], flows))
    found = [
        pf.simulate(scenario, pf.Fluid(initial=initial, tolerance=1e-8, engine=engine))
        for engine in ("c", "python")
    ]
    assert_near(*found, 1e-6)


def test_steps_may_be_longer_than_the_way_around_a_ring() -> None:
    """What enters one link of it follows from what entered the other in the same step."""
    nodes = [
        pf.Node(name, pf.Link("12Mbit/s", "40000 packets"), pf.Pi2(target="5ms")) for name in "ab"
    ]
    ways = (("a", "b"), ("b", "a"))
    flows = [
        pf.Flows(pf.Reno(), count, "0.1s", "".join(way), route=way, hops=("1ms", "1ms"))
        for count, way in zip((6, 4), ways, strict=True)
    ]
    flows += [pf.Flows(pf.Reno(), 3, "80ms", f"at {name}", route=name) for name in "ab"]
    network = pf.Network(nodes, flows)
    rest = pf.equilibrium(network)
    initial = {
        "window": [1.02 * float(window) for window in rest.window],
        "queue": dict(zip("ab", rest.queue.to_numpy(), strict=True)),
        "controller": dict(zip("ab", rest.controller.to_numpy(), strict=True)),
    }
    found = [
        pf.simulate(
            pf.Scenario("0.2s", network=network),
            pf.Fluid(initial=initial, update="continuous", tolerance=1e-4, engine=engine),
        )
        for engine in ("c", "python")
    ]
    assert float(found[1].queue.min()) > 0.0, "both should go on waiting"
    assert_near(*found, 1e-3)


def test_links_must_agree_on_what_they_thin() -> None:
    nodes = [NODES[0], pf.Node("d", pf.Link("9Mbit/s", "40000 packets"), pf.TailDrop())]
    flows = pf.Flows(pf.Cbr(rate="4Mbit/s", thinned=True), route=("a", "d"))
    mixed = pf.Scenario(
        1.0, network=pf.Network(nodes, [flows, dataclasses.replace(FLOWS[0], route="a", hops=())])
    )
    assert compiled.obstacle(mixed, "sampled") == (
        "traffic that some links of its route thin and others do not"
    )


def test_progress_and_the_end_are_reported() -> None:
    reported: list[tuple[float, float]] = []
    pf.simulate(ALL, pf.Fluid(tolerance=1e-5), lambda *done: reported.append(done))
    assert reported[-1] == pytest.approx((0.6, 0.6), abs=0.01)
    with refused(pf.SolverError, "took", "steps"):
        compiled.run_compiled(ALL, "sampled", Accuracy(0.6, 1e-9, most_steps=50), [0.0, 0.6])


def test_a_long_route_reports_as_often_as_a_short_one() -> None:
    """Its steps take as much longer as the square of its hops."""
    names = [f"n{k}" for k in range(400)]
    nodes = [pf.Node(name, pf.Link("10Mbit/s", "40000 packets"), pf.Pi2()) for name in names]
    network = pf.Network(nodes, pf.Flows(pf.Reno(), 5, "100ms", route=names))
    reported: list[float] = []
    pf.simulate(
        pf.Scenario("10ms", network=network), pf.Fluid(), lambda done, _: reported.append(done)
    )
    assert len(reported) > 3


@pytest.mark.slow
def test_many_networks_run() -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        network = random_network(rng)
        update = ("sampled", "continuous")[int(rng.integers(2))]
        found = pf.simulate(
            pf.Scenario("1s", network=network), pf.Fluid(update=update, tolerance=1e-6)
        )
        assert found.attrs["compiled"] == 1
        for name in NAMES:
            assert np.isfinite(found[name]).all(), name
        # what comes out of a link it has served
        left = found.link_throughput.sum("flows") / found.capacity
        assert float(left.max()) < 1.0 + 1e-6
        assert math.isfinite(float(found.queue.max()))


def random_scenario(rng: np.random.Generator) -> pf.Scenario:
    """Two or three links in a row, hops, small buffers; starts, a stop, a pause, a new capacity."""
    names = "abc"[: int(rng.integers(2, 4))]
    laws = (pf.Pi2(), pf.Pi(), pf.CoupledPi2(), pf.Red(min=5, max=40), pf.Pi2(alpha=1.0, beta=8.0))
    nodes = [
        pf.Node(
            name,
            pf.Link(rng.uniform(5e6, 15e6), buffer=rng.uniform(20, 200)),
            laws[int(rng.integers(len(laws)))],
        )
        for name in names
    ]
    senders = (pf.Reno(), pf.Scalable(), pf.CReno(), pf.Cbr(rate=rng.uniform(1e6, 4e6)))
    flows = []
    for i in range(int(rng.integers(2, 5))):
        crosses = sorted(rng.choice(list(names), int(rng.integers(1, len(names) + 1)), False))
        base = rng.uniform(0.02, 0.1)
        hops = rng.uniform(0, base, len(crosses)) / (len(crosses) + 1) * (rng.random() < 0.7)
        sender, start = senders[int(rng.integers(4))], rng.uniform(0, 0.3) * (rng.random() < 0.4)
        route = {"route": [str(name) for name in crosses], "hops": [float(hop) for hop in hops]}
        flows.append(
            pf.Flows(sender, float(rng.integers(1, 6)), base, f"f{i}", start=start, **route)
        )
    flows[0] = dataclasses.replace(flows[0], stop=0.6)
    pause, name = rng.uniform(0.31, 0.45), flows[1].name
    changes = [
        pf.Change(pause, counts={name: 0.0}),
        pf.Change(pause + rng.uniform(0.002, 0.05), counts={name: float(rng.integers(1, 8))}),
        pf.Change(rng.uniform(0.1, 0.6), rng.uniform(3e6, 15e6), link=names[-1]),
    ]
    return pf.Scenario(0.7, network=pf.Network(nodes, flows), changes=changes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
@pytest.mark.parametrize("seed", range(4))
def test_both_engines_follow_pauses_jumps_and_full_buffers(seed: int) -> None:
    scenario = random_scenario(np.random.default_rng(seed))
    found = [
        pf.simulate(scenario, pf.Fluid(tolerance=1e-7, engine=engine)) for engine in ("c", "python")
    ]
    assert_near(*found, 1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
def test_what_was_dropped_altogether_comes_again() -> None:
    """Nothing enters b while it drops everything; what leaves it then is not what came before."""
    nodes = [
        pf.Node("b", pf.Link("8.3Mbit/s", 120), pf.Pi2()),
        pf.Node("c", pf.Link("6.5Mbit/s", 110), pf.Pi()),
    ]
    flows = [
        pf.Flows(pf.Cbr(rate="2.9Mbit/s"), 5, "9ms", route=("b", "c"), hops=("2ms", "3ms")),
        pf.Flows(pf.Scalable(), 5, "60ms", route="b", stop="0.56s", initial_window=20),
    ]
    scenario = pf.Scenario("1.2s", network=pf.Network(nodes, flows))
    found = [
        pf.simulate(scenario, pf.Fluid(tolerance=1e-7, engine=engine)) for engine in ("c", "python")
    ]
    there = found[1].link_throughput.sel(link="c", flows="cbr").to_numpy()
    gone = np.flatnonzero(there[:-1] == 0.0).max()
    assert there[1 : gone // 2].max() > 1e6
    assert there[gone + 1 :].max() > 1e6
    assert_near(*found, 1e-5)
