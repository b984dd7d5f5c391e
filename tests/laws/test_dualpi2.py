"""DualPI2: the law, the sharing of the link, and where it rests. Its loop: test_dualpi2_loop.py."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.laws.aqm import Seen
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.laws.senders.cbr import Cbr
from pi2_fluid.laws.tapes import numbers_on_tape, tape_of
from pi2_fluid.network.rest import has_ticks

PACKET = 12000.0  # bits


def seen(classic=0.015, l4s=0.0):
    return Seen((classic, l4s), 20.0, 1000.0, 1000.0)


def compared(queue, u, classic, l4s):
    """What its signals and its update compare, one row for each."""
    rows = []
    for name, more in (("signals", ()), ("update", (0.016,))):
        tape = tape_of(queue, name)
        values = (u, 0.0, classic, l4s, 20.0, 1000.0, 1000.0, 0.0, *more)
        rows += tape.differences()(*values, parameters=numbers_on_tape(queue, tape))
    return np.array(np.broadcast_arrays(*rows, u)[:-1])


class TestLaw:
    def test_defaults_are_those_of_linux_unrounded(self):
        queue = DualPi2()
        numbers = (queue.alpha, queue.beta, queue.target, queue.update_interval, queue.k)
        assert numbers == (0.16, 3.2, 0.015, 0.016, 2.0)
        assert (queue.bands, queue.step, queue.ramp, queue.c_protection) == (2, 0.001, None, 0.1)

    def test_coupling_is_that_of_one_queue(self, rng):
        dual, single = DualPi2(k=1.7), pf.CoupledPi2(k=1.7)
        u = rng.uniform(0, 1, 50)
        np.testing.assert_array_equal(dual.encode(u), single.encode(u))
        for signal in ("classic", "scalable"):
            np.testing.assert_array_equal(dual.decode(u, signal), single.decode(u, signal))

    def test_one_queue_has_the_same_controller_and_signals_at_the_same_end(self):
        same = {"alpha": 0.16015625, "beta": 3.19921875, "target": 0.01, "update_interval": 0.02}
        same |= {"k": 3.0, "arithmetic": "fixed", "quirks": False, "first_update": 0.1}
        for end in ("dequeue", "enqueue"):
            dual = DualPi2(**same, drop_at=end, step="2ms", c_protection=0.2, min_step_packets=2)
            # Classic packets that can be marked are, in either of the two queues.
            assert dual.in_one_queue() == pf.CoupledPi2(**same, drop_at=end, ecn=True)

    def test_controller_is_that_of_pi2_on_the_driving_delay(self, rng):
        plain = pf.Pi2(alpha=0.16, beta=3.2, target=0.015, update_interval=0.016)
        for classic, l4s in ((0.02, 0.001), (0.001, 0.02), (0.01, 0.01)):
            for variant, driving in (("linux6.18", max(classic, l4s)), ("rfc9332", classic)):
                queue = DualPi2(variant=variant)
                state = (rng.uniform(0, 1), rng.uniform(0, 0.03))
                expected = plain.update(state, Seen(driving, 0.0, 0.0, 0.0), 0.016)
                assert queue.update(state, seen(classic, l4s), 0.016) == expected

    def test_native_marking_is_a_strict_step(self):
        queue = DualPi2(step="2ms")
        delays = np.array([0.0, 0.00199, 0.002, np.nextafter(0.002, 1), 0.1])
        np.testing.assert_array_equal(queue.native(delays), [0, 0, 0, 1, 1])

    def test_or_a_ramp_around_it(self, jax):
        queue = DualPi2(ramp="400us")
        assert queue.ramp_ends == pytest.approx((0.0008, 0.0012))
        delays = np.array([0.0, 0.0008, 0.0009, 0.001, 0.0012, 0.002])
        np.testing.assert_allclose(queue.native(delays), [0, 0, 0.25, 0.5, 1, 1], atol=1e-12)
        # its slope is that of the ramp up to and at its upper end, of the corner nowhere half
        with jax.enable_x64(True):
            slopes = [jax.grad(queue.native)(x) for x in (0.0007, 0.001, 0.0012, 0.0013)]
        np.testing.assert_allclose(slopes, [0, 2500, 2500, 0], rtol=1e-9)

    def test_l4s_packets_see_the_larger_of_two(self):
        queue = DualPi2(ramp="400us")
        for u, l4s, scalable in (
            (0.1, 0.0, 0.2),
            (0.1, 0.00082, 0.2),
            (0.1, 0.001, 0.5),
            (0.4, 0.001, 0.8),
            (0.6, 0.001, 1.0),
            (0.0, 0.002, 1.0),
        ):
            signal = queue.signals((u, 0.015), seen(0.015, l4s))
            assert signal == pytest.approx((u * u, scalable), rel=1e-12)
        step = DualPi2().signals((0.1, 0.015), seen(0.015, 0.0010001))
        assert step == pytest.approx((0.01, 1.0))

    def test_clipping(self):
        assert DualPi2().saturate((1.3, 0.01)) == (1.0, 0.01)
        assert DualPi2(drop_overload=False).saturate((1.3, 0.01)) == (0.5, 0.01)
        assert DualPi2(drop_overload=False, k=0.5).saturate((1.3, 0.01)) == (1.0, 0.01)
        assert DualPi2().saturate((-0.3, 0.01)) == (0.0, 0.01)

    def test_no_continuous_form(self):
        with pytest.raises(pf.UnsupportedError, match=r'two queues.*use update="sampled"'):
            DualPi2().flow((0.1, 0.0), seen(), 0.0)

    @pytest.mark.parametrize("ramp", [None, 0.0004])
    @pytest.mark.parametrize("variant", ["linux6.18", "rfc9332"])
    def test_every_corner_is_a_comparison(self, rng, ramp, variant):
        """Along a random line in (p', both delays): where law or update bend, one changes."""
        queue = DualPi2(ramp=ramp, variant=variant)
        found = 0
        for _ in range(20):
            a, b = np.array([0.7, 0.0015, 0.0015]) * rng.uniform(0, 1, (2, 3))
            x = np.linspace(0, 1, 20001)
            u, classic, l4s = (p + (q - p) * x for p, q in zip(a, b, strict=True))
            here = seen(classic, l4s)
            values = [queue.signals((u, 0.0), here).scalable, queue.driving_delay((classic, l4s))]
            crossed = np.any(np.diff(compared(queue, u, classic, l4s) >= 0, axis=1), axis=0)
            for value in values:
                bends = np.abs(np.diff(value, 2)) > 1e-6 * np.ptp(value) / x.size
                for cell in np.flatnonzero(bends):
                    assert crossed[max(0, cell - 1) : cell + 3].any()
                    found += 1
        assert found > 10

    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"c_protection": 1.01}, "c_protection = 1.01 is outside"),
            ({"c_protection": -0.01}, "c_protection = -0.01 is outside"),
            ({"ramp": "2.1ms"}, "give ramp up to twice step"),
            ({"ramp": [0.001, 0.003]}, "give ramp up to twice step"),
            ({"alpha": 0.0}, "without integral control"),
            ({"step": 0.0}, "step = 0.0 is outside"),
        ],
    )
    def test_domain(self, fields, words):
        with pytest.raises(pf.DomainError, match=words):
            DualPi2(**fields)

    def test_choices_and_record(self, jax):
        for fields in ({"variant": "linux4.14"}, {"drop_at": "head"}, {"drop_overload": 1}):
            with pytest.raises(pf.QuantityError, match="is unknown"):
                DualPi2(**fields)
        queue = DualPi2(ramp="400us")
        assert DualPi2(step="1ms", ramp=4e-4) == queue != DualPi2()
        assert jax.tree.map(lambda x: 2 * x, queue).ramp == 8e-4
        assert jax.tree.map(lambda x: 2 * x, DualPi2()).ramp is None


