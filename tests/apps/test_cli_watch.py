"""`pi2-fluid watch`: recorded logs, a tc that plays outputs, metrics, and how it ends."""

from __future__ import annotations

import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from shell import assert_bad_input, assert_explained, printed, strict_json

from pi2_fluid.apps.cli import run
from pi2_fluid.apps.cli.scraping import Metrics
from pi2_fluid.tc.observing.metrics import sample_in

#: A veth with htb (5 Mbit/s, its class 2 Mbit/s) and a pfifo below, full of one flow of iperf3:
#: `date +%s.%N; tc -s -j qdisc show dev v0; tc -s class show dev v0` twice a second, with tc of
#: iproute2 6.1, which prints classes as text.
LOG = Path(__file__).parents[1] / "data" / "tc_htb.log"
RUN = [sys.executable, "-c", "from pi2_fluid.apps.cli import main; main()", "watch"]


def lines_of(capsys: Any, words: list[str]) -> list[dict[str, Any]]:
    found = [strict_json(line) for line in printed(capsys, words).splitlines()]
    for one in found:
        assert_explained(words, one)
    return found


def one_output(n: int, *, dev: str = "wan0", backlog: int = 50_000) -> str:
    entry = {"kind": "pfifo", "handle": "1:", "root": True, "refcnt": 2, "options": {"limit": 100}}
    entry |= {"dev": dev, "bytes": 125_000 * n, "packets": 100 * n, "drops": n, "overlimits": 0}
    return json.dumps([entry | {"requeues": 0, "backlog": backlog, "qlen": backlog // 1250}])


def log_of(count: int, **more: Any) -> str:
    return "".join(f"{1_764_270_000 + n} {one_output(n, **more)}\n" for n in range(count))


# --- recorded logs --------------------------------------------------------------------------


def test_a_recorded_log_in_words(capsys: Any) -> None:
    out = printed(capsys, ["watch", str(LOG)])
    first, *_, last = out.split("\n\n")
    assert "    class 1:10" in first
    assert "rates in Mbit/s" in first
    assert "cannot be told (1 of the 5 outputs" in first
    assert "10 outputs in 5.05 s." in last
    assert "Bottleneck: pfifo 110: (backlog" in last
    assert "in 9 of 10 outputs" in last
    assert "the rate is that of class htb 1:10, 2 Mbit/s" in last


def test_rates_of_a_recorded_log_are_those_of_its_own_numbers(capsys: Any) -> None:
    """By hand: from the lines of JSON and the stamps before them."""
    raw = LOG.read_text().splitlines()
    times = [float(line) for line in raw if line[:1].isdigit()]
    leaves = [json.loads(line)[1] for line in raw if line.startswith("[")]
    found = lines_of(capsys, ["watch", str(LOG), "--json"])
    assert len(found) == len(times) == len(leaves) == 10
    for n in range(1, 10):
        (row,) = (one for one in found[n]["queues"] if one["name"] == "pfifo 110:")
        step = times[n] - times[n - 1]
        sent = leaves[n]["bytes"] - leaves[n - 1]["bytes"]
        grown = leaves[n]["backlog"] - leaves[n - 1]["backlog"]
        # stamps have 0.2 us in doubles, of steps of 0.5 s
        assert row["rate_out"] == pytest.approx(8 * sent / step, rel=1e-6)
        assert row["rate_in"] == pytest.approx(8 * (sent + grown) / step, rel=1e-6)
        assert row["backlog"] == leaves[n]["backlog"]
    assert found[0]["queues"][0]["rate_out"] is None
    assert found[-1]["bottleneck"]["queue"] == "pfifo 110:"


def test_every_and_count_and_for(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "tc.log"
    path.write_text(log_of(30))
    blocks = printed(capsys, ["watch", str(path), "--every", "5s"]).count("wan0, ")
    assert blocks == 6  # at 0, 5, ... 25 s
    assert len(lines_of(capsys, ["watch", str(path), "--json", "--count", "4"])) == 4
    assert len(lines_of(capsys, ["watch", str(path), "--json", "--for", "10s"])) == 11


def test_changes_are_printed_as_they_come(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "tc.log"
    text = log_of(20)
    at = text.index("1764270012")
    path.write_text(text[:at] + text[at:].replace('"limit": 100', '"limit": 9'))
    out = printed(capsys, ["watch", str(path)])
    assert "last change: 19:00:12 UTC, limit of pfifo 1: from 100 to 9" in out
    assert out.count("wan0, 1") == 3  # the first, the bottleneck, the change
    (last,) = lines_of(capsys, ["watch", str(path), "--json"])[-1:]
    assert last["last_change"] == {
        "time": 1_764_270_012.0,
        "number": 13,
        "what": "limit of pfifo 1: from 100 to 9",
    }


def test_several_devices_and_one_of_them(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "tc.log"
    path.write_text("".join(log_of(9, dev=dev) for dev in ("wan0", "lan0")))
    assert "lan0: 9 outputs" in printed(capsys, ["watch", str(path)])
    found = lines_of(capsys, ["watch", str(path), "--json", "--dev", "lan0"])
    assert {one["device"] for one in found} == {"lan0"}
    assert len(found) == 9
    assert run(["watch", str(path), "--dev", "eth9"]) == 2
    assert "give lan0 or wan0" in capsys.readouterr().err


def test_without_times_no_rate_is_made_up(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "tc.log"
    path.write_text("".join(f"{one_output(n)}\n" for n in range(8)))
    found = lines_of(capsys, ["watch", str(path), "--json"])
    assert all(one["queues"][0]["rate_out"] is None for one in found)
    assert found[-1]["bottleneck"]["verdict"] == "found"  # what waits needs no time
    assert "no time is known, so no rate" in found[-1]["warnings"][0]


def test_a_cut_log_says_so(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "tc.log"
    path.write_text(log_of(8)[:-50])
    assert run(["watch", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "7 outputs" in out
    assert "the last output is cut off" in err


def test_text_that_was_piped_in(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(log_of(6)))
    assert len(lines_of(capsys, ["watch", "-", "--json"])) == 6


# --- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["./no/such.log"], "there is no file"),
        ([str(LOG), "--count", "0"], "--count '0' is no whole number"),
        ([str(LOG), "--every", "1ms"], "shorter than 50 ms"),
        ([str(LOG), "--metrics", "here"], "neither a port nor a file"),
        ([str(LOG), "--metrics", "70000"], "is no port"),
        ([str(LOG), "--for", "5 apples"], "--for"),
    ],
)
def test_bad_input_is_one_sentence(capsys: Any, words: list[str], said: str) -> None:
    assert_bad_input(capsys, ["watch", *words], said)


def test_a_file_of_something_else(capsys: Any, tmp_path: Path) -> None:
    path = tmp_path / "other.txt"
    path.write_text("hello\nworld\n")
    assert_bad_input(capsys, ["watch", str(path)], "has no output of `tc -s qdisc show`")


# --- a device -------------------------------------------------------------------------------


def play(folder: Path, script: str) -> None:
    """Put a tc on the path that a shell script plays; it keeps a list of what it was asked."""
    folder.mkdir(exist_ok=True)
    tc = folder / "tc"
    tc.write_text(f'#!/bin/sh\ncd {folder}\necho "$*" >> asked\n{script}')
    tc.chmod(0o755)


#: Counts its calls for queues, and prints output number n.
PLAYS = """\
case "$*" in *class*) exit 0;; esac
n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n
cat out$n 2>/dev/null || cat out
"""


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    play(folder, PLAYS)
    for n in range(20):
        (folder / f"out{n}").write_text(one_output(n) + "\n")
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


@pytest.mark.slow
def test_a_device_is_asked_and_nothing_is_changed(capsys: Any, played: Path) -> None:
    words = ["watch", "wan0", "--every", "50ms", "--count", "4", "--json"]
    found = lines_of(capsys, words)
    assert [one["number"] for one in found] == [1, 2, 3, 4]
    assert [one["device"] for one in found] == ["wan0"] * 4
    assert [one["queues"][0]["totals"]["bytes"] for one in found] == [0, 125_000, 250_000, 375_000]
    for one in found[1:]:
        assert one["queues"][0]["rate_out"] == pytest.approx(1e6 / one["interval"])
    asked = (played / "asked").read_text().splitlines()
    assert set(asked) == {"-s -d -j qdisc show dev wan0", "-s -j class show dev wan0"}


@pytest.mark.slow
def test_an_old_tc_prints_text(capsys: Any, played: Path) -> None:
    (played / "text").write_text(
        "qdisc pfifo 1: root refcnt 2 limit 100p\n"
        " Sent 5 bytes 1 pkt (dropped 0, overlimits 0 requeues 0)\n backlog 9b 1p requeues 0\n"
    )
    play(
        played,
        'case "$*" in *-j*) echo \'Option "-j" is unknown, try "tc -help".\' >&2; exit 255;; esac\n'
        'case "$*" in *qdisc*) cat text;; esac\n',
    )
    found = lines_of(capsys, ["watch", "wan0", "--every", "50ms", "--count", "2", "--json"])
    assert [one["queues"][0]["qlen"] for one in found] == [1, 1]
    assert found[0]["device"] == "wan0"


@pytest.mark.parametrize(
    ("said", "code", "sentence"),
    [
        ('Cannot find device "wan0"', 2, "there is no device 'wan0' here"),
        ("RTNETLINK answers: Operation not permitted", 4, "not permitted"),
    ],
)
def test_what_tc_refuses(capsys: Any, played: Path, said: str, code: int, sentence: str) -> None:
    play(played, f"echo '{said}' >&2; exit 1\n")
    assert run(["watch", "wan0"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1


def test_where_there_is_no_tc(capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pi2_fluid.deployment.watching import asking

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(asking, "_PLACES", ())
    assert run(["watch", "wan0"]) == 4
    assert "tc is not installed here: install iproute2" in capsys.readouterr().err


# --- as it comes, and how it ends -----------------------------------------------------------


@pytest.mark.slow
def test_standard_input_is_answered_before_it_ends() -> None:
    """Each answer is awaited before the next output is written: nothing waits for the end."""
    with subprocess.Popen(
        [*RUN, "-", "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdin is not None
        assert watching.stdout is not None
        for n in range(3):
            watching.stdin.write(one_output(n))  # without an end of the line
            watching.stdin.flush()
            answer = strict_json(watching.stdout.readline())
            assert answer["number"] == n + 1
            assert answer["time"] is not None  # that of its arrival
        watching.stdin.close()
        assert watching.stdout.read() == ""
    assert watching.returncode == 0


@pytest.mark.slow
def test_ctrl_c_ends_quietly_with_a_summary(played: Path) -> None:
    del played  # the tc on the path
    with subprocess.Popen(
        [*RUN, "wan0", "--every", "50ms"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("wan0, ")
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate()
    assert (watching.returncode, err) == (130, "")
    assert "Bottleneck: " in out


# --- metrics --------------------------------------------------------------------------------


def bands_in(text: str) -> set[str]:
    return {found.band for line in text.splitlines() if (found := sample_in(line)) is not None}


@pytest.mark.slow
def test_a_port_is_scraped_while_a_device_is_watched(capsys: Any, played: Path) -> None:
    del played
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    texts: list[str] = []
    enough = threading.Event()

    def scrape() -> None:
        while not enough.is_set():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                    assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
                    texts.append(answer.read().decode())
            except (OSError, http.client.HTTPException):
                continue  # not there yet, or no more

    client = threading.Thread(target=scrape)
    client.start()
    try:
        printed(
            capsys,
            ["watch", "wan0", "--every", "50ms", "--count", "12", "--metrics", str(port)],
        )
    finally:
        enough.set()
        client.join()
    assert texts
    assert all(text.endswith("# EOF\n") for text in texts)
    assert bands_in(texts[-1]) == {"wan0 pfifo 1:"}


def test_a_port_has_one_page_and_is_of_this_machine_alone() -> None:
    metrics = Metrics("0")
    try:
        assert metrics.where.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(metrics.where) as answer:
            assert answer.read() == b"# EOF\n"  # nothing was seen yet
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(metrics.where + "/etc/passwd")
    finally:
        metrics.close()


def test_a_port_that_is_taken_is_said(capsys: Any) -> None:
    metrics = Metrics("0")
    port = metrics.where.removesuffix("/metrics").rpartition(":")[2]
    try:
        assert_bad_input(capsys, ["watch", str(LOG), "--metrics", port], "cannot be had")
    finally:
        metrics.close()


@pytest.mark.slow
def test_a_file_is_whole_whenever_it_is_read(capsys: Any, tmp_path: Path) -> None:
    log, prom = tmp_path / "tc.log", tmp_path / "wan0.prom"
    log.write_text(log_of(60))
    texts: list[str] = []
    enough = threading.Event()

    def read() -> None:
        while not enough.is_set():
            if prom.exists():
                texts.append(prom.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        printed(capsys, ["watch", str(log), "--metrics", str(prom)])
    finally:
        enough.set()
        reader.join()
    texts.append(prom.read_text())
    assert all(text.endswith("# EOF\n") for text in texts)
    assert all(bands_in(text) == {"wan0 pfifo 1:"} for text in texts)
    assert 'tc_qdisc_bytes_total{device="wan0"' in texts[-1]
    assert sorted(tmp_path.iterdir()) == [log, prom]  # nothing is left beside it
