"""Sweeps: what single calls say, whatever the blocks and the workers."""

from __future__ import annotations

import functools
import itertools
import pickle

import numpy as np
import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.records.paths import replace_path
from pi2_fluid.sweeping import blocks
from pi2_fluid.sweeping.axes import Grid, read_axes
from pi2_fluid.sweeping.outcomes import Layout, Rows, outcome_of
from pi2_fluid.sweeping.questions.choosing import question_of

LOOP = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
SHORT = pf.Scenario(
    "2s",
    pf.Link("4Mbit/s"),
    pf.Pi2(),
    [pf.Flows(pf.Reno(), 2, "40ms"), pf.Flows(pf.Cbr(rate="1Mbit/s"), 1, "40ms")],
)
NETWORK = pf.Network(
    [pf.Node("a", pf.Link("15Mbit/s"), pf.Pi2()), pf.Node("b", pf.Link("12Mbit/s"), pf.Pi2())],
    [
        pf.Flows(pf.Reno(), 6, "80ms", route=("a", "b"), hops=("5ms", "10ms")),
        pf.Flows(pf.Reno(), 5, "40ms", route="a", hops="4ms"),
        pf.Flows(pf.Reno(), 8, "60ms", route="b", hops="12ms"),
    ],
)
sweep = functools.partial(pf.sweep, progress=False)


def same_bytes(one: xr.Dataset, other: xr.Dataset) -> bool:
    return all(
        one[name].to_numpy().tobytes() == other[name].to_numpy().tobytes()
        for name in one.data_vars
        if name != "error"
    ) and list(one.variables) == list(other.variables)


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch):
    """Cut sweeps into blocks of another size."""

    def cut(size: int) -> None:
        monkeypatch.setattr(
            "pi2_fluid.sweeping.sweep.chunk_shape", lambda shape, *_: blocks.fitted(shape, size)
        )

    return cut


# --- what it says ---------------------------------------------------------------------------


def test_points_come_first_wherever_a_dataset_has_them() -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    result = xr.Dataset({"x": (("flow", "seed", "node"), values), "y": ("node", values[0, 0])})
    columns = outcome_of(result, along="seed")[0].values
    assert columns["x"].dims == ("flow", "node")
    np.testing.assert_array_equal(columns["x"].values, values.transpose(1, 0, 2))
    np.testing.assert_array_equal(columns["y"].values, [values[0, 0]] * 3)


def test_loops_have_the_margins_of_single_ones() -> None:
    found = sweep(LOOP, {"rtt": ["50ms", 0.1], "aqm.alpha": [0.1, 0.3125, 0.4], "p_prime": [0.1]})
    assert found.gain_margin_db.dims == ("rtt", "aqm.alpha", "p_prime")
    for rtt, alpha in itertools.product([0.05, 0.1], [0.1, 0.3125, 0.4]):
        one = pf.Loop(pf.Reno(), pf.Pi2(alpha=alpha), rtt=rtt, p_prime=0.1).margins()
        point = found.sel({"rtt": rtt, "aqm.alpha": alpha, "p_prime": 0.1})
        assert float(point.gain_margin_db) == one.gain_margin_db
        assert float(point.phase_margin) == one.phase_margin_deg
        assert float(point.verdict_code) == one.verdict_code


def test_a_loop_keeps_the_load_that_it_was_given() -> None:
    by_p = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p=0.01)
    found = sweep(by_p, {"rtt": [0.1], "p_prime": [0.1, 0.2]})
    assert float(found.gain_margin_db[0, 0]) == pytest.approx(
        by_p.margins().gain_margin_db, abs=1e-9
    )
    assert float(found.gain_margin_db[0, 1]) != float(found.gain_margin_db[0, 0])


def test_loops_of_flows_and_of_networks() -> None:
    flows = [pf.Flows(pf.Reno(), 10, "80ms"), pf.Flows(pf.CReno(), 5, "40ms")]
    base = pf.Loop(flows, pf.Pi2(), capacity="10Mbit/s")
    found = sweep(base, {"flows.creno.count": [5, 10], "capacity": ["10Mbit/s"]})
    more = [flows[0], pf.Flows(pf.CReno(), 10, "40ms")]
    expected = pf.Loop(more, pf.Pi2(), capacity="10Mbit/s").margins().gain_margin_db
    assert float(found.gain_margin_db[1, 0]) == pytest.approx(expected, abs=1e-12)
    matrix = sweep(pf.Loop(NETWORK), {"nodes.a.link.capacity": ["15Mbit/s"]})
    assert float(matrix.gain_margin_db[0]) == pf.Loop(NETWORK).margins().gain_margin_db


