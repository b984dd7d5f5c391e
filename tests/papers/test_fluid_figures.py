"""The figures of trajectories: their files, their numbers against what is known otherwise."""

from __future__ import annotations

import hashlib
import warnings

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.ours import across_the_margin, phase_portrait
from pi2_fluid.papers.pi2 import experiments, fig06, fig11, fig12, fig13
from pi2_fluid.papers.pi2.experiments import window_peak

# Of the 50 flows of Figure 13 PIE's third class keeps 1.3 to 2 segments: the figure is the model's.
pytestmark = [
    pytest.mark.slow,  # drawing is, and every test asks what was drawn
    pytest.mark.filterwarnings(
        "ignore:the windows of 'reno3' are below 2 segments for 40:pi2_fluid.AssumptionWarning"
    ),
]

MODULES = {
    "pi2_fig06": fig06,
    "pi2_fig11": fig11,
    "pi2_fig12": fig12,
    "pi2_fig13": fig13,
    "phase_portrait": phase_portrait,
    "across_the_margin": across_the_margin,
}
TEXT = ("line", "scenario", "aqm")
RUN = [
    "line", "scenario", "time_s", "queue_delay_s", "throughput_bit_s", "tcp_throughput_bit_s",
    "capacity_bit_s", "controller",
]  # fmt: skip
HEADERS = {
    **dict.fromkeys(("pi2_fig06", "pi2_fig11", "pi2_fig12", "pi2_fig13"), RUN),
    "phase_portrait": [
        "line", "aqm", "time_s", "window_segments", "queue_packets", "queue_delay_s", "controller",
    ],
    "across_the_margin": [
        "line", "gain_margin_db", "time_s", "queue_delay_s", "controller", "window_segments",
    ],
    "across_the_margin_extremes": [
        "line", "gain_margin_db", "lowest_delay_s", "highest_delay_s", "lowest_controller",
    ],
}  # fmt: skip


# --- the files ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODULES)
def test_pictures_and_numbers(drawn, table, name) -> None:
    for path in drawn(name)[3:]:
        for curve in table(path.stem):
            assert list(curve) == HEADERS[path.stem]
            for column in curve.values():
                assert isinstance(column, str) or np.isfinite(column).all()


def test_drawing_again_writes_the_same_bytes(drawn, tmp_path) -> None:
    again = phase_portrait.draw(tmp_path)
    for old, new in zip(drawn("phase_portrait"), again, strict=True):
        assert (
            hashlib.sha256(old.read_bytes()).digest() == hashlib.sha256(new.read_bytes()).digest()
        )


# --- the experiments of the paper ------------------------------------------------------------


@pytest.mark.parametrize("stem", ["pi2_fig06", "pi2_fig11", "pi2_fig12", "pi2_fig13"])
def test_a_stage_ends_at_the_operating_point(table, stem) -> None:
    """Where the loop is stable and no limit is reached, the delay comes to its target."""
    settled = 0
    for row in table(stem):
        scenario = pf.named_scenario(row["scenario"])
        stages = experiments.stages_of(scenario)
        ends = [stage.begin for stage in stages[1:]]
        ends.append(float(scenario.duration) - experiments.first_start(scenario))
        for stage, end in zip(stages, ends, strict=True):
            margin = experiments.margin_of(stage, scenario.aqm)
            # A loop near its limit takes longer than a stage, and one beyond it never rests.
            if not margin.startswith("+") or float(margin.split()[0]) < 2.0:
                continue
            with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
                point = pf.equilibrium(stage.flows, scenario.aqm, stage.capacity)
            at = int((row["time_s"] < end - 1e-9).sum()) - 1
            assert row["queue_delay_s"][at] == pytest.approx(point.queue_delay, abs=2e-4)
            assert row["controller"][at] == pytest.approx(point.controller, rel=0.01)
            settled += 1
    assert settled == {"pi2_fig06": 15, "pi2_fig11": 2, "pi2_fig12": 2, "pi2_fig13": 9}[stem]


@pytest.mark.parametrize("stem", ["pi2_fig06", "pi2_fig11", "pi2_fig12", "pi2_fig13"])
def test_no_more_leaves_than_the_link_serves(table, stem) -> None:
    for row in table(stem):
        assert (row["throughput_bit_s"] <= row["capacity_bit_s"] * (1 + 1e-9)).all()
        assert (row["tcp_throughput_bit_s"] <= row["throughput_bit_s"] * (1 + 1e-9)).all()
        waiting = row["queue_delay_s"] > 1e-6
        busy = row["throughput_bit_s"] / row["capacity_bit_s"]
        assert busy[waiting] == pytest.approx(1.0, rel=1e-6)


