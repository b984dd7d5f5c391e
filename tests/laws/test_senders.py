"""Window laws: closed forms against the base class's own solver, and laws of a user's own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from own_laws import HalfPerMark

import pi2_fluid as pf
from pi2_fluid import ops
from pi2_fluid.records.record import quantity

patient = settings(deadline=None)  # a loaded machine is no reason to fail

probabilities = st.floats(1e-8, 1.0)
fractions = st.floats(0.01, 1.0)
rtts = st.floats(1e-4, 2.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyPerMark(pf.Sender):
    """The same with a parameter."""

    signal: ClassVar = "scalable"
    per_mark: Any = quantity(0.5, "number")

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return 1 / rtt - self.per_mark * w_delayed / rtt_delayed * p_delayed


@dataclass(frozen=True, eq=False, kw_only=True)
class Averaging(pf.Sender):
    """DCTCP's two equations: the window falls by alpha/2 per round with marks, alpha is an EWMA.

    Source: Alizadeh, Javanmard, Prabhakar (SIGMETRICS 2011), equations (1) and (2).
    """

    signal: ClassVar = "scalable"
    states: ClassVar = ("window", "alpha")
    gain: Any = quantity(1 / 16, "number", high=1.0)

    def initial(self, window):
        return (window, 1.0)

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        window, alpha = x
        d_window = 1 / rtt - window * alpha / (2 * rtt) * signal_delayed
        return (d_window, self.gain / rtt * (signal_delayed - alpha))


@dataclass(frozen=True, eq=False, kw_only=True)
class Unmarked(pf.Sender):
    """Grows by what is not marked: Reno of Low's duality model (ToN 11(4), 2003)."""

    signal: ClassVar = "classic"

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        acks = w_delayed / rtt_delayed
        return acks * (1 - p_delayed) / w - 0.5 * w * acks * p_delayed

    def formula(self, p):
        return np.sqrt(2 * (1 - p) / p)


class Leaving(pf.Sender):
    """Shrinks wherever more than half is marked."""

    signal: ClassVar = "scalable"

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return (1 - 2 * p_delayed) / rtt - 0.5 * w_delayed / rtt_delayed * p_delayed

    def formula(self, p):
        return 2 * (1 - 2 * p) / p


class UnmarkedTwo(pf.Sender):
    """As `Unmarked`, by an average of p."""

    signal: ClassVar = "classic"
    states: ClassVar = ("window", "alpha")

    def rate(self, x, x_delayed, p_delayed, rtt, rtt_delayed):
        window, alpha = x
        change = (1 - p_delayed) - 0.5 * alpha * window * p_delayed
        return change / rtt, (p_delayed - alpha) / (16 * rtt)

    def initial(self, window):
        return (window, 1.0)


class Deaf(pf.Sender):
    """Ignores every signal."""

    def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
        return 0.0 * w

    def at_rest(self, rtt, p):
        return 10.0


def laws(parameter):
    return [
        pf.Reno(decrease=parameter),
        pf.CReno(decrease=parameter),
        pf.Scalable(per_mark=parameter),
    ]


