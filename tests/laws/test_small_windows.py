"""Small windows: where the window laws end, who says so, and the law with timeouts that goes on."""

from __future__ import annotations

import itertools
import json
import warnings

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.apps.cli import main

LINK = pf.Link("10Mbit/s")


def crowd(sender, aqm, *, count=200, base_rtt="20ms", duration="20s", **fields):
    return pf.Scenario(duration, LINK, aqm, pf.Flows(sender, count, base_rtt, **fields))


# --- the law with timeouts ----------------------------------------------------------------------


def test_series_of_timeouts_by_enumeration():
    """The mean length of a series, over how many of its segments are lost: 1, 2, 4 ... 64, 64 ...

    At rest as many flows run into a timeout as come out of one: (1 - a)/a is the mean length of a
    series times how often a flow that sends loses what it sends again, p^2 W/R.
    """
    sender, rtt = pf.TimeoutReno(), 0.05
    for p in (0.01, 0.2, 0.5, 0.8):
        lengths = itertools.accumulate(2.0 ** min(n, 6) for n in range(2000))
        mean = sum(p**n * (1 - p) * length for n, length in enumerate(lengths))
        window, sending = sender.at_rest(rtt, p)
        odds = mean * (rtt + 0.2) * p**2 * window / rtt
        assert (1 - sending) / sending == pytest.approx(odds, rel=1e-12)
        assert sender.rate((window, sending), (window, sending), p, rtt, rtt) == pytest.approx(
            (0.0, 0.0), abs=1e-12
        )


CORNERS = [(50, 0.02), (400, 0.02), (50, 0.1), (400, 0.1)]
GRID = list(itertools.product((50, 100, 200, 400), (0.02, 0.05, 0.1)))


def against_packets(aqm, count, base_rtt, *, seeds, duration):
    """The state of rest, the fluid's end, and packets: (delay, loss) of each."""
    fields = {"count": count, "base_rtt": base_rtt, "duration": duration}
    scenario = crowd(pf.TimeoutReno(), aqm, **fields)
    point = pf.equilibrium(scenario.flows, aqm, LINK.capacity)
    last = pf.fluid.simulate(scenario, tolerance=1e-6).isel(time=-1)
    # one after the other: whoever starts in one instant waits out long timers first
    spread = crowd(pf.Reno(), aqm, **fields, start_jitter="5s")
    runs = pf.summarize(pf.packet.simulate(spread, seeds=seeds), after="20s")
    return (
        (point.queue_delay, point.p[0]),
        (float(last.queue_delay), float(last.p[0])),
        (float(runs.delay_mean.mean()), float(runs.drop_fraction.mean())),
    )


def assert_close_to_packets(aqm, count, base_rtt, **how):
    """Loss within 15 % (-14 to +7 over the grid), delay within 4 % (what packets swing by)."""
    rest, end, packets = against_packets(aqm, count, base_rtt, **how)
    assert end == pytest.approx(rest, rel=1e-3)
    assert rest[0] == pytest.approx(packets[0], rel=0.04)
    assert rest[1] == pytest.approx(packets[1], rel=0.15)


@pytest.mark.parametrize("aqm", [pf.Pie(), pf.Pi2()], ids=["pie", "pi2"])
@pytest.mark.parametrize(("count", "base_rtt"), CORNERS)
def test_loss_and_delay_are_those_of_packets(aqm, count, base_rtt):
    assert_close_to_packets(aqm, count, base_rtt, seeds=3, duration="60s")


@pytest.mark.slow
@pytest.mark.parametrize("aqm", [pf.Pie(), pf.Pi2()], ids=["pie", "pi2"])
@pytest.mark.parametrize(("count", "base_rtt"), GRID)
def test_loss_and_delay_are_those_of_packets_on_the_whole_grid(aqm, count, base_rtt):
    assert_close_to_packets(aqm, count, base_rtt, seeds=3, duration="60s")


def test_large_windows_are_renos():
    """Where timeouts are rare the two laws are one, and 1 - p enters: to p, some 1e-3."""
    points = [
        pf.equilibrium(pf.Flows(law, 2, "80ms"), pf.Pi2(), "50Mbit/s")
        for law in (pf.TimeoutReno(), pf.Reno())
    ]
    assert points[1].p[0] < 1e-4
    assert points[0].p[0] == pytest.approx(points[1].p[0], rel=2e-3)


@pytest.mark.slow
@pytest.mark.usefixtures("jax")
def test_batch_knows_the_law_too():
    """JAX at a coarse step against the exact solver: rest is rest."""
    scenario = crowd(pf.TimeoutReno(), pf.Pi2(), duration="30s")
    runs = pf.fluid.batch(scenario, {"flows.0.count": [100.0, 200.0]}, after="25s", step="16ms")
    for row, count in enumerate((100, 200)):
        flows = pf.Flows(pf.TimeoutReno(), count, "20ms")
        point = pf.equilibrium(flows, pf.Pi2(), LINK.capacity)
        assert float(runs.queue_delay_mean[row]) == pytest.approx(0.02, rel=1e-3)
        assert float(runs.p_mean[row, 0]) == pytest.approx(point.p[0], rel=1e-3)


def test_packets_take_it_for_reno():
    runs = [
        pf.packet.simulate(crowd(law, pf.Pi2(), duration="3s"), seeds=1)
        for law in (pf.TimeoutReno(), pf.Reno())
    ]
    np.testing.assert_array_equal(runs[0].drops, runs[1].drops)


def test_text_has_it():
    scenario = crowd(pf.TimeoutReno(min_rto="1s"), pf.Pi2())
    assert pf.Scenario.from_toml(scenario.to_toml()) == scenario


