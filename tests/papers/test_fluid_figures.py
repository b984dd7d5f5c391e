"""The figures of trajectories: their files, their numbers against what is known otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.ours import across_the_margin, phase_portrait

pytestmark = pytest.mark.slow  # drawing is, and every test asks what was drawn

HEADERS = {
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


@pytest.fixture(scope="module")
def table() -> Any:
    """Return the curves of a table by its file's name, a mapping of columns each."""
    made = {name: pf.figure(name) for name in ("phase_portrait", "across_the_margin")}

    def read(stem: str) -> list[dict[str, Any]]:
        name = next(name for name in made if stem.startswith(name))
        rows = made[name].measured.tables[stem.removeprefix(name).removeprefix("_")]
        return [_columns(row) for row in rows]

    return read


def _columns(row: Mapping[str, Any]) -> dict[str, Any]:
    numbers = {key: value for key, value in row.items() if not isinstance(value, str)}
    arrays = zip(numbers, np.broadcast_arrays(*numbers.values()), strict=True)
    return dict(row) | dict(arrays)


@pytest.mark.parametrize("stem", HEADERS)
def test_the_numbers_have_their_columns_and_no_gaps(table, stem) -> None:
    for curve in table(stem):
        assert set(curve) == set(HEADERS[stem])
        for column in curve.values():
            assert isinstance(column, str) or np.isfinite(column).all()


# --- the phase portrait ----------------------------------------------------------------------


def test_the_cycle_of_pi_has_the_period_of_the_independent_solver(table) -> None:
    """0.839720531 s, by two other solvers of the same equations, from another start."""
    outer, inner = (row for row in table("phase_portrait") if row["aqm"] == "pi")
    for row in (outer, inner):
        # Crossings are found by interpolation between rows 10 ms apart.
        assert phase_portrait.period(row) == pytest.approx(0.839720531, abs=2e-5)
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
