"""Loops of several links: known answers, one queue as a matrix, and what must agree with what."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from networks import built, random_network
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.loop.matrix.bounds import response_bound
from pi2_fluid.loop.matrix.delays import CharacteristicMatrix, closed_system
from pi2_fluid.loop.matrix.response import matrix_characteristic, passed_on
from pi2_fluid.loop.matrix.sampled import sampled_matrix

DATA = Path(__file__).parents[1] / "data"
RESTS = {
    each["name"]: each["network"]
    for each in json.loads((DATA / "network_rests.json").read_text(encoding="utf-8"))
}
KNOWN = json.loads((DATA / "network_loops.json").read_text(encoding="utf-8"))
GAINS = {each["name"]: each["gains"] for each in KNOWN}
NAMES = [each["name"] for each in KNOWN]


def network_of(name: str) -> pf.Network:
    return built(**RESTS[name], **GAINS[name])


@pytest.fixture(scope="module")
def two() -> pf.NetworkLoop:
    return pf.NetworkLoop(network_of("two_links"), rtt_terms="exact")


# --- known answers --------------------------------------------------------------------------


@pytest.mark.parametrize("known", KNOWN, ids=NAMES)
def test_known_margins(known: dict[str, Any]) -> None:
    network = network_of(known["name"])
    for expected in known["margins"]:
        model = {name: expected[name] for name in ("update", "rtt_terms")}
        margins = pf.Loop(network, **model).margins()
        for name in ("gain_margin", "phase_margin_deg", "phase_crossover", "gain_crossover"):
            assert getattr(margins, name) == pytest.approx(expected[name], rel=1e-11), (name, model)
        # that of a grid is a little larger
        on_grid = expected["sigma_min_on_a_grid"]
        assert (1 - 1e-3) * on_grid < margins.sigma_min <= on_grid
        assert margins.verdict == ("stable" if expected["gain_margin"] > 1.0 else "unstable")
        assert margins.uniform


@pytest.mark.slow
@pytest.mark.parametrize("known", KNOWN, ids=NAMES)
def test_known_roots(known: dict[str, Any]) -> None:
    network = network_of(known["name"])
    for terms, expected in known["roots"].items():
        loop: Any = pf.Loop(network, rtt_terms=terms)
        values = np.array([complex(*pair) for pair in expected])
        roots = loop.roots(3)
        assert roots == pytest.approx(values, rel=1e-10)
        assert loop.roots() == roots[0]
        found = np.linalg.det(np.eye(len(loop.links)) + loop(roots))
        assert np.max(np.abs(found)) < 1e-4 * np.max(np.abs(loop(roots)))
        assert loop.nyquist_count() == 2 * np.sum(values.real > 0.0)


def test_textbooks_transport_has_more_margin(two: pf.NetworkLoop) -> None:
    """A link behind a bottleneck is offered more than this lets through."""
    plain = pf.Loop(two.network, rtt_terms="exact", transport="delay").margins().gain_margin
    assert plain == pytest.approx(3.0226, abs=5e-5)
    assert two.margins().gain_margin == pytest.approx(2.8344, abs=5e-5)


def test_queues_in_a_row_have_more_margin_than_one_of_their_delay(two: pf.NetworkLoop) -> None:
    rtt = float(two.operating_point.rtt[0])
    aqm = two.network.nodes[0].aqm
    for p_prime in (0.124, 0.202, 0.236):
        alone = pf.Loop(pf.Reno(), aqm, rtt=rtt, p_prime=p_prime, rtt_terms="exact").margins()
        assert alone.gain_margin < 0.75 * two.margins().gain_margin


# --- one queue ------------------------------------------------------------------------------

ONE = [
    pf.Flows(pf.Reno(), 10, "80ms", route=("wide", "b")),
    pf.Flows(pf.Cubic(), 3, "30ms", route="b"),
    pf.Flows(pf.Cbr(rate="2Mbit/s", thinned=False), 1, "10ms", route="b"),
    pf.Flows(pf.Cbr(rate="50Mbit/s", thinned=False), 1, "10ms", route="wide"),
]


def wide_and_narrow(flows: list[pf.Flows]) -> pf.Network:
    nodes = [
        pf.Node("wide", pf.Link("900Mbit/s"), pf.Pie()),
        pf.Node("b", pf.Link("12Mbit/s"), pf.Pie()),
    ]
    return pf.Network(nodes, flows)


CLOSE = {"rel": 1e-12, "abs": 0}


def test_one_queue_is_the_loop_of_that_queue() -> None:
    """In a network of several nodes, and as a matrix of one entry."""
    network = wide_and_narrow(ONE[:3])
    flows = [pf.Flows(each.sender, each.count, each.base_rtt) for each in ONE[:3]]
    s = np.array([0.3j, 1 + 5j, 30j, -1 + 0j])
    for model in ({}, {"update": "delayed", "rtt_terms": "exact"}):
        alone = pf.Loop(flows, pf.Pie(), capacity="12Mbit/s", **model)
        loop = pf.Loop(network, **model)
        assert not hasattr(loop, "links")
        assert loop(s) == pytest.approx(alone(s), **CLOSE)
        matrix = pf.NetworkLoop(network, **model)
        assert matrix.links == ("b",)
        assert matrix(s)[:, 0, 0] == pytest.approx(alone(s), **CLOSE)
        one, other = alone.margins(), matrix.margins()
        assert not other.uniform
        for name in ("gain_margin", "phase_margin_deg", "delay_margin", "modulus_margin"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-11), name
        assert other.verdict == one.verdict
        for found, expected in zip(matrix.crossovers(), alone.crossovers(), strict=True):
            assert found[0] == pytest.approx(expected[0], rel=1e-11)


@pytest.mark.slow
def test_one_queue_has_the_same_modes() -> None:
    network = wide_and_narrow(ONE[:2])
    alone, matrix = pf.Loop(network, rtt_terms="exact"), pf.NetworkLoop(network, rtt_terms="exact")
    assert matrix.roots(2) == pytest.approx(alone.roots(2), rel=1e-10)
    assert matrix.disk_margin() == pytest.approx(alone.disk_margin(), rel=1e-7)
    sampled = {"update": "sampled", "rtt_terms": "exact"}
    alone, matrix = pf.Loop(network, **sampled), pf.NetworkLoop(network, **sampled)
    w = np.array([0.3, 5.0, 30.0, 80.0])
    assert matrix(1j * w)[:, 0, 0] == pytest.approx(alone(1j * w), rel=1e-7)
    assert matrix(-1j * w) == pytest.approx(np.conj(matrix(1j * w)))
    one, other = alone.margins(), matrix.margins()
    assert other.gain_margin == pytest.approx(one.gain_margin, rel=1e-9)
    assert other.phase_margin_deg == pytest.approx(one.phase_margin_deg, rel=1e-9)
    assert other.verdict == one.verdict == "stable"


def test_a_hop_before_the_only_queue_counts() -> None:
    """Rates reach the queue later than the delay that they followed, so that it is no `Loop`."""
    late = dataclasses.replace(ONE[0], hops=("0ms", "20ms"))
    loop: Any = pf.Loop(wide_and_narrow([late, ONE[1]]))
    assert loop.links == ("b",)
    assert loop.linear.forward.tolist() == [[0.02], [0.0]]
    alone = pf.Loop(wide_and_narrow(ONE[:2])).margins().gain_margin_db
    assert loop.margins().gain_margin_db == pytest.approx(alone, abs=0.5)
    assert loop.margins().gain_margin_db != pytest.approx(alone, abs=1e-3)


def test_flows_beside_the_only_queue_have_no_part() -> None:
    with_others = pf.Loop(wide_and_narrow(ONE)).margins().gain_margin_db
    assert with_others == pf.Loop(wide_and_narrow(ONE[:3])).margins().gain_margin_db


# --- independent of one another -------------------------------------------------------------


def beside(rates: tuple[str, ...], laws: list[Any], flows: list[pf.Flows]) -> pf.Network:
    """Links that nobody crosses together."""
    names = "abc"[: len(rates)]
    nodes = [
        pf.Node(name, pf.Link(rate), law)
        for name, rate, law in zip(names, rates, laws, strict=True)
    ]
    return pf.Network(
        nodes,
        [dataclasses.replace(each, route=name) for each, name in zip(flows, names, strict=True)],
    )


RATES = ("12Mbit/s", "30Mbit/s")
APART = [pf.Flows(pf.Reno(), 10, "60ms"), pf.Flows(pf.Prague(), 4, "30ms")]


@pytest.mark.parametrize("update", ["continuous", pytest.param("sampled", marks=pytest.mark.slow)])
def test_links_that_share_no_flow_are_loops_side_by_side(update: str) -> None:
    laws = [pf.Pi2(), pf.CoupledPi2(alpha=0.16, beta=3.2)]
    matrix = pf.NetworkLoop(beside(RATES, laws, APART), update=update)
    w = np.array([0.7, 6.0, 40.0])
    values = matrix(1j * w)
    crossings: tuple[list[float], list[float]] = ([], [])
    worst = np.inf
    for place, (law, rate, flows) in enumerate(zip(laws, RATES, APART, strict=True)):
        alone = pf.Loop(flows, law, capacity=rate, update=update)
        assert values[:, place, place] == pytest.approx(alone(1j * w), rel=1e-7)
        assert np.all(values[:, place, 1 - place] == 0.0)
        worst = min(worst, alone.margins().gain_margin_db)
        for every, more in zip(crossings, alone.crossovers(), strict=True):
            every.extend(more)
        one = matrix.close("ab"[1 - place])
        assert one.links == ("ab"[place],)
        assert one.margins().gain_margin_db == pytest.approx(alone.margins().gain_margin_db)
    assert matrix.margins().gain_margin_db == pytest.approx(worst, rel=1e-7)
    for found, expected in zip(matrix.crossovers(), crossings, strict=True):
        for w_expected in expected:
            assert min(abs(np.array(found) / w_expected - 1)) < 1e-7


def test_a_queue_without_integrator_beside_one_with() -> None:
    """RED's locus begins at a finite gain, PI2's falls from the first."""
    flows = [pf.Flows(pf.Reno(), 20, "80ms"), pf.Flows(pf.Reno(), 20, "60ms")]
    laws = [pf.Red(min=20, max=100, max_p=0.1, weight=0.01), pf.Pi2()]
    loop = pf.NetworkLoop(beside(("30Mbit/s", "20Mbit/s"), laws, flows))
    alone = [
        pf.Loop(each, law, capacity=rate)
        for each, law, rate in zip(flows, laws, ("30Mbit/s", "20Mbit/s"), strict=True)
    ]
    margins, of_red = loop.margins(), alone[0].margins()
    assert margins.gain_margin_db == pytest.approx(of_red.gain_margin_db, rel=1e-9)
    assert margins.phase_margin_deg == pytest.approx(of_red.phase_margin_deg, rel=1e-9)
    assert loop.nyquist_count() == 2
    assert loop.crossovers()[0] == pytest.approx(
        sorted(each.crossovers()[0][0] for each in alone), rel=1e-9
    )
    start = np.degrees(np.angle(loop.eigenloci().isel(frequency=0).to_numpy()))
    assert np.sort(np.round(start / 90)).tolist() == [-1, 0]
    with refused(pf.UnsupportedError, "Red acts here on every packet"):
        pf.NetworkLoop(loop.network, update="delayed")


def test_signals_may_be_summed(two: pf.NetworkLoop) -> None:
    """Then a link counts whatever the others signal."""
    summed = pf.NetworkLoop(dataclasses.replace(two.network, combine="sum"), rtt_terms="exact")
    for loop, part in ((two, 1.0), (summed, 0.0)):
        u = loop.operating_point.controller.to_numpy()
        left = 1.0 - part * u[::-1] ** 2
        expected = [2 * u * left, [2 * u[0], 0.0], [0.0, 2 * u[1]]]
        assert loop.linear.slopes == pytest.approx(np.array(expected), rel=1e-12)
    assert summed.margins().gain_margin == pytest.approx(two.margins().gain_margin, rel=0.02)


def test_loci_that_coincide_lose_no_crossing() -> None:
    """Twice the same link, and once with so little changed that the loci are hardly two."""
    flows = APART[0]
    alone = pf.Loop(flows, pf.Pi2(), capacity=RATES[0])
    expected = alone.crossovers()
    for more in (1.0, 1.0 + 1e-9, 1.0 + 1e-4):
        other = pf.Pi2(alpha=0.3125 * more, beta=3.125 * more)
        loop = pf.NetworkLoop(beside((RATES[0],) * 2, [pf.Pi2(), other], [flows, flows]))
        for found, (w, *_) in zip(loop.crossovers(), expected, strict=True):
            assert found[:2] == pytest.approx([w, w], rel=2e-4)
        gain_margin = alone.margins().gain_margin
        assert loop.margins().gain_margin == pytest.approx(gain_margin / more, rel=1e-8)


# --- what the determinant and the delays say ------------------------------------------------


def hopping(rng: np.random.Generator, network: pf.Network, gain: float) -> pf.Network:
    """The same with hops, and other gains."""
    nodes = [
        dataclasses.replace(
            node,
            aqm=dataclasses.replace(
                node.aqm, alpha=gain * node.aqm.alpha, beta=gain * node.aqm.beta
            ),
        )
        for node in network.nodes
    ]
    flows = []
    for each in network.flows:
        parts = rng.dirichlet(np.ones(len(each.route or ()) + 1))[:-1]
        flows.append(dataclasses.replace(each, hops=tuple(parts * each.base_rtt)))
    return pf.Network(nodes, flows)


def some_loop(seed: int, **model: str) -> pf.NetworkLoop:
    rng = np.random.default_rng(seed)
    network = random_network(rng)
    return pf.NetworkLoop(hopping(rng, network, 10 ** rng.uniform(-1, 1)), **model)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
@given(
    seed=st.integers(0, 2**32 - 1),
    s=st.complex_numbers(min_magnitude=0.1, max_magnitude=30.0),
    update=st.sampled_from(["continuous", "delayed"]),
    terms=st.sampled_from(["frozen", "exact"]),
    transport=st.sampled_from(["fifo", "delay"]),
)
@settings(deadline=None, max_examples=40)
def test_the_system_with_its_delays_has_this_determinant(seed, s, update, terms, transport) -> None:
    """All states written out; without controllers, times these' denominators and det(I + L)."""
    try:
        loop = some_loop(seed, update=update, rtt_terms=terms, transport=transport)
    except pf.DomainError:
        assume(False)
    linear, at, scale = loop.linear, np.array([s]), 7.0
    half = update == "delayed"
    matrix = CharacteristicMatrix(closed_system(linear, half_sample=half))
    written_out = np.linalg.det(matrix(at, scale)) / np.linalg.det(passed_on(linear, at))
    whole = matrix_characteristic(linear, at, scale, half_sample=half)
    links = len(loop.links)
    plant = matrix_characteristic(linear, at, scale, without=range(links))
    integrators = (s / (s + scale)) ** links
    assert written_out == pytest.approx(whole, rel=1e-6)
    assert plant * integrators * np.linalg.det(np.eye(links) + loop(s)) == pytest.approx(whole)


