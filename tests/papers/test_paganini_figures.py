"""Figures 1 and 2 of Paganini and others: what must be seen in them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.gallery import figure
from pi2_fluid.papers.paganini import fig01, fig02
from pi2_fluid.papers.paganini.loci import crossing, locus, perturbed, reach


def curve(row: dict[str, Any]) -> Any:
    return row["real"] + 1j * row["imaginary"]


def test_what_figure_1_shows() -> None:
    rows = fig01.curves()
    crossings = {row["line"]: row["crossing"] for row in rows}
    assert min(crossings.values()) == crossings["1000ms_1000"] == pytest.approx(-0.70501, abs=1e-4)
    assert min(row["nearest"] for row in rows) == pytest.approx(0.23942, abs=1e-4)
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


def test_which_source_is_not_alike_at_high_frequencies() -> None:
    """By hand: |j + 0.2|/|j + 2| of nu/kappa = 0.1 over 1 s at 1/tau, farther than any other."""
    found = figure("paganini", 1).measured.found
    assert found["coincide"] == pytest.approx(math.hypot(1, 0.2) / math.hypot(1, 2), rel=1e-12)


def test_what_is_set_of_a_curve_moves_it() -> None:
    other = figure("paganini", 2, settings={"alpha": 0.5, "eta": 0.4})
    assert other.measured.found["solid"] == pytest.approx(-1.0 / math.pi, abs=1e-4)
    assert other.measured.tables[""][1]["eta"] == 0.4
    with pytest.raises(pf.DomainError, match=r"alpha = 1\.6 has no stable curve"):
        _ = figure("paganini", 2, settings={"alpha": 1.6}).measured
