"""Figures 1 and 2 of Paganini and others: their files, and what must be seen in them."""

from __future__ import annotations

import csv
import math
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pi2_fluid.papers.figures import figures
from pi2_fluid.papers.paganini import fig01, fig02
from pi2_fluid.papers.paganini.loci import crossing, locus, perturbed, reach

SUFFIXES = [".png", ".svg", ".pdf", ".csv"]


def curve(row: dict[str, Any]) -> Any:
    return row["real"] + 1j * row["imaginary"]


@pytest.mark.slow
def test_they_leave_pictures_and_numbers(tmp_path: Path) -> None:
    one, two = figures(["paganini_fig01", "paganini_fig02"], tmp_path)
    assert [path.name for path in one.files] == ["paganini_fig01" + end for end in SUFFIXES]
    names = ["paganini_fig02" + end for end in (*SUFFIXES, "_bounds.csv")]
    assert [path.name for path in two.files] == names
    for number, found in ((1, one), (2, two)):
        drawing = found.files[1].read_text(encoding="utf-8")
        assert f"Paganini et al. (2002), Figure {number}" in drawing
        with found.files[3].open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert all(math.isfinite(float(row["real"])) for row in rows)
        lines = [name for name, _ in groupby(row["line"] for row in rows)]
        assert len(lines) == {1: 16, 2: 4}[number]
    again = figures("paganini_fig02", tmp_path)[0]
    assert [path.read_bytes() for path in again.files] == [p.read_bytes() for p in two.files]


def test_what_figure_1_shows() -> None:
    rows = fig01.curves()
    crossings = {row["line"]: crossing(curve(row)) for row in rows}
    assert min(crossings.values()) == crossings["1000ms_1000"] == pytest.approx(-0.70501, abs=1e-4)
    nearest = min(float(np.min(np.abs(curve(row) + 1.0))) for row in rows)
    assert nearest == pytest.approx(0.23942, abs=1e-4)
    # nu = kappa: one curve, whatever the round-trip time
    for rtt in ("1ms", "10ms", "100ms", "1000ms"):
        assert crossings[f"{rtt}_1"] == pytest.approx(-2.0 / math.pi, abs=1e-4)
    assert reach(np.concatenate([*map(curve, rows), [0j]])) < -0.1


def test_what_figure_2_shows() -> None:
    rows = {row["line"]: row for row in fig02.curves()}
    assert crossing(curve(rows["nabla"])) == pytest.approx(-0.63662, abs=1e-4)
    assert crossing(curve(rows["nabla_eta"])) == pytest.approx(-0.74254, abs=1e-4)
    assert rows["nabla_eta_largest"]["eta"] == pytest.approx(0.4913, abs=5e-5)
    for name in ("nabla_eta_largest", "locus_eta_max"):
        assert crossing(curve(rows[name])) == pytest.approx(-1.0, abs=1e-4), name
    published, tight = fig02.bounds()
    assert np.all(published["alpha"] <= tight["alpha"] * (1 + 1e-12))
    assert tight["alpha"][0] == pytest.approx(math.pi / 2)
    assert tight["alpha"][-1] == 0.0


def test_the_dashed_curve_bounds_a_source_from_1_over_the_longest_round_trip_on() -> None:
    """|lambda| and its lag are at most those of the dashed curve where theta >= 1: (17), (18)."""
    theta = np.linspace(1.0, 3.0, 50)
    for ratio in (0.1, 10.0, np.inf):
        source, bound = locus(theta, 0.4, ratio), perturbed(theta, 0.4)
        assert np.all(np.abs(source) <= np.abs(bound) * (1 + 1e-12))
        lag = np.unwrap(np.angle(source)) - np.unwrap(np.angle(bound))
        assert np.all(lag >= -1e-12)