def assert_verdicts_agree(loop: pf.NetworkLoop) -> bool:
    margins, count = loop.margins(), loop.nyquist_count()
    sign = np.sign(margins.gain_margin_db)
    assert sign == np.sign(margins.phase_margin_deg) == margins.verdict_code
    assert sign == (1 if count == 0 else -1) == -np.sign(loop.roots().real)
    return count == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")
def test_margins_roots_and_counts_agree_on_random_networks() -> None:
    """Of 2 to 6 links, stable and not, many of them with rings."""
    models = [
        {"update": update, "rtt_terms": terms}
        for update in ("continuous", "delayed")
        for terms in ("frozen", "exact")
    ]
    stable = [assert_verdicts_agree(some_loop(seed, **models[seed % 4])) for seed in range(24)]
    assert 0.2 < np.mean(stable) < 0.8


HOPS = [*[("5ms", "15ms")] * 3, *["2ms"] * 3]


def fading(network: pf.Network, link: str, near: complex) -> complex:
    """How the fluid of a network, not linearised, comes to rest: the mode next to a root."""
    run = pf.fluid.simulate(pf.Scenario("45s", network=network), update="continuous")
    step, terms = 0.02, 8
    times = np.arange(25.0, 45.0, step)
    delay = np.interp(times, run.time.to_numpy(), run.queue_delay.sel(link=link).to_numpy())
    rest = delay - float(network.nodes[network.node_names.index(link)].aqm.target)
    before = np.array([rest[k : k + terms] for k in range(len(rest) - terms)])
    next_one = np.linalg.lstsq(before, rest[terms:], rcond=1e-10)[0]
    found = np.log(np.roots([1.0, *-next_one[::-1]]).astype(complex)) / step
    return complex(found[np.argmin(np.abs(found - near))])


