"""Figures 15 to 20 of the PI2 paper: what is measured, and what is true of some points."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.pi2 import (
    combinations,
    fig15,
    fig16,
    fig20,
    grid,
    grid_axes,
    more_balances,
    pairs,
)
from pi2_fluid.papers.pi2.pairs import Runs, geometric_mean, pair_scenario, run_pair
from pi2_fluid.papers.recipe import Case

slow = pytest.mark.slow


def some_runs(
    rates: Any = ((1.0, 2.0),), delay: float = 0.02, owners: tuple[int, ...] = (0, 1)
) -> Runs:
    """Return runs of which only what is given matters."""
    each = np.asarray(rates, dtype=float)
    seeds = len(each)
    return Runs(
        rates=each,
        half_rates=np.stack([each, each]),
        delay=np.full((2, seeds), delay),
        signals=np.ones((3, *each.shape)),
        use=np.ones((3, seeds)),
        flow_rates=np.ones((seeds, 2, len(owners))),
        owners=owners,
        block=2.0,
    )


# --- scenarios --------------------------------------------------------------------------------


def test_scenarios_are_the_testbeds() -> None:
    """What the package ships for the link of Figures 19 and 20 is one of the grid's."""
    for queue, name in (("pie", "pi2_coexistence_pie"), ("pi2", "pi2_coexistence_coupled")):
        shipped = pf.named_scenario(name)
        mine = pair_scenario(queue, "dctcp", 40e6, 0.01, seconds=100.0)
        unnamed = tuple(dataclasses.replace(flow, name=None) for flow in mine.flows)
        assert dataclasses.replace(mine, flows=unnamed) == shipped
    ecn = pair_scenario("pi2", "ecn_cubic", 4e6, 0.1)
    first, second = ecn.flows
    assert first.sender == second.sender == pf.Cubic(variant="linux3.18")
    assert (first.ecn, second.ecn) == (None, True)


def test_the_grid_has_every_point_once() -> None:
    names = grid.scenarios()
    assert len(names) == 2 * 2 * 5 * 5
    scenario = names["pie_ecn_cubic_120mbit_50ms"]
    assert (scenario.link.capacity, scenario.flows[0].base_rtt) == (120e6, 0.05)
    beyond = {at[2:] for at in grid._POINTS if not at.within_limit}
    assert beyond == {(120, 100), (200, 50), (200, 100)}


@pytest.mark.parametrize(
    ("capacity", "rtt", "seconds"),
    [(4e6, 0.005, 90.0), (200e6, 0.1, 240.0), (40e6, 0.06, 107.0)],
)
def test_runs_are_20_sawteeth_long_within_limits(
    capacity: float, rtt: float, seconds: float
) -> None:
    """At 40 Mb/s and 80 ms of round trip a flow of two holds 133 segments: 67 round trips."""
    assert pairs.lasts(capacity, rtt) == seconds
    scenario = pair_scenario("pie", "dctcp", capacity, rtt)
    assert scenario.duration == 5.0 + seconds
    assert pairs.measured_from(scenario) == pytest.approx(5.0 + seconds / 3.0)


def test_a_class_without_flows_is_left_out() -> None:
    names = combinations.scenarios()
    assert len(names) == 2 * 2 * 13
    assert [flow.name for flow in names["pi2_dctcp_0_10"].flows] == ["dctcp"]
    assert [flow.name for flow in names["pi2_dctcp_10_0"].flows] == ["cubic"]
    assert [flow.count for flow in names["pie_ecn_cubic_3_7"].flows] == [3, 7]


# --- what is made of runs ---------------------------------------------------------------------


def test_levels_are_mean_and_percentiles_over_the_second_axis() -> None:
    found = pairs.levels_of(np.arange(101.0)[None] ** 2, (25.0, 99.0))
    assert found[:, 0] == pytest.approx([np.mean(np.arange(101.0) ** 2), 625.0, 9801.0])


def test_rates_over_the_fair_one_average_to_one_in_every_block() -> None:
    segments = np.array([[[1.0, 2.0, 3.0], [10.0, 0.0, 2.0]]])
    found = pairs.over_fair(segments)
    assert found[0].tolist() == [[0.5, 1.0, 1.5], [2.5, 0.0, 0.5]]
    assert pairs.over_fair(np.zeros((1, 1, 3))).tolist() == [[[0.0, 0.0, 0.0]]]


def test_a_flows_ratio_is_not_that_of_its_class() -> None:
    at = combinations.Combination("pi2", "dctcp", (2, 8))
    found = combinations.Found(at, some_runs([(10.0, 40.0), (20.0, 40.0)]))
    assert found.ratio.tolist() == [1.0, 2.0]


