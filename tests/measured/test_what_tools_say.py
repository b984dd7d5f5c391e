"""Files of the tools themselves, read, beside what each tool says of it in its own summary.

`tools/measure_with_tools.py` made the files: iperf3 3.12, irtt 0.9.0, ping of iputils 20221126,
fping 5.1 and Flent 2.1.1, over a link that is emulated.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.measured.dataset import samples_of

FILES = Path(__file__).parents[1] / "data" / "measured"


def text_of(path: Path) -> str:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return file.read()


def mean_rate(data: xr.Dataset, flow: str) -> float:
    """Return the mean over time: each sample is of the interval before it."""
    _, rates = samples_of(data, "throughput", flow)
    _, lengths = samples_of(data, "interval", flow)
    return float(rates @ lengths / lengths.sum())


@pytest.mark.parametrize("path", sorted(FILES.glob("ping_*.txt")), ids=lambda path: path.name)
def test_ping(path: Path) -> None:
    text, data = text_of(path), pf.measured.read(path)
    sent, got = map(int, re.findall(r"(\d+) packets transmitted, (\d+) received", text)[0])
    assert data.attrs["format"] == "ping"
    assert data.sizes == {"time": sent, "probe": 1}
    assert int(data.lost.sum()) == sent - got
    assert np.array_equal(np.isnan(data.delay), data.lost)
    if summary := re.search(r"= ([\d.]+)/([\d.]+)/([\d.]+)/", text):
        # Lines have three digits, the summary has microseconds: half a unit of the line's last.
        printed = 0.5e-3 if float(summary[3]) >= 100.0 else 0.05e-3
        least, mean, most = (1e-3 * float(number) for number in summary.groups())
        assert abs(float(data.delay.min()) - least) <= printed
        assert abs(float(data.delay.mean()) - mean) <= printed
        assert abs(float(data.delay.max()) - most) <= printed
    assert ("whole milliseconds" in data.attrs["warnings"]) == (
        "far" in path.name or "outst" in path.name
    )
    assert (data.attrs["clock"] == "unix") == ("no_times" not in path.name)


@pytest.mark.parametrize("path", sorted(FILES.glob("fping_*.txt")), ids=lambda path: path.name)
def test_fping(path: Path) -> None:
    text, data = text_of(path), pf.measured.read(path)
    assert data.attrs["format"] == "fping"
    for target in sorted(set(re.findall(r"\] (\S+) :", text))):
        mean, lost = re.findall(re.escape(target) + r" : .*\(([\d.]+) avg, ([\d.]+)% loss\)", text)[
            -1
        ]
        column = data.sel(probe=f"fping {target}")
        times, delays = samples_of(data, "delay", f"fping {target}")
        # Three digits or decimals of the mean, and of each that it is made of.
        assert 1e3 * float(np.nanmean(delays)) == pytest.approx(float(mean), rel=0.006, abs=1e-3)
        assert round(100.0 * float(column.lost.sum()) / times.size) == int(lost)
        assert (np.diff(times) > 0.0).all()


@pytest.mark.parametrize("path", sorted(FILES.glob("irtt*.json*")), ids=lambda path: path.name)
def test_irtt(path: Path) -> None:
    told, data = json.loads(text_of(path))["stats"], pf.measured.read(path)
    assert data.sizes == {"time": told["packets_sent"], "probe": 1}
    lost = 100.0 * float(data.lost.mean())
    assert lost == pytest.approx(told["packet_loss_percent"], abs=1e-9)
    assert int((~data.lost).sum()) == told["packets_received"]
    found_of = {"min": data.delay.min(), "mean": data.delay.mean(), "max": data.delay.max()}
    for name, value in found_of.items():
        found = 1e9 * float(value)
        assert found == pytest.approx(told["rtt"][name], abs=1.0)  # whole ns
    for way, variable in {"send_delay": "delay_up", "receive_delay": "delay_down"}.items():
        assert (variable in data) == (told[way]["n"] > 0)
        if variable in data:
            assert float(np.nanmin(data[variable])) == 0.0
            rise = told[way]["mean"] - told[way]["min"]
            assert 1e9 * float(np.nanmean(data[variable])) == pytest.approx(rise, abs=2.0)


def streams(told: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """Return the summary of each stream by those whose intervals are in the file."""
    found = {}
    for stream in told["end"]["streams"]:
        one = stream.get("udp") or stream["sender" if stream["sender"]["sender"] else "receiver"]
        found[one["socket"]] = one
    return found


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(FILES.glob("iperf3*.json*")) if "nobody" not in path.name],
    ids=lambda path: path.name,
)
def test_iperf3(path: Path) -> None:
    told, data = json.loads(text_of(path)), pf.measured.read(path)
    about = json.loads(data.attrs["about"])
    ends = streams(told)
    assert len(ends) == data.sizes["flows"]
    for flow in map(str, data.flows.values):
        one = ends[int(flow.split()[1])]
        lengths = samples_of(data, "interval", flow)[1]
        received = mean_rate(data, flow) * lengths.sum() / 8.0
        assert received == pytest.approx(one["bytes"], rel=1e-9)
        sends = one["sender"] != ("accepted_connection" in told["start"])
        assert about["directions"][flow] == ("up" if sends else "down")
        if "mean_rtt" in one and one["mean_rtt"] and "tcp_rtt" in data and one["sender"]:
            assert 1e6 * samples_of(data, "tcp_rtt", flow)[1].mean() == pytest.approx(
                one["mean_rtt"], abs=1.0 + 0.01 * one["mean_rtt"] * ("omit" in path.name)
            )
            most = samples_of(data, "window", flow)[1].max() * told["start"]["tcp_mss_default"]
            assert most == pytest.approx(one["max_snd_cwnd"], rel=1e-12)


def test_iperf3_says_who_sends() -> None:
    for name, sender in {"cubic": "cubic", "reno_two": "reno", "udp": "udp"}.items():
        data = pf.measured.read(FILES / f"iperf3_{name}.json")
        assert {str(flow).split()[2] for flow in data.flows.values} == {f"({sender})"}


@pytest.mark.parametrize("path", sorted(FILES.glob("iperf3*.txt")), ids=lambda path: path.name)
def test_iperf3_as_text(path: Path) -> None:
    text, data = text_of(path), pf.measured.read(path)
    assert data.attrs["format"] == "iperf3_text"
    ends = re.findall(
        r"\[ +(\d+)\](?:\[..-.\])?\s+0\.00.* ([\d.]+) ([KM])Bytes .*(sender|receiver)\s*$",
        text,
        re.MULTILINE,
    )
    about = json.loads(data.attrs["about"])
    for flow in map(str, data.flows.values):
        name = re.search(r"\d+", flow)
        assert name is not None
        side = "sender" if about["directions"][flow] == "up" else "receiver"
        told = next(
            float(number) * {"K": 1024.0, "M": 1024.0**2}[unit]
            for identity, number, unit, which in ends
            if identity == name[0] and which == side
        )
        moved = mean_rate(data, flow) * samples_of(data, "interval", flow)[1].sum() / 8.0
        # Two roundings to three digits, of at most 0.5 in 100.
        assert moved == pytest.approx(told, rel=0.01)


@pytest.mark.parametrize("path", sorted(FILES.glob("*.flent.gz")), ids=lambda path: path.name)
def test_flent(path: Path) -> None:
    told, data = json.loads(text_of(path)), pf.measured.read(path)
    series = told["metadata"]["SERIES_META"]
    measured = {name for name, rows in told["raw_values"].items() if rows}
    flows = {re.sub(r" \([a-z]+\)$", "", str(flow.item())) for flow in data.get("flows", [])}
    assert flows | set(data.probe.values.tolist()) == measured
    for probe in data.probe.values:
        times, delays = samples_of(data, "delay", str(probe))
        values = [row["val"] for row in told["raw_values"][probe] if "val" in row]
        assert np.count_nonzero(~np.isnan(delays)) == len(values)
        if "MEAN_VALUE" in series[probe] and len(values) == times.size:
            mean = 1e3 * float(np.nanmean(delays))
            assert mean == pytest.approx(series[probe]["MEAN_VALUE"], rel=0.003)
    for flow in data.get("flows", []):
        name = re.sub(r" \([a-z]+\)$", "", str(flow.item()))
        assert str(flow.item()) == f"{name} ({series[name]['CONG_CONTROL']})"