def slow_start_off(count: float, rtt: str, route: tuple[str, ...], hops: Any) -> pf.Flows:
    return pf.Flows(pf.Reno(), count, rtt, route=route, hops=hops, slow_start=False)


@pytest.mark.slow
def test_the_fluid_comes_to_rest_by_the_rightmost_root() -> None:
    """Solved in time, by other code: FIFO from link to link, and a hop before the only queue."""
    links = [pf.Node(n, pf.Link(rate), pf.Pi2()) for n, rate in (("a", 15e6), ("b", 12e6))]
    flows = [
        slow_start_off(1.5, "130ms", ("a", "b"), ("5ms", "20ms")),
        slow_start_off(1.5, "70ms", ("a",), "5ms"),
        slow_start_off(2, "90ms", ("b",), "12ms"),
    ]
    network = pf.Network(links, flows)
    root, plain = (
        pf.NetworkLoop(network, rtt_terms="exact", transport=transport).roots()
        for transport in ("fifo", "delay")
    )
    assert fading(network, "a", root) == pytest.approx(root, abs=0.003)
    assert abs(plain - root) > 0.1
    wide = [pf.Node("wide", pf.Link(90e6), pf.Pi2()), links[1]]
    late, at_once = (
        pf.Network(wide, [slow_start_off(5, "110ms", ("wide", "b"), ("0ms", hop))])
        for hop in ("60ms", "0ms")
    )
    root = pf.NetworkLoop(late, rtt_terms="exact").roots()
    assert fading(late, "b", root) == pytest.approx(root, abs=0.003)
    assert abs(pf.NetworkLoop(at_once, rtt_terms="exact").roots() - root) > 0.5


