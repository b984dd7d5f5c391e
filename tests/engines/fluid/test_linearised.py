"""The steps of the linear fluid: its polynomials, its kinks, and how exact it is."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from networks import two_dual_links
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.engines.fluid.linearised.elements import (
    HIGHEST,
    INTEGRALS,
    NODES,
    STAGES,
    WEIGHTS,
    weights_at,
)

LINK = pf.Link("15Mbit/s", "40000 packets")
LONG = pf.Flows(pf.Reno(), 6, "80ms", "long", route=("a", "b"), hops=("5ms", "7ms"))
FLOWS = (LONG, pf.Flows(pf.Reno(), 5, "40ms", "at a", route="a"))
TWO = pf.Network(
    (
        pf.Node("a", LINK, pf.Pi2()),
        pf.Node("b", pf.Link("6Mbit/s", "40000 packets"), pf.Pi2(alpha=0.5, beta=5.0)),
    ),
    FLOWS,
)
ONE = pf.Network(
    pf.Node("a", LINK, pf.Pi2()),
    [pf.Flows(pf.Reno(), 10, "40ms", "reno"), pf.Flows(pf.Cubic(), 4, "20ms", "cubic")],
)


def test_polynomials_are_exact_up_to_their_degree() -> None:
    parts = np.array([-0.05, 0.0, 0.3, 1.0])
    for degree in range(STAGES):
        np.testing.assert_allclose(weights_at(parts) @ NODES**degree, parts**degree, atol=1e-12)
        until = NODES ** (degree + 1) / (degree + 1)
        np.testing.assert_allclose(INTEGRALS @ NODES**degree, until, atol=1e-14)
        # the last coefficient alone sees the last degree
        assert (np.abs(HIGHEST @ NODES**degree) > 1e-12).tolist() == [
            degree >= STAGES - 2,
            degree >= STAGES - 1,
        ]
    # at the end twice as far
    for degree in range(2 * STAGES):
        assert WEIGHTS @ NODES**degree == pytest.approx(1.0 / (degree + 1), abs=1e-14)


SCENARIOS = {
    "one link": pf.Scenario(
        "0.5s",
        network=ONE,
        changes=[
            pf.Change("0.1s", counts={"reno": 8}),
            pf.Change("0.2s", "12Mbit/s"),
            pf.Change("0.3s", counts={"reno": 0, "cubic": 0}),
            pf.Change("0.4s", counts={"reno": 10}),
        ],
    ),
    "two links": pf.Scenario(
        "0.4s",
        network=TWO,
        changes=[
            pf.Change("0.1s", counts={"long": 9}),
            pf.Change("0.13s", "12Mbit/s", link="a"),
        ],
    ),
    "late starters": pf.Scenario(
        "0.4s",
        network=dataclasses.replace(
            TWO,
            flows=(
                FLOWS[0],
                dataclasses.replace(FLOWS[1], start="50ms", start_jitter="0.1s", stop="0.3s"),
            ),
        ),
    ),
    "dual queues": pf.Scenario("0.2s", network=two_dual_links()),
}


def found(scenario: pf.Scenario, **how: Any) -> Any:
    return pf.simulate(scenario, pf.Fluid(linear=True, sample="5ms", **how))


@pytest.mark.slow
@pytest.mark.parametrize("update", ["sampled", "continuous"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_errors_are_of_the_size_of_the_tolerance(name: str, update: str) -> None:
    """Relative to the largest value: next to steps that are good for 1e-13.

    The tolerance is that of a step; of all together it was 1.4 times as much at most.
    """
    if name == "dual queues" and update == "continuous":
        pytest.skip("a dual queue has no continuous form")
    exact = found(SCENARIOS[name], update=update, tolerance=1e-13)
    for tolerance in (1e-6, 1e-8, 1e-10):
        other = found(SCENARIOS[name], update=update, tolerance=tolerance)
        for quantity in ("window", "queue", "controller"):
            size = float(np.abs(exact[quantity]).max())
            assert float(np.abs(other[quantity] - exact[quantity]).max()) < 3.0 * tolerance * size
    # and shorter steps find the same
    short = found(SCENARIOS[name], update=update, step="2ms")
    np.testing.assert_allclose(short.window, exact.window, rtol=1e-9)


def test_a_ramp_of_no_length_is_a_start() -> None:
    """What flows that start one after the other send grows to that of all."""

    def late(**when: str) -> Any:
        flows = (FLOWS[0], dataclasses.replace(FLOWS[1], start="52.5ms", **when))
        scenario = pf.Scenario("0.2s", network=dataclasses.replace(TWO, flows=flows))
        return found(scenario, update="continuous").queue.to_numpy()

    at_once, soon, later = late(), late(start_jitter="10us"), late(start_jitter="20us")
    off, twice = (np.abs(each - at_once).max() for each in (soon, later))
    assert off < 1e-2
    assert twice == pytest.approx(2.0 * off, rel=0.05)


def test_throughput_is_of_the_first_order_too() -> None:
    """Of half the deviation, half the deviation; all streams of a full link fill it."""
    rest = pf.equilibrium(TWO)
    away = []
    for nudge in (0.2, 0.1):
        start = {
            "window": [float(rest.window[0]) * (1 + nudge), float(rest.window[1])],
            "queue": dict(zip(TWO.node_names, map(float, rest.queue), strict=True)),
            "controller": dict(zip(TWO.node_names, map(float, rest.controller), strict=True)),
        }
        run = found(pf.Scenario("0.2s", network=TWO), initial=start)
        away.append(run.throughput.to_numpy() - rest.rate.to_numpy() * [6, 5] * 12000.0)
        total = run.link_throughput.sel(link="a").sum(dim="flows")
        np.testing.assert_allclose(total, 15e6, rtol=1e-9)
    assert np.abs(away[0]).max() > 1e4
    np.testing.assert_allclose(away[0], 2.0 * away[1], atol=1e-8 * np.abs(away[0]).max())


@pytest.mark.slow
def test_throughput_is_the_limit_of_small_deviations() -> None:
    """The difference from that of the laws themselves falls with the square."""
    rest = pf.equilibrium(ONE)

    def off(nudge: float) -> float:
        start = {
            "window": [rest.window[0] * (1 + nudge), rest.window[1]],
            "queue": rest.queue,
            "controller": rest.controller,
        }
        scenario = pf.Scenario("0.2s", network=ONE)
        straight = found(scenario, initial=start, tolerance=1e-11).throughput
        bent = pf.simulate(scenario, pf.Fluid(initial=start, tolerance=1e-11, sample="5ms"))
        return float(np.abs(bent.throughput - straight).max())

    assert off(1e-2) / off(1e-3) == pytest.approx(100.0, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("network", [ONE, TWO], ids=["one link", "two links"])
def test_a_constant_rate_has_the_window_of_its_round_trip(network: pf.Network) -> None:
    """The difference from that of the laws themselves falls with the square, and it moves."""
    steady = pf.Flows(pf.Cbr(rate="1Mbit/s"), 1, "30ms", "steady", route=network.node_names)
    network = dataclasses.replace(network, flows=(*network.flows, steady))
    rest = pf.equilibrium(network)

    def off(nudge: float) -> tuple[float, float]:
        window = [float(value) for value in rest.window]
        start: dict[str, Any] = {"window": [window[0] * (1 + nudge), *window[1:]]}
        for name in ("queue", "controller"):
            value = getattr(rest, name)
            one = len(network.nodes) == 1
            start[name] = (
                value if one else dict(zip(network.node_names, map(float, value), strict=True))
            )
        scenario = pf.Scenario("0.2s", network=network)
        straight = found(scenario, initial=start, tolerance=1e-11).window.sel(flows="steady")
        bent = pf.simulate(scenario, pf.Fluid(initial=start, tolerance=1e-11, sample="5ms"))
        away = bent.window.sel(flows="steady") - straight
        return float(np.abs(away).max()), float(straight.max() - straight.min())

    (large, moved), (small, _) = off(1e-2), off(1e-3)
    assert moved > 20.0 * large
    assert large / small == pytest.approx(100.0, rel=0.1)


def test_progress_reaches_the_end() -> None:
    told: list[tuple[float, float]] = []
    pf.fluid.simulate(
        SCENARIOS["one link"], linear=True, progress=lambda done, all_: told.append((done, all_))
    )
    assert told[-1] == pytest.approx((0.5, 0.5), abs=0.032)


@pytest.mark.slow
def test_what_outgrows_all_numbers_is_said() -> None:
    """Without bounds an unstable loop grows for ever."""
    flows = pf.Flows(pf.Reno(), 10, "80ms")
    scenario = pf.Scenario("10s", LINK, pf.Pi2(alpha=3e6, beta=3e7), flows)
    with refused(pf.SolverError, "grows without bound", "unstable", ": shorten the run"):
        pf.simulate(scenario, pf.Fluid(linear=True))  # a shorter step cannot help
