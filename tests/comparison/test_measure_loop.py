"""The loop as it runs, measured by a known signal in p': against `Loop`, in fluids and packets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.comparison.response import measuring
from pi2_fluid.comparison.response.crossings import crossed, jackknife
from pi2_fluid.errors import AssumptionWarning

# Windows of 20 segments over 50 ms and a target of 20 ms
FLOWS = pf.Flows(pf.Reno(), 20, "50ms", ecn=True)
LINK = pf.Link("68.5Mbit/s", buffer=3000)
QUEUE = pf.Pi2(ecn=True, drop_at="dequeue")
MODERATE = pf.Scenario("60s", LINK, QUEUE, FLOWS)
LINES = [3.6, 4.4, 6.0, 7.6, 9.2, 10.8, 13.2, 15.6]  # odd multiples of 0.4

NARROWER = pf.Change("5s", capacity="9Mbit/s")

# Margins of lines


def test_margins_of_a_known_loop() -> None:
    """K e^(-sD)/s: |L| = 1 at K, and -180 degrees at pi/(2 D)."""
    gain, late = 4.0, 0.1
    omega = np.geomspace(2.0, 25.0, 10)
    loop = gain * np.exp(-1j * omega * late) / (1j * omega)
    found = crossed(omega, loop)
    # The cubic in ln omega misses the phase of the delay, which is an exponential of it.
    assert found.gain_crossover == pytest.approx(gain, rel=1e-3)
    assert found.phase_crossover == pytest.approx(np.pi / 2 / late, rel=0.01)
    assert found.phase_margin_deg == pytest.approx(90.0 - np.rad2deg(gain * late), abs=2.0)
    expected = 20 * np.log10(np.pi / 2 / late / gain)
    assert found.gain_margin_db == pytest.approx(expected, abs=0.1)
    unstable = crossed(omega, 6.0 * loop)
    assert unstable.gain_margin_db == pytest.approx(found.gain_margin_db - 15.56, abs=0.05)
    assert unstable.phase_margin_deg < 0.0


def test_a_law_without_acknowledgements_is_taken_by_rates() -> None:
    """Its lines lie around the crossovers of that loop."""
    dctcp = replace(FLOWS, sender=pf.Dctcp(), name="dctcp")
    one = replace(MODERATE, aqm=pf.DualPi2(), flows=(FLOWS, dctcp))
    loop, p_prime = measuring._loop(one)
    assert loop.clock == "rate"
    assert p_prime == pytest.approx(float(pf.equilibrium(one.network).controller), rel=1e-12)
    assert measuring._loop(MODERATE)[0].clock == "acks"


def test_what_does_not_cross_is_not_found() -> None:
    omega = np.array([1.0, 2.0, 3.0, 4.0])
    assert np.isnan(crossed(omega, 0.01 / (1j * omega))).all()
    found = crossed(omega, 2.0 / (1j * omega))  # always 90 degrees
    assert np.isnan(found.gain_margin_db)
    assert found.phase_margin_deg == pytest.approx(90.0, abs=1e-6)


def test_the_jackknife_of_a_mean_is_its_standard_error(rng) -> None:
    values = rng.normal(size=(9, 3))
    found = jackknife(9, lambda weight: weight @ values / weight.sum())
    np.testing.assert_allclose(found.value, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.error, values.std(axis=0, ddof=1) / 3.0, rtol=1e-9)
    np.testing.assert_allclose(found.reach / found.error, 1.85955, rtol=1e-5)  # t, 95 %, 8
    assert np.isnan(jackknife(1, lambda weight: weight @ values[:1]).error).all()


# Fluids, whose loop is known


@pytest.mark.slow
@pytest.mark.parametrize("clock", ["rate", "acks"])
@pytest.mark.parametrize(
    "queue",
    [QUEUE, pf.Pi(alpha=0.03, beta=0.3, drop_at="dequeue"), pf.Pie(table="rfc8033", burst="0s")],
    ids=["pi2", "pi", "pie"],
)
def test_fluids_have_the_loop_of_the_equations(queue: Any, clock: str) -> None:
    scenario = replace(MODERATE, aqm=queue)
    point = pf.equilibrium(scenario.network)
    rest = replace(FLOWS, initial_window=float(point.window[0]), slow_start=False)
    loop = pf.Loop(scenario.network, clock=clock, update="sampled", rtt_terms="exact")
    margins = loop.margins()
    low, high = sorted((float(margins.gain_crossover), float(margins.phase_crossover)))
    found = pf.measure_loop(
        replace(scenario, flows=[rest]),
        pf.Fluid(clock=clock),
        frequencies=np.geomspace(0.5 * low, 1.8 * high, 8),
        amplitude=1e-3,
    )
    expected = loop(1j * found.omega.to_numpy())
    # what is left is of the order of the amplitude, and of aliases of the delay's own sine
    np.testing.assert_allclose(found.loop / expected, 1.0, rtol=0, atol=4e-3)
    np.testing.assert_allclose(found.return_ratio / expected, 1.0, rtol=0, atol=4e-3)
    assert float(found.gain_margin_db) == pytest.approx(margins.gain_margin_db, abs=0.2)
    # of a phase that is nearly flat a cubic in ln omega over a decade misses two degrees
    assert float(found.phase_margin_deg) == pytest.approx(margins.phase_margin_deg, abs=3.0)


@pytest.mark.slow
def test_the_lines_are_chosen_around_both_crossovers() -> None:
    found = pf.measure_loop(MODERATE, pf.Fluid(), amplitude=1e-3)
    omega = found.omega.to_numpy()
    assert omega.min() < 0.7 * float(found.gain_crossover)
    assert omega.max() > 1.4 * float(found.phase_crossover)
    # odd multiples of one number, whose sums and differences are even ones
    unit = np.diff(omega).min() / 2.0
    np.testing.assert_allclose(np.round(omega / unit) % 2, 1.0)
    np.testing.assert_allclose(omega / unit, np.round(omega / unit), atol=1e-6)


# Packets


@pytest.mark.slow
def test_packets_of_64_times_the_flows_have_the_loop_by_acknowledgements() -> None:
    loop = pf.Loop(MODERATE.network, clock="acks", update="sampled").margins()
    once, twice = (
        pf.measure_loop(
            replace(MODERATE, aqm=queue),
            pf.Packets(seeds=1),
            frequencies=LINES,
            times=64,
        )
        for queue in (QUEUE, replace(QUEUE, alpha=2 * QUEUE.alpha, beta=2 * QUEUE.beta))
    )
    # The model leaves out 0.6 dB and 5 degrees (docs/ack_clock.md); the rest is chance.
    for name, left_out in (("gain_margin", 0.7), ("phase_margin", 6.0)):
        value = f"{name}_db" if name == "gain_margin" else f"{name}_deg"
        within = left_out + 3.0 * float(once[f"{name}_se"])
        assert float(once[value]) == pytest.approx(getattr(loop, value), abs=within)
    cost = float(once.gain_margin_db - twice.gain_margin_db)
    error = float(np.hypot(once.gain_margin_se, twice.gain_margin_se))
    assert error < 0.7
    assert cost == pytest.approx(6.02, abs=3.0 * error)
    for found in (once, twice):
        assert float(found.clipped) == 0.0
        # nothing is clipped, so what comes back tells the same as the delay
        scatter = np.abs(found.return_ratio / found.loop - 1.0)
        assert float(scatter.max()) < 0.1
        assert float(found.gain_margin_interval[0]) < float(found.gain_margin_db)


@pytest.mark.slow
def test_the_gains_of_the_run_do_not_change_the_loop() -> None:
    whole, half = (
        pf.measure_loop(MODERATE, pf.Packets(seeds=2), frequencies=LINES, times=16, gains=gains)
        for gains in (1.0, 0.5)
    )
    error = float(np.hypot(whole.gain_margin_se, half.gain_margin_se))
    assert float(whole.gain_margin_db - half.gain_margin_db) == pytest.approx(0.0, abs=3 * error)


# What is refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"times": 0}, "times = 0 is no whole number from 1 on"),
        ({"times": 2.5}, r"times = 2\.5 is no whole number"),
        ({"gains": 0.0}, r"gains = 0\.0 is outside"),
        ({"amplitude": 0.7}, r"amplitude = 0\.7 is outside"),
        ({"frequencies": [1.0, 2.0]}, "no rising row of 4 or more"),
        ({"frequencies": [1.0, 3.0, 2.0, 5.0]}, "no rising row of 4 or more"),
        ({"frequencies": [1.0, 1.01, 2.0, 5.0]}, "too short to tell the lines apart"),
        ({"warmup": "59s"}, "too short to tell the lines apart"),
        ({"engine": "packets"}, "engine = 'packets'"),
        ({"scenario": replace(MODERATE, aqm=pf.CoDel())}, "CoDel has no PI controller"),
        (
            {"scenario": replace(MODERATE, changes=[NARROWER]), "times": 4},
            "times = 4 would multiply",
        ),
        (
            {"scenario": replace(MODERATE, changes=[NARROWER]), "warmup": "4s"},
            "changes the scenario at 5 s, after a warmup of 4 s",
        ),
        ({"warmup": "60s"}, "warmup = 60 s leaves nothing of the 60 s"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured(given: dict[str, Any], message: str) -> None:
    with refused((pf.QuantityError, pf.DomainError, pf.UnsupportedError), match=message):
        pf.measure_loop(**{"scenario": MODERATE} | given)


@pytest.mark.slow
def test_a_link_without_a_buffer_is_measured_as_with_that_of_its_default() -> None:
    flows = pf.Flows(pf.Reno(), 10, "50ms", initial_window=14, slow_start=False)
    usual = 250e-3 * 20e6 / (8 * 1500)
    found = [
        pf.measure_loop(
            pf.Scenario("45s", pf.Link("20Mbit/s", buffer=buffer), pf.Pi2(), flows),
            pf.Fluid(),
            amplitude=1e-3,
            times=4,
        ).gain_margin_db.item()
        for buffer in (None, usual)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-9)
    exact = pf.Loop(flows, pf.Pi2(), capacity="20Mbit/s", update="sampled", rtt_terms="exact")
    assert found[0] == pytest.approx(exact.margins().gain_margin_db, abs=0.05)


@pytest.mark.slow
def test_a_margin_outside_of_the_lines_is_warned_of() -> None:
    with pytest.warns(AssumptionWarning, match=r"no gain crossover between 1\.2 and 2\.4 rad/s"):
        found = pf.measure_loop(
            MODERATE, pf.Packets(seeds=1), frequencies=[1.2, 1.6, 2.0, 2.4], times=4
        )
    assert np.isnan(found.gain_margin_db)


def test_an_interval_that_one_record_leaves_open_is_warned_of() -> None:
    """The third record alone keeps the loop above 1 at the lowest line."""
    omega = np.array([4.0, 5.0, 6.0, 7.0])
    sizes = np.array([0.0, 0.0, 13.5])

    def margins(weight: Any) -> Any:
        loop = weight @ sizes / weight.sum() * np.exp(-0.2j * omega) / (1j * omega)
        return np.array(crossed(omega, loop + 1e-9))

    found = jackknife(3, margins)
    assert np.isfinite(found.value[3])
    with pytest.warns(AssumptionWarning, match="without one or other of the 3 records"):
        measuring._warn(found, omega, 0.0, 3)
