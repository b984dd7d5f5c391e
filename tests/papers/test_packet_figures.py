"""The figures of packets: their files, and what their captions say, against the numbers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from pi2_fluid.papers.ours import echo_modes

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