def test_shares_are_of_the_flows_of_a_kind() -> None:
    runs = some_runs(owners=(0, 0, 1))._replace(flow_rates=np.array([[[0.5, 1.5, 1.0]]]))
    mixed = combinations.Found(combinations.Combination("pi2", "dctcp", (2, 1)), runs)
    assert [combinations.shares_of(mixed, kind).ravel().tolist() for kind in (0, 1)] == [
        [0.5, 1.5],
        [1.0],
    ]
    # Alone, the other kind is the scenario's first class.
    alone = combinations.Found(
        combinations.Combination("pi2", "dctcp", (0, 3)), runs._replace(owners=(0, 0, 0))
    )
    assert combinations.shares_of(alone, 1).ravel().tolist() == [0.5, 1.5, 1.0]
    assert combinations.shares_of(alone, 0).size == 0


def whole_grid(of_point: Any) -> tuple[Any, Any]:
    """Return a case of the whole grid, and what replaces its runs."""
    scenarios = grid.scenarios()
    names = {id(scenario): name for name, scenario in scenarios.items()}
    case = Case(scenarios, 2, {}, False)
    points = {at.name: at for at in grid._POINTS}
    return case, lambda scenario, seeds: of_point(points[names[id(scenario)]], seeds)


def test_figure_15_averages_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the limit Cubic has half of DCTCP's rate, above it four times as much."""

    def of_point(at: grid.Point, _: int) -> Runs:
        ratio = 0.5 if at.within_limit else 4.0
        return some_runs([(ratio, 1.0), (2.0 * ratio, 1.0)])

    case, replaced = whole_grid(of_point)
    monkeypatch.setattr(grid, "run_pair", replaced)
    monkeypatch.setattr(more_balances, "curves", lambda _: [])
    measured = fig15._measure(case)
    found = {key: np.asarray(runs) for key, runs in measured.found.items()}
    assert found["pi2_dctcp"] == pytest.approx([0.5, 1.0])
    assert found["anomalous"] == pytest.approx([4.0, 8.0])
    whole = 0.5 ** (22 / 25) * 4.0 ** (3 / 25)
    assert found["pie_ecn_cubic"] == pytest.approx([whole, 2.0 * whole])
    assert found["pie_dctcp"] == pytest.approx([1.0 / whole, 0.5 / whole])
    first, runs = measured.tables[""][0], measured.tables["runs"][0]
    assert first["ratio"] == pytest.approx(np.full(5, 0.75))
    assert (first["ratio_low"][0], first["ratio_high"][0]) == (0.5, 1.0)
    assert runs["seed"].tolist() == [1, 2] * 5
    assert runs["ratio"].tolist() == [0.5, 1.0] * 5


def test_figure_16_compares_p99_at_the_slowest_link(monkeypatch: pytest.MonkeyPatch) -> None:
    def of_point(at: grid.Point, _: int) -> Runs:
        slowest = at.capacity == 4 and at.queue == "pie" and at.pair == "dctcp"
        return some_runs([(1.0, 1.0)], 0.06 if slowest else 0.02)

    case, replaced = whole_grid(of_point)
    monkeypatch.setattr(grid, "run_pair", replaced)
    found = fig16._measure(case).found
    assert np.asarray(found["p99_dctcp"]) == pytest.approx([3.0])
    assert np.asarray(found["p99_ecn_cubic"]) == pytest.approx([1.0])
    assert np.asarray(found["mean_pie"]) == pytest.approx([(5 * 60.0 + 17 * 20.0) / 22])
    assert np.asarray(found["mean_pi2"]) == pytest.approx([20.0])


def test_points_stand_where_the_whole_grid_has_them() -> None:
    """Whether or not there are those between them."""
    row = {"capacity_bit_s": 40e6, "base_rtt_s": np.array([0.005, 0.02, 0.1])}
    assert grid_axes.positions(row, grid_axes.WHOLE).tolist() == [10.0, 12.0, 14.0]
    few = grid_axes.Grid((4, 40), (5, 20, 100))
    assert grid_axes.positions(row, few).tolist() == [3.0, 4.0, 5.0]


def test_capacities_are_axes_and_targets_can_be_set() -> None:
    with pytest.raises(pf.QuantityError, match="no setting"):
        pf.figure("pi2", 16, settings={"capacity": "10Mbit/s"})
    changed = pf.figure("pi2", 20, settings={"target": "5ms"})
    assert {scenario.aqm.target for scenario in changed.scenarios.values()} == {0.005}


def test_what_is_settled() -> None:
    settled = more_balances.is_settled
    assert settled(np.array([0.7, 0.8, 0.9]), np.array([0.8, 0.9, 0.95]))
    assert not settled(np.array([0.7, 0.8, 0.9]), np.array([0.4, 0.5, 0.6]))


# --- runs -------------------------------------------------------------------------------------


