"""The fluid by acknowledgements over several links: against one link, packets, and counts."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.engines.fluid.acks.integration import Integrator
from pi2_fluid.engines.fluid.acks.order import order_within, ways_of
from pi2_fluid.engines.fluid.beginning import begin_links

# Some loads are of no network.
pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")

PI2 = pf.Pi2(drop_at="dequeue")
WIDE = pf.Link("10Gbit/s", "40000 packets")
AVOIDING = {"slow_start": False, "initial_window": 20.0}
SHOWN = ("queue_delay", "queue", "controller", "window", "p")


def parking(times: int = 1, **of_queues: Any) -> pf.Network:
    """Two bottlenecks, one class over both and one over each, any number of times as large."""
    nodes = [
        pf.Node(
            "a", pf.Link(30e6 * times, "40000 packets"), pf.Pi2(drop_at="dequeue", **of_queues)
        ),
        pf.Node(
            "b", pf.Link(24e6 * times, "40000 packets"), pf.Pi2(drop_at="enqueue", **of_queues)
        ),
    ]
    flows = [
        pf.Flows(pf.Reno(), 6 * times, "80ms", "long", route=("a", "b"), hops=("5ms", "10ms")),
        pf.Flows(pf.CReno(), 5 * times, "40ms", "near", route="a", hops="4ms"),
        pf.Flows(pf.Reno(), 8 * times, "60ms", "far", route="b", hops="12ms"),
    ]
    return pf.Network(nodes, flows)


def acks(scenario: pf.Scenario, **options: Any) -> Any:
    return pf.fluid.simulate(scenario, clock="acks", **options)


# --- one link ------------------------------------------------------------------------------------


ONE: dict[str, tuple[pf.Link, pf.Aqm, list[pf.Flows], list[pf.Change]]] = {
    "capacity": (
        pf.Link("10Mbit/s", "40000 packets"),
        PI2,
        [pf.Flows(pf.Reno(), 10, "60ms", **AVOIDING), pf.Flows(pf.Cubic(), 5, "30ms", start=0.5)],
        [pf.Change("1s", capacity="12Mbit/s")],
    ),
    "signals on arrival": (
        pf.Link("10Mbit/s", "40000 packets"),
        pf.Pie(),
        [pf.Flows(pf.Reno(), 6, "60ms"), pf.Flows(pf.Cbr(rate="2Mbit/s"), start=0.2, stop=1.0)],
        [],
    ),
    "dual": (
        pf.Link("40Mbit/s", "40000 packets"),
        pf.DualPi2(),
        [pf.Flows(pf.Reno(), 10, "60ms", **AVOIDING), pf.Flows(pf.Scalable(), 5, "30ms")],
        [],
    ),
    "counts": (
        pf.Link("8Mbit/s", "40000 packets"),
        PI2,
        [pf.Flows(pf.Reno(), 4, "60ms", name="reno", **AVOIDING)],
        [pf.Change(at, counts={"reno": n}) for at, n in ((0.4, 9), (0.9, 3))],
    ),
    "full": (
        pf.Link("10Mbit/s", 50),
        PI2,
        [pf.Flows(pf.Reno(), 5, "60ms")],
        [],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("names", [("wide", "narrow"), ("narrow", "wide")])
@pytest.mark.parametrize("name", ONE)
def test_two_links_of_which_one_is_no_bottleneck_are_the_other_alone(name: str, names: Any) -> None:
    link, aqm, flows, changes = ONE[name]
    alone = acks(pf.Scenario("1.5s", link, aqm, flows, changes), step="2ms", engine="python")
    nodes = [pf.Node(each, link if each == "narrow" else WIDE, aqm) for each in names]
    routed = [dataclasses.replace(flow, route=names) for flow in flows]
    moved = [
        dataclasses.replace(change, link="narrow") if change.capacity is not None else change
        for change in changes
    ]
    both = acks(pf.Scenario("1.5s", network=pf.Network(nodes, routed), changes=moved), step="2ms")
    for variable in SHOWN:
        mine = both[variable]
        mine = mine.sel(link="narrow") if "link" in mine.dims else mine
        scale = max(1.0, float(np.abs(alone[variable]).max()))
        # Times of entry are differences of instants, and what a full buffer loses is shared out in
        # another order: 1e-10 of what is shown, 1e-7 where windows that are halved carry it on.
        tolerance = 1e-7 if name == "full" else 1e-10
        np.testing.assert_allclose(
            mine.to_numpy().squeeze(),
            alone[variable].to_numpy().squeeze(),
            rtol=0.0,
            atol=tolerance * scale,
            err_msg=variable,
        )


# --- several bottlenecks -------------------------------------------------------------------------


def test_rest_stays_at_rest() -> None:
    network = parking(update_interval="16ms")
    rest = pf.equilibrium(network)
    result = acks(pf.Scenario("0.5s", network=network), initial=rest, step="4ms")
    np.testing.assert_allclose(result.queue_delay, np.tile(rest.queue_delay, (32, 1)), rtol=1e-10)
    np.testing.assert_allclose(result.window, np.tile(rest.window, (32, 1)), rtol=1e-10)
    np.testing.assert_allclose(result.p, np.tile(rest.p, (32, 1)), rtol=1e-10)


@pytest.mark.parametrize("queues", [{"a": 40.0, "b": 3.0}, {"a": 300.0, "b": 2e3}, {"b": 1e-3}])
def test_queues_before_time_0_are_what_comes_while_packets_wait(queues: dict[str, float]) -> None:
    scenario = pf.Scenario("0.5s", network=parking())
    run = Integrator(
        scenario, None, begin_links(scenario, {"window": [300.0, 90.0, 80.0], "queue": queues})
    )
    waits = [link.delays[0] for link in run.links]
    comes = [0.0, 0.0]
    for flow, way, window in zip(scenario.flows, run.ways, (300.0, 90.0, 80.0), strict=True):
        for k in way.links:
            round_trip = flow.base_rtt + sum(waits[j] for j in way.links)
            comes[k] += flow.count * window / round_trip
    for k, name in enumerate("ab"):
        assert waits[k] * comes[k] == pytest.approx(queues.get(name, 0.0), rel=1e-12)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Swinging(pf.Pi2):
    """A queue whose p' is given: what a cosine is in the middle of each interval."""

    mean: float
    wave: tuple[float, float]

    def update(self, state: Any, seen: Any, dt: Any) -> Any:
        size, w = self.wave
        return self.mean * (1.0 + size * math.cos(w * (state[1] + 1.5) * dt)), state[1] + 1.0

    def at_rest(self, u: Any, capacity: Any) -> Any:
        return (u, 0.0), self.target


