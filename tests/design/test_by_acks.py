"""Designs and queues by two clocks: the grid by acknowledgements, and which margin decides."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from ack_plants import make_ack_plants

import pi2_fluid as pf
from pi2_fluid.design.by_acks import stable_up_to_by_acks, worst_by_acks
from pi2_fluid.design.clocks import Least, least_among, least_of, rounded_down, said
from pi2_fluid.design.gains import Asked, largest_alpha, make_ceiling
from pi2_fluid.design.region import Region, scan, worst_margins

R = 0.1
REGION = Region((pf.Reno(),), 0.02, R, ((0.0, 1.0),))
TUNED = {"alpha": 0.047998, "beta": 2.5146, "update_interval": 0.016}
#: Stable by rates, and at the tail of a queue not by acknowledgements: beta is large for alpha.
QUICK = pf.DualPi2(alpha=0.02, beta=7.0, drop_at="enqueue")


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Silent(pf.Reno):
    """A law that does not say what one acknowledgement does."""

    plant: ClassVar[str] = "reno"
    acked = pf.Sender.acked


def by_loop(aqm, sender=None, p_prime=1e-6, rtt=R, update="sampled"):
    where = {"rtt": rtt, "p_prime": p_prime, "update": update, "clock": "acks"}
    return pf.Loop(sender or pf.Reno(), aqm, **where).margins()


@pytest.mark.parametrize("update", ["continuous", "delayed", "sampled"])
@pytest.mark.parametrize("drop_at", ["enqueue", "dequeue"])
def test_the_worst_is_that_of_the_loop(update, drop_at) -> None:
    queue = pf.CoupledPi2(**TUNED, target=0.015, drop_at=drop_at)
    found = worst_by_acks(REGION, queue, update).worst
    loop = by_loop(queue, update=update)
    assert found is not None
    assert found.margins.gain_margin_db == pytest.approx(loop.gain_margin_db, abs=1e-9)
    assert found.margins.phase_margin_deg == pytest.approx(loop.phase_margin_deg, abs=1e-8)
    assert found.margins.modulus_margin == pytest.approx(loop.modulus_margin, abs=1e-9)
    assert (found.rtt, found.p_prime, found.margins.verdict) == (R, 0.0, "stable")
    # DualPI2's controller is that of one queue which signals at the same end.
    dual = worst_by_acks(REGION, pf.DualPi2(**TUNED, drop_at=drop_at), update).worst
    assert dual.margins.gain_margin_db == pytest.approx(loop.gain_margin_db, abs=1e-9)


@pytest.mark.parametrize(
    ("sender", "aqm"),
    [
        (pf.Reno(), pf.Pi2(**TUNED, drop_at="dequeue")),
        (pf.Scalable(), pf.CoupledPi2(alpha=0.1, beta=3.0, update_interval=0.016)),
        (pf.Cubic(), pf.Pi2(alpha=0.02, beta=0.5, update_interval=0.016)),
        (pf.Reno(), pf.Pie(alpha=0.0625, beta=1.25, update_interval=0.03)),
    ],
    ids=["reno", "scalable", "cubic", "pie"],
)
def test_a_scan_agrees_with_the_loop(sender, aqm) -> None:
    gains = float(aqm.alpha), float(aqm.beta), float(aqm.update_interval)
    rtts, loads = np.array([0.04, R]), np.array([0.03, 0.2, 0.6])
    region = Region((sender,), 0.04, R, ((0.03, 0.6),))
    plants = make_ack_plants(region, aqm, 0, rtts, loads)
    found = scan(plants, *gains, "sampled")
    loop = by_loop(aqm, sender, plants.p_prime, plants.rtt)
    np.testing.assert_allclose(found.gain_margin_db, loop.gain_margin_db, atol=1e-3)
    np.testing.assert_allclose(found.phase_margin_deg, loop.phase_margin_deg, atol=1e-3)


@pytest.mark.parametrize("update", ["continuous", "sampled"])
def test_gains_at_their_ceiling_use_up_a_margin(update) -> None:
    """L = alpha A + beta B by acknowledgements, too."""
    queue = pf.Pi2(**TUNED, target=0.015)
    (plant,) = worst_by_acks(REGION, queue, update).worst.plants
    ceiling, highest, _ = make_ceiling(plant, Asked(9.0, 30.0), 0.016, update)
    alpha, beta = largest_alpha(ceiling, highest)
    left = by_loop(replace(queue, alpha=alpha, beta=beta), update=update)
    slack = left.gain_margin_db - 9.0, left.phase_margin_deg - 30.0
    assert min(slack) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.slow
def test_the_limit_is_where_the_margin_is_lost() -> None:
    for queue in (pf.presets.linux_dualpi2(), QUICK):
        limit = stable_up_to_by_acks(REGION, queue, "sampled")
        one = queue.in_one_queue()
        assert by_loop(one, rtt=0.999 * limit).gain_margin_db > 0.0
        assert by_loop(one, rtt=1.001 * limit).gain_margin_db < 0.0


@pytest.mark.slow
def test_where_no_gain_is_small_enough() -> None:
    """T (beta/alpha + 1/2) below the delay, half of a round trip and of T, at no load."""
    queue = pf.presets.pi2_paper()
    for rtt, finite in ((0.19, True), (0.21, False)):  # 10 T, less 20 ms, over 1.5: 200 ms
        worst = worst_by_acks(Region((pf.Reno(),), 0.1, rtt, ((0.0, 1.0),)), queue, "sampled").worst
        assert math.isfinite(worst.margins.gain_margin_db) == finite
        assert worst.margins.verdict == "unstable"


def test_what_cannot_be_judged_is_said() -> None:
    found = worst_by_acks(Region((pf.Reno(),), 0.005, 0.01, ((0.0, 1.0),)), pf.Pi2(), "sampled")
    assert found.worst is None
    assert "the target, 0.02 s, is not below 0.01 s" in found.text
    found = worst_by_acks(Region((Silent(),), 0.02, R, ((0.0, 1.0),)), pf.Pi2(), "sampled")
    assert found.worst is None
    assert "Not judged by acknowledgements: Silent does not say" in found.text


@pytest.mark.slow
@pytest.mark.parametrize("sender", [pf.Reno(), pf.Scalable()], ids=str)
def test_no_random_point_has_less(sender, rng) -> None:
    """Between the points of the grid, of random gains, targets and intervals."""
    for drop_at in ("enqueue", "dequeue"):
        longest = 10.0 ** rng.uniform(-1.7, -0.4)
        T, target = longest * rng.uniform(0.05, 1.0), longest * rng.uniform(0.05, 0.5)
        gains = (
            0.03 * T / longest**2 * rng.uniform(0.2, 2.0),
            0.25 / longest * rng.uniform(0.5, 1.5),
        )
        queue = pf.CoupledPi2(
            alpha=gains[0], beta=gains[1], target=target, update_interval=T, drop_at=drop_at
        )
        region = Region((sender,), target, longest, ((0.0, 0.5),))
        found = worst_by_acks(region, queue, "sampled").worst.margins
        rtts = np.append(
            np.geomspace(1.001 * target, longest, 99)[rng.integers(0, 99, 11)], longest
        )
        loads = np.exp(rng.uniform(np.log(1e-6), np.log(0.5), 12))
        plants = make_ack_plants(region, queue, 0, rtts, loads)
        each = scan(plants, *gains, T, "sampled")
        assert each.gain_margin_db.min() > found.gain_margin_db - 1e-3
        assert each.phase_margin_deg.min() > found.phase_margin_deg - 1e-3


# --- which of two decides ---------------------------------------------------------------------


def test_the_smaller_of_each_is_named() -> None:
    one = least_among({"rate": (7.8, 30.0), "acks": (7.3, 35.0)})
    assert one == Least(7.3, "acks", 30.0, "rate")
    assert said(one, 1) == "7.30 dB by acknowledgements and 30.0 deg by rates"
    assert said(least_among({"rate": (7.8, 30.0)})) == "7.80 dB and 30.00 deg by rates"
    margins = by_loop(pf.Pi2(**TUNED))
    assert least_of(margins, None).gain_clock == "rate"


def test_claims_are_rounded_down() -> None:
    numbers = (7.39, 7.0, 0.0, -2.31, math.inf)
    assert [rounded_down(x, 1) for x in numbers] == ["7.3", "7.0", "0.0", "-2.4", "inf"]


@pytest.mark.slow
def test_margins_asked_for_are_had_by_both_clocks() -> None:
    """Gains for 10 dB by rates alone leave 9.5 by acknowledgements: less of them is found."""
    found = pf.tune("100ms", gain_margin_db=10.0, phase_margin_deg=40.0)
    alone = pf.tune("100ms", gain_margin_db=10.0, phase_margin_deg=40.0, senders=[Silent()])
    assert found.least.gain_margin_db == pytest.approx(10.0, abs=1e-3)
    assert found.least.gain_clock == "acks"
    assert alone.ack_margins is None
    assert alone.ack_worst is None
    assert alone.least.gain_clock == "rate"
    assert "Not judged by acknowledgements: Silent" in alone.guarantee_text
    assert by_loop(replace(alone.aqm)).gain_margin_db == pytest.approx(9.47, abs=0.01)
    assert found.alpha < alone.alpha
    assert found.ack_worst == (R, 0.0, pf.Reno())
    again = pf.Design.from_dict(found.to_dict())
    assert again.least == found.least
    assert again.ack_worst == found.ack_worst


@pytest.mark.slow
def test_a_queue_that_only_acknowledgements_make_swing() -> None:
    text = pf.qdisc.show(pf.qdisc.install(QUICK, "dualpi2"))
    (found,) = pf.check(text, min_rtt="20ms")
    assert found.margins.verdict == "stable"
    assert worst_margins(REGION, found.qdisc.aqm, "sampled").margins.gain_margin_db > 0.3
    assert found.ack_margins.verdict == "unstable"
    assert found.verdict == "unstable"
    assert found.stable_up_to < 0.1
    assert found.least.gain_clock == "acks"
    assert "by acknowledgements" in str(found)
    assert found.remedy.ack_margins.gain_margin_db > 6.0
    at_the_head = replace(QUICK, drop_at="dequeue")
    (other,) = pf.check(pf.qdisc.show(pf.qdisc.install(at_the_head, "dualpi2")), min_rtt="20ms")
    assert other.verdict == "stable"
