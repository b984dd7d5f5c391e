"""Families of traffic at the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shell import answered, assert_bad_input, printed

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.network.catalogue import describe_traffic, traffic_text


def test_words_are_listed(capsys: Any) -> None:
    lines = printed(capsys, ["traffic"]).splitlines()
    assert [line.split()[0] for line in lines] == list(pf.traffic_names())
    records = answered(capsys, ["traffic", "--json"])["traffic"]
    assert {one["name"]: one["description"] for one in records} == {
        word: describe_traffic(word) for word in pf.traffic_names()
    }


@pytest.mark.parametrize("word", pf.traffic_names())
def test_cells_are_shown(capsys: Any, word: str) -> None:
    """A line of the table for each cell, none of them cut, and a paragraph for each."""
    out = printed(capsys, ["traffic", word])
    family = pf.Traffic(word)
    assert out.startswith(f"{family.title}\n")
    for cell in family.cells:
        (row,) = [line for line in out.splitlines() if line.startswith(f"{cell.name} ")]
        assert f"{cell.scenario.link.capacity / 1e6:.4g} " in row
        assert f"\n{cell.name}: {cell.why.split()[0]}" in out
    assert "beware" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_row_has_windows_and_events(capsys: Any) -> None:
    """20 Mbit/s over 30 ms and 15 ms of queue: 75 segments for one flow, 38 for two."""
    rows = printed(capsys, ["traffic", "home", "--rate", "20Mbit/s"]).splitlines()
    (row,) = [row for row in rows if row.startswith("pages_beside_download ")]
    assert row.split()[1:5] == ["20", "1..2", "30", "38..75"]
    assert row.split()[-2:] == ["20,", "32-"]


def test_numbers_are_those_of_python(capsys: Any) -> None:
    numbers = {"rate": "50Mbit/s", "rtt": "10ms..60ms", "long": "2:9", "l4s": "0.4"}
    words = ["traffic", "pages", *(f"--{name}={text}" for name, text in numbers.items()), "--toml"]
    made = pf.Traffic("pages", rate="50Mbit/s", rtt=("10ms", "60ms"), long=(2, 9), l4s=0.4)
    assert pf.Traffic.from_toml(printed(capsys, words)) == made
    assert answered(capsys, [*words[:-1], "--json"])["longest_rtt"] == 0.06


def test_numbers_alone_are_about_any_link(capsys: Any) -> None:
    assert answered(capsys, ["traffic", "--rtt", "40ms", "--json"])["name"] == "link"


def test_toml_is_that_of_the_package_with_its_comments(capsys: Any) -> None:
    assert printed(capsys, ["traffic", "home", "--toml"]) == traffic_text("home")


def test_files(capsys: Any, tmp_path: Path) -> None:
    family, scenario = tmp_path / "mine.toml", tmp_path / "night.toml"
    pf.Traffic("home").save(family)
    flows = pf.Flows(pf.Cubic(), 2, "30ms")
    pf.Scenario("30s", pf.Link("20Mbit/s"), pf.presets.linux_dualpi2(), flows).save(scenario)
    words = ["traffic", str(family), str(scenario)]
    said = answered(capsys, [*words, "--json"])
    assert [cell["name"] for cell in said["cells"]][-1] == "night"
    assert pf.Traffic.from_toml(printed(capsys, [*words, "--toml"])) == pf.Traffic(words[1:])


def test_json_has_what_python_says(capsys: Any) -> None:
    said = answered(capsys, ["traffic", "link", "--json"])
    family = pf.Traffic("link")
    assert said["caveats"] == list(family.caveats) == []
    for record, cell in zip(said["cells"], family.cells, strict=True):
        assert record["windows"] == list(cell.windows or ())
        assert record["long_flows"] == list(cell.long_flows)
        assert record["events"] == [{"at": at, "falls": falls} for at, falls in cell.events]
        assert record["after"] == [list(span) for span in cell.after]


def test_what_is_missing_is_said(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    flows = pf.Flows(pf.Cubic(), 2, "30ms")
    pf.Scenario("30s", pf.Link("20Mbit/s"), pf.presets.linux_dualpi2(), flows).save(path)
    assert "beware: no cell has short flows" in printed(capsys, ["traffic", str(path)])


def test_a_warning_is_a_line(capsys: Any) -> None:
    assert run(["traffic", "home", "--long", "1"]) == 0
    assert capsys.readouterr().err.startswith("warning: long = 1: more than 1 long flows")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["homes"], "traffic = 'homes' is no word"),
        (["home", "home"], "'home' is given twice: give it once"),
        (["home", "--rate", "fast"], "--rate fast"),
        (["home", "--rtt", "80ms..10ms"], "--rtt 80ms,10ms ends before it begins"),
        (["home", "--rtt", "1ms..2ms..3ms"], "--rtt '1ms..2ms..3ms' is no span of times"),
        (["home", "--rtt", "..3ms"], "--rtt '..3ms' is no span of times"),
        (["home", "--long", "4:1"], "--long 4,1 ends before it begins"),
        (["home", "--long", "few"], "--long 'few' is no number of flows"),
        (["home", "--long", "2:"], "has no most"),
        (["home", "--l4s", "50%"], "--l4s"),
    ],
)
def test_bad_input(capsys: Any, words: list[str], said: str) -> None:
    assert_bad_input(capsys, ["traffic", *words], said)