def test_a_network_rests_as_equilibrium_says() -> None:
    found = sweep(NETWORK, {"nodes.b.link.capacity": ["12Mbit/s", "100Mbit/s"]})
    assert found.window.dims == ("nodes.b.link.capacity", "flows")
    rest = pf.equilibrium(NETWORK)
    np.testing.assert_array_equal(found.window[0], rest.window)
    np.testing.assert_array_equal(found.bottleneck, [[1.0, 1.0], [1.0, 1.0]])
    assert float(found.rate[1, 2]) > 3.0 * float(found.rate[0, 2])
    assert found.link.values.tolist() == ["a", "b"]


def test_trajectories_are_summarised_point_by_point() -> None:
    reduce = functools.partial(pf.summarize, after="1s")
    rows = [("4Mbit/s", 2), ("8Mbit/s", 3)]
    found = sweep(SHORT, {("link.capacity", "flows.0.count"): rows}, reduce=reduce)
    assert found.delay_mean.dims == ("link.capacity",)
    assert found["flows.0.count"].values.tolist() == [2.0, 3.0]
    assert found["link.capacity"].attrs["units"] == "bit/s"
    assert found.delay_mean.attrs["units"] == "s"
    alone = pf.Scenario(
        "2s", pf.Link("8Mbit/s"), SHORT.aqm, [pf.Flows(pf.Reno(), 3, "40ms"), SHORT.flows[1]]
    )
    expected = reduce(pf.simulate(alone))
    assert float(found.delay_mean[1]) == float(expected.delay_mean)
    np.testing.assert_array_equal(found.throughput[1], expected.throughput)


def test_seeds_are_an_axis_numbered_at_each_point() -> None:
    engine = pf.Packets(seeds=3)
    found = sweep(SHORT, {"aqm.target": ["10ms", "20ms"]}, engine)
    assert found.delay_mean.dims == ("aqm.target", "seed")
    expected = pf.summarize(pf.simulate(SHORT, engine))
    for name in ("delay_mean", "delay_p99", "throughput", "jain"):
        np.testing.assert_array_equal(found[name][1], expected[name])


def test_a_function_of_ones_own_sees_one_seed() -> None:
    def peak(runs: xr.Dataset) -> xr.Dataset:
        assert runs.sizes["seed"] == 1
        return xr.Dataset({"peak": runs.queue_delay.max().assign_attrs(units="s")})

    found = sweep(SHORT, {"aqm.target": ["10ms"]}, pf.Packets(seeds=[5, 2]), peak)
    assert found.peak.dims == ("aqm.target", "seed")
    runs = pf.simulate(replace_path(SHORT, "aqm.target", 0.01), pf.Packets(seeds=[5, 2]))
    np.testing.assert_array_equal(found.peak[0], runs.queue_delay.max("time"))


def delays_counted(runs: xr.Dataset) -> xr.Dataset:
    """What would notice if there were more seeds, or the delays of others."""
    assert runs.sizes["seed"] == 1
    mean = runs.delay_histogram.to_numpy().sum((0, 1, 2)) @ runs.delay.to_numpy()
    return xr.Dataset({"x": mean, "y": runs.window.mean(), "z": float(runs.attrs["seed"])})


@pytest.mark.parametrize("reduce", [functools.partial(pf.summarize, after="1s"), delays_counted])
def test_seeds_that_run_together_are_as_if_alone(in_blocks, reduce) -> None:
    seeds, times = [4, 9, 2, 7, 1], [1.5, 2.0]
    in_blocks(3)
    found = sweep(SHORT, {"duration": times}, pf.Packets(seeds=seeds), reduce, workers=1)
    for place in np.ndindex(2, 5):
        scenario = replace_path(SHORT, "duration", times[place[0]])
        alone = reduce(pf.simulate(scenario, pf.Packets(seeds=[seeds[place[1]]], threads=1)))
        for name, variable in alone.data_vars.items():
            assert found[name][place].to_numpy().tobytes() == variable.to_numpy().tobytes()


def test_a_seed_that_is_refused_costs_itself_alone() -> None:
    def only(runs: xr.Dataset) -> xr.Dataset:
        if int(runs.seed[0]) == 2:
            raise pf.DomainError("two is too many")
        return xr.Dataset({"x": 1.0})

    found = sweep(SHORT, {"duration": [1.0]}, pf.Packets(seeds=3), only)
    assert found.error.values.tolist() == [["", "two is too many", ""]]


