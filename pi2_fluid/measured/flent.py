"""What Flent keeps of a test: files ``.flent.gz`` of versions 1 to 4.

Source: Flent, manual, "Data file format"; which fields a series has is from files of 0.11, 1.0,
1.9 and 2.1. Samples are read as they were taken (``raw_values``), not as Flent interpolated them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import VARIABLES, Measurement, rises
from pi2_fluid.measured.fields import entries, number, part, text_of
from pi2_fluid.measured.flent_about import (
    CAPACITY,
    COUNTERS,
    GROWING,
    about_of,
    kept_of,
    moment,
    sender_of,
    units_of,
)
from pi2_fluid.measured.probing import Probes
from pi2_fluid.measured.source import Source

_MS: Final = 1e-3
_MBIT: Final = 1e6
#: Fields of a sample of TCP: the variable, and what one of it is.
_OF_TCP: Final = {
    "tcp_rtt": ("tcp_rtt", _MS),
    "tcp_cwnd": ("window", 1.0),
    "tcp_delivery_rate": ("delivery_rate", _MBIT),
    "retransmissions": ("retransmissions", 1.0),  # this and the next only `write_flent` writes
    "window_bytes": ("window_bytes", 1.0),
}
#: How runners are called whose series is made of others.
_DERIVED: Final = (" avg", " sum", " totals", " average")
#: Fewer round trips of netperf a second are none: it waits for a lost packet to its end.
_WAITS: Final = 0.1


class _Series(NamedTuple):
    """One series of a file, with what Flent says of it and of the whole test."""

    name: str
    meta: dict[str, Any]
    rows: list[dict[str, Any]]
    version: int
    about: dict[str, Any]


def recognises(source: Source) -> bool:
    """Say whether a source is a data file of Flent."""
    if source.json is None:
        head = source.head.lstrip()
        return head.startswith("{") and any(
            mark in source.head for mark in ('"metadata"', '"FLENT_VERSION"', '"x_values"')
        )
    file = part(source.json)
    return "metadata" in file and ("raw_values" in file or "x_values" in file)


def measurement(source: Source) -> Measurement:
    """Return the samples of each series that was measured, not of those made from others.

    Flows are called as Flent calls their series, with the sender where the file says it:
    "TCP upload::1 (prague)". Probes are called as Flent does.

    Raises
    ------
    QuantityError
        If it is no JSON that was written to its end, of a later version, or has no sample.
    """
    if source.json is None:
        raise source.cut("and is no whole JSON")
    file = part(source.json)
    version = int(number(file.get("version", 1))) if number(file.get("version", 1)) > 0 else 1
    if version > 4:
        raise QuantityError(
            f"{source.said} is of version {version} of Flent's format, and 1 to 4 are known: write"
            " it with an older Flent."
        )
    about = part(file, "metadata")
    told = text_of(about.get("FLENT_VERSION")) or text_of(about.get("NETPERF_WRAPPER_VERSION"))
    read = Measurement("flent", tool=f"flent {told}".strip(), clock="unix")
    samples, interpolated = _samples(file)
    if interpolated:
        read.warn(
            "this file of version 1 has no samples, but what Flent interpolated between them: the"
            " same number every STEP_SIZE says less than it seems to."
        )
        if moment(about.get("T0"), about.get("TIME")) is None:
            read.clock = "relative"
    read.about |= about_of(about) | {"senders": {}, "directions": {}}
    for name in sorted(samples, key=_order):
        meta = part(about, "SERIES_META", name)
        rows = list(entries(samples[name]))
        if rows and not _is_derived(name, meta):
            _add(read, _Series(name, meta, rows, 4 if interpolated else version, about))
    if read.empty:
        raise QuantityError(
            f"{source.said} has no sample of a flow or probe: Flent's test did not get any."
        )
    kept_of(about, read)
    return read


def _order(name: str) -> tuple[str, int, str]:
    """Sort "TCP upload::10" behind "TCP upload::9"."""
    base, _, count = name.rpartition("::")
    return (base, int(count), "") if count.isdecimal() and len(count) < 9 else (name, 0, "")


def _samples(file: dict[str, Any]) -> tuple[Mapping[str, Any], bool]:
    """Return the samples by series, and whether they are but interpolated."""
    found = part(file, "raw_values")
    about = part(file, "metadata")
    if not found:
        kept = part(about, "SERIES_META")
        found = {
            name: meta["RAW_VALUES"]
            for name, meta in kept.items()
            if isinstance(meta, dict) and "RAW_VALUES" in meta
        }
    if any(isinstance(rows, list) and rows for rows in found.values()):
        return found, False
    begin = moment(about.get("T0"), about.get("TIME")) or 0.0
    steps = file.get("x_values")
    times = [begin + number(x) for x in steps] if isinstance(steps, list) else []
    return {
        name: [
            {"t": time, "val": value}
            for time, value in zip(times, values, strict=False)
            if value is not None
        ]
        for name, values in part(file, "results").items()
        if isinstance(values, list)
    }, True


def _is_derived(name: str, meta: dict[str, Any]) -> bool:
    runner = text_of(meta.get("RUNNER"))
    made = runner.startswith(("Average", "Sum", "Null", "Diff", "Cmp", "Smooth", "Avg", "Fair"))
    return made or name.endswith(_DERIVED)


def _add(read: Measurement, series: _Series) -> None:
    name, unit = series.name, text_of(series.meta.get("UNITS"))
    if name.startswith("qdisc_stats"):
        _add_counters(read, series)
    elif name.startswith(CAPACITY):
        times, values = _column(series.rows, "val")
        read.add("capacity", name.removeprefix(CAPACITY), times, _MBIT * np.array(values))
    elif name.startswith("VoIP"):
        _add_voip(read, series)
    elif unit in ("Mbits/s", "bits/s") or (not unit and name.startswith("TCP")):
        _add_flow(read, series, 1.0 if unit == "bits/s" and series.version < 4 else _MBIT)
    elif unit == "ms" or name.startswith(("Ping", "UDP", "HTTP")):
        _add_probe(read, series)
    else:
        read.warn(f"the series {name!r}, in {unit or 'no unit'}, is not read.")


def _column(rows: list[dict[str, Any]], key: str) -> tuple[list[float], list[float]]:
    found = [(number(row.get("t")), number(row.get(key))) for row in rows if key in row]
    kept = [pair for pair in found if all(map(math.isfinite, pair))]
    return [time for time, _ in kept], [value for _, value in kept]


def _add_flow(read: Measurement, series: _Series, scale: float) -> None:
    name = series.name
    direction = "down" if "down" in name.lower() else "up"
    sender = sender_of(name, series.meta, series.about, direction)
    label = f"{name} ({sender})" if sender else name
    columns = {"val": ("throughput", scale), "dur": ("interval", 1.0)} | _OF_TCP
    for key, (variable, factor) in columns.items():
        times, values = _column(series.rows, key)
        if times:
            read.add(variable, label, times, factor * np.array(values))
    read.about["directions"][label] = direction
    if sender:
        read.about["senders"][label] = sender
    segment = number(series.meta.get("TCP_MSS"))
    if segment > 0.0:
        read.about["segment"] = segment


def _add_probe(read: Measurement, series: _Series) -> None:
    probes, name = Probes(), series.name
    numbered = all(math.isfinite(number(row.get("seq"))) for row in series.rows)
    for count, row in enumerate(series.rows):
        time, value = number(row.get("t")), number(row.get("val"))
        delay = _MS * _milliseconds(name, row, value, series.version)
        place = int(number(row["seq"])) if numbered else count
        counted = numbered or "dur" in row
        if math.isfinite(time) and (row.get("lost") or (counted and not math.isfinite(delay))):
            probes.miss(place, time)
        elif math.isfinite(time) and math.isfinite(delay):
            probes.answer(place, time, delay)
    if probes.times:
        times, values = probes.samples()
        read.add("delay", name, times, values)
    for key, variable in (("owd_up", "delay_up"), ("owd_down", "delay_down")):
        when, ways = _column(series.rows, key)
        if when:
            read.add(variable, name, when, _MS * rises(ways))
            read.warn(
                "one-way delays have the offset of two clocks in them: they are given above their"
                " least."
            )


def _milliseconds(name: str, row: dict[str, Any], value: float, version: int) -> float:
    """Return what a sample is, for older versions kept what a tool printed.

    HTTP's delays are seconds whatever UNITS says, and netperf's of UDP are round trips a second.
    """
    if version < 4 and name.startswith("HTTP latency"):
        return 1e3 * value
    if version < 4 and "UDP" in name and "dur" in row:
        return 1e3 / value if value >= _WAITS else math.nan
    return value


def _add_voip(read: Measurement, series: _Series) -> None:
    """Add what D-ITG measured, one way, or irtt in its place, both ways; always in ms."""
    if any("owd_up" in row for row in series.rows):
        _add_probe(read, series._replace(version=4))
        return
    times, values = _column(series.rows, "val")
    if times:
        read.add("delay_up", series.name, times, _MS * rises(values))
        read.warn(
            f"{series.name} says UNITS Kbps, and has delays of one way, in ms: read as these."
        )


def _add_counters(read: Measurement, series: _Series) -> None:
    rows, units = series.rows, units_of(series.about)
    band = series.name.removeprefix("qdisc_stats_") or series.name
    # tc's "delay" of a queue is none of a probe, and has another unit in each kind.
    keys = {key for row in rows for key, value in row.items() if math.isfinite(number(value))}
    keys -= {"t", "backlog_requeues", *VARIABLES} - {"queue_delay"}
    for key in sorted(keys):
        times, values = _column(rows, key)
        if series.version >= 4 and key in GROWING:
            values = np.cumsum(values).tolist()
        counter = COUNTERS.get(key, key)
        read.add(counter, band, times, values, quantity=units.get(counter))