def test_a_loop_says_why_it_has_none():
    with pytest.raises(pf.UnsupportedError, match=r"TimeoutReno thinned = True .*use Reno"):
        pf.Loop(pf.TimeoutReno(), pf.Pi2(), rtt="50ms", p=0.2)


# --- who says that a law has ended ----------------------------------------------------------------


@pytest.mark.parametrize("aqm", [pf.Pie(), pf.Pi2()], ids=["pie", "pi2"])
def test_an_impossible_state_is_warned_of(aqm):
    """200 Reno flows on 10 Mbit/s: 0.3 s of queue and p = 1, where packets have 15 ms."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        result = pf.fluid.simulate(crowd(pf.Reno(), aqm), tolerance=1e-6)
    text = " ".join(str(w.message) for w in caught)
    assert {w.category for w in caught} == {pf.AssumptionWarning}
    assert "the windows of 'reno' are below 2 segments for" in text
    assert "p = 1 for 'reno' for" in text
    assert caught[0].filename == __file__
    note = result.attrs["beyond_the_laws"]
    small = result.time[result.window[:, 0] < 2].to_numpy()
    assert f"small windows: reno for {0.001 * round(1000 * (20 - small[0])):.3g}" in note
    assert f"from {small[0]:.4g} s on" in note
    assert "p = 1: reno for" in note


def test_a_state_that_holds_is_not():
    calm = {"slow_start": False, "initial_window": 3}
    result = pf.fluid.simulate(crowd(pf.Reno(), pf.Pi2(), count=10, **calm), tolerance=1e-6)
    assert float(result.window[-1, 0]) < 4
    assert result.attrs["beyond_the_laws"] == ""
    crowded = pf.fluid.simulate(crowd(pf.TimeoutReno(), pf.Pi2(), **calm), tolerance=1e-6)
    assert float(crowded.window.min()) > 1.0
    assert crowded.attrs["beyond_the_laws"] == ""


def test_a_dip_is_noted_and_not_warned_of():
    """After slow start the window dips below 2 for some 0.1 s of 20 s."""
    scenario = pf.Scenario("20s", LINK, pf.Pi2(), pf.Flows(pf.Reno(), 10, "100ms"))
    result = pf.fluid.simulate(scenario, tolerance=1e-6)
    assert result.attrs["beyond_the_laws"].startswith("small windows: reno for 0.")


def test_a_batch_names_its_runs():
    scenario, counts = crowd(pf.Reno(), pf.Pi2()), {"flows.0.count": [10.0, 200.0]}
    with pytest.warns(pf.AssumptionWarning, match="reno in 1 of 2 runs, first in run 1,"):
        runs = pf.fluid.batch(scenario, counts, engine="c", after="10s")
    assert runs.attrs["beyond_the_laws"].startswith("small windows: reno in 1 of 2 runs")


def test_the_shell_has_a_line_for_it(tmp_path, capsys, monkeypatch):
    file = tmp_path / "crowd.toml"
    file.write_text(crowd(pf.Reno(), pf.Pi2()).to_toml())

    def shell(*options):
        arguments = ["pi2-fluid", "simulate", str(file), "--tolerance", "1e-6", *options]
        monkeypatch.setattr("sys.argv", arguments)
        with pytest.raises(SystemExit) as left:
            main()
        assert not left.value.code
        return capsys.readouterr()

    shown = shell()
    assert "\nbeyond the laws: small windows: reno for " in shown.out
    assert shown.err.count("warning: ") == 2
    assert json.loads(shell("--json").out)["beyond_the_laws"].startswith("small windows")


# --- traffic that cannot be marked --------------------------------------------------------------


def test_unmarkable_traffic_is_dropped_as_packets_are():
    """12 Mbit/s of UDP on 10 Mbit/s: the queue keeps its target, and a sixth of it is lost."""
    scenario = pf.Scenario("30s", LINK, pf.Pie(), pf.Flows(pf.Cbr(rate="12Mbit/s")))
    fluid = pf.summarize(pf.fluid.simulate(scenario, tolerance=1e-6), after="10s")
    runs = pf.summarize(pf.packet.simulate(scenario, seeds=2), after="10s")
    assert float(fluid.delay_mean) == pytest.approx(0.015, rel=1e-3)
    assert float(runs.delay_mean.mean()) == pytest.approx(0.015, rel=0.02)
    last = pf.fluid.simulate(scenario, tolerance=1e-6).p[-1, 0]
    # 2e-6 of it is left of the start, from which the slowest of its modes takes it in 2.3 s.
    assert float(last) == pytest.approx(1 / 6, rel=1e-5)
    assert float(runs.drop_fraction.mean()) == pytest.approx(1 / 6, rel=0.01)


def test_linearised_it_moves_as_the_whole_does():
    """A start 1e-4 off rest: both trajectories, less what is of second order, 1e-8 of the queue."""
    flows = [pf.Flows(pf.Reno(), 5, "50ms"), pf.Flows(pf.Cbr(rate="3Mbit/s"))]
    point = pf.equilibrium(flows, pf.Pi2(), LINK.capacity)
    start = {"window": [1.0001 * w for w in point.window], "queue": point.queue}
    start |= {"controller": point.controller}
    scenario = pf.Scenario("5s", LINK, pf.Pi2(), flows)
    away = [
        pf.fluid.simulate(scenario, initial=start, linear=linear).queue_delay - point.queue_delay
        for linear in (False, True)
    ]
    swing = float(abs(away[0]).max())
    assert swing > 1e-7
    np.testing.assert_allclose(away[1], away[0], atol=1e-2 * swing)
