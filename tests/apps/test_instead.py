"""What is refused names what answers instead, and margins are read with their unit or without."""

from __future__ import annotations

import io

import pytest
from shell import assert_bad_input

from pi2_fluid.apps.cli import run
from pi2_fluid.apps.cli.requiring import read_margin
from pi2_fluid.errors import QuantityError

TC = "qdisc pie 8001: dev eth0 root limit 1000p target 15ms tupdate 15ms alpha 2 beta 20"
LINK = ["--flows", "4", "--rate", "20Mbit/s", "--path", "30ms"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["margins", TC], ("is what tc shows of queues", "pi2-fluid check")),
        (["check", "pi2_fig11a_pi2"], ("pi2_fig11a_pi2 is a scenario", "pi2-fluid margins")),
        (["margins", "--gain-margin", "8dB", *LINK], ("--require 6dB asks for a gain margin",)),
        (["tune", "--aqm", "cake", "--max-rtt", "100ms"], ("engine Linux", 'name = "cake"')),
        (["tune", "--aqm", "codel", "--max-rtt", "100ms"], ("the engine Packets",)),
        (["margins", "--aqm", "fq_codel", *LINK], ("engine Packets", 'kind = "fq_codel"')),
        (["check", TC, "--hz", "1001"], ("--hz 1001 is none", "100, 250, 300, 1000", "1024")),
        (["tune", "--max-rtt", "100ms", "--gain-margin", "8deg"], ("such as 6dB",)),
        (["tune", "--max-rtt", "100ms", "--phase-margin", "40dB"], ("such as 30deg",)),
    ],
)
def test_it_says_what_answers_instead(words, said, capsys) -> None:
    assert_bad_input(capsys, words, *said)


def test_files_of_the_other_kind_are_told_apart(tmp_path, capsys) -> None:
    shown, scenario = tmp_path / "shown.txt", tmp_path / "mine.toml"
    shown.write_text(TC, encoding="utf-8")
    scenario.write_text('duration = "10s"\n[aqm]\nkind = "pie"\n', encoding="utf-8")
    assert_bad_input(capsys, ["margins", str(shown)], "the text is what tc shows", "check")
    assert_bad_input(capsys, ["check", str(scenario)], "is a scenario", f"margins {scenario}")


def test_nothing_on_standard_input_is_said(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert_bad_input(capsys, ["check", "-"], "standard input is empty", "tc qdisc show")


@pytest.mark.parametrize(("text", "margin"), [("6", 6.0), ("6dB", 6.0), (" 5.5 db ", 5.5)])
def test_a_gain_margin_has_its_unit_or_none(text, margin) -> None:
    assert read_margin(text, "--require") == margin


@pytest.mark.parametrize("text", ["", "dB", "6 Hz", "6deg", "nan", "inf", "1e3dB", "."])
def test_what_is_no_gain_margin_is_refused(text) -> None:
    with pytest.raises(QuantityError, match="is no gain margin: give one in dB, such as 6dB"):
        read_margin(text, "--require")


@pytest.mark.slow
def test_margins_of_a_design_may_have_units(capsys) -> None:
    words = ["tune", "--max-rtt", "100ms", "--gain-margin", "8dB", "--phase-margin", "40deg"]
    assert run(words) == 0
    assert "40.0 deg" in capsys.readouterr().out
