"""Where flows and queue settle: closed forms, mixtures, arrays, and broken assumptions."""

from __future__ import annotations

import dataclasses
import itertools
import linecache
import math
import warnings
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from own_laws import HalfPerMark

import pi2_fluid as pf

patient = settings(deadline=None)  # a loaded machine is no reason to fail

QUEUES = [pf.Pi(), pf.Pie(), pf.Pi2(), pf.CoupledPi2()]
SENDERS = [pf.Reno(), pf.CReno(), pf.Scalable()]


def omega(sender: Any, k: float) -> float:
    """W = omega / p' for every law under the coupled queue."""
    if isinstance(sender, pf.Reno):
        return 1 / math.sqrt(sender.decrease)
    return 1 / (sender.per_mark * k)


# Parameters for which no assumption breaks at any u up to 0.2: a warning fails the test.
reno = st.builds(pf.Reno, decrease=st.floats(0.1, 1.0))
scalable = st.builds(pf.Scalable, per_mark=st.floats(0.1, 0.8))


def classes(sender: Any, most: int = 4) -> Any:
    one = st.tuples(sender, st.floats(0.5, 1000), st.floats(0.015, 0.5))
    return st.lists(one, min_size=1, max_size=most)


class TestOneClass:
    @pytest.mark.parametrize("sender", SENDERS, ids=lambda s: type(s).__name__)
    @pytest.mark.parametrize("queue", QUEUES, ids=lambda q: type(q).__name__)
    def test_is_a_state_of_rest(self, sender, queue):
        point = pf.equilibrium_of(sender, queue, rtt="100ms", p=0.04)
        assert getattr(queue.encode(point.controller), sender.signal) == pytest.approx(0.04)
        assert abs(sender.rate(point.window, point.window, 0.04, 0.1, 0.1)) < 1e-13
        assert point.rate == pytest.approx(point.window / 0.1, rel=1e-15)
        assert point.queue_delay == queue.target
        assert point.queue == pytest.approx(point.rate * queue.target, rel=1e-15)
        assert point.rtt == 0.1
        assert point.share == 1.0
        assert point.broken == ()

    @pytest.mark.parametrize(
        ("sender", "queue", "p", "expected"),
        [
            # (p', window, controller): p' is sqrt(p) for a classic sender, p for a scalable one
            (pf.Reno(), pf.Pi(), 0.02, (math.sqrt(0.02), 10.0, 0.02)),
            (pf.Reno(), pf.Pi2(), 0.02, (math.sqrt(0.02), 10.0, math.sqrt(0.02))),
            (pf.Reno(), pf.CoupledPi2(), 0.02, (math.sqrt(0.02), 10.0, math.sqrt(0.02))),
            (pf.Scalable(), pf.Pi(), 0.02, (0.02, 100.0, 0.02)),
            (pf.Scalable(), pf.Pi2(), 0.02, (0.02, 100.0, math.sqrt(0.02))),
            (pf.Scalable(), pf.CoupledPi2(k=4), 0.02, (0.02, 100.0, 0.005)),
        ],
    )
    def test_three_words_that_are_never_mixed(self, sender, queue, p, expected):
        point = pf.equilibrium_of(sender, queue, rtt=0.1, p=p)
        found = (point.p_prime, point.window, point.controller)
        assert found == pytest.approx(expected, rel=1e-14)
        again = pf.equilibrium_of(sender, queue, rtt=0.1, p_prime=point.p_prime)
        assert again.p == pytest.approx(p, rel=1e-14)
        assert again.window == pytest.approx(point.window, rel=1e-14)

    def test_numbers_are_plain(self):
        for point in (
            pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt="100ms", p=0.02),
            pf.equilibrium(pf.Flows(pf.Reno(), 10, "80ms"), pf.Pi2(), "12Mbit/s"),
        ):
            for name, value in vars(point).items():
                if name not in ("broken", "states"):
                    values = value if isinstance(value, tuple) else (value,)
                    assert all(type(number) is float for number in values), name

    def test_arrays_are_loops_over_numbers(self):
        rtt, p = np.array([[0.05], [0.1], [0.2]]), np.array([0.001, 0.1])
        whole = pf.equilibrium_of(pf.Reno(), pf.Pi2(target=[0.01, 0.02]), rtt=rtt, p=p)
        for i, j in itertools.product(range(3), range(2)):
            queue = pf.Pi2(target=[0.01, 0.02][j])
            one = pf.equilibrium_of(pf.Reno(), queue, rtt=float(rtt[i, 0]), p=float(p[j]))
            for name in ("controller", "queue_delay", "queue", "p_prime", "window", "rate"):
                value = np.broadcast_to(getattr(whole, name), (3, 2))[i, j]
                assert value == pytest.approx(getattr(one, name), rel=1e-14), name

    @pytest.mark.parametrize("given_", [{}, {"p": 0.1, "p_prime": 0.3}])
    def test_exactly_one_load(self, given_):
        with pytest.raises(pf.DomainError, match=r"p = .* and p_prime = .* exactly one"):
            pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt=0.1, **given_)

    @pytest.mark.parametrize("name", ["p", "p_prime"])
    def test_load_above_one(self, name):
        with pytest.raises(pf.DomainError, match=rf"^{name} = 1\.5 is outside \(0, 1\]"):
            pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt=0.1, **{name: 1.5})
        with pytest.raises(pf.DomainError, match=rf"^{name} = 2\.0 is outside \(0, 1\]"):
            pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt=0.1, **{name: [0.5, 2.0]})


