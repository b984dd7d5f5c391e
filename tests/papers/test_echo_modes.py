"""Echo modes: packets against what was predicted, and against what the documentation says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quick_figures import quick_figure

from pi2_fluid.papers.ours import echo_modes

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow  # each asks packets

Table = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def table() -> Table:
    """Return the curves of a table by its name, every column as long as the longest."""
    tables = quick_figure("ours:echo_modes").measured.tables

    def read(name: str) -> list[dict[str, Any]]:
        return [
            {
                key: value if isinstance(value, str) else column
                for (key, value), column in zip(
                    row.items(), np.broadcast_arrays(*row.values()), strict=True
                )
            }
            for row in tables[name]
        ]

    return read


def test_packets_swing_at_the_echo_modes_that_were_predicted(table: Table) -> None:
    rows = {(row["line"], float(row["path_s"][0])): row for row in table("")}
    for modes in table("predicted"):
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


def test_the_page_has_the_scatter_with_and_without_echoes(table: Table) -> None:
    page = (ROOT / "docs" / "ack_clock.md").read_text(encoding="utf-8")
    scatter = {
        (row["line"], float(path)): 1e3 * float(sd)
        for row in table("scatter")
        for path, sd in zip(row["path_s"], row["sd_delay_s"], strict=True)
    }
    for path in echo_modes.PATHS:
        (line,) = re.findall(rf"^\| {1e3 * path:.0f} ms \|.*$", page, re.MULTILINE)
        said = [f"{scatter[name, path]:.1f} ms" for name in ("equal", "spread")]
        assert line.endswith(f"| {said[0]} | {said[1]} |")
