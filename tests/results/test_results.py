"""Trajectories as Datasets: schema, summaries, files."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import xarray as xr

import pi2_fluid as pf

LINK = pf.Link("10Mbit/s")
SINGLE = pf.Scenario(
    "20s",
    LINK,
    pf.Pi2(),
    [pf.Flows(pf.Reno(), 6, "50ms"), pf.Flows(pf.Cbr(rate="1Mbit/s"), start="5s", stop="15s")],
)
DUAL = pf.Scenario(
    "20s",
    LINK,
    pf.DualPi2(),
    [pf.Flows(pf.Reno(), 4, "30ms"), pf.Flows(pf.Scalable(), 4, "30ms")],
)


@pytest.fixture(scope="module", params=["single", "dual"])
def result(request):
    scenario = {"single": SINGLE, "dual": DUAL}[request.param]
    return pf.fluid.simulate(scenario, sample="20ms", tolerance=1e-7)


def test_results_alike_share_nothing_that_can_be_changed():
    """Datasets are copied from one of the same kind: not so that the one changed the other."""
    one, other = (pf.fluid.simulate(SINGLE, sample="20ms", tolerance=1e-5) for _ in range(2))
    kept = other.copy(deep=True)
    for name, variable in one.variables.items():
        variable.attrs["units"] = "none"
        if name not in one.dims:
            variable.data[...] = 7
        else:
            assert not variable.values.flags.writeable
    one.attrs["engine"] = "none"
    xr.testing.assert_identical(other, kept)
    again = pf.fluid.simulate(SINGLE, sample="20ms", tolerance=1e-5)
    xr.testing.assert_identical(again.drop_attrs(deep=False), kept.drop_attrs(deep=False))


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"name": "other"}, "flows"),
        ({"count": 7}, "flow_count"),
        ({"ecn": True}, "ecn"),
        ({"sender": pf.Scalable()}, "ecn"),
    ],
)
def test_no_result_has_the_labels_of_another(changed, name):
    first, *rest = SINGLE.flows
    scenario = dataclasses.replace(SINGLE, flows=[dataclasses.replace(first, **changed), *rest])
    before, after = (pf.fluid.simulate(s, tolerance=1e-3) for s in (SINGLE, scenario))
    assert after[name].to_numpy().tolist() != before[name].to_numpy().tolist()
    assert set(after.coords) == set(before.coords)
    longer = pf.fluid.simulate(SINGLE, tolerance=1e-3, sample="64ms")
    assert longer.time[1] == 0.064


def test_schema(result):
    dual = "band" in result.dims
    assert next(iter(result.dims)) == "time"
    assert result.queue_delay.dims == (("time", "band") if dual else ("time",))
    for name in ("p", "p_prime", "window", "throughput"):
        assert result[name].dims == ("time", "flows")
    for name, variable in result.variables.items():
        assert variable.attrs["units"], name
        assert variable.attrs["long_name"], name
    assert all(isinstance(value, (str, int, float)) for value in result.attrs.values())
    assert pf.Scenario.from_toml(result.attrs["scenario"]) in (SINGLE, DUAL)
    if dual:
        assert list(result.band.values) == ["C", "L"]


def test_files(result, tmp_path):
    path = tmp_path / "run.nc"
    result.to_netcdf(path, engine="h5netcdf")
    with xr.open_dataset(path, engine="h5netcdf") as read:
        xr.testing.assert_equal(read.load(), result)
        assert read.attrs["not_modelled"] == result.attrs["not_modelled"]


def test_summary(result):
    """Against the definitions, written out once more."""
    summary = pf.summarize(result, after="10s", until="18s")
    stretch = result.sel(time=slice(10, 18))
    time = stretch.time.to_numpy()

    def mean(values):
        return np.trapezoid(values, time, axis=0) / (time[-1] - time[0])

    rates = stretch.throughput.to_numpy()
    np.testing.assert_allclose(summary.throughput, mean(rates), rtol=1e-12)
    np.testing.assert_allclose(summary.window_mean, mean(stretch.window.to_numpy()), rtol=1e-12)
    np.testing.assert_allclose(
        summary.queue_delay_mean, mean(stretch.queue_delay.to_numpy()), rtol=1e-12
    )
    assert float(summary.utilization) == pytest.approx(mean(rates.sum(axis=1)) / 10e6, rel=1e-12)
    if "band" in stretch.dims:  # each class has met the delay of its own queue
        met = stretch.queue_delay.to_numpy()[:, stretch.band_of.to_numpy()]
    else:
        met = np.repeat(stretch.queue_delay.to_numpy()[:, None], rates.shape[1], axis=1)
    expected = mean((rates * met).sum(axis=1)) / mean(rates.sum(axis=1))
    assert float(summary.delay_mean) == pytest.approx(expected, rel=1e-12)
    quantiles = [float(summary[f"delay_p{q:02d}"]) for q in (1, 5, 25, 50, 75, 95, 99)]
    assert quantiles == sorted(quantiles)
    arriving = rates.copy()
    if "band" not in stretch.dims:  # thinned traffic: what it sends, not what is left of it
        arriving[:, 1] = 1e6 * (time < 15.0)
    signalled = mean(arriving * stretch.p.to_numpy()) / mean(arriving.sum(axis=1))
    marked = stretch.ecn.to_numpy() == 1
    assert float(summary.drop_fraction) == pytest.approx(signalled[~marked].sum(), rel=1e-12)
    assert float(summary.mark_fraction) == pytest.approx(signalled[marked].sum(), rel=1e-12)
    counts = stretch.flow_count.to_numpy()
    each = np.repeat(mean(rates) / counts, counts.astype(int))
    jain = each.sum() ** 2 / (len(each) * (each**2).sum())
    assert float(summary.jain) == pytest.approx(jain, rel=1e-12)


def test_what_is_dropped_is_a_part_of_what_is_sent():
    """Where classes see different signals, and one of them loses its own before the queue."""
    flows = [pf.Flows(pf.Scalable(), 5, "20ms"), pf.Flows(pf.Cbr(rate="4Mbit/s"), 2)]
    link = pf.Link("10Mbit/s")
    point = pf.equilibrium(flows, pf.CoupledPi2(), link.capacity)
    run = pf.fluid.simulate(pf.Scenario("5s", link, pf.CoupledPi2(), flows), initial=point)
    summary = pf.summarize(run, after="1s")
    scalable = 5 * point.rate[0] * 12000
    assert scalable + 8e6 * (1 - point.p[1]) == pytest.approx(10e6, rel=1e-9)
    offered = scalable + 8e6
    assert float(summary.drop_fraction) == pytest.approx(point.p[1] * 8e6 / offered, rel=1e-6)
    assert float(summary.mark_fraction) == pytest.approx(point.p[0] * scalable / offered, rel=1e-6)


def test_what_does_not_get_through_at_all_is_dropped():
    """At p = 1 nothing of thinned traffic enters, and all of it is counted."""
    flows = [
        pf.Flows(pf.Cbr(rate="30Mbit/s", thinned=False), name="flood"),
        pf.Flows(pf.Cbr(rate="1Mbit/s"), 2, name="lost", start="6s", stop="9s", start_jitter="1s"),
    ]
    changes = pf.Change("8s", counts={"lost": 4})
    scenario = pf.Scenario("10s", pf.Link("10Mbit/s"), pf.Pi2(alpha=3, beta=3), flows, changes)
    run = pf.fluid.simulate(scenario, tolerance=1e-6, sample="1ms")
    assert (run.p.sel(flows="lost", time=slice(6, 10)) == 1.0).all()
    summary = pf.summarize(run, after="6s")
    sent = 2e6 * 1.5 + 4e6 * 1.0  # for half of the first second, the next, and one with four flows
    assert not summary.throughput.sel(flows="lost").any()
    assert float(summary.drop_fraction) == pytest.approx(sent / (sent + 4 * 10e6), rel=1e-3)


def test_a_quantile_is_one_of_departures():
    """Half of what leaves has met the median or less: a queue that fills in steps of capacity."""
    summary = pf.summarize(pf.fluid.simulate(SINGLE, sample="20ms", tolerance=1e-6), after="15s")
    assert float(summary.delay_p50) == pytest.approx(0.02, rel=1e-3)


@pytest.mark.parametrize("stretch", [{"after": "19.99s"}, {"after": "5s", "until": "5.01s"}])
def test_an_empty_stretch_is_refused(result, stretch):
    with pytest.raises(pf.QuantityError, match="give a longer stretch"):
        pf.summarize(result, **stretch)
