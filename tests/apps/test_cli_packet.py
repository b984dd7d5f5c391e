"""The shell's door to packets: simulate --engine packet, and replay."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from recorded import runs_of
from shell import answered, assert_bad_input, printed, strict_json

import pi2_fluid as pf
from pi2_fluid.apps.cli import run

SCENARIO = """
duration = "5s"
name = "small"
link.capacity = "12Mbit/s"
[aqm]
kind = "{kind}"
[[flows]]
sender = "reno"
count = 4
base_rtt = "40ms"
[[flows]]
sender = "scalable"
name = "l4s, new"
base_rtt = "40ms"
"""


@pytest.fixture(params=["pi2", "dualpi2"])
def small(request, tmp_path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO.format(kind=request.param), encoding="utf-8")
    return str(path)


@pytest.fixture
def one(tmp_path) -> str:
    path = tmp_path / "one.toml"
    path.write_text(SCENARIO.format(kind="pi2"), encoding="utf-8")
    return str(path)


def packets(path: str, *words: str) -> list[str]:
    return ["simulate", path, "--engine", "packet", *words]


# --- simulate -------------------------------------------------------------------------------


def test_packets_as_json(small, capsys) -> None:
    assert run(packets(small, "--seeds", "5,2", "--after", "2s", "--json")) == 0
    out, err = capsys.readouterr()
    assert err == ""
    answer = strict_json(out)
    assert list(answer) == [
        "scenario", "duration", "engine", "interrupted", "after", "changes", "seeds", "bin",
        "summary",
        "smallest", "largest", "not_modelled", "output", "plot",
    ]  # fmt: skip
    runs = pf.packet.simulate(pf.Scenario.load(small), seeds=[5, 2])
    summary = pf.summarize(runs, "2s")
    for key, expected in (
        ("summary", summary.mean("seed")),
        ("smallest", summary.min("seed")),
        ("largest", summary.max("seed")),
    ):
        assert list(answer[key]) == list(summary.data_vars)
        assert answer[key]["delay_p99"] == pytest.approx(float(expected["delay_p99"]))
        assert answer[key]["throughput"] == {
            name: pytest.approx(float(expected["throughput"].sel(flows=name)))
            for name in ("reno", "l4s, new")
        }
    if "band" in summary.dims:
        quantiles = answer["summary"]["delay_quantile"]
        assert list(quantiles["0.99"]) == ["C", "L"]
    assert (answer["scenario"], answer["duration"], answer["engine"]) == ("small", 5.0, "packet")
    assert (answer["seeds"], answer["interrupted"], answer["bin"]) == ([5, 2], False, 0.1)
    assert answer["not_modelled"] == []
    assert answer["output"] is answer["plot"] is None


def test_packets_as_text(small, capsys) -> None:
    assert run(packets(small, "--seeds", "3", "--after", "2s")) == 0
    out, err = capsys.readouterr()
    assert err == ""
    begin = "small\npacket by packet, means of 3 seeds and their range, 2 s to 5 s\n"
    assert out.startswith(begin)
    summary = pf.summarize(pf.packet.simulate(pf.Scenario.load(small), seeds=3), "2s")
    mean = f"{1e3 * float(summary.delay_mean.mean()):.4g}"
    low, high = (
        f"{1e3 * float(x):.4g}" for x in (summary.delay_mean.min(), summary.delay_mean.max())
    )
    assert re.search(rf"queue delay +mean +{mean} +ms +\({low} to {high}\)", out)
    assert re.search(r"utilization +[\d.]+ +%", out)
    assert re.search(r"\nl4s, new +[\d.]+ +\([\d.]+ to [\d.]+\) +[\d.]+ +[\d.]+ +[\d.]+ % +", out)
    assert ("P99 of L" in out) == ("band" in summary.dims)
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "not modelled" not in out


WEB = """
duration = "6s"
link.capacity = "10Mbit/s"
aqm.kind = "pi2"
[[flows]]
sender = "reno"
base_rtt = "30ms"
[[flows]]
name = "web"
sender = "reno"
count = 20
base_rtt = "30ms"
size = { kind = "pareto", shape = 1, scale = 5 }
idle = "500ms"
[[flows]]
name = "mice"
sender = "reno"
base_rtt = "30ms"
size = { kind = "fixed", size = 3 }
arrivals = "20/s"
[[flows]]
name = "later"
sender = "reno"
base_rtt = "30ms"
size = { kind = "fixed", size = 3 }
arrivals = 1e-6
"""


def test_transfers(tmp_path, capsys) -> None:
    """How long they took by size, who was turned away, and of which sizes there is no mean."""
    path = tmp_path / "web.toml"
    path.write_text(WEB, encoding="utf-8")
    out = printed(capsys, packets(str(path), "--seeds", "2", "--after", "1s"))
    runs = pf.packet.simulate(pf.Scenario.load(path), seeds=2)
    found = pf.completions(runs, "1s").mean("seed").sel(flows="web")
    median = f"{float(found.completion_median):.4g}"
    count = f"{float(found.finished):.4g}"
    assert re.search(rf"\nweb +all +{count} +[\d.]+ +{median} +[\d.]+ +[\d.]+\n", out)
    assert re.search(r"\n +1 to 9 +[\d.]+", out)
    assert re.search(r"\n +under way +[\d.]+", out)
    assert "later  " not in out.partition("transfers ")[2]
    away = int(runs.turned_away.sel(flows="mice").sum())
    assert f"\nturned away of mice: {away} transfers\n" in out
    assert "turned away of web" not in out
    assert "which a few transfers of each seed decide: web\n" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    answer = strict_json(printed(capsys, packets(str(path), "--seeds", "2", "--json")))
    assert answer["sizes_without_mean"] == "web"
    assert answer["summary"]["completion_median"]["reno"] is None
    assert answer["summary"]["finished_of"]["mice"]["1.0"] > 5


def test_one_seed_has_no_range(one, capsys) -> None:
    out = printed(capsys, packets(one, "--seeds", "7,"))
    assert "\npacket by packet, 1 seed, 0 s to 5 s\n" in out
    assert " to " not in out.split("\n\n", 1)[1]


def test_every_option_reaches_the_library(one, monkeypatch, capsys) -> None:
    asked = []
    real = pf.Packets.run

    def run_it(engine: pf.Packets, scenario: Any, progress: Any) -> Any:
        assert callable(progress)
        asked.append(engine)
        return real(pf.Packets(seeds=1), scenario)

    monkeypatch.setattr(pf.Packets, "run", run_it)
    assert run(packets(one, *["--seeds", "4", "--bin", "50ms", "--threads", "2"])) == 0
    assert run(packets(one, "--seeds", "4,5")) == 0
    assert run(packets(one)) == 0
    given = pf.Packets(seeds=4, bin=0.05, threads=2)
    assert asked == [given, pf.Packets(seeds=(4, 5)), pf.Packets()]


@pytest.mark.slow
def test_netcdf_holds_what_simulate_returns(small, tmp_path, capsys) -> None:
    path = tmp_path / "runs.nc"
    assert run(packets(small, "--seeds", "2", "-o", str(path))) == 0
    assert f"\nwritten: {path}\n" in capsys.readouterr().out
    expected = pf.packet.simulate(pf.Scenario.load(small), seeds=2)
    with xr.open_dataset(path, engine="h5netcdf", decode_times=False) as found:
        xr.testing.assert_equal(found.load(), expected)


def test_csv_has_a_row_per_seed_and_bin(small, tmp_path, capsys) -> None:
    path = tmp_path / "runs.csv"
    assert run(packets(small, "--seeds", "2,9", "-o", str(path))) == 0
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = pf.packet.simulate(pf.Scenario.load(small), seeds=[2, 9])
    assert len(rows) == 2 * expected.sizes["time"]
    assert list(rows[0])[:2] == ["seed", "time_s"]
    assert [row["seed"] for row in rows] == ["2"] * 50 + ["9"] * 50
    assert [float(row["time_s"]) for row in rows[50:]] == expected["time"].to_numpy().tolist()
    for column, values in (
        ("controller", expected["controller"]),
        ("throughput_bit_s.l4s, new", expected["throughput"].sel(flows="l4s, new")),
        ("arrivals_packets.reno", expected["arrivals"].sel(flows="reno")),
    ):
        found = [float(row[column]) for row in rows]
        assert found == values.to_numpy().ravel().tolist()
    assert {float(row["capacity_bit_s"]) for row in rows} == {12e6}
    assert "timeouts" not in rows[0]


TWO_LINKS = """
duration = "2s"
[[node]]
name = "a"
capacity = "6Mbit/s"
[node.aqm]
kind = "pi2"
[[node]]
name = "b"
capacity = "4Mbit/s"
[node.aqm]
kind = "pie"
[[flows]]
sender = "reno"
count = 3
base_rtt = "20ms"
route = ["a", "b"]
"""


def test_links_one_after_the_other(tmp_path, capsys) -> None:
    path, table = tmp_path / "two.toml", tmp_path / "two.csv"
    path.write_text(TWO_LINKS, encoding="utf-8")
    out = printed(capsys, packets(str(path), "--seeds", "2", "-o", str(table)))
    runs = pf.packet.simulate(pf.Scenario.load(path), seeds=2)
    summary = pf.summarize(runs).mean("seed")
    for name in ("a", "b"):
        part = out.split(f"\nlink {name}\n")[1]
        mean = f"{1e3 * float(summary.delay_mean.sel(link=name)):.4g}"
        assert re.match(rf"queue delay +mean +{mean} +ms ", part)
    whole = f"{1e3 * float(summary.delay_mean_of.sum()):.4g}"
    assert re.search(rf"\nreno +[\d.]+ +\(.*?\) +[\d.]+ +{whole} +[\d.]+ % ", out)
    with table.open(encoding="utf-8", newline="") as file:
        found = [float(row["drops_packets.b.reno"]) for row in csv.DictReader(file)]
    assert found == runs.drops.sel(link="b", flows="reno").to_numpy().ravel().tolist()


@pytest.mark.slow
@pytest.mark.parametrize("second", ["pie", "dualpi2"])
def test_links_are_drawn(tmp_path, capsys, second) -> None:
    path, picture = tmp_path / "two.toml", tmp_path / "two.png"
    path.write_text(TWO_LINKS.replace('"pie"', f'"{second}"'), encoding="utf-8")
    assert run(packets(str(path), "--seeds", "2", "--plot", str(picture))) == 0
    assert f"\nwritten: {picture}\n" in capsys.readouterr().out
    assert picture.stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("seeds", ["1", "3"])
def test_packets_are_drawn(small, tmp_path, capsys, seeds) -> None:
    path = tmp_path / "run.png"
    assert run(packets(small, "--seeds", seeds, "--after", "1s", "--plot", str(path))) == 0
    assert path.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--engine packets", "--engine = 'packets' is unknown: give one of 'fluid', 'packet'"),
        ("--engine packet --linear", "--linear has no meaning for --engine packet"),
        ("--engine packet --update sampled", "use --engine fluid"),
        ("--engine packet --tolerance 1e-3", "--tolerance has no meaning"),
        ("--engine packet --step 1ms", "--step has no meaning"),
        ("--engine packet --sample 1ms", "--sample has no meaning"),
        ("--seeds 3", "--seeds has no meaning for --engine fluid: leave it out, or use --engine"),
        ("--bin 10ms", "--bin has no meaning for --engine fluid"),
        ("--threads 2", "--threads has no meaning for --engine fluid"),
        ("--engine packet --seeds few", "--seeds 'few' are no seeds"),
        ("--engine packet --seeds 1,x", "--seeds '1,x' are no seeds"),
        ("--engine packet --seeds ,", "is empty"),
        ("--engine packet --seeds 0", "seeds = 0"),
        ("--engine packet --seeds 1,1", "twice"),
        ("--engine packet --bin 5", "no unit"),
        ("--engine packet --threads 0", "--threads '0' is no number of threads: give 1"),
        ("--engine packet --threads two", "--threads"),
        ("--engine packet --after 4.99s", "give a longer stretch"),
        ("--engine packet --plot x.jpg", "--plot x.jpg has no known ending"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_code_2(one, capsys, words, reason) -> None:
    assert_bad_input(capsys, ["simulate", one, *words.split()], reason)


@pytest.mark.slow
def test_an_interrupt_prints_what_is_finished(one, tmp_path, monkeypatch, capsys) -> None:
    real = pf.Packets.run

    def run_it(_: Any, scenario: Any, __: Any) -> Any:
        return real(pf.Packets(seeds=2), scenario).assign_attrs(interrupted=1)

    monkeypatch.setattr(pf.Packets, "run", run_it)
    path = tmp_path / "runs.nc"
    assert run(packets(one, "-o", str(path))) == 130
    out, err = capsys.readouterr()
    assert err == "error: interrupted.\n"
    assert "means of 2 seeds and their range, interrupted, 0 s to 5 s\n" in out
    assert path.exists()
    assert run(packets(one, "--json")) == 130
    assert strict_json(capsys.readouterr().out)["interrupted"] is True


def test_an_interrupt_before_anything_is_finished(one, monkeypatch, capsys) -> None:
    def run_it(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pf.Packets, "run", run_it)
    assert run(packets(one)) == 130
    assert capsys.readouterr() == ("", "error: interrupted.\n")


# --- replay ---------------------------------------------------------------------------------

LOG = "queue_delay, backlog\n0.02, 3000\n12ms, 1500B\n"


@pytest.fixture
def log(tmp_path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(LOG, encoding="utf-8")
    return path


@pytest.fixture
def answers(monkeypatch) -> list[Any]:
    """Replaces the update rules by one of a line; holds what was asked of it."""
    asked = []

    def replay(variant: str, *, queue_delay: Any, backlog: Any = None) -> xr.Dataset:
        asked.append((variant, queue_delay, backlog))
        n = len(queue_delay)
        columns = {
            "p": queue_delay / 2.0,
            "controller": np.arange(n) / 4.0,
            "state": np.arange(n, dtype=np.uint64) + np.uint64(2**60),
        }
        units = {"units": "1", "long_name": "x"}
        return xr.Dataset({name: ("step", x, units) for name, x in columns.items()})

    monkeypatch.setattr(pf.packet, "replay", replay, raising=False)
    return asked


def test_replay_as_json(log, answers, capsys) -> None:
    answer = answered(capsys, ["replay", "--variant", "linux6.18", str(log), "--json"])
    assert answer == {
        "variant": "linux6.18",
        "queue_delay": [0.02, 0.012],
        "backlog": [3000.0, 1500.0],
        "p": [0.01, 0.006],
        "controller": [0.0, 0.25],
        "state": [2**60, 2**60 + 1],
        "output": None,
        "notes": [],
    }
    assert answers[0][0] == "linux6.18"
    assert answers[0][1].tolist() == [0.02, 0.012]
    assert answers[0][2].tolist() == [3000.0, 1500.0]


def test_replay_as_text_and_in_a_file(log, answers, tmp_path, capsys) -> None:
    path = tmp_path / "steps.csv"
    lines = printed(capsys, ["replay", "--variant", "pie", str(log), "-o", str(path)]).splitlines()
    assert lines[0].split() == ["step", "queue", "delay", "[ms]", "p", "[%]", "controller"]
    assert [line.split() for line in lines[1:3]] == [
        ["0", "20", "1", "0"],
        ["1", "12", "0.6", "0.25"],
    ]
    assert lines[-1] == f"written: {path}"
    assert path.read_text(encoding="utf-8").splitlines()[:2] == [
        "step,queue_delay_s,backlog_bytes,p,controller,state",
        "0,0.02,3000.0,0.01,0.0,1152921504606846976",
    ]


def test_replay_reads_a_pipe_and_does_without_backlog(answers, monkeypatch, capsys) -> None:
    data = io.TextIOWrapper(io.BytesIO(b"note,queue_delay\nfirst,0\nsecond,5us\n"))
    monkeypatch.setattr("sys.stdin", data)
    assert run(["replay", "--variant", "x", "-", "--json"]) == 0
    assert strict_json(capsys.readouterr().out)["queue_delay"] == [0.0, 5e-6]
    assert answers[0][2] is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no column queue_delay"),
        ("delay\n1\n", "has no column queue_delay"),
        ("queue_delay\n", "has no rows"),
        ("queue_delay\n0.1\nfast\n", "line 3 queue_delay = 'fast'"),
        ("queue_delay\n5Mbit/s\n", "line 2 queue_delay = '5Mbit/s'"),
        ("queue_delay\n-1\n", "line 2 queue_delay = -1"),
        ("queue_delay\nnan\n", "line 2 queue_delay = nan"),
        ("queue_delay,backlog\n1\n", "line 2 backlog is missing"),
        ("queue_delay,backlog\n1,\n", "line 2 backlog = '' is empty"),
        ("queue_delay,backlog\n1,2ms\n", "line 2 backlog = '2ms'"),
    ],
)
def test_logs_that_are_refused(tmp_path, answers, capsys, text, reason) -> None:
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    assert_bad_input(capsys, ["replay", "--variant", "x", str(path)], reason)
    assert not answers


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--variant", "x"], "Missing argument"),
        (["--variant", "x", "nothing.csv"], "cannot use nothing.csv: No such file"),
        (["--variant", "x", "nothing.csv", "-o", "x.txt"], "--output x.txt has no known ending"),
    ],
)
def test_replays_that_cannot_be(capsys, words, reason) -> None:
    assert run(["replay", *words]) == 2
    assert reason in capsys.readouterr().err


def test_a_log_that_is_no_text(tmp_path, capsys) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"queue_delay\n\xff\xfe\n")
    assert run(["replay", "--variant", "x", str(path)]) == 2
    assert "is no CSV text" in capsys.readouterr().err


def test_a_real_update_rule_answers(log, capsys) -> None:
    answer = answered(capsys, ["replay", "--variant", "linux6.18", str(log), "--json"])
    assert all(0.0 <= p <= 1.0 for p in answer["p"])
    assert len(answer["p"]) == len(answer["controller"]) == len(answer["state"]) == 2


def test_a_csv_file_needs_a_variant(log, capsys) -> None:
    assert run(["replay", str(log)]) == 2
    assert "does not say whose update rule" in capsys.readouterr().err


def snapshot(delay: str, backlog: str, prob: str, *, device: str = "eth0") -> str:
    """Return what tc -s shows of a PIE queue with its defaults."""
    return (
        f"qdisc pie 8001: dev {device} root refcnt 2 limit 1000p target 15ms tupdate 15ms alpha 2"
        " beta 20 \n Sent 0 bytes 0 pkt (dropped 0, overlimits 0 requeues 0) \n"
        f" backlog {backlog}b 0p requeues 0\n  prob {prob} delay {delay}\n"
    )


def test_a_log_of_tc_is_checked_against_the_kernel(tmp_path, capsys) -> None:
    rows = runs_of("linux_pie_updates.csv", "variant", "case")["linux6.18/step"]
    path = tmp_path / "tc.log"
    path.write_text(
        "".join(
            snapshot(row["qdelay_us"] + "us", row["backlog_bytes"], row["prob"]) for row in rows
        )
    )
    answer = answered(capsys, ["replay", str(path), "--json"])
    assert max(answer["logged"]) > 0.01
    assert answer["controller"] == pytest.approx(answer["logged"], rel=1e-6)
    assert "logged" in printed(capsys, ["replay", str(path)])


def test_json_logged_again_and_again_is_read_to_its_end(tmp_path, capsys) -> None:
    shown = {
        "kind": "pie",
        "handle": "8001:",
        "dev": "eth0",
        "root": True,
        "options": {"limit": 1000, "target": 15000, "tupdate": 15000, "alpha": 2, "beta": 20},
    }
    states = [{"backlog": 0, "delay": 20000, "prob": 0.0}, {"backlog": 9, "delay": 0, "prob": 0.1}]
    path = tmp_path / "tc.json"
    path.write_text("".join(json.dumps([shown | state]) + "\n" for state in states))
    assert answered(capsys, ["replay", str(path), "--json"])["logged"] == [0.0, 0.1]
    path.write_text(path.read_text() + "[{")
    assert run(["replay", str(path)]) == 2
    assert "the JSON cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (snapshot("1ms", "0", "0.1"), "has only one state of pie 8001: dev eth0, in traffic"),
        ("tc qdisc add dev eth0 root pie\n", "asks for queues and shows none"),
        (snapshot("1ms", "0", "0").partition("  prob")[0], "without prob and delay"),
        ("qdisc fq_codel 0: dev eth0 root refcnt 2\n", "pie"),
    ],
)
def test_logs_of_tc_that_cannot_be_replayed(tmp_path, capsys, text, reason) -> None:
    path = tmp_path / "tc.log"
    path.write_text(text)
    assert run(["replay", str(path)]) == 2
    assert reason in capsys.readouterr().err


# --- help -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("simulate", ["--engine packet", "--seeds", "5,17,23", "Fluid only"]),
        ("replay", ["--variant linux6.18", "queue_delay", "12ms"]),
    ],
)
def test_help_names_units_and_examples(capsys, command, parts) -> None:
    text = " ".join(re.sub(r"[│╭╮╰╯─]", " ", printed(capsys, [command, "-h"])).split())
    for part in parts:
        assert part in text
