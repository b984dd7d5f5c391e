"""Several classes of flows as one scalar loop."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
import pytest
from own_laws import HalfPerMark, Smoothed

import pi2_fluid as pf
from pi2_fluid.loop import equations

pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")


def mixture(answer, terms="frozen", update="continuous"):
    x = answer["inputs"]
    flows = []
    for row in x["classes"]:
        sender = pf.Scalable() if row["law"] == "scalable" else pf.Reno(decrease=row["b"])
        flows.append(pf.Flows(sender, row["N"], row["base_rtt"]))
    aqm = pf.CoupledPi2(
        alpha=x["alpha"], beta=x["beta"], update_interval=x["T"], target=x["tau0"], k=2.0
    )
    return pf.Loop(flows, aqm, capacity=12000 * x["C"], rtt_terms=terms, update=update)


@pytest.mark.parametrize("name", ["mixture_A", "mixture_B", "mixture_C"])
@pytest.mark.parametrize("terms", ["frozen", "exact"])
def test_known_mixtures(known, name, terms):
    answer = known[name]
    expected = answer["expected"]
    loop = mixture(answer, terms)
    margins = loop.margins()
    point = loop.operating_point
    assert point.controller == pytest.approx(expected["p_prime"], rel=1e-11)
    assert point.window == pytest.approx(expected["W"], rel=1e-11)
    assert point.share == pytest.approx(expected["share"], rel=1e-11)
    assert margins.gain_margin_db == pytest.approx(expected[f"gm_{terms}"], abs=1e-9)
    assert margins.phase_margin_deg == pytest.approx(expected[f"pm_{terms}"], abs=1e-9)
    assert margins.verdict == "stable"
    # the tabulated root is the rightmost oscillating one; a real root may lie to its right
    root = complex(*expected[f"root_{terms}"])
    assert np.min(np.abs(loop.roots(4) - root)) < 1e-9
    np.testing.assert_allclose(loop(loop.roots(4)), -1.0, atol=1e-7)


def test_formula_for_mixtures(rng):
    """L(s) as a rate-weighted sum written out by hand, for random mixtures of three classes."""
    for _ in range(10):
        flows = [
            pf.Flows(pf.Reno(), rng.uniform(1, 20), rng.uniform(0.01, 0.1)),
            pf.Flows(pf.CReno(), rng.uniform(1, 20), rng.uniform(0.01, 0.1)),
            pf.Flows(pf.Scalable(), rng.uniform(1, 20), rng.uniform(0.01, 0.1)),
        ]
        aqm = pf.CoupledPi2(alpha=0.2, beta=2.5, update_interval=0.02, target=0.015)
        loop = pf.Loop(flows, aqm, capacity="120Mbit/s", rtt_terms="exact")
        u = loop.operating_point.controller
        s = rng.normal(size=8) + 1j * 10 ** rng.uniform(-1, 2, 8)
        drive, feedback = 0.0, 0.0
        for flow, omega in zip(flows, (2**0.5, 0.3**-0.5, 1.0), strict=True):
            R = flow.base_rtt + 0.015
            W = omega / u
            share = flow.count * W / (R * 1e4)
            e = np.exp(-s * R)
            reno = flow.sender.signal == "classic"
            D = s * R * W / 2 + (1 + e) / 2 if reno else s * R * W + e
            eta = 0.5 if reno else 1.0
            drive = drive + share * e / D
            feedback = feedback + share / R + share * eta * (1 - e) / (R * D)
        expected = (0.2 / 0.02 + (2.5 + 0.1) * s) / (s * u) * drive / (s + feedback)
        np.testing.assert_allclose(loop(s), expected, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
def test_verdicts_of_random_mixtures(rng, update):
    """Two to four classes, RTTs over two and a half decades: margins, count and roots agree."""
    seen = {True: 0, False: 0}
    while sum(seen.values()) < 40:
        flows = [
            pf.Flows(
                rng.choice([pf.Reno(), pf.CReno(), pf.Scalable()]),
                rng.uniform(1, 30),
                10 ** rng.uniform(-3, -0.5),
            )
            for _ in range(rng.integers(2, 5))
        ]
        alpha = 10 ** rng.uniform(-2, 1)
        aqm = pf.CoupledPi2(
            alpha=alpha,
            beta=alpha * 10 ** rng.uniform(0, 1.7),
            update_interval=10 ** rng.uniform(-2.5, -1),
            target=10 ** rng.uniform(-3, -1.3),
        )
        capacity = 10 ** rng.uniform(6.5, 9)
        terms = str(rng.choice(["frozen", "exact"]))
        try:
            loop = pf.Loop(flows, aqm, capacity=capacity, update=update, rtt_terms=terms)
        except pf.DomainError:
            continue  # more load than any p can hold back
        margins = loop.margins()
        stable = loop.nyquist_count() == 0
        assert (margins.gain_margin_db > 0 and margins.phase_margin_deg > 0) == stable
        assert margins.verdict == ("stable" if stable else "unstable")
        if update != "sampled":
            assert (loop.roots().real < 0) == stable
        seen[stable] += 1
    assert min(seen.values()) > 3


def test_one_class_and_two_halves_are_the_single_loop(rng):
    flows = pf.Flows(pf.Reno(), 10, "80ms")
    single = pf.Loop(flows, pf.Pi2(), capacity="10Mbit/s")
    halves = pf.Loop(
        [dataclasses.replace(flows, count=4), dataclasses.replace(flows, count=6)],
        pf.Pi2(),
        capacity="10Mbit/s",
    )
    p = single.operating_point.p[0]
    direct = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p=p)
    s = 1j * 10 ** rng.uniform(-1, 2, 10)
    np.testing.assert_allclose(single(s), direct(s), rtol=1e-12)
    np.testing.assert_allclose(halves(s), direct(s), rtol=1e-11)
    for loop in (single, halves):
        assert loop.margins().gain_margin_db == pytest.approx(
            direct.margins().gain_margin_db, abs=1e-9
        )
    assert single.form is not None
    assert halves.form is None


def test_arrays_of_mixtures():
    counts = np.array([2.0, 10.0, 30.0])
    flows = [pf.Flows(pf.Reno(), counts, "80ms"), pf.Flows(pf.Scalable(), 5, "40ms")]
    loop = pf.Loop(flows, pf.CoupledPi2(), capacity="50Mbit/s")
    assert loop.shape == (3,)
    for index, count in enumerate(counts):
        one = [pf.Flows(pf.Reno(), count, "80ms"), pf.Flows(pf.Scalable(), 5, "40ms")]
        margins = pf.Loop(one, pf.CoupledPi2(), capacity="50Mbit/s").margins()
        assert loop.margins().gain_margin_db[index] == pytest.approx(
            margins.gain_margin_db, abs=1e-8
        )


def test_sampled_mixture_loses_margin(known):
    continuous = mixture(known["mixture_B"]).margins()
    sampled = mixture(known["mixture_B"], update="sampled").margins()
    delayed = mixture(known["mixture_B"], update="delayed").margins()
    assert sampled.gain_margin_db < continuous.gain_margin_db - 0.5
    assert sampled.gain_margin_db == pytest.approx(delayed.gain_margin_db, abs=0.15)
    assert sampled.verdict == "stable"


def test_a_law_of_ones_own(rng):
    s = rng.normal(size=5) + 1j * 10 ** rng.uniform(0, 2, 5)
    for terms in ("frozen", "exact"):
        mine = pf.Loop(HalfPerMark(), pf.Pi(), rtt=0.1, p=0.1, rtt_terms=terms)
        known = pf.Loop(pf.Scalable(), pf.Pi(), rtt=0.1, p=0.1, rtt_terms=terms)
        np.testing.assert_allclose(mine(s), known(s), rtol=1e-12)
        assert mine.margins().gain_margin_db == pytest.approx(
            known.margins().gain_margin_db, abs=1e-9
        )
        assert mine.form is None
        assert mine.roots() == pytest.approx(known.roots(), rel=1e-9)


def test_a_law_that_branches_on_values_is_differentiated_without_compiling():
    @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
    class Branching(pf.Sender):
        signal: ClassVar = "scalable"

        def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
            if p_delayed > 0.5:
                return 1 / rtt - w_delayed / rtt_delayed * p_delayed
            return 1 / rtt - 0.5 * w_delayed / rtt_delayed * p_delayed

        def at_rest(self, rtt, p):
            return 2.0 / p

    mine = pf.Loop(Branching(), pf.Pi(), rtt=0.1, p=0.1)
    assert mine(3j) == pytest.approx(pf.Loop(pf.Scalable(), pf.Pi(), rtt=0.1, p=0.1)(3j), rel=1e-12)


def test_a_law_that_cannot_be_differentiated_is_refused():
    @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
    class Rounding(pf.Sender):
        signal: ClassVar = "scalable"

        def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
            return 1 / rtt - 0.5 * float(w_delayed) / rtt_delayed * p_delayed

        def at_rest(self, rtt, p):
            return 2.0 / p

    with pytest.raises(pf.UnsupportedError, match=r"Rounding.rate cannot be differentiated"):
        pf.Loop(Rounding(), pf.Pi(), rtt=0.1, p=0.1)(1j)


def test_a_law_with_two_states(rng):
    """Against its transfer function written by hand, for every update."""
    R, p, g = 0.1, 0.1, 1 / 16
    loop = pf.Loop(Smoothed(), pf.Pi(), rtt=R, p=p)
    assert loop.operating_point.window == pytest.approx(2 / p, rel=1e-9)
    s = rng.normal(size=6) + 1j * 10 ** rng.uniform(0, 2, 6)
    e = np.exp(-s * R)
    W = 2 / p
    marks = g / R * e / (s + g / R)
    window = -0.5 * W / R * marks / (s + 0.5 * p / R * e)
    queue = 1 / (W / R) * (1 / R) / (s + 1 / R)  # seconds of delay per segment of window
    form = equations.ClosedForm("scalable", 1, 1, 0.125, 1.25, 0.032, R)
    np.testing.assert_allclose(loop(s), -window * queue * equations.pi_response(s, form), rtol=1e-9)
    margins = loop.margins()
    assert margins.verdict == ("stable" if margins.gain_margin_db > 0 else "unstable")
    assert np.sign(-loop.roots().real) == np.sign(margins.gain_margin_db)
    sampled = pf.Loop(Smoothed(), pf.Pi(), rtt=R, p=p, update="sampled").margins()
    assert abs(sampled.gain_margin_db - margins.gain_margin_db) < 3.0
    with pytest.raises(pf.UnsupportedError, match="several states"):
        loop.to_control("pade")


def test_a_queue_of_ones_own():
    """A proportional queue (a ramp of the delay): it rests where the load meets the ramp."""

    @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
    class Ramp(pf.Aqm):
        slope: float = 5.0

        def initial(self):
            return (0.0,)

        def update(self, state, seen, dt):
            return (self.slope * seen.queue_delay,)

        def encode(self, u):
            return pf.Signal(u, u)

    aqm = Ramp(update_interval=0.001)
    loop = pf.Loop(pf.Scalable(), aqm, rtt=0.02, p=0.05)
    assert loop.operating_point.queue_delay == pytest.approx(0.01, rel=1e-9)
    # a ramp is c = R slope, a = 0: crossing at v sin v - cos v = mu, where
    # R slope = 2 (1 + v^2) cos v is critical
    from scipy.optimize import brentq

    mu = 0.05 / 2
    v = brentq(lambda x: x * np.sin(x) - np.cos(x) - mu, 0.1, 1.5)
    critical = 2 * (1 + v**2) * np.cos(v) / 0.02
    assert loop.margins().gain_margin == pytest.approx(critical / 5.0, rel=1e-9)
    assert loop.margins().phase_crossover == pytest.approx(v / 0.02, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("update", ["continuous", "sampled"])
@pytest.mark.parametrize("scalable", [pf.Scalable(), pf.Dctcp()], ids=["scalable", "dctcp"])
@pytest.mark.parametrize("gain", [0.1, 1.0])
def test_a_loop_does_not_depend_on_how_many_classes_it_is_told_in(gain, scalable, update):
    """Up to 80 classes: factors that turn together, and powers that would overflow."""
    law = pf.CoupledPi2(alpha=1.6 * gain, beta=32.0 * gain, update_interval="16ms", target="15ms")
    counts = []
    for parts in (1, 5, 40):
        flows = [
            pf.Flows(sender, 120 / parts, "85ms", name=f"{sender}{part}")
            for sender in (pf.Reno(), scalable)
            for part in range(parts)
        ]
        loop = pf.Loop(flows, law, capacity="1.2Gbit/s", update=update)
        counts.append(loop.nyquist_count())
    assert counts == [counts[0]] * 3
    assert (counts[0] > 0) == (gain == 1.0)


@pytest.mark.slow
def test_many_different_paths_are_counted_as_they_wind(rng):
    """Against the winding of 1 + L itself, whose open loop is stable."""
    for gain in (0.2, 1.0):
        law = pf.CoupledPi2(alpha=1.6 * gain, beta=32.0 * gain, update_interval="16ms")
        flows = [
            pf.Flows(sender, 4, float(path), name=f"{number}")
            for number, (sender, path) in enumerate(
                (sender, path)
                for sender in (pf.Reno(), pf.Scalable())
                for path in rng.uniform(0.07, 0.1, 25)
            )
        ]
        loop = pf.Loop(flows, law, capacity="1.2Gbit/s")
        s = 1j * np.geomspace(1e-6, 1e4, 400_000)
        curve = s / (1.0 + s) * (1.0 + loop(s))  # without the pole at 0
        turns = np.sum(np.angle(curve[1:] / curve[:-1])) / np.pi
        assert loop.nyquist_count() == round(-turns)
        assert abs(turns - round(turns)) < 0.01


def test_roots_of_too_many_classes_are_refused():
    flows = [pf.Flows(pf.Reno(), 1, 0.05 + 0.001 * part, name=f"{part}") for part in range(50)]
    with pytest.raises(pf.SolverError, match="states, too many"):
        pf.Loop(flows, pf.Pi2(), capacity="100Mbit/s").roots()
