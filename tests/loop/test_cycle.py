"""The cycle beyond the margin: its describing function by hand, and against the fluid in time."""

from __future__ import annotations

from pathlib import Path

import measure_cycles
import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.loop import cycle as cycles

CAPACITY = 200e6


def queue(alpha: int, beta: int) -> pf.DualPi2:
    return pf.DualPi2(alpha=alpha / 256, beta=beta / 256, target=0.015, update_interval=0.016)


def loop_of(count: float, rtt: float, gains: tuple[int, int], clock: str = "rate") -> pf.Loop:
    flows = pf.Flows(pf.Reno(), count, rtt)
    return pf.Loop(flows, queue(*gains), capacity=CAPACITY, update="sampled", clock=clock)


def test_the_floor_gives_back_what_drifts_away() -> None:
    kept = cycles.reflected(2.0, 1.5)
    steps = np.diff(kept)
    assert kept.min() == 0.0
    # It falls from one cycle to the next by nothing, the cosine by 1.5: the floor gave as much.
    free = 2.0 * np.cos(2 * np.pi * np.arange(512) / 512) - 1.5 * np.arange(512) / 512
    given = steps - np.diff(free)
    assert np.all(given > -1e-12)
    assert given.sum() == pytest.approx(1.5, abs=0.02)  # the last of 512 steps is not in it


def test_of_a_square_the_describing_function_is_known_until_it_meets_the_floor() -> None:
    """(c + a cos)^2 has the mean c^2 + a^2/2 = 1 and the harmonic 2 a c: N = sqrt(1 - a^2/2)."""
    gain, lead, drift = cycles.balance(2)
    free = np.sqrt(2 / 3) > cycles.AMPLITUDES
    assert gain[free] == pytest.approx(np.sqrt(1.0 - cycles.AMPLITUDES[free] ** 2 / 2), rel=1e-9)
    assert np.abs(lead[free]).max() < 1e-9
    assert np.all(drift[free] == 0.0)
    assert np.all(lead[~free][1:] > 0.0)
    assert np.all(np.diff(drift[~free]) > 0.0)


@pytest.mark.parametrize("power", [1, 2])
def test_signals_that_are_never_negative_have_harmonics_of_twice_their_mean_at_most(
    power: int,
) -> None:
    gain, _, _ = cycles.balance(power)
    harmonic = gain * power * cycles.AMPLITUDES
    assert np.all(harmonic < 2.0)
    assert np.all(np.diff(harmonic) > 0.0)
    assert harmonic[-1] > 1.9
    assert np.all(np.diff(gain) <= 1e-12)  # so that each gain has its amplitude


@pytest.mark.parametrize("clock", ["rate", "acks"])
def test_a_loop_with_a_margin_does_not_cycle(clock: str) -> None:
    loop = loop_of(60, 0.1, (12, 643), clock)
    assert loop.cycle() == (float(loop.margins().oscillation_period), 0.0, 0.0)


@pytest.mark.parametrize("beyond", [0.05, 0.4, 1.5])
def test_it_begins_at_the_margin_and_grows_with_what_the_gain_is_beyond(beyond: float) -> None:
    """Until it meets the floor: N = sqrt(1 - a^2/2) at the phase crossover, a = |K| theta/x."""
    first = loop_of(60, 0.1, (41, 1200))
    factor = 10 ** ((float(first.margins().gain_margin_db) + beyond) / 20)
    gains = {"alpha": 41 / 256 * factor, "beta": 1200 / 256 * factor}
    aqm = pf.Pi2(**gains, target=0.015, update_interval=0.016)
    flows = pf.Flows(pf.Reno(), 60, 0.1)
    loop = pf.Loop(flows, aqm, capacity=CAPACITY, update="sampled")
    margins, found = loop.margins(), loop.cycle()
    assert float(margins.gain_margin_db) == pytest.approx(-beyond, abs=1e-6)
    w = float(margins.phase_crossover)
    law = gains["beta"] + gains["alpha"] / 2 + gains["alpha"] / (0.016j * w)
    relative = np.sqrt(2.0 * (1.0 - 10 ** (-beyond / 10)))
    rest = float(loop.operating_point.controller)
    assert found.amplitude == pytest.approx(relative * rest / abs(law), rel=1e-2)
    assert found.period == pytest.approx(2 * np.pi / w, rel=1e-3)
    assert found.below == 0.0


