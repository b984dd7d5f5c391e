"""Loops of several links by acknowledgements: one queue, the fluid, and the ends of margins."""

from __future__ import annotations

import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.loop.acks import without_echoes
from pi2_fluid.loop.matrix.acks.response import exchange_determinant, plant_matrix
from pi2_fluid.loop.matrix.acks.sampled import sampled_matrix
from pi2_fluid.loop.sampled import sampled_response


def parking(at: str = "dequeue", **of_queues: Any) -> pf.Network:
    """Two bottlenecks, one class over both and one over each, and what nothing clocks."""
    nodes = [
        pf.Node("a", pf.Link("30Mbit/s", 40000), pf.Pi2(drop_at=at, **of_queues)),
        pf.Node("b", pf.Link("24Mbit/s", 40000), pf.CoupledPi2(**of_queues)),
        pf.Node("c", pf.Link("10Gbit/s", 40000), pf.Pi2()),
    ]
    flows = [
        pf.Flows(pf.Reno(), 6, "80ms", "long", route=("a", "c", "b"), hops=("5ms", "8ms", "2ms")),
        pf.Flows(pf.Cubic(), 5, "40ms", "near", route="a", hops="4ms"),
        pf.Flows(pf.Scalable(), 8, "60ms", "far", route=("b", "c"), hops=("12ms", "3ms")),
        pf.Flows(pf.Cbr(rate="1Mbit/s", thinned=False), name="video", route=("a", "b")),
    ]
    return pf.Network(nodes, flows)


# --- one queue -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")
@pytest.mark.parametrize("update", ["continuous", "sampled"])
def test_narrow_resonances_of_paths_far_apart_are_found(update: str) -> None:
    """1 and 400 ms: below the first harmonic of the longer path, 0.01 rad/s wide."""
    near, far = (pf.Flows(pf.Reno(), 10, path, path) for path in ("1ms", "400ms"))
    model = {"clock": "acks", "update": update}
    one = pf.Loop([near, far], pf.Pi2(), capacity="100Mbit/s", **model)
    nodes = [pf.Node("in", pf.Link("1Gbit/s"), pf.Pi2())]
    nodes.append(pf.Node("out", pf.Link("100Mbit/s"), pf.Pi2()))
    ways = [
        dataclasses.replace(near, route=("in", "out"), hops=("0.1ms", "0.1ms")),
        dataclasses.replace(far, route="out", hops="40ms"),
    ]
    two = pf.Loop(pf.Network(nodes, ways), **model)
    assert one.nyquist_count() == two.nyquist_count() == 2
    assert two.margins().gain_margin_db == pytest.approx(one.margins().gain_margin_db, rel=1e-6)


ONE = [
    pf.Flows(pf.Reno(), 10, "60ms"),
    pf.Flows(pf.Cubic(), 5, "35ms"),
    pf.Flows(pf.Cbr(rate="2Mbit/s", thinned=False)),
]


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
@pytest.mark.parametrize(
    ("aqm", "flows", "options"),
    [
        (pf.Pi2(), ONE, {}),
        (pf.Pi2(drop_at="dequeue"), ONE[:1], {"rtt_terms": "exact"}),
        (pf.Pi2(variant="pi2-2016"), ONE, {"rtt_terms": "exact", "bunch": 0.5}),
        (pf.CoupledPi2(), [*ONE[:1], pf.Flows(pf.Dctcp(law="renewal"), 4, "50ms")], {}),
        (pf.Pie(), [pf.Flows(pf.Reno(), 9, "60ms"), pf.Flows(pf.CReno(), 9, "60ms")], {}),
        (pf.Pi2(), [pf.Flows(pf.Scalable(), 10, "30ms")], {}),
    ],
)
def test_one_node_is_the_loop_of_one_queue(aqm: Any, flows: Any, options: Any, update: str) -> None:
    # Written apart, as a matrix: entry, margins and modes.
    network = pf.Network(pf.Node("only", pf.Link("24Mbit/s"), aqm), flows)
    model: Any = {"clock": "acks", "update": update, **options}
    one, matrix = pf.Loop(network, **model), pf.NetworkLoop(network, **model)
    s = 1j * np.geomspace(0.01, 90.0, 50)
    np.testing.assert_allclose(matrix(s)[:, 0, 0], one(s), rtol=1e-10)
    for name in ("gain_margin_db", "phase_margin_deg", "delay_margin", "gain_crossover"):
        mine, other = (getattr(loop.margins(), name) for loop in (matrix, one))
        assert mine == pytest.approx(other, rel=1e-8), name
    assert matrix.nyquist_count() == one.nyquist_count()


