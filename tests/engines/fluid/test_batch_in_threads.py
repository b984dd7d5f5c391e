"""Batches whose runs `Fluid` does, in threads: their numbers are those of its trajectories."""

from __future__ import annotations

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.records.paths import replace_path

RENO = pf.Flows(pf.Reno(), 10, "80ms")
LINK = pf.Scenario("20s", pf.Link("10Mbit/s", 1000), pf.Pi2(), RENO)
DUAL = pf.Scenario(
    "10s",
    pf.Link("40Mbit/s", 2000),
    pf.DualPi2(),
    [pf.Flows(pf.Reno(), 4, "20ms"), pf.Flows(pf.Scalable(), 4, "20ms", name="l4s")],
)
NODES = [
    pf.Node("a", pf.Link("12Mbit/s", 1000), pf.Pi2()),
    pf.Node("b", pf.Link("10Mbit/s", 1000), pf.Pi2()),
]
ROUTES = pf.Scenario(
    "10s", network=pf.Network(NODES, pf.Flows(pf.Reno(), 6, "60ms", route=("a", "b")))
)


@pytest.mark.slow
def test_threads_and_lanes_agree():
    """Two methods: steps of order 4 with rows, and the lanes' equal steps of order 2.

    At 2 ms the lanes are within 1/16 of the 1 % of the target (0.2 ms) that they claim at 8 ms.
    """
    over = {"flows.0.count": [5.0, 20.0], "aqm.alpha": [0.2, 0.3]}
    found = [
        pf.fluid.batch(LINK, over, after="5s", step="2ms", engine=engine)
        for engine in ("c", "threads")
    ]
    for name, within in (
        ("queue_delay_mean", 0.01 * 0.02 / 16),
        ("queue_delay_sd", 0.01 * 0.02 / 16),
        ("utilization", 1e-4),
        ("p_mean", 1e-5),
        ("window_mean", 1e-3),
    ):
        np.testing.assert_allclose(found[1][name], found[0][name], rtol=0, atol=within)
    np.testing.assert_allclose(found[1].throughput, found[0].throughput, rtol=1e-4)
    assert found[1]["flows.0.count"].values.tolist() == [5.0, 20.0]


@pytest.mark.parametrize(
    ("scenario", "path", "values"),
    [
        (DUAL, "flows.l4s.count", [2.0, 4.0]),
        (ROUTES, "network.nodes.b.link.capacity", [8e6, 10e6]),
        (LINK, "aqm.target", [0.02, 0.03]),
    ],
    ids=["dual", "routes", "acks"],
)
@pytest.mark.slow
def test_they_are_the_statistics_of_trajectories(scenario, path, values):
    """The referee: a trajectory of each run alone, with rows ten times as close."""
    clock = "acks" if scenario is LINK else "rate"
    runs = pf.fluid.batch(scenario, {path: values}, after="4s", step="10ms", clock=clock)
    assert runs.attrs["engine"] == "fluid.batch (threads)"
    assert runs[path].values.tolist() == values
    for run, value in enumerate(values):
        alone = pf.simulate(
            replace_path(scenario, path, value),
            pf.Fluid(clock=clock, sample="1ms").with_tolerance(1e-6),
        ).sel(time=slice(4.0 - 1e-6, None))
        for name in ("queue_delay", "throughput"):
            mean = runs[name if name == "throughput" else f"{name}_mean"].isel(run=run)
            expected = alone[name].mean("time")
            assert mean.dims == expected.dims
            np.testing.assert_allclose(mean, expected, rtol=5e-3)
        largest = runs.queue_delay_max.isel(run=run)
        np.testing.assert_allclose(largest, alone.queue_delay.max("time"), rtol=2e-2)


def test_auto_takes_the_lanes_where_it_can():
    short = pf.fluid.batch(LINK, {"aqm.alpha": [0.2, 0.3]}, step="8ms")
    assert short.attrs["engine"] == "fluid.batch (c)"


@pytest.mark.parametrize("engine", ["c", "jax"])
def test_lanes_say_what_they_do_not_take(engine):
    with pytest.raises(pf.UnsupportedError, match=r"2 links is not in engine = .*threads"):
        pf.fluid.batch(ROUTES, {}, engine=engine)


def test_traces_are_kept_every_so_often():
    runs = pf.fluid.batch(DUAL, {"flows.l4s.count": [2, 3]}, step="30ms", sample="100ms")
    assert dict(runs.queue_delay.sizes) == {"run": 2, "time": 101, "band": 2}
    np.testing.assert_allclose(runs.time, 0.1 * np.arange(101), atol=1e-12)


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(pf.QuantityError, match=r"has 3 values, where others have 2|has 2 values"):
        pf.fluid.batch(DUAL, {"aqm.alpha": [0.1, 0.2], "aqm.beta": [1.0, 2.0, 3.0]})
    with pytest.raises(pf.DomainError, match="alpha"):
        pf.fluid.batch(DUAL, {"aqm.alpha": [0.1, -0.2]})
    with pytest.raises(pf.QuantityError, match="after = 10 s leaves nothing"):
        pf.fluid.batch(DUAL, {}, after="10s")


def test_an_interrupt_leaves_what_is_finished():
    def stop(done: int, runs: int) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    over = {"flows.l4s.count": np.arange(1.0, 9.0)}
    runs = pf.fluid.batch(DUAL, over, progress=stop)
    assert runs.attrs["interrupted"] == 1
    assert 2 <= runs.sizes["run"] < 8
    assert runs["flows.l4s.count"].values.tolist() == [run + 1.0 for run in runs.run.values]


def test_a_run_that_fails_does_not_cost_the_others():
    scenario = pf.Scenario("1s", pf.Link("10Mbit/s", 100), pf.DualPi2(), RENO)
    solved = pf.fluid.batch(scenario, {"flows.0.count": [2.0]}, engine="threads")
    real = pf.Fluid.run

    def fails(engine: pf.Fluid, made: pf.Scenario, *rest: object) -> object:
        if made.flows[0].count == 3.0:
            raise pf.SolverError("the trajectory came no further.")
        return real(engine, made)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pf.Fluid, "run", fails)
        with pytest.warns(pf.AssumptionWarning, match=r"1 of 2 runs .* of run 0: the trajectory"):
            runs = pf.fluid.batch(scenario, {"flows.0.count": [3.0, 2.0]}, engine="threads")
        with pytest.raises(pf.SolverError, match="came no further"):
            pf.fluid.batch(scenario, {"flows.0.count": [3.0]}, engine="threads")
    assert np.isnan(runs.queue_delay_mean[0]).all()
    np.testing.assert_array_equal(runs.queue_delay_mean[1], solved.queue_delay_mean[0])