def swinging(waves: dict[str, tuple[float, float]], interval: str) -> tuple[pf.Scenario, Any]:
    """The two bottlenecks with given p', and where they rest without waves."""
    network = parking(update_interval=interval)
    rest = pf.equilibrium(network)
    controller = dict(zip("ab", map(float, rest.controller), strict=True))
    nodes = [
        dataclasses.replace(
            node,
            aqm=Swinging(
                mean=controller[node.name],
                wave=waves[node.name],
                drop_at=node.aqm.drop_at,  # type: ignore[attr-defined]
                update_interval=interval,
            ),
        )
        for node in network.nodes
    ]
    initial = {
        "window": [float(window) for window in rest.window],
        "queue": dict(zip("ab", map(float, rest.queue), strict=True)),
        "controller": controller,
    }
    return pf.Scenario("1.5s", network=pf.Network(nodes, network.flows)), initial


@pytest.mark.slow
def test_the_order_is_two() -> None:
    scenario, initial = swinging({"a": (0.05, 7.0), "b": (0.05, 11.0)}, "2ms")
    coarse, middle, fine, finest = (
        acks(scenario, initial=initial, step=h, sample="10ms")
        for h in (2e-3, 1e-3, 0.5e-3, 0.25e-3)
    )
    for variable in ("queue_delay", "window"):
        distances = [
            float(np.abs(one[variable] - other[variable]).max())
            for one, other in ((coarse, middle), (middle, fine), (fine, finest))
        ]
        assert math.log2(distances[0] / distances[2]) / 2.0 > 1.8, (variable, distances)
    assert float(np.abs(middle.queue_delay - fine.queue_delay).max()) < 1e-7


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Turning(pf.Pi2):
    """A queue whose p' is a given cosine, by turning a pointer: operations on numbers alone."""

    mean: float
    wave: tuple[float, float]

    def initial(self) -> Any:
        return self.mean, 1.0, 0.0

    def update(self, state: Any, seen: Any, dt: Any) -> Any:
        size, w = self.wave
        angle = w * float(self.update_interval)
        x, y = state[1], state[2]
        x, y = (
            math.cos(angle) * x - math.sin(angle) * y,
            math.sin(angle) * x + math.cos(angle) * y,
        )
        return self.mean * (1.0 + size * x), x, y

    def saturate(self, state: Any) -> Any:
        return state

    def at_rest(self, u: Any, capacity: Any) -> Any:
        return (u, 1.0, 0.0), self.target