RING = [("a", "b"), ("b", "c"), ("c", "a"), "a", "b", "c"]


def ring(base_rtt: str) -> pf.Network:
    nodes = [pf.Node(name, pf.Link("12Mbit/s"), pf.Pi2()) for name in "abc"]
    flows = [
        pf.Flows(pf.Reno(), 4 + place, base_rtt, route=route, hops=hops)
        for place, (route, hops) in enumerate(zip(RING, HOPS, strict=True))
    ]  # fmt: skip
    return pf.Network(nodes, flows)


@pytest.mark.slow
@pytest.mark.parametrize(("base_rtt", "stable"), [("70ms", True), ("150ms", False)])
def test_a_ring_has_a_loop(base_rtt: str, stable: bool) -> None:
    """Its equation is neutral; margins, the count and the roots say the same."""
    loop: Any = pf.Loop(ring(base_rtt))
    assert assert_verdicts_agree(loop) == stable
    root = loop.roots()
    values = np.linalg.det(np.eye(3) + loop(root * np.array([1.0, 1.0 + 1e-4])))
    assert abs(values[0]) < 1e-6 * abs(values[1])


def test_what_goes_round_a_ring_dies_out(rng: np.random.Generator) -> None:
    """det(I + F) has no zero on the right: classes that begin at one link each, and cross all."""
    links = 4
    for _ in range(10):
        rates = rng.dirichlet(np.ones(links))
        hops = rng.uniform(0.01, 1.0, (links, links))
        s = 1j * rng.uniform(0, 200, 2000) + rng.exponential(0.5, 2000) * rng.integers(0, 2, 2000)
        F = np.zeros((s.size, links, links), dtype=complex)
        for start in range(links):
            way = [(start + step) % links for step in range(links)]
            times = np.cumsum(hops[start])
            for before, after in itertools.combinations(range(links), 2):
                late = np.exp(-s * (times[after] - times[before]))
                F[:, way[after], way[before]] += rates[start] * late
        assert np.min(np.abs(np.linalg.det(np.eye(links) + F))) > 0.01