class TestClosedForms:
    @patient
    @given(parameter=fractions, rtt=rtts, p=probabilities)
    def test_rate_at_rest_is_zero(self, parameter, rtt, p):
        for law in laws(parameter):
            window = law.at_rest(rtt, p)
            assert window > 0
            # against the size of the increase, 1/R
            assert abs(law.rate(window, window, p, rtt, rtt)) * rtt < 1e-14

    @pytest.mark.slow
    @patient
    @given(parameter=fractions, rtt=rtts, p=probabilities)
    def test_at_rest_is_what_the_solver_finds(self, parameter, rtt, p):
        for law in laws(parameter):
            assert law.at_rest(rtt, p) == pytest.approx(pf.Sender.at_rest(law, rtt, p), rel=1e-12)

    @patient
    @given(parameter=fractions, rtt=rtts, p=probabilities)
    def test_equilibrium_undoes_at_rest(self, parameter, rtt, p):
        for law in laws(parameter):
            rate = law.sending_rate(law.at_rest(rtt, p), rtt)
            assert law.equilibrium(rtt, rate) == pytest.approx(p, rel=1e-14)

    @pytest.mark.parametrize("law", laws(0.4), ids=lambda law: type(law).__name__)
    def test_equilibrium_is_what_the_solver_finds(self, law):
        rtt, p = np.array([[0.01], [0.2]]), np.array([1e-6, 0.01, 0.5])
        rate = law.sending_rate(law.at_rest(rtt, p), rtt)
        found = pf.Sender.equilibrium(law, rtt, rate)
        np.testing.assert_allclose(found, law.equilibrium(rtt, rate), rtol=1e-10)

    def test_solver_takes_arrays(self):
        law, p = pf.Reno(), np.geomspace(1e-12, 1, 7)
        found = pf.Sender.at_rest(law, 0.1, p[:, None] * np.ones(2))
        assert found.shape == (7, 2)
        np.testing.assert_allclose(found[:, 0], law.at_rest(0.1, p), rtol=1e-12)

    def test_solver_takes_array_parameters(self):
        law = AnyPerMark(per_mark=[0.25, 0.5, 1.0])
        twin = pf.Scalable(per_mark=[0.25, 0.5, 1.0])
        rtt, p = 0.1, np.array([[0.01], [0.1]])
        np.testing.assert_allclose(law.at_rest(rtt, p), twin.at_rest(rtt, p), rtol=1e-12)
        rate = np.array([[50.0], [100.0]])
        np.testing.assert_allclose(
            law.equilibrium(rtt, rate), twin.equilibrium(rtt, rate), rtol=1e-10
        )

    def test_published_windows(self):
        # PI2 paper, equations (5), (7), (11) up to the constants of the fluid laws
        assert pf.Reno().at_rest(0.1, 0.02) == pytest.approx(10.0)  # sqrt(2/p)
        assert pf.CReno().at_rest(0.1, 0.03) == pytest.approx(1 / math.sqrt(0.3 * 0.03))
        assert pf.Scalable().at_rest(0.1, 0.02) == pytest.approx(100.0)  # 2/p

    def test_growth_per_acknowledgement_is_half_a_segment(self):
        """Every second segment is acknowledged: W = sqrt(1/p) instead of sqrt(2/p)."""
        law = pf.Reno(growth="per_ack")
        assert law.at_rest(0.1, 0.01) == pytest.approx(10.0)
        assert law.equilibrium(0.1, 100.0) == pytest.approx(0.01)
        assert law.rate(10.0, 10.0, 0.01, 0.1, 0.1) == pytest.approx(0.0, abs=1e-12)
        assert law.rate(10.0, 10.0, 0.0, 0.1, 0.1) == pytest.approx(5.0)
        assert law.acked(10.0, 100.0, 1.0, 0.1) == pytest.approx((5.0, 5.0))
        assert pf.CReno(growth="per_ack").at_rest(0.1, 0.3) == pytest.approx((0.5 / 0.09) ** 0.5)

    def test_decrease_is_what_is_removed(self):
        # Equation (17) as printed has 0.7, which Cubic keeps: the window would be below Reno's.
        printed = pf.CReno(decrease=0.7)
        assert printed.rate(10.0, 10.0, 0.01, 0.1, 0.1) == pytest.approx(
            10 - 0.7 * 100 / 0.1 * 0.01
        )
        assert (
            printed.at_rest(0.1, 0.01)
            < pf.Reno().at_rest(0.1, 0.01)
            < pf.CReno().at_rest(0.1, 0.01)
        )

    def test_signals(self):
        assert [law.signal for law in laws(0.5)] == ["classic", "classic", "scalable"]
        assert Deaf().signal is None


