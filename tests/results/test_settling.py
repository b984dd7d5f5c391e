"""What a queue delay does after changes, beside loops that take every definition by its words."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.results.settling import BAND, LEAST_BAND, changes_of, changes_text, settling_of


def by_its_words(time, delay, begin, smoothed):
    """Peak, its time, rest and settling time, value by value."""
    last = begin + 0.75 * (time[-1] - begin) - 1e-9
    quarter = [d for t, d in zip(time, delay, strict=True) if t >= last]
    rest = sum(quarter) / len(quarter)
    band = max(BAND * rest, LEAST_BAND)
    peak = max(delay)
    at = time[delay.index(peak)]
    settling = 0.0
    for i, now in enumerate(time):
        near = [d for t, d in zip(time, delay, strict=True) if now - smoothed + 1e-9 <= t <= now]
        asked = sum(near) / len(near) if smoothed else delay[i]
        if abs(asked - rest) > band:
            settling = math.inf if now >= last else time[i + 1] - begin
    return peak, at, rest, settling


def series(drawn):
    """Transients, swings and noise, in even steps."""
    count = int(drawn.integers(1, 120))
    begin, step = float(drawn.uniform(0, 50)), float(drawn.choice([0.01, 0.1, 0.25]))
    time = begin + step * (np.arange(count) + drawn.integers(0, 2))
    since = (time - begin) / drawn.uniform(0.2, 5.0)
    delay = drawn.uniform(0, 0.1) * np.exp(-since) * np.cos(drawn.uniform(0, 9) * since)
    delay += drawn.uniform(0, 0.03) + drawn.uniform(0, 0.01) * drawn.standard_normal(count)
    return time, np.maximum(delay, 0.0), begin


@pytest.mark.slow
@pytest.mark.parametrize("smoothed", [0.0, 1.0])
def test_two_hundred_series_are_read_by_the_words_of_the_definitions(smoothed) -> None:
    drawn, endless = np.random.default_rng(31), 0
    for _ in range(200):
        time, delay, begin = series(drawn)
        found = settling_of(time, delay, begin, smoothed)
        expected = by_its_words(time.tolist(), delay.tolist(), begin, smoothed)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
        endless += math.isinf(found.settling)
    assert 5 < endless < 150


def scenario(*changes, **flows):
    link = pf.Link("20Mbit/s")
    both = [pf.Flows(pf.Reno(), 5, "50ms"), pf.Flows(pf.Cubic(), 2, "50ms", **flows)]
    return pf.Scenario("40s", link, pf.Pi2(), both, changes)


FALL = pf.Change("10s", "4Mbit/s")
MORE = pf.Change("30s", "20Mbit/s", counts={"reno": 10})


@pytest.mark.slow
@pytest.mark.parametrize("engine", [pf.Fluid(), pf.Packets(seeds=2)], ids=["fluid", "packets"])
def test_a_summary_has_what_happens_after_each_change(engine) -> None:
    result = pf.simulate(scenario(FALL, MORE, start="20s"), engine)
    told = pf.summarize(result, after="5s")
    assert told.change_at.values.tolist() == [10.0, 20.0, 30.0]
    fall = told.isel(change=0)
    # A backlog of 20 ms takes five times as long to be served, and what is under way comes on top.
    assert (fall.change_peak > 0.1).all()
    assert (fall.change_peak == told.queue_delay_max).all()
    assert (fall.change_peak_at == told.queue_delay_max_at).all()
    assert ((fall.change_peak_at >= 10) & (fall.change_peak_at < 12)).all()
    assert ((fall.change_settling > 0.5) & (fall.change_settling < 7.5)).all()
    assert np.allclose(told.change_rest, 0.02, rtol=0.25)
    assert {"change", *(["seed"] if "seed" in result.dims else [])} == set(told.change_peak.dims)
    for name in ("queue_delay_max", "change_peak", "change_at"):
        assert told[name].attrs["units"] == "s"


def test_only_changes_in_the_stretch_are_told() -> None:
    result = pf.simulate(scenario(FALL, MORE))
    assert pf.summarize(result, after="15s").change_at.values.tolist() == [30.0]
    assert pf.summarize(result, after="10s", until="30s").change_at.values.tolist() == [10.0]
    assert "change" not in pf.summarize(result, after="31s").dims
    # Until the end of the stretch, not beyond.
    early = pf.summarize(result, until="10.3s")
    assert float(early.change_peak_at[0]) <= 10.3


def test_a_sample_at_the_next_change_is_of_that_one() -> None:
    """The delay jumps with the capacity: what came before it has no part in that."""
    rises = pf.Change("10s", counts={"reno": 6})
    told = pf.summarize(pf.simulate(scenario(rises, pf.Change("20s", "6Mbit/s"))))
    assert float(told.change_peak[0]) < 0.03 < 0.06 < float(told.change_peak[1])


def test_each_queue_and_each_link_is_told_by_itself() -> None:
    flows = [pf.Flows(pf.Reno(), 5, "50ms"), pf.Flows(pf.Scalable(), 2, "50ms")]
    dual = pf.Scenario("20s", pf.Link("20Mbit/s"), pf.DualPi2(), flows, [FALL])
    told = pf.summarize(pf.simulate(dual))
    assert told.change_peak.dims == ("change", "band")
    assert told.queue_delay_max.dims == ("band",)


def test_what_changes_is_said_in_words() -> None:
    made = scenario(FALL, MORE, start="10s", stop="35s")
    result = pf.simulate(made)
    assert changes_of(result, 0.0, 40.0) == [
        (10.0, "capacity 4 Mbit/s, cubic starts"),
        (30.0, "capacity 20 Mbit/s, 10 reno"),
        (35.0, "cubic stops"),
    ]
    assert changes_text(scenario()) == "[]"


def test_results_without_the_attribute_have_no_changes() -> None:
    result = pf.simulate(scenario(FALL))
    del result.attrs["changes"]
    told = pf.summarize(result)
    assert "change" not in told.dims
    assert float(told.queue_delay_max) > 0.1
