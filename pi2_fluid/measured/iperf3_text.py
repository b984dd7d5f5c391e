"""What iperf3 prints for people: a rate of three digits for each stream and interval.

Source: the manual iperf3(1); lines as iperf 3.12 prints them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement
from pi2_fluid.measured.source import Source

_ROW: Final = re.compile(
    r"^(?P<unix>\d{9,11}(?:\.\d+)? )?.*?\[ *(?P<id>\d+)\](?:\[(?P<role>[TR]X-[CS])\])?\s+"
    r"(?P<from>\d+\.\d+)-(?P<to>\d+\.\d+)\s+sec\s+[\d.]+ [KMGT]?Bytes\s+"
    r"(?P<rate>\d+(?:\.\d+)?) (?P<unit>[KMGT]?)(?P<what>bits|Bytes)/sec(?P<rest>.*)$"
)
_WINDOW: Final = re.compile(
    r"^\s+(?P<again>\d+)(?:\s+(?P<size>\d+(?:\.\d+)?) (?P<unit>[KMGT]?)Bytes)?\s*$"
)
_TIME: Final = re.compile(r"^Time: \w{3}, (\d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d) GMT")
_SEGMENT: Final = re.compile(r"TCP MSS: (\d{2,5})\b")
_SENDER: Final = re.compile(r"\bsnd_tcp_congestion (\w+)")
_THOUSANDS: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


@dataclass
class _Stream:
    direction: str
    udp: bool
    rows: list[tuple[float, float, float]] = field(default_factory=list)
    again: list[tuple[float, float]] = field(default_factory=list)
    windows: list[tuple[float, float]] = field(default_factory=list)


@dataclass
class _Run:
    """What is known of a run while its lines are read."""

    reverse: bool = False
    udp: bool = False
    omitted: int = 0
    begin: float = math.nan
    segment: float = math.nan
    sender: str = ""
    streams: dict[str, _Stream] = field(default_factory=dict)


def recognises(source: Source) -> bool:
    """Say whether a source is what iperf3 printed."""
    return any(map(_ROW.match, source.head.splitlines()))


def measurement(source: Source) -> Measurement:
    """Return the samples of each stream; sums and the summaries at the end are none.

    A flow is called "stream 5", with its sender where ``-V`` made iperf3 print it; that of a
    second run in the same text "run 2, stream 5".

    Raises
    ------
    QuantityError
        If there is no interval in it.
    """
    runs = [_Run()]
    for line in source.lines():
        begins = "Connecting to host" in line or "Accepted connection" in line
        if begins and runs[-1].streams:
            runs.append(_Run())
        _read_line(runs[-1], line)
    if not any(run.streams for run in runs):
        raise QuantityError(
            f"{source.said} has no interval of iperf3: give what it printed, or its JSON (-J)."
        )
    first = runs[0]
    read = Measurement(
        "iperf3_text",
        tool="iperf3",
        clock="relative" if len(runs) > 1 or math.isnan(first.begin) else "unix",
    )
    read.about |= {"senders": {}, "directions": {}}
    if read.clock == "unix":
        read.about["start"] = first.begin
    if math.isfinite(first.segment):
        read.about["segment"] = first.segment
    for count, run in enumerate(runs, 1):
        _add(read, run, f"run {count}, " if count > 1 else "", read.clock == "unix")
    if read.empty:
        raise QuantityError(f"{source.said} has but intervals that iperf3 omitted: measure longer.")
    read.warn("iperf3 printed rates of three digits or so: ask it for JSON (-J) for all of them.")
    return read


def _read_line(run: _Run, line: str) -> None:
    row = _ROW.match(line)
    if row is None:
        run.reverse |= line.rstrip().endswith("is sending") and "Reverse mode" in line
        run.udp |= "Datagrams" in line
        if found := _TIME.match(line):
            run.begin = _unix(found[1])
        if found := _SEGMENT.search(line):
            run.segment = float(found[1])
        if found := _SENDER.search(line):
            run.sender = found[1]
        return
    rest = row["rest"]
    if "sender" in rest or "receiver" in rest:
        return
    if "omitted" in rest:
        run.omitted += 1
        return
    role = row["role"]
    up = (role[0] == "T") == (role[-1] == "C") if role else not run.reverse
    stream = run.streams.setdefault(row["id"], _Stream("up" if up else "down", run.udp))
    start, time = float(row["from"]), float(row["to"])
    if row["unix"] and math.isnan(run.begin):
        run.begin = float(row["unix"]) - time
    rate = float(row["rate"]) * (
        1e3 ** _THOUSANDS[row["unit"]]
        if row["what"] == "bits"
        else 8.0 * 1024.0 ** _THOUSANDS[row["unit"]]
    )
    stream.rows.append((time, rate, time - start))
    window = _WINDOW.match(rest)
    if window and not stream.udp:
        stream.again.append((time, float(window["again"])))
        if window["size"]:
            size = float(window["size"]) * 1024.0 ** _THOUSANDS[window["unit"]]
            stream.windows.append((time, size))


def _unix(text: str) -> float:
    try:
        return datetime.strptime(text, "%d %b %Y %H:%M:%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return math.nan


def _add(read: Measurement, run: _Run, before: str, dated: bool) -> None:
    begin = run.begin if dated else 0.0
    for name, stream in run.streams.items():
        sender = "udp" if stream.udp else run.sender
        label = f"{before}stream {name}" + (f" ({sender})" if sender else "")
        if sender:
            read.about["senders"][label] = sender
        read.about["directions"][label] = stream.direction
        times, rates, lengths = zip(*stream.rows, strict=True)
        when = [begin + time for time in times]
        read.add("throughput", label, when, rates)
        read.add("interval", label, when, lengths)
        segments = math.isfinite(run.segment) and run.segment > 0.0
        for variable, samples, scale in (
            ("retransmissions", stream.again, 1.0),
            ("window", stream.windows, 1.0 / run.segment)
            if segments
            else ("window_bytes", stream.windows, 1.0),
        ):
            if samples:
                read.add(
                    variable,
                    label,
                    [begin + time for time, _ in samples],
                    [scale * value for _, value in samples],
                )
    if run.omitted:
        read.warn(
            f"iperf3 omitted {run.omitted} samples (-O), and began its clock anew after them: they"
            " are left out."
        )
