"""The shell's door to comparisons."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest
from shell import answered, assert_bad_input, printed

import pi2_fluid as pf
from pi2_fluid.apps.cli import run

SCENARIO = """
name = "small"
duration = "12s"
[link]
capacity = "20Mbit/s"
[aqm]
kind = "pi2"
[[flows]]
sender = "reno"
count = 10
base_rtt = "60ms"
"""


@pytest.fixture
def small(tmp_path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return str(path)


def test_json_holds_what_compare_returns(small, capsys) -> None:
    found = answered(capsys, ["compare", small, "--seeds", "3,5", "--after", "4s", "--json"])
    scenario = pf.Scenario.from_toml(SCENARIO)
    table = pf.compare(scenario, pf.Fluid(), pf.Packets(seeds=[3, 5]), after="4s")
    assert list(found["engines"]) == ["fluid", "packet"]
    for label, engine in found["engines"].items():
        for key in ("value", "low", "high"):
            assert list(engine[key]) == table["name"].values.tolist()
            expected = table[key].sel(engine=label).values.tolist()
            assert list(engine[key].values()) == pytest.approx(expected)
    apart = table.sel(engine="packet").isel(name=table["disagreement"][1].values)
    assert [record["name"] for record in found["disagreement"]] == apart["name"].values.tolist()
    assert set(found["disagreement"][0]) == {"engine", "name", "value", "relative", "why"}
    assert [engine["seeds"] for engine in found["engines"].values()] == [[], [3, 5]]
    assert found["after"] == 4.0
    assert found["scenario"] == "small"
    assert found["interrupted"] is False
    assert found["output"] is found["plot"] is None


def test_text_names_what_differs_and_why(small, capsys) -> None:
    shown = printed(capsys, ["compare", small, "--seeds", "2"])
    assert "median of 2 seeds and their range), 2.4 s to 12 s" in shown
    for word in ("delay_mean", "frequency", "rad/s", "Mbit/s", "ratio"):
        assert word in shown
    assert "outside the range of the seeds of packet by more than 10 %" in shown
    assert "sawteeth under random signals" in shown
    table = shown.split("\n\n* fluid")[0]
    assert max(map(len, table.splitlines()[3:])) <= 80


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_it_draws(small, tmp_path, capsys, ending) -> None:
    path = tmp_path / f"x.{ending}"
    assert run(["compare", small, "--seeds", "2", "--plot", str(path)]) == 0
    assert path.stat().st_size > 5_000
    assert f"written: {path}" in capsys.readouterr().out
    if ending == "svg":
        text = path.read_text(encoding="utf-8")
        assert "small" in text or len(text) > 10_000


DUAL = SCENARIO.replace('"pi2"', '"dualpi2"') + (
    '[[flows]]\nsender = "dctcp"\ncount = 2\nbase_rtt = "60ms"\n'
)
RED = SCENARIO.replace('kind = "pi2"', 'kind = "red"\nmin = "20 packets"\nmax = "80 packets"')


@pytest.mark.slow
@pytest.mark.parametrize("text", [DUAL, RED], ids=["dual", "red"])
def test_other_queues_are_drawn_too(tmp_path, capsys, text) -> None:
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    path = tmp_path / "x.png"
    words = ["compare", str(tmp_path / "a.toml"), "--seeds", "2", "--plot", str(path)]
    assert run(words) == 0
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_tables_are_written(small, tmp_path, capsys) -> None:
    import xarray as xr

    for ending in ("csv", "nc"):
        path = tmp_path / f"t.{ending}"
        assert run(["compare", small, "--seeds", "2", "-o", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.split("\n}\n")[-2] + "\n}")
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    values = found["engines"]["packet"]["value"]
    mine = {row["name"]: float(row["value"]) for row in rows if row["engine"] == "packet"}
    assert mine == pytest.approx(values)
    assert rows[0]["unit"] == "s"
    with xr.open_dataset(tmp_path / "t.nc", engine="h5netcdf") as table:
        assert float(table["value"].sel(name="delay_mean", engine="packet")) == values["delay_mean"]


def test_a_fluid_by_the_ack_clock_says_so(small, capsys) -> None:
    engines = ["--engine", "fluid", "--engine", "fluid:clock=acks"]
    shown = printed(capsys, ["compare", small, *engines])
    assert (
        "fluid (sampled update) and fluid(clock='acks') (sampled update, by acknowledgements)"
        in shown
    )


@pytest.mark.slow
def test_more_than_two_engines_have_lines_of_their_own(small, tmp_path, capsys) -> None:
    path = tmp_path / "x.png"
    engines = ["--engine", "fluid", "--engine", "fluid:linear", "--engine", "packet:seeds=3+5"]
    shown = printed(capsys, ["compare", small, *engines, "--plot", str(path)])
    assert "fluid(linear=True) (sampled update) and packet (median of 2 seeds), 2.4 s" in shown
    assert "The ranges of fluid(linear=True) and of fluid are more than 10 % apart" in shown
    assert "fluid is outside the range of the seeds of packet by more than 10 %" in shown
    assert max(map(len, shown.split("\n\n*")[0].splitlines()[3:])) <= 80
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_name_and_standard_input(small, monkeypatch, capsys) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(SCENARIO.encode())))
    assert answered(capsys, ["compare", "-", "--seeds", "1", "--json"])["scenario"] == "small"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("compare nothing_such", "nothing_such"),
        ("compare FILE --seeds many", "are no seeds"),
        ("compare FILE --seeds 0", "no number of runs"),
        ("compare FILE --threads x", "no number of threads"),
        ("compare FILE --after 1", "after"),
        ("compare FILE --update both", "update = 'both'"),
        (
            "compare FILE --engine fluid --seeds 3",
            "--seeds has no meaning for --engine fluid",
        ),
        ("compare FILE --engine fluid:speed=3", "has no option speed: give any of update,"),
        ("compare FILE --engine fluid --engine fluid", "Fluid() is given twice"),
        ("compare FILE --engine packet:seeds=x", "are no seeds"),
        ("compare FILE --plot x.bmp", "no known ending"),
        ("compare FILE -o x.png", "no known ending"),
        ("compare FILE -o no/where/x.nc", "no/where"),
        ("compare pie_fig10a_codel", "CoDel decides packet by packet"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_and_code_2(small, capsys, words, reason) -> None:
    assert_bad_input(capsys, words.replace("FILE", small).split(), reason)


def test_an_interrupt_leaves_with_130(small, monkeypatch, capsys) -> None:
    def run_it(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pf.Packets, "run", run_it)
    assert run(["compare", small]) == 130
