"""Margins of candidates, of many at once and of each by itself."""

from __future__ import annotations

import numpy as np

import pi2_fluid as pf
from pi2_fluid.design.outcomes.predicting import least_margins

DUALPI2 = pf.presets.linux_dualpi2()
RENO = pf.Flows(pf.Reno(), 4, "60ms")
CELLS = pf.Traffic(pf.Scenario("14s", pf.Link("8Mbit/s"), DUALPI2, RENO, name="reno")).cells


def test_a_candidate_has_its_own_margins_whatever_it_is_asked_with():
    # What runs now may be another law, or one with another k, at the same target and interval.
    pie = pf.Pie(alpha=0.125, beta=1.25, target="15ms", update_interval="16ms", derandomize=False)
    laws = [pie, DUALPI2, pf.DualPi2(alpha=0.16, beta=3.2, k=4.0, variant="linux6.18")]
    each = [least_margins(CELLS, [law])[0] for law in laws]
    np.testing.assert_allclose(least_margins(CELLS, laws), each, rtol=1e-12)
    assert each[0] < 6.0 < each[1]
    loop = pf.Loop(RENO, DUALPI2, capacity="8Mbit/s", update="sampled", clock="acks")
    assert abs(each[1] - float(loop.margins().gain_margin_db)) < 1e-9