class TestLink:
    queue = DualPi2(c_protection=0.1)

    @pytest.mark.parametrize(
        ("backlogged", "arrivals", "served"),
        [
            ((False, False), (300, 400), (300, 400)),
            ((True, False), (5000, 400), (600, 400)),
            ((True, False), (50, 950), (100, 900)),
            ((True, False), (50, 2000), (100, 900)),
            ((False, True), (300, 400), (100, 900)),
            ((False, True), (30, 4000), (30, 970)),
            ((True, True), (1, 1), (100, 900)),
        ],
    )
    def test_shares(self, backlogged, arrivals, served):
        assert self.queue.serve(backlogged, arrivals, 1000.0) == pytest.approx(served)

    def test_no_part_of_the_link_is_wasted_or_given_twice(self, rng):
        """And C is never served less than its part while it waits, nor L less than the rest."""
        for _ in range(300):
            c, capacity = rng.uniform(0.01, 0.99), 10 ** rng.uniform(1, 4)
            queue, arrivals = DualPi2(c_protection=c), capacity * rng.uniform(0, 1.2, 2)
            backlogged = rng.integers(0, 2, 2).astype(bool)
            to_c, to_l = queue.serve(backlogged, arrivals, capacity)
            need = np.where(backlogged, np.inf, arrivals)
            assert to_c + to_l == pytest.approx(min(capacity, need.sum()), rel=1e-12)
            assert to_c >= min(need[0], c * capacity) * (1 - 1e-12)
            assert to_l >= min(need[1], (1 - c) * capacity) * (1 - 1e-12)
            assert to_c <= need[0]
            assert to_l <= need[1]

    def test_arrays_as_floats(self):
        arrivals = np.array([[300.0, 50.0, 30.0], [400.0, 950.0, 4000.0]])
        waiting = np.array([[True, True, False], [False, False, True]])
        whole = self.queue.serve(waiting, arrivals, 1000.0)
        for index in range(3):
            one = self.queue.serve(waiting[:, index], arrivals[:, index], 1000.0)
            assert [part[index] for part in whole] == pytest.approx(one)

    def test_delays(self):
        assert self.queue.delays((12.0, 3.0), (600.0, 400.0)) == pytest.approx((0.02, 0.0075))
        assert self.queue.delays((12.0, 0.0), (600.0, 0.0)) == (0.02, 0.0)
        pair = self.queue.delays((np.array([12.0, 0.0]), np.array([0.0, 4.0])), (600.0, 400.0))
        np.testing.assert_allclose(pair, [[0.02, 0.0], [0.0, 0.01]])


