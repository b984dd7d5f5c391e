"""Figures 13 to 16 of the PIE paper: what must be seen in them."""

from __future__ import annotations

from typing import Any

import matplotlib.text
import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.papers.pie import fig13, fig14, loads
from pi2_fluid.papers.pie.claims import (
    DERIVED,
    PRINTED,
    half_the_rtt,
    light_load_margin,
    lower_gains,
    too_large_gains,
)


def loop(alpha: Any, beta: Any, p: Any, rtt: float = 0.1) -> pf.Loop:
    return pf.Loop(pf.Reno(), pf.Pi(alpha=alpha, beta=beta, update_interval=0.03), rtt=rtt, p=p)


@pytest.mark.slow
@pytest.mark.parametrize("number", [13, 14, 15, 16])
def test_nothing_is_missing_in_their_numbers(number) -> None:
    numbers = pf.figure("pie", number).numbers
    for name, column in numbers.items():
        assert column.dtype.kind in "US" or np.isfinite(column).all(), name


def test_what_is_found_is_what_the_claims_say() -> None:
    found = {}
    for number in (13, 15, 16):
        found |= {(number, k): v for k, v in pf.figure("pie", number).measured.found.items()}
    assert f"{found[13, 'margin']:.1f} (kappa derived" in light_load_margin().computed
    said = too_large_gains().computed
    assert f"kappa derived, alpha = 0.125: unstable below p = {found[15, 'full']:.3f} %" in said
    assert f"kappa printed, alpha = 0.0625: unstable below p = {found[15, 'half']:.3f} %" in said
    assert found[15, "order"] == found[16, "order"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("number", [13, 14, 15, 16])
def test_loops_are_those_of_what_is_set(number) -> None:
    made = pf.figure("pie", number, settings={"rtt": "40ms", "update_interval": "10ms"})
    row = made.measured.tables[""][0]
    law = pf.Pi(alpha=row["alpha_hz"], beta=row["beta_hz"], update_interval="10ms")
    expected = pf.Loop(pf.Reno(), law, rtt="40ms", p=row.get("p", 1e-4)).margins()
    assert row["phase_margin_deg"] == pytest.approx(np.asarray(expected.phase_margin_deg), abs=1e-6)
    assert "stated" not in " ".join(
        text.get_text() for text in made.draw().findobj(matplotlib.text.Text)
    )


def test_a_loop_with_margin_at_every_load_is_stable_from_the_lowest_on() -> None:
    assert loads.stable_from(DERIVED, 0.0156, 0.005) == 1e-5
    assert loads.stable_from(DERIVED, 10.0, 2.0) == 0.5


def test_a_round_trip_time_without_such_a_load_is_refused() -> None:
    with pytest.raises(pf.DomainError, match="rtt = 1ms has no load at which all pairs"):
        fig14.curves(0.001)


def test_order_needs_every_load_and_both_kappas() -> None:
    p = np.array([0.01, 0.1, 0.2])
    rows = [
        {"kappa": kappa, "p": p, "x": np.array(x)}
        for kappa in ("derived", "printed")
        for x in ([1.0, 1.0, 1.0], [2.0, 2.0, 0.0], [0.0, 0.0, 0.0])
    ]
    assert loads.order(rows, "x", 0.1, 1) == 1.0
    assert loads.order(rows, "x", 0.2, 1) == 0.0
    assert loads.order(rows, "x", 0.1, -1) == 0.0
    rows[-2]["x"] = np.array([2.0, 1.0, 2.0])
    assert loads.order(rows, "x", 0.1, 1) == 0.0


@pytest.fixture(scope="module")
def bode() -> list[dict[str, Any]]:
    return fig14.curves()


@pytest.fixture(scope="module")
def over_loads() -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["kappa"], row["line"]): row for row in loads.curves()}


class TestFigure13:
    def test_the_map_is_of_the_loop(self) -> None:
        derived, printed = fig13.curves()
        for row, factor in ((derived, 1.0), (printed, 2.0)):
            alpha, beta = row["alpha_hz"][::15], row["beta_hz"][::15]
            margins = loop(factor * alpha, factor * beta, 1e-4).margins()
            found = row["phase_margin_deg"][::15, ::15]
            assert found == pytest.approx(margins.phase_margin_deg, rel=1e-9)
            crossover = row["gain_crossover_rad_s"][::15, ::15]
            assert crossover == pytest.approx(margins.gain_crossover, rel=1e-9)

    def test_the_zero_contour_passes_below_the_papers_pairs(self) -> None:
        for row in fig13.curves():
            # On beta = 10 alpha, which the grid meets.
            margin = row["phase_margin_deg"].diagonal()
            assert np.isclose(10 * row["alpha_hz"], row["beta_hz"][:, 0]).all()
            assert np.all(margin[row["alpha_hz"] >= 0.0156] < 0.0)
            assert margin[0] > 0.0
            assert np.count_nonzero(np.diff(np.sign(margin))) == 1