def test_pi2_overshoots_less_as_the_captions_say(table) -> None:
    """Where its cap of 25 % does not stop it, which is beyond 30 flows in Figure 13."""
    for stem, begins in (("pi2_fig06", (0, 50)), ("pi2_fig13", (0, 50)), ("pi2_fig11", (0,))):
        rows = [row for row in table(stem) if row["line"] != "pi"]
        for pie, pi2 in zip(rows[0::2], rows[1::2], strict=True):
            assert (pie["line"], pi2["line"]) == ("pie", "pi2")
            for begin in begins:
                assert window_peak(pi2, begin, 0.0) < 0.9 * window_peak(pie, begin, 0.0)
    pie, pi2 = table("pi2_fig13")
    assert window_peak(pi2, 100, 0.0) > window_peak(pie, 100, 0.0)
    assert pi2["controller"][pi2["time_s"] > 140][0] == 0.5
    pie, pi2 = table("pi2_fig13")
    for begin in (0, 50):
        after = (pie["time_s"] >= begin) & (pie["time_s"] < begin + 10)
        assert pi2["throughput_bit_s"][after].mean() > pie["throughput_bit_s"][after].mean()


def test_pi_of_figure_6_settles_and_has_the_least_margin_with_10_flows(table) -> None:
    for row in table("pi2_fig06"):
        before = (row["time_s"] > 45) & (row["time_s"] < 50)
        assert np.ptp(row["queue_delay_s"][before]) < 1e-4
    margins = [
        float(panel.margins["pi"].split()[0])
        for panel in experiments.panels_of(table("pi2_fig06")[:1])
    ]
    assert margins[0] == margins[4] == min(margins)


def test_the_fall_of_the_capacity_is_as_the_caption_says(table) -> None:
    pie, pi2 = table("pi2_fig12")
    # What is in flight at 120 ms and 100 Mbit/s takes 600 ms at 20 Mbit/s, 100 of them on the way.
    unmoved = 0.500
    peaks = [window_peak(row, 50.0, 0.1) for row in (pie, pi2)]
    assert 0.6 * unmoved < peaks[1] < peaks[0] < unmoved
    assert fig12._in_flight({**pie, "queue_delay_s": np.full(6001, 0.020)}) == "500"
    for row in (pie, pi2):
        late = (row["time_s"] > 135) & (row["time_s"] < 150)
        assert np.ptp(row["queue_delay_s"][late]) > 0.005  # it cycles


def test_numbers_in_captions_are_computed(table) -> None:
    rows = [{**row, "line": "pi2"} for row in table("pi2_fig13")]
    said = experiments.list_peaks(rows[1:], (0, 50))
    assert (
        said
        == "PI2 "
        + ", ".join(f"{1e3 * window_peak(rows[1], at, 0.0):.0f}" for at in (0, 50))
        + " ms"
    )


def test_margins_in_the_panels_are_those_of_the_loop() -> None:
    scenario = pf.named_scenario("pi2_fig13_pi2")
    stages = experiments.stages_of(scenario)
    counts = [sum(flow.count for flow in stage.flows) for stage in stages]
    assert ([stage.begin for stage in stages], counts) == (
        [0, 50, 100, 150, 200],
        [10, 30, 50, 30, 10],
    )
    flows = pf.Flows(pf.Reno(), 30, "100ms")
    loop = pf.Loop(flows, scenario.aqm, capacity="10Mbit/s", update="sampled", rtt_terms="exact")
    expected = f"{loop.margins().gain_margin_db:+.1f} dB"
    assert experiments.margin_of(stages[1], scenario.aqm) == expected
    assert experiments.margin_of(stages[2], scenario.aqm) == "at its limit"  # p' = 0.71 > 0.5


def test_stages_follow_the_capacity() -> None:
    stages = experiments.stages_of(pf.named_scenario("pi2_fig12_pie"))
    assert [(stage.begin, stage.capacity) for stage in stages] == [(0, 1e8), (50, 2e7), (100, 1e8)]


# --- the phase portrait ----------------------------------------------------------------------


def test_the_cycle_of_pi_has_the_period_of_the_independent_solver(table) -> None:
    """0.839720531 s, by two other solvers of the same equations, from another start."""
    outer, inner = (row for row in table("phase_portrait") if row["aqm"] == "pi")
    for row in (outer, inner):
        # Crossings are found by interpolation between rows 10 ms apart.
        assert phase_portrait._period(row) == pytest.approx(0.839720531, abs=2e-5)
        late = row["time_s"] > 50
        assert row["controller"][late].min() == 0.0
    late = outer["time_s"] > 50
    for name in ("window_segments", "queue_packets"):
        assert outer[name][late].max() == pytest.approx(inner[name][late].max(), rel=1e-3)
        assert outer[name][late].min() == pytest.approx(inner[name][late].min(), rel=1e-3)


