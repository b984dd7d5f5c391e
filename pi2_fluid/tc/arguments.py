"""Numbers as tc reads them from its arguments, which are others than those it prints.

A bare time is in microseconds, a bare rate in bit/s, a whole number may be hexadecimal, sizes have
binary prefixes. What tc takes without a word to make something else of it is refused, and said.

Source: iproute2 7.3, lib/utils.c, tc/tc_util.c, tc/q_dualpi2.c; `tools/tc_oracle.py` asks a tc.
"""

from __future__ import annotations

import math
import re
from typing import Final

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.laws.kernel.gains import single
from pi2_fluid.tc.kernel import time_text
from pi2_fluid.tc.numerals import read_real, read_whole
from pi2_fluid.tc.options import Number

_LARGEST_READ: Final = 2.0**24  # Hz: beyond all that a kernel takes
_WORD: Final = 2**32
_LONG: Final = 2**64
_BYTE: Final = 255
_PACKETS: Final = re.compile(r"(.*?[0-9])(?:p|pkts?|packets?)", re.DOTALL)
_TIMES: Final = {
    "": 1.0,
    **dict.fromkeys(("us", "usec", "usecs"), 1.0),
    **dict.fromkeys(("ms", "msec", "msecs"), 1e3),
    **dict.fromkeys(("s", "sec", "secs"), 1e6),
}
_SIZES: Final = {
    **dict.fromkeys(("", "b"), 1.0),
    **dict.fromkeys(("k", "kb"), 2.0**10),
    **dict.fromkeys(("m", "mb"), 2.0**20),
    **dict.fromkeys(("g", "gb"), 2.0**30),
    "kbit": 2.0**10 / 8,
    "mbit": 2.0**20 / 8,
    "gbit": 2.0**30 / 8,
}
#: Bytes per second.
_RATES: Final = {"": 0.125, "bit": 0.125, "bps": 1.0} | {
    f"{prefix}{binary}{unit}": size * base**power
    for unit, size in (("bit", 0.125), ("bps", 1.0))
    for binary, base in (("", 1e3), ("i", 2.0**10))
    for power, prefix in enumerate("kmgt", 1)
}
#: What one gives, by how tc counts it.
_GIVE: Final = {
    "time": "a time such as 15ms",
    "size": "a size in bytes, such as 1514 or 32mb",
    "rate": "a rate such as 10mbit",
    "percent": "a percentage such as 10%",
    "hertz": "a number of Hz such as 0.16",
    "probability": "a probability such as 0.02",
}
#: The words for a real number of each of them, by what they stand for.
_UNITS: Final = {
    "time": _TIMES,
    "size": _SIZES,
    "rate": _RATES,
    "percent": {"": 1.0, "%": 1.0},
    "hertz": {"": 1.0},
    "probability": {"": 1.0},
}


def read_argument(option: Number, text: str, name: str) -> tuple[int, float | None]:
    """Return what tc asks the kernel for in an option's units, and what stood behind it if cut.

    Raises
    ------
    QuantityError
        If tc cannot read it, if tc or the kernel refuses it, or if tc makes something else of it.
    """
    unit, exact = option.unit, None
    if unit.name == "time":
        number = as_microseconds(text, name)
    elif unit.name == "hertz":
        exact = _scaled(text, "hertz", name)
        number = int(single(min(exact, _LARGEST_READ)) * unit.per_si)
    elif unit.name == "probability":
        exact = _scaled(text, "probability", name)
        number = int(min(exact, 2.0) * unit.per_si)
    elif unit.name == "percent":
        number = round(_scaled(text, "percent", name))
    elif unit.name in {"size", "rate"}:
        number = int(min(_scaled(text, unit.name, name), float(_LONG)))
    elif unit.name == "pair":
        number = _pair(text, name)
    else:
        number = _whole(option, text, name)
    if number not in unit.numbers and (number != 0 or option.passes_zero):
        raise QuantityError(
            f"{name} = {show_value(text)} is outside what tc and the kernel take:"
            f" give {_range(option)}."
        )
    return number, exact