@pytest.mark.parametrize("terms", ["frozen", "exact"])
def test_no_entry_is_above_its_bound(two: pf.NetworkLoop, terms: str) -> None:
    for loop in (pf.NetworkLoop(two.network, rtt_terms=terms), pf.NetworkLoop(ring("70ms"))):
        unknown = response_bound(loop.linear, 0.5)
        assert unknown.shape == loop(1j).shape
        assert np.isinf(unknown).all()
        for w in (60.0, 300.0):
            bound = response_bound(loop.linear, w)
            beyond = np.abs(loop(1j * w * np.geomspace(1, 100, 2000)))
            assert np.all(beyond <= bound)
            assert np.all(bound < 4 * np.max(beyond, axis=0) + 0.02)


def test_aliases_are_as_many_as_it_takes(two: pf.NetworkLoop) -> None:
    s = 1j * np.array([0.5, 8.0, 60.0, 97.0])
    linear = pf.NetworkLoop(two.network, update="sampled", rtt_terms="exact").linear
    few, many = sampled_matrix(linear, s), sampled_matrix(linear, s, aliases=1500)
    assert np.max(np.abs(few - many)) < 1e-8
    often = [
        dataclasses.replace(node, aqm=dataclasses.replace(node.aqm, **by(node.aqm, 64.0)))
        for node in two.network.nodes
    ]
    quick = pf.NetworkLoop(
        pf.Network(often, two.network.flows), update="sampled", rtt_terms="exact"
    )
    # with a short interval it is the delayed loop
    assert quick(5j) == pytest.approx(
        pf.NetworkLoop(quick.network, update="delayed", rtt_terms="exact")(5j), rel=1e-5
    )