class TestMixtures:
    """p' = (1/C) sum N_i omega_i / R_i: every window is omega_i / p'."""

    @pytest.mark.slow
    @patient
    @given(classes(st.one_of(reno, scalable)), st.floats(1e-4, 0.2), st.floats(1.0, 3.0))
    def test_closed_form(self, given_, u, k):
        queue = pf.CoupledPi2(k=k)
        flows = [pf.Flows(sender, n, base) for sender, n, base in given_]
        weights = [n * omega(sender, k) / (base + queue.target) for sender, n, base in given_]
        packets = sum(weights) / u  # choose the capacity for which p' = u
        point = pf.equilibrium(flows, queue, packets * 12e3)
        assert point.controller == pytest.approx(u, rel=1e-12)
        assert point.queue_delay == queue.target
        assert point.queue == pytest.approx(packets * queue.target, rel=1e-12)
        assert sum(point.share) == pytest.approx(1.0, rel=1e-12)
        for i, (sender, n, base) in enumerate(given_):
            classic = isinstance(sender, pf.Reno)
            assert point.window[i] == pytest.approx(omega(sender, k) / u, rel=1e-12)
            assert point.rtt[i] == pytest.approx(base + queue.target, rel=1e-15)
            assert point.rate[i] == pytest.approx(point.window[i] / point.rtt[i], rel=1e-15)
            assert point.share[i] == pytest.approx(weights[i] / sum(weights), rel=1e-11)
            assert point.share[i] == pytest.approx(n * point.rate[i] / packets, rel=1e-12)
            assert point.p[i] == pytest.approx(u * u if classic else k * u, rel=1e-11)
            assert point.p_prime[i] == pytest.approx(u if classic else k * u, rel=1e-11)

    @pytest.mark.slow
    @patient
    @given(classes(st.one_of(reno, scalable)), st.floats(1e-4, 0.08), st.sampled_from(QUEUES))
    def test_rates_sum_to_the_capacity(self, given_, u, queue):
        flows = [pf.Flows(sender, n, base) for sender, n, base in given_]
        signal = queue.encode(u)
        total = sum(
            n * sender.at_rest(0.0, getattr(signal, sender.signal)) / (base + queue.target)
            for sender, n, base in given_
        )
        point = pf.equilibrium(flows, queue, total * 8 * 500, packet_size=500)
        assert sum(
            flow.count * rate for flow, rate in zip(flows, point.rate, strict=True)
        ) == pytest.approx(total, rel=1e-12)
        assert point.controller == pytest.approx(u, rel=1e-10)

    @pytest.mark.parametrize(
        ("flows", "target", "packets", "p_prime"),
        [
            # two paths; two laws; two laws on two paths
            (
                [pf.Flows(pf.Reno(), 10, "20ms"), pf.Flows(pf.Reno(), 10, "80ms")],
                "20ms",
                2500,
                0.19799,
            ),
            (
                [pf.Flows(pf.Reno(), 10, "80ms"), pf.Flows(pf.Scalable(), 10, "80ms")],
                "20ms",
                2500,
                0.09657,
            ),
            (
                [pf.Flows(pf.CReno(), 5, "30ms"), pf.Flows(pf.Scalable(), 20, "80ms")],
                "15ms",
                2500,
                0.16535,
            ),
        ],
    )
    def test_known_examples(self, flows, target, packets, p_prime):
        point = pf.equilibrium(
            flows, pf.CoupledPi2(target=target, update_interval="15ms"), 12e3 * packets
        )
        assert point.controller == pytest.approx(p_prime, abs=1e-5)

    def test_coupling_makes_equal_rates(self):
        """omega = sqrt(2) for Reno and 2/k for Scalable: k = sqrt(2) at equal round-trip times."""
        flows = [pf.Flows(pf.Reno(), 3, "80ms"), pf.Flows(pf.Scalable(), 3, "80ms")]
        point = pf.equilibrium(flows, pf.CoupledPi2(k=math.sqrt(2)), "10Mbit/s")
        assert point.rate[0] == pytest.approx(point.rate[1], rel=1e-12)
        # k = 2 leaves Reno more by that factor
        point = pf.equilibrium(flows, pf.CoupledPi2(k=2), "10Mbit/s")
        assert point.rate[0] == pytest.approx(math.sqrt(2) * point.rate[1], rel=1e-12)

    def test_one_class_in_a_list_is_one_class(self):
        flows = pf.Flows(pf.Reno(), 10, "80ms")
        alone = pf.equilibrium(flows, pf.Pi2(), "12Mbit/s")
        assert pf.equilibrium([flows], pf.Pi2(), "12Mbit/s") == alone
        assert pf.equilibrium(iter((flows,)), pf.Pi2(), "12Mbit/s") == alone  # type: ignore[arg-type]
        twin = pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt="100ms", p=alone.p[0])
        assert twin.window == pytest.approx(alone.window[0], rel=1e-14)

    def test_splitting_a_class_changes_nothing(self):
        whole = pf.equilibrium(pf.Flows(pf.Reno(), 10, "80ms"), pf.Pi2(), "12Mbit/s")
        parts = [pf.Flows(pf.Reno(), n, "80ms") for n in (2.5, 7.5)]
        split = pf.equilibrium(parts, pf.Pi2(), "12Mbit/s")
        assert split.controller == pytest.approx(whole.controller, rel=1e-13)
        assert split.share == pytest.approx((0.25, 0.75), rel=1e-13)

    def test_packet_size_counts(self):
        flows = pf.Flows(pf.Reno(), 10, "80ms")
        small = pf.equilibrium(flows, pf.Pi2(), "4Mbit/s", packet_size="500B")
        large = pf.equilibrium(flows, pf.Pi2(), "12Mbit/s", packet_size="1500B")
        assert small == large


