"""Figures 1 to 11 of the PIE paper: what they are judged by, and what is drawn of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.papers import runs
from pi2_fluid.papers.pie import fig05, fig06, fig07, simulations, stand_in, testbed
from pi2_fluid.papers.recipe import Case, Measured


def a_run(*delays: list[float], step: float = 0.1) -> xr.Dataset:
    """Runs with these queue delays (s) in bins of `step`."""
    time = step * np.arange(1, len(delays[0]) + 1)
    return xr.Dataset(
        {"queue_delay": (("seed", "time"), np.array(delays), {"units": "s"})},
        coords={"time": time, "bin": ("time", np.full(time.size, step))},
        attrs={"schema": "runs"},
    )


class TestSimulations:
    def test_a_level_counts_the_bins_that_end_inside(self):
        run = a_run([9.0, 1.0, 2.0, 9.0], [9.0, 3.0, 3.0, 9.0], step=1.0)
        assert simulations.level(run, 1.0, 3.0).tolist() == [1500.0, 3000.0]
        assert np.isnan(simulations.level(run, 5.0, 9.0)).all()

    def test_the_line_is_the_first_seed_and_the_band_the_range(self):
        row = simulations.instantaneous("queue_delay", a_run([2.0, 5.0], [1.0, 6.0], [3.0, 4.0]))
        assert row["queue_delay_s"].tolist() == [2.0, 5.0]
        assert row["queue_delay_low_s"].tolist() == [1.0, 4.0]
        assert row["queue_delay_high_s"].tolist() == [3.0, 6.0]
        assert row["time_s"] == pytest.approx([0.05, 0.15])
        assert simulations.end_of(row) == pytest.approx(0.2)

    def test_figures_share_runs(self):
        scenario = dataclasses.replace(pf.named_scenario("pie_fig06_100ms_bare"), duration=1.5)
        assert runs.packet_runs(scenario, 1, 0.1) is runs.packet_runs(scenario, 1, 0.1)


def test_throughputs_of_flows_add_up() -> None:
    scenario = dataclasses.replace(pf.named_scenario("pie_fig04a"), duration=3.0)
    runs = pf.packet.simulate(scenario, seeds=2)
    rates = fig05.flow_rates(runs, 1000.0)
    assert rates.shape == (2, 5)
    assert (np.diff(rates, axis=1) >= 0.0).all()
    total = 1e-6 * runs["rate"].sum("flows").to_numpy()
    assert rates.sum(axis=1) == pytest.approx(total, rel=0.01)  # and what is on its way out


class TestBursts:
    def test_without_pie_the_buffer_would_be_full_at_1_107_s(self):
        """200 packets of room and one in service, filled at 25 and drained at 10 Mbit/s."""
        measured = pf.figure("pie", 6, seeds=1).measured
        fill = 200 / ((25e6 - 10e6) / 8000)
        assert measured.found["first_drop"] == pytest.approx(1.0 + fill, abs=1e-3)
        assert measured.found["allowed"].tolist() == [0.0]

    def test_drops_are_counted_by_cause(self):
        scenario = pf.named_scenario("pie_fig06_200ms_bare")
        runs = pf.packet.simulate(scenario, seeds=2, bin="10ms", trace=4000)
        for cause, name in (("pie", "drop_aqm"), ("full", "drop_full")):
            found = [times.size for times in fig06.drop_times(runs, cause)]
            assert found == runs["count"].sel(cause=name).sum("flows").values.tolist()
        assert min(fig06.drop_times(runs, "pie")[0]) < min(fig06.drop_times(runs, "full")[0])

    def test_no_event_is_lost(self):
        scenario = pf.named_scenario("pie_fig06_200ms_bare")
        runs = pf.packet.simulate(scenario, seeds=1, bin="10ms", trace=4000)
        assert int(runs["event_count"][0]) < 4000


class TestBack:
    delays = (0.02, 0.02, 0.5, 0.2, 0.01, 0.031, 0.029, 0.02)

    def test_it_is_when_the_delay_is_too_long_for_the_last_time(self):
        run = a_run(list(self.delays), [0.02] * 8, [0.02] * 7 + [0.04])
        found = fig07.back_after(run, 0.02, 0.2, 0.8)
        assert found[:2] == pytest.approx([0.4, 0.0])
        assert np.isnan(found[2])  # never

    def test_what_is_before_and_behind_the_stage_does_not_count(self):
        run = a_run([0.5, 0.5, 0.5, 0.02, 0.02, 0.5])
        assert fig07.back_after(run, 0.02, 0.2, 0.5) == pytest.approx([0.1])


class TestWaits:
    def test_shares_are_read_between_the_buckets(self):
        waits = testbed.Waits(np.array([0.0, 4e-3, 8e-3]), np.array([[0.0, 0.4, 1.0]]), np.ones(1))
        assert waits.below(2.0) == pytest.approx([0.2])
        assert waits.below(6.0) == pytest.approx([0.7])
        assert waits.below(50.0) == pytest.approx([1.0])

    @pytest.mark.slow
    def test_codel_of_linux_3_5_needs_the_reno_of_its_day(self):
        """By the paper more than 90 % wait less than 20 ms: so it is, if windows grow slowly."""
        scenario = pf.named_scenario("pie_fig10a_codel")
        (flows,) = scenario.flows
        newer = dataclasses.replace(
            scenario, flows=(dataclasses.replace(flows, sender=pf.Reno(growth="per_segment")),)
        )
        shares = []
        for each in (scenario, newer):
            case = Case({"pie_fig10a_codel": each}, 2, {}, quick=True)
            waits, _ = testbed.measure_waits(case)
            shares.append(waits["a_codel"].below(20.0))
        assert (shares[0] > 0.9).all()
        assert (shares[1] < 0.75).all()


def test_a_run_with_more_of_the_farther_is_the_worse_one() -> None:
    worse = simulations.farthest([np.array([0.8, 0.95]), np.array([0.95, 0.7])], 0.9)
    assert worse.tolist() == [0.8, 0.7]


@pytest.mark.slow
def test_pings_take_what_base_and_buffer_allow() -> None:
    name = stand_in.NAME
    scenario = dataclasses.replace(pf.named_scenario(name), duration=400.0)
    time, rtt = stand_in.round_trips(Case({name: scenario}, 1, {}, quick=True))
    assert time[0] == 0.0
    assert rtt.min() == pytest.approx(0.17)
    assert 8.0 < rtt.max() < 0.17 + 8.41


@pytest.mark.parametrize("number", [1, 2])
def test_a_card_says_on_the_page_that_it_is_no_reproduction(number: int) -> None:
    from matplotlib.figure import Figure

    made = pf.figure("pie", number)
    assert made.recipe.kind == "card"
    assert made.truth == ()
    row: dict[str, Any] = {
        1: {"time_s": np.arange(3.0), "rtt_s": np.ones(3)},
        2: {"rtt_from_s": np.arange(3.0), "rtt_to_s": np.arange(1.0, 4.0), "pings": np.ones(3)},
    }[number]
    page, case = Figure(), Case(made.scenarios, 1, {}, quick=True)
    caption = made.recipe.pages[""].draw(page, Measured({"": [row]}), case)
    said = " ".join(text.get_text() for ax in page.axes for text in ax.texts)
    assert "is a measurement that cannot be repeated" in said
    assert "no reproduction of it" in said.replace("\n", " ")
    assert caption.message.startswith("Not reproduced")