@slow
def test_runs_are_made_once_and_measured_after_their_first_third() -> None:
    scenario = dataclasses.replace(pair_scenario("pi2", "dctcp", 4e6, 0.02), duration=35.0)
    runs = run_pair(scenario, 2)
    assert run_pair(scenario, 2) is runs
    whole = pf.packet.simulate(scenario, seeds=2, bin=1.0)
    late = whole.isel(time=slice(15, None))
    assert runs.rates == pytest.approx(late.throughput.mean("time").to_numpy())
    assert runs.half_rates.mean(axis=0) == pytest.approx(runs.rates)
    assert runs.use[0] == pytest.approx(runs.rates.sum(axis=1) / 4e6)
    left = late.delay_histogram.isel(block=slice(15, None)).sum(("block", "flows"))
    middle = 0.5 * (left.delay + left.delay_end)
    mean = (left * middle).sum("delay") / left.sum("delay")
    assert runs.delay[0] == pytest.approx(mean.to_numpy(), rel=0.02)
    above = (left * (left.delay >= runs.delay[1].min())).sum("delay") / left.sum("delay")
    assert above.max() < 0.05
    assert (runs.delay[1] > runs.delay[0]).all()
    assert runs.flow_rates.mean(axis=2) == pytest.approx(1.0)


def test_pi2_balances_what_pie_does_not() -> None:
    for capacity, rtt in ((4e6, 0.02), (40e6, 0.01)):
        pie, pi2 = (
            run_pair(pair_scenario(queue, "dctcp", capacity, rtt), 2) for queue in ("pie", "pi2")
        )
        assert (pi2.ratio > 0.6).all()
        assert (pi2.ratio < 1.1).all()
        assert (pie.ratio < 0.2).all()


def test_ecn_cubic_is_no_other_flow() -> None:
    for queue in ("pie", "pi2"):
        runs = run_pair(pair_scenario(queue, "ecn_cubic", 4e6, 0.02), 4)
        assert geometric_mean(runs.ratio) == pytest.approx(1.0, abs=0.15)
        lost, marked = runs.signals[0].mean(axis=0)
        assert lost == pytest.approx(marked, rel=0.25)


def test_pi2_drops_the_square_of_half_of_what_it_marks() -> None:
    """In the mean more than that: p' swings, and the mean of a square is more than its square."""
    runs = run_pair(pair_scenario("pi2", "dctcp", 4e6, 0.005), 4)
    lost, marked = runs.signals[0].mean(axis=0)
    assert 1.0 < lost / (0.5 * marked) ** 2 < 1.3
    pie = run_pair(pair_scenario("pie", "dctcp", 12e6, 0.02), 4)
    lost, marked = pie.signals[0].mean(axis=0)
    assert lost == pytest.approx(marked, rel=0.15)


def test_shares_of_one_kind_alone_average_to_one() -> None:
    scenario = combinations.scenarios()["pi2_dctcp_0_10"]
    at = combinations.Combination("pi2", "dctcp", (0, 10))
    found = combinations.Found(at, run_pair(scenario, 2))
    levels = fig20._levels(combinations.shares_of(found, 1))
    assert levels[0] == pytest.approx([1.0, 1.0])
    assert (levels[1] > 0.7).all()
    assert (levels[2] < 1.3).all()


# --- other senders and queues -----------------------------------------------------------------


@pytest.fixture(scope="module")
def balance() -> Any:
    """Return runs of a point of Figure 15's second page."""
    scenarios = more_balances.scenarios()

    def find(line: str, capacity: int, rtt: int, classic: str = "cubic") -> tuple[Runs, float]:
        scenario = scenarios[f"more_{line}_{classic}_{capacity}mbit_{rtt}ms"]
        return run_pair(scenario, 3), more_balances._at_rest(scenario)

    return find


@slow
def test_integers_of_todays_dctcp_break_the_balance_from_50_segments_on(balance: Any) -> None:
    (small, _), (large, _) = (balance("coupled_linux", capacity, 20) for capacity in (12, 120))
    assert 0.6 < np.median(small.ratio) < 1.2
    assert large.ratio.max() < 0.2


def test_the_step_of_dualpi2_rules_slow_links(balance: Any) -> None:
    """A packet takes 3 ms at 4 Mbit/s, the step is 1 ms."""
    (narrow, _), (wide, rest) = balance("dualpi2", 4, 100), balance("dualpi2", 40, 20)
    assert np.median(narrow.ratio) > 4.0
    assert np.median(wide.ratio) == pytest.approx(rest, rel=0.25)


@slow
def test_reno_falls_behind_where_windows_are_large(balance: Any) -> None:
    (small, rest), (large, _) = (
        balance("coupled", capacity, rtt, "reno") for capacity, rtt in ((4, 5), (120, 100))
    )
    assert np.median(small.ratio) > 1.0 > 0.7 > np.median(large.ratio)
    assert rest == pytest.approx(2**0.5, rel=0.02)
