"""Files as people have them: through a pipe, from Windows, with commas, with nothing in them."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement

ROWS = "time (s),throughput cubic (Mbit/s),delay ping (ms)\n0.0,12.5,20.5\n0.1,12.5,21.5\n"


def delays(given: str | Path) -> list[float]:
    return pf.measured.read(given).delay.to_numpy().ravel().round(6).tolist()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("compressed", [False, True])
def test_a_pipe_is_read_once(tmp_path: Path, compressed: bool) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    given = gzip.compress(ROWS.encode()) if compressed else ROWS.encode()
    writer = threading.Thread(target=pipe.write_bytes, args=(given,), daemon=True)
    writer.start()
    assert delays(pipe) == [0.0205, 0.0215]
    writer.join(10.0)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_what_windows_writes_is_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(ROWS.replace("\n", "\r\n").encode(encoding))
    assert delays(file) == [0.0205, 0.0215]


def test_between_semicolons_a_comma_is_the_decimal_sign() -> None:
    assert delays(ROWS.replace(",", ";").replace(".", ",")) == [0.0205, 0.0215]


def test_a_comma_between_cells_keeps_a_semicolon_in_a_name() -> None:
    data = pf.measured.read(ROWS.replace("cubic", "a;b"))
    assert data.flows.values.tolist() == ["a;b"]


def test_rates_and_round_trips_below_0_are_left_out() -> None:
    measurement = Measurement("mine")
    measurement.add("delay", "ping", [0.0, 1.0], [-0.02, 0.02])
    measurement.add("delay_up", "ping", [0.0, 1.0], [-0.02, 0.02])
    data = measurement.to_dataset()
    assert np.isfinite(data.delay).sum() == 1
    assert np.isfinite(data.delay_up).sum() == 2
    assert "1 of 2 samples of delay of 'ping' are below 0" in data.warnings


def test_a_host_that_never_answered_is_said() -> None:
    header = "PING 10.0.0.9 (10.0.0.9) 56(84) bytes of data.\n"
    summary = "10 packets transmitted, 0 received, 100% packet loss, time 9213ms\n"
    with pytest.raises(QuantityError, match="all 10 probes were lost"):
        pf.measured.read(header + "\n--- 10.0.0.9 ping statistics ---\n" + summary)
    with pytest.raises(QuantityError, match="no answer of ping"):
        pf.measured.read(header + "\n")


def test_an_unknown_format_says_how_a_csv_file_begins() -> None:
    with pytest.raises(QuantityError, match=r"begins with a line such as .time \(s\)"):
        pf.measured.read("timestamp,rtt (ms)\n0,1\n")


def test_flows_that_sent_nothing_say_no_rate() -> None:
    with pytest.raises(QuantityError, match="sent nothing"):
        pf.scenario_of(pf.measured.read(ROWS.replace("12.5", "0")))


def test_a_line_of_cake_that_is_cut_is_no_row_of_tins() -> None:
    sent = " Sent 79 bytes 6 pkt (dropped 1, overlimits 0 requeues 0)\n"
    cut = "qdisc cake 8: dev eth1 root bandwidth 5Mbit\n" + sent + " backlog 0b"
    assert pf.measured.read(cut + "\n").drops.values.tolist() == [[1.0]]


@pytest.mark.parametrize("given", [None, 3, [], {}, b"text"])
def test_what_is_no_file_is_refused(given: object, tmp_path: Path) -> None:
    with pytest.raises(QuantityError, match="is no file and no text"):
        pf.measured.read(given)  # type: ignore[arg-type]
    with pytest.raises(QuantityError, match="is no measurement"):
        pf.measured.write_flent(given, tmp_path / "x.flent")  # type: ignore[arg-type]
    assert not (tmp_path / "x.flent").exists()


def test_a_clock_that_was_set_makes_no_run_of_years() -> None:
    with pytest.raises(QuantityError, match="somebody set the clock"):
        pf.scenario_of(pf.measured.read(ROWS + "1700000000,12.5,20.5\n"))
