"""What gains buy: the traffic is what its page says, and so are intervals and what they mean."""

from __future__ import annotations

import csv

import measure_windows
import numpy as np
import pytest
import write_gallery
from scipy.stats import ttest_1samp

import pi2_fluid as pf
from pi2_fluid.papers.ours import designed_gains
from pi2_fluid.papers.ours import what_gains_buy as ours

PAGE = (write_gallery.ROOT / "docs/outcomes.md").read_text(encoding="utf-8")
FEW = [name for name, cell in ours.CELLS.items() if cell.regime == "few"]


def recorded(table: str = "") -> dict[tuple[str, ...], dict[str, float]]:
    """Stored numbers by regime, or by cell, and queue: ("many", "41", "819", "0.015")."""
    found = {}
    keys = ("cell" if table else "regime", "alpha_256", "beta_256", "target_s")
    path = write_gallery.PAGES / f"what_gains_buy{table}.csv"
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            numbers = {k: float(v) for k, v in row.items() if k not in ("regime", "cell")}
            found[tuple(row[key] for key in keys)] = numbers
    return found


def test_the_base_is_linuxs_and_the_design_is_that_of_its_own_figure() -> None:
    assert ours.BASE.aqm == pf.presets.linux_dualpi2()
    assert ours.LINES["gains"][0].aqm == designed_gains.GAINS["tune_100ms"].aqm


@pytest.mark.parametrize("name", FEW)
def test_short_flows_offer_a_part_of_the_link(name: str) -> None:
    cell = ours.CELLS[name]
    short = ours.scenario(cell, ours.BASE).flows[-1]
    assert isinstance(short, pf.Transfers)
    assert short.arrivals * short.size.mean * 12e3 == pytest.approx(0.3 * cell.capacity)


def test_windows_tell_the_regimes_apart() -> None:
    windows = {name: ours.window_of(cell) for name, cell in ours.CELLS.items()}
    # 20 Mbit/s are 1667 packets a second, of which one flow with 45 ms has 75 under way.
    assert windows["20M_1cubic_30ms_pages"] == pytest.approx(75.0)
    assert min(windows[name] for name in FEW) > 35.0
    assert max(windows[name] for name in windows if name not in FEW) < 25.0


def test_one_seed_is_refused() -> None:
    with pytest.raises(pf.errors.DomainError, match="seeds = 1 leaves no interval"):
        _ = pf.figure("what_gains_buy", seeds=1).measured


def test_intervals_are_students() -> None:
    values = np.random.default_rng(1).normal(size=7)
    found = ours.interval_of("rate", values, "_points")
    low, high = ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert found["rate_points"] == pytest.approx(values.mean())
    assert (found["rate_low_points"], found["rate_high_points"]) == pytest.approx((low, high))


def test_percentiles_are_those_of_time_while_nothing_happens() -> None:
    """Referee: means over 20 ms; a full link sends its packets evenly, and few are dropped."""
    cell = ours.CELLS["20M_10cubic_30ms"]
    found = ours.measure_cell(cell, ours.BASE, seeds=1)
    runs = pf.packet.simulate(ours.scenario(cell, ours.BASE), seeds=1, bin=0.02)
    delay, time = runs.queue_delay.sel(band="C").to_numpy()[0], runs.time.to_numpy()
    before = delay[(time > 8.0) & (time <= 20.0)]
    assert found["steady_s"][0] == pytest.approx(np.quantile(before, 0.99), rel=0.05)
    # After the step more than a hundredth of the time belongs to the burst.
    assert 3.0 * found["steady_s"][0] < found["delay_s"][0] < delay[time > 20.0].max()


def test_what_the_title_says_was_measured() -> None:
    found = recorded()
    for beta in ("1200", "1800"):
        many, few = (found[regime, "41", beta, "0.015"] for regime in ("many", "few"))
        assert many["delay_ratio_high"] < 0.9 > few["delay_ratio_high"]
        assert many["rate_low_points"] > 0.0
        assert few["rate_high_points"] < -2.0
    # A lower target buys less of it among long flows, and costs rate; beside short ones as much.
    lower = found["many", "41", "819", "0.01"]
    assert lower["delay_ratio_low"] > found["many", "41", "1200", "0.015"]["delay_ratio_high"]
    assert lower["rate_high_points"] < 0.0


@pytest.mark.parametrize("name", FEW)
def test_of_the_sets_with_short_flows_each_loses_rate(name: str) -> None:
    found = recorded("_cells")
    assert found[name, "41", "1200", "0.015"]["rate_high_points"] < 0.0
    assert found[name, "12", "643", "0.015"]["rate_low_points"] > 0.0


def told(row: dict[str, float], name: str, unit: str, digits: int) -> str:
    """Return what the page has of a number with its interval, ratios in per cent."""
    middle, low, high = (row[f"{name}{part}{unit}"] for part in ("", "_low", "_high"))
    if not unit:
        middle, low, high = (100.0 * (value - 1.0) for value in (middle, low, high))
    return f"{middle:+.{digits}f} ± {(high - low) / 2:.{digits}f}"


@pytest.mark.parametrize("queue", [queue for queue in ours.QUEUES if queue != ours.BASE])
def test_the_page_has_what_was_recorded(queue: ours.Queue) -> None:
    found = recorded()
    key = (str(queue.alpha), str(queue.beta), f"{queue.target:g}")
    many, few = found["many", *key], found["few", *key]
    cells = [
        queue.label,
        told(many, "steady_ratio", "", 1),
        told(many, "delay_ratio", "", 1),
        told(many, "rate", "_points", 2),
        told(few, "delay_ratio", "", 1),
        told(few, "rate", "_points", 1),
    ]
    assert f"| {' | '.join(cells)} |".replace("-", "\N{MINUS SIGN}") in PAGE


def test_the_page_has_every_window_that_is_measured() -> None:
    for cell in measure_windows.cells():
        assert f"| {measure_windows.label_of(cell)} | " in PAGE


@pytest.mark.slow
def test_a_row_of_windows_is_measured_again() -> None:
    assert measure_windows.row_of(measure_windows.cells()[-1], 16) in PAGE
