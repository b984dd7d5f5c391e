"""Table 1 and the appendices of the PI2 paper: all of what is stated, and nothing by accident."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.pi2 import appendix, table1


def test_every_scenario_has_the_settings_of_the_table() -> None:
    made = pf.figure("pi2", "table1")
    found = made.measured.found
    assert {key: len(np.atleast_1d(values)) for key, values in found.items()} == {
        "target": 17,
        "buffer": 17,
        "alpha_pie": 9,
        "beta_pie": 9,
        "burst": 8,
        "alpha_scalable": 1,
        "beta_scalable": 1,
    }
    for key, row in made.verdicts.items():
        assert np.ptp(row.found) == 0.0, key
        assert row.verdict == "reproduced"


def test_settings_are_read_from_the_scenario() -> None:
    coupled = pf.named_scenario("pi2_coexistence_coupled")
    other = replace(coupled, aqm=replace(coupled.aqm, k=3.0, target="5ms"))
    rows = {row["setting"]: row["value"] for row in table1.settings_of_queues({"x": other})}
    assert rows == {"target": 5.0, "buffer": 40000.0, "alpha_scalable": 0.9375,
                    "beta_scalable": 9.375}  # fmt: skip


def test_constants_are_means_over_a_period_of_the_sawtooth() -> None:
    """From the sawtooth itself, drawn in 1e5 points: packets per period are 1/p."""
    t = (np.arange(100_000) + 0.5) / 100_000
    found = {row["constant"]: row["periodic"] for row in appendix.constants()}
    for name, removed in (("reno", 0.5), ("creno", 0.3)):
        # The window rises from (1 - b) to 1 at one segment per round trip: b round trips.
        window = (1.0 - removed) + removed * t
        assert found[name] == pytest.approx(window.mean() * (window.mean() * removed) ** -0.5)
    # Cubic: W = 1 + c (t - K)^3 from 0.8 at t = 0, with R = 1 and c = 0.4.
    k = (0.2 / 0.4) ** (1 / 3)
    window = 1.0 + 0.4 * (k * t - k) ** 3
    packets = k * window.mean()
    assert found["cubic"] == pytest.approx(window.mean() * packets**-0.75)
    assert found["switch"] == pytest.approx(found["creno"] ** 3 / found["cubic"] ** 2)
    assert found["k"] == pytest.approx(2.0 / found["creno"])


def test_the_loops_are_those_of_the_appendix() -> None:
    rows = appendix.compare_loops()
    assert [(row["equation"], row["p_prime"]) for row in rows] == [
        (equation, p) for equation in (35, 36, 37) for p in appendix.LOADS
    ]
    assert all(row["omega_rad_s"].size == 50 for row in rows)
    assert max(row["relative_difference"].max() for row in rows) < 1e-12


def test_a_loop_that_is_not_printed_so_is_not_the_same() -> None:
    s = 1j * np.array([1.0, 10.0])
    right, wrong = (
        appendix.printed_loop(equation, s, 0.1, 0.1, 0.032, (0.3125, 3.125))
        for equation in (36, 37)
    )
    assert np.all(np.abs(right / wrong - 1.0) > 1e-3)


def test_numbers_without_a_picture_are_saved_as_tables(tmp_path) -> None:
    files = pf.figure("pi2", "appendix").save(tmp_path)
    assert [path.name for path in files] == ["pi2_appendix.csv", "pi2_appendix_loops.csv"]
    header = files[0].read_text(encoding="utf-8").splitlines()[0]
    assert header == "constant,printed,periodic,fluid"
    with pytest.raises(pf.QuantityError, match="has no page '': it has none"):
        pf.figure("pi2", "appendix").draw()