class TestAtRest:
    def test_one_class(self):
        dual = pf.equilibrium_of(pf.Reno(), DualPi2(), rtt="100ms", p=0.01)
        single = pf.equilibrium_of(pf.Reno(), pf.Pi2(target="15ms"), rtt="100ms", p=0.01)
        assert (dual.controller, dual.window, dual.queue) == (
            single.controller,
            single.window,
            single.queue,
        )
        assert dual.queue_delay == (0.015, 0.0)

    def test_arrays(self):
        flows = [
            pf.Flows(pf.Reno(), np.array([2.0, 4.0, 30.0]), "50ms"),
            pf.Flows(pf.Scalable(), 10, "30ms"),
        ]
        whole = pf.Loop(flows, DualPi2(), capacity="100Mbit/s")
        assert whole.shape == (3,)
        margins = whole.margins()
        for index, count in enumerate((2.0, 4.0, 30.0)):
            flows[0] = pf.Flows(pf.Reno(), count, "50ms")
            one = pf.Loop(flows, DualPi2(), capacity="100Mbit/s")
            assert whole.operating_point.controller[index] == pytest.approx(
                one.operating_point.controller, rel=1e-12
            )
            assert margins.gain_margin_db[index] == pytest.approx(
                one.margins().gain_margin_db, abs=1e-8
            )

    def test_more_l4s_traffic_than_the_scheduler_leaves_room_for(self):
        """It would take 94 %: Classic packets get 10 % all the same, and nothing rests there."""
        flows = [pf.Flows(pf.Reno(), 1, "50ms"), pf.Flows(pf.Scalable(), 17, "50ms")]
        with pytest.warns(pf.AssumptionWarning, match=r"would take 94.* % of the link"):
            loop = pf.Loop(flows, DualPi2(), capacity="100Mbit/s")
        assert loop.operating_point.broken == ("protection",)
        with pytest.raises(pf.UnsupportedError, match="c_protection leaves it"):
            loop.margins()
        less = pf.Loop(flows, DualPi2(c_protection=0.05), capacity="100Mbit/s")
        assert less.operating_point.broken == ()
        assert less.margins().verdict

    def test_more_than_full_marking(self):
        flows = [pf.Flows(pf.Reno(), 15, "20ms"), pf.Flows(pf.Scalable(), 2, "20ms")]
        with pytest.warns(pf.AssumptionWarning) as caught:
            point = pf.equilibrium(flows, DualPi2(), "10Mbit/s")
        assert point.controller > 0.5
        assert "clamped" in point.broken
        assert any("clips its signal" in str(warning.message) for warning in caught)

    def test_l4s_alone_on_a_step_never_rests(self):
        for ask in (
            lambda: pf.equilibrium_of(pf.Scalable(), DualPi2(), rtt="10ms", p=0.1),
            lambda: pf.equilibrium(pf.Flows(pf.Scalable(), 5, "10ms"), DualPi2(), "10Mbit/s"),
            lambda: pf.Loop(pf.Scalable(), pf.presets.linux_dualpi2(), rtt="10ms", p=0.1),
        ):
            with pytest.raises(pf.UnsupportedError, match="never rests, so that there is no loop"):
                ask()
        with pytest.raises(pf.UnsupportedError, match="Scalable under DualPi2 has no closed-form"):
            pf.loop.low_load(pf.Scalable(), DualPi2(), 0.1)

    def test_l4s_alone_on_a_ramp(self):
        """The controller stays at 0, and the ramp alone holds the flows back."""
        queue = DualPi2(ramp="400us")
        point = pf.equilibrium(pf.Flows(pf.Scalable(), 4, "10ms"), queue, "40Mbit/s")
        assert point.controller == 0.0
        classic, l4s = point.queue_delay
        assert classic == 0.0
        assert queue.native(l4s) == pytest.approx(point.p[0], rel=1e-9)
        assert 4 * (2 / point.p[0]) / (0.01 + l4s) == pytest.approx(40e6 / PACKET, rel=1e-9)
        assert not has_ticks(queue, point.controller)
        assert "update_interval" not in point.broken

    def test_a_ramp_beyond_the_target_hands_over_to_the_controller(self):
        """Linux acts on the delay of L as well: it rests at the target, coupled, as one queue."""
        queue = DualPi2(step="40ms", ramp="80ms")
        point = pf.equilibrium_of(pf.Scalable(), queue, rtt="50ms", p=0.3)
        assert point.queue_delay == (0.0, 0.015)
        assert point.controller == 0.15
        loop = pf.Loop(pf.Scalable(), queue, rtt="50ms", p=0.3, update="sampled", rtt_terms="exact")
        single = pf.CoupledPi2(alpha=0.16, beta=3.2, target=0.015, update_interval=0.016)
        one = pf.Loop(pf.Scalable(), single, rtt="50ms", p=0.3, update="sampled", rtt_terms="exact")
        s = 1j * np.geomspace(0.1, 190, 9)
        np.testing.assert_allclose(loop(s), one(s), rtol=1e-12)
        # below the target the ramp holds, and RFC 9332 never asks for the delay of L
        assert pf.equilibrium_of(pf.Scalable(), queue, rtt="50ms", p=0.1).controller == 0.0
        rfc = dataclasses.replace(queue, variant="rfc9332")
        assert pf.equilibrium_of(pf.Scalable(), rfc, rtt="50ms", p=0.3).controller == 0.0
        both = pf.Loop(pf.Scalable(), queue, rtt="50ms", p=np.array([0.1, 0.3]))
        with pytest.raises(pf.UnsupportedError, match="loops of two kinds: split the arrays"):
            both.margins()

    def test_beside_unresponsive_classic_traffic(self):
        """Within its protection the Classic queue is empty; above it, it holds the L4S flows."""
        queue = DualPi2(ramp="400us", variant="rfc9332")
        flows = [pf.Flows(pf.Scalable(), 5, "20ms"), pf.Flows(Cbr(rate="3Mbit/s", thinned=False))]
        point = pf.equilibrium(flows, queue, "40Mbit/s")
        assert point.queue_delay[0] == 0.0
        assert point.controller == 0.0
        assert point.share == pytest.approx((37 / 40, 3 / 40))
        assert point.broken == ()
        smaller = pf.Loop(flows[0], queue, capacity="37Mbit/s")
        s = 1j * np.geomspace(1, 1e3, 9)
        beside = pf.Loop(flows, queue, capacity="40Mbit/s")
        np.testing.assert_allclose(beside(s), smaller(s), rtol=1e-9)
        flows[1] = pf.Flows(Cbr(rate="6Mbit/s", thinned=False))
        point = pf.equilibrium(flows, queue, "40Mbit/s")
        assert point.queue_delay == (0.015, 0.0)
        assert point.share == pytest.approx((34 / 40, 6 / 40))
        # then the delay integrates what the L4S flows do, as y' as well: no damping by R
        loop = pf.Loop(flows, queue, capacity="40Mbit/s")
        R, u = 0.02, point.controller
        e = np.exp(-s * R)
        D = s * R * point.window[0] + e
        expected = (0.16 / 0.016 + 3.28 * s) / (s * u) * 34 / 6 * (1 + 0.015 * s) * e / D / s
        np.testing.assert_allclose(loop(s), expected, rtol=1e-9)

    def test_no_path_at_all(self):
        flows = [pf.Flows(pf.Reno(), 1, "50ms"), pf.Flows(pf.Scalable(), 1, 0.0)]
        with pytest.raises(pf.ScenarioError, match="L4S queue is nearly empty: give base_rtt > 0"):
            pf.equilibrium(flows, DualPi2(), "10Mbit/s")

    def test_a_dual_queue_of_ones_own(self):
        @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
        class Mine(pf.Pi2):
            bands: ClassVar = 2

        for ask in (
            lambda: pf.equilibrium_of(pf.Scalable(), Mine(), rtt=0.1, p=0.1),
            lambda: pf.equilibrium(pf.Flows(pf.Reno(), 1, 0.1), Mine(), 1e7),
        ):
            with pytest.raises(pf.UnsupportedError, match="Mine has two queues"):
                ask()
