"""Packets as Datasets: schema, files, books that balance, summaries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.engines.packet import requirements
from pi2_fluid.results.delays import delay_quantiles, delay_sd
from pi2_fluid.results.runs import one_run

LINK = pf.Link("10Mbit/s")
SINGLE = pf.Scenario(
    "8s",
    LINK,
    pf.Pi2(),
    [pf.Flows(pf.Reno(), 5, "50ms"), pf.Flows(pf.Cbr(rate="1Mbit/s"), start="2s", stop="6s")],
    pf.Change("4.05s", counts={"reno": 7}),
)
DUAL = pf.Scenario(
    "8s",
    LINK,
    pf.DualPi2(),
    [pf.Flows(pf.Reno(), 4, "30ms"), pf.Flows(pf.Scalable(), 3, "30ms")],
)
CAUSES = [
    "sent", "delivered", "drop_aqm", "drop_full", "drop_overload", "mark_aqm", "mark_step",
    "queued", "in_flight",
]  # fmt: skip


@pytest.fixture(scope="module", params=["single", "dual"])
def runs(request):
    scenario = {"single": SINGLE, "dual": DUAL}[request.param]
    return pf.packet.simulate(scenario, seeds=3, trace=200)


# --- schema ---------------------------------------------------------------------------------


def test_schema(runs) -> None:
    band = ("band",) if "band" in runs.dims else ()
    bins, each = ("seed", "time"), ("seed", "time", "flows")
    dims = {
        **dict.fromkeys(("queue_delay", "queue", "queue_sd", "sojourn"), (*bins, *band)),
        "controller": bins,
        "capacity": ("time",),
        **dict.fromkeys(
            (
                "p", "p_prime", "p_aqm", "window", "throughput", "class_sojourn", "arrivals",
                "departures", "drops", "marks", "active_flows",
            ),
            each,
        ),
        "delay_histogram": ("seed", "block", "flows", "delay"),
        "flow_segments": ("seed", "block", "flow"),
        "delay_quantile": ("seed", "quantile", *band),
        "count": ("seed", "flows", "cause"),
        **dict.fromkeys(("retransmissions", "timeouts", "rate"), ("seed", "flows")),
        "event_count": ("seed",),
    }  # fmt: skip
    for name, expected in dims.items():
        assert runs[name].dims == expected, name
    events = {str(name) for name in runs.data_vars if str(name).startswith("event_")}
    assert set(map(str, runs.data_vars)) == set(dims) | events
    for name, variable in runs.variables.items():
        assert variable.attrs["units"], name
        assert variable.attrs["long_name"], name
        if variable.dtype.kind == "f":
            assert np.isfinite(variable.to_numpy()).all(), name
            assert (variable.to_numpy() >= 0.0).all(), name
    assert all(isinstance(value, (str, int, float)) for value in runs.attrs.values())
    assert runs.attrs["engine"] == "packet"
    assert runs.attrs["seed"] == "1, 2, 3"
    assert runs.attrs["interrupted"] == 0
    assert pf.Scenario.from_toml(runs.attrs["scenario"]) in (SINGLE, DUAL)
    assert runs["cause"].to_numpy().tolist() == CAUSES
    assert runs.attrs["not_modelled"] == ("" if band else "flows.sender.thinned")
    if band:
        assert runs["band"].to_numpy().tolist() == ["C", "L"]
        assert runs["band_of"].to_numpy().tolist() == [0, 1]


def test_time_is_the_end_of_each_bin() -> None:
    runs = pf.packet.simulate(SINGLE, seeds=1, bin="300ms")
    np.testing.assert_allclose(runs.time[:3], [0.3, 0.6, 0.9], rtol=1e-15)
    assert float(runs.time[-1]) == 8.0
    assert runs["bin"].to_numpy()[-1] == pytest.approx(0.2)
    assert runs["bin"].to_numpy().sum() == pytest.approx(8.0)
    assert float(runs["block_start"][0]) == 0.0
    assert (runs["block_start"].to_numpy()[1:] == runs["block"].to_numpy()[:-1]).all()


def test_many_bins_share_a_hundred_blocks() -> None:
    runs = pf.packet.simulate(SINGLE, seeds=1, bin="7ms")
    assert runs.sizes["block"] <= 100
    inside = np.isin(runs["block"].to_numpy(), runs.time.to_numpy())
    assert inside.all()
    assert float(runs["block"][-1]) == 8.0
    # as many as the size of a result is reckoned with
    assert pf.packet.simulate(SINGLE, seeds=1, bin="8ms").sizes["block"] == requirements._BLOCKS


@pytest.mark.slow
def test_files(runs, tmp_path) -> None:
    path = tmp_path / "runs.nc"
    runs.to_netcdf(path, engine="h5netcdf")
    with xr.open_dataset(path, engine="h5netcdf") as read:
        xr.testing.assert_identical(read.load(), runs)
        xr.testing.assert_equal(pf.summarize(read, "2s"), pf.summarize(runs, "2s"))


# --- books ----------------------------------------------------------------------------------


def test_the_books_balance(runs) -> None:
    """Whatever was sent is somewhere, and bins, blocks and totals agree on it."""
    count = {cause: runs["count"].sel(cause=cause) for cause in CAUSES}
    gone = count["drop_aqm"] + count["drop_full"] + count["drop_overload"]
    xr.testing.assert_equal(
        count["sent"].drop_vars("cause"),
        (count["delivered"] + gone + count["queued"]).drop_vars("cause", errors="ignore"),
    )
    assert (runs["arrivals"].sum("time").to_numpy() == count["sent"].to_numpy()).all()
    assert (runs["drops"].sum("time").to_numpy() == gone.to_numpy()).all()
    marked = count["mark_aqm"] + count["mark_step"]
    assert (runs["marks"].sum("time").to_numpy() == marked.to_numpy()).all()
    left = runs["departures"].sum("time").to_numpy()
    assert (runs["delay_histogram"].sum(("block", "delay")).to_numpy() == left).all()
    by_class = runs["flow_segments"].sum("block").groupby("flow_class").sum()
    assert (by_class.to_numpy() == left).all()
    seconds = runs["bin"]
    np.testing.assert_allclose(
        (runs["throughput"] * seconds).sum("time") / 8.0, runs["rate"], rtol=1e-12
    )
    assert (left - count["delivered"].to_numpy() <= 1).all(), "one may be in service"


def test_bins_mean_what_their_names_say(runs) -> None:
    capacity = runs["capacity"]
    np.testing.assert_allclose(runs["queue_delay"], runs["queue"] * 8 * 1500 / capacity, rtol=1e-12)
    signalled = runs["drops"] + runs["marks"]
    some = (runs["arrivals"] >= signalled) & (runs["arrivals"] > 0)
    np.testing.assert_allclose(
        runs["p"].where(some, 0.0), (signalled / runs["arrivals"]).where(some, 0.0)
    )
    assert (runs["p"] <= 1.0).all()
    if "band" not in runs.dims:
        np.testing.assert_allclose(runs["p_prime"].isel(flows=0) ** 2, runs["p"].isel(flows=0))
        reno = runs["active_flows"].sel(flows="reno").isel(seed=0).to_numpy()
        assert reno[39] == pytest.approx(5.0)
        assert reno[-1] == pytest.approx(7.0)


def test_where_nothing_leaves_the_last_delay_stays() -> None:
    runs = pf.packet.simulate(SINGLE, seeds=2)
    delay = runs["class_sojourn"].sel(flows="cbr")
    assert (delay.sel(time=slice(0, 2.0)) == 0.0).all()
    quiet = delay.sel(time=slice(7.0, 8.0)).to_numpy()
    assert (quiet > 0.0).all()
    assert (quiet == quiet[:, :1]).all()


def test_a_trace_tells_of_each_event(runs) -> None:
    assert runs["event_count"].to_numpy().tolist() == [200] * 3
    when = runs["event_time"].to_numpy()
    assert (np.diff(when, axis=1) >= 0).all()
    assert when.dtype == np.int64
    assert set(np.unique(runs["event_what"])) <= {0, 1, 2, 3}
    assert (runs["event_waited"].where(runs["event_what"] == 0, 0) == 0).all()
    assert float(runs["event_bytes"].max()) == 1500


def test_a_trace_that_ends_early_says_how_long_it_is() -> None:
    short = pf.Scenario("60ms", LINK, pf.Pi2(), pf.Flows(pf.Reno(), 1, "50ms"))
    runs = pf.packet.simulate(short, seeds=1, trace=1000)
    assert runs.sizes["event"] == int(runs["event_count"][0]) < 1000


# --- quantiles ------------------------------------------------------------------------------


def test_quantiles_of_buckets() -> None:
    lower = np.array([0.0, 1e-6, 2e-6, 64e-6, 128e-6])
    upper = np.array([1e-6, 2e-6, 3e-6, 66e-6, 130e-6])
    counts = np.array([[2, 0, 2, 4, 0], [0, 0, 0, 0, 0]])
    levels = [0.25, 0.5, 0.75, 1.0]
    found = delay_quantiles(counts, lower, upper, levels)
    np.testing.assert_allclose(found, [[0.0, 2e-6, 65e-6, 66e-6], [0.0] * 4], rtol=1e-12)
    assert delay_sd(np.array([4, 0, 4, 0, 0]), lower, upper) == pytest.approx(1e-6)
    assert delay_sd(np.array([0, 0, 0, 0, 0]), lower, upper) == 0.0
    # even over 2 us
    assert delay_sd(np.array([0, 0, 0, 9, 0]), lower, upper) == pytest.approx(2e-6 / 12**0.5)


def test_quantiles_of_a_run_agree_with_its_packets() -> None:
    """Against single packets, from the trace: within the width of a bucket."""
    scenario = pf.Scenario("3s", LINK, pf.Pi2(), pf.Flows(pf.Reno(), 5, "50ms"))
    runs = pf.packet.simulate(scenario, seeds=[4], trace=100_000)
    left = runs["event_waited"].to_numpy()[runs["event_what"].to_numpy() == 1] * 1e-9
    assert left.size == int(runs["departures"].sum())
    summary = pf.summarize(runs)
    assert float(summary["delay_mean"][0]) == pytest.approx(left.mean(), rel=1e-9)
    assert float(summary["delay_sd"][0]) == pytest.approx(left.std(), rel=0.01)
    expected = np.quantile(left, runs["quantile"].to_numpy(), method="inverted_cdf")
    found = runs["delay_quantile"].isel(seed=0).to_numpy()
    np.testing.assert_allclose(found, expected, rtol=0.017, atol=1.1e-6)


# --- summaries ------------------------------------------------------------------------------


def test_summary(runs) -> None:
    """Against the definitions, written out once more."""
    summary = pf.summarize(runs, after="2s", until="7s")
    part = runs.isel(time=slice(20, 70))
    sum_ = {
        name: part[name].sum("time").to_numpy()
        for name in ("departures", "arrivals", "drops", "marks")
    }
    met = (part["class_sojourn"] * part["departures"]).sum("time").to_numpy()

    def same(name: str, values: Any) -> None:
        np.testing.assert_allclose(summary[name], values, rtol=1e-12, err_msg=name)

    same("delay_mean", met.sum(axis=1) / sum_["departures"].sum(axis=1))
    same("delay_mean_of", met / sum_["departures"])
    same("drop_fraction", sum_["drops"].sum(axis=1) / sum_["arrivals"].sum(axis=1))
    same("mark_fraction_of", sum_["marks"] / sum_["arrivals"])
    same("throughput", part["throughput"].mean("time"))
    same("utilization", part["throughput"].mean("time").sum("flows") / 10e6)
    same("queue_delay_mean", part["queue_delay"].mean("time"))
    within = (part["queue_sd"] * 8 * 1500 / 10e6) ** 2
    same("queue_delay_sd", np.sqrt(part["queue_delay"].var("time") + within.mean("time")))
    windows = part["window"] * part["active_flows"]
    flows = part["active_flows"].sum("time")
    same("window_mean", (windows.sum("time") / flows).where(flows > 0, 0.0))
    same("timeouts", runs["timeouts"])
    there = (runs["flow_start"] < 7.0) & (runs["flow_stop"] > 2.0)
    rates = runs["flow_segments"].isel(block=slice(20, 70)).sum("block").to_numpy()[:, there]
    same("jain", rates.sum(axis=1) ** 2 / (rates.shape[1] * (rates**2.0).sum(axis=1)))
    levels = [summary[f"delay_p{q:02d}"].to_numpy() for q in (1, 5, 25, 50, 75, 95, 99)]
    assert (np.diff(levels, axis=0) >= 0.0).all()
    if "band" in runs.dims:
        assert summary["delay_quantile"].dims == ("seed", "quantile", "band")
        # Each class has its queue to itself.
        middle = summary["delay_quantile"].sel(quantile=0.5)
        assert (middle.sel(band="L") < middle.sel(band="C")).all()
    assert (summary.attrs["after"], summary.attrs["until"]) == (2.0, 7.0)
    assert (summary.attrs["quantiles_after"], summary.attrs["quantiles_until"]) == (2.0, 7.0)
    for variable in summary.variables.values():
        assert variable.attrs["units"]
        assert variable.attrs["long_name"]


def test_only_whole_bins_count(runs) -> None:
    xr.testing.assert_equal(
        pf.summarize(runs, "1.95s", "5.05s"), pf.summarize(runs, after=2, until=5)
    )


def test_quantiles_are_of_whole_blocks() -> None:
    runs = pf.packet.simulate(SINGLE, seeds=2, bin="20ms")  # four in a block
    assert float(runs["block"][0]) == pytest.approx(0.08)
    inside = pf.summarize(runs, "1.02s", "2.02s")
    assert inside.attrs["quantiles_after"] == pytest.approx(1.04)
    assert inside.attrs["quantiles_until"] == pytest.approx(2.0)
    # Within one block there is nothing but that block.
    short = pf.summarize(runs, "1.06s", "1.1s")
    assert short.attrs["quantiles_after"] == pytest.approx(1.04)
    assert short.attrs["quantiles_until"] == pytest.approx(1.12)


@pytest.mark.parametrize(
    "stretch", [{"after": "8s"}, {"after": "7.95s"}, {"after": "2s", "until": "1s"}]
)
def test_an_empty_stretch_is_refused(runs, stretch) -> None:
    with pytest.raises(pf.QuantityError, match=r"no whole bin .* give a longer stretch\.$"):
        pf.summarize(runs, **stretch)


def test_one_seed_can_be_summarised_alone(runs) -> None:
    alone = pf.summarize(runs.sel(seed=2), "1s")
    together = pf.summarize(runs, "1s")
    xr.testing.assert_allclose(alone.isel(seed=0), together.sel(seed=2), rtol=1e-12)


def test_a_class_that_sends_nothing_has_zeros() -> None:
    runs = pf.packet.simulate(SINGLE, seeds=1)
    summary = pf.summarize(runs, until="2s").sel(flows="cbr")
    for name in ("throughput", "window_mean", "delay_mean_of", "drop_fraction_of"):
        assert float(summary[name][0]) == 0.0, name


def test_the_summary_of_a_trajectory_has_no_seeds() -> None:
    trajectory = pf.fluid.simulate(SINGLE, tolerance=1e-6)
    assert "seed" not in pf.summarize(trajectory, "2s").dims


def test_fairness_is_among_the_flows_that_are_there():
    """Not those that start when the stretch ends, or have stopped when it begins."""
    alone = pf.Flows(pf.Cbr(rate="1Mbit/s"), 2, stop="4s")
    after = pf.Flows(pf.Cbr(rate="2Mbit/s"), 3, start="4s")
    runs = pf.packet.simulate(pf.Scenario("8s", LINK, pf.Pi2(), [alone, after]), seeds=2)
    for span, flows in (({"after": 1, "until": 4}, 2), ({"after": 4, "until": 8}, 3)):
        # All alike, up to one packet of those of the stretch; with the others 2/5, or 3/5.
        assert pf.summarize(runs, **span).jain.to_numpy() == pytest.approx(1.0, abs=1e-4), flows


# --- seeds alone and together ---------------------------------------------------------------

LINES = pf.Network(
    [
        pf.Node("a", pf.Link("5Mbit/s"), pf.Pi2()),
        pf.Node("b", pf.Link("4Mbit/s"), pf.DualPi2()),
    ],
    [
        pf.Flows(pf.Reno(), 2, "30ms", route=("a", "b")),
        pf.Flows(pf.Scalable(), 1, "20ms", route="b"),
    ],
)
WEB = pf.Transfers(pf.Reno(), 2, "40ms", size=pf.Pareto(1.2, 5), idle="100ms")
SEVERAL = {
    "one class": pf.Scenario("3s", pf.Link("2Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms")),
    "dual": pf.Scenario("3s", LINK, DUAL.aqm, DUAL.flows),
    "links": pf.Scenario("3s", network=LINES),
    "transfers": pf.Scenario("3s", pf.Link("2Mbit/s"), pf.TailDrop(), WEB),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_a_seed_has_what_it_has_alone(name: str) -> None:
    seeds = [3, 8, 1]
    together = pf.simulate(SEVERAL[name], pf.Packets(seeds=seeds, trace=50))
    alone = [pf.simulate(SEVERAL[name], pf.Packets(seeds=[seed], trace=50)) for seed in seeds]
    lengths = {one.sizes["delay"] for one in alone} | {one.sizes.get("transfer") for one in alone}
    assert len(lengths) > 2, "all alike: nothing is cut"
    summaries = pf.summarize(together, after="1s")
    for place, one in enumerate(alone):
        for found, expected in (
            (one_run(together, place), one),
            (summaries.isel(seed=[place]), pf.summarize(one, after="1s")),
        ):
            assert list(found.variables) == list(expected.variables)
            for key, variable in expected.variables.items():
                other = found.variables[key]
                assert (other.dims, other.attrs) == (variable.dims, variable.attrs), key
                assert other.dtype == variable.dtype
                if variable.dtype.kind == "O":
                    np.testing.assert_array_equal(other, variable)
                else:
                    assert other.to_numpy().tobytes() == variable.to_numpy().tobytes(), key
            assert found.attrs | {"created": ""} == expected.attrs | {"created": ""}