class TestFigure14:
    def test_the_margins_are_those_of_the_claim(self, bode) -> None:
        assert [(row["alpha_hz"], row["rtt_s"]) for row in bode] == [
            (alpha, rtt) for alpha in (0.125, 0.0625, 0.0156) for rtt in (0.1, 0.05)
        ]
        margins = [row["phase_margin_deg"] for row in bode]
        assert margins[::2] == pytest.approx([29.5] * 3, abs=1e-6)
        assert margins[1::2] == pytest.approx([85.1, 75.0, 62.1], abs=0.05)
        computed = half_the_rtt().computed
        assert all(f"{margin:.1f}" in computed for margin in margins[1::2])

    def test_the_curves_pass_through_their_margins(self, bode) -> None:
        for row in bode:
            at = np.log(row["gain_crossover_rad_s"])
            gain, phase = (
                float(np.interp(at, np.log(row["omega_rad_s"]), row[key]))
                for key in ("gain_db", "phase_deg")
            )
            assert gain == pytest.approx(0.0, abs=0.01)
            assert phase == pytest.approx(row["phase_margin_deg"] - 180.0, abs=0.05)
            assert row["phase_deg"][0] == pytest.approx(-92.0, abs=5.0)  # not wrapped


class TestFigures15And16:
    def test_the_lines_are_of_the_loop(self, over_loads) -> None:
        assert [line for _, line in list(over_loads)[:4]] == [
            "0.125:1.25",
            "0.0625:0.625",
            "0.0156:0.156",
            "auto-tuned",
        ]
        for (kappa, _), row in over_loads.items():
            factor = {"derived": 1.0, "printed": 2.0}[kappa]
            there = slice(None, None, 40)
            alpha, p = factor * row["alpha_hz"][there], row["p"][there]
            margins = loop(alpha, 10 * alpha, p).margins()
            assert row["phase_margin_deg"][there] == pytest.approx(margins.phase_margin_deg)
            assert row["gain_crossover_rad_s"][there] == pytest.approx(margins.gain_crossover)
            assert row["sqrt_p"][[0, -1]] == pytest.approx([0.01, 0.6])

    @pytest.mark.parametrize("kappa", ["derived", "printed"])
    def test_the_auto_tuned_line_follows_the_pairs(self, over_loads, kappa) -> None:
        tuned = over_loads[kappa, "auto-tuned"]
        p = tuned["p"]
        for line, low, high, factor in (
            ("0.0156:0.156", 0.0, 0.01, 8),
            ("0.0625:0.625", 0.01, 0.1, 2),
            ("0.125:1.25", 0.1, 1.0, 1),
        ):
            there = (p >= low) & (p < high)
            assert np.all(tuned["alpha_hz"][there] == 0.125 / factor)
            pair = over_loads[kappa, line]
            # 0.125/8 is 0.015625, printed 0.0156
            assert tuned["phase_margin_deg"][there] == pytest.approx(
                pair["phase_margin_deg"][there], abs=0.2
            )
        for edge in (0.01, 0.1):  # both sides of each step
            at = int(np.flatnonzero(p == edge)[0])
            assert p[at - 1] == pytest.approx(edge, rel=1e-7)
            assert tuned["alpha_hz"][at] > 1.9 * tuned["alpha_hz"][at - 1]

    def test_where_the_pairs_become_stable(self, over_loads) -> None:
        alphas = (0.125, 0.0625, 0.0156)
        assert [100 * loads.stable_from(DERIVED, alpha) for alpha in alphas] == pytest.approx(
            [1.365, 0.439, 0.038], abs=6e-4
        )
        for reading in (DERIVED, PRINTED):
            for alpha, line in zip(alphas, loads.LINES, strict=False):
                row, limit = over_loads[reading.gain, line], loads.stable_from(reading, alpha)
                assert np.array_equal(row["phase_margin_deg"] > 0.0, row["p"] > limit)

    def test_crossovers_are_those_of_the_claim(self, over_loads) -> None:
        at = int(np.flatnonzero(over_loads["derived", "auto-tuned"]["p"] == 0.01)[0])
        crossovers = [
            over_loads["derived", line]["gain_crossover_rad_s"][at] for line in loads.LINES
        ]
        assert crossovers[:3] == pytest.approx([8.14, 5.05, 1.88], abs=0.005)
        assert crossovers[3] == crossovers[1]
        shown = ", ".join(f"{w:.2f}" for w in crossovers[:3])
        assert f"cross at {shown} rad/s" in lower_gains().computed
