"""Queue laws: the controller as the queue runs it, its encoder, and its continuous image."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pi2_fluid as pf
from pi2_fluid.laws.aqms.pie import TABLES
from pi2_fluid.records.record import quantity

patient = settings(deadline=None)  # a loaded machine is no reason to fail

FAMILY = [pf.Pi(), pf.Pi2(), pf.CoupledPi2(), pf.Pie(), pf.Pie(table="sqrt2p")]
NAMES = ["pi", "pi2", "coupled", "pie", "pie-sqrt2p"]
family = pytest.mark.parametrize("queue", FAMILY, ids=NAMES)


def seen(delay: Any) -> pf.Seen:
    """What the PI family looks at; it must look at nothing else."""
    return pf.Seen(delay, np.nan, np.nan, np.nan)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Leaky(pf.Aqm):
    """A user's own queue: a leaky integral of the delay, and p = u^3; no closed forms given."""

    leak: Any = quantity(0.1, "number", high=1.0)

    def initial(self):
        return (0.0,)

    def update(self, state, seen, dt):
        return (state[0] * (1 - self.leak) + seen.queue_delay,)

    def encode(self, u):
        return pf.Signal(u**3, u**3)


class TestController:
    def test_hand_computed_sequence(self):
        # u += 0.5 (d - 0.02) + 2 (d - before), in exact decimals
        queue = pf.Pi2(alpha=0.5, beta=2.0, target="20ms")
        delays = [0.01, 0.04, 0.04, 0.0]
        expected = [Fraction(15, 1000), Fraction(85, 1000), Fraction(95, 1000), Fraction(5, 1000)]
        state = queue.initial()
        for delay, value in zip(delays, expected, strict=True):
            state = queue.update(state, seen(delay), 0.032)
            assert queue.controller(state) == pytest.approx(float(value), rel=1e-14)
            assert state[1] == delay

    @family
    def test_starts_idle(self, queue):
        assert queue.initial() == (0.0, 0.0)
        assert queue.bands == 1

    @family
    def test_update_never_clips_and_saturate_does(self, queue):
        high = queue.update((0.99, 0.0), seen(5.0), 0.032)
        assert high[0] > 1.0
        assert queue.saturate(high) == (1.0, 5.0)
        low = queue.update((1e-4, 0.5), seen(0.0), 0.032)
        assert low[0] < 0.0
        assert queue.saturate(low) == (0.0, 0.0)
        assert queue.saturate((0.3, 0.1)) == (0.3, 0.1)

    @family
    def test_rests_at_its_target_only(self, queue):
        u = 0.2
        state, delay = queue.at_rest(u, 1000.0)
        assert delay == queue.target
        assert queue.update(state, seen(delay), 0.0) == state
        assert queue.update(state, seen(1.1 * delay), 0.0)[0] > u

    @pytest.mark.parametrize(
        ("variant", "limit"), [("plain", 1.0), ("pi2-2016", 0.5), ("hpe", 0.5), ("ns3", 1.0)]
    )
    def test_limit_of_pi2_variants(self, variant, limit):
        queue = pf.Pi2(variant=variant)
        assert queue.limit == limit
        assert queue.saturate((0.9, 0.0))[0] == min(0.9, limit)
        # 25 % of Classic packets
        if limit < 1.0:
            assert queue.encode(queue.limit).classic == 0.25

    def test_saturate_on_arrays(self):
        u, _ = pf.Pi2(variant="hpe").saturate((np.array([-1.0, 0.2, 0.8]), 0.0))
        assert u.tolist() == [0.0, 0.2, 0.5]

    @pytest.mark.slow
    @family
    def test_flow_is_the_tustin_image_of_update(self, queue, jax):
        """z = (1 + sT/2)/(1 - sT/2) turns the one transfer function into the other."""
        interval, u = queue.update_interval, 0.03
        rest = np.array([u, queue.target])

        def tick(x, delay):
            return jax.numpy.stack(queue.update((x[0], x[1]), seen(delay), interval))

        def drift(x, delay, slope):
            return jax.numpy.stack(queue.flow((x[0], x[1]), seen(delay), slope))

        with jax.enable_x64(True):
            F, g = jax.jacfwd(tick, (0, 1))(rest, queue.target)
            A, b, e = jax.jacfwd(drift, (0, 1, 2))(rest, queue.target, 0.0)
            at_rest = drift(rest, queue.target, 0.0)
        F, g, A, b, e = (np.asarray(value) for value in (F, g, A, b, e))
        assert np.all(np.asarray(at_rest) == 0.0)
        for s in (0.1j, 3.0j, 40j, 1.0 + 2j, -0.5 + 7j):
            z = (1 + s * interval / 2) / (1 - s * interval / 2)
            sampled = np.linalg.solve(np.eye(2) - F / z, g)[0]
            continuous = np.linalg.solve(s * np.eye(2) - A, b + s * e)[0]
            assert continuous == pytest.approx(sampled, rel=1e-12)
            # and both are equation (29), with the gains scaled as at this u
            tune = float(queue.gain_factor(np.float64(u)))
            alpha, beta = tune * queue.alpha, tune * queue.beta
            assert continuous == pytest.approx(alpha / (s * interval) + alpha / 2 + beta, rel=1e-12)

    def test_no_continuous_form_unless_given(self):
        with pytest.raises(pf.UnsupportedError, match="Leaky has no continuous form"):
            Leaky().flow((0.0,), seen(0.1), 0.0)

    @pytest.mark.slow
    @family
    def test_runs_on_jax_as_on_floats(self, queue, jax):
        rng = np.random.default_rng(2)
        u, before, delay = rng.uniform([0, 0, 0], [1, 0.1, 0.1], size=(50, 3)).T
        with jax.enable_x64(True):
            traced = jax.jit(lambda *a: queue.update((a[0], a[1]), seen(a[2]), 0.0))(
                u, before, delay
            )
        for column, value in zip(np.array([u, before, delay]).T, traced[0], strict=True):
            one = queue.update((float(column[0]), float(column[1])), seen(float(column[2])), 0.0)
            assert one[0] == pytest.approx(float(value), rel=1e-14, abs=1e-16)