class TestArrays:
    NAMES: ClassVar = ("p", "p_prime", "window", "rtt", "rate", "share")

    def compare(self, whole, shape, one_at):
        for index in np.ndindex(shape):
            one = one_at(*index)
            value = np.broadcast_to(whole.controller, shape)[index]
            assert value == pytest.approx(one.controller, rel=1e-12)
            for name, i in itertools.product(self.NAMES, range(len(one.p))):
                value = np.broadcast_to(getattr(whole, name)[i], shape)[index]
                assert value == pytest.approx(getattr(one, name)[i], rel=1e-12), name

    def test_counts_and_capacities(self):
        counts, capacities = np.array([5.0, 10.0, 20.0]), np.array([[12e6], [40e6]])

        def flows(count):
            return [pf.Flows(pf.Reno(), count, "40ms"), pf.Flows(pf.Scalable(), 2, "80ms")]

        whole = pf.equilibrium(flows(counts), pf.CoupledPi2(), capacities)
        assert whole.controller.shape == (2, 3)
        self.compare(
            whole,
            (2, 3),
            lambda i, j: pf.equilibrium(
                flows(float(counts[j])), pf.CoupledPi2(), float(capacities[i, 0])
            ),
        )

    def test_laws_queues_and_paths(self):
        decreases, ks = np.array([0.3, 0.5]), np.array([[1.5], [2.0], [3.0]])
        bases, sizes = np.array([0.03, 0.09]), np.array([[500.0], [1000.0], [1500.0]])

        def point(decrease, k, base, size):
            flows = [
                pf.Flows(pf.Reno(decrease=decrease), 10, base),
                pf.Flows(pf.Scalable(), 3, "50ms"),
            ]
            return pf.equilibrium(flows, pf.CoupledPi2(k=k), "20Mbit/s", size)

        whole = point(decreases, ks, bases, sizes)
        self.compare(
            whole,
            (3, 2),
            lambda i, j: point(
                float(decreases[j]), float(ks[i, 0]), float(bases[j]), float(sizes[i, 0])
            ),
        )

    def test_own_law_in_an_array(self):
        counts = np.array([2.0, 5.0])
        mine = pf.equilibrium(pf.Flows(HalfPerMark(), counts, "80ms"), pf.Pi(), "20Mbit/s")
        theirs = pf.equilibrium(pf.Flows(pf.Scalable(), counts, "80ms"), pf.Pi(), "20Mbit/s")
        np.testing.assert_allclose(mine.controller, theirs.controller, rtol=1e-12)

    def test_one_overloaded_element_is_an_error(self):
        with pytest.raises(pf.DomainError, match="some element of the arrays"):
            pf.equilibrium(pf.Flows(pf.Reno(), [10, 5000], "10ms"), pf.Pi2(), "1Mbit/s")


