"""Prague: its rest and published rate, its kinks, its loop, and both clocks."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.laws.senders.prague import Prague

patient = settings(deadline=None)  # a loaded machine is no reason to fail

gains = st.floats(1e-3, 1.0)
rtts = st.floats(1e-3, 2.0)
probabilities = st.floats(1e-6, 0.999)

#: RTT, p, PI gains and update interval -> window, gain margin, its frequency, phase margin, its
#: frequency, and the rightmost root, of an independent computation (k = 2, frozen).
LOOPS = [
    ((0.02, 0.1, 0.16, 3.2, 0.016), (14.4, 40.42401903, 18.12963560, 32.03049129, 2.49189768),
     -0.76910994 + 2.61266994j),
    ((0.05, 0.1, 0.16, 3.2, 0.016), (18.0, 0.57442892, 1.88334526, -5.45210159, 2.41494940),
     0.10017851 + 2.39876974j),
    ((0.1, 0.02, 0.3125, 3.125, 0.032), (98.0, 0.00824796, 0.26539010, -54.34691537, 1.89703744),
     0.64712912 + 1.72147496j),
    ((0.01, 0.05, 0.16, 3.2, 0.016), (15.2, 130.76506643, 21.85454835, 22.76513307, 1.86016578),
     -0.38043719 + 1.91711165j),
]  # fmt: skip


class TestRest:
    @patient
    @given(gain=gains, rtt=rtts, p=probabilities)
    def test_is_a_state_of_rest(self, gain, rtt, p):
        law = Prague(gain=gain)
        x = law.at_rest(rtt, p)
        assert x[1] == p
        growth, alpha = law.rate(x, x, p, rtt, rtt)
        assert abs(growth) * law.virtual_rtt(rtt) < 1e-12 * (1 + x[0])
        assert alpha == 0.0

    @pytest.mark.parametrize("p", [1e-5, 0.01, 0.3, 0.5, 0.9])
    @pytest.mark.parametrize("rtt", [0.001, 0.025, 0.1])
    def test_closed_forms_are_what_the_solvers_find(self, rtt, p):
        law = Prague()
        x = law.at_rest(rtt, p)
        assert pf.Sender.at_rest(law, rtt, p) == pytest.approx(x, rel=1e-9)
        rate = law.sending_rate(x, rtt)
        assert law.equilibrium(rtt, rate) == pytest.approx(p, rel=1e-12)
        assert pf.Sender.equilibrium(law, rtt, rate) == pytest.approx(p, rel=1e-9)

    def test_the_published_rate(self):
        """r = 1/p - 1 in Mbit/s, times 25 ms/RTT above: 4 % more than with 1500 bytes."""
        for rtt in (0.002, 0.01, 0.025, 0.05, 0.1):
            for p in (0.001, 0.02, 0.1, 0.5):
                published = (1 / p - 1) * min(1.0, 0.025 / rtt)
                mine = Prague().sending_rate(Prague().at_rest(rtt, p), rtt) * 12_000 / 1e6
                assert mine == pytest.approx(0.96 * published, rel=1e-12)

    def test_dctcp_is_the_limit_of_no_target(self):
        """But for the marked segments, on which it does not grow."""
        law = Prague(target_rtt="1us")
        window, _ = law.at_rest(0.05, 0.01)
        assert window == pytest.approx(0.99 * pf.Dctcp().at_rest(0.05, 0.01)[0])

    def test_arrays(self):
        rtt, p = np.array([[0.01], [0.1]]), np.array([0.01, 0.1, 0.6])
        window, alpha = Prague().at_rest(rtt, p)
        assert np.broadcast_shapes(window.shape, alpha.shape) == (2, 3)
        for i, j in np.ndindex(2, 3):
            assert window[i, j] == Prague().at_rest(float(rtt[i, 0]), float(p[j]))[0]

    def test_equal_rates_over_short_paths(self):
        flows = [pf.Flows(Prague(), 1, path) for path in ("2ms", "10ms", "60ms")]
        point = pf.equilibrium(
            flows, pf.CoupledPi2(target="10ms", update_interval="8ms"), "60Mbit/s"
        )
        rates = np.divide(point.window, point.rtt)
        assert rates[0] == pytest.approx(rates[1], rel=1e-12)
        assert rates[2] == pytest.approx(rates[0] * 25 / 70, rel=1e-12)


class TestMotion:
    def test_it_grows_by_what_was_not_marked(self):
        rtt = 0.05
        lossless, _ = Prague().rate((10.0, 0.0), (10.0, 0.0), 0.0, rtt, rtt)
        assert lossless == pytest.approx(1 / rtt)
        marked, _ = Prague().rate((10.0, 0.0), (10.0, 0.0), 0.25, rtt, rtt)
        assert marked == pytest.approx(0.75 / rtt)
        short, _ = Prague().rate((10.0, 0.0), (10.0, 0.0), 0.0, 0.01, 0.01)
        assert short == pytest.approx(0.4**2 / 0.01)

    def test_at_most_one_reduction_each_virtual_round_trip(self):
        for rtt in (0.01, 0.1):
            virtual = max(rtt, 0.025)
            slow = [Prague().rate((40.0, 0.5), (w, 0.5), 0.1, rtt, rtt)[0] for w in (1, 400, 800)]
            growth = [w * 0.9 / 40.0 / rtt * (rtt / virtual) ** 2 for w in (1, 400, 800)]
            few = 0.1 * virtual / rtt  # marks in one
            fall = np.subtract(growth, slow) * virtual / 10.0
            assert fall == pytest.approx([few, 1.0, 1.0])

    def test_versions(self):
        """They differ in packets; in the fluid the first marks halve by the law itself."""
        new, old = Prague(), Prague(version="draft")
        assert new.initial(10.0) == old.initial(10.0) == (10.0, 1.0)
        assert new.packet_parameters()["first_alpha"] == 0.0
        assert old.packet_parameters()["first_alpha"] == 1.0
        assert new.rate((9.0, 0.2), (9.0, 0.2), 0.1, 0.05, 0.05) == old.rate(
            (9.0, 0.2), (9.0, 0.2), 0.1, 0.05, 0.05
        )
        assert new.packet_parameters()["rounds"] == 4
        assert old.packet_parameters()["rounds"] == 500

    def test_both_clocks_are_one_law_where_it_rests(self):
        law, rtt, p = Prague(), 0.01, 0.05
        x = law.at_rest(rtt, p)
        (growth, alpha), cut = law.acked(x, x[0] / rtt, p * x[0] / rtt, rtt)
        assert growth == pytest.approx(cut, rel=1e-14)
        assert alpha == pytest.approx(0.0, abs=1e-15)


class TestLoop:
    @pytest.mark.parametrize(("given_", "expected", "root"), LOOPS)
    @pytest.mark.filterwarnings("ignore:update_interval")
    def test_margins_and_roots(self, given_, expected, root):
        rtt, p, alpha, beta, interval = given_
        queue = pf.CoupledPi2(alpha=alpha, beta=beta, update_interval=interval, target="1ms")
        loop = pf.Loop(Prague(), queue, rtt=rtt, p=p)
        margins = loop.margins()
        found = (loop.operating_point.window, margins.gain_margin, margins.phase_crossover,
                 margins.phase_margin_deg, margins.gain_crossover)  # fmt: skip
        assert found == pytest.approx(expected, rel=1e-6)
        assert loop.roots() == pytest.approx(root, rel=1e-7)
        assert margins.verdict == ("stable" if root.real < 0 else "unstable")

    def test_a_negative_gain_margin_asks_for_less_gain(self):
        """Its phase passes -180 degrees once, so that no larger gain is stable."""
        (rtt, p, alpha, beta, interval), expected, _ = LOOPS[1]

        def unstable(factor):
            queue = pf.CoupledPi2(
                alpha=alpha * factor, beta=beta * factor, update_interval=interval, target="1ms"
            )
            return pf.Loop(Prague(), queue, rtt=rtt, p=p).nyquist_count()

        edge = expected[1]
        assert [unstable(factor) for factor in (0.99 * edge, 1.01 * edge, 1, 10, 300)] == [0] + [
            2
        ] * 4

    def test_paced_by_acknowledgements(self):
        """No window in flight: a rate W/srtt of what acknowledgements made of W."""
        queue = pf.CoupledPi2(target="15ms", alpha=0.16, beta=3.2, update_interval="16ms")
        loop = pf.Loop(Prague(), queue, rtt="30ms", p=0.05, clock="acks", update="sampled")
        margins = loop.margins()
        assert margins.gain_margin_db == pytest.approx(13.75, abs=0.01)
        assert margins.phase_margin_deg == pytest.approx(17.39, abs=0.01)
        assert margins.verdict == "stable"
        flows = pf.Flows(Prague(), 5, "20ms")
        scenario = pf.Scenario("1s", pf.Link("40Mbit/s"), queue, flows)
        with refused(pf.UnsupportedError, match="Prague paces its packets"):
            pf.simulate(scenario, pf.Fluid(clock="acks"))

    @pytest.mark.filterwarnings("ignore:the window is 0")
    @pytest.mark.parametrize("clock", ["rate", "acks"])
    def test_flows_that_do_not_send_have_no_loop(self, clock):
        with refused(pf.DomainError, match="Prague rests at a window of 0 segments"):
            pf.Loop(Prague(), pf.CoupledPi2(), rtt=0.1, p=1.0, clock=clock).margins()


class TestFluid:
    @pytest.mark.slow
    @pytest.mark.parametrize("path", ["5ms", "10ms", "40ms"])
    def test_it_comes_to_rest_where_the_law_does(self, path):
        """Over paths at, below and above the kink at 25 ms; the compiled run, and Python's."""
        queue = pf.CoupledPi2(alpha=0.005, beta=1.0, target="15ms", update_interval="16ms")
        flows = pf.Flows(Prague(), 10, path, slow_start=False, initial_window=20)
        scenario = pf.Scenario("60s", pf.Link("60Mbit/s"), queue, flows)
        point = pf.equilibrium(flows, queue, "60Mbit/s")
        run = pf.fluid.simulate(scenario)
        assert float(run.window[-1, 0]) == pytest.approx(point.window[0], rel=0.005)
        short = dataclasses.replace(scenario, duration=1.0)
        own = type("Same", (Prague,), {})()  # not known to the compiled engine
        other = dataclasses.replace(short, flows=dataclasses.replace(flows, sender=own))
        slow = pf.fluid.simulate(other)
        fast = pf.fluid.simulate(short)
        np.testing.assert_allclose(fast.window, slow.window, rtol=1e-3)


class TestFields:
    @pytest.mark.parametrize(
        ("given_", "error", "text"),
        [
            ({"gain": 1.5}, pf.DomainError, r"^Prague gain = 1\.5 is outside \(0, 1\]"),
            ({"target_rtt": 0}, pf.DomainError, r"^Prague target_rtt = 0 is outside"),
            ({"version": "2023"}, pf.QuantityError, "^Prague version = '2023' .* '2024', 'draft'"),
        ],
    )
    def test_refusals(self, given_, error, text):
        with pytest.raises(error, match=text):
            Prague(**given_)

    def test_defaults(self):
        law = Prague()
        assert (law.gain, law.target_rtt, law.version) == (1 / 16, 0.025, "2024")
        assert (law.signal, law.paced) == ("scalable", True)
