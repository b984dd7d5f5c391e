"""Derivatives of trajectories: against another solver's, closed forms, naive differentiation."""

from __future__ import annotations

import pytest

import pi2_fluid as pf


def start_up(base_rtt=0.1):
    """Ten Reno flows that fill 10 Mbit/s from an empty queue: clips, overshoot, ringing."""
    flows = pf.Flows(pf.Reno(), 10, base_rtt, initial_window=1, slow_start=False)
    return pf.Scenario("48s", pf.Link("10Mbit/s", "40000 packets"), pf.Pi2(), flows)


def mean_square(result):
    return float(((result.queue_delay - 0.02) ** 2).mean())


@pytest.mark.parametrize(
    ("base_rtt", "controller", "known", "within"),
    [
        # From an independent event-aligned solver; the mean over its own steps, hence the 0.5 %.
        (0.1, "sampled", 5.0520e-5, 1e-3),
        (0.1037, "sampled", 5.594e-5, 5e-3),
        (0.1, "continuous", 2.7536e-5, 1e-3),
    ],
)
def test_against_another_solver(base_rtt, controller, known, within):
    """Naive differentiation of fixed steps gives 5.40e-5 and 5.83e-5 with the sampled controller.

    7 and 4 % too much, at any step: the jumps of the signal do not move with alpha there.
    """
    slope = pf.fluid.gradient(
        start_up(base_rtt),
        mean_square,
        "aqm.alpha",
        update=controller,
        sample="8ms",
        tolerance=1e-10,
    )
    assert slope["aqm.alpha"] == pytest.approx(known, rel=within)


def test_where_the_answer_is_known():
    """At rest the delay is the target, W = R C/N, and p' = sqrt(2)/W."""
    scenario = pf.Scenario(
        "60s",
        pf.Link("10Mbit/s", "40000 packets"),
        pf.Pi2(),
        pf.Flows(pf.Reno(), 10, "50ms", name="reno"),
    )
    point = pf.equilibrium(scenario.flows, scenario.aqm, "10Mbit/s")
    W, R, C, u = point.window[0], point.rtt[0], point.capacity, point.controller

    def last(name):
        return lambda result: float(result[name].isel(time=-1).squeeze())

    def slope(name, path):
        return pf.fluid.gradient(scenario, last(name), path, initial=point)[path]

    assert slope("queue_delay", "aqm.target") == pytest.approx(1.0, rel=1e-6)
    assert slope("window", "flows.0.count") == pytest.approx(-W / 10, rel=1e-6)
    assert slope("window", "aqm.target") == pytest.approx(C / 10, rel=1e-6)
    assert slope("controller", "link.capacity") == pytest.approx(-u / 10e6, rel=1e-6)
    assert slope("controller", "flows.0.base_rtt") == pytest.approx(-u / R, rel=1e-6)
    assert slope("queue_delay", "aqm.alpha") == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_several_paths_at_once_and_the_python_engine():
    scenario = pf.Scenario(
        "3s", pf.Link("10Mbit/s", "40000 packets"), pf.Pi2(), pf.Flows(pf.Reno(), 10, "50ms")
    )
    paths = ["aqm.alpha", "flows.0.base_rtt"]
    both = [
        pf.fluid.gradient(scenario, mean_square, paths, engine=engine, tolerance=1e-9)
        for engine in ("auto", "python")
    ]
    assert list(both[0]) == paths
    assert both[0] == pytest.approx(both[1], rel=1e-4)


def test_what_has_no_derivative_is_refused():
    scenario = pf.Scenario(
        "2s", pf.Link("10Mbit/s", "40000 packets"), pf.Pi2(), pf.Flows(pf.Reno(), 10, "50ms")
    )
    # an objective that jumps right here
    at = float(pf.fluid.simulate(scenario, tolerance=1e-9).queue_delay.max())
    with pytest.raises(pf.SolverError, match="kink"):
        pf.fluid.gradient(
            scenario, lambda ds: float(ds.queue_delay.max() > at), "aqm.alpha", tolerance=1e-9
        )
    with pytest.raises(pf.ScenarioError, match="does not have"):
        pf.fluid.gradient(scenario, mean_square, "aqm.alhpa")
    with pytest.raises(pf.ScenarioError, match="no number"):
        pf.fluid.gradient(scenario, mean_square, "aqm")
    with pytest.raises(pf.DomainError, match="relative neighbourhood"):
        pf.fluid.gradient(scenario, mean_square, "flows.0.start_jitter")
    with pytest.raises(pf.ScenarioError, match="one finite number"):
        pf.fluid.gradient(scenario, lambda ds: ds.queue, "aqm.alpha")
    with pytest.raises(pf.ScenarioError, match="cannot be called"):
        pf.fluid.gradient(scenario, 3.0, "aqm.alpha")  # type: ignore[arg-type]