class TestEncoder:
    @patient
    @given(u=st.floats(1e-9, 0.5))
    def test_definitions(self, u):
        assert pf.Pi().encode(u) == (u, u)
        assert pf.Pie(derandomize=False).encode(u) == (u, u)
        assert pf.Pi2().encode(u) == (u * u, u * u)
        assert pf.CoupledPi2(k=1.5).encode(u) == (u * u, 1.5 * u)

    def test_scalable_signal_is_clipped_at_one(self):
        signal = pf.CoupledPi2(k=2.0).encode(np.array([0.4, 0.5, 0.6, 1.0]))
        assert signal.scalable.tolist() == [0.8, 1.0, 1.0, 1.0]
        assert signal.classic.tolist() == pytest.approx([0.16, 0.25, 0.36, 1.0])

    @pytest.mark.slow
    @pytest.mark.parametrize("k", [0.5, 1.7, 2.0, 3.0])
    def test_derivative_at_the_clip_is_k(self, k, jax):
        """At k p' = 1 the loop is still closed: minimum() would halve the derivative there."""
        with jax.enable_x64(True):
            slope = jax.grad(lambda u: pf.CoupledPi2(k=k).encode(u).scalable)(1.0 / k)
            beyond = jax.grad(lambda u: pf.CoupledPi2(k=k).encode(u).scalable)(1.01 / k)
        assert float(slope) == k
        assert float(beyond) == 0.0

    @family
    @pytest.mark.parametrize("signal", ["classic", "scalable"])
    def test_decode_undoes_encode(self, queue, signal):
        p = np.geomspace(1e-12, 1, 25)
        u = queue.decode(p, signal)
        np.testing.assert_allclose(getattr(queue.encode(u), signal), p, rtol=1e-14)
        assert np.ndim(queue.decode(0.01, signal)) == 0

    @family
    @pytest.mark.parametrize("signal", ["classic", "scalable"])
    def test_decode_is_what_the_solver_finds(self, queue, signal):
        # p = 1 is left out: CoupledPi2 sends it from every u above 1/k
        p = np.geomspace(1e-8, 0.9, 9)
        found = pf.Aqm.decode(queue, p, signal)
        np.testing.assert_allclose(queue.decode(p, signal), found, rtol=1e-12)

    def test_array_parameters(self):
        queue = pf.CoupledPi2(k=[1.0, 2.0])
        assert queue.decode(0.04, "scalable").tolist() == [0.04, 0.02]
        np.testing.assert_allclose(pf.Aqm.decode(queue, 0.04, "scalable"), [0.04, 0.02], rtol=1e-12)