@pytest.mark.slow
def test_so_it_is_in_the_compiled_engine() -> None:
    # Only Reno: each tick is a kink of later windows, and those of Scalable are sharper.
    near = pf.Flows(pf.Reno(), 3, "50ms", "beside", route=("a", "b"), hops=("2ms", "3ms"))
    network = pf.Network(parking().nodes, [*parking().flows, near])
    rest = pf.equilibrium(network)
    controller = dict(zip("ab", map(float, rest.controller), strict=True))
    waves = {"a": (0.03, 7.0), "b": (0.03, 11.0)}
    nodes = [
        dataclasses.replace(
            node,
            aqm=Turning(mean=controller[node.name], wave=waves[node.name], update_interval="2ms"),
        )
        for node in network.nodes
    ]
    initial = {
        "window": [float(window) for window in rest.window],
        "queue": dict(zip("ab", map(float, rest.queue), strict=True)),
        "controller": controller,
    }
    scenario = pf.Scenario("1.2s", network=pf.Network(nodes, network.flows))
    runs = [
        acks(scenario, initial=initial, engine="c", step=h, sample="16ms")
        for h in (2e-3, 1e-3, 0.5e-3, 0.25e-3)
    ]
    for variable in ("queue_delay", "window"):
        distances = [
            float(np.abs(one[variable] - other[variable]).max()) for one, other in pairwise(runs)
        ]
        assert math.log2(distances[0] / distances[2]) / 2.0 > 1.8, (variable, distances)
    assert float(np.abs(runs[1].queue_delay - runs[2].queue_delay).max()) < 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("aqm", [pf.Pi2(), pf.DualPi2()])
