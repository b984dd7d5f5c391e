"""Loops of networks with dual queues: as one dual queue, as the fluid rings, and by two codes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from networks import two_dual_links
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.loop.matrix.bounds import response_bound
from pi2_fluid.loop.matrix.delays import CharacteristicMatrix, closed_system
from pi2_fluid.loop.matrix.response import high_frequency_determinant, matrix_characteristic
from pi2_fluid.loop.matrix.sampled import sampled_matrix

CLASSES = [
    pf.Flows(pf.Reno(), 5, "40ms"),
    pf.Flows(pf.Scalable(), 3, "20ms"),
    pf.Flows(pf.Prague(), 3, "60ms"),
    pf.Flows(pf.Cubic(), 2, "60ms"),
]
ALONE = [pf.Flows(pf.Scalable(), 3, "20ms"), pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False))]
S = np.array([0.3j, 1 + 5j, 30j, -1 + 0j, 100j])
RATE = "60Mbit/s"


def of_one(queue: pf.Aqm, flows: list[pf.Flows], rate: str, *route: str) -> pf.Network:
    """One node, or behind one that is no bottleneck."""
    nodes = [
        pf.Node("wide", pf.Link("600Mbit/s"), pf.DualPi2()),
        pf.Node("b", pf.Link(rate), queue),
    ]
    crossed = [node for node in nodes if node.name in route]
    return pf.Network(crossed, [dataclasses.replace(each, route=route) for each in flows])


@pytest.mark.parametrize("route", [("b",), ("wide", "b")], ids=["alone", "behind a wide one"])
@pytest.mark.parametrize("terms", ["frozen", "exact"])
@pytest.mark.parametrize("update", ["continuous", "delayed"])
def test_one_dual_queue_is_the_loop_of_that_queue(update: str, terms: str, route) -> None:
    model: Any = {"update": update, "rtt_terms": terms}
    one = pf.Loop(CLASSES, pf.DualPi2(), capacity=RATE, **model)
    matrix = pf.NetworkLoop(of_one(pf.DualPi2(), CLASSES, RATE, *route), **model)
    assert matrix.links == ("b",)
    assert matrix(S)[:, 0, 0] == pytest.approx(one(S), rel=1e-10)
    margins, found = one.margins(), matrix.margins()
    for name in ("gain_margin", "phase_margin_deg", "delay_margin", "modulus_margin"):
        assert getattr(found, name) == pytest.approx(getattr(margins, name), rel=1e-10), name
    assert found.verdict == margins.verdict


@pytest.mark.slow
def test_one_dual_queue_has_the_modes_of_that_queue() -> None:
    model: Any = {"update": "delayed", "rtt_terms": "exact"}
    one = pf.Loop(CLASSES, pf.DualPi2(), capacity=RATE, **model)
    matrix = pf.NetworkLoop(of_one(pf.DualPi2(), CLASSES, RATE, "wide", "b"), **model)
    assert matrix.roots(3) == pytest.approx(one.roots(3), rel=1e-10)
    assert matrix.nyquist_count() == one.nyquist_count() == 0


@pytest.mark.slow
def test_one_dual_queue_is_sampled_like_that_queue() -> None:
    """What the sum over aliases leaves out falls by one power slower than that of one queue."""
    model: Any = {"update": "sampled", "rtt_terms": "exact"}
    one = pf.Loop(CLASSES, pf.DualPi2(), capacity=RATE, **model)
    matrix = pf.NetworkLoop(of_one(pf.DualPi2(), CLASSES, RATE, "wide", "b"), **model)
    assert matrix(S)[:, 0, 0] == pytest.approx(one(S), rel=1e-6)
    assert matrix.margins().gain_margin == pytest.approx(one.margins().gain_margin, rel=1e-8)
    assert matrix.margins().phase_margin_deg == pytest.approx(
        one.margins().phase_margin_deg, rel=1e-8
    )


@pytest.mark.parametrize("queue", [pf.DualPi2(ramp="400us"), pf.DualPi2(step="20ms")])
def test_l4s_traffic_alone_is_the_loop_of_its_queue(queue: pf.DualPi2) -> None:
    one = pf.Loop(ALONE, queue, capacity="30Mbit/s", rtt_terms="exact")
    matrix = pf.NetworkLoop(of_one(queue, ALONE, "30Mbit/s", "wide", "b"), rtt_terms="exact")
    assert matrix.links == ("b",)
    assert matrix(S)[:, 0, 0] == pytest.approx(one(S), rel=1e-10)
    assert matrix.margins().gain_margin == pytest.approx(one.margins().gain_margin, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("update", ["delayed", "sampled"])
def test_chance_drives_one_dual_queue_as_it_drives_that_queue(update: str) -> None:
    """By the lots of L4S packets, too, which wait for nothing there.

    Sampled, the two leave out other images: some 1e-5 of what there is.
    """
    model: Any = {"update": update, "rtt_terms": "exact"}
    one = pf.Loop(CLASSES[:2], pf.DualPi2(), capacity=RATE, **model)
    matrix = pf.NetworkLoop(of_one(pf.DualPi2(), CLASSES[:2], RATE, "wide", "b"), **model)
    expected = one.delay_sd("20ms")
    assert matrix.delay_sd("20ms").to_numpy() == pytest.approx([0.0, expected], rel=1e-4)
    assert matrix.delay_sd("20ms", of="flows").to_numpy() == pytest.approx(
        [expected, 0.0], rel=1e-4
    )
    spread = matrix.signal_spread().sel(link="b").item()
    assert spread == pytest.approx(one.signal_spread(), rel=1e-4)


def modes(values: np.ndarray, step: float, terms: int) -> np.ndarray:
    """The exponents of a sum of so many that these values, a step apart, are."""
    before = np.array([values[k : k + terms] for k in range(len(values) - terms)])
    following = np.linalg.lstsq(before, values[terms:], rcond=1e-10)[0]
    found: np.ndarray = np.log(np.roots([1.0, *-following[::-1]]).astype(complex)) / step
    return found


@pytest.mark.slow
def test_the_fluid_of_two_dual_links_rings_as_the_roots_say() -> None:
    """Not linearised, by other code: two modes, from what a small push leaves behind.

    With updates every 2 ms, where a held signal is one that comes 1 ms late.
    """
    network = two_dual_links(gain=1.5, interval=2e-3)
    loop = pf.NetworkLoop(network, rtt_terms="exact", update="delayed")
    first, second = (root for root in loop.roots(4) if root.imag > 0.0)
    rest = loop.operating_point
    by_name = {
        name: dict(zip(network.node_names, factor * getattr(rest, name).to_numpy(), strict=True))
        for name, factor in (("queue", 1.02), ("controller", 1.0))
    }
    run = pf.fluid.simulate(
        pf.Scenario("4s", network=network),
        update="sampled",
        tolerance=1e-9,
        initial={"window": rest.window.to_numpy().tolist(), **by_name},
    )
    step = 0.02
    times = np.arange(1.2, 4.0, step)
    for link in loop.links:
        waits = run.queue_delay.sel(link=link, band="C")
        off = np.interp(times, run.time.to_numpy(), waits.to_numpy())
        found = modes(off - float(rest.queue_delay.sel(link=link)), step, 8)
        # by the second order of a push of 2 %, and by what is interpolated
        assert np.min(np.abs(found - first)) < 2e-3 * abs(first)
        assert np.min(np.abs(found - second)) < 1e-2 * abs(second)
    plain = pf.NetworkLoop(network, rtt_terms="exact", update="delayed", transport="delay")
    assert abs(plain.roots() - first) > 0.05 * abs(first)


def random_network(seed: int, *, rings: bool) -> pf.Network:
    """Dual queues and single ones, at which L4S packets wait behind Classic ones."""
    rng = np.random.default_rng(seed)
    names = [f"l{place}" for place in range(rng.integers(2, 5))]

    def queue() -> pf.Aqm:
        target, by = rng.uniform(0.005, 0.03), 10 ** rng.uniform(-1, 0.7)
        law = pf.DualPi2 if rings or rng.random() < 0.65 else pf.CoupledPi2
        more = {"c_protection": 0.001} if law is pf.DualPi2 else {}
        return law(target=target, alpha=0.16 * by, beta=3.2 * by, update_interval="16ms", **more)

    nodes = [pf.Node(name, pf.Link(10 ** rng.uniform(6.7, 8)), queue()) for name in names]
    senders = [pf.Reno(), pf.Scalable(), pf.Prague(), pf.CReno()]
    flows = []
    for _ in range(rng.integers(4, 9)):
        way = rng.permutation(len(names))[: rng.integers(1, len(names) + 1)]
        way = way if rings else np.sort(way)
        rtt = rng.uniform(0.02, 0.2)
        hops = tuple(rng.dirichlet(np.ones(len(way) + 1))[:-1] * rtt)
        route = [names[place] for place in way]
        sender = senders[rng.integers(4)]
        flows.append(pf.Flows(sender, rng.uniform(0.5, 5), rtt, route=route, hops=hops))
    return pf.Network(nodes, flows)


def random_loops(seeds: range, **model: str) -> list[pf.NetworkLoop]:
    """Those that have one."""
    found = []
    for seed in seeds:
        try:
            loop = pf.NetworkLoop(random_network(seed, rings=seed % 3 == 0), **model)
        except (pf.DomainError, pf.UnsupportedError):
            continue
        if loop.linear.pairs:
            found.append(loop)
    return found


ASSUMED = pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")


@pytest.mark.slow
@ASSUMED
@pytest.mark.parametrize("terms", ["frozen", "exact"])
def test_the_system_with_its_delays_has_this_determinant(rng, terms: str) -> None:
    """All states written out, without the rates that take the link: they are made of others."""
    scale, seen = 7.0, 0
    for half in (False, True):
        update = "delayed" if half else "continuous"
        for loop in random_loops(range(40), update=update, rtt_terms=terms):
            linear, at = loop.linear, 5 * rng.normal(size=4) + 1j * rng.uniform(0, 30, 4)
            matrix = CharacteristicMatrix(closed_system(linear, half_sample=half))
            written_out = np.linalg.det(matrix(at, scale)) / high_frequency_determinant(linear, at)
            whole = matrix_characteristic(linear, at, scale, half_sample=half)
            links = len(loop.links)
            plant = matrix_characteristic(linear, at, scale, without=range(links))
            plant *= (at / (at + scale)) ** links
            assert written_out == pytest.approx(whole, rel=1e-9)
            assert plant * np.linalg.det(np.eye(links) + loop(at)) == pytest.approx(whole, rel=1e-9)
            seen += 1
    assert seen > 20


@pytest.mark.slow
@ASSUMED
def test_no_entry_is_above_its_bound_and_aliases_are_enough() -> None:
    for loop in random_loops(range(24), rtt_terms="exact"):
        linear = loop.linear
        bound = response_bound(linear, 500.0)
        assert np.all(np.abs(loop(500j * np.geomspace(1, 100, 500))) <= bound)
        s = 1j * np.array([0.5, 8.0, 60.0, 180.0])
        few, many = sampled_matrix(linear, s), sampled_matrix(linear, s, aliases=1500)
        # of the largest entry: what is left out falls as 1/s^3 where links pass rates on
        assert np.max(np.abs(few - many)) < 1e-8 * np.max(np.abs(many))


@pytest.mark.slow
@ASSUMED
def test_margins_roots_and_counts_agree() -> None:
    """Of random networks, stable and not; in some routes of Classic flows run in rings."""
    stable = []
    for loop in random_loops(range(14), update="delayed"):
        margins, count = loop.margins(), loop.nyquist_count()
        sign = 1 if count == 0 else -1
        assert np.sign(margins.gain_margin_db) == margins.verdict_code == sign
        assert np.sign(loop.roots().real) == -sign
        stable.append(count == 0)
    assert len(stable) > 5


def ring(l4s: float) -> pf.Network:
    """What L4S packets take from Reno at the dual queue comes back to them at the single one."""
    nodes = [
        pf.Node("single", pf.Link("20Mbit/s"), pf.CoupledPi2(update_interval="16ms")),
        pf.Node("dual", pf.Link("20Mbit/s"), pf.DualPi2(c_protection=0.01)),
    ]
    flows = [
        pf.Flows(pf.Scalable(), l4s, "40ms", route=("single", "dual")),
        pf.Flows(pf.Reno(), 2, "40ms", route=("dual", "single")),
        pf.Flows(pf.Reno(), 1, "40ms", route="single"),
        pf.Flows(pf.Reno(), 1, "40ms", route="dual"),
    ]
    return pf.Network(nodes, flows)


@ASSUMED
def test_rings_in_which_l4s_packets_wait_are_refused_unless_they_fade() -> None:
    loop = pf.NetworkLoop(ring(2.0))
    assert loop.nyquist_count() == 0
    assert loop.roots().real < 0.0
    with refused(pf.UnsupportedError, "what L4S packets take from others in a dual queue comes"):
        pf.NetworkLoop(ring(8.0))


def test_what_a_dual_queue_has_no_loop_for_is_refused() -> None:
    flows = [pf.Flows(pf.Reno(), 1, "200ms"), pf.Flows(pf.Scalable(), 8, "20ms")]
    crowded = of_one(pf.DualPi2(), flows, "30Mbit/s", "wide", "b")
    with (
        pytest.warns(pf.AssumptionWarning, match="more than c_protection leaves it"),
        refused(pf.UnsupportedError, "L4S traffic takes more of the link than c_protection"),
    ):
        pf.NetworkLoop(crowded)
    ramp = of_one(pf.DualPi2(ramp="400us"), ALONE, "30Mbit/s", "wide", "b")
    with refused(pf.UnsupportedError, "DualPi2 acts here on every packet"):
        pf.NetworkLoop(ramp, update="sampled")
    assert pf.NetworkLoop(two_dual_links(), clock="acks", update="sampled").links == ("a", "b")