def by(aqm: Any, times: float) -> dict[str, float]:
    """The same controller in continuous time, with updates so many times as often."""
    return {
        "alpha": aqm.alpha / times,
        "beta": aqm.beta + aqm.alpha / 2 * (1 - 1 / times),
        "update_interval": aqm.update_interval / times,
    }


# --- what is asked of it --------------------------------------------------------------------


@pytest.mark.slow
def test_margins_are_where_the_loop_ends_up_on_its_boundary(two: pf.NetworkLoop) -> None:
    """With all gains scaled by the uniform margin, or those of a link by its own."""

    def scaled(factors: dict[str, float]) -> pf.NetworkLoop:
        nodes = [
            dataclasses.replace(
                node,
                aqm=dataclasses.replace(
                    node.aqm,
                    alpha=node.aqm.alpha * factors.get(node.name, 1.0),
                    beta=node.aqm.beta * factors.get(node.name, 1.0),
                ),
            )
            for node in two.network.nodes
        ]
        return pf.NetworkLoop(pf.Network(nodes, two.network.flows), rtt_terms="exact")

    together = two.margins().gain_margin
    alone = two.close("l0").margins().gain_margin
    for factors in (dict.fromkeys(two.links, together), {"l1": alone}):
        edge = scaled(factors)
        assert edge.margins().sigma_min < 1e-9
        assert edge.margins().verdict == "undecided"
        for factor, count in ((0.99, 0), (1.01, 2)):
            moved = {name: factor * value for name, value in factors.items()}
            assert scaled(moved).nyquist_count() == count


def test_closing_a_link(two: pf.NetworkLoop) -> None:
    s = np.array([2j, 0.3 + 5j])
    one = two.close("l0")
    assert (one.links, one.closed, two.closed) == (("l1",), ("l0",), ())
    full = two(s)
    schur = full[:, 1, 1] - full[:, 1, 0] * full[:, 0, 1] / (1 + full[:, 0, 0])
    assert one(s)[:, 0, 0] == pytest.approx(schur)
    whole = np.linalg.det(np.eye(2) + full)
    assert whole == pytest.approx((1 + schur) * (1 + full[:, 0, 0]))
    assert one.nyquist_count() == two.nyquist_count()
    assert not one.margins().uniform
    assert two.margins().sigma_min <= one.margins().modulus_margin + 1e-12
    assert "closed=('l0',)" in repr(one)


@pytest.mark.slow
def test_python_control_takes_it(two: pf.NetworkLoop) -> None:
    data = two.to_control(w=[1.0, 2.0])
    assert data(2j) == pytest.approx(two(2j))
    with refused(pf.QuantityError, "kind = 'ss' is unknown"):
        two.to_control("ss")


@pytest.mark.slow
def test_sigma_min_is_the_smallest_of_a_fine_grid(two: pf.NetworkLoop) -> None:
    w = np.geomspace(1, 100, 20_000)
    on_grid = np.min(np.linalg.svd(np.eye(2) + two(1j * w), compute_uv=False))
    assert two.margins().sigma_min == pytest.approx(on_grid, rel=1e-7)
    assert two.margins().sigma_min <= on_grid * (1 + 1e-12)
    assert 1 / two.margins().sigma_min == pytest.approx(
        np.max(np.linalg.norm(two.sensitivity(w), 2, axis=(1, 2))), rel=1e-7
    )


def test_eigenloci_are_labelled_and_drawn(two: pf.NetworkLoop) -> None:
    loci = two.eigenloci()
    assert loci.dims == ("locus", "frequency")
    assert np.all(np.abs(np.angle(1j * loci.isel(frequency=0))) < 0.05)  # -90 degrees at first
    steps = np.abs(np.log(loci.to_numpy()[:, 1:] / loci.to_numpy()[:, :-1]))
    assert np.max(steps) < 0.4
    some = two.eigenloci([3.0, 1.0])
    assert some.frequency.to_numpy().tolist() == [1.0, 3.0]
    for w in (1.0, 3.0):
        found = np.sort_complex(some.sel(frequency=w).to_numpy())
        assert found == pytest.approx(np.sort_complex(np.linalg.eigvals(two(1j * w))))
    figure = Figure()
    two.eigenloci(ax=figure.add_subplot())
    names = [line.get_label() for line in figure.axes[0].lines]
    assert names[:3:2] == ["eigenvalue 1", "eigenvalue 2"]
    assert len(two.nyquist(figure.add_subplot())) == 5
    assert two.close("l0").bode([figure.add_subplot(), figure.add_subplot()])


