"""How often a loop oscillates: beside its roots, and trajectories of loops just beyond it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.apps.cli import run


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
            2 * math.pi / there.margins().oscillation_period, rel=1e-6
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


def beyond(flows, law, rate, decibels, clock):
    """Gains with which the margin is so many dB below 0."""

    def loop_of(aqm):
        return pf.Loop(flows, aqm, capacity=rate, update="sampled", clock=clock)

    for _ in range(4):  # PIE's gain factor is that of its p, which stays
        law = scaled(law, 10 ** ((float(loop_of(law).margins().gain_margin_db) + decibels) / 20))
    return law, loop_of(law).margins()


def period_of(flows, law, rate, clock, duration=60.0):
    link = pf.Link(rate, buffer="100000 packets")
    run = pf.Fluid(update="sampled", sample="5ms", clock=clock).run(
        pf.Scenario(duration, link, law, flows)
    )
    late = run.queue_delay.sel(time=slice(duration / 2, None))
    delay, time = late.to_numpy(), late.time.to_numpy()
    rises = time[1:][(delay[1:] > delay.mean()) & (delay[:-1] <= delay.mean())]
    return (rises[-1] - rises[0]) / (len(rises) - 1)


PI2 = pf.Pi2(alpha=0.16, beta=3.2, update_interval="16ms")
PIE = pf.presets.linux_pie()
COUPLED = pf.CoupledPi2(alpha=0.16, beta=3.2, update_interval="16ms")


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["rate", "acks"])
@pytest.mark.parametrize(
    ("law", "sender", "count", "path", "rate", "off"),
    [
        (PI2, pf.Reno(), 10, "60ms", "100Mbit/s", 0.08),
        (PI2, pf.Cubic(), 10, "60ms", "100Mbit/s", 0.08),
        (COUPLED, pf.Scalable(), 10, "40ms", "100Mbit/s", 0.21),
        (PIE, pf.Reno(), 10, "50ms", "100Mbit/s", 0.3),
        (PIE, pf.Reno(), 10, "75ms", "100Mbit/s", 0.18),
        (PIE, pf.Reno(), 1, "50ms", "20Mbit/s", 0.25),
    ],
)
def test_down_to_3_db_below_the_edge_the_fluid_has_about_this_period(
    law, sender, count, path, rate, off, clock
) -> None:
    """Further down it has another: of that the next test has one.

    Furthest off is PIE's where p rests a quarter above an edge of its table, over 50 ms: below the
    edge, which an oscillation crosses, the gain is another.
    """
    flows = pf.Flows(sender, count, path, slow_start=False)
    for decibels in (1.0, 2.99):
        aqm, margins = beyond(flows, law, rate, decibels, clock)
        period = period_of(flows, aqm, rate, clock)
        assert margins.oscillation_period == pytest.approx(period, rel=off)


@pytest.mark.slow
def test_far_below_the_edge_no_period_is_said(capsys) -> None:
    """Linux's PIE, 150 ms, one flow: 22 dB below: the linear loop has 10.5 s, the fluid 4 s."""
    flows, rate = pf.Flows(pf.Reno(), 1, "135ms", slow_start=False), "20Mbit/s"
    margins = pf.Loop(flows, PIE, capacity=rate, update="sampled").margins()
    assert math.isnan(margins.oscillation_period)
    period = period_of(flows, PIE, rate, "rate", 120.0)
    assert period == pytest.approx(4.005, rel=0.02)
    assert 2 * math.pi / float(margins.phase_crossover) > 2.5 * period
    line = "qdisc pie 8001: dev eth0 root limit 1000p target 15ms tupdate 15ms alpha 2 beta 20"
    run(["check", line, "--rtt", "150ms", "--rate", rate, "--flows", "1"])
    said = " ".join(capsys.readouterr().out.split())
    assert "(queue included): the delay oscillates. Smallest margin:" in said
