"""DCTCP: its rest, its kink, its loop, and how it compares with the kernel's code."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pi2_fluid as pf
from pi2_fluid.engines.packet.packets import simulate_discipline
from pi2_fluid.laws.senders.dctcp import Dctcp
from pi2_fluid.loop.acks.plant import answer_of
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

    def test_its_kink_is_at_one_mark_each_round_trip(self):
        law, rtt, p = Dctcp(), 0.1, 0.1
        windows = np.linspace(2.0, 20.0, 181)
        slopes = np.diff([law.rate((40.0, 0.5), (w, 0.5), p, rtt, rtt)[0] for w in windows])
        below = windows[:-1] * p < 1.0 - 1e-12
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
    @pytest.mark.parametrize(
        "law",
        [
            Dctcp(),
            Dctcp(gain=0.4, variant="rfc8257"),
            Dctcp(law="renewal"),
            Dctcp(law="renewal", segments="real"),
        ],
        ids=repr,
    )
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


def crowd(law: Dctcp, frequency: float, p: float, rtt: float) -> tuple[float, complex]:
    """Return W p of flows marked by lot, and what W answers to p (1 + 0.1 sin(w t)), over both.

    Each for itself, in twentieths of a round trip: it grows by that much (or counts it), unless it
    pauses, and the first mark takes alpha W/2 off, in real numbers at the end of the pause.
    """
    rng, parts, swing, flows = np.random.default_rng(1), 20, 0.1, 4000
    real, dt, period = law.segments == "real", rtt / parts, 2 * np.pi / frequency
    window = np.full(flows, law.at_rest(rtt, p)[0])
    if not real:
        window = np.floor(window + rng.random(flows))
    alpha, count, closed = np.full(flows, p), rng.random(flows), np.zeros(flows, dtype=int)
    owed, packets, marked = np.zeros((3, flows))
    time = np.arange(round(25 * period / dt)) * dt
    means = np.empty(time.size)
    for step, t in enumerate(time):
        means[step] = window.mean()
        sent = np.floor(window / parts + rng.random(flows)).astype(int)
        marks = rng.binomial(sent, p * (1 + swing * np.sin(frequency * (t - rtt))))
        packets, marked = packets + sent, marked + marks
        mine = slice(step % parts, None, parts)  # part of the flows ends its round trip
        alpha[mine] += law.gain * (marked[mine] / np.maximum(packets[mine], 1) - alpha[mine])
        packets[mine] = marked[mine] = 0
        closed = np.maximum(closed - 1, 0)
        hit = (closed == 0) & (marks > 0)
        window = np.where(closed == 0, window - owed, window)
        owed = np.where(closed == 0, 0.0, owed)
        grows = ((closed == 0) & ~hit) / parts
        if real:
            window = window + grows
            owed = np.where(hit, 0.5 * alpha * window, owed)
        else:
            count = count + grows
            full = count > 1 - 1e-9
            window, count = window + full, np.where(full | hit, 0.0, count)
            window = np.where(hit, window - np.floor(0.5 * alpha * window), window)
        window, closed = np.maximum(window, 2), np.where(hit, parts, closed)
    late = time > 8 * period
    t, found = time[late], means[late]
    waves = [np.exp(1j * frequency * t), np.exp(-1j * frequency * t), np.ones(t.size), t]
    wave = np.linalg.lstsq(np.column_stack(waves), found, rcond=None)[0][0]
    return found.mean() * p, 2j * wave / swing / found.mean()


class TestRenewal:
    @pytest.mark.parametrize("segments", ["real", "whole"])
    @patient
    @given(gain=gains, rtt=rtts, p=probabilities)
    def test_is_a_state_of_rest(self, segments, gain, rtt, p):
        law = Dctcp(gain=gain, law="renewal", segments=segments)
        x = law.at_rest(rtt, p)
        window, alpha = law.rate(x, x, p, rtt, rtt)
        assert abs(window) * rtt < 1e-12
        assert alpha == 0.0
        assert law.equilibrium(rtt, law.sending_rate(x, rtt)) == pytest.approx(p, rel=1e-12)

    def test_marks_at_rest(self):
        """M^2 = 2; in whole segments what is grown until a mark comes is what is taken."""
        for p in (0.01, 0.3):
            assert Dctcp(law="renewal", segments="real").at_rest(0.1, p)[0] * p == 2.0**0.5
            window, _ = Dctcp(law="renewal").at_rest(0.1, p)
            assert window * p == pytest.approx(1.8517, abs=1e-4)
        found = Dctcp(gain=[1 / 64, 1 / 4, 1.0], law="renewal").at_rest(0.1, 0.1)[0] * 0.1
        assert found == pytest.approx([1.9217, 1.7273, 1.4803], abs=1e-4)
        assert pf.Sender.at_rest(Dctcp(law="renewal"), 0.1, 0.02)[0] == pytest.approx(
            Dctcp(law="renewal").at_rest(0.1, 0.02)[0], rel=1e-9
        )

    @pytest.mark.slow
    @pytest.mark.parametrize(("gain", "p"), [(1 / 16, 0.1), (1 / 16, 0.05), (1 / 4, 0.1)])
    def test_packets_rest_there(self, gain, p):
        """Within 3 %; the averaged law's 2 is 7 to 18 % too many."""
        law = Dctcp(gain=gain, law="renewal", variant="rfc8257")
        flows = pf.Flows(law, 40, "20ms", initial_window=20, ecn=True, slow_start=False)
        scenario = pf.Scenario("60s", pf.Link("3Gbit/s", buffer=10_000), pf.TailDrop(), flows)
        runs = simulate_discipline(scenario, ("lottery", {"p": p, "mark": 1.0}), seeds=2)
        marks = runs.window.sel(time=slice(20, None)).mean().item() * p
        assert marks == pytest.approx(law.at_rest(0.02, p)[0] * p, rel=0.03)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("segments", "frequency", "size", "turn"),
        [("real", 30.0, 0.08, 4.0), ("whole", 30.0, 0.12, 18.0)],
    )
    def test_a_crowd_under_independent_marks(self, segments, frequency, size, turn):
        """How the law and flows marked by lot answer to p = 5 %, R = 30 ms."""
        p, rtt = 0.05, 0.03
        law = Dctcp(law="renewal", segments=segments)
        marks, found = crowd(law, frequency, p, rtt)
        assert marks == pytest.approx(law.at_rest(rtt, p)[0] * p, rel=0.04)
        queue = pf.CoupledPi2(target="1ms", update_interval="1ms", drop_at="enqueue")
        loop = pf.Loop(law, queue, rtt=rtt, p=p, clock="acks")
        answer = answer_of(loop.linear.classes[0], np.array([1j * frequency]), 0.0)
        mine = complex(answer.by_signal[0]) / rtt * loop.operating_point.controller
        assert abs(found / mine) == pytest.approx(1.0, abs=size)
        assert np.degrees(np.angle(found / mine)) == pytest.approx(0.0, abs=turn)
        s = 1j * frequency
        averaged = -np.exp(-s * rtt) / (1 + s * rtt / law.gain) / rtt / (s * 2 / p + 1 / rtt)
        assert abs(found / averaged) > 2.5
        assert np.degrees(np.angle(found / averaged)) > 30.0

    def test_without_marks_flows_grow_and_do_not_pause(self):
        for segments in ("real", "whole"):
            law = Dctcp(law="renewal", segments=segments)
            assert law.rate((20.0, 0.1), (20.0, 0.1), 0.0, 0.1, 0.1)[0] == pytest.approx(10.0)
            few, none = (law.rate((20.0, 0.1), (20.0, 0.1), p, 0.1, 0.1)[0] for p in (1e-6, 0.0))
            assert few == pytest.approx(none, rel=1e-4)

    def test_what_whole_segments_lose(self):
        """Reductions below one take nothing; large ones half a segment less."""
        whole, real = (Dctcp(law="renewal", segments=s) for s in ("whole", "real"))
        for cut, taken in ((0.3, 0.0), (1.4, 1.0), (30.0, 29.5)):
            x, rate = (60.0, cut / 30.0), 500.0
            lost = [law.acked(x, rate, 100.0, 0.1)[1] / 100.0 for law in (whole, real)]
            assert lost == pytest.approx([taken, cut], abs=2e-3)
        assert [law.acked((60.0, 0.1), 500.0, 50.0, 0.1)[0][0] for law in (whole, real)] == [
            0.0,
            pytest.approx(500.0 / 60.0),
        ]

    def test_the_averaged_law_has_no_acknowledgements(self):
        with pytest.raises(pf.UnsupportedError, match=r'law = "rate" .* use law="renewal"'):
            Dctcp().acked((20.0, 0.1), 100.0, 1.0, 0.1)
        assert not Dctcp().pauses


class TestFields:
    @pytest.mark.parametrize(
        ("given_", "error", "text"),
        [
            ({"gain": 0}, pf.DomainError, r"^Dctcp gain = 0 is outside \(0, 1\]"),
            ({"gain": 1.5}, pf.DomainError, r"^Dctcp gain = 1\.5 is outside \(0, 1\]"),
            ({"gain": "1s"}, pf.QuantityError, "^Dctcp gain = '1s'"),
            (
                {"variant": "bsd"},
                pf.QuantityError,
                "^Dctcp variant = 'bsd' .* 'linux', 'linux3.18', 'rfc8257'",
            ),
            ({"law": "mean"}, pf.QuantityError, "^Dctcp law = 'mean' .* 'rate', 'renewal'"),
            ({"segments": "half"}, pf.QuantityError, "^Dctcp segments = 'half' .* 'whole', 'real'"),
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
