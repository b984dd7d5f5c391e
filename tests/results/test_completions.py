"""Completion times: of which transfers they are, by seed, class and size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from refusals import refused

import pi2_fluid as pf

SCENARIO = pf.Scenario(
    "10s",
    pf.Link("10Mbit/s"),
    pf.Pi2(),
    [
        pf.Flows(pf.Reno(), 1, "30ms", name="long"),
        pf.Transfers(pf.Reno(), 20, "30ms", size=pf.Pareto(1.1, 4), idle="500ms", name="web"),
        pf.Transfers(pf.Reno(), 2, "30ms", size=pf.Fixed(9), arrivals="8/s", name="mice"),
    ],
)
LEVELS = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


@pytest.fixture(scope="module")
def runs() -> Any:
    return pf.simulate(SCENARIO, pf.Packets(seeds=2))


def picked(runs: Any, seed: int, class_: int, begin: float, end: float) -> Any:
    """Size and time of the transfers that were finished then."""
    start, took = runs.transfer_start.to_numpy()[seed], runs.transfer_time.to_numpy()[seed]
    over, mine = start + took, runs.transfer_class.to_numpy()[seed] == class_
    chosen = mine & (over > begin) & (over <= end)
    return runs.transfer_size.to_numpy()[seed][chosen], took[chosen]


def test_what_is_reported(runs) -> None:
    found = pf.completions(runs, "2s", "9s")
    assert found["size"].to_numpy().tolist() == [1, 10, 100, 1000, 10000]
    assert found.size_end.to_numpy().tolist() == [10, 100, 1000, 10000, np.inf]
    assert found.attrs["after"], found.attrs["until"] == (2.0, 9.0)
    for seed in range(2):
        for class_, name in ((1, "web"), (2, "mice")):
            size, took = picked(runs, seed, class_, 2.0, 9.0)
            mine = found.isel(seed=seed).sel(flows=name)
            assert mine.finished == took.size > 30
            assert mine.completion_mean == pytest.approx(took.mean())
            assert np.allclose(mine.completion_quantile, np.quantile(took, LEVELS))
            assert mine.completion_median == mine.completion_quantile.sel(quantile=0.5)
            assert int(mine.finished_of.sum()) == took.size
            few = took[(size >= 1) & (size < 10)]
            assert int(mine.finished_of.sel(size=1)) == few.size
            assert np.allclose(mine.completion_quantile_of.sel(size=1), np.quantile(few, LEVELS))
    none = found.sel(flows="long")
    assert (none.finished == 0).all()
    assert np.isnan(none.completion_quantile_of).all()


def test_every_transfer_is_finished_or_not(runs) -> None:
    """Stretches that follow one another share out what was finished, and none is lost."""
    first, second = pf.completions(runs, until="4s"), pf.completions(runs, after="4s")
    whole = pf.completions(runs)
    assert (first.finished + second.finished == whole.finished).all()
    begun = (whole.finished + whole.unfinished).sum("flows")
    assert (begun == runs.transfer_count).all()
    started = (runs.transfer_start <= 4.0).sum("transfer")
    assert ((first.finished + first.unfinished).sum("flows") == started).all()


def test_ranges_of_ones_own(runs) -> None:
    found = pf.completions(runs, sizes=[6, 9])
    size, _ = picked(runs, 0, 2, 0.0, 10.0)
    assert found.finished_of.isel(seed=0).sel(flows="mice").to_numpy().tolist() == [0, size.size]
    web = found.isel(seed=0).sel(flows="web")
    assert web.finished_of.sum() < web.finished  # those of 5 segments are in none


def test_a_seed_alone(runs) -> None:
    alone = pf.completions(runs.isel(seed=1))
    both = pf.completions(runs)
    for name in both.data_vars:
        assert np.array_equal(alone[name][0], both[name][1], equal_nan=True), name
    assert alone.seed == 2


def test_summaries_have_them(runs) -> None:
    summary, found = pf.summarize(runs, "3s"), pf.completions(runs, "3s")
    for name in found.data_vars:
        assert np.array_equal(summary[name], found[name], equal_nan=True), name
    assert set(found.coords) <= set(summary.coords)
    long = pf.Scenario(1, SCENARIO.link, SCENARIO.aqm, SCENARIO.flows[0])
    assert "finished" not in pf.summarize(pf.simulate(long, pf.Packets(seeds=1)))


def test_schema(runs, tmp_path) -> None:
    import xarray as xr

    names = [name for name in runs.data_vars if str(name).startswith(("transfer_", "turned"))]
    assert len(names) == 7
    each = {
        name: runs[name].dims for name in names if name not in {"transfer_count", "turned_away"}
    }
    assert set(each.values()) == {("seed", "transfer")}
    for dataset in (runs, pf.completions(runs)):
        for name, variable in dataset.variables.items():
            assert variable.attrs["units"], name
            assert variable.attrs["long_name"], name
    runs.to_netcdf(tmp_path / "runs.nc")
    with xr.open_dataset(tmp_path / "runs.nc") as kept:
        assert pf.completions(kept).equals(pf.completions(runs))


def test_fairness_is_of_flows_that_stay(runs) -> None:
    """A source that waits, or a flow that is free, is not treated unfairly."""
    assert runs.finite.to_numpy().tolist() == [0, 1, 1]
    assert (pf.summarize(runs).jain == 1.0).all()  # one flow stays
    two = pf.Flows(pf.Reno(), 2, "30ms")
    both = pf.simulate(
        pf.Scenario("5s", SCENARIO.link, pf.Pi2(), [two, SCENARIO.flows[1]]), pf.Packets(seeds=1)
    )
    sent = both.flow_segments.sum("block")[0, :2].to_numpy()
    expected = sent.sum() ** 2 / (2 * np.sum(sent.astype(float) ** 2))
    for result in (both, both.isel(seed=0)):
        assert pf.summarize(result).jain.to_numpy() == pytest.approx(expected, rel=1e-12)


def test_none_at_all() -> None:
    """A class whose first transfer comes after the end: tables without rows."""
    late = pf.Transfers(pf.Reno(), 2, "30ms", size=pf.Fixed(9), arrivals=1e-9)
    runs = pf.simulate(
        pf.Scenario("1s", SCENARIO.link, pf.Pi2(), [SCENARIO.flows[0], late]), pf.Packets(seeds=2)
    )
    assert runs.sizes["transfer"] == 0
    assert (pf.summarize(runs).finished == 0).all()


def test_refusals(runs) -> None:
    with refused(pf.UnsupportedError, "dataset has no transfers"):
        pf.completions(pf.simulate(pf.Scenario(1, SCENARIO.link, pf.Pi2(), SCENARIO.flows[0])))
    for sizes in ([10, 1], [[1, 2]], [5, 5]):
        with refused(pf.QuantityError, "do not rise"):
            pf.completions(runs, sizes=sizes)
    with refused(pf.QuantityError, "are no stretch of time"):
        pf.completions(runs, "5s", "4s")
    with refused(pf.QuantityError, "is no result of an engine"):
        pf.completions(None)
