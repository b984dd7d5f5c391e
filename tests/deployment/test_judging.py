"""What decides a verdict: both clocks, up to the largest round-trip time and no less."""

from __future__ import annotations

import pytest

import pi2_fluid as pf
from pi2_fluid.deployment import judging

#: Stable up to 104.9 ms by rates, up to 92.8 ms by acknowledgements.
QUICK = (
    "tc qdisc replace dev eth0 root dualpi2 target 15ms tupdate 16ms alpha 0.02 beta 7 drop_enqueue"
)


@pytest.mark.slow
def test_the_limit_is_that_of_the_clock_that_loses_stability_first():
    (found,) = pf.check(QUICK, rtt="60ms")
    assert found.stable_up_to == pytest.approx(0.092796, abs=5e-6)
    for factor, verdict in ((0.999, "stable"), (1.001, "unstable")):
        where = {"rtt": factor * found.stable_up_to, "p_prime": 1e-6, "clock": "acks"}
        loop = pf.Loop(pf.Reno(), found.qdisc.aqm.in_one_queue(), update="sampled", **where)
        assert loop.margins().verdict == verdict


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "verdict"), [(0.0599, "unstable"), (0.0601, "stable")])
def test_a_limit_below_the_largest_round_trip_time_is_no_stability(monkeypatch, limit, verdict):
    """Also where the grid of the margins has found nothing."""
    for name in ("stable_up_to", "stable_up_to_by_acks"):
        with monkeypatch.context() as patched:
            patched.setattr(judging, name, lambda *_: limit)
            assert pf.check(QUICK, rtt="60ms")[0].verdict == verdict


def test_kernels_that_agree_decide_without_being_named():
    """PIE's timer ticks otherwise under each HZ: one verdict where all have it, none elsewhere."""
    line = "tc qdisc replace dev eth0 root pie target 15ms tupdate 15ms"
    (agreed,) = pf.check(line, rtt="20ms")
    assert len(agreed.cases) > 1
    assert {case.verdict for case in agreed.cases} == {agreed.verdict} == {"stable"}
    assert not agreed.reason


def test_a_note_says_whose_rate_it_is():
    given = pf.check(QUICK, rtt="60ms", rate="20Mbit/s")[0].note
    assert "its rate is the one given" in given
    counted = pf.check(QUICK, rtt="60ms", max_window=200)[0].note
    assert "rate is" not in counted