class HalfASegment(pf.Sender):
    """Reno that grows by half a segment per round trip, written down anew."""

    signal: ClassVar = "classic"
    reduction: ClassVar = "prr"

    def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
        return 0.5 / rtt - 0.5 * x * x_delayed / rtt_delayed * signal_delayed

    def acked(self, x, acks, marks, rtt):
        return 0.5 * acks / x, 0.5 * x * marks


class TestGrowthPerAck:
    """Closed forms and compiled trajectories against a law without any."""

    @pytest.mark.parametrize("clock", ["rate", "acks"])
    @pytest.mark.parametrize("aqm", [pf.Pi2(), pf.Pie()], ids=["pi2", "pie"])
    def test_loop(self, aqm, clock):
        found = [
            pf.Loop(pf.Flows(law, 20, "100ms"), aqm, capacity="10Mbit/s", clock=clock).margins()
            for law in (pf.Reno(growth="per_ack"), HalfASegment())
        ]
        assert found[0].gain_margin_db == pytest.approx(found[1].gain_margin_db, rel=1e-9)
        assert found[0].phase_margin_deg == pytest.approx(found[1].phase_margin_deg, rel=1e-9)

    @pytest.mark.parametrize("others", [(), (pf.Flows(pf.Reno(), 5, "40ms"),)], ids=len)
    def test_trajectory(self, others):
        runs = []
        for law in (pf.Reno(growth="per_ack"), HalfASegment()):
            flows = [pf.Flows(law, 10, "80ms"), *others]
            scenario = pf.Scenario(3.0, pf.Link("10Mbit/s"), pf.Pi2(), flows)
            runs.append(pf.fluid.simulate(scenario, sample="100ms"))
        np.testing.assert_allclose(runs[0].window, runs[1].window, rtol=1e-6)
        np.testing.assert_allclose(runs[0].queue_delay, runs[1].queue_delay, rtol=1e-6, atol=1e-9)

    @pytest.mark.slow
    def test_batch(self):
        flows = [pf.Flows(pf.Reno(growth="per_ack"), 10, "80ms")]
        scenario = pf.Scenario(60.0, pf.Link("10Mbit/s"), pf.Pi2(), flows)
        for engine in ("c", "jax"):
            runs = pf.fluid.batch(scenario, {"flows.0.count": [10]}, after="40s", engine=engine)
            assert float(runs.window_mean.item()) == pytest.approx(25e6 / 3 / 1e6, rel=1e-3)

    def test_map(self):
        """At p' = 1 the window is 1 segment, sqrt(increase/decrease)."""
        with pytest.raises(pf.DomainError, match=r"below 1, where p' would exceed 1"):
            pf.margin_map(pf.Pi2(), pf.Reno(growth="per_ack"), rtts=["100ms"], rates=["1kbit/s"])


