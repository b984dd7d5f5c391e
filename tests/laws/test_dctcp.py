"""DCTCP: its rest, its kink, its loop, and how it compares with the kernel's code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pi2_fluid as pf
from pi2_fluid.laws.senders.dctcp import Dctcp
from pi2_fluid.loop.linearization import rate_slopes

patient = settings(deadline=None)  # a loaded machine is no reason to fail

gains = st.floats(1e-3, 1.0)
rtts = st.floats(1e-4, 2.0)
probabilities = st.floats(1e-6, 1.0)


class TestRest:
    @patient
    @given(gain=gains, rtt=rtts, p=probabilities)
    def test_is_a_state_of_rest(self, gain, rtt, p):
        law = Dctcp(gain=gain)
        x = law.at_rest(rtt, p)
        assert x == pytest.approx((2 / p, p), rel=1e-15)
        window, alpha = law.rate(x, x, p, rtt, rtt)
        assert abs(window) * rtt < 1e-14  # against the increase, 1/R
        assert alpha == 0.0

    @pytest.mark.parametrize("p", [1e-5, 0.01, 0.3, 1.0])
    @pytest.mark.parametrize("rtt", [0.001, 0.1])
    def test_at_rest_is_what_the_solver_finds(self, rtt, p):
        found = pf.Sender.at_rest(Dctcp(), rtt, p)
        assert found == pytest.approx(Dctcp().at_rest(rtt, p), rel=1e-9)

    def test_equilibrium_is_what_the_solver_finds(self):
        law = Dctcp()
        for rate in (30.0, 2000.0):
            p = law.equilibrium(0.1, rate)
            assert pf.Sender.equilibrium(law, 0.1, rate) == pytest.approx(p, rel=1e-9)
            assert law.sending_rate(law.at_rest(0.1, p), 0.1) == pytest.approx(rate, rel=1e-15)

    def test_two_marks_each_round_trip(self):
        """Twice as many as the kink needs, whatever the load: `Scalable` with half per mark."""
        for p in (1e-4, 0.02, 0.5):
            window, _ = Dctcp().at_rest(0.1, p)
            assert window * p == pytest.approx(2.0)
            assert window == pytest.approx(pf.Scalable().at_rest(0.1, p))
            assert Dctcp().switches((window, p), p, 0.1) == (pytest.approx(1.0),)

    def test_arrays(self):
        rtt, p = np.array([[0.01], [0.1]]), np.array([0.001, 0.1, 1.0])
        window, alpha = Dctcp(gain=[1 / 16, 1 / 8, 1.0]).at_rest(rtt, p)
        assert np.broadcast_shapes(window.shape, alpha.shape) == (2, 3)
        np.testing.assert_allclose(np.broadcast_to(window, (2, 3))[1], 2 / p)
        point = pf.equilibrium_of(Dctcp(gain=[1 / 16, 1 / 8]), pf.CoupledPi2(), rtt=0.1, p=0.1)
        assert point.window == pytest.approx(20.0)

    def test_in_a_mixture(self):
        def point(sender):
            flows = [pf.Flows(sender, 10, "20ms"), pf.Flows(pf.Reno(), 5, "80ms")]
            return pf.equilibrium(flows, pf.CoupledPi2(), "40Mbit/s")

        mine, theirs = point(Dctcp()), point(pf.Scalable())
        assert mine.window == pytest.approx(theirs.window, rel=1e-12)
        assert mine.states[0] == pytest.approx((mine.window[0], mine.p[0]), rel=1e-12)

    def test_as_the_kernel_under_periodic_marks(self, table):
        """To its integers; alpha is counted in 1024ths, and lower by up to 16 of them."""
        rows = table("dctcp_windows.csv")
        for process, p, window, alpha in zip(*rows.values(), strict=True):
            mine, mean = Dctcp().at_rest(0.05, p)
            if process == "periodic" and p <= 0.2:
                assert window == pytest.approx(mine, rel=1e-12)
                assert 0.0 <= mean - alpha <= 16 / 1024
            elif process == "periodic":  # 6 segments instead of 6.7
                assert window == pytest.approx(mine, rel=0.11)
            elif p >= 0.05:  # independent marks: clusters of them count once
                assert 0.90 < window / mine < 0.94
                assert alpha == pytest.approx(mean, rel=0.02)
            else:  # the dead zone of integers, which is not in the law
                assert 1.4 < window / mine < 2.6
                assert alpha < 0.001


class TestMotion:
    def test_alpha_averages_what_is_marked(self):
        """From 1 down to p: (1 - p) e^(-g t/R) above it, whatever the window does."""
        law, rtt, p, dt = Dctcp(), 0.1, 0.2, 1e-4
        alpha = 1.0
        for _ in range(round(1.6 / dt)):
            alpha += dt * law.rate((30.0, alpha), (25.0, 0.3), p, rtt, 0.2)[1]
        assert alpha == pytest.approx(p + 0.8 * np.exp(-1.0), rel=1e-4)

    def test_at_most_one_reduction_each_round_trip(self):
        law, rtt = Dctcp(), 0.1
        fall = [
            1 / rtt - law.rate((40.0, 0.5), (w, 0.5), 0.1, rtt, rtt)[0] for w in (5, 10, 20, 80)
        ]
        assert fall == pytest.approx([0.5 * 10 / rtt, 10 / rtt, 10 / rtt, 10 / rtt])

    def test_the_kink_is_where_the_switch_says(self):
        law, rtt, p = Dctcp(), 0.1, 0.1
        windows = np.linspace(2.0, 20.0, 181)
        slopes = np.diff([law.rate((40.0, 0.5), (w, 0.5), p, rtt, rtt)[0] for w in windows])
        below = np.array([law.switches((w, 0.5), p, rtt)[0] for w in windows[:-1]]) < -1e-12
        assert np.all(slopes[below] < -1e-3)
        np.testing.assert_allclose(slopes[~below], 0.0, atol=1e-12)
        assert 0 < below.sum() < below.size

    def test_starts_with_alpha_one(self):
        assert Dctcp().initial(10.0) == (10.0, 1.0)
        assert Dctcp().leave_slow_start((37.0, 0.8)) == (37.0, 0.8)

    def test_its_clock_is_the_round_trip_that_passes_now(self):
        slow = Dctcp().rate((20.0, 0.3), (20.0, 0.3), 0.1, 0.2, 0.1)
        fast = Dctcp().rate((20.0, 0.3), (20.0, 0.3), 0.1, 0.1, 0.4)
        assert fast == pytest.approx(tuple(2 * value for value in slow))


class TestOneLawEverywhere:
    @pytest.mark.parametrize("law", [Dctcp(), Dctcp(gain=0.4, variant="rfc8257")], ids=repr)
    def test_floats_numpy_and_jax_agree(self, law, rng, jax):
        low, high = [1, 0, 1, 0, 0, 0.01, 0.01], [50, 1, 50, 1, 1, 0.3, 0.3]
        args = rng.uniform(low, high, size=(40, 7)).T

        def rate(w, a, wd, ad, p, r, rd):
            return law.rate((w, a), (wd, ad), p, r, rd)

        plain = np.array([rate(*map(float, column)) for column in args.T]).T
        with jax.enable_x64(True):
            traced = np.array(jax.jit(rate)(*args))
        scale = 1 / args[5] * (1 + args[0])
        assert np.all(np.abs(np.array(rate(*args)) - plain) <= 1e-15 * scale)
        assert np.all(np.abs(traced - plain) <= 1e-15 * scale)

    @pytest.mark.parametrize("p", [0.003, 0.1, 1.0])
    def test_slopes_are_those_of_differences(self, p, jax):
        law, rtt = Dctcp(), 0.07
        x = law.at_rest(rtt, p)
        at = np.array([*x, *x, p, rtt, rtt])

        def rate(v):
            return np.array(law.rate((v[0], v[1]), (v[2], v[3]), *v[4:]))

        with jax.enable_x64(True):
            slopes, _ = rate_slopes(law, tuple(map(np.float64, x)), np.float64(p), np.float64(rtt))
        for j, step in enumerate(1e-6 * at):
            h = step * np.eye(7)[j]
            by_difference = (rate(at + h) - rate(at - h)) / (2 * step)
            scale = 1 / rtt / at[j]
            assert np.array(slopes[j], float) == pytest.approx(
                by_difference, rel=1e-6, abs=1e-8 * scale
            )

    @pytest.mark.parametrize("p", [0.3, 0.05, 0.001])
    @pytest.mark.parametrize("rtt", [0.005, 0.03])
    def test_loop(self, p, rtt):
        """The window falls by W/2 per change of alpha, and alpha lags by R/gain."""
        queue = pf.CoupledPi2(alpha=0.16, beta=3.2, target="1ms", update_interval="5ms")
        loop = pf.Loop(Dctcp(), queue, rtt=rtt, p=p)
        window, s = 2 / p, 1j * np.geomspace(0.1, 100.0, 7)
        control = 0.16 / 0.005 / s + 3.2 + 0.08
        plant = window / 2 / rtt / (s + p / 2 / rtt) / (1 + 16 * s * rtt)
        queueing = np.exp(-rtt * s) / window / (s + 1 / rtt)
        np.testing.assert_allclose(loop(s), 2.0 * control * plant * queueing, rtol=1e-12)
        margins = loop.margins()
        assert np.isfinite([margins.gain_margin_db, margins.phase_margin_deg]).all()
        assert margins.verdict == ("stable" if loop.roots(1).real < 0 else "unstable")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("frequency", "gain", "lead"), [(4.0, 1.42, 58.3), (6.0, 1.92, 66.1), (10.0, 2.97, 74.2)]
    )
    def test_a_crowd_under_independent_marks(self, frequency, gain, lead):
        """How the law and flows marked by lot answer to p = 5 % (1 + 0.2 sin(w t)), R = 30 ms."""
        law, p, rtt, parts, swing = Dctcp(), 0.05, 0.03, 10, 0.2
        rng, dt, period = np.random.default_rng(1), rtt / parts, 2 * np.pi / frequency
        window, alpha = np.full(10_000, 2 / p), np.full(10_000, p)
        time = np.arange(round(40 * period / dt)) * dt
        means = np.empty(time.size)
        for step, t in enumerate(time):
            means[step] = window.mean()
            mine = slice(step % parts, None, parts)  # a tenth of the flows ends its round trip
            packets = np.round(window[mine])
            signal = p * (1 + swing * np.sin(frequency * (t - rtt)))
            marks = rng.binomial(packets.astype(int), signal)
            alpha[mine] += law.gain * (marks / packets - alpha[mine])
            reduced = window[mine] * (1 - alpha[mine] / 2)
            window[mine] = np.maximum(np.where(marks > 0, reduced, window[mine] + 1), 2)
        late = time > 10 * period
        wave = np.exp(-1j * frequency * time[late])
        crowd = 2j * np.mean((means[late] - means[late].mean()) * wave) / swing

        s = 1j * frequency
        heard = p * np.exp(-s * rtt) / (1 + s * rtt / law.gain)
        mine = -heard / (p * rtt) / (s + p / (2 * rtt))
        assert abs(crowd / mine) == pytest.approx(gain, rel=0.03)
        assert np.degrees(np.angle(crowd / mine)) == pytest.approx(lead, abs=2.0)

    def test_alpha_costs_phase(self):
        """A loop that is stable with `Scalable`, which reacts at once, need not be with DCTCP."""
        queue = pf.CoupledPi2(alpha=0.16, beta=3.2, target="15ms", update_interval="16ms")
        for update in ("continuous", "sampled"):
            direct, smoothed = (
                pf.Loop(sender, queue, rtt="30ms", p=0.05, update=update).margins()
                for sender in (pf.Scalable(), Dctcp())
            )
            assert direct.verdict == "stable"
            assert smoothed.phase_margin_deg < direct.phase_margin_deg - 30.0


class TestFields:
    @pytest.mark.parametrize(
        ("given_", "error", "text"),
        [
            ({"gain": 0}, pf.DomainError, r"^Dctcp gain = 0 is outside \(0, 1\]"),
            ({"gain": 1.5}, pf.DomainError, r"^Dctcp gain = 1\.5 is outside \(0, 1\]"),
            ({"gain": "1s"}, pf.QuantityError, "^Dctcp gain = '1s'"),
            ({"variant": "bsd"}, pf.QuantityError, "^Dctcp variant = 'bsd' .* 'linux', 'rfc8257'"),
        ],
    )
    def test_refusals(self, given_, error, text):
        with pytest.raises(error, match=text):
            Dctcp(**given_)

    def test_variants_are_one_law_here(self):
        args = ((20.0, 0.3), (25.0, 0.2), 0.1, 0.1, 0.2)
        assert Dctcp(variant="rfc8257").rate(*args) == Dctcp().rate(*args)
        assert Dctcp(variant="rfc8257") != Dctcp()
        assert Dctcp().gain == 1 / 16
        assert Dctcp().signal == "scalable"