class TestSolvedForms:
    @family
    def test_at_rest_is_what_the_solver_finds(self, queue):
        u = np.array([1e-4, 0.01, 0.5])
        state, delay = pf.Aqm.at_rest(queue, u, 1000.0)
        np.testing.assert_allclose(state[0], u, rtol=1e-9)
        np.testing.assert_allclose(state[1], queue.target, rtol=1e-9)
        np.testing.assert_allclose(delay, queue.target, rtol=1e-9)

    def test_at_rest_with_array_parameters(self):
        _, delay = pf.Aqm.at_rest(pf.Pi2(target=[0.005, 0.02]), 0.1, 1000.0)
        np.testing.assert_allclose(delay, [0.005, 0.02], rtol=1e-9)

    def test_own_queue_rests_where_leak_and_delay_balance(self):
        (state,), delay = Leaky(leak=[0.1, 0.2]).at_rest(0.5, 1000.0)
        np.testing.assert_allclose(state, 0.5, rtol=1e-9)
        np.testing.assert_allclose(delay, [0.05, 0.1], rtol=1e-9)
        assert Leaky().decode(0.008, "classic") == pytest.approx(0.2, rel=1e-12)

    def test_own_queue_in_an_operating_point(self):
        # u = p^(1/3), delay = 0.1 u: a standing queue that grows with the load
        flows = pf.Flows(pf.Reno(), 10, "80ms")
        point = pf.equilibrium(flows, Leaky(), "12Mbit/s")
        (p,), (window,), (rtt,) = point.p, point.window, point.rtt
        assert point.queue_delay == pytest.approx(0.1 * point.controller, rel=1e-9)
        assert rtt == pytest.approx(0.08 + point.queue_delay, rel=1e-12)
        assert 10 * window / rtt == pytest.approx(1000.0, rel=1e-9)
        assert p == pytest.approx(2 / window**2, rel=1e-9)

    def test_no_rest_is_an_error(self):
        class Stuck(Leaky):
            def update(self, state, seen, dt):
                return (state[0] + 1.0,)

        with pytest.raises(pf.SolverError, match="Stuck rests at no queue delay"):
            Stuck().at_rest(0.5, 1000.0)

    def test_no_code_is_an_error(self):
        class Half(Leaky):
            def encode(self, u):
                return pf.Signal(0.5 * u, 0.5 * u)

        with pytest.raises(pf.DomainError, match=r"Half encodes p = 0\.6 for classic packets"):
            Half().decode(np.array([0.1, 0.6]), "classic")


