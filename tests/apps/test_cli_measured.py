"""`pi2-fluid compare` with a measurement, and `pi2-fluid diagnose`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from measured_runs import measure, two_flows

import pi2_fluid as pf
from pi2_fluid.apps.cli.beside import is_measurement
from pi2_fluid.apps.cli.shell import run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("measured") / "run.flent.gz"
    pf.measured.write_flent(measure(two_flows()), path)
    return str(path)


def test_a_file_alone_is_put_beside_packets(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "run.png"
    assert run(["compare", file, "--seeds", "3", "--plot", str(picture)]) == 0
    told = capsys.readouterr().out
    assert "The file says" in told
    assert "rate: it says 20 Mbit/s" in told
    assert "range of seeds" in told
    assert "measured numbers lie in the range of packet" in told
    assert picture.stat().st_size > 10_000


def test_json_has_what_help_says(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", file, "--seeds", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {
        *("measurement", "format", "said", "assumed", "duration", "after", "until"),
        *("interrupted", "measured", "engines", "outside", "output", "plot"),
    }
    assert found["engines"]["packet"]["seeds"] == [1, 2]
    for row in found["outside"]:
        assert not row["low"] <= row["measured"] <= row["high"]


def test_options_say_what_the_file_leaves_open(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--aqm", "pie:target=60ms", "--rate", "30Mbit/s", "--path", "10ms", "--seeds", "2"]
    assert run(["compare", file, *options]) == 0
    told = capsys.readouterr().out
    assert "queue: Pie, as given" in told
    assert "rate: 30 Mbit/s, as given" in told
    assert "path: 10 ms, as given" in told


@pytest.mark.parametrize("option", ["--flows", "--sender", "--duration"])
def test_what_a_measurement_has_itself_is_refused(
    option: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", file, option, "3"]) != 0
    assert f"{option} has no meaning beside a measurement" in capsys.readouterr().err


def test_a_csv_of_the_table_has_a_row_for_each_number(file: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    assert run(["compare", file, "--seeds", "2", "-o", str(path)]) == 0
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    assert head.startswith("engine,name,value,low,high,relative,outside,why")
    assert len(rows) % 2 == 0


def test_scenarios_are_no_measurements(file: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.txt"
    path.write_text(two_flows().to_toml(), encoding="utf-8")
    assert is_measurement(file)
    assert not is_measurement(str(path))
    assert not is_measurement("-")
    assert not is_measurement("pi2_fig11a_pi2")


def test_diagnose_prints_sentences_with_their_evidence(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["diagnose", file]) == 0
    told = capsys.readouterr().out
    assert "are the path" in told
    assert "cannot be told: record tc" in told
    assert run(["diagnose", file, "--path", "5ms", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["kind"] for row in found["findings"]} == {
        "where",
        "queue",
        "oscillation",
        "capacity",
    }
    assert "5 ms are the path" in found["findings"][0]["text"]


def test_diagnose_refuses_what_is_no_measurement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "words.txt"
    path.write_text("words\nand words\n", encoding="utf-8")
    assert run(["diagnose", str(path)]) != 0
    assert "error:" in capsys.readouterr().err


def test_diagnose_says_what_is_odd_about_the_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ping = tmp_path / "ping.txt"
    lines = (f"64 bytes from 10.0.0.9: icmp_seq={n} ttl=64 time=20.5 ms\n" for n in range(1, 20))
    ping.write_text("".join(lines))
    assert run(["diagnose", str(ping)]) == 0
    assert capsys.readouterr().out.startswith("ping printed no times")
    assert run(["diagnose", str(ping), "--json"]) == 0
    assert "printed no times" in json.loads(capsys.readouterr().out)["warnings"][0]


def test_a_measurement_beside_what_is_none_is_refused(
    file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", file, "nothere"]) == 2
    assert "nothere is no file" in capsys.readouterr().err