def test_what_is_under_way_is_the_window_unless_senders_are_silent(aqm: pf.Aqm) -> None:
    nodes = [
        pf.Node("a", pf.Link("30Mbit/s", 4000), aqm),
        pf.Node("b", pf.Link("24Mbit/s", 4000), aqm),
    ]
    hops = {"hops": ("5ms", "10ms")}
    flows = [
        pf.Flows(pf.Reno(), 6, "80ms", "long", route=("a", "b"), **hops),
        pf.Flows(pf.Scalable(), 4, "50ms", "back", route=("b", "a"), **hops),
        pf.Flows(pf.Reno(), 5, "40ms", "near", route="a", hops="4ms", start=0.5),
    ]
    run = Integrator(pf.Scenario("3s", network=pf.Network(nodes, flows)), 1e-3, None)
    run.run()
    times, silences = np.array(run.times), 0
    for source, passages in zip(run.sources, run.passages, strict=True):
        sent, left = np.array(source.sent), np.array(passages[-1].out.passed)
        acked = np.interp(times - source.back, times, left)
        begun = np.array([source.begun(t) for t in run.times])
        too_many = sent - acked - source.number * begun * np.array(source.sizes)
        later = times >= source.start
        assert too_many[later].min() > -1e-8
        grows = np.diff(sent)[later[1:]] > 1e-9
        assert np.abs(too_many[later][-grows.size :][grows]).max() < 1e-8
        silences += int((too_many[later] > 1.0).sum())
        # Nothing overtakes, and nothing is lost on the way between the links.
        for before, after in pairwise(passages):
            passed = np.interp(times - after.lag, times, before.out.passed)
            np.testing.assert_allclose(after.came, passed, atol=1e-8)
        for passage in passages:
            assert np.diff(passage.came).min() >= 0.0
            assert np.diff(passage.out.passed).min() >= -1e-12
    assert silences > 10, "nobody was ever silent: the test asks nothing"
    for link in run.links:
        served = np.array([sum(line.served[k] for line in link.lines) for k in range(len(times))])
        most = link.capacity * np.diff(times)
        assert np.all(np.diff(served) <= most * (1.0 + 1e-9) + 1e-9)
        for line in link.lines:
            total = sum(np.array(passage.out.real) for passage in line.passages)
            np.testing.assert_allclose(total, line.served, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("combine", ["product", "sum"])
def test_signals_of_several_links_count_once(combine: str) -> None:
    # What has been marked of a steady flow is the probability that results show.
    network = dataclasses.replace(parking(update_interval="16ms"), combine=combine)
    rest = pf.equilibrium(network)
    scenario = pf.Scenario("0.5s", network=network)
    run = Integrator(scenario, 2e-3, begin_links(scenario, rest))
    run.run()
    for i, passages in enumerate(run.passages):
        out = passages[-1].out
        part = (out.signalled[-1] - out.signalled[1]) / (out.passed[-1] - out.passed[1])
        assert part == pytest.approx(float(rest.p[i]), rel=1e-9)


@pytest.mark.slow
def test_packets_agree_with_four_times_the_flows() -> None:
    network = parking(4)
    flows = [
        dataclasses.replace(flow, ecn=True, slow_start=False, initial_window=round(float(window)))
        for flow, window in zip(network.flows, pf.equilibrium(network).window, strict=True)
    ]
    nodes = [
        dataclasses.replace(n, aqm=dataclasses.replace(n.aqm, ecn=True)) for n in network.nodes
    ]
    late = [dataclasses.replace(flow, start_jitter="0.1s") for flow in flows]
    change = pf.Change("6s", capacity="80Mbit/s", link="b")
    fluid = acks(pf.Scenario("12s", network=pf.Network(nodes, flows), changes=change))
    spread = pf.Scenario("12s", network=pf.Network(nodes, late), changes=change)
    packets = pf.packet.simulate(spread, seeds=4, bin="20ms").mean("seed")
    for since, until in ((3.0, 6.0), (8.0, 12.0)):
        when = {"time": slice(since, until)}
        for variable in ("queue_delay", "throughput"):
            one, other = (each[variable].sel(when).mean("time") for each in (fluid, packets))
            np.testing.assert_allclose(one, other, rtol=0.05)


# --- what is asked and refused -------------------------------------------------------------------


def ring(hop: str, base_rtt: str = "40ms") -> pf.Network:
    nodes = [pf.Node(name, pf.Link("10Mbit/s", 1000), PI2) for name in "ab"]
    flows = [
        pf.Flows(pf.Reno(), 3, base_rtt, name, route=route, hops=("0ms", hop), **AVOIDING)
        for name, route in (("there", ("a", "b")), ("back", ("b", "a")))
    ]
    return pf.Network(nodes, flows)


def test_a_ring_shortens_steps_and_one_in_no_time_is_refused() -> None:
    near = pf.Scenario("0.2s", network=ring("0.5ms"))
    assert Integrator(near, None, None).step == pytest.approx(0.5e-3, rel=1e-4)
    assert order_within(ways_of(near.network), 2, 1e-3) is None
    with refused(pf.QuantityError, "around a ring", "0.0005"):
        Integrator(near, 1e-3, None)
    with refused(pf.UnsupportedError, "in no time", "give hops"):
        acks(pf.Scenario("0.2s", network=ring("0ms")))
    assert float(acks(near).queue_delay.max()) > 0.0


def test_a_step_longer_than_the_shortest_path_is_refused() -> None:
    with refused(pf.QuantityError, "longer than the shortest path"):
        acks(pf.Scenario("0.2s", network=parking()), step="40ms")


def test_queues_before_time_0_must_be_below_what_windows_have_under_way() -> None:
    initial = {"window": [2.0, 2.0, 2.0], "queue": {"a": 1000.0}}
    with refused(pf.ScenarioError, "1000 packets at 'a'", "larger windows"):
        acks(pf.Scenario("0.2s", network=parking()), initial=initial)


@pytest.mark.parametrize(
    ("aqm", "why"), [(pf.TailDrop(), "between two ticks"), (pf.Price(), "acts on what arrives")]
)
def test_any_link_may_have_a_law_that_has_no_such_clock(aqm: pf.Aqm, why: str) -> None:
    first, second = parking().nodes
    network = pf.Network([first, dataclasses.replace(second, aqm=aqm)], parking().flows)
    with refused(pf.UnsupportedError, why):
        acks(pf.Scenario("0.2s", network=network))


def test_a_class_that_never_sends_is_named_as_it_was_given() -> None:
    late = pf.Flows(pf.Reno(), 50, "50ms", "late", start=0.1, start_jitter=0.05)
    network = pf.Network(pf.Node("a", pf.Link("10Mbit/s", 1000), PI2), [late])
    with refused(pf.UnsupportedError, "'late' has no flows that ever send"):
        acks(pf.Scenario("0.3s", network=network, changes=pf.Change(0.05, counts={"late": 0})))