@pytest.mark.filterwarnings("ignore:update_interval")
def test_a_crossing_at_the_end_of_the_frequencies_stays_there() -> None:
    """Where updates are longer than round trips the delay goes up at one, down at the next."""
    aqm = pf.Pi2(alpha=0.3, beta=120.0, update_interval="32ms")
    loop = pf.Loop(pf.Reno(), aqm, rtt="5ms", p_prime=0.1, update="sampled")
    assert float(loop.margins().gain_margin_db) < 0.0
    assert loop.cycle().period == pytest.approx(0.064, rel=0.05)
    assert loop.cycle().amplitude > 0.0


def swing_of(count: int, rtt: float, gains: tuple[int, int]) -> tuple[float, float, float]:
    """Return period, amplitude and mean below the target of the fluid in the end."""
    flows = pf.Flows(pf.Reno(), count, rtt, slow_start=False)
    scenario = pf.Scenario(60.0, pf.Link(CAPACITY, buffer=200_000), queue(*gains), flows)
    run = pf.Fluid(update="sampled", sample="5ms").run(scenario)
    run = run.sel(time=slice(40.0, None))
    delay, time = run.queue_delay.sel(band="C").to_numpy(), run.time.to_numpy()
    rises = np.flatnonzero((delay[1:] > delay.mean()) & (delay[:-1] <= delay.mean()))
    period = (time[rises[-1]] - time[rises[0]]) / (len(rises) - 1)
    return period, np.ptp(delay) / 2, 0.015 - delay.mean()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "rtt", "gains"),
    [
        (60, 0.1, (41, 1800)),
        (60, 0.1, (41, 2600)),
        (60, 0.185, (20, 1200)),
        (20, 0.1, (41, 2600)),
        (20, 0.1, (41, 1800)),
    ],
)
def test_the_fluid_cycles_as_it_is_said_to(count: int, rtt: float, gains: tuple[int, int]) -> None:
    """One harmonic of several, and no empty queue."""
    found = loop_of(count, rtt, gains).cycle()
    period, amplitude, below = swing_of(count, rtt, gains)
    assert found.period == pytest.approx(period, rel=0.1)
    assert found.amplitude == pytest.approx(amplitude, rel=0.15)
    assert found.below == pytest.approx(below, abs=0.001)
    # No cycle of equal flows can do more: one segment each in a round trip.
    assert 2.0 * amplitude < period / rtt * count / (CAPACITY / 12e3)


def test_what_has_no_such_cycle_is_refused() -> None:
    flows = pf.Flows(pf.Reno(), 60, 0.1)
    with pytest.raises(pf.errors.UnsupportedError, match="one class of flows under PI2"):
        pf.Loop(flows, pf.Pie(), capacity=CAPACITY).cycle()
    with pytest.raises(pf.errors.UnsupportedError, match="one class of flows under PI2"):
        pf.Loop([flows, pf.Flows(pf.Reno(), 1, 0.02)], pf.Pi2(), capacity=CAPACITY).cycle()
    with pytest.raises(pf.errors.UnsupportedError, match="array of shape"):
        pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=np.array([0.1, 0.2])).cycle()


def test_the_page_has_what_cycle_says() -> None:
    """Of each row all that is not simulated; `tools/measure_cycles.py` makes the rest."""
    page = (Path(__file__).parents[2] / "docs/theory_limits.md").read_text(encoding="utf-8")
    for case in measure_cycles.CASES:
        row = f"| {measure_cycles.row_text(case)} |".replace("-", "\N{MINUS SIGN}")
        assert row in page, row
