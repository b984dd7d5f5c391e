"""The stability atlas: its points against loops of links, readable searches, roots and limits."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.loop.crossovers import find_crossings
from pi2_fluid.loop.margins import margins_from_crossings
from pi2_fluid.loop.roots import count_unstable
from pi2_fluid.papers.ours import stability_atlas as atlas

PAGES = Path(__file__).parents[2] / "docs" / "gallery"
LINUX, PIE, DESIGN = atlas.GAINS
pytestmark = pytest.mark.filterwarnings("ignore::pi2_fluid.AssumptionWarning")  # T above R


def law(gains: atlas.Gains, interval: float):
    """The queue of one panel."""
    alpha, beta = gains.at[interval]
    return dataclasses.replace(gains.aqm, alpha=alpha, beta=beta, update_interval=interval)


def panels(gains: atlas.Gains, paths: np.ndarray, rates: np.ndarray) -> dict[float, dict]:
    """One row of the atlas on a grid of one's own: of each T its columns, as grids."""
    rows = atlas.charts(gains, paths, rates)
    return {
        row["interval_s"]: {
            name: row[name].reshape(paths.size, rates.size)
            for name in ("gain_margin_db", "phase_margin_deg", "verdict")
        }
        for row in rows
    }


def listed(name: str) -> list[dict[str, str]]:
    with (PAGES / f"stability_atlas_{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("count", [1, 7])
def test_a_point_is_the_loop_of_flows_that_share_a_link(count: int) -> None:
    """Solved for its operating point: only the rate per flow matters."""
    path, rate = 0.050, 5e6
    flows = pf.Flows(pf.Reno(), count, path)
    loop = pf.Loop(flows, law(LINUX, 0.016), capacity=count * rate, update="sampled")
    point = loop.operating_point
    assert float(point.rtt[0]) == pytest.approx(path + atlas.TARGET, rel=1e-12)
    load = float(atlas.load_of(np.array(path), np.array(rate)))
    assert load == pytest.approx(float(point.p_prime[0]), rel=1e-9)
    found = panels(LINUX, np.array([path]), np.array([rate]))[0.016]
    assert float(found["gain_margin_db"][0, 0]) == pytest.approx(
        float(loop.margins().gain_margin_db), abs=0.00501
    )


@pytest.mark.parametrize(
    ("gains", "interval", "rate", "paths"),
    [
        (LINUX, 0.001, 2e6, (0.0190, 0.0205)),
        (LINUX, 0.016, 1e8, (0.0880, 0.0900)),
        (LINUX, 0.032, 1e6, (0.152, 0.158)),
        (PIE, 0.015, 1e7, (0.065, 0.080)),
        (PIE, 0.032, 1e8, (0.110, 0.135)),
        (DESIGN, 0.016, 1e8, (0.178, 0.183)),
    ],
)
def test_either_side_of_the_border_is_what_its_modes_say(gains, interval, rate, paths) -> None:
    """By the readable search and the count of unstable modes; T/2 late, by the rightmost root."""
    found = panels(gains, np.array(paths), np.array([rate]))[interval]
    signs = []
    for index, path in enumerate(paths):
        load = float(atlas.load_of(np.array(path), np.array(rate)))
        given = {"rtt": path + atlas.TARGET, "p_prime": load}
        one = pf.Loop(pf.Reno(), law(gains, interval), **given, update="sampled").linear
        unstable = count_unstable(one, "sampled")
        gm, pm, *_ = margins_from_crossings(
            find_crossings(one, "sampled"), lambda unstable=unstable: unstable
        )
        assert float(found["gain_margin_db"][index, 0]) == pytest.approx(gm, abs=0.00501)
        assert float(found["phase_margin_deg"][index, 0]) == pytest.approx(pm, abs=0.00501)
        assert found["verdict"][index, 0] == (1.0 if unstable == 0 else -1.0)
        signs.append(float(np.sign(gm)))
        assert signs[-1] == found["verdict"][index, 0]
        if abs(gm) > 0.2:  # what T/2 differs from the exact loop by
            late = pf.Loop(pf.Reno(), law(gains, interval), **given, update="delayed")
            assert np.sign(late.roots().real) == -signs[-1]
    assert signs == [1.0, -1.0]


def test_updates_a_sixteenth_as_long_leave_no_path_where_windows_are_large() -> None:
    """No gain is stable above R = T beta / (2 alpha): here 10 ms, less than the queue alone."""
    alpha, beta = LINUX.at[0.001]
    assert float(pf.loop.rtt_limit(alpha, beta, "1ms", "sampled")) < atlas.TARGET
    paths, rates = np.array([0.005, 0.05, 0.5]), np.array([1e8, 1e9])
    found = panels(LINUX, paths, rates)
    assert (found[0.001]["verdict"] == -1.0).all()
    assert found[0.016]["verdict"][:, 0].tolist() == [1.0, 1.0, -1.0]


@pytest.mark.slow
def test_a_design_keeps_what_it_was_asked_for_up_to_its_longest_path() -> None:
    paths, rates = np.geomspace(0.005, 0.085, 6), np.geomspace(3e6, 1e9, 5)
    for interval, pair in DESIGN.at.items():
        design = pf.tune("100ms", update_interval=interval)
        assert (design.alpha, design.beta) == pytest.approx(pair, rel=1e-12)
        found = panels(DESIGN, paths, rates)[interval]
        assert (found["gain_margin_db"] >= 6.0).all()
        assert (found["phase_margin_deg"] >= 30.0).all()
        assert (found["verdict"] == 1.0).all()
    deployed = panels(LINUX, paths, rates)[0.016]
    assert not (deployed["phase_margin_deg"] >= 30.0).all()


def test_a_border_is_where_less_is_left_first() -> None:
    paths = np.array([0.01, 0.02, 0.04, 0.08])
    halfway = np.sqrt(0.02 * 0.04)
    assert atlas.border(paths, np.array([3.0, 1.0, -1.0, 2.0]), 0.0) == pytest.approx(halfway)
    assert atlas.border(paths, np.array([np.nan, 1.0, -1.0, -9.0]), 0.0) == pytest.approx(halfway)
    assert atlas.border(paths, np.array([5.0, 4.0, 3.0, 2.0]), 0.0) == np.inf
    assert atlas.border(paths, np.array([5.0, 4.0, 3.0, 2.0]), 6.0) == 0.0
    assert np.isnan(atlas.border(paths, np.full(4, np.nan), 0.0))


def test_what_is_recorded_is_a_million_loops_and_ends_at_the_limit_of_light_load() -> None:
    counts = listed("counts")
    assert len(counts) == 9
    assert sum(int(row["loops"]) for row in counts) > 1_000_000
    fastest = [row for row in listed("borders") if float(row["rate_bit_s"]) == 1e9]
    assert len(fastest) == 9
    for row in fastest:
        interval, path = float(row["interval_s"]), float(row["stable_to_s"])
        if interval == 0.001 and row["gains"] != DESIGN.title:
            assert path == 0.0
        elif row["gains"] != PIE.title:  # whose margins fall with the load without end
            gains = LINUX if row["gains"] == LINUX.title else DESIGN
            rtt = path + atlas.TARGET
            limit = pf.loop.low_load(pf.Reno(), law(gains, interval), rtt, "sampled")
            # Windows are of 8000 segments and more, and a cell is 1.3 % of a path.
            assert abs(float(limit.gain_margin_db)) < 0.1
