"""The figures of the thesis on PI2 in ns-3: what is measured, by hand and against the scenarios."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.papers.runs import spread
from pi2_fluid.papers.stated import stated
from pi2_fluid.papers.thesis.experiments import by_line, curves, shares, summary_of

SHORT = pf.named_scenario("thesis_fig4_2_pi2")
NUMBERS = ("4.2", "4.3", "4.5", "4.6", "4.8", "4.9", "4.10", "4.11")


@pytest.fixture(scope="module")
def run() -> xr.Dataset:
    """One run of 100 s, whose delay and throughput the tests overwrite."""
    return pf.packet.simulate(SHORT, seeds=1, bin="50ms")


def test_a_run_is_summed_up(run) -> None:
    """A peak of 120 ms at 1 s, then 10 and 30 ms in turns; half the link in the first 5 s."""
    made = run.copy(deep=True)
    time = made.time.to_numpy() - 0.025
    delay = np.where(np.arange(len(time)) % 2, 0.03, 0.01)
    delay[(time > 1.0) & (time < 1.1)] = 0.12
    delay[(time > 12.0) & (time < 12.1)] = 0.15  # no first peak, and before 20 s
    made["queue_delay"] = run.queue_delay.dims, delay[None, :]
    rate = np.where(time < 5.0, 5e6, 9e6)
    rate[time > 99.0] = 0.0  # when all flows have gone
    made["throughput"] = run.throughput.dims, rate.reshape(run.throughput.shape)
    found = {key: value.tolist() for key, value in summary_of(made, SHORT).items()}
    assert found["peak_ms"] == [120.0]
    assert found["mean_ms"] == pytest.approx([20.0])
    assert found["sd_ms"] == pytest.approx([10.0])
    assert found["total_mbit_s"] == pytest.approx([9.0])
    assert found["lost_5s"] == pytest.approx([0.5])


def test_drops_and_percentiles_are_those_of_all_packets(run) -> None:
    found = summary_of(run, SHORT)
    gone = float(run["count"].sel(cause=["drop_aqm", "drop_full"]).sum())
    assert found["dropped"][0] == pytest.approx(gone / float(run["count"].sel(cause="sent").sum()))
    (p95,) = found["p95_ms"]
    assert found["mean_ms"][0] < p95 < 3 * found["mean_ms"][0]


def test_median_and_range() -> None:
    found = spread("x", np.array([[1.0, 5.0], [3.0, 9.0], [2.0, 7.0]]), "_s")
    assert {key: value.tolist() for key, value in found.items()} == {
        "x_s": [2.0, 7.0], "x_low_s": [1.0, 5.0], "x_high_s": [3.0, 9.0],
    }  # fmt: skip


def test_queues_come_in_one_order() -> None:
    names = ("thesis_fig4_2_pi2", "thesis_fig4_2_pie")
    assert list(by_line({name: pf.named_scenario(name) for name in names})) == ["pie", "pi2"]


def test_queues_that_are_alike_are_alike() -> None:
    """The same scenario as both: no run is better than itself, and all columns agree."""
    same = {"a_pie": SHORT, "a_pi2": SHORT}
    rows, ratios = shares({"panel": same}, 2)
    assert ratios["panel"].tolist() == [1.0, 1.0]
    assert 0.3 < rows[0]["below_target"] < 1.0
    pie, pi2 = curves(same, 2, "throughput", 0.5, fluid=False)
    assert len(pie["time_s"]) == 200
    assert (pie["throughput_bit_s"] == pi2["throughput_bit_s"]).all()
    assert (pie["throughput_low_bit_s"] <= pie["throughput_first_bit_s"]).all()


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_a_quick_figure_says_what_its_first_runs_do(number) -> None:
    made = pf.figure("thesis", number, quick=True)
    assert set(made.measured.found) == {row.key for row in stated(f"thesis:{number}")}
    assert all(len(np.atleast_1d(value)) == 2 for value in made.measured.found.values())
    values = made.numbers
    assert all(np.isfinite(values[name]).all() for name in values if values[name].dtype.kind == "f")


@pytest.mark.slow
def test_a_figure_of_another_scenario_is_drawn_and_not_judged() -> None:
    made = pf.figure("thesis", "4.2", seeds=1, settings={"target": "5ms", "duration": "30s"})
    assert made.verdicts == {}
    assert float(made.numbers.time_s.max()) < 30.0
