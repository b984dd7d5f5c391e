"""Logs of cake-autorate: rates, the shaper's capacities, and delays of its reflectors.

Source: ``cake-autorate.sh``, its headers and what it logs. Columns changed with its versions, and
headers come again in the middle of a file: columns are found by the names of the last header.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Final

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement, rises
from pi2_fluid.measured.fields import number
from pi2_fluid.measured.source import Source

_KBIT: Final = 1e3
_US: Final = 1e-6
#: Kinds of lines that have rates, those first which are written when rates are taken.
_KINDS: Final = ("LOAD", "DATA", "SUMMARY")
#: Columns of rates: the variable and the flow or link.
_RATES: Final = {
    "DL_ACHIEVED_RATE_KBPS": ("throughput", "download"),
    "UL_ACHIEVED_RATE_KBPS": ("throughput", "upload"),
    "CAKE_DL_RATE_KBPS": ("capacity", "down"),
    "CAKE_UL_RATE_KBPS": ("capacity", "up"),
}


def recognises(source: Source) -> bool:
    """Say whether a line is a header of cake-autorate."""
    return any(_header(line) for line in source.head.splitlines())


def _header(line: str) -> tuple[str, list[str]] | None:
    names = [name.strip() for name in line.split(";")]
    kind, _, rest = names[0].partition("_")
    known = rest == "HEADER" and kind in _KINDS and "LOG_TIMESTAMP" in names
    return (kind, names) if known else None


def measurement(source: Source) -> Measurement:
    """Return the rates of download and upload, the capacities, and what reflectors answered.

    ``delay`` of a reflector is the sum of both ways; ``delay_up`` and ``delay_down`` are there if
    these were measured apart, and not by halving a round trip.

    Raises
    ------
    QuantityError
        If there is no header, or no line below it.
    """
    headers: dict[str, list[str]] = {}
    rows: dict[str, list[dict[str, str]]] = defaultdict(list)
    odd = 0
    for line in source.lines():
        if found := _header(line):
            headers[found[0]] = found[1]
            continue
        kind, _, _ = line.partition(";")
        if kind.strip() in _KINDS:
            names, values = headers.get(kind.strip(), []), [x.strip() for x in line.split(";")]
            if len(names) == len(values):
                rows[kind.strip()].append(dict(zip(names, values, strict=True)))
            else:
                odd += 1
    read = Measurement("cake_autorate", tool="cake-autorate", clock="unix")
    if odd:
        read.warn(f"{odd} lines do not have the columns of the header before them: left out.")
    _add_rates(read, next((rows[kind] for kind in _KINDS if rows[kind]), []))
    _add_delays(read, rows["DATA"])
    if read.empty:
        raise QuantityError(
            f"{source.said} has no line of cake-autorate below a header that says its columns: give"
            " its log from the header on, with output_processing_stats or output_load_stats set."
        )
    read.about["directions"] = {"download": "down", "upload": "up"}
    return read


def _number(row: dict[str, str], name: str) -> float:
    return number(row.get(name, "").replace(",", "."))  # some locales have commas


def _add_rates(read: Measurement, rows: list[dict[str, str]]) -> None:
    for column, (variable, label) in _RATES.items():
        found = [(_number(row, "LOG_TIMESTAMP"), _KBIT * _number(row, column)) for row in rows]
        kept = [(time, rate) for time, rate in found if math.isfinite(time) and rate >= 0.0]
        if kept:
            read.add(variable, label, *map(list, zip(*kept, strict=True)))


def _add_delays(read: Measurement, rows: list[dict[str, str]]) -> None:
    by_reflector: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for row in rows:
        sample = (
            _number(row, "LOG_TIMESTAMP"),
            _US * _number(row, "DL_OWD_US"),
            _US * _number(row, "UL_OWD_US"),
        )
        if all(map(math.isfinite, sample)):
            by_reflector[row.get("REFLECTOR", "") or "reflector"].append(sample)
    halved = all(down == up for each in by_reflector.values() for _, down, up in each)
    for reflector, samples in by_reflector.items():
        times, down, up = (np.array(column) for column in zip(*samples, strict=True))
        read.add("delay", reflector, times, down + up)
        if not halved:
            read.add("delay_down", reflector, times, rises(down))
            read.add("delay_up", reflector, times, rises(up))
    if by_reflector and not halved:
        read.warn(
            "one-way delays have the offset of two clocks in them: they are given above their"
            " least."
        )