@pytest.mark.parametrize("update", ["continuous", "sampled"])
def test_two_links_of_which_one_is_no_bottleneck_are_the_other_alone(update: str) -> None:
    aqm = pf.Pi2()
    alone = pf.Network(pf.Node("narrow", pf.Link("24Mbit/s"), aqm), ONE)
    nodes = [pf.Node("wide", pf.Link("1Gbit/s"), aqm), *alone.nodes]
    for route in (("wide", "narrow"), ("narrow", "wide")):
        routed = [dataclasses.replace(flow, route=route) for flow in ONE]
        routed[0] = dataclasses.replace(routed[0], hops=("7ms", "11ms"))
        both = pf.NetworkLoop(pf.Network(nodes, routed), clock="acks", update=update)
        one = pf.Loop(alone, clock="acks", update=update)
        assert both.links == ("narrow",)
        s = 1j * np.geomspace(0.01, 90.0, 50)
        # Of one queue it does not matter where on a class's way it lies.
        np.testing.assert_allclose(both(s)[:, 0, 0], one(s), rtol=1e-10)


class Backlog(pf.DualPi2):
    """A dual queue whose controller acts on the backlog over what the queue is served."""

    measures = "backlog"


@pytest.mark.parametrize("terms", ["frozen", "exact"])
@pytest.mark.parametrize("aqm", [pf.DualPi2(), pf.DualPi2(drop_at="enqueue"), Backlog()])
def test_one_dual_node_is_the_loop_of_one_dual_queue(aqm: Any, terms: str) -> None:
    flows = [*ONE, pf.Flows(pf.Scalable(), 5, "30ms"), pf.Flows(pf.Prague(), 2, "50ms")]
    network = pf.Network(pf.Node("only", pf.Link("40Mbit/s"), aqm), flows)
    model: Any = {"clock": "acks", "update": "sampled", "rtt_terms": terms}
    one, matrix = pf.Loop(network, **model), pf.NetworkLoop(network, **model)
    without = without_echoes(one.linear)
    assert matrix.linear_acks.reach == pytest.approx(without.reach)
    s = 1j * np.geomspace(0.01, 60.0, 50)
    np.testing.assert_allclose(matrix(s)[:, 0, 0], sampled_response(without, s), rtol=1e-10)
    for name in ("gain_margin_db", "phase_margin_deg", "delay_margin", "gain_crossover"):
        mine, other = (getattr(loop.margins(), name) for loop in (matrix, one))
        assert mine == pytest.approx(other, rel=1e-8), name
    assert matrix.nyquist_count() == one.nyquist_count()


# --- several queues ------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Given(pf.CoupledPi2):
    """A queue whose p' is given: what a cosine is in the middle of each interval."""

    mean: float
    wave: tuple[float, float]

    def update(self, state: Any, seen: Any, dt: Any) -> Any:
        size, w = self.wave
        return self.mean * (1.0 + size * math.cos(w * (state[1] + 1.5) * dt)), state[1] + 1.0

    def at_rest(self, u: Any, capacity: Any) -> Any:
        return (u, 0.0), self.target


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class GivenDual(pf.DualPi2):
    """A dual queue whose p' is given."""

    mean: float
    wave: tuple[float, float]

    update = Given.update

    def at_rest(self, u: Any, capacity: Any) -> Any:
        return (u, 0.0), (self.target, 0.0)