class TestPieTable:
    EDGES: ClassVar = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
    FACTORS: ClassVar = [1 / 2048, 1 / 512, 1 / 128, 1 / 32, 1 / 8, 1 / 2, 1.0]

    @pytest.mark.parametrize(
        ("table", "first"), [("rfc8033", 0), ("ietf_early", 3), ("hpsr13", 4), ("none", 6)]
    )
    def test_between_the_edges(self, table, first, jax):
        """Each table is the tail of the longest one: below its first edge the factor stays."""
        middles = np.array([3e-7, 3e-6, 3e-5, 3e-4, 3e-3, 3e-2, 3e-1])
        expected = [self.FACTORS[max(i, first)] for i in range(7)]
        queue = pf.Pie(table=table)
        np.testing.assert_array_equal(queue.gain_factor(middles) * np.ones(7), expected)
        assert [float(queue.gain_factor(float(p))) for p in middles] == expected
        with jax.enable_x64(True):
            traced = jax.jit(jax.vmap(lambda p: queue.gain_factor(p) * 1.0))(middles)
        np.testing.assert_array_equal(traced, expected)

    @pytest.mark.parametrize("edge", EDGES)
    def test_an_edge_is_not_below_itself(self, edge):
        index = self.EDGES.index(edge)
        below, above = self.FACTORS[index : index + 2]
        queue = pf.Pie(table="rfc8033")
        assert queue.gain_factor(edge) == above
        assert queue.gain_factor(edge * (1 + 1e-6)) == above
        assert queue.gain_factor(edge * (1 - 1e-6)) == below

    @pytest.mark.parametrize(
        "decades",
        [
            10.0 ** np.arange(-6, 0),
            np.logspace(-6, -1, 6),
            np.geomspace(1e-6, 1e-1, 6),
            np.logspace(-6, 0, 301)[:251:50],
            np.exp(np.log(10.0) * np.arange(-6, 0)),
            1 / 10.0 ** np.arange(6, 0, -1),
        ],
        ids=["power", "logspace", "geomspace", "part-of-logspace", "exp", "inverse"],
    )
    def test_computed_decades_count_as_on_the_edge(self, decades):
        np.testing.assert_array_equal(pf.Pie().gain_factor(decades), self.FACTORS[1:])

    def test_some_computed_decades_are_below_the_edge(self):
        """What the snapping is for: without it a grid point would be 12 dB off."""
        assert np.exp(np.log(10.0) * np.arange(-6, 0)).tolist() != self.EDGES

    @pytest.mark.parametrize(
        ("variant", "table"),
        [
            ("linux6.18", "rfc8033"),
            ("rfc8033", "rfc8033"),
            ("linux4.14", "hpsr13"),
            ("hpsr13", "hpsr13"),
        ],
    )
    def test_default_of_each_variant(self, variant, table):
        p = np.geomspace(1e-7, 1, 40)
        np.testing.assert_array_equal(
            pf.Pie(variant=variant).gain_factor(p), pf.Pie(table=table).gain_factor(p)
        )
        # a table that is given wins
        np.testing.assert_array_equal(
            pf.Pie(variant=variant, table="ietf_early").gain_factor(p),
            pf.Pie(table="ietf_early").gain_factor(p),
        )

    def test_ideal_scaling(self):
        p = np.geomspace(1e-9, 1, 10)
        np.testing.assert_allclose(
            pf.Pie(table="sqrt2p").gain_factor(p), np.sqrt(2 * p), rtol=1e-15
        )

    def test_steps_follow_the_ideal_scaling(self):
        """PI2 paper, Figure 5: "broadly" the square root, within -7 and +11 dB, 25 % above it."""
        p = np.geomspace(1e-6, 1, 60_001)
        tune = pf.Pie(table="rfc8033").gain_factor(p)
        ratio = tune / np.sqrt(2 * p)
        assert ratio.max() == pytest.approx(0.5 / np.sqrt(0.02))  # on the edge at 1 %
        assert ratio.min() == pytest.approx(1 / 512 / np.sqrt(2e-5), rel=1e-3)  # below 1e-5
        assert np.exp(np.log(ratio).mean()) == pytest.approx(1.245, abs=5e-4)
        assert np.polyfit(np.log(p), np.log(tune), 1)[0] == pytest.approx(0.544, abs=5e-4)

    def test_tables_rise(self):
        for table in TABLES.values():
            edges, factors = zip(*table, strict=True) if table else ((), ())
            assert list(edges) == sorted(edges)
            assert list(factors) == sorted(factors)


