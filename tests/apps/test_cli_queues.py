"""The shell's door to several queues under one traffic."""

from __future__ import annotations

import csv
from typing import Any

import pytest
from shell import answered, assert_bad_input, printed

import pi2_fluid as pf
from pi2_fluid.apps.cli import run
from pi2_fluid.apps.cli.one_traffic import read_queues

SCENARIO = """
name = "small"
duration = "6s"
[link]
capacity = "10Mbit/s"
buffer = "200 packets"
[aqm]
kind = "pie"
[[flows]]
sender = "cubic"
count = 2
base_rtt = "30ms"
start_jitter = "500ms"
[[flows]]
name = "voice"
sender = "cbr"
rate = "200kbit/s"
base_rtt = "20ms"
[[changes]]
at = "4s"
capacity = "6Mbit/s"
"""
TRAFFIC = ["--flows", "2", "--rate", "5Mbit/s", "--path", "20ms", "--duration", "4s"]


@pytest.fixture
def small(tmp_path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return str(path)


@pytest.fixture
def other(tmp_path) -> str:
    path = tmp_path / "other.toml"
    path.write_text(SCENARIO.replace('"pie"', '"taildrop"'), encoding="utf-8")
    return str(path)


def test_json_holds_what_compare_returns(small, capsys) -> None:
    words = ["compare", small, "--aqm", "pie,taildrop", "--seeds", "3,5", "--json"]
    told = answered(capsys, words)
    scenarios = [
        pf.Scenario.from_toml(SCENARIO.replace('"pie"', f'"{kind}"'))
        for kind in ("pie", "taildrop")
    ]
    table = pf.compare(
        [pf.Scenario(one.duration, one.link, one.aqm, one.flows, one.changes) for one in scenarios],
        pf.Packets(seeds=[3, 5]),
    )
    assert list(told["queues"]) == table["queue"].values.tolist() == ["pie", "taildrop"]
    for label, queue in told["queues"].items():
        assert queue["engine"] == "packet"
        assert queue["seeds"] == [3, 5]
        for key in ("value", "low", "difference", "difference_high"):
            expected = table[key].sel(queue=label).dropna("name").to_series().to_dict()
            shown = {name: float(x) for name, x in queue[key].items() if x is not None}
            assert shown == pytest.approx(expected)
    assert told["after"] == pytest.approx(1.2)
    assert told["left_out"] == []
    assert told["output"] is told["plot"] is None


def test_text_has_a_block_for_each_kind_of_number(small, capsys) -> None:
    shown = printed(capsys, ["compare", small, "--aqm", "pie,taildrop", "--seeds", "3"])
    assert shown.startswith("small\n1.2 s to 6 s\npacket by packet, 3 seeds: pie, taildrop\n")
    for head in (
        "queue delay [ms]",
        "link [%]",
        "after capacity 6 Mbit/s at 4 s",
        "flows cubic",
        "flows voice",
        "difference from pie, seed by seed",
    ):
        assert f"\n{head}\n" in shown
    assert "marked" not in shown, "of columns without anything"
    assert "*: not as pie, by more than chance" in shown
    assert "Two engines" not in shown
    (row,) = (line for line in shown.splitlines() if line.startswith("taildrop  +"))
    assert float(row.split()[1]) > 10.0
    assert max(map(len, shown.splitlines())) <= 90


def test_several_files_are_queues_by_their_names(small, other, capsys) -> None:
    """Both are called "small": then the files' names tell them apart."""
    told = answered(capsys, ["compare", small, other, "--seeds", "2", "--json"])
    assert list(told["queues"]) == ["small", "other"]


def test_a_traffic_needs_no_file(capsys) -> None:
    shown = printed(capsys, ["compare", "--aqm", "pie,codel:target=10ms", *TRAFFIC, "--seeds", "2"])
    assert shown.startswith("2 cubic flows on 5 Mbit/s over 20 ms\n")
    assert "codel:target=10ms" in shown
    assert "flows cubic" not in shown, "of one class all is said above"


def test_numbers_behind_a_comma_belong_to_the_queue_before() -> None:
    queues = read_queues(
        ["pie:target=20ms,alpha=0.2,pi2", "cake:rtt=50ms", "red:min=9packets,max=30packets"]
    )
    pie, pi2, cake, red = queues.values()
    assert (pie.target, pie.alpha, pi2.target) == (0.02, 0.2, 0.02)  # type: ignore[attr-defined]
    assert cake == pf.linux.Qdisc("cake", rtt="50ms")
    assert red == pf.Red(min="9 packets", max="30 packets")
    assert (
        read_queues(["red:min=9packets,max=30packets,ecn=true,pie"])[
            "red:min=9packets,max=30packets,ecn=true"
        ].ecn
        is True
    )  # type: ignore[attr-defined]


def test_tables_are_written(small, tmp_path, capsys) -> None:
    import xarray as xr

    words = ["compare", small, "--aqm", "pie,taildrop", "--seeds", "2"]
    for ending in ("csv", "nc"):
        assert run([*words, "-o", str(tmp_path / f"t.{ending}")]) == 0
    assert f"written: {tmp_path / 't.nc'}" in capsys.readouterr().out
    with (tmp_path / "t.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with xr.open_dataset(tmp_path / "t.nc", engine="h5netcdf") as table:
        assert len(rows) == table.sizes["queue"] * table.sizes["name"]
        (row,) = (r for r in rows if (r["queue"], r["name"]) == ("taildrop", "delay_p99"))
        value = float(table["value"].sel(queue="taildrop", name="delay_p99"))
        assert float(row["value"]) == value
    assert row["unit"] == "s"


@pytest.mark.slow
@pytest.mark.parametrize("aqm", ["pie,taildrop", "pie,pi2,dualpi2,codel,taildrop"])
def test_it_draws(small, tmp_path, capsys, aqm) -> None:
    path = tmp_path / "x.svg"
    words = ["compare", small, "--aqm", aqm, "--seeds", "2", "--plot", str(path)]
    assert run(words) == 0
    assert f"written: {path}" in capsys.readouterr().out
    assert path.stat().st_size > 10_000


@pytest.mark.slow
def test_links_of_a_network_are_drawn_and_told(tmp_path, capsys) -> None:
    text = """
    duration = "3s"
    [[node]]
    name = "a"
    capacity = "10Mbit/s"
    aqm = { kind = "pie" }
    [[node]]
    name = "b"
    capacity = "9Mbit/s"
    aqm = { kind = "pie" }
    [[flows]]
    sender = "reno"
    count = 2
    base_rtt = "30ms"
    route = ["a", "b"]
    """
    files = [tmp_path / f"{kind}.toml" for kind in ("pie", "pi2")]
    for file in files:
        file.write_text(text.replace('"pie"', f'"{file.stem}"'), encoding="utf-8")
    words = ["compare", *map(str, files), "--seeds", "2", "--plot", str(tmp_path / "x.png")]
    shown = printed(capsys, words)
    assert "queue delay of a [ms]" in shown
    assert "link of b [%]" in shown
    assert_bad_input(capsys, ["compare", str(files[0]), "--aqm", "pie,pi2"], "is of one link")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("compare", "there is nothing to compare: give a scenario"),
        ("compare FILE --aqm pie", "leaves nothing to compare: give two"),
        ("compare FILE --aqm pie,pie", "--aqm has pie twice"),
        ("compare FILE --aqm pie,fq_kodel", "--aqm 'fq_kodel' is unknown: give 'fq_codel'"),
        ("compare FILE --aqm pie,pi2:speed=3", "Pi2 has no 'speed': give one of"),
        ("compare FILE --aqm pie,cake:speed=3", "speed"),
        ("compare FILE --aqm pie,red", "Red min = None is no number"),
        ("compare FILE --aqm pie,pi2:target", "has no value for target"),
        ("compare FILE OTHER --aqm pie,pi2", "--aqm puts queues into one scenario"),
        ("compare FILE FILE", "is given twice"),
        ("compare FILE --aqm pie,pi2 --rate 5Mbit/s", "--rate has no meaning beside a scenario"),
        ("compare FILE --rate 5Mbit/s", "there is nothing to compare"),
        ("compare --aqm pie,pi2 --rate 5Mbit/s", "--flows and --path missing"),
        ("compare --aqm pie,pi2 --flows 2 --rate 5 --path 20ms", "--rate"),
        ("compare --aqm pie,pi2 --flows x --rate 5Mbit/s --path 20ms", "--flows"),
        ("compare FILE --aqm pie,codel --engine fluid", "CoDel decides packet by packet"),
        ("compare FILE --aqm pie,pi2 --linear", "--linear has no meaning for"),
        ("compare FILE --aqm pie,pi2 --after 9s", "after"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_and_code_2(
    small, other, capsys, words, reason
) -> None:
    given = [
        small if word == "FILE" else other if word == "OTHER" else word for word in words.split()
    ]
    assert_bad_input(capsys, given, reason)


def test_an_interrupt_keeps_the_queues_that_were_run(small, monkeypatch, capsys) -> None:
    plain, calls = pf.Packets.run, []

    def run_it(self: pf.Packets, *arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return plain(self, *arguments)

    monkeypatch.setattr(pf.Packets, "run", run_it)
    assert run(["compare", small, "--aqm", "pie,pi2,codel", "--seeds", "2"]) == 130
    out = capsys.readouterr().out
    assert "1.2 s to 6 s, interrupted\n" in out
    assert "not run: pi2, codel" in out
