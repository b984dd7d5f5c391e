"""The frame of measurements: rows, lost probes, sources; whichever tool it was."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement, samples_of

LINE = "[1700000000.5] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=20.5 ms\n"


def test_each_sample_has_a_row_even_at_the_same_time() -> None:
    read = Measurement("qdelay")
    read.add("queue_delay", "queue", [1.0, 1.0, 2.0], [0.1, 0.2, 0.3])
    read.add("delay", "ping", [0.5, 1.0, 3.0], [1.0, 2.0, np.nan])
    data = read.to_dataset()
    assert data.time.values.tolist() == [0.0, 0.5, 0.5, 1.5, 2.5]
    assert data.attrs["start"] == 0.5
    assert samples_of(data, "queue_delay", "queue")[1].tolist() == [0.1, 0.2, 0.3]
    times, delays = samples_of(data, "delay", "ping")
    assert times.tolist() == [0.0, 0.5, 2.5]
    assert delays[:2].tolist() == [1.0, 2.0]
    assert np.isnan(delays[2])
    assert data.lost.values.ravel().tolist() == [False] * 4 + [True]


def test_samples_come_in_the_order_of_time() -> None:
    read = Measurement("csv")
    read.add("throughput", "a", [3.0, 1.0, 2.0], [30.0, 10.0, 20.0])
    assert samples_of(read.to_dataset(), "throughput", "a")[1].tolist() == [10.0, 20.0, 30.0]


def test_a_probe_is_lost_where_no_way_was_measured() -> None:
    read = Measurement("irtt")
    read.add("delay", "both", [1.0, 2.0], [0.1, np.nan])
    read.add("delay_up", "both", [1.0, 2.0], [np.nan, np.nan])  # no stamp, and yet it came back
    read.add("delay_up", "one way", [1.0, 2.0], [0.0, np.nan])
    lost = read.to_dataset().lost
    assert lost.sel(probe="both").values.tolist() == [False, True]
    assert lost.sel(probe="one way").values.tolist() == [False, True]


def test_what_is_no_number_is_left_out_and_said() -> None:
    read = Measurement("iperf3")
    read.add("throughput", "a", [1.0, np.nan, 3.0, 4.0], [1.0, 2.0, np.nan, np.inf])
    data = read.to_dataset()
    assert samples_of(data, "throughput", "a")[1].tolist() == [1.0]
    assert data.attrs["warnings"].startswith("3 of 4 samples of throughput of 'a'")


def test_nothing_is_a_dataset_without_rows() -> None:
    data = Measurement("none").to_dataset()
    assert data.sizes["time"] == 0
    assert not data.data_vars


@pytest.mark.parametrize("opened", [gzip.open, bz2.open, lzma.open])
def test_files_may_be_compressed(opened, tmp_path: Path) -> None:
    path = tmp_path / "ping.txt"
    with opened(path, "wt") as file:
        file.write(LINE)
    assert float(pf.measured.read(path).delay[0, 0]) == 0.0205
    cut = tmp_path / "cut.txt"
    cut.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(QuantityError, match=r"'cut\.txt' is cut or damaged where it is compressed"):
        pf.measured.read(cut)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "is empty"),
        ("nowhere.txt", "there is no file 'nowhere.txt'"),
        ("a\0b", "there is no file"),
        ("x" * 5000, "is of no format"),
        ("one two three", "is of no format"),
        ("{", "is of no format"),
    ],
)
def test_what_is_no_measurement(given: str, said: str) -> None:
    with pytest.raises(QuantityError, match=said):
        pf.measured.read(given)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QuantityError, match="is a folder: give one of the files"):
        pf.measured.read(tmp_path)


def test_an_unknown_format_is_refused_with_those_there_are() -> None:
    with pytest.raises(QuantityError, match="format = 'iperf' is unknown: 'iperf3"):
        pf.measured.read(LINE, format="iperf")
    with pytest.raises(QuantityError, match="the text has no line of fping"):
        pf.measured.read(LINE, format="fping")
