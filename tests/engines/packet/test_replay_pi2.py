"""The controllers of PI2 and DualPI2 against the kernels' own arithmetic, row by row."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import runs_of

import pi2_fluid as pf
from pi2_fluid.packet import replay, replay_drop, variants

FULL = 2**32 - 1
DELAYS = (st.integers(0, 10**8) | st.integers(0, 6 * 10**10)).map(lambda ns: ns / 1e9)


PI2 = runs_of("linux_pi2_updates.csv", "variant", "case")
DUALPI2 = runs_of("linux_dualpi2_updates.csv", "variant", "case")
DROPS = runs_of("linux_pi2_drop.csv", "p")


def delays(rows):
    return np.array([int(row["qdelay_us"]) for row in rows]) / 1e6


def states(rows, name):
    return np.array([int(row[name], 16) for row in rows], np.uint64)


class TestUpdates:
    @pytest.mark.parametrize("name", [name for name in PI2 if name.startswith("pi2-2016")])
    def test_the_code_of_2016(self, name):
        rows = PI2[name]
        backlog = [float(row["aux"]) for row in rows]
        found = replay(name.split("/")[0], queue_delay=delays(rows), backlog=backlog)
        np.testing.assert_array_equal(found.state, states(rows, "prob_hex"))
        p_s = np.array([float(row["prob"]) for row in rows])
        np.testing.assert_allclose(found.controller, p_s / 2, rtol=1e-8, atol=1e-15)
        np.testing.assert_allclose(found.p, (p_s / 2) ** 2, rtol=2e-8, atol=1e-15)
        assert float(found.p.max()) <= 0.25

    @pytest.mark.parametrize("name", [name for name in PI2 if name.startswith("hpe")])
    def test_the_code_of_hpe(self, name):
        rows = PI2[name]
        found = replay(name.split("/")[0], queue_delay=delays(rows))
        np.testing.assert_array_equal(found.state, states(rows, "prob_hex"))
        np.testing.assert_array_equal(found.overload, [int(row["aux"]) for row in rows])

    @pytest.mark.parametrize("name", DUALPI2)
    def test_dualpi2(self, name):
        rows = DUALPI2[name]
        found = replay(name.split("/")[0], queue_delay=delays(rows))
        np.testing.assert_array_equal(found.state, states(rows, "p_base_hex"))
        classic = [float(row["p_C"]) for row in rows]
        np.testing.assert_allclose(found.p, classic, rtol=1e-8, atol=1e-15)

    def test_every_named_variant_is_in_a_trace(self):
        traced = {name.split("/")[0] for name in (*PI2, *DUALPI2)}
        assert {name for name in variants() if not name.startswith(("linux", "rfc"))} == traced


def smooth_delays(n=600):
    """A walk around the target, without zeros, in whole ticks of 64 ns."""
    rng = np.random.default_rng(5)
    ms = np.convolve(rng.normal(0.0, 5.0, n + 19), np.full(20, 0.2), "valid") + 21.5
    ms = np.clip(ms, 1.0, 60.0)
    return np.rint(ms * 125) * 8e-6


FIXED = [
    pf.Pi2.from_tc2016(arithmetic="fixed"),
    pf.CoupledPi2(variant="pi2-2016", arithmetic="fixed"),
    pf.CoupledPi2(variant="pi2-2016", k=4, arithmetic="fixed"),
    pf.Pi(alpha=0.125, beta=1.25, arithmetic="fixed"),
    pf.Pi2(arithmetic="fixed"),
    pf.CoupledPi2(arithmetic="fixed"),
    pf.DualPi2(arithmetic="fixed"),
    pf.DualPi2(drop_overload=False, arithmetic="fixed"),
]


def effective(law):
    """The gains (Hz) that the kernel's integers stand for."""
    gains = np.array([law.alpha, law.beta])
    if getattr(law, "variant", "") == "pi2-2016":
        k = getattr(law, "k", 2)
        units = np.floor(np.round(16 * k * gains) * (FULL // 15_625_000) / 16)
        return units * 15_625_000 / FULL / k
    units = np.floor(np.round(256 * gains) * FULL / 4 / 1e9)
    return units * 1e9 / 64 / FULL


class TestRealNumbers:
    @pytest.mark.parametrize("law", FIXED, ids=repr)
    def test_as_the_integers(self, law):
        alpha, beta = map(float, effective(law))
        assert (alpha, beta) == pytest.approx((law.alpha, law.beta), rel=0.015)
        real = dataclasses.replace(law, arithmetic="real", alpha=alpha, beta=beta)
        delay = smooth_delays()
        found, expected = (replay(x, queue_delay=delay) for x in (law, real))
        assert float(expected.controller.max()) > 0.1
        np.testing.assert_allclose(found.controller, expected.controller, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(found.p, expected.p, rtol=1e-4, atol=1e-6)
        assert found.state.values.any()
        assert not expected.state.values.any()

    def test_idle_decay_of_2016(self):
        law = pf.Pi2.from_tc2016()
        delay = [*np.full(40, 0.04), 0.0, 0.0]
        idle = replay(law, queue_delay=delay).controller.values
        busy = replay(law, queue_delay=delay, backlog=np.full(42, 1500.0)).controller.values
        np.testing.assert_array_equal(idle[:-1], busy[:-1])
        assert idle[-1] == pytest.approx(0.98 * busy[-1], rel=1e-12)
        plain = replay(pf.Pi2(), queue_delay=[0.01, 0.3, 0.3, 0.0, 0.0]).controller.values
        assert plain[-1] == pytest.approx(plain[-2] - 0.3125 * 0.02)


class TestQuirks:
    @pytest.mark.parametrize("law", FIXED, ids=repr)
    def test_none_acts_on_an_ordinary_queue(self, law):
        without = dataclasses.replace(law, quirks=False)
        delay = smooth_delays()
        np.testing.assert_array_equal(
            replay(law, queue_delay=delay).state, replay(without, queue_delay=delay).state
        )

    def test_the_decay_of_2016(self):
        """From 1.02 % on 98 p_s does not fit into 32 bits: most of it is thrown away."""
        law = pf.Pi2.from_tc2016(arithmetic="fixed")
        delay = [0.04, 0.04, 0.04, 0.04, 0.0, 0.0]
        kernel, sound = (
            replay(dataclasses.replace(law, quirks=quirks), queue_delay=delay).state.values
            for quirks in (True, False)
        )
        np.testing.assert_array_equal(kernel[:-1], sound[:-1])
        before = int(sound[-2]) - 171 * (20_000_000 >> 6)
        assert before / FULL == pytest.approx(0.0249, abs=1e-4)
        assert int(sound[-1]) == before * 98 // 100
        assert int(kernel[-1]) == before * 98 % 2**32 // 100

    @pytest.mark.parametrize("law", [FIXED[0], FIXED[4], FIXED[6]], ids=repr)
    def test_a_step_of_1_wraps_around(self, law):
        sound = dataclasses.replace(law, quirks=False)
        rise = [0.6] if law.beta > 3 else [0.9]
        assert float(replay(sound, queue_delay=rise).controller[0]) == pytest.approx(law.limit)
        assert float(replay(law, queue_delay=rise).controller[0]) < 0.999 * law.limit
        fall = [*np.linspace(0.01, 2.0, 300), 0.01]
        assert float(replay(sound, queue_delay=fall).controller[-1]) == 0.0
        assert float(replay(law, queue_delay=fall).controller[-1]) > 0.0

    @pytest.mark.slow
    @settings(max_examples=60, deadline=None)
    @given(st.lists(DELAYS, min_size=1), st.sampled_from(FIXED), st.booleans())
    def test_p_stays_in_range(self, delay, law, quirks):
        for arithmetic in ("fixed", "real"):
            some = dataclasses.replace(law, quirks=quirks, arithmetic=arithmetic)
            found = replay(some, queue_delay=delay)
            assert float(found.controller.min()) >= 0.0
            assert float(found.controller.max()) <= some.limit
            assert 0.0 <= float(found.p.min()) <= float(found.p.max()) <= 1.0


class TestDecisions:
    @pytest.mark.parametrize("p", DROPS)
    def test_every_row(self, p):
        rows = DROPS[p]
        found = replay_drop(
            "pi2-2016",
            p=float(p),
            rnd=[int(row["rnd1_hex"], 16) for row in rows],
            rnd2=[int(row["rnd2_hex"], 16) for row in rows],
            ecn=[int(row["ecn_in"]) for row in rows],
        )
        for column in ("rnds_used", "drop", "ce_set"):
            np.testing.assert_array_equal(found[column], [int(row[column]) for row in rows])

    def test_without_ecn_classic_packets_are_dropped_and_scalable_ones_marked(self):
        law = pf.CoupledPi2()
        found = replay_drop(law, p=0.5, rnd=[0] * 4, ecn=[0, 1, 2, 3])
        assert found["drop"].values.tolist() == [1, 0, 1, 0]
        assert found.ce_set.values.tolist() == [0, 1, 0, 1]

    def test_linux_compares_with_a_number_that_may_equal_p(self):
        law = pf.CoupledPi2(arithmetic="fixed", k=1)
        held = round(0.25 * FULL)
        found = replay_drop(law, p=0.25, rnd=[held, held + 1], ecn=1)
        assert found.ce_set.values.tolist() == [1, 0]


class TestBadInput:
    def test_what_hpe_cannot_do(self):
        law = pf.Pi2(variant="hpe", target="15ms", update_interval="15ms")
        with pytest.raises(pf.UnsupportedError, match='give arithmetic = "fixed"'):
            replay(law, queue_delay=[0.1])
        with pytest.raises(pf.DomainError, match="outside what HPE's integers hold"):
            replay(dataclasses.replace(law, arithmetic="fixed", alpha=1e5), queue_delay=[0.1])
        with pytest.raises(pf.DomainError, match=r"target = 2.0 is outside \[0.0001, 1\] s"):
            replay(dataclasses.replace(law, arithmetic="fixed", target=2.0), queue_delay=[0.1])

    def test_k_of_2016(self):
        law = pf.CoupledPi2(variant="pi2-2016", k=2.5, alpha=0.3, beta=3, arithmetic="fixed")
        with pytest.raises(pf.DomainError, match=r"k = 2.5 is none of 1, 2, 3"):
            replay(law, queue_delay=[0.1])

    def test_gains(self):
        with pytest.raises(pf.DomainError, match=r"multiple of 1/256 Hz"):
            replay(pf.Pi2(alpha=0.001, arithmetic="fixed"), queue_delay=[0.1])

    def test_decisions(self):
        with pytest.raises(pf.UnsupportedError, match="Pi2 decides about packets in no way"):
            replay_drop(pf.Pi2(), p=0.5, rnd=[1])
        with pytest.raises(pf.UnsupportedError, match=r"burst = 0\.1 plays no part"):
            replay_drop("pi2-2016", p=0.5, rnd=[1], burst=0.1)
        with pytest.raises(pf.DomainError, match=r"ecn = 4 is outside \[0, 3\]"):
            replay_drop("pi2-2016", p=0.5, rnd=[1], ecn=4)
        with pytest.raises(pf.QuantityError, match=r"is unknown: give one of 'linux6\.18'"):
            replay_drop("dp2-6.18-default", p=0.5, rnd=[1])

    @pytest.mark.parametrize(
        "call",
        [
            lambda law: replay(law, queue_delay=[0.1]),
            lambda law: replay_drop(law, p=0.5, rnd=[1]),
        ],
        ids=["replay", "replay_drop"],
    )
    def test_many_laws_at_once(self, call):
        with pytest.raises(pf.UnsupportedError, match=r"CoupledPi2 target is an array of shape"):
            call(pf.CoupledPi2(target=[0.01, 0.02]))
