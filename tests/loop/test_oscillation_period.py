"""How often a loop oscillates: beside its roots, and trajectories of loops just beyond it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import pi2_fluid as pf


def scaled(law, ratio):
    return replace(law, alpha=law.alpha * ratio, beta=law.beta * ratio)


@pytest.mark.slow
@pytest.mark.parametrize("update", ["continuous", "delayed"])
def test_a_loop_at_its_margin_has_a_root_of_this_period(update) -> None:
    """Random queues, loads and paths: a pair of roots on the axis, at 2 pi over the period."""
    drawn = np.random.default_rng(6)
    for _ in range(20):
        law = pf.Pi2(
            alpha=drawn.uniform(0.05, 0.6), beta=drawn.uniform(0.5, 5.0), update_interval="16ms"
        )
        load = {"rtt": drawn.uniform(0.02, 0.2), "p_prime": drawn.uniform(0.02, 0.3)}
        margins = pf.Loop(pf.Reno(), law, update=update, **load).margins()
        there = pf.Loop(pf.Reno(), scaled(law, margins.gain_margin), update=update, **load)
        roots = np.atleast_1d(there.roots())
        nearest = roots[np.argmin(np.abs(roots.real))]
        assert abs(nearest.imag) == pytest.approx(
            2 * math.pi / margins.oscillation_period, rel=1e-6
        )


@pytest.mark.slow
def test_a_queue_just_beyond_its_margin_has_this_period() -> None:
    """2 % beyond: the time between the delay's passages through its mean, in a trajectory."""
    flows, link = [pf.Flows(pf.Reno(), 10, "80ms")], pf.Link("10Mbit/s")
    law = pf.Pi2()
    margins = pf.Loop(flows, law, capacity="10Mbit/s", update="sampled").margins()
    beyond = scaled(law, 1.02 * margins.gain_margin)
    trajectory = pf.simulate(pf.Scenario("100s", link, beyond, flows), pf.Fluid())
    late = trajectory.queue_delay.sel(time=slice(50, None))
    above = late.to_numpy() > float(late.mean())
    passages = late.time.to_numpy()[1:][above[1:] & ~above[:-1]]
    assert len(passages) > 20
    assert np.diff(passages).mean() == pytest.approx(margins.oscillation_period, rel=0.05)


def test_the_period_is_that_of_the_phase_crossover() -> None:
    loops = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=[0.01, 0.1])
    margins = loops.margins()
    assert np.allclose(
        margins.oscillation_period * margins.phase_crossover, 2 * math.pi, rtol=1e-14
    )
    assert loops.explain()["T_osc"].value.tolist() == margins.oscillation_period.tolist()
    none = replace(margins, phase_crossover=np.array([math.inf, 0.0]))
    assert none.oscillation_period.tolist() == [math.inf, math.inf]


@pytest.mark.parametrize("clock", ["rate", "acks"])
def test_the_explanation_has_it_by_its_own_clock(clock) -> None:
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1, update="sampled", clock=clock)
    told = loop.explain()
    assert told["T_osc"].value == loop.margins().oscillation_period
    assert told["T_osc"].unit == "s"
    assert r"T_\mathrm{osc}" in told.latex
