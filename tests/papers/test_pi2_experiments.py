"""Figures 6 and 11 to 14 of the PI2 paper: their numbers against what is known otherwise."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.gallery import figure
from pi2_fluid.papers.pi2 import experiments, fig12, fig14, panels
from pi2_fluid.papers.pi2.experiments import value_at
from pi2_fluid.papers.stages import first_start, stages_of

SCENARIOS = {
    "6": ("pi2_fig06_pi", "pi2_fig06_pie", "pi2_fig06_pi2"),
    "11": tuple(f"pi2_fig11{case}_{line}" for case in "abc" for line in ("pie", "pi2")),
    "12": ("pi2_fig12_pie", "pi2_fig12_pi2"),
    "13": ("pi2_fig13_pie", "pi2_fig13_pi2"),
}


# --- how a run is read --------------------------------------------------------------------------


def test_stages_follow_the_flows() -> None:
    stages = stages_of(pf.named_scenario("pi2_fig13_pi2"))
    counts = [sum(flow.count for flow in stage.flows) for stage in stages]
    assert ([stage.begin for stage in stages], counts) == (
        [0, 50, 100, 150, 200],
        [10, 30, 50, 30, 10],
    )
    assert experiments.title_of(stages[1]) == "50 s: 30 flows"


def test_stages_follow_the_capacity() -> None:
    stages = stages_of(pf.named_scenario("pi2_fig12_pie"))
    assert [(stage.begin, stage.capacity) for stage in stages] == [(0, 1e8), (50, 2e7), (100, 1e8)]
    assert experiments.title_of(stages[1], by_capacity=True) == "50 s: 20 Mbit/s"


def test_margins_of_stages_are_those_of_the_loop() -> None:
    scenario = pf.named_scenario("pi2_fig13_pi2")
    stages = stages_of(scenario)
    flows = pf.Flows(pf.Reno(), 30, "100ms")
    loop = pf.Loop(flows, scenario.aqm, capacity="10Mbit/s", update="sampled", rtt_terms="exact")
    expected = f"{loop.margins().gain_margin_db:+.1f} dB"
    assert experiments.margin_of(stages[1], scenario.aqm) == expected
    assert experiments.margin_of(stages[2], scenario.aqm) == "at its limit"  # p' = 0.71 > 0.5


def test_pi_of_figure_6_has_the_least_margin_with_10_flows() -> None:
    scenario = pf.named_scenario("pi2_fig06_pi")
    margins = [
        float(experiments.margin_of(stage, scenario.aqm).split()[0])
        for stage in stages_of(scenario)
    ]
    assert margins[0] == margins[4] == min(margins)


def test_peaks_are_of_the_ten_seconds_after_a_change() -> None:
    delay = np.zeros(300)
    delay[[5, 104, 107, 203, 250]] = 0.8, 0.4, 0.2, 0.9, 0.1  # at 0.55, 10.45, 10.75, 20.35 s
    run = both_of(delay).packets
    assert experiments.find_peaks(run, 10.0, 0.1) == pytest.approx([0.4])
    assert experiments.find_peaks(run, 10.0, 1.0) == pytest.approx([0.06])
    assert np.isnan(experiments.find_peaks(run, 50.0, 1.0)).all()
    half = both_of(0.5 * delay)
    assert experiments.peak_ratios(half, both_of(delay), 10.0) == pytest.approx([0.5])


def both_of(delay: Any) -> experiments.Both:
    """Return what looks like runs in which only the delay (s), in bins of 0.1 s, is of interest."""
    scenario = pf.named_scenario("pi2_fig11a_pi2")
    short = dataclasses.replace(scenario, duration=30.0)
    run = pf.packet.simulate(short, seeds=1, bin=0.1)
    run["queue_delay"] = run["queue_delay"].copy(data=delay.reshape(run["queue_delay"].shape))
    return experiments.Both(short, run, run)


def test_no_queue_can_make_the_peak_of_figure_12_as_low_as_stated() -> None:
    """20 ms at 100 Mbit/s take 100 ms at 20, and 75 Mbit/s in 100 ms add 275 to them."""
    least = fig12.least_peak(pf.named_scenario("pi2_fig12_pi2"))
    assert least == pytest.approx((0.375, 0.275), rel=1e-12)
    assert fig12.STATED["pi2"] < min(least)


@pytest.mark.parametrize(
    ("delay", "further"),
    [([], 0), ([0.02] * 5, 0), ([0.3, 0.2], 0), ([0.02, 0.3, 0.1, 0.2], 1), ([0.3, 0, 0.2, 0], 1)],
)
def test_further_peaks_are_counted(delay, further) -> None:
    assert fig12.further_peaks(np.array(delay)) == further


def test_an_overshoot_is_seen_where_it_stands_out() -> None:
    late = np.array([20.0, 24.0, 18.0])
    assert fig12.overshoots(np.array([0.0, 31.0]), late)
    assert not fig12.overshoots(np.array([0.0, 29.0]), late)


# --- the fluid ----------------------------------------------------------------------------------


@cache
def fluid_of(name: str) -> Any:
    """Return a trajectory with time from the first flow on."""
    scenario = pf.named_scenario(name)
    # Of the 50 flows of Figure 13 PIE's third class keeps 1.3 to 2 segments.
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        run = pf.fluid.simulate(scenario, sample="50ms", tolerance=1e-6)
    run["time"] = run["time"] - first_start(scenario)
    return run.isel(time=run.time.to_numpy() > -1e-9)


def highest(name: str, begin: float, width: float = 0.0) -> float:
    """Return the highest queue delay (s) in the 10 s after an instant."""
    run = fluid_of(name)
    if width:
        return float(experiments.find_peaks(run, begin, width))
    return float(run.queue_delay.sel(time=slice(begin, begin + 10.0)).max())


@pytest.mark.slow
@pytest.mark.parametrize("number", SCENARIOS)
def test_a_stage_ends_at_the_operating_point(number) -> None:
    """Where the loop is stable and no limit is reached, the delay comes to its target."""
    settled = 0
    for name in SCENARIOS[number]:
        scenario, run = pf.named_scenario(name), fluid_of(name)
        time = run.time.to_numpy()
        stages = stages_of(scenario)
        ends = [stage.begin for stage in stages[1:]]
        ends.append(float(scenario.duration) - first_start(scenario))
        for stage, end in zip(stages, ends, strict=True):
            margin = experiments.margin_of(stage, scenario.aqm)
            # A loop near its limit takes longer than a stage, and one beyond it never rests.
            if not margin.startswith("+") or float(margin.split()[0]) < 2.0:
                continue
            with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
                point = pf.equilibrium(stage.flows, scenario.aqm, stage.capacity)
            last = run.isel(time=int((time < end - 1e-9).sum()) - 1)
            assert float(last.queue_delay) == pytest.approx(point.queue_delay, abs=2e-4)
            assert float(last.controller) == pytest.approx(point.controller, rel=0.01)
            settled += 1
    assert settled == {"6": 15, "11": 2, "12": 2, "13": 9}[number]


@pytest.mark.slow
@pytest.mark.parametrize("number", SCENARIOS)
def test_no_more_leaves_than_the_link_serves(number) -> None:
    for name in SCENARIOS[number]:
        run = fluid_of(name)
        busy = (run.throughput.sum("flows") / run.capacity).to_numpy()
        assert (busy <= 1 + 1e-9).all()
        assert busy[run.queue_delay.to_numpy() > 1e-6] == pytest.approx(1.0, rel=1e-6)


@pytest.mark.slow
def test_the_fluid_of_pi2_overshoots_less_unless_its_cap_stops_it() -> None:
    """Which is beyond 30 flows in Figure 13."""
    for stem, begins in (
        ("pi2_fig06", (0, 50)),
        ("pi2_fig13", (0, 50)),
        *((f"pi2_fig11{case}", (0,)) for case in "abc"),
    ):
        for begin in begins:
            assert highest(f"{stem}_pi2", begin) < 0.9 * highest(f"{stem}_pie", begin)
    assert highest("pi2_fig13_pi2", 100) > highest("pi2_fig13_pie", 100)
    pie, pi2 = (fluid_of(name) for name in SCENARIOS["13"])
    assert float(pi2.controller.sel(time=145.0, method="nearest")) == 0.5
    for begin in (0, 50):
        after = slice(begin, begin + 10)
        carried = [float(run.throughput.sum("flows").sel(time=after).mean()) for run in (pie, pi2)]
        assert carried[1] > carried[0]


@pytest.mark.slow
def test_every_queue_of_figure_6_settles_in_the_fluid() -> None:
    for name in SCENARIOS["6"]:
        assert np.ptp(fluid_of(name).queue_delay.sel(time=slice(45.01, 49.99)).to_numpy()) < 1e-4


@pytest.mark.slow
def test_the_fluid_feels_the_fall_less_than_if_nobody_reacted() -> None:
    # What is in flight at 120 ms and 100 Mbit/s takes 600 ms at 20 Mbit/s, 100 of them on the way.
    unmoved = 0.500
    pie, pi2 = SCENARIOS["12"]
    assert 0.6 * unmoved < highest(pi2, 50.0, 0.1) < highest(pie, 50.0, 0.1) < unmoved
    for name in (pie, pi2):
        late = fluid_of(name).queue_delay.sel(time=slice(135.01, 149.99))
        assert np.ptp(late.to_numpy()) > 0.005  # it cycles


# --- packets, and both in one picture -----------------------------------------------------------


@cache
def tables_of(number: int) -> Mapping[str, Any]:
    return figure("pi2", number).measured.tables


def by_scenario(number: int, table: str = "") -> dict[str, Mapping[str, Any]]:
    return {row["scenario"]: row for row in tables_of(number)[table]}


@pytest.mark.slow
@pytest.mark.parametrize("number", [6, 11, 12, 13, 14])
def test_all_numbers_are_finite_and_medians_lie_within_their_range(number) -> None:
    for rows in tables_of(number).values():
        for row in rows:
            for key, column in row.items():
                assert isinstance(column, str) or np.isfinite(column).all()
                if "_low" in key:
                    high, middle = key.replace("_low", "_high"), key.replace("_low", "")
                    assert np.all(column <= row[middle])
                    assert np.all(row[middle] <= row[high])


# Medians over six seeds of the highest mean over 1 s and over 0.1 s (ms), PIE and PI2, after each
# instant at which flows start; of PI2 without its cap, too, where it matters.
PEAKS = {
    ("pi2_fig06", 0): {1.0: (77, 25), 0.1: (168, 66)},
    ("pi2_fig06", 50): {1.0: (43, 30), 0.1: (65, 47)},
    ("pi2_fig11a", 0): {1.0: (88, 52), 0.1: (245, 151)},
    ("pi2_fig11b", 0): {1.0: (189, 282, 112), 0.1: (333, 335, 281)},
    ("pi2_fig11c", 0): {1.0: (112, 135, 71), 0.1: (181, 143, 122)},
    ("pi2_fig13", 0): {1.0: (98, 77), 0.1: (237, 168)},
    ("pi2_fig13", 50): {1.0: (106, 62), 0.1: (168, 94)},
    ("pi2_fig13", 100): {1.0: (63, 47), 0.1: (93, 76)},
}
LINES = ("pie", "pi2", "uncapped")


@pytest.mark.slow
def test_pi2_overshoots_less_than_pie_unless_its_cap_stops_it() -> None:
    """On the median over seeds, by 5 % and more.

    A median is known to a part of the spread between seeds, which is up to 30 %: so other seeds,
    or a change that matters as little, may move each number by 10 %.
    """
    found = {
        (row["scenario"], row["from_s"], row["mean_over_s"]): 1e3 * float(row["peak_s"])
        for number in (6, 11, 13)
        for row in tables_of(number)["peaks"]
    }
    for (stem, begin), widths in PEAKS.items():
        for width, expected in widths.items():
            mine = [found[f"{stem}_{line}", begin, width] for line in LINES[: len(expected)]]
            assert mine == pytest.approx(expected, rel=0.1), (stem, begin, width)
            assert mine[-1] < 0.95 * mine[0], (stem, begin, width)
    for stem in ("pi2_fig11b", "pi2_fig11c"):
        assert found[f"{stem}_pi2", 0, 1.0] > 1.1 * found[f"{stem}_pie", 0, 1.0]


@pytest.mark.slow
def test_figure_13_needs_a_third_of_the_fluids_losses_at_50_flows() -> None:
    late = (120.0, 149.0)
    delays = by_scenario(13)
    for name, row in by_scenario(13, "losses").items():
        fluid, lost = (value_at(row, key, *late) for key in ("lost_fluid", "lost"))
        assert fluid == pytest.approx({"pie": 0.5, "pi2": 0.25}[row["line"]], rel=1e-3)
        assert lost == pytest.approx(0.161, rel=0.03)
        assert value_at(delays[name], "queue_delay_s", *late) == pytest.approx(0.0204, rel=0.03)
    stands = value_at(delays["pi2_fig13_pi2"], "queue_delay_fluid_s", *late)
    assert stands == pytest.approx(0.0697, rel=0.01)


@pytest.mark.slow
def test_figure_12_peaks_as_measured_with_pie_and_not_with_pi2() -> None:
    fall = {
        row["line"]: row
        for row in tables_of(12)["peaks"]
        if (row["from_s"], row["mean_over_s"]) == (50.0, 0.1)
    }
    assert fall["pie"]["peak_s"] == pytest.approx(fig12.STATED["pie"], rel=0.12)
    assert fall["pi2"]["peak_low_s"] > 1.3 * fig12.STATED["pi2"]
    for row in fall.values():
        assert row["peak_fluid_s"] < row["peak_s"]
    queue, empty = fig12.least_peak(pf.named_scenario("pi2_fig12_pi2"))
    assert fall["pi2"]["peak_s"] > queue
    # A seed in which less waits just then can be lower, but not below that of an empty queue.
    assert fall["pi2"]["peak_low_s"] > empty


@pytest.mark.slow
def test_figure_11_holds_its_target_where_the_fluid_does_not() -> None:
    rows, losses = by_scenario(11), by_scenario(11, "losses")
    late = (40.0, 99.0)
    assert value_at(rows["pi2_fig11a_pi2"], "queue_delay_s", *late) < 0.0185
    for name, delay in (("b", 0.0204), ("c", 0.0255)):
        row, lost = rows[f"pi2_fig11{name}_pi2"], losses[f"pi2_fig11{name}_pi2"]
        assert value_at(row, "queue_delay_s", *late) == pytest.approx(delay, rel=0.06)
        assert value_at(row, "queue_delay_fluid_s", *late) == pytest.approx(0.0697, rel=0.01)
        assert value_at(lost, "lost", *late) < value_at(lost, "lost_fluid", *late) == 0.25


@pytest.mark.slow
def test_figure_11a_takes_half_of_a_window_out_of_its_queue() -> None:
    runs = pf.packet.simulate(pf.named_scenario("pi2_fig11a_pi2"), seeds=3)
    late = pf.summarize(runs, "25s")
    assert float(late.window_mean.median()) == pytest.approx(20.0, abs=0.5)
    assert float((runs.controller.sel(time=slice(25, None)) == 0.0).mean()) > 0.1
    backlog = runs.queue.sel(time=slice(25, None)).mean()
    assert float(backlog) == pytest.approx(14.3, rel=0.05)


@pytest.mark.slow
def test_figure_14_is_alike_with_20_flows_and_misses_5_ms_with_udp() -> None:
    rows, level = by_scenario(14), fig14.level
    for target in (5, 20):
        pie, pi2 = (rows[f"pi2_fig14a_{target}ms_{line}"] for line in ("pie", "pi2"))
        for part in (0.5, 0.9, 0.99):
            assert level(pi2, part) == pytest.approx(level(pie, part), rel=0.2)
        assert pi2["mean_delay_fluid_s"] == pytest.approx(1e-3 * target, rel=0.03)
    assert level(rows["pi2_fig14b_5ms_pie"], 0.5) < 0.006
    assert level(rows["pi2_fig14b_5ms_pi2"], 0.5) > 0.009
    for name in ("pi2_fig14b_5ms_pi2", "pi2_fig11c_pi2"):
        assert rows[name]["mean_delay_fluid_s"] == pytest.approx(0.070, rel=0.03)


@pytest.mark.slow
def test_figure_14b_agrees_with_the_paper_without_the_cap() -> None:
    """PIE's and PI2's parts below the target: 46 and 49 % at 5 ms, 46 and 47 % at 20 ms."""
    rows = by_scenario(14)
    for stem in ("pi2_fig14b_5ms", "pi2_fig11c"):
        pie, capped, uncapped = (rows[f"{stem}_{line}"] for line in LINES)
        below = [fig14.share_below(row, row["target_s"]) for row in (pie, capped, uncapped)]
        assert below[2] == pytest.approx(below[0], abs=0.06)
        assert below[1] < below[0] - 0.15
        assert 0.21 < pie["lost"] < 0.25


@pytest.mark.slow
def test_chance_lowers_the_delay_of_pi_in_figure_6_and_what_fluids_lose() -> None:
    rows, losses = by_scenario(6), by_scenario(6, "losses")
    means = [value_at(rows[name], "queue_delay_s", 10.0, 49.0) for name in SCENARIOS["6"]]
    assert means == pytest.approx([0.0175, 0.0200, 0.0200], rel=0.02)
    lost = losses["pi2_fig06_pi2"]
    assert value_at(lost, "lost", 110.0, 149.0) == pytest.approx(0.045, rel=0.03)
    assert value_at(lost, "lost_fluid", 110.0, 149.0) == pytest.approx(0.080, rel=0.01)


@pytest.mark.slow
def test_the_controller_of_pi_is_clipped_in_figure_6_but_the_link_stays_full() -> None:
    """With a shorter run: its first stage, with two queues."""
    found = {}
    for line in ("pi", "pi2"):
        scenario = pf.named_scenario(f"pi2_fig06_{line}")
        short = pf.Scenario(45.0, scenario.link, scenario.aqm, scenario.flows[:1])
        runs = pf.packet.simulate(short, seeds=4, bin="32ms").sel(time=slice(15, None))
        fluid = pf.fluid.simulate(short, tolerance=1e-6).sel(time=slice(15, None))
        found[line] = float(runs.queue_delay.mean()), float((runs.controller == 0.0).mean())
        assert float(fluid.controller.min()) > 0.5 * float(fluid.controller.mean())
        assert float(runs.throughput.mean()) == pytest.approx(1e8, rel=2e-3)
    assert found["pi"][0] == pytest.approx(0.0175, rel=0.03)
    assert found["pi"][1] > 0.05
    assert found["pi2"][0] == pytest.approx(0.020, rel=0.01)
    assert found["pi2"][1] == 0.0


@pytest.mark.slow
def test_queues_of_2016_hear_nothing_for_half_a_second() -> None:
    """Which is why the scenarios let flows start later: peaks would tell of that alone."""
    scenario = pf.named_scenario("pi2_fig11b_pi2")
    at_once = dataclasses.replace(scenario.flows[0], start=0.0, start_jitter=0.0)
    peaks = {}
    for late, flows in ((True, scenario.flows), (False, (at_once,))):
        runs = pf.packet.simulate(dataclasses.replace(scenario, flows=flows), seeds=3, bin="100ms")
        peaks[late] = float(runs.queue_delay.max("time").median())
        controller = runs.controller.isel(seed=0)
        assert float(controller.sel(time=slice(0, 0.45)).max()) == 0.0
    assert float(controller.sel(time=slice(0.65, 1.0)).min()) > 0.0
    assert peaks[False] > 3.0 * peaks[True]


@pytest.mark.slow
def test_what_is_beyond_the_picture_is_cut_off_and_said() -> None:
    from matplotlib.figure import Figure

    rows, lost = (tables_of(11)[table][:2] for table in ("transients", "losses"))
    drawn = Figure()
    axes = panels.draw_transients(drawn, {"a": (rows, lost)}, highest=0.2, most=0.12)
    assert axes[0, 0].get_ylim() == pytest.approx((0.0, 200.0))
    assert drawn.axes[-1].get_ylim()[1] == pytest.approx(12.0)
    (said,) = (text.get_text() for text in axes[0, 0].texts)
    assert said == f"{rows[0]['margin']}, fluid up to 0.5 s"