def as_microseconds(text: str, name: str) -> int:
    """Return a time as tc reads and passes it on: cut to whole microseconds.

    Raises
    ------
    QuantityError
        If tc cannot read it, or it does not fit into 32 bits: what tc makes of it then depends on
        the processor.
    """
    us = _scaled(text, "time", name)
    if not us < _WORD:
        left = int(us) % _WORD if us < _LONG // 2 else 0
        what = "no number" if math.isnan(us) else "beyond the 4294s that tc counts"
        made = time_text(left) if left else "0, which asks for nothing,"
        raise QuantityError(
            f"{name} = {show_value(text)} is {what}, of which tc makes {made} on x86: give a time"
            " such as 15ms."
        )
    return int(us)


def as_packets(text: str) -> int | None:
    """Return a number of packets, as of a step_thresh; None if it is none.

    Examples
    --------
    >>> as_packets("3packets"), as_packets("3 p"), as_packets("3")
    (3, None, None)
    """
    match = _PACKETS.fullmatch(text)
    number = None if match is None else read_whole(match[1], 10)
    return number if number is not None and number < _WORD else None


def _range(option: Number) -> str:
    unit = option.unit
    if unit.name == "time":
        return f"a time from 1us to {unit.high / 1e6:.6g}s"
    if unit.name == "hertz":
        return f"1/{unit.per_si} to {unit.high // unit.per_si} Hz"
    if unit.name == "percent":
        return f"{unit.low}% to {unit.high}%"
    if unit.name in {"size", "rate"}:
        per = " per second" * (unit.name == "rate")
        return f"{unit.low} to {unit.high} bytes{per}"
    return f"a whole number in [{unit.low}, {unit.high}]"


def _scaled(text: str, unit: str, name: str) -> float:
    """Return a real number in what tc counts that unit in.

    Raises
    ------
    QuantityError
        If there is none, or not from 0 on.
    """
    give = _GIVE[unit] + " (a bare number is microseconds)" * (unit == "time")
    number, rest = read_real(text) or (0.0, text or "nothing")
    if rest and unit == "probability":  # after which tc does not look
        raise QuantityError(
            f"{name} = {show_value(text)} is {number:g} for tc, which ignores what follows: give"
            f" {give}."
        )
    factor = _UNITS[unit].get(rest.lower())
    if factor is None:
        raise QuantityError(f"{name} = {show_value(text)} is no text that tc reads: give {give}.")
    if math.isnan(number) and unit != "time":
        raise QuantityError(
            f"{name} = {show_value(text)} is no number, and what tc makes of it depends on the"
            f" processor: give {give}."
        )
    if number < 0.0:
        raise QuantityError(
            f"{name} = {show_value(text)} is negative, and tc refuses it, or makes it a large"
            f" number where it is old: give {give}."
        )
    return number * factor


def _pair(text: str, name: str) -> int:
    value, _, mask = text.partition("/")
    read = [read_whole(part) for part in (value, mask)]
    if any(part is None or part > _BYTE for part in read):
        raise QuantityError(
            f"{name} = {show_value(text)} is no byte with a mask, which tc asks for: give one such"
            " as 0x1/0x3."
        )
    return sum((part or 0) << shift for part, shift in zip(read, (8, 0), strict=True))


def _whole(option: Number, text: str, name: str) -> int:
    number = read_whole(text, option.base)
    if not text:
        raise QuantityError(f"{name} is empty, which tc refuses or takes for 0: give a number.")
    if number is None:
        raise QuantityError(
            f"{name} = {show_value(text)} is no whole number, which tc asks for: give one, without"
            " a unit."
        )
    return number - _LONG if option.unit.low < 0 and number >= _LONG // 2 else number
