"""The compiled search for crossovers against its readable twin, and against roots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid import _core
from pi2_fluid.loop.compiled import compile_loops
from pi2_fluid.loop.crossovers import find_crossings, smallest_distance
from pi2_fluid.loop.roots import count_unstable
from pi2_fluid.loop.searching import search_of, searched_margins
from pi2_fluid.loop.state_space import LinearClass, LinearController, LinearLoop
from pi2_fluid.loop.updates import UPDATES, respond

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")

TERMS = ("frozen", "exact")


def of_one_class(rng, sender, size, **kind):
    """Loops of one class: fast and slow ones, stable and wild ones."""
    classic = sender.signal == "classic"
    alpha = 10 ** rng.uniform(-2.5, 0.3, size)
    aqm = (pf.Pi2 if classic else pf.Pi)(
        alpha=alpha,
        beta=alpha * 10 ** rng.uniform(-0.3, 1.6, size),
        update_interval=10 ** rng.uniform(-2.5, -0.7, size),
    )
    load = {"rtt": 10 ** rng.uniform(-2.3, -0.3, size), "p_prime": 10 ** rng.uniform(-4, 0, size)}
    return pf.Loop(sender, aqm, **load, **kind).linear


def of_several(rng, size, **kind):
    """Mixtures of three classes, two round-trip times apart by up to ten."""
    rtt = 10 ** rng.uniform(-1.7, -0.7, size)
    flows = [
        pf.Flows(pf.Reno(), rng.uniform(2, 12), rtt),
        pf.Flows(pf.Scalable(), rng.uniform(2, 12), rtt * 10 ** rng.uniform(-0.7, 0.0)),
        pf.Flows(pf.CReno(), rng.uniform(2, 12), rtt),
    ]
    alpha = 10 ** rng.uniform(-2.0, 0.0, size)
    interval = 10 ** rng.uniform(-2.3, -1.0, size)
    aqm = pf.CoupledPi2(alpha=alpha, beta=10 * alpha, update_interval=interval, target="5ms")
    return pf.Loop(flows, aqm, capacity="100Mbit/s", **kind).linear


def ringing(size, gains, interval):
    """Loops whose window and queue swing against one another at 20 rad/s, hardly damped."""
    one = np.ones(size)
    cls = LinearClass(
        a0=-0.4 * one, a1=0.0 * one, b=-400.0 * one, e0=-400.0 * one, e1=0.0 * one, c=one,
        r=-0.4 * one, weight=one, rtt=0.1 * one, size=1,
    )  # fmt: skip
    numerator = (11.0 * gains, -10.0 * gains)
    return LinearLoop((cls,), LinearController(numerator, (one, -one), interval * one), (size,))


def compare(loop: LinearLoop, update: str) -> int:
    """Ask both everything; return how many loops have several gain crossovers."""
    every = np.ones(loop.shape, dtype=bool)
    compiled = compile_loops(loop, update, every)
    assert compiled is not None
    margins, distances, counts = (
        ask(lambda _: None) for ask in (compiled.margins, compiled.distances, compiled.counts)
    )
    several = 0
    for index in range(loop.shape[0]):
        one = loop.element((index,))
        crossings = find_crossings(one, update)
        count = count_unstable(one, update)
        several += len(crossings.gain) > 1
        expected = searched_margins(one, update, crossings, count)
        found = margins[:, index]
        # roots are good to 1e-14; the phase turns by thousands of degrees on wild loops
        np.testing.assert_allclose(found[0], expected[0], atol=1e-9, rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], atol=1e-8, rtol=1e-11)
        np.testing.assert_allclose(found[2:4], expected[2:4], rtol=1e-11)
        np.testing.assert_allclose(found[4], expected[4], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found[5], expected[5], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(found[6], expected[6])
        assert counts[0, index] == count
        distance = smallest_distance(one, update, crossings)
        assert distances[0, index] == pytest.approx(distance, abs=1e-9)
    return several


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("terms", TERMS)
def test_a_few_loops_are_those_of_the_twin(rng, update, terms):
    sender = {"frozen": pf.Reno(), "exact": pf.Scalable()}[terms]
    compare(of_one_class(rng, sender, 4, update=update, rtt_terms=terms), update)
    compare(of_several(rng, 2, update=update, rtt_terms=terms), update)


@pytest.mark.slow
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("terms", TERMS)
def test_many_loops_are_those_of_the_twin(rng, update, terms):
    for sender in (pf.Reno(), pf.Scalable()):  # CReno is Reno with another number
        compare(of_one_class(rng, sender, 130, update=update, rtt_terms=terms), update)
    compare(of_several(rng, 60, update=update, rtt_terms=terms), update)


@pytest.mark.parametrize("update", UPDATES)
def test_all_crossings_of_loops_that_ring_are_found(update):
    """The gain falls below 1, rises above it at the peak, and falls again; some are stable so."""
    loop = ringing(8, np.geomspace(3e-4, 0.03, 8), 0.016)
    assert compare(loop, update) >= 4


@pytest.mark.parametrize("update", UPDATES)
def test_a_peak_that_just_touches_is_not_missed(update):
    """Two gain crossovers closer together than the grid: the delay margin is at one of them."""
    loud = ringing(1, np.array([1e-3]), 0.016)
    w = np.linspace(19.9, 20.1, 100_001)
    top = np.max(np.abs(respond(loud.element((0,)), 1j * w, update)))
    gains = 1e-3 / top * np.array([1.0 + 1e-7, 1.0 - 1e-5])
    found = search_of(ringing(2, gains, 0.016), update).margins(np.ones(2, dtype=bool))
    once, never = found[4]
    assert 0.0 < once < 2 * np.pi / 20 < 1.0 < never


@pytest.mark.slow
def test_loops_that_act_on_every_packet_and_one_with_a_lead(rng):
    """RED's slow average and its packet by packet; a class that takes the link from the queue."""
    for aqm in (pf.Red(min=5, max=50), pf.Red(min=5, max=50, weight=1e-4)):
        flows = [pf.Flows(pf.Reno(), n, "50ms") for n in (5, 8)]
        loop = pf.Loop(flows, aqm, capacity=np.linspace(3e7, 5e7, 20)).linear
        compare(loop, "continuous")
    for update in UPDATES:
        loop = of_several(rng, 20, update=update)
        first, *others = loop.classes
        zero = np.zeros(loop.shape)
        ahead = replace(first, lead=0.02 + zero, e0=zero, e1=zero, r=zero)
        compare(LinearLoop((ahead, *others), loop.controller, loop.shape), update)


