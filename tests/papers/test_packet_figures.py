"""The figures of packets: their files, and what their captions say, against the numbers."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.ours import echo_modes
from pi2_fluid.papers.pi2 import fig15

ROOT = Path(__file__).parents[2]
MODULES = {"echo_modes": echo_modes}
TEXT = ("line",)
pytestmark = pytest.mark.slow  # drawing is, and every test asks what was drawn


# --- the files ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODULES)
def test_pictures_and_numbers(drawn, table, name) -> None:
    for path in drawn(name)[3:]:
        for curve in table(path.stem):
            for column in curve.values():
                assert isinstance(column, str) or np.isfinite(column).all()
            for key in list(curve):
                if key.endswith("_low") or "_low_" in key:
                    high, middle = key.replace("_low", "_high"), key.replace("_low", "")
                    assert (curve[key] <= curve[middle]).all()
                    assert (curve[middle] <= curve[high]).all()


# --- Figure 15 ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def balance() -> Any:
    """Return the balance of some points of the figure, by queue."""
    series = fig15._series()

    def find(line: str, capacity: float, rtt: float, classic: Any = None) -> dict[str, float]:
        sender = classic or pf.Cubic(variant="linux3.18")
        return fig15._point(sender, series[line], capacity, rtt)

    return find


def test_the_coupled_queue_balances_what_pie_does_not(balance) -> None:
    for capacity, rtt in ((4e6, 0.02), (40e6, 0.01), (40e6, 0.05)):
        coupled, pie = (balance(line, capacity, rtt) for line in ("coupled", "pie"))
        assert 0.5 < coupled["ratio"] < 1.0
        assert coupled["ratio_low"] > 3.0 * pie["ratio_high"]
        assert pie["ratio"] < 0.25


def test_integers_of_dctcp_break_the_balance_from_50_segments_on(balance) -> None:
    small, large = (balance("coupled_linux", 12e6, 0.02), balance("coupled_linux", 120e6, 0.02))
    assert 0.6 < small["ratio"] < 1.2
    assert large["ratio_high"] < 0.2


def test_the_step_of_dualpi2_rules_slow_links(balance) -> None:
    """A packet takes 3 ms at 4 Mbit/s, the step is 1 ms."""
    slow, fast = balance("dualpi2", 4e6, 0.05), balance("dualpi2", 40e6, 0.02)
    assert slow["ratio"] > 4.0
    assert fast["ratio"] == pytest.approx(fast["ratio_fluid"], rel=0.25)


def test_reno_falls_behind_where_windows_are_large(balance) -> None:
    small, large = (
        balance("coupled", capacity, rtt, pf.Reno())
        for capacity, rtt in ((4e6, 0.01), (120e6, 0.05))
    )
    assert small["ratio"] > 1.0 > 0.7 > large["ratio"]
    assert small["ratio_fluid"] == pytest.approx(2**0.5, rel=0.02)


def test_what_is_settled() -> None:
    assert fig15.is_settled(np.array([0.7, 0.8, 0.9]), np.array([0.8, 0.9, 0.95]))
    assert not fig15.is_settled(np.array([0.7, 0.8, 0.9]), np.array([0.4, 0.5, 0.6]))


def test_figure_15_is_drawn_from_any_rows(tmp_path, monkeypatch) -> None:
    def point(sender: Any, series: Any, capacity: float, rtt: float) -> dict[str, float]:
        return {
            "duration_s": 90.0, "ratio": 0.7, "ratio_low": 0.6, "ratio_high": 0.8,
            "ratio_fluid": 0.0 if rtt < 0.01 else 1.0, "settled": float(rtt < 0.05),
        }  # fmt: skip

    monkeypatch.setattr(fig15, "_point", point)
    files = fig15.draw(tmp_path)
    assert [path.suffix for path in files] == [".png", ".svg", ".pdf", ".csv"]
    assert "PI2 paper, Figure 15" in files[1].read_text(encoding="utf-8")
    with files[-1].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 160
    assert {row["classic"] for row in rows} == {"cubic", "reno"}


# --- echoes ---------------------------------------------------------------------------------


def test_packets_swing_at_the_echo_modes_that_were_predicted(table) -> None:
    rows = {(row["line"], float(row["path_s"][0])): row for row in table("echo_modes")}
    for modes in table("echo_modes_predicted"):
        path = float(modes["path_s"][0])
        grow = (modes["growth_per_s"] > 0.0) & (modes["frequency_rad_s"] < 300.0)
        assert grow.any()
        for omega in modes["frequency_rad_s"][grow]:
            found = echo_modes.found_near(rows["equal", path], omega)
            assert found == pytest.approx(omega, rel=0.002)  # a bin of the spectrum is 0.2 rad/s
            heights = {
                line: rows[line, path]["amplitude_s"][
                    np.abs(rows[line, path]["frequency_rad_s"] / omega - 1.0) < 0.05
                ].max()
                for line in echo_modes.SPREADS
            }
            assert heights["equal"] > 5.0 * heights["spread"]
            assert heights["equal"] > 1e-3


def test_the_page_has_the_scatter_with_and_without_echoes(table) -> None:
    page = (ROOT / "docs" / "ack_clock.md").read_text(encoding="utf-8")
    scatter = {
        (row["line"], float(path)): 1e3 * float(sd)
        for row in table("echo_modes_scatter")
        for path, sd in zip(row["path_s"], row["sd_delay_s"], strict=True)
    }
    for path in echo_modes.PATHS:
        (line,) = re.findall(rf"^\| {1e3 * path:.0f} ms \|.*$", page, re.MULTILINE)
        said = [f"{scatter[name, path]:.1f} ms" for name in ("equal", "spread")]
        assert line.endswith(f"| {said[0]} | {said[1]} |")
