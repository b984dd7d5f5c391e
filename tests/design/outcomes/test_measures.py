"""Measures of what people feel: against Datasets made by hand, and against the packets' own."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.design.outcomes.comparing import compared
from pi2_fluid.design.outcomes.measures import BIN, MEASURES, measure
from pi2_fluid.design.outcomes.running import costs

NAMES = list(MEASURES)
MS = 1e-3


def by_name(found):
    return dict(zip(NAMES, found, strict=True))


def by_hand(delays, rates, capacity=10e6):
    """Two classes, Classic and L4S, in rows of 1 s: the delay of each row's packets, and a rate."""
    delays, rates = np.asarray(delays, float), np.asarray(rates, float)
    rows = delays.size
    edges = np.arange(0.0, 0.2, MS)
    histogram = np.zeros((1, rows, 2, edges.size - 1), int)
    for row, delay in enumerate(delays):
        histogram[0, row, 0, round(float(delay) / MS)] = 100
        histogram[0, row, 1, 0] = 50
    end = np.arange(1.0, rows + 1)
    each = ("seed", "time")
    return xr.Dataset(
        {
            "queue_delay": ((*each, "band"), np.stack([delays, 0.0 * delays], -1)[None]),
            "throughput": ((*each, "flows"), np.stack([rates, 0.0 * rates], -1)[None]),
            "capacity": ("time", np.full(rows, capacity)),
            "delay_histogram": (("seed", "block", "flows", "delay"), histogram),
            "count": (
                ("seed", "flows", "cause"),
                np.array([[[1000, 5, 4, 1], [1000, 0, 0, 0]]]),
            ),
        },
        {
            "time": end,
            "bin": ("time", np.ones(rows)),
            "block": end,
            "block_start": ("block", end - 1.0),
            "delay": edges[:-1],
            "delay_end": ("delay", edges[1:]),
            "cause": ["sent", "drop_aqm", "drop_full", "drop_overload"],
        },
    )


def scenario(*flows):
    return pf.Scenario("10s", pf.Link("10Mbit/s"), pf.DualPi2(), flows)


CLASSIC, L4S = pf.Flows(pf.Cubic(), 1, "20ms"), pf.Flows(pf.Prague(), 1, "20ms")
#: Warm-up, steady, after an event.
DELAYS = np.array([90, 90, 10, 14, 12, 12, 30, 60, 20, 10]) * MS
RATES = np.array([1, 1, 10, 9, 9, 8, 5, 10, 10, 7]) * 1e6
STEADY, AFTER = (2.0, 6.0), ((6.0, 9.0),)


def test_measures_are_what_one_counts_by_hand():
    found = by_name(measure(by_hand(DELAYS, RATES), scenario(CLASSIC, L4S), STEADY, AFTER))
    assert found["mean_after"][0] == pytest.approx((30 + 60 + 20) / 3 * MS)
    assert found["peak_after"][0] == pytest.approx(60 * MS)
    assert found["sd"][0] == pytest.approx(np.std([10, 14, 12, 12]) * MS)
    assert found["rate"][0] == pytest.approx(0.90)
    assert found["rate_after"][0] == pytest.approx((0.5 + 1.0 + 1.0) / 3)
    assert found["rate_measured"][0] == pytest.approx((4 * 0.9 + 2.5) / 7)
    assert found["loss"][0] == pytest.approx(10 / 2000)
    # All packets of a row are in one bucket of 1 ms, from the row's delay on.
    assert 14 * MS <= found["p99"][0] <= 15 * MS
    assert 60 * MS <= found["p99_after"][0] <= 61 * MS
    assert found["l4s_p99"][0] <= 1 * MS
    assert np.isnan(found["completion"][0])


def test_a_cell_without_events_has_no_measures_after_them():
    found = by_name(measure(by_hand(DELAYS, RATES), scenario(CLASSIC, L4S), STEADY, ()))
    gone = [name for name in NAMES if name.endswith("_after")]
    assert gone == ["p99_after", "mean_after", "peak_after", "rate_after"]
    assert all(np.isnan(found[name][0]) for name in gone)
    assert found["rate_measured"][0] == found["rate"][0]


def test_where_there_are_l4s_packets_alone_their_delay_counts():
    found = by_name(measure(by_hand(DELAYS, RATES), scenario(L4S, L4S), STEADY, AFTER))
    assert found["mean_after"][0] == 0.0  # the L4S queue is empty in these rows
    assert found["p99"][0] == found["l4s_p99"][0]


def test_capacity_that_changes_counts_by_time():
    runs = by_hand(DELAYS, RATES)
    runs["capacity"][:] = np.where(np.arange(10) >= 6, 20e6, 10e6)
    found = by_name(measure(runs, scenario(CLASSIC, L4S), STEADY, AFTER))
    assert found["rate_after"][0] == pytest.approx((0.25 + 0.5 + 0.5) / 3)