@pytest.mark.parametrize("terms", TERMS)
def test_signs_of_margins_meet_stability_where_roots_do(rng, terms):
    """At the gain margin a root of a delayed loop crosses the axis, and a mode of a sampled one."""
    loop = of_one_class(rng, pf.Reno(), 6, update="delayed", rtt_terms=terms)
    every = np.ones(6, dtype=bool)
    for update in ("delayed", "sampled"):
        gain = 10 ** (search_of(loop, update).margins(every)[0] / 20.0)
        for factor, stable in ((0.99, True), (1.01, False)):
            top = tuple(value * gain * factor for value in loop.controller.numerator)
            scaled = replace(loop, controller=replace(loop.controller, numerator=top))
            search = search_of(scaled, update)
            once = search.margins(every)[0] * (1.0 if stable else -1.0)
            if update == "delayed":
                roots = [rightmost(scaled.element((index,))) for index in range(6)]
                assert [(root < 0.0) == stable for root in roots] == [True] * 6
            counts = search.counts(every)
            assert np.all((counts == 0) == stable), (update, factor, counts)
            assert np.all(once > 0.0)


def rightmost(loop):
    """Real part of the rightmost root of a delayed loop."""
    from pi2_fluid.loop.roots import rightmost_roots

    return rightmost_roots(loop, "delayed", 1)[0].real


def test_instruction_sets_agree(rng):
    for update in ("sampled", "delayed"):
        loop = of_several(rng, 5, update=update)
        every = np.ones(5, dtype=bool)
        known = search_of(loop, update).margins(every)
        for simd in _core.simd_levels():
            compiled = compile_loops(loop, update, every, simd)
            assert compiled is not None
            np.testing.assert_allclose(compiled.margins(lambda _: None), known, rtol=1e-10)


def test_what_cannot_be_followed_is_left_to_the_twin():
    """Whose sentence says why."""
    wild = pf.Pi2(alpha=1e12, beta=1e13)
    loop = pf.Loop(pf.Reno(), wild, rtt=1.0, p_prime=0.1, update="delayed", rtt_terms="exact")
    with pytest.raises(pf.SolverError, match="too often to follow"):
        loop.margins()


