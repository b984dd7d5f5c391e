"""Results as tables for papers: the numbers in them, read back."""

from __future__ import annotations

import math

import numpy as np
import pytest
import xarray
from refusals import refused

import pi2_fluid as pf
from pi2_fluid.latex import Interval, LatexTable


class Given:
    def __init__(self, *rows):
        self.rows = rows

    def latex_table(self):
        return LatexTable(("name", "value"), self.rows)


def body(text: str) -> list[list[str]]:
    """The cells of a table below its header."""
    inside = text.split("\\midrule\n")[1].split("\\bottomrule", maxsplit=1)[0]
    return [line.removesuffix(r" \\").split(" & ") for line in inside.splitlines()]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0123456, "0.0123"),
        (123456.0, "123000"),
        (12.0, "12"),
        (-4.567, "$-4.57$"),
        (1.2345e-7, r"$1.23 \times 10^{-7}$"),
        (2.5e9, r"$2.5 \times 10^{9}$"),
        (math.inf, r"$\infty$"),
        (-math.inf, r"$-\infty$"),
        (math.nan, "--"),
        (Interval(14.9876, 0.0456), r"$14.988 \pm 0.046$"),
        (Interval(1234.5, 67.8), r"$1234 \pm 68$"),
        (Interval(2.5e-6, 3e-8), r"$(2.500 \pm 0.030) \times 10^{-6}$"),
        (Interval(3.0, 0.0), "3"),
        (Interval(3.0, math.nan), "3"),
        ("50 %_of #1 & more", r"50 \% of \#1 \& more"),
    ],
)
def test_a_cell(value, written) -> None:
    text = pf.to_latex(Given(["x", value]))
    assert text.splitlines()[4] == rf"x & {written} \\"
    assert text.splitlines()[1::2][:2] == [r"\toprule", r"\midrule"]


def test_margins_are_the_printed_ones() -> None:
    margins = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1).margins()
    cells = {name: (value, unit) for name, value, unit in body(pf.to_latex(margins))}
    assert cells["gain margin"] == ("4.7", "dB")
    assert float(cells["phase margin"][0]) == pytest.approx(margins.phase_margin_deg, rel=5e-3)
    assert float(cells["delay margin"][0]) == pytest.approx(margins.delay_margin, rel=5e-3)
    assert pf.to_latex(margins, digits=6) != pf.to_latex(margins)


def test_seeds_become_an_interval_of_students() -> None:
    """Against the quantile that tables print for eight degrees of freedom."""
    values = np.random.default_rng(3).normal(0.02, 0.004, 9)
    given = xarray.Dataset(
        {
            "delay_mean": ("seed", values, {"units": "s"}),
            "share": (("seed", "flows"), np.ones((9, 1))),
        },
        {"seed": np.arange(9), "flows": ["reno"]},
    )
    rows = body(pf.to_latex(given))
    half = 2.306 * values.std(ddof=1) / 3.0
    assert rows[0] == ["delay mean", rf"${values.mean():.4f} \pm {half:.4f}$", "s"]
    assert rows[1] == ["share (reno)", "1", ""]


@pytest.mark.filterwarnings("error")
def test_a_sweep_has_a_row_for_each_point() -> None:
    table = pf.Loop(pf.Reno(), pf.Pi2(), rtt=[[0.05], [0.1]], p_prime=[0.1, 0.2, 0.4]).sweep()
    rows = body(pf.to_latex(table))
    assert len(rows) == 6
    assert rows[4][:2] == ["0.1", "0.2"]
    header = pf.to_latex(table).splitlines()[2]
    assert header.startswith("rtt [s] & p' & gain margin [dB]")
    assert len(rows[0]) == 2 + len(table.data_vars) - 1  # the gain margin once, as dB
    at = float(table.phase_margin.sel(rtt=0.1, p_prime=0.2))
    assert float(rows[4][3]) == pytest.approx(at, rel=5e-3)


def test_a_comparison_has_a_column_for_each_engine() -> None:
    compared = xarray.Dataset(
        {
            part: (("engine", "name"), np.array([[15.0, 0.9], [x, 0.9]]))
            for part, x in (("value", 16.0), ("low", 15.5), ("high", 16.25))
        },
        {"engine": ["fluid", "packets"], "name": ["delay_mean", "utilization"],
         "unit": ("name", ["ms", ""])},
    )  # fmt: skip
    text = pf.to_latex(compared)
    assert text.splitlines()[2] == r"quantity & fluid & packets & unit \\"
    assert body(text)[0] == ["delay mean", "15", r"$16.00 \pm 0.50$", "ms"]
    assert body(text)[1] == ["utilization", "0.9", "0.9", ""]


@pytest.mark.slow
def test_a_design_stands_among_the_alternatives() -> None:
    design = pf.tune("100ms", aqm="dualpi2")
    rows = body(pf.to_latex(design))
    assert rows[0][:2] == ["this design", f"{design.alpha:.3g}"]
    assert "Linux dualpi2" in [row[0] for row in rows]
    assert float(rows[0][4]) == pytest.approx(design.margins.gain_margin_db, rel=5e-3)


def test_an_operating_point() -> None:
    point = pf.equilibrium_of(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    rows = {row[0]: row[1:] for row in body(pf.to_latex(point))}
    assert rows["window"] == ["14.1", "segments"]
    assert rows["p'"] == ["0.1", ""]


def test_what_has_no_table() -> None:
    with refused(pf.UnsupportedError, "has no table here: give Margins"):
        pf.to_latex(3)
    several = pf.Loop(pf.Reno(), pf.Pi2(), rtt=[0.05, 0.1], p_prime=0.1)
    with refused(pf.UnsupportedError, "give to_latex the table loop.sweep()"):
        pf.to_latex(several.margins())
    with refused(pf.UnsupportedError, "a table of 501 rows is too long"):
        pf.to_latex(xarray.Dataset({"x": ("t", np.zeros(501))}))