@pytest.mark.slow
def test_designs() -> None:
    request = functools.partial(pf.tune, senders=(pf.Reno(),))
    found = sweep(request, {"max_rtt": ["100ms"], "aqm": ["pi2", "pie"], "target": ["9ms"]})
    assert found.alpha.dims == ("max_rtt", "aqm", "target")
    assert found["aqm"].values.tolist() == ["pi2", "pie"]
    design = pf.tune("100ms", aqm="pie", target="9ms")
    assert float(found.alpha[0, 1, 0]) == design.alpha
    assert float(found.target_found[0, 1, 0]) == design.target
    with pytest.raises(pf.QuantityError, match="'max_rtt'"):
        sweep(pf.tune, {"rtt": [0.1]})


# --- whatever the blocks and workers ----------------------------------------------------------


@pytest.mark.parametrize("update", ["continuous", "sampled", "delayed"])
def test_loops_are_the_same_in_any_blocks(in_blocks, update: str) -> None:
    base = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1, update=update)
    over = {"rtt": np.geomspace(0.04, 0.2, 7), "p_prime": np.geomspace(0.01, 0.5, 5)}
    found = []
    for size, workers in ((1, 1), (3, 2), (35, 1)):
        in_blocks(size)
        found.append(sweep(base, over, workers=workers))
    assert same_bytes(found[0], found[1])
    assert same_bytes(found[0], found[2])


@pytest.mark.parametrize(
    "engine", [pf.Fluid(), pytest.param(pf.Packets(seeds=3), marks=pytest.mark.slow)]
)
def test_runs_are_the_same_in_any_blocks_and_order(in_blocks, engine: pf.Engine) -> None:
    over = {"aqm.target": [0.01, 0.02], "flows.0.count": [2, 3]}
    in_blocks(5)
    one = sweep(SHORT, over, engine, workers=1)
    in_blocks(2)
    other = sweep(SHORT, over, engine, workers=3)
    assert same_bytes(one, other)
    turned = sweep(SHORT, {name: over[name] for name in reversed(over)}, engine)
    assert same_bytes(
        one,
        turned.transpose(*one.sizes)[list(one.data_vars)].reindex_like(one)[list(one.variables)],
    )


@pytest.mark.slow
def test_processes_say_what_threads_say(in_blocks) -> None:
    in_blocks(1)
    over = {"aqm.target": [0.01, 0.02]}
    assert same_bytes(sweep(SHORT, over), sweep(SHORT, over, processes=True, workers=2))