def dual_parking() -> pf.Network:
    """Two dual bottlenecks, which both kinds cross together and alone, and a single one."""
    nodes = [
        pf.Node("a", pf.Link("30Mbit/s", 40000), pf.DualPi2(update_interval="1ms")),
        pf.Node("b", pf.Link("24Mbit/s", 40000), pf.DualPi2(update_interval="1ms")),
        pf.Node("c", pf.Link("10Gbit/s", 40000), pf.Pi2(update_interval="1ms")),
    ]
    hops = {"hops": ("5ms", "8ms", "2ms")}
    flows = [
        pf.Flows(pf.Reno(), 6, "80ms", "long", route=("a", "c", "b"), **hops),
        pf.Flows(pf.Cubic(), 5, "40ms", "near", route="a", hops="4ms"),
        pf.Flows(pf.Reno(), 8, "60ms", "far", route=("b", "c"), hops=("12ms", "3ms")),
        pf.Flows(pf.Scalable(), 2, "50ms", "l4s", route=("b", "a"), hops=("2ms", "9ms")),
        pf.Flows(pf.Scalable(), 1, "30ms", "l4s near", route="a", hops="1ms"),
    ]
    return pf.Network(nodes, flows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at", "moved", "w"),
    [  # each node with each kind of queue, slow and fast, but not all with all
        ("dequeue", "a", 3.0),
        ("dequeue", "b", 12.0),
        ("dequeue", "a", 31.0),
        ("enqueue", "a", 3.0),
        ("enqueue", "b", 31.0),
        ("dual", "b", 12.0),
        ("dual", "a", 31.0),
        ("dual", "b", 31.0),
    ],
)
def test_small_oscillations_of_the_fluid_are_those_of_the_loop(
    at: str, moved: str, w: float
) -> None:
    # Both queues answer to a p' that varies at one of them by a ten-thousandth.
    size = 1e-4
    network = dual_parking() if at == "dual" else parking(at, update_interval="1ms")
    rest = pf.equilibrium(network)
    controller = dict(zip("abc", map(float, rest.controller), strict=True))
    nodes = [
        dataclasses.replace(
            node,
            aqm=(GivenDual if node.aqm.bands > 1 else Given)(
                mean=controller[node.name],
                wave=(size if node.name == moved else 0.0, w),
                drop_at=node.aqm.drop_at,  # type: ignore[attr-defined]
                target=node.aqm.target,  # type: ignore[attr-defined]
                update_interval="1ms",
            ),
        )
        for node in network.nodes
    ]
    initial = {
        "window": [float(window) for window in rest.window],
        "queue": dict(zip("abc", map(float, rest.queue), strict=True)),
        "controller": controller,
    }
    scenario = pf.Scenario("9s", network=pf.Network(nodes, network.flows))
    result = pf.fluid.simulate(scenario, clock="acks", initial=initial, sample="2ms")
    result = result.sel(time=slice(5, 9), link=["a", "b"])
    if "band" in result.dims:
        assert float(result.queue_delay.sel(band="L").max()) == 0.0
        result = result.sel(band="C")
    t = result.time.to_numpy()
    waves = [np.exp(1j * w * t), np.exp(-1j * w * t), np.ones(t.size), t - 7.0, (t - 7.0) ** 2]
    fitted = np.linalg.lstsq(np.column_stack(waves), result.queue_delay.to_numpy(), rcond=None)[0]
    answers = 2.0 * fitted[0] / (controller[moved] * size)
    loop = pf.Loop(network, clock="acks", rtt_terms="exact").linear_acks
    heads = dataclasses.replace(loop, heads=np.array([True, True]))  # which the fluid reports
    model = -plant_matrix(heads, np.array([1j * w]))[0][:, "ab".index(moved)]
    # The grid of the fluid is 1 ms, its error some 1e-5 of what oscillates.
    np.testing.assert_allclose(answers, model, rtol=5e-4)


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
@pytest.mark.parametrize("terms", ["frozen", "exact"])
def test_modes_are_counted_where_margins_end(update: str, terms: str) -> None:
    options: Any = {"clock": "acks", "update": update, "rtt_terms": terms}
    margins = pf.Loop(parking(), **options).margins()
    assert margins.uniform
    assert margins.gain_margin > 1.0
    for part, modes in ((0.98, 0), (1.02, 2)):
        more = part * margins.gain_margin
        nodes = [
            dataclasses.replace(
                node,
                aqm=dataclasses.replace(
                    node.aqm,
                    alpha=more * node.aqm.alpha,  # type: ignore[attr-defined]
                    beta=more * node.aqm.beta,  # type: ignore[attr-defined]
                ),
            )
            for node in parking().nodes
        ]
        loop = pf.Loop(pf.Network(nodes, parking().flows), **options)
        assert loop.nyquist_count() == modes
        assert loop.margins().gain_margin == pytest.approx(1.0 / part, rel=1e-6)
        assert loop.margins().verdict == ("unstable" if modes else "stable")


@pytest.mark.slow
def test_the_fluid_oscillates_beyond_the_margin_and_not_before() -> None:
    margins = pf.Loop(parking(), clock="acks", update="sampled", rtt_terms="exact").margins()
    sizes = []
    for part in (0.9, 1.1):
        more = part * margins.gain_margin
        nodes = [
            dataclasses.replace(
                node,
                aqm=dataclasses.replace(
                    node.aqm,
                    alpha=more * node.aqm.alpha,  # type: ignore[attr-defined]
                    beta=more * node.aqm.beta,  # type: ignore[attr-defined]
                ),
            )
            for node in parking().nodes
        ]
        network = pf.Network(nodes, parking().flows)
        kick = pf.Change("0.5s", capacity=23.99e6, link="b")
        scenario = pf.Scenario("16s", network=network, changes=kick)
        initial = pf.equilibrium(network)
        result = pf.fluid.simulate(scenario, clock="acks", initial=initial, step="2ms")
        delay = result.queue_delay.sel(link="b")
        first, last = (float(delay.sel(time=slice(*when)).std()) for when in ((2, 5), (13, 16)))
        sizes.append(last / first)
    assert sizes[0] < 0.5
    assert sizes[1] > 2.0