class TestOwnLaws:
    @pytest.mark.slow
    @patient
    @given(rtt=rtts, p=probabilities)
    def test_half_per_mark_is_scalable(self, rtt, p):
        mine, theirs = HalfPerMark(), pf.Scalable()
        assert mine.at_rest(rtt, p) == pytest.approx(theirs.at_rest(rtt, p), rel=1e-12)
        args = (12.0, 11.0, p, rtt, 1.1 * rtt)
        assert mine.rate(*args) == theirs.rate(*args)

    def test_in_a_mixture(self):
        def point(sender):
            flows = [pf.Flows(sender, 10, "20ms"), pf.Flows(pf.Reno(), 5, "80ms")]
            return pf.equilibrium(flows, pf.CoupledPi2(), "40Mbit/s")

        mine, theirs = point(HalfPerMark()), point(pf.Scalable())
        assert mine.controller == pytest.approx(theirs.controller, rel=1e-12)
        assert mine.window == pytest.approx(theirs.window, rel=1e-12)

    @pytest.mark.parametrize("p", [1e-6, 0.02, 0.3, 1.0])
    def test_two_states_at_rest(self, p):
        window, alpha = Averaging().at_rest(0.1, p)
        assert alpha == pytest.approx(p, rel=1e-9)
        assert window == pytest.approx(2 / p**2, rel=1e-9)
        drift = Averaging().rate((window, alpha), (window, alpha), p, 0.1, 0.1)
        assert max(map(abs, drift)) * 0.1 < 1e-9

    def test_a_state_may_rest_at_zero(self):
        class Fading(pf.Reno):
            states: ClassVar = ("window", "boost")
            at_rest = pf.Sender.at_rest

            def initial(self, window):
                return (window, 1.0)

            def rate(self, x, x_delayed, signal_delayed, rtt, rtt_delayed):
                window, boost = x
                fall = 0.5 * window * x_delayed[0] / rtt_delayed * signal_delayed
                return ((1 + boost) / rtt - fall, -0.1 * boost / rtt)

        window, boost = Fading().at_rest(0.1, 0.02)
        assert window == pytest.approx(10.0, rel=1e-9)
        assert boost == pytest.approx(0.0, abs=1e-20)

    def test_two_states_at_rest_on_arrays(self):
        p = np.array([[0.02], [0.3]])
        window, alpha = Averaging(gain=[1 / 16, 1 / 4, 1.0]).at_rest(0.1, p)
        assert window.shape == alpha.shape == (2, 3)
        np.testing.assert_allclose(alpha, np.broadcast_to(p, (2, 3)), rtol=1e-9)
        np.testing.assert_allclose(window, np.broadcast_to(2 / p**2, (2, 3)), rtol=1e-9)

    def test_two_states_have_an_operating_point(self):
        point = pf.equilibrium_of(Averaging(), pf.CoupledPi2(), rtt="100ms", p=0.1)
        assert point.window == pytest.approx(200.0, rel=1e-9)
        assert point.states[0] == pytest.approx((200.0, 0.1), rel=1e-9)
        assert point.rate == pytest.approx(2000.0, rel=1e-9)
        assert point.controller == 0.05
        # and back from the rate
        assert Averaging().equilibrium(0.1, 2000.0) == pytest.approx(0.1, rel=1e-9)

    def test_no_probability_gives_the_rate(self):
        with pytest.raises(
            pf.DomainError, match=r"HalfPerMark reaches 1\.0 segments/s at no signal"
        ):
            HalfPerMark().equilibrium(0.1, 1.0)

    def test_several_states_need_an_initial(self):
        class Forgetful(Averaging):
            initial = pf.Sender.initial

        with pytest.raises(pf.UnsupportedError, match="define initial"):
            Forgetful().at_rest(0.1, 0.1)

    def test_never_at_rest(self):
        class Restless(pf.Sender):
            signal: ClassVar = "classic"

            def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
                return 1 / rtt + w * p_delayed

        with pytest.raises(pf.SolverError, match="Restless is at rest at no window"):
            Restless().at_rest(0.1, 0.1)

    @pytest.mark.parametrize("law", [Unmarked(), Leaving()])
    def test_a_window_that_falls_whatever_it_is_rests_at_0(self, law):
        windows = np.broadcast_to(law.at_rest(0.1, np.array([0.01, 1.0])), (2,))
        assert windows[0] == pytest.approx(law.formula(0.01), rel=1e-12)
        assert windows[1] == law.at_rest(0.1, 1.0) == 0.0
        # and is found where a rate or a capacity is asked for, which p = 1 only bounds
        rate = law.formula(0.01) / 0.1
        assert law.equilibrium(0.1, rate) == pytest.approx(0.01, rel=1e-12)
        for aqm in (pf.Pi(), pf.Pi2(), pf.CoupledPi2()):
            point = pf.equilibrium(pf.Flows(law, 10, "80ms"), aqm, "12Mbit/s")
            assert point.window[0] == pytest.approx(10.0, rel=1e-12)
            assert law.formula(point.p[0]) == pytest.approx(10.0, rel=1e-11)

    def test_two_states_whose_window_falls_whatever_it_is(self):
        window, alpha = UnmarkedTwo().at_rest(0.1, 1.0)
        assert (window, alpha) == (0.0, 1.0)
        point = pf.equilibrium(pf.Flows(UnmarkedTwo(), 10, "80ms"), pf.Pi2(), "12Mbit/s")
        p = point.p[0]
        assert 2.0 * (1.0 - p) / p**2 == pytest.approx(10.0, rel=1e-11)

    def test_no_loop_of_flows_that_do_not_send(self):
        with (
            pytest.raises(pf.DomainError, match="rests at a window of 0 segments"),
            pytest.warns(pf.AssumptionWarning, match="below the 2"),
        ):
            pf.Loop(Unmarked(), pf.Pi2(), rtt=0.1, p=1.0).margins()

    def test_of_two_rests_the_one_to_which_the_window_comes_back(self):
        class Losing(HalfPerMark):  # falls below some 1/19 segments, too
            def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
                return (w / (1 + w) - 0.05 - 0.5 * w * p_delayed) / rtt

        for p in (0.01, 1e-60, 1e-300):  # beyond the windows that are searched at first, too
            assert Losing().at_rest(0.1, p) == pytest.approx(1.9 / p, rel=2.0 * p + 1e-12)

    def test_a_window_beyond_any_under_the_weakest_signals(self):
        class Steep(HalfPerMark):  # W = (0.2/p)^2: 4e58 at the least p' of Pi2
            def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
                return (0.1 * w**1.5 - 0.5 * w * w_delayed * p_delayed) / rtt

        point = pf.equilibrium(pf.Flows(Steep(), 10, "80ms"), pf.Pi2(), "12Mbit/s")
        assert point.p[0] == pytest.approx(0.2 / np.sqrt(10.0), rel=1e-12)

    def test_rest_at_one_probability_alone_is_refused(self):
        class Mimd(HalfPerMark):  # any window at p = 0.02, none elsewhere
            def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
                return w * (0.01 - 0.5 * p_delayed) / rtt

        for aqm in (pf.Pi(), pf.Pi2()):
            with pytest.raises(pf.SolverError, match="Mimd is at rest at no window"):
                pf.equilibrium(pf.Flows(Mimd(), 10, "80ms"), aqm, "12Mbit/s")

    def test_flows_that_need_no_signal_to_leave_the_link_idle(self):
        class Content(HalfPerMark):  # 5 segments at most
            def rate(self, w, w_delayed, p_delayed, rtt, rtt_delayed):
                return (5.0 - w) / rtt - 0.5 * w_delayed / rtt_delayed * p_delayed

        with pytest.raises(
            pf.DomainError, match=r"offer 0.625 times the capacity where no queue waits"
        ):
            pf.equilibrium(pf.Flows(Content(), 10, "80ms"), pf.Pi2(), "12Mbit/s")

    def test_unknown_signal_is_refused_when_the_class_is_made(self):
        with pytest.raises(pf.UnsupportedError, match="Loud signal = 'Classic' is no kind"):

            class Loud(HalfPerMark):
                signal: ClassVar = "Classic"

    def test_deaf_sender_has_no_loop_of_its_own(self):
        with pytest.raises(pf.UnsupportedError, match="Deaf ignores congestion signals"):
            pf.equilibrium_of(Deaf(), pf.Pi2(), rtt=0.1, p=0.1)

    def test_deaf_senders_alone_rest_by_their_windows(self):
        with pytest.raises(pf.DomainError, match=r"offer 0\.15 times the capacity where no"):
            pf.equilibrium(pf.Flows(Deaf(), 1, 0.08), pf.Pi2(), "10Mbit/s")
        # 120 packets under way, 80 of which a path of 80 ms holds at 1000/s
        flows = pf.Flows(Deaf(), 12, "80ms")
        for aqm in (pf.TailDrop(), pf.Pi2()):
            point = pf.equilibrium(flows, aqm, "12Mbit/s")
            assert point.queue == pytest.approx(40.0, rel=1e-12)
        with pytest.raises(pf.UnsupportedError, match="no window of these flows answers"):
            pf.Loop(flows, pf.TailDrop(), capacity="12Mbit/s").margins()

    def test_deaf_sender_leaves_its_rest_to_the_others(self):
        flows = [pf.Flows(Deaf(), 2, "80ms"), pf.Flows(pf.Reno(), 10, "80ms")]
        point = pf.equilibrium(flows, pf.Pi2(), "12Mbit/s")  # 1000 packets/s
        assert point.p[0] == 0.0
        assert point.rate[0] == pytest.approx(100.0)
        assert 2 * point.rate[0] + 10 * point.rate[1] == pytest.approx(1000.0, rel=1e-12)

    def test_deaf_senders_that_fill_the_link(self):
        flows = [pf.Flows(Deaf(), 12, "80ms"), pf.Flows(pf.Reno(), 1, "80ms")]
        with pytest.raises(pf.DomainError, match="capacity"):
            pf.equilibrium(flows, pf.Pi2(), "12Mbit/s")