class TestOverload:
    def test_is_an_error_that_says_by_how_much(self):
        # at p = 1 each sends sqrt(2) segments per 100 ms: 141.4 packets/s for a link of 100
        flows = pf.Flows(pf.Reno(), 10, "80ms")
        with pytest.raises(pf.DomainError, match=r"the flows offer 1\.41 times the capacity"):
            pf.equilibrium(flows, pf.Pi2(), "1.2Mbit/s")

    def test_the_last_load_that_fits(self):
        flows = pf.Flows(pf.Reno(), 10, "80ms")
        with pytest.warns(pf.AssumptionWarning, match="window"):
            point = pf.equilibrium(flows, pf.Pi2(), 12e3 * 10 * math.sqrt(2) / 0.1 * (1 + 1e-9))
        assert point.controller == pytest.approx(1.0, rel=1e-8)
        assert point.p[0] <= 1.0


def warned(call: Any) -> tuple[Any, list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True, action="always") as caught:
        value = call()
    return value, caught


# Each breaks one assumption alone: (name in `broken`, call, what it still returns)
BROKEN = {
    "window": (
        "window",
        lambda: pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt="100ms", p=0.9),
        math.sqrt(2 / 0.9),
    ),
    "window-of-a-mixture": (
        "window",
        lambda: pf.equilibrium(pf.Flows(pf.Reno(), 15, "80ms"), pf.Pi2(), "3Mbit/s"),
        250 * 0.1 / 15,
    ),
    "update_interval": (
        "update_interval",
        lambda: pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt="31ms", p=0.02),
        10.0,
    ),
    "update_interval-of-a-mixture": (
        "update_interval",
        lambda: pf.equilibrium(
            pf.Flows(pf.Reno(), 10, "5ms"), pf.Pi2(), "40Mbit/s", packet_size="500B"
        ),
        1e4 * 0.025 / 10,
    ),
    "clamped": (
        "clamped",
        lambda: pf.equilibrium_of(pf.Reno(), pf.Pi2(variant="hpe"), rtt="100ms", p=0.36),
        math.sqrt(2 / 0.36),
    ),
    "clamped-scalable-in-a-mixture": (
        "clamped",
        # p' = 0.6: Reno at sqrt(2)/0.6, Scalable at its p = 1, two segments
        lambda: pf.equilibrium(
            [pf.Flows(pf.Reno(), 10, "80ms"), pf.Flows(pf.Scalable(), 10, "80ms")],
            pf.CoupledPi2(),
            12e3 * (10 * math.sqrt(2) / 0.6 + 20) / 0.1,
        ),
        math.sqrt(2) / 0.6,
    ),
}


