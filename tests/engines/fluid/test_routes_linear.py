"""The linear fluid over several links: against roots, and the laws themselves."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from networks import two_dual_links
from refusals import refused

import pi2_fluid as pf

NODES = (
    pf.Node("a", pf.Link("15Mbit/s", "40000 packets"), pf.Pi2()),
    pf.Node("idle", pf.Link("60Mbit/s", "40000 packets"), pf.Pi2()),
    pf.Node("b", pf.Link("9Mbit/s", "40000 packets"), pf.Pi2(alpha=0.5, beta=5.0)),
)
LONG = pf.Flows(pf.Reno(), 6, "80ms", "long", route=("a", "idle", "b"), hops=("5ms", "7ms", "3ms"))
CROSS = (
    pf.Flows(pf.Reno(), 5, "40ms", "at a", route="a"),
    pf.Flows(pf.CReno(), 4, "60ms", "at b", route=("idle", "b")),
)
NETWORK = pf.Network(NODES, (LONG, *CROSS))
STEADY = pf.Flows(pf.Cbr(rate="2Mbit/s"), 1, "30ms", "steady", route=("a", "idle", "b"))
THINNED = pf.Network(NODES, (LONG, *CROSS, STEADY), "sum")


def away(network: pf.Network, nudge: float, duration: float, **how: Any) -> Any:
    """How far the queues are from rest after windows that are larger and smaller than there."""
    rest = pf.equilibrium(network)
    start = {
        "window": [float(w) * (1.0 + nudge * (-1) ** i) for i, w in enumerate(rest.window)],
        "queue": dict(zip(network.node_names, map(float, rest.queue), strict=True)),
        "controller": dict(zip(network.node_names, map(float, rest.controller), strict=True)),
    }
    engine = pf.Fluid(initial=start, **how)
    found = pf.simulate(pf.Scenario(duration, network=network), engine)
    return found.queue.to_numpy() - rest.queue.to_numpy()


def mode_of(signal: Any, spacing: float, order: int = 4) -> complex:
    """The slowest mode of a sum of few exponentials (Prony's method)."""
    rows = np.stack([signal[k : len(signal) - order + k] for k in range(order)], axis=1)
    weights = np.linalg.lstsq(rows, -signal[order:], rcond=None)[0]
    z = np.roots([1, *weights[::-1]])
    s = np.log(z[np.argmax(np.abs(z))]) / spacing
    return complex(s.real, abs(s.imag))


@pytest.mark.slow
@pytest.mark.parametrize("update", ["sampled", "continuous"])
@pytest.mark.parametrize("network", [NETWORK, THINNED], ids=["marked", "thinned"])
def test_it_is_the_limit_of_small_deviations(network: pf.Network, update: str) -> None:
    """The difference falls with the square of the deviation; twice as far is twice as far."""
    how: dict[str, Any] = {"update": update, "tolerance": 1e-9, "sample": 0.02}
    straight = away(network, 1e-2, 0.5, linear=True, **how)
    # the one is exactly a multiple of the other
    coarse, fine = (
        np.abs(away(network, n, 0.5, **how) - straight * n / 1e-2).max() for n in (1e-2, 1e-3)
    )
    assert coarse < 0.02 * np.abs(straight).max()
    assert coarse / fine == pytest.approx(100.0, rel=0.1)


def test_response_scales_and_has_no_bounds() -> None:
    how: dict[str, Any] = {"update": "continuous", "tolerance": 1e-6, "sample": 0.02}
    once, twice = (away(NETWORK, nudge, 0.1, linear=True, **how) for nudge in (0.4, 0.8))
    rest = pf.equilibrium(NETWORK)
    assert (twice.min(axis=0) < -rest.queue.to_numpy()).any()
    assert not once[:, 1].any()  # the idle link
    np.testing.assert_allclose(twice, 2.0 * once, atol=1e-5 * np.abs(twice).max())


@pytest.mark.slow
def test_it_rings_as_the_rightmost_root_says() -> None:
    """At a light load, where the pair of roots grows and outlives all others."""
    nodes = [
        pf.Node(n, pf.Link(r, "40000 packets"), pf.Pi2())
        for n, r in (("a", "15Mbit/s"), ("b", "12Mbit/s"))
    ]
    ways = [
        (1, "150ms", ("a", "b"), ("5ms", "20ms")),
        (1, "80ms", ("a",), ("5ms",)),
        (1.5, "100ms", ("b",), ("12ms",)),
    ]
    flows = [pf.Flows(pf.Reno(), n, rtt, route=r, hops=hops) for n, rtt, r, hops in ways]
    network = pf.Network(nodes, flows)
    root = pf.Loop(network, rtt_terms="exact").roots(1)
    assert root.real > 0.0
    how: dict[str, Any] = {"update": "continuous", "tolerance": 1e-6, "sample": 0.08}
    found = away(network, 0.1, 6.0, linear=True, **how)
    for queue in (0, 1):
        seen = mode_of(found[38:, queue], 0.08)
        assert abs(seen - root) < 1e-3 * abs(root)
    # without the order of packets in a queue it would be another
    other = pf.Loop(network, rtt_terms="exact", transport="delay").roots(1)
    assert abs(other - root) > 1e-2 * abs(root)


@pytest.mark.slow
def test_each_stage_has_its_own_rest() -> None:
    changes = [pf.Change("2s", counts={"long": 9}), pf.Change("5s", "12Mbit/s", link="a")]
    scenario = pf.Scenario("9s", network=NETWORK, changes=changes)
    engine = pf.Fluid(
        linear=True,
        update="continuous",
        initial=pf.equilibrium(NETWORK),
        sample=0.5,
        tolerance=1e-6,
    )
    found = pf.simulate(scenario, engine)
    for t, count, rate in ((2.0, 6, "15Mbit/s"), (5.0, 9, "15Mbit/s"), (9.0, 9, "12Mbit/s")):
        first = dataclasses.replace(NODES[0], link=pf.Link(rate, "40000 packets"))
        network = pf.Network((first, *NODES[1:]), (dataclasses.replace(LONG, count=count), *CROSS))
        rest, row = pf.equilibrium(network), found.sel(time=t - 0.5)
        np.testing.assert_allclose(row.queue_delay, rest.queue_delay, atol=2e-4)
        np.testing.assert_allclose(row.window, rest.window, rtol=5e-3)


def test_thinned_traffic_rests_where_it_begins() -> None:
    """What was under way before time 0 is what links have let in."""
    start = pf.equilibrium(THINNED)
    for linear in (False, True):
        engine = pf.Fluid(linear=linear, initial=start, engine="python", tolerance=1e-6, sample=0.1)
        found = pf.simulate(pf.Scenario("0.1s", network=THINNED), engine)
        np.testing.assert_allclose(found.queue[-1], start.queue, atol=1e-7)


def network_of(*routes: tuple[str, ...], aqm: pf.Aqm | None = None) -> pf.Network:
    aqm = pf.Pi2() if aqm is None else aqm
    nodes = [pf.Node(name, pf.Link("10Mbit/s", "40000 packets"), aqm) for name in "abc"]
    return pf.Network(nodes, [pf.Flows(pf.Reno(), 5, "80ms", route=route) for route in routes])


RING = network_of(("a", "b"), ("b", "c"), ("c", "a"))
PRICED = network_of(("a", "b"), ("c",), aqm=pf.Price())
ONE_PRICE = pf.Scenario(
    "1s", pf.Link("10Mbit/s", "40000 packets"), pf.Price(), pf.Flows(pf.Scalable(), 5, "80ms")
).network


@pytest.mark.parametrize(
    ("network", "said"),
    [
        (RING, "routes lead around a ring of the links 'a', 'b', 'c', which linear=True"),
        (PRICED, "Price at node 'a' acts on what arrives, and linear=True is of queues"),
        (ONE_PRICE, "Price at node 'bottleneck' acts on what arrives, and linear=True"),
    ],
)
def test_what_it_does_not_describe_is_said(network: pf.Network, said: str) -> None:
    with refused(pf.UnsupportedError, said):
        pf.Fluid(linear=True).require(pf.Scenario("1s", network=network))


def test_rests_that_are_not_unique_are_refused() -> None:
    with refused(pf.UnsupportedError, "what the bottlenecks of this network signal is not unique"):
        scenario = pf.Scenario("1s", network=network_of(("a", "b"), ("c",)))
        pf.simulate(scenario, pf.Fluid(linear=True))


DUAL = two_dual_links()
ONE_DUAL = pf.Network(
    pf.Node("b", pf.Link("30Mbit/s"), pf.DualPi2()),
    [
        pf.Flows(pf.Reno(), 5, "40ms", route="b", slow_start=False),
        pf.Flows(pf.Scalable(), 3, "20ms", route="b"),
    ],
)
COUPLED = pf.Node("b", pf.Link("20Mbit/s"), pf.CoupledPi2(update_interval="16ms"))
MIXED = pf.Network([DUAL.nodes[0], COUPLED], DUAL.flows)


def windows(network: pf.Network, nudge: float, **how: Any) -> Any:
    """How far windows are from rest after they began larger and smaller than there."""
    rest = pf.equilibrium(network)
    at_rest = np.array(rest.window)
    signs = (-1.0) ** np.arange(len(at_rest))
    names = network.node_names
    queue, controller = (np.atleast_1d(each) for each in (rest.queue, rest.controller))
    start: dict[str, Any] = {"window": (at_rest * (1.0 + nudge * signs)).tolist()}
    if len(names) > 1:
        start |= {
            "queue": dict(zip(names, queue.tolist(), strict=True)),
            "controller": dict(zip(names, controller.tolist(), strict=True)),
        }
    else:
        start |= {"queue": float(queue[0]), "controller": float(controller[0])}
    engine = pf.Fluid(initial=start, update="sampled", tolerance=1e-7, sample=0.02, **how)
    return pf.simulate(pf.Scenario("120ms", network=network), engine).window.to_numpy() - at_rest


@pytest.mark.slow
@pytest.mark.parametrize(
    "network", [ONE_DUAL, DUAL, MIXED], ids=["one dual queue", "two", "before a coupled one"]
)
def test_dual_queues_are_the_limit_of_small_deviations(network: pf.Network) -> None:
    """The difference falls with the square of the deviation, of L4S packets and Classic ones."""
    straight = windows(network, 1e-2, linear=True)
    coarse, fine = (np.abs(windows(network, n) - straight * n / 1e-2).max() for n in (1e-2, 1e-3))
    assert coarse < 0.02 * np.abs(straight).max()
    assert coarse / fine == pytest.approx(100.0, rel=0.1)


def test_what_marks_by_itself_is_not_described() -> None:
    flows = pf.Flows(pf.Scalable(), 3, "20ms", route="b")
    queue = pf.Node("b", pf.Link("30Mbit/s"), pf.DualPi2(ramp="400us"))
    scenario = pf.Scenario("20ms", network=pf.Network(queue, flows))
    with refused(pf.UnsupportedError, "marks L4S traffic by itself, without its controller"):
        pf.simulate(scenario, pf.Fluid(linear=True, update="sampled"))