class TestOneLawEverywhere:
    @pytest.mark.parametrize("law", [*laws(0.3), HalfPerMark()], ids=lambda law: type(law).__name__)
    def test_floats_numpy_and_jax_agree(self, law, jax):
        rng = np.random.default_rng(1)
        args = rng.uniform([1, 1, 0, 0.01, 0.01], [50, 50, 1, 0.3, 0.3], size=(20, 5)).T
        plain = [law.rate(*map(float, column)) for column in args.T]
        # rounding may differ by an order of multiplication, relative to the larger of the terms
        scale = np.abs(1 / args[3]) + np.abs(args[0] * args[1] * args[2] / args[4])
        with jax.enable_x64(True):
            traced = jax.jit(law.rate)(*args)
            assert traced.dtype == np.float64
        assert np.all(np.abs(law.rate(*args) - plain) <= 1e-15 * scale)
        assert np.all(np.abs(np.asarray(traced) - plain) <= 1e-15 * scale)

    @pytest.mark.parametrize(
        ("name", "reference"),
        [("exp", math.exp), ("log", math.log), ("sqrt", math.sqrt), ("cbrt", math.cbrt)],
    )
    def test_functions_of_one(self, name, reference, jax):
        function = getattr(ops, name)
        x = np.array([0.1, 1.0, 2.5])
        expected = [reference(v) for v in x]
        assert [float(function(float(v))) for v in x] == pytest.approx(expected, rel=1e-15)
        np.testing.assert_allclose(function(x), expected, rtol=1e-15)
        with jax.enable_x64(True):
            np.testing.assert_allclose(jax.jit(function)(x), expected, rtol=4e-15)

    def test_functions_of_several(self, jax):
        a, b = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 1.0])
        for name, expected in (("minimum", [1, 2, 1]), ("maximum", [2, 2, 3])):
            function = getattr(ops, name)
            assert function(a, b).tolist() == expected
            assert [
                float(function(float(x), float(y))) for x, y in zip(a, b, strict=True)
            ] == expected
            assert jax.jit(function)(a, b).tolist() == expected
        assert ops.where(a > b, a, b).tolist() == [2, 2, 3]
        assert jax.jit(lambda x, y: ops.where(x > y, x, y))(a, b).tolist() == [2, 2, 3]

    def test_scalars_stay_scalars(self):
        for value in (ops.where(True, 1.0, 2.0), ops.minimum(1.0, 2.0), ops.sqrt(4.0)):
            assert np.ndim(value) == 0
            assert isinstance(value, float)
        assert ops.cbrt(-8.0) == pytest.approx(-2.0)

    def test_jax_is_chosen_by_the_values(self, jax):
        assert ops.namespace(1.0, np.ones(2)) is np
        assert ops.namespace(1.0, jax.numpy.ones(2)) is jax.numpy
