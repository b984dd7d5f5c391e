"""What ``iperf3 -J`` writes: throughput, window and round-trip time of each stream.

Source: iperf3, ``iperf_api.c`` says which fields there are; files of iperf 3.12; with
``--json-stream`` (3.17) each line is an event.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.measured.dataset import Measurement
from pi2_fluid.measured.fields import entries, number, part, text_of
from pi2_fluid.measured.source import Source

_US: Final = 1e-6


def recognises(source: Source) -> bool:
    """Say whether a source is what ``iperf3 -J`` wrote."""
    if source.json is None:
        head = source.head.lstrip()
        if not head.startswith("{"):
            return False
        return head.startswith('{"event":') or ('"start"' in head and '"iperf ' in head)
    file = part(source.json)
    return "start" in file and ("intervals" in file or "error" in file)


def measurement(source: Source) -> Measurement:
    """Return the samples of each stream, of which a sum is none.

    Goodput is of what the program gave to, or took from, the socket. A sample is of the interval
    that ends at its time. A flow is called "stream 5 (cubic)", with the number of its socket and
    its sender; "stream 5 (udp)".

    Raises
    ------
    QuantityError
        If it is no JSON that was written to its end, iperf3 says that it failed, or no interval
        is in it.
    """
    file = _events(source) if source.json is None else part(source.json)
    start, end = part(file, "start"), part(file, "end")
    error = text_of(file.get("error"))
    rows = list(_rows(file))
    if not rows:
        raise QuantityError(
            f"{source.said} is a run of iperf3 "
            + (
                f"that failed, as it says, {show_value(error)}: measure again."
                if error
                else "without any interval: measure longer, or keep its intervals (-i 1)."
            )
        )
    stamp = number(part(start, "timestamp").get("timesecs"))
    begin = stamp if math.isfinite(stamp) else 0.0
    read = Measurement(
        "iperf3",
        tool=text_of(start.get("version")) or "iperf3",
        clock="unix" if math.isfinite(stamp) else "relative",
    )
    if error:
        read.warn(f"iperf3 says that its run ended with an error, {show_value(error)}.")
    _say(read, start, stamp)
    kept = [row for row in rows if row.get("omitted") is not True]
    if len(kept) < len(rows):
        read.warn(
            f"iperf3 omitted {len(rows) - len(kept)} of {len(rows)} samples (-O), and began its"
            " clock anew after them: they are left out."
        )
    streams: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in kept:
        streams[_label(read, row, start, end)].append(row)
    segment = read.about.get("segment", math.nan)
    for label, samples in streams.items():
        _add(read, label, samples, begin, segment)
    if not streams:
        raise QuantityError(
            f"{source.said} is a run of iperf3 whose intervals are all omitted: measure longer."
        )
    return read


def _rows(file: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for interval in entries(file.get("intervals")):
        for row in entries(interval.get("streams")):
            if math.isfinite(number(row.get("end"))):
                yield row


def _events(source: Source) -> dict[str, Any]:
    """Return what ``--json-stream`` wrote as ``-J`` writes it."""
    file: dict[str, Any] = {"intervals": []}
    for line in source.lines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            event = None
        name = part(event).get("event")
        if name == "interval":
            file["intervals"].append(part(event, "data"))
        elif name in ("start", "end"):
            file[name] = part(event, "data")
        elif name == "error":
            file["error"] = text_of(part(event).get("data"))
        elif line.strip():
            raise source.cut("and is no whole JSON")
    return file


def _say(read: Measurement, start: dict[str, Any], stamp: float) -> None:
    asked = part(start, "test_start")
    about = {
        "start": stamp,
        "duration": number(asked.get("duration")),
        "segment": number(start.get("tcp_mss", start.get("tcp_mss_default"))),
    }
    read.about |= {key: value for key, value in about.items() if value > 0.0}
    if title := text_of(start.get("title")) or text_of(start.get("extra_data")):
        read.about["title"] = title
    read.about |= {"senders": {}, "directions": {}}


def _label(
    read: Measurement, row: dict[str, Any], start: dict[str, Any], end: dict[str, Any]
) -> str:
    """Return what a stream is called, and keep whose sender it has and where it goes."""
    asked = part(start, "test_start")
    sends = row.get("sender") is not False and not (
        "sender" not in row and asked.get("reverse") in (1, True)
    )
    both = bool(asked.get("bidirectional") or asked.get("bidir")) or any(
        "sum_bidir_reverse" in key or "bidir_reverse" in key for key in end
    )
    other = both and not sends
    if text_of(asked.get("protocol")).upper() == "UDP":
        sender = "udp"
    else:
        sender = text_of(end.get("receiver_tcp_congestion" if other else "sender_tcp_congestion"))
    number_ = row.get("socket")
    label = f"stream {number_ if isinstance(number_, int) else '?'}"
    if sender:
        label += f" ({sender})"
        read.about["senders"][label] = sender
    server = "accepted_connection" in start
    read.about["directions"][label] = "up" if sends != server else "down"
    return label


def _add(
    read: Measurement, label: str, rows: list[dict[str, Any]], begin: float, segment: float
) -> None:
    def column(name: str) -> list[float]:
        return [number(row.get(name)) for row in rows]

    times = [begin + time for time in column("end")]
    read.add("throughput", label, times, column("bits_per_second"))
    read.add("interval", label, times, column("seconds"))
    segments = segment > 0.0
    for name, variable, scale in (
        ("rtt", "tcp_rtt", _US),
        ("snd_cwnd", "window" if segments else "window_bytes", 1.0 / segment if segments else 1.0),
        ("retransmits", "retransmissions", 1.0),
    ):
        found = [
            (time, scale * value)
            for time, value in zip(times, column(name), strict=True)
            if value > 0.0 or (value == 0.0 and name == "retransmits")
        ]
        if found:
            read.add(variable, label, *map(list, zip(*found, strict=True)))
