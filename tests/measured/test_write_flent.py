"""Measurements of all tools, written as files of Flent and read back."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement

FILES = Path(__file__).parents[1] / "data" / "measured"
SHOWN = [path for path in sorted(FILES.iterdir()) if "nobody.json" not in path.name]


def assert_same(one: xr.Dataset, other: xr.Dataset) -> None:
    assert set(one.data_vars) == set(other.data_vars)
    assert one.attrs["clock"] == other.attrs["clock"]
    # Times since 1970 are kept to 2.4e-7 s by floats.
    assert np.allclose(one.time, other.time, rtol=0.0, atol=1e-6)
    for name, column in one.data_vars.items():
        there = other[name].sel({dim: column[dim] for dim in column.dims[1:]})
        np.testing.assert_allclose(there, column, rtol=1e-12, atol=1e-15)
        assert there.attrs == column.attrs
    ours, theirs = (json.loads(each.attrs["about"]) for each in (one, other))
    assert ours == theirs


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.name)
def test_what_is_written_is_read_back(path: Path, tmp_path: Path) -> None:
    data = pf.measured.read(path)
    pf.measured.write_flent(data, tmp_path / "one.flent.gz")
    again = pf.measured.read(tmp_path / "one.flent.gz")
    assert again.attrs["format"] == "flent"
    assert_same(data, again)
    assert set(data.attrs["warnings"].splitlines()) <= set(again.attrs["warnings"].splitlines())


def test_counters_and_capacities_are_kept(tmp_path: Path) -> None:
    read = Measurement("tc_log", clock="relative")
    read.add("drops", "wan pie", [0.0, 1.0, 2.0], [5.0, 5.0, 9.0])
    read.add("dropped", "wan pie", [0.0, 1.0, 2.0], [1.0, 1.0, 3.0])  # as PIE counts it
    read.add("queue_delay", "wan pie", [0.0, 0.0, 2.0], [0.01, 0.02, 0.03])
    read.add("capacity", "link", [0.0, 1.5], [1e6, 0.0])
    read.add("delay_up", "one way", [0.0, 0.5], [0.0, 0.001])
    data = read.to_dataset()
    pf.measured.write_flent(data, tmp_path / "plain.flent")
    assert_same(data, pf.measured.read(tmp_path / "plain.flent"))
    raw = json.loads((tmp_path / "plain.flent").read_text())["raw_values"]
    assert [row.get("dropped") for row in raw["qdisc_stats_wan pie"]] == [5.0, None, 0.0, 4.0]


def test_what_is_no_measurement_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(QuantityError, match="no measurement with samples"):
        pf.measured.write_flent(xr.Dataset(), tmp_path / "no.flent.gz")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("flent") is None, reason="needs Flent")
@pytest.mark.parametrize(
    ("name", "series", "variable"),
    [
        ("ping_times.txt", "ping 10.77.0.2", "delay"),
        ("iperf3_reno_two.json", "stream 5", "throughput"),
        ("flent_rrul.flent.gz", "Ping (ms) UDP BE1", "delay"),
    ],
)
def test_flent_opens_it(name: str, series: str, variable: str, tmp_path: Path) -> None:
    data = pf.measured.read(FILES / name)
    pf.measured.write_flent(data, tmp_path / "one.flent.gz")
    done = subprocess.run(
        ["flent", "-i", str(tmp_path / "one.flent.gz"), "-f", "summary"],
        capture_output=True,
        text=True,
        check=True,
    )
    said = {line.split(" :")[0].strip(): line for line in done.stdout.splitlines()}
    column = data[variable]
    mine = next(label for label in column[column.dims[1]].values if str(label).startswith(series))
    mean = float(column.sel({column.dims[1]: mine}).mean()) / {"s": 1e-3}.get(column.units, 1e6)
    # Flent prints the mean of what it draws, of a ping's 20 samples between them, too.
    assert float(said[series].split(" : ")[1].split()[0]) == pytest.approx(mean, rel=0.05)