@pytest.mark.parametrize("update", ["continuous", "sampled"])
@pytest.mark.parametrize("less", [1e-3, 1e-6])
def test_a_mode_that_grows_slowly_is_counted_as_of_one_queue(update: str, less: float) -> None:
    """A gain just above the boundary: 1e-6 of it lets a mode grow by some 1e-6 a round trip.

    Networks took for stable what grew by less than 1e-3, and its next margin for the smallest.
    """

    def both(gain: float) -> tuple[pf.NetworkLoop, pf.Loop]:
        queue = pf.Pi2(alpha=0.125 * gain, beta=1.25 * gain)
        node = pf.Node("a", pf.Link("20Mbit/s"), queue)
        flows = pf.Flows(pf.Reno(), 11, "60ms")
        model: dict[str, Any] = {"clock": "acks", "update": update}
        network = pf.NetworkLoop(pf.Network(node, flows), **model)
        return network, pf.Loop(flows, queue, capacity="20Mbit/s", **model)

    boundary = float(both(1.0)[1].margins().gain_margin)
    for part, growing in ((1.0 - less, 0), (1.0 + less, 2)):
        for loop in both(boundary * part):
            assert loop.nyquist_count() == growing
            margin = float(loop.margins().gain_margin_db)
            assert margin == pytest.approx(-20.0 * np.log10(part), rel=1e-3)


def test_what_classes_exchange_does_not_grow_by_itself() -> None:
    # Of one queue 1 + B is at least 1/2 on the right; of several nothing is known but what counts.
    loop = pf.Loop(parking(), clock="acks").linear_acks
    real = exchange_determinant(loop, np.geomspace(1e-3, 1e3, 50).astype(complex))
    assert np.abs(real.imag).max() < 1e-9 * np.abs(real).max()
    assert real.real.min() > 0.5
    far = exchange_determinant(loop, np.array([1e5 + 30j]))
    assert far[0] == pytest.approx(1.0, abs=1e-9)


def test_one_link_alone_closes_the_others() -> None:
    loop = pf.Loop(parking(), clock="acks")
    s = np.array([2j, 9j])
    whole, left = loop(s), loop.close("b")(s)
    expected = whole[:, 0, 0] - whole[:, 0, 1] * whole[:, 1, 0] / (1.0 + whole[:, 1, 1])
    np.testing.assert_allclose(left[:, 0, 0], expected, rtol=1e-12)
    assert loop.close("b").nyquist_count() == loop.nyquist_count() == 0
    assert loop.close("b").margins().gain_margin > 1.0


def test_more_aliases_change_nothing_that_matters() -> None:
    loop = pf.Loop(parking(), clock="acks", update="sampled").linear_acks
    s = 1j * np.array([1.0, 10.0, 40.0])
    usual, many = sampled_matrix(loop, s), sampled_matrix(loop, s, 1500)
    # Margins are distances from -1; what is left is 2e-6 below the crossovers, 1e-5 above.
    assert np.abs(usual - many).max() < 2e-5
    assert np.abs(usual[:2] - many[:2]).max() < 4e-6


def test_a_loop_is_written_and_copied() -> None:
    loop = pf.Loop(parking(), clock="acks", bunch=0.5, update="delayed")
    assert "clock='acks', bunch=0.5" in repr(loop)
    again = pickle.loads(pickle.dumps(loop))
    np.testing.assert_array_equal(again(3j), loop(3j))
    swept = pf.sweep(loop, over={"flows.0.count": [6, 12]})
    assert float(swept.gain_margin_db[0]) == pytest.approx(loop.margins().gain_margin_db, rel=1e-9)


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: pf.Loop(parking(), clock="acks", transport="delay"), 'use transport="fifo"'),
        (lambda: pf.Loop(parking(), clock="acks").roots(1), "use nyquist_count() and margins()"),
        (lambda: pf.Loop(parking(), clock="acks").delay_sd(), "by rates alone"),
        (
            lambda: pf.Loop(
                pf.Network(
                    pf.Node("p", pf.Link("9Mbit/s"), pf.Price()), pf.Flows(pf.Paganini(), 3, "80ms")
                ),
                clock="acks",
            ),
            "Price at node 'p' acts on what arrives",
        ),
        (
            lambda: pf.NetworkLoop(
                pf.Network(
                    pf.Node("n", pf.Link("20Mbit/s"), pf.DualPi2(ramp="2ms", step="2ms")),
                    pf.Flows(pf.Scalable(), 5, "30ms"),
                ),
                clock="acks",
            ),
            "L4S packets wait at node 'n'",
        ),
        (
            lambda: pf.NetworkLoop(
                pf.Network(
                    pf.Node("n", pf.Link("9Mbit/s"), pf.CoupledPi2()),
                    pf.Flows(pf.Dctcp(), 3, "80ms"),
                ),
                clock="acks",
            ),
            'use law="renewal"',
        ),
    ],
)
def test_what_it_does_not_do_is_said(ask: Any, sentence: str) -> None:
    with refused(pf.UnsupportedError, sentence):
        ask()
