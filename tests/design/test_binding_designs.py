"""Designs bind: what was asked for is all that is left, or the steps of tc are in the way."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.design.bounds import STEPS, bound_by
from pi2_fluid.design.by_acks import worst_by_acks
from pi2_fluid.design.gains import Asked
from pi2_fluid.design.points import grid
from pi2_fluid.design.region import LOADS, Region, worst_margins
from pi2_fluid.design.trying import largest_that_holds


def spare(design, asked):
    """By how much the smallest of each margin exceeds what was asked for, the least of these."""
    each = [one for one in (design.margins, design.ack_margins) if one is not None]
    return min(
        min(float(one.gain_margin_db) for one in each) - asked["gain_margin_db"],
        min(float(one.phase_margin_deg) for one in each) - asked["phase_margin_deg"],
    )


def in_steps(design):
    """Whether gains are whole sixteenths of 1 Hz, as tc takes those of PIE."""
    return design.tc in ("pie", "fq_pie") and (16 * design.alpha) % 1.0 == 0.0


@pytest.mark.slow
def test_cubic_with_sixty_degrees_has_what_was_asked_for_and_no_more():
    """By curves alone these gains did not settle."""
    asked = {"gain_margin_db": 9.0, "phase_margin_deg": 60.0}
    design = pf.tune(0.3, senders=(pf.Cubic(),), **asked)
    assert 0.0 <= spare(design, asked) < 0.05
    more = pf.Pi2(
        alpha=1.1 * design.alpha,
        beta=design.beta,
        update_interval=design.update_interval,
        target=design.target,
    )
    found = worst_by_acks(design.region, more, "sampled").worst
    assert found.margins.phase_margin_deg < 60.0


@pytest.mark.slow
def test_no_request_ends_without_an_answer_or_a_reason():
    """Random requests: a design that keeps what was asked for, and binds, or a `DomainError`."""
    rng = np.random.default_rng(36)
    answered = 0
    for _ in range(6):
        aqm = str(rng.choice(["pi2", "dualpi2", "coupled", "fq_pie"]))
        sender = [pf.Reno(), pf.CReno(), pf.Cubic()][rng.integers(3)]
        asked = {
            "gain_margin_db": float(rng.choice([3, 6, 9])),
            "phase_margin_deg": float(rng.choice([15, 30, 45])),
        }
        longest = float(f"{10 ** rng.uniform(-2, -0.3):.2g}")
        try:
            design = pf.tune(longest, aqm=aqm, senders=(sender,), **asked)
        except pf.DomainError:
            continue
        answered += 1
        assert spare(design, asked) > -1e-9
        assert in_steps(design) or spare(design, asked) < 0.05 or design.tc == "dualpi2"
    assert answered > 3


def test_what_holds_is_found_from_either_side():
    def holds(alpha, beta):
        return alpha < 0.02 * beta and beta < 1.0

    for begin in ((1.0, 3.0), (1e-5, 3.0), (0.01, 0.9)):
        alpha, beta = largest_that_holds(holds, *begin)
        assert holds(alpha, beta)
        assert not holds(1.005 * alpha, beta)
    assert largest_that_holds(lambda alpha, beta: False, 1.0, 1.0) is None


@pytest.mark.parametrize("variant", ["linux", "linux3.18"])
def test_the_grid_has_both_sides_of_every_kink_at_every_round_trip_time(variant):
    """Of whatever number: those by acknowledgements are not those by rates."""
    sender = pf.Cubic(variant=variant)
    region = Region((sender,), 0.015, 0.4, ((1e-3, 1.0),))
    for rtts in (np.geomspace(0.015, 0.4, 9), np.array([0.0777])):
        points = grid(region, pf.Pi2(), 0, rtts, LOADS)
        for rtt in rtts:
            kink = float(np.sqrt(sender.turning_point(rtt)))
            loads = points.p_prime[points.rtt == rtt]
            near = loads[np.abs(loads / kink - 1.0) < 3e-9]
            inside = 1e-3 < kink < 1.0
            assert sorted(near > kink) == ([False, True] if inside else [])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pi2_fluid.errors.AssumptionWarning")  # T beside R
def test_no_loop_along_a_kink_has_less_than_was_found():
    """|1 + L| by acknowledgements of Cubic on both sides of its kink, ten times as dense."""
    law = pf.Pi2(alpha=0.004, beta=0.3, update_interval=0.033, target=0.02)
    region = Region((pf.Cubic(),), 0.021, 0.2, ((1e-3, 1.0),))
    found = worst_by_acks(region, law, "sampled").worst.margins
    rtts = np.geomspace(0.021, 0.2, 90)
    kinks = np.sqrt(pf.Cubic().turning_point(rtts))
    for side in (1.0 - 1e-9, 1.0 + 1e-9):
        loads = np.maximum(kinks * side, 1e-3)
        loops = pf.Loop(
            pf.Cubic(), law, rtt=rtts, p_prime=loads, update="sampled", clock="acks"
        ).margins()
        assert np.min(loops.modulus_margin) >= found.modulus_margin - 1e-3
        assert np.min(loops.gain_margin_db) >= found.gain_margin_db - 0.01


def test_a_larger_beta_is_found_where_it_allows_a_larger_alpha():
    """The best beta is 5.7 times that of the curves, outside of those that are looked at first."""
    best = 5.7

    def holds(alpha, beta):
        return alpha < np.exp(-abs(np.log(beta / best)))

    alpha, beta = largest_that_holds(holds, 1e-3, 1.0)
    assert alpha > 0.9
    assert holds(alpha, beta)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "bound"),
    [
        ({}, "phase margin by rates"),
        ({"gain_margin_db": 9.0}, "gain margin by acknowledgements"),
        ({"modulus_margin": 0.6}, "modulus margin by rates"),
        ({"aqm": "pie"}, "steps of tc"),
    ],
)
def test_a_design_names_what_binds(options, bound):
    """With 2 % more alpha, or one more step, that margin is no longer left; the others are."""
    asked = {"gain_margin_db": 6.0, "phase_margin_deg": 30.0, "modulus_margin": 0.0}
    asked |= {name: value for name, value in options.items() if name != "aqm"}
    design = pf.tune("100ms", **options)
    assert design.bound == bound
    assert f"bound by the {bound}\n" in str(design)
    assert pf.Design.from_dict(design.to_dict()).bound == bound
    more = 1 / 16 if bound == "steps of tc" else 0.02 * design.alpha
    law = dataclasses.replace(design.aqm, alpha=design.alpha + more)
    rates = worst_margins(design.region, law, "sampled").margins
    acks = worst_by_acks(design.region, law, "sampled").worst.margins
    short = {
        f"{name} margin by {clock}"
        for clock, found in (("rates", rates), ("acknowledgements", acks))
        for name, least in (
            ("gain", float(found.gain_margin_db) - asked["gain_margin_db"]),
            ("phase", float(found.phase_margin_deg) - asked["phase_margin_deg"]),
            ("modulus", float(found.modulus_margin) - asked["modulus_margin"]),
        )
        if least < 0.0
    }
    assert short if bound == "steps of tc" else bound in short


def test_what_binds_where_a_margin_falls_at_once():
    """A margin of which much is left, and with 1 % more nothing: it is that."""
    asked = Asked(6.0, 30.0, 0.0)

    def margins(gain, phase):
        return SimpleNamespace(gain_margin_db=gain, phase_margin_deg=phase)

    def with_more(alpha, beta):
        return {"rate": margins(9.0, 12.0 if beta > 1.0 else 40.0)}

    far = {"rate": margins(9.0, 40.0)}
    assert bound_by(asked, far, with_more, whole=False) == "phase margin by rates"
    assert bound_by(asked, far, with_more, whole=True) == STEPS
    assert bound_by(asked, far, lambda alpha, beta: far, whole=False) == ""
    near = far | {"acks": margins(6.04, 40.0)}
    assert bound_by(asked, near, with_more, whole=False) == "gain margin by acknowledgements"


@pytest.mark.slow
def test_what_one_curve_refuses_is_tried_before_it_is_refused():
    """A curve said that Cubic cannot have 30 degrees at 22 ms, with any gains."""
    asked = {"gain_margin_db": 6.0, "phase_margin_deg": 30.0}
    given = {"aqm": "pie", "update": "delayed", "update_interval": 0.13}
    design = pf.tune(0.37, senders=(pf.Cubic(),), **given, **asked)
    assert design.bound == "phase margin by acknowledgements"
    assert 0.0 <= spare(design, asked) < 0.1
    assert design.alpha > 1e-3 * 0.99


def test_gains_far_below_are_found():
    assert largest_that_holds(lambda a, b: a < 1e-7 and b < 1e-3, 0.3, 3.0)[0] == pytest.approx(
        1e-7, rel=0.05
    )