@pytest.mark.parametrize("update", UPDATES)
def test_senders_of_several_states(rng, update):
    """Cubic of four, Prague of two beside Reno of one, with exact round-trip times."""
    rtt = 10 ** rng.uniform(-1.7, -0.7, 3)
    kind = {"update": update, "rtt_terms": "exact"}
    compare(pf.Loop(pf.Cubic(), pf.Pi2(), rtt=rtt, p=0.03, **kind).linear, update)
    flows = [pf.Flows(pf.Prague(), 4, rtt), pf.Flows(pf.Reno(), 4, 1.7 * rtt)]
    loop = pf.Loop(flows, pf.CoupledPi2(target="5ms"), capacity="100Mbit/s", **kind)
    compare(loop.linear, update)


@pytest.mark.parametrize("update", UPDATES)
def test_dual_queues(rng, update):
    """Whose L4S flows take the link from the Classic queue: they lead."""
    rtt = 10 ** rng.uniform(-1.7, -0.7, 3)
    flows = [pf.Flows(pf.Reno(), 5, rtt), pf.Flows(pf.Dctcp(), 5, 0.8 * rtt)]
    loop = pf.Loop(flows, pf.DualPi2(), capacity="100Mbit/s", update=update).linear
    assert any(cls.lead is not None for cls in loop.classes)
    compare(loop, update)


@pytest.mark.parametrize(("gain", "growing"), [(0.3, 1), (-0.3, 3)])
def test_a_sender_that_swings_by_itself_at_a_frequency_looked_at(gain, growing):
    """Its determinant is 0 at 80 rad/s, where the search for the end of the grid begins."""
    one, none = np.ones(1), np.zeros((1, 2))
    shown, matrix = np.array([[0.0, 1.0]]), np.array([[[0.0, 1.0], [-6400.0, 0.0]]])
    sender = {"a0": matrix, "a1": 0.0 * matrix, "b": -gain * shown, "e0": none, "e1": none}
    cls = LinearClass(**sender, c=shown, r=-one, weight=one, rtt=0.125 * one, size=2)
    loop = LinearLoop((cls,), LinearController((one, 0.1 * one), (0.0 * one, one), None), (1,))
    compiled = compile_loops(loop, "continuous", np.ones(1, dtype=bool))
    assert compiled is not None
    assert compiled.counts(lambda _: None).item() == growing
    assert count_unstable(loop.element((0,)), "continuous") == growing


def test_columns_of_other_lengths_are_refused():
    one, two = np.ones(1), np.ones(2)
    numbers = ("r", "weight", "rtt", "lead", "rates", "heard", "shown", "felt")
    terms = dict.fromkeys(("own", "signal", "delay"), np.ones((4, 1)))
    whole = dict.fromkeys(("integrators", "settles", "aliases"), np.ones(1, int))
    whole |= {"update": "sampled"}
    plain = {"unit": one, "interval": one, "slow": one, "top": one[None], "bottom": one[None]}
    cls = dict.fromkeys(numbers, one) | terms
    _core.LinearLoops([cls], [], **plain, **whole)
    with pytest.raises(ValueError, match="r has 2 numbers for 1 loops"):
        _core.LinearLoops([cls | {"r": two}], [], **plain, **whole)
    with pytest.raises(ValueError, match=r"takes \(n \+ 1\)\^2 coefficients"):
        _core.LinearLoops([cls | {"own": np.ones((5, 1))}], [], **plain, **whole)
    with pytest.raises(ValueError, match="delay must have a row for each term"):
        _core.LinearLoops([cls | {"delay": np.ones((9, 1))}], [], **plain, **whole)
    with pytest.raises(ValueError, match="there must be a class"):
        _core.LinearLoops([], [], **plain, **whole)
    with pytest.raises(ValueError, match="a column for each loop"):
        _core.LinearLoops([cls], [], **plain | {"top": two[None]}, **whole)
    with pytest.raises(ValueError, match="interval must be positive"):
        _core.LinearLoops([cls], [], **plain | {"interval": -one}, **whole)
    with pytest.raises(ValueError, match="first and last are outside"):
        _core.LinearLoops([cls], [], **plain, **whole).margins(0, 2)