class TestHollot:
    """The queue-length form of 2001 and the delay form are one controller."""

    GAINS: ClassVar = {"a": 1.822e-5, "b": 1.816e-5, "frequency": 160, "reference": 200}

    def test_published_example(self):
        # C = 3750 packets/s of 500 B
        queue = pf.Pi.from_hollot(**self.GAINS, capacity="15Mbit/s")
        assert queue.alpha == pytest.approx((1.822e-5 - 1.816e-5) * 3750, rel=1e-12)
        assert queue.beta == pytest.approx(0.0681, rel=1e-12)
        assert queue.target == pytest.approx(200 / 3750, rel=1e-12)
        assert queue.update_interval == 1 / 160

    def test_text_and_numbers(self):
        assert pf.Pi.from_hollot(
            "1.822e-5", "1.816e-5", "160Hz", "200 packets", "15Mbit/s", "500B"
        ) == pf.Pi.from_hollot(1.822e-5, 1.816e-5, 160, 200, 15e6, 500)

    @pytest.mark.parametrize("clipped", [False, True])
    @pytest.mark.parametrize("packet_size", [500, 1500])
    def test_same_probabilities_from_the_same_queue(self, clipped, packet_size):
        a, b, reference = 2e-3, 1.5e-3, 200.0
        packets = 15e6 / (8 * packet_size)
        queue = pf.Pi.from_hollot(a, b, 160, reference, "15Mbit/s", packet_size)
        rng = np.random.default_rng(3)
        lengths = np.abs(np.cumsum(rng.normal(0, 40, 5000)))
        p, before, state = 0.0, 0.0, queue.initial()
        apart, reached = 0.0, set()
        for length in lengths:
            p += a * (length - reference) - b * (before - reference)
            # Before the first packet the form in delay has q = 0, as the form in packets does
            before = length
            state = queue.update(state, seen(length / packets), 1 / 160)
            if clipped:
                p = min(max(p, 0.0), 1.0)
                state = queue.saturate(state)
                reached.add(p)
            apart = max(apart, abs(queue.controller(state) - p) / max(1.0, abs(p)))
        assert apart < 1e-12
        assert not clipped or {0.0, 1.0} <= reached

    def test_gains_that_do_not_integrate(self):
        for b in (1.822e-5, 2e-5):
            with pytest.raises(pf.DomainError, match="give a > b > 0"):
                pf.Pi.from_hollot(**{**self.GAINS, "b": b}, capacity="15Mbit/s")


class TestTc2016:
    def test_gains_act_on_half(self):
        # sixteenths of Hz on p_s = 2 p'
        queue = pf.Pi2.from_tc2016(alpha=5, beta=50, target="15ms")
        assert queue == pf.Pi2(alpha=5 / 32, beta=50 / 32, target=0.015, variant="pi2-2016")
        assert pf.Pi2.from_tc2016().alpha == pf.Pi2().alpha
        assert pf.Pi2.from_tc2016().beta == pf.Pi2().beta


class TestDefaults:
    @pytest.mark.parametrize(
        ("queue", "values"),
        [
            (pf.Pi(), (0.125, 1.25, 0.020, 0.032)),
            (pf.Pie(), (0.125, 1.25, 0.015, 0.015)),
            (pf.Pi2(), (0.3125, 3.125, 0.020, 0.032)),
            (pf.CoupledPi2(), (0.3125, 3.125, 0.020, 0.032)),
        ],
        ids=["pi", "pie", "pi2", "coupled"],
    )
    def test_numbers(self, queue, values):
        assert (queue.alpha, queue.beta, queue.target, queue.update_interval) == values

    def test_beta_alone_may_vanish(self):
        assert pf.Pi2(beta=0).beta == 0.0
        with pytest.raises(pf.DomainError, match="alpha"):
            pf.Pi2(alpha=0, beta=0)
