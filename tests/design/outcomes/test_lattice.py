"""Candidates are what a kernel can be asked for, and what it then runs."""

from __future__ import annotations

import pytest

import pi2_fluid as pf
from pi2_fluid.design.outcomes.lattice import read_kind
from pi2_fluid.errors import UnsupportedError


def lattice(kind, **free):
    asked = {"free_target": False, "free_interval": False} | free
    return read_kind(kind, None, 1000).lattice(**asked)


def test_the_defaults_are_those_of_the_kernel():
    (dualpi2,) = pf.qdisc.parse("tc qdisc add dev eth0 root dualpi2")
    (pie,) = pf.qdisc.parse("tc qdisc add dev eth0 root pie")
    assert read_kind("dualpi2", None, 1000).default == dualpi2.aqm
    assert read_kind("pie", None, 1000).default == pie.aqm


@pytest.mark.parametrize("kind", ["dualpi2", "pie"])
def test_every_candidate_comes_back_from_tc_as_it_is(kind):
    asked = read_kind(kind, None, 1000)
    for law in lattice(kind, free_target=True)[0]:
        line = pf.qdisc.to_tc(law, kind, dev="eth0", hz=1000)
        (read,) = pf.qdisc.parse(line, hz=1000)
        assert read.aqm == law
        assert asked.parts(law) == asked.parts(read.aqm)


def test_gains_are_whole_parts_around_the_default():
    kind = read_kind("dualpi2", None, 1000)
    parts = {kind.parts(law) for law in lattice("dualpi2")[0]}
    assert len(parts) == 100
    assert {(41, 819), (41, 1204), (12, 655), (2, 450), (115, 2621)} <= parts
    sixteenths = {read_kind("pie", None, 1000).parts(law) for law in lattice("pie")[0]}
    assert (2, 20) in sixteenths
    assert max(beta for _, beta in sixteenths) == 32  # the most that tc takes


def test_alpha_grows_with_a_free_update_interval():
    default, *others = lattice("dualpi2", free_interval=True)
    assert {round(1e3 * laws[0].update_interval) for laws in others} == {8, 32}
    for laws in others:
        rate = max(law.alpha for law in laws) / laws[0].update_interval
        usual = max(law.alpha for law in default) / default[0].update_interval
        assert rate == pytest.approx(usual, rel=0.02)  # whole parts of 256


def test_targets_are_free_when_asked_for():
    targets = [laws[0].target for laws in lattice("dualpi2", free_target=True)]
    assert targets == [0.015, 0.010, 0.012, 0.019]


def test_what_no_kernel_runs_has_plain_numbers():
    kind = read_kind("pi2", None, 1000)
    assert kind.tc is None
    assert kind.parts(kind.default) is None
    assert {law.beta for law in lattice("pi2")[0]} >= {3.125, 3.125 * 3.2}
    assert kind.name_of(pf.Pi2(target="25ms")) == "0.3125/3.125, target 25 ms"


def test_a_queue_of_ones_own_keeps_what_it_has():
    own = pf.DualPi2(step="2ms", target="20ms", k=1)
    kind = read_kind(own, None, 1000)
    assert kind.default is own
    law = kind.law(alpha=41 / 256, beta=1204 / 256)
    assert (law.step, law.target, law.k) == (0.002, 0.02, 1)


def test_queues_of_single_flows_are_refused():
    with pytest.raises(UnsupportedError, match=r'a queue of its own.*give aqm="pie"'):
        read_kind("fq_pie", None, 1000)