def test_pi2_spirals_in_as_the_rightmost_root_says(table) -> None:
    point = pf.equilibrium(phase_portrait.FLOWS, pf.Pi2(), phase_portrait.CAPACITY)
    loop = pf.Loop(phase_portrait.FLOWS, pf.Pi2(), capacity="10Mbit/s", rtt_terms="exact")
    root = complex(loop.roots())
    for row in (row for row in table("phase_portrait") if row["aqm"] == "pi2"):
        assert row["window_segments"][-1] == pytest.approx(point.window[0], abs=1e-5)
        assert row["queue_packets"][-1] == pytest.approx(point.queue, abs=1e-5)
        tail = (row["time_s"] > 15) & (row["time_s"] < 30)
        t, x = row["time_s"][tail], row["queue_packets"][tail] - point.queue
        k = np.flatnonzero((x[1:-1] > x[:-2]) & (x[1:-1] >= x[2:])) + 1
        rate = np.log(x[k[-1]] / x[k[0]]) / (t[k[-1]] - t[k[0]])
        assert rate == pytest.approx(root.real, rel=0.02)
        assert 2 * np.pi * (len(k) - 1) / (t[k[-1]] - t[k[0]]) == pytest.approx(
            root.imag, rel=0.005
        )


# --- across the margin -----------------------------------------------------------------------


def test_the_scaled_gains_have_the_margin_they_are_named_after() -> None:
    for controller in ("continuous", "sampled"):
        for margin in (3.0, -1.0):
            aqm = across_the_margin.scale_gains(margin, controller)
            loop = pf.Loop(
                across_the_margin.FLOWS,
                aqm,
                capacity=across_the_margin.CAPACITY,
                update=controller,
                rtt_terms="exact",
            )
            assert loop.margins().gain_margin_db == pytest.approx(margin, abs=1e-9)
            assert aqm.beta / aqm.alpha == pytest.approx(10.0, rel=1e-12)


def test_oscillation_begins_where_the_margin_is_0(table) -> None:
    for row in table("across_the_margin_extremes"):
        margin = row["gain_margin_db"]
        swing = row["highest_delay_s"] - row["lowest_delay_s"]
        assert (swing[margin > 0] < 1e-5).all()
        assert (swing[margin < 0] > 4e-3).all()
        near = (margin < 0) & (margin > -0.7)
        assert (np.diff(swing[near]) > 0).all()
        assert (row["lowest_controller"][margin <= -0.8] == 0.0).all()


def test_the_swing_grows_as_in_the_independent_solution(table) -> None:
    """peak-to-peak^2 / -GM by another solver: 3.65, 3.56, 3.47, 3.29 e-4 s^2/dB."""
    known = {-0.089: 3.65e-4, -0.193: 3.56e-4, -0.296: 3.47e-4, -0.547: 3.29e-4}
    row = table("across_the_margin_extremes")[0]
    assert row["line"] == "continuous"
    margin = row["gain_margin_db"]
    swing = row["highest_delay_s"] - row["lowest_delay_s"]
    unstable = (margin < 0) & (margin > -0.7)
    law = swing[unstable] ** 2 / -margin[unstable]
    for at, expected in known.items():
        found = np.interp(-at, -margin[unstable], law)
        assert found == pytest.approx(expected, rel=0.005)
    assert across_the_margin.onset(row) == pytest.approx(law[0], rel=1e-12)


def test_the_trajectories_do_what_their_labels_say(table) -> None:
    late = {}
    for row in table("across_the_margin"):
        end = row["time_s"] > 8.0
        late[row["gain_margin_db"][0]] = float(np.ptp(row["queue_delay_s"][end]))
    assert list(late) == list(across_the_margin.SERIES)
    assert late[6.0] < 1e-4 < late[3.0] < 1e-3 < late[1.0] < 5e-3 < late[0.0] < 0.01
    assert min(late[-1.0], late[-3.0]) > 0.015


# --- the means -------------------------------------------------------------------------------


def test_means_over_a_width_that_is_no_multiple_are_refused() -> None:
    t = np.arange(0.0, 2.0, 0.4)
    with pytest.raises(ValueError, match=r"0\.5"):
        experiments.bin_means(t, t, 0.5)