def test_loci_keep_their_columns() -> None:
    """Where eigenvalues come in another order at the next frequency."""
    loop = pf.NetworkLoop(ring("70ms"), rtt_terms="exact")
    loci = loop.eigenloci(np.geomspace(0.01, 300.0, 3000)).to_numpy()
    assert np.max(np.abs(np.log(loci[:, 1:] / loci[:, :-1]))) < 0.4
    orders = np.argsort(np.abs(loci), axis=0)
    assert np.any(orders != orders[:, :1])  # they do change places


def test_it_can_be_copied_sent_and_shown(two: pf.NetworkLoop) -> None:
    for twin in (copy.copy(two), copy.deepcopy(two), pickle.loads(pickle.dumps(two))):
        assert twin.margins().gain_margin == two.margins().gain_margin
    alone = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    assert pickle.loads(pickle.dumps(alone)).margins().gain_margin == alone.margins().gain_margin
    assert repr(two).startswith("NetworkLoop(links=('l0', 'l1'), update='continuous'")
    assert "l0, l1" in two._repr_html_()
    assert "closed" in two.close("l1")._repr_html_()
    assert "all links together" in two.margins()._repr_html_()
    assert "uniform" in str(two.margins())
    assert "uniform" not in str(two.close("l1").margins())


def test_a_link_that_waits_less_than_its_target_is_part_of_the_plant() -> None:
    """Its delay is in round-trip times, and it lets through what it can, but it signals nothing."""
    a = pf.Node("a", pf.Link("12Mbit/s"), pf.Pi2())
    b = pf.Node("b", pf.Link("5.5Mbit/s"), pf.Pi2(target="100ms"))
    flows = [
        pf.Flows(pf.Reno(), 5, "40ms", "long", route=("a", "b")),
        pf.Flows(pf.Reno(), 5, "60ms", "short", route="a"),
    ]
    loop: Any = pf.Loop(pf.Network([a, b], flows), rtt_terms="exact")
    assert loop.operating_point.bottleneck.all()
    assert loop.links == ("a",)
    assert loop.margins().verdict == "stable"
    assert loop.roots().real < 0.0
    # by hand: what passes b is served at C whatever comes, and its delay delays one class
    s = 0.4 + 7j
    point, size = loop.operating_point, 2
    X, Y = np.zeros((size, size), dtype=complex), np.zeros(size, dtype=complex)
    p, W, R, x = (getattr(point, name).to_numpy() for name in ("p", "window", "rtt", "rate"))
    capacity, waits = point.capacity.to_numpy(), point.queue_delay.to_numpy()
    e = np.exp(-s * R)
    slope = 2 * float(point.controller[0])  # of p = p'^2, over p'
    # Reno: W' = 1/R - p_d W W_d/(2 R_d), which is 0 at p W^2 = 2
    D = s + p * W / (2 * R) * (1 + e)
    by_p, by_rtt = -(W**2) / (2 * R) / D, (-1 / R**2 + e * p * W**2 / (2 * R**2)) / D
    from_p, from_rtt = by_p / R, (by_rtt - x) / R
    late = np.exp(-s * waits[0])
    for row, classes, delay in ((0, (0, 1), 1.0), (1, (0,), late)):
        X[row, row] += s * capacity[row]
        for k in classes:
            X[row, [0, 1] if k == 0 else [0]] -= 5 * delay * from_rtt[k]
            Y[row] += 5 * delay * from_p[k] * slope * e[k]
    X[1, 0] += 5 * x[0] * s * late
    aqm = a.aqm
    H = (aqm.alpha / aqm.update_interval + (aqm.beta + aqm.alpha / 2) * s) / s
    assert loop(s)[0, 0] == pytest.approx(-np.linalg.solve(X, Y)[0] * H, rel=1e-10)


# --- what it is not -------------------------------------------------------------------------

TWO_TICKS = beside(RATES, [pf.Pi2(), pf.Pi2(update_interval="16ms")], [APART[0], APART[0]])