class TestAssumptions:
    @pytest.mark.parametrize(("name", "call", "window"), BROKEN.values(), ids=BROKEN)
    def test_each_alone(self, name, call, window):
        point, caught = warned(call)
        assert point.broken == (name,)
        first = point.window[0] if isinstance(point.window, tuple) else point.window
        assert first == pytest.approx(window, rel=1e-9)
        assert [entry.category for entry in caught] == [pf.AssumptionWarning]
        text = str(caught[0].message)
        assert text.endswith(".")
        assert "\n" not in text
        assert ": " in text  # the remedy

    def test_all_together(self):
        point, caught = warned(
            lambda: pf.equilibrium_of(pf.Reno(), pf.Pi2(variant="hpe"), rtt="10ms", p=0.9)
        )
        assert point.broken == ("window", "update_interval", "clamped")
        assert len(caught) == 3

    def test_one_element_of_an_array_is_enough(self):
        point, caught = warned(
            lambda: pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt=[0.1, 0.01], p=[[0.02], [0.9]])
        )
        assert point.broken == ("window", "update_interval")
        assert len(caught) == 2
        assert point.window[:, 0] == pytest.approx([10.0, math.sqrt(2 / 0.9)])

    def test_limits_themselves_are_fine(self):
        # W = 2, T = rtt, u at the limit of the variant, k p' = 1
        points = [
            pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=math.sqrt(0.5)),
            pf.equilibrium_of(pf.Scalable(), pf.CoupledPi2(), rtt="100ms", p=1.0),
            pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt="32ms", p=0.02),
            pf.equilibrium_of(pf.Reno(), pf.Pi2(variant="hpe"), rtt="100ms", p=0.25),
        ]
        assert all(point.broken == () for point in points)

    @pytest.mark.parametrize("decrease", np.linspace(0.26, 1, 38).tolist())
    def test_two_segments_are_enough_however_they_round(self, decrease):
        class Solved(pf.Reno):
            at_rest = pf.Sender.at_rest

        p = 1 / (4 * decrease)
        point = pf.equilibrium_of(Solved(decrease=decrease), pf.Pi2(), rtt="100ms", p=p)
        assert point.window == pytest.approx(2.0)
        assert point.broken == ()

    def test_two_classic_classes_are_not_clamped_by_the_coupling(self):
        """Only Scalable packets see k p', so k p' > 1 means nothing to Classic traffic."""
        flows = [pf.Flows(pf.Reno(), 10, "80ms"), pf.Flows(pf.Reno(), 5, "40ms")]
        packets = (10 / 0.1 + 5 / 0.06) * math.sqrt(2) / 0.6
        point = pf.equilibrium(flows, pf.CoupledPi2(), 12e3 * packets)
        assert point.controller == pytest.approx(0.6, rel=1e-12)
        assert point.broken == ()

    def test_point_at_the_caller(self):
        for call in (
            lambda: pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt="100ms", p=0.9),
            lambda: pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p=0.9),
            lambda: pf.Loop(pf.Flows(pf.Reno(), 15, "80ms"), pf.Pi2(), capacity="3Mbit/s"),
        ):
            _, caught = warned(call)
            assert [entry.filename for entry in caught] == [__file__]
            assert "lambda: pf." in linecache.getline(__file__, caught[0].lineno)


def test_a_law_of_ones_own_may_call_anything_k():
    """A field named as that of a coupled queue couples nothing."""

    @dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
    class Keyed(pf.Pi2):
        k: float = 50.0

    flows = [pf.Flows(pf.Reno(), 5, "100ms"), pf.Flows(pf.Scalable(), 5, "100ms")]
    own, plain = (pf.equilibrium(flows, law, "40Mbit/s", 1500) for law in (Keyed(), pf.Pi2()))
    assert own.broken == plain.broken == ()
    assert own.controller == plain.controller > 0.02
