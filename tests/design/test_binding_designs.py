"""Designs bind: what was asked for is all that is left, or the steps of tc are in the way."""

from __future__ import annotations

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.design.by_acks import worst_by_acks
from pi2_fluid.design.points import grid
from pi2_fluid.design.region import LOADS, Region
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