@pytest.mark.parametrize(
    ("ask", "error", "sentence"),
    [
        (lambda: pf.Loop(TWO_TICKS, bunch=0.5), pf.UnsupportedError, 'use clock="acks"'),
        (
            lambda: pf.Loop(TWO_TICKS, update="sampled"),
            pf.UnsupportedError,
            "32 ms at 'a', 16 ms at 'b': give all the same, or use update=\"delayed\"",
        ),
        (lambda: pf.Loop(TWO_TICKS, transport="pigeon"), pf.QuantityError, "transport = 'pigeon'"),
        (lambda: pf.Loop(TWO_TICKS, update="never"), pf.QuantityError, "update = 'never'"),
        (lambda: pf.Loop(TWO_TICKS, mode="sampled"), pf.QuantityError, "is now called update"),
        (lambda: pf.Loop(TWO_TICKS, pf.Pi2()), pf.ScenarioError, "is given beside a network"),
        (lambda: pf.Loop(TWO_TICKS, rtt="9ms"), pf.ScenarioError, "rtt = '9ms' goes with a single"),
        (lambda: pf.NetworkLoop(APART), pf.ScenarioError, "is no Network: give"),
        (
            lambda: pf.Loop(beside(RATES, [pf.Pi2(), pf.DualPi2()], APART)),
            pf.UnsupportedError,
            "DualPi2 marks L4S traffic alone by a step",
        ),
        (
            lambda: pf.Loop(beside(RATES, [pf.TailDrop(), pf.Pi2()], APART)),
            pf.UnsupportedError,
            "TailDrop only loses what its buffer cannot hold",
        ),
        (
            lambda: pf.Loop(
                pf.Network(
                    [pf.Node(name, pf.Link("12Mbit/s"), pf.Pi2()) for name in "ab"],
                    pf.Flows(pf.Reno(), 10, "60ms", route=("a", "b")),
                )
            ),
            pf.UnsupportedError,
            "what the bottlenecks 'a', 'b' signal is not unique",
        ),
        (
            lambda: pf.Loop(
                beside(RATES, [pf.Pi2(), pf.Pi2()], [APART[0], pf.Flows(pf.Cbr(rate="40Mbit/s"))])
            ),
            pf.UnsupportedError,
            "thinned = True lets p act on the queue at once",
        ),
    ],
)  # fmt: skip
def test_what_has_no_matrix_loop_is_refused(ask, error, sentence) -> None:
    with refused(error, match=sentence):
        ask()


@pytest.mark.parametrize(
    ("ask", "error", "sentence"),
    [
        (lambda loop: loop(0.0), pf.DomainError, "s must be finite and not 0"),
        (lambda loop: loop.roots(0), pf.DomainError, "n = 0 roots were asked for"),
        (lambda loop: loop.close("c"), pf.ScenarioError, "link 'c' has no open loop here: give"),
        (lambda loop: loop.close(*loop.links), pf.ScenarioError, "leaves no link open"),
        (lambda loop: loop.eigenloci([-1.0]), pf.DomainError, "are not all positive: give rad/s"),
        (lambda loop: loop.bode(), pf.UnsupportedError, r"close all but one, e.g. close\('l1'\)"),
        (lambda loop: loop.disk_margin(), pf.UnsupportedError, "disk_margin is of one loop, and"),
        (lambda loop: loop.bandwidth(), pf.UnsupportedError, r"look at sensitivity\(w\)"),
        (lambda loop: loop.step(1.0), pf.UnsupportedError, r"use roots\(n\) for how it settles"),
        (lambda loop: loop.echo(), pf.UnsupportedError, "build the Loop of the dual queue alone"),
        (lambda loop: loop.explain(), pf.UnsupportedError, "look at linear, its matrices"),
        (lambda loop: loop.sweep(), pf.UnsupportedError, "build one loop for each value"),
    ],
)
def test_what_a_matrix_has_no_answer_to_is_refused(two, ask, error, sentence) -> None:
    with refused(error, match=sentence):
        ask(two)
    sampled = pf.NetworkLoop(two.network, update="sampled")
    with refused(pf.UnsupportedError, "this loop is not stable, and a disk margin is of a stable"):
        pf.NetworkLoop(network_of("two_links_low_load")).close("l0").disk_margin()
    with refused(pf.UnsupportedError, 'use update="delayed", or nyquist_count()'):
        sampled.roots()
