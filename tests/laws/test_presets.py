"""Queues by name: the numbers as published, and the rules that make them for a maximum RTT."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.laws.aqms.dualpi2 import DualPi2
from pi2_fluid.laws.registry import PRESETS, aqm_class, make_aqm

# alpha, beta (Hz), target, update interval (s)
NUMBERS = [
    (pf.presets.pi2_paper, pf.Pi2, (0.3125, 3.125, 0.020, 0.032)),
    (pf.presets.rfc8033, pf.Pie, (0.125, 1.25, 0.015, 0.015)),
    (pf.presets.linux_pie, pf.Pie, (2 / 16, 20 / 16, 0.015, 0.015)),
    (pf.presets.docsis_pie, pf.Pie, (0.25, 2.5, 0.010, 0.016)),
    (pf.presets.linux_dualpi2, DualPi2, (41 / 256, 819 / 256, 0.015, 0.016)),
    (pf.presets.rfc9332, DualPi2, (0.15, 3.0, 0.015, 0.015)),
]

# max RTT (ms); tc's target = T (ms), netlink's alpha and beta in 1/256 Hz;
# T (ms) and alpha (Hz) by the rule of RFC 9332 with target 15 ms
TABLE = [
    (10, 1.67, 426, 7680, 3.33, 3.333),
    (20, 3.33, 213, 3840, 6.67, 1.667),
    (50, 8.33, 85, 1536, 15, 0.600),
    (100, 16.67, 42, 768, 15, 0.150),
    (150, 25.0, 28, 512, 15, 0.0667),
    (200, 33.3, 21, 384, 15, 0.0375),
    (300, 50.0, 14, 256, 15, 0.0167),
]


@pytest.mark.parametrize(
    ("preset", "kind", "values"), NUMBERS, ids=lambda v: getattr(v, "__name__", "")
)
def test_numbers(preset, kind, values):
    queue = preset()
    assert type(queue) is kind
    assert (queue.alpha, queue.beta, queue.target, queue.update_interval) == pytest.approx(
        values, rel=1e-15
    )


def test_all_are_listed():
    names = {preset.__name__ for preset, *_ in NUMBERS} | {"tc_max_rtt"}
    assert set(pf.presets.__all__) == names


def test_the_registry_names_each_with_its_kind():
    assert set(PRESETS) == set(pf.presets.__all__)
    for name, preset in PRESETS.items():
        numbers = {"max_rtt": "100ms"} if name == "tc_max_rtt" else {}
        queue = make_aqm(name, numbers)
        assert queue == getattr(pf.presets, name)(**numbers)
        assert type(queue) is aqm_class(preset.kind) is aqm_class(name)


def test_a_preset_with_other_numbers_keeps_the_rest():
    queue = make_aqm("docsis_pie", {"target": "15ms"})
    assert queue == dataclasses.replace(pf.presets.docsis_pie(), target=0.015)
    assert make_aqm("rfc9332", {"max_rtt": "50ms", "k": 3}).alpha == pytest.approx(0.6)
    with pytest.raises(pf.QuantityError, match="max_rtt is missing for tc_max_rtt"):
        make_aqm("tc_max_rtt")
    with pytest.raises(pf.QuantityError, match="'docsis' is unknown: give 'docsis_pie'"):
        make_aqm("docsis")


def test_tables_and_coupling():
    p = np.geomspace(1e-7, 1, 30)
    for preset in (pf.presets.rfc8033, pf.presets.linux_pie):
        np.testing.assert_array_equal(
            preset().gain_factor(p), pf.Pie(table="rfc8033").gain_factor(p)
        )
    # cable modems: the same steps below 10 %, then twice the gains, and eight times at 1
    docsis = pf.presets.docsis_pie()
    low = p[p < 0.1]
    np.testing.assert_array_equal(docsis.gain_factor(low), pf.Pie(table="rfc8033").gain_factor(low))
    assert [float(docsis.gain_factor(x)) for x in (0.1, 0.5, 0.999, 1.0)] == [2.0, 2.0, 2.0, 8.0]
    assert pf.presets.linux_dualpi2().k == pf.presets.rfc9332().k == 2.0
    assert pf.presets.pi2_paper().variant == "plain"


def test_l4s_queues():
    """Linux marks by a step of 1 ms, RFC 9332 on a ramp, and reads the Classic delay alone."""
    linux, rfc = pf.presets.linux_dualpi2(), pf.presets.rfc9332()
    assert linux.ramp is None
    assert linux.ramp_ends == (0.001, 0.001)
    assert rfc.ramp_ends == pytest.approx((0.0008, 0.0012), rel=1e-15)
    assert (linux.variant, rfc.variant) == ("linux6.18", "rfc9332")
    assert linux.c_protection == 0.1
    assert linux.drop_overload
    # tc's max_rtt is a matter of gains and times alone
    tc = pf.presets.tc_max_rtt("100ms")
    assert (tc.step, tc.ramp, tc.variant, tc.k) == (linux.step, None, "linux6.18", linux.k)
    # the default queue is Linux's, up to the rounding of its gains to 1/256 Hz
    plain = DualPi2()
    assert (plain.alpha, plain.beta) == pytest.approx((linux.alpha, linux.beta), rel=1e-3)
    assert dataclasses.replace(linux, alpha=plain.alpha, beta=plain.beta) == plain


@pytest.mark.parametrize("preset", [pf.presets.linux_dualpi2, pf.presets.rfc9332])
@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
def test_classic_traffic_alone_meets_the_coupled_controller(preset, update):
    """With the L4S queue empty a dual queue is PI2, to the last digit."""
    queue = preset()
    names = ("alpha", "beta", "target", "update_interval")
    single = pf.Pi2(**{name: getattr(queue, name) for name in names})
    flows = pf.Flows(pf.Reno(), 10, "60ms")
    for make in (
        lambda aqm: pf.Loop(pf.Reno(), aqm, rtt=0.1, p_prime=0.05, update=update),
        lambda aqm: pf.Loop(flows, aqm, capacity="40Mbit/s", update=update),
    ):
        dual, one = make(queue).margins(), make(single).margins()
        assert tuple(dual) == pytest.approx(tuple(one), rel=1e-12)
        assert dual.verdict == one.verdict
    assert tuple(pf.loop.low_load(pf.Reno(), queue, 0.1, update)) == pytest.approx(
        tuple(pf.loop.low_load(pf.Reno(), single, 0.1, update)), rel=1e-15
    )


def test_paper_is_its_own_tc_line_and_the_default():
    paper, installed = pf.presets.pi2_paper(), pf.Pi2.from_tc2016()
    assert (paper.alpha, paper.beta) == (installed.alpha, installed.beta)
    assert paper == pf.Pi2()


@pytest.mark.parametrize(("longest", "typical", "a", "b", "interval", "alpha"), TABLE)
class TestForAMaximumRtt:
    def test_tc(self, longest, typical, a, b, interval, alpha):
        queue = pf.presets.tc_max_rtt(f"{longest}ms")
        # what netlink carries is whole
        assert 256 * queue.alpha == a
        assert 256 * queue.beta == b
        assert queue.target == queue.update_interval == pytest.approx(longest / 6000, rel=1e-15)
        assert 1000 * queue.target == pytest.approx(typical, rel=2e-3)

    def test_rfc9332(self, longest, typical, a, b, interval, alpha):
        queue = pf.presets.rfc9332(f"{longest}ms")
        assert 1000 * queue.update_interval == pytest.approx(interval, rel=2e-3)
        assert queue.alpha == pytest.approx(alpha, rel=2e-3)
        assert queue.beta == pytest.approx(300 / longest, rel=1e-14)
        assert queue.target == 0.015

    def test_rule_is_dimensionless(self, longest, typical, a, b, interval, alpha):
        """alpha R^2/T = 0.1 and beta R = 0.3 at every maximum RTT; the paper's 0.098 and 0.3125."""
        rtt = longest / 1000
        queue = pf.presets.rfc9332(rtt)
        assert queue.alpha * rtt**2 / queue.update_interval == pytest.approx(0.1, rel=1e-14)
        assert queue.beta * rtt == pytest.approx(0.3, rel=1e-14)


def test_text_numbers_and_arrays_agree():
    longest = np.array([row[0] for row in TABLE]) / 1000
    for rule in (pf.presets.rfc9332, pf.presets.tc_max_rtt):
        assert rule("100ms") == rule(0.1)
        whole = rule(longest)
        for index, value in enumerate(longest):
            one = rule(float(value))
            for name in ("alpha", "beta", "target", "update_interval"):
                element = np.broadcast_to(getattr(whole, name), longest.shape)[index]
                assert element == getattr(one, name)


def test_gains_cut_to_nothing():
    """alpha = 0.1/(6 max_rtt) reaches 1/256 Hz at 4.27 s."""
    assert 256 * pf.presets.tc_max_rtt(256 / 60).alpha == 1.0
    with pytest.raises(pf.DomainError, match=r"max_rtt = '4300ms' makes tc cut alpha to 0/256 Hz"):
        pf.presets.tc_max_rtt("4300ms")


def test_presets_are_usable():
    for preset, *_ in NUMBERS:
        assert pf.equilibrium_of(pf.Reno(), preset(), rtt="100ms", p=0.02).window == pytest.approx(
            10
        )