@pytest.fixture(scope="module")
def web():
    long = pf.Flows(pf.Cubic(), 2, "20ms", "long")
    pages = pf.Transfers(pf.Cubic(), 5, "20ms", "pages", size=pf.Fixed(20), idle="500ms")
    run = pf.Scenario("12s", pf.Link("5Mbit/s"), pf.presets.linux_dualpi2(), [long, pages])
    return run, pf.packet.simulate(run, seeds=3, bin=BIN, threads=1)


def test_over_the_whole_run_they_are_the_packets_own_quantiles(web):
    run, runs = web
    found = by_name(measure(runs, run, (0.0, 12.0), ()))
    own = runs["delay_quantile"].sel(quantile=0.99, band="C").to_numpy()
    np.testing.assert_allclose(found["p99"], own, rtol=1e-12)
    carried = runs["rate"].sum("flows").to_numpy() / 5e6
    np.testing.assert_allclose(found["rate"], carried, rtol=1e-9)
    counted = runs["count"].sum("flows")
    lost = counted.sel(cause=["drop_aqm", "drop_full", "drop_overload"]).sum("cause")
    np.testing.assert_allclose(found["loss"], lost / counted.sel(cause="sent"), rtol=1e-12)


def test_completion_is_the_median_of_small_transfers(web):
    run, runs = web
    found = by_name(measure(runs, run, (0.0, 12.0), ()))
    ours = pf.completions(runs).completion_median.sel(flows="pages")
    # Of those that began and were not finished the package's own leaves out the time.
    np.testing.assert_allclose(found["completion"], ours, rtol=0.05)


# --- what two queues make of each other --------------------------------------------------------


def test_changes_are_ratios_and_of_shares_differences():
    rng = np.random.default_rng(1)
    base = np.full((2, len(NAMES), 6), 0.02) * rng.uniform(0.9, 1.1, (2, len(NAMES), 6))
    found = compared(1.5 * base, base)
    ratio = np.array([about.compared == "ratio" for about in MEASURES.values()])
    np.testing.assert_allclose(found.change[ratio], 1.5, rtol=1e-12)
    np.testing.assert_allclose(found.low[ratio], 1.5, rtol=1e-9)
    differences = (0.5 * base[:, ~ratio]).mean(axis=-1).T
    np.testing.assert_allclose(found.change[~ratio, :2], differences, rtol=1e-12)


def test_intervals_are_students_of_pairs():
    from scipy import stats

    rng = np.random.default_rng(2)
    one, two = rng.uniform(0.01, 0.03, (2, 1, len(NAMES), 7))
    found = compared(one, two)
    p99 = NAMES.index("p99")
    logs = np.log(one[0, p99] / two[0, p99])
    interval = stats.ttest_1samp(logs, 0.0).confidence_interval(0.95)
    assert found.low[p99, 0] == pytest.approx(np.exp(interval.low), rel=1e-10)
    assert found.high[p99, 0] == pytest.approx(np.exp(interval.high), rel=1e-10)
    # The mean over one cell is that cell.
    assert found.low[p99, 1] == pytest.approx(found.low[p99, 0], rel=1e-12)


def test_a_measure_that_a_cell_has_not_is_left_out_of_the_mean():
    both = np.random.default_rng(3).uniform(0.01, 0.03, (2, len(NAMES), 5))
    both[1, NAMES.index("p99_after")] = np.nan
    found = compared(2.0 * both, both)
    after = found.change[NAMES.index("p99_after")]
    assert after[0] == pytest.approx(2.0)
    assert np.isnan(after[1])
    assert after[2] == pytest.approx(2.0)


def test_cost_weighs_delay_and_rate_as_asked():
    measured = np.full((1, len(NAMES), 1), np.nan)
    for name, value in (("p99", 0.02), ("p99_after", 0.04), ("mean_after", 0.01)):
        measured[0, NAMES.index(name)] = value
    measured[0, NAMES.index("rate_measured")] = 0.9
    cost = costs(measured, 5.0)[0, 0]
    assert cost == pytest.approx(np.log([0.02, 0.04, 0.01]).mean() - 4.5)
    measured[0, NAMES.index("rate_measured")] = 0.91
    assert costs(measured, 5.0)[0, 0] == pytest.approx(cost - 0.05)
    # Without events the steady delay counts alone.
    measured[0, NAMES.index("p99_after")] = measured[0, NAMES.index("mean_after")] = np.nan
    assert costs(measured, 5.0)[0, 0] == pytest.approx(np.log(0.02) - 4.55)
