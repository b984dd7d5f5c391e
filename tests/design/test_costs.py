"""What gains cost: the sentences say what was measured, and change sides with the gains."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import pi2_fluid as pf
from pi2_fluid.design.costs import cost_of

ROOT = Path(__file__).parents[2]
FIGURE = ROOT / "docs/gallery/what_gains_buy.csv"
LINUX = pf.presets.linux_dualpi2()


def figure(regime: str, beta: int) -> dict[str, float]:
    with FIGURE.open(encoding="utf-8") as lines:
        (row,) = (
            row
            for row in csv.DictReader(lines)
            if (row["regime"], row["beta_256"]) == (regime, str(beta))
            and float(row["target_s"]) == float(LINUX.target)
        )
    return {name: float(number) for name, number in row.items() if name != "regime"}


@pytest.mark.parametrize(("alpha", "beta"), [(12, 643), (41, 1200)])
def test_pi2_costs_what_the_figure_has(alpha: int, beta: int) -> None:
    said = cost_of(pf.DualPi2(alpha=alpha / 256, beta=beta / 256))
    assert f"Beta is {beta / 819:.2g} times Linux's default" in said
    assert f"In packets, at {beta / 819:.2g} times" in said
    ends = ("", "_low", "_high")
    for regime in ("many", "few"):
        row = figure(regime, beta)
        mid, low, high = (round(100 * (row[f"delay_ratio{end}"] - 1)) for end in ends)
        low, high = sorted((abs(low), abs(high)))
        assert f"{abs(mid)} % {'higher' if mid > 0 else 'lower'} ({low} to {high})" in said
    row = figure("few", beta)
    mid, low, high = (row[f"rate{end}_points"] for end in ends)
    low, high = sorted((abs(low), abs(high)))
    side = "more" if mid > 0 else "less"
    assert f"{abs(mid):.1f} % of its capacity {side} ({low:.1f} to {high:.1f})" in said


def test_nothing_is_said_of_the_defaults_or_of_a_faster_pie() -> None:
    assert cost_of(LINUX) == ""
    assert cost_of(pf.presets.linux_pie()) == ""
    assert cost_of(pf.Pie(alpha=0.25)) == ""


def test_only_what_was_measured_is_said_and_at_which_gains() -> None:
    """No packet has met a smaller alpha/T with a larger beta, nor a beta of half the default."""
    for mixed in (
        pf.Pie(alpha=1 / 16, beta=2.0, update_interval="32ms"),
        pf.Pie(alpha=0.25, beta=1.0),
        pf.DualPi2(alpha=0.05, beta=4.0),
    ):
        said = cost_of(mixed)
        assert said.endswith("times: not measured in packets.")
        assert "%" not in said
    half = cost_of(pf.DualPi2(alpha=0.047, beta=LINUX.beta / 2))
    assert "more slowly. Packets were measured at 0.79 times. There P99" in half
    assert "In packets, at" not in half


def test_a_design_says_it_everywhere() -> None:
    design = pf.tune("100ms", aqm="dualpi2")
    assert design.cost_text == cost_of(design.aqm)
    assert design.cost_text in str(design)
    assert "reacts more slowly" in design._repr_html_()
    assert design.to_dict()["cost_text"] == design.cost_text
    assert "more quickly" in pf.tune("50ms").cost_text


@pytest.mark.slow
def test_pie_costs_what_the_page_shows_and_its_code_prints(capsys) -> None:
    page = (ROOT / "docs/qdisc.md").read_text(encoding="utf-8")
    section = page[page.index("### What PIE's designed line costs") :]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    shown = re.search(r"```text\n(.*?)```", section, re.DOTALL)
    assert code is not None
    assert shown is not None
    exec(compile(code[1], "qdisc.md", "exec"), {})
    assert capsys.readouterr().out == shown[1]
    asked = pf.Pie(alpha=1 / 16, beta=18 / 16, update_interval="50ms", target="15ms")
    said = cost_of(pf.qdisc.install(asked, "pie", hz=1000).aqm)
    assert "0.15 times" in said
    for name in ("many long flows", "short flows"):
        ratio = re.search(
            rf"^{name}, designed: p99 x (\S+) \((\S+) to (\S+)\)", shown[1], re.MULTILINE
        )
        assert ratio is not None
        mid, low, high = (round(100 * (float(text) - 1)) for text in ratio.groups())
        assert f"{mid} % higher ({low} to {high})" in said
    rate = re.search(
        r"^short flows, designed: .* rate \+(\S+) ± (\S+) points", shown[1], re.MULTILINE
    )
    assert rate is not None
    mid_points, half = (float(text) for text in rate.groups())
    ends = f"({mid_points - half:.1f} to {mid_points + half:.1f})"
    assert f"{mid_points} % of its capacity more {ends}" in said