def test_no_point_is_asked_twice(in_blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    # The first point is known when blocks are cut.
    monkeypatch.setattr("pi2_fluid.sweeping.sweep.fly", functools.partial(blocks.fly, patience=0))
    seen: list[float] = []

    def count(run: xr.Dataset) -> xr.Dataset:
        seen.append(float(run.time[-1]))
        return pf.summarize(run)

    in_blocks(4)
    found = sweep(SHORT, {"duration": np.linspace(1.0, 2.0, 6)}, reduce=count)
    assert len(seen) == len(set(seen)) == 6
    expected = pf.summarize(pf.simulate(replace_path(SHORT, "duration", 1.0)))
    assert float(found.delay_mean[0]) == float(expected.delay_mean)


@pytest.mark.parametrize(
    ("base", "over", "engine"),
    [
        (LOOP, {"rtt": np.linspace(0.05, 0.2, 2000), "aqm.alpha": np.ones(500)}, None),
        (LOOP, {("rtt", "aqm.alpha"): [(0.1, 0.1)] * 5000}, None),
        (SHORT, {"duration": np.ones(1000)}, pf.Packets(seeds=range(1000))),
    ],
)
def test_a_worker_is_sent_no_more_than_its_points(base, over, engine) -> None:
    question = question_of(base, engine, pf.summarize)
    grid = Grid(read_axes(over, question.dimension), question.seeds)
    shape = blocks.fitted(grid.shape, 100)
    work = blocks.Work(question, grid, Layout({}, {}), True, Rows({}, 0, {}, ""))
    one = Grid(read_axes({name: values[:1] for name, values in over.items()}, question.dimension))
    alone = question_of(base, pf.Packets(seeds=1) if engine else None, pf.summarize).bare()
    least = len(pickle.dumps(blocks.Task(alone, one, Layout({}, {}), True)))
    sent = len(pickle.dumps(work.task(blocks.blocks_of(grid.shape, shape)[-1])))
    assert sent < least + 100 * 8 * 3


# --- errors -------------------------------------------------------------------------------------


def test_a_point_without_a_result_says_why() -> None:
    found = sweep(LOOP, {"rtt": [0.1, 0.05], "p_prime": [0.1, 2.0, 0.3]})
    assert "p_prime = 2" in str(found.error[0, 1].item())
    assert np.isnan(found.gain_margin_db[:, 1]).all()
    assert not np.isnan(found.gain_margin_db[:, [0, 2]]).any()
    assert (found.error[:, [0, 2]] == "").all()
    with pytest.raises(pf.DomainError, match=r"at rtt = 0\.1, p_prime = 2: "):
        sweep(LOOP, {"rtt": [0.1, 0.05], "p_prime": [0.1, 2.0, 0.3]}, on_error="raise")


def test_no_point_with_a_result_is_an_error() -> None:
    with pytest.raises(pf.DomainError, match="no point of the sweep has a result; at p_prime = 2"):
        sweep(LOOP, {"p_prime": [2.0, 3.0]})


def test_numbers_that_are_none_are_told() -> None:
    def odd(run: xr.Dataset) -> xr.Dataset:
        return xr.Dataset({"x": float("nan"), "y": 1.0})

    found = sweep(SHORT, {"aqm.target": ["10ms"]}, reduce=odd)
    assert found.error.item() == "the result has NaN in x."
    assert found.y.item() == 1.0


def test_results_of_other_shapes_are_told() -> None:
    def rows(run: xr.Dataset) -> xr.Dataset:
        return xr.Dataset({"x": ("time", run.queue.to_numpy())})

    found = sweep(SHORT, {"duration": [1.0, 2.0]}, reduce=rows)
    assert found.error[0].item() == ""
    assert "unlike that of the first point" in found.error[1].item()


def test_mistakes_of_the_function_end_the_sweep() -> None:
    def wrong(run: xr.Dataset) -> xr.Dataset:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        sweep(SHORT, {"aqm.target": ["10ms"]}, reduce=wrong)


def test_an_interrupt_leaves_what_is_done(in_blocks, monkeypatch: pytest.MonkeyPatch) -> None:
    # The first point is known when blocks are cut.
    monkeypatch.setattr("pi2_fluid.sweeping.sweep.fly", functools.partial(blocks.fly, patience=0))
    in_blocks(1)

    def interrupt(done: float, total: float) -> None:
        if done == 2:
            raise KeyboardInterrupt

    found = pf.sweep(LOOP, {"rtt": [0.05, 0.1, 0.2]}, progress=interrupt, workers=1)
    assert found.attrs["interrupted"] == 1
    assert found.error.values.tolist()[:2] == ["", ""]
    assert "interrupted" in found.error.values.tolist()[2]


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"over": {}}, pf.QuantityError, "says nothing to vary"),
        ({"over": {"rtt": []}}, pf.QuantityError, "one at least"),
        ({"over": {"rtt": "100ms"}}, pf.QuantityError, "list of values"),
        ({"over": {"rtt": ["5 parsecs"]}}, pf.QuantityError, "parsecs"),
        ({"over": {"rtt": [float("nan")]}}, pf.QuantityError, "rtt = nan"),
        ({"over": {"rtt": [0.1], ("rtt", "p_prime"): [(1, 1)]}}, pf.QuantityError, "twice"),
        ({"over": {("rtt", "p_prime"): [(0.1,)]}}, pf.QuantityError, "2 values"),
        ({"over": {"aqm.alhpa": [1]}}, pf.ScenarioError, "alpha"),
        ({"over": {"link.capacity": [1]}}, pf.ScenarioError, "base has not"),
        ({"engine": pf.Fluid()}, pf.UnsupportedError, "goes with a Scenario"),
        ({"on_error": "ignore"}, pf.QuantityError, "on_error"),
        ({"workers": 0}, pf.QuantityError, "workers = 0 is no number of workers"),
        ({"progress": "yes"}, pf.QuantityError, "progress"),
        ({"base": 1}, pf.QuantityError, "nothing to sweep"),
        (
            {"base": pf.Loop(pf.Reno(), pf.Pi2(), rtt=[0.1, 0.2], p_prime=0.1)},
            pf.UnsupportedError,
            "array of loops",
        ),
        ({"base": SHORT, "engine": "fluid"}, pf.QuantityError, "no engine"),
        (
            {"base": SHORT, "over": {"aqm.target": [0.01]}, "reduce": 1},
            pf.QuantityError,
            "no function",
        ),
        ({"base": SHORT, "over": {"name": ["x"]}}, pf.ScenarioError, "no number"),
    ],
)
def test_bad_input_gets_a_sentence(given, error, words) -> None:
    with pytest.raises(error, match=words):
        sweep(**{"base": LOOP, "over": {"rtt": [0.1]}, **given})


def test_the_hash_tells_sweeps_apart() -> None:
    def digest(base=LOOP, over=None, **given) -> str:
        return sweep(base, over or {"rtt": [0.1]}, **given).attrs["specification"]

    assert digest() == digest(pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1), workers=2)
    assert digest() == digest(over={"rtt": ["100ms"]})
    others = {
        digest(over={"rtt": [0.2]}),
        digest(pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.2)),
        digest(pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1, update="delayed")),
        digest(),
    }
    assert len(others) == 4
