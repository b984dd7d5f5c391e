"""Numbers as tc reads them from its arguments, which are others than those it prints.

A bare time is in microseconds, a whole number may be hexadecimal, sizes have binary prefixes.

Source: iproute2 7.3, lib/utils.c, tc/tc_util.c, tc/q_dualpi2.c.
"""

from __future__ import annotations

import re
from typing import Final

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.laws.kernel.gains import single
from pi2_fluid.tc.options import Number

__all__ = ["as_microseconds", "as_packets", "read_argument"]

_REAL: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)((?:[eE][+-]?[0-9]{1,3})?)(.*)")
_WHOLE: Final = re.compile(r"0[xX][0-9a-fA-F]{1,16}|0[0-7]{1,20}|0|[1-9][0-9]{0,19}")
_DECIMAL: Final = re.compile(r"[0-9]{1,20}")
_LARGEST_READ: Final = 2.0**24  # Hz: beyond all that a kernel takes
_PACKETS: Final = re.compile(r"([0-9]{1,10})(?:p|pkts?|packets?)")
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
#: What one gives, by how tc counts it.
_GIVE: Final = {
    "time": "a time such as 15ms",
    "size": "a size in bytes, such as 1514 or 32mb",
    "percent": "a percentage such as 10%",
    "hertz": "a number of Hz such as 0.16",
}
#: The queues whose plain whole numbers tc reads as decimal ones only.
_DECIMAL_ONLY: Final = {"dualpi2": ("limit", "memlimit", "min_qlen_step")}


def read_argument(kind: str, option: Number, text: str, name: str) -> tuple[int, float | None]:
    """Return what tc asks the kernel for in an option's units, and what stood behind it if cut.

    Raises
    ------
    QuantityError
        If tc cannot read it, or tc or the kernel refuses it.
    """
    unit, exact = option.unit, None
    if unit.name == "time":
        number = as_microseconds(text, name)
    elif unit.name == "hertz":
        exact = _scaled(text, {"": 1.0}, name, _GIVE["hertz"])
        number = int(single(min(exact, _LARGEST_READ)) * unit.per_si)
    elif unit.name == "percent":
        number = round(_scaled(text, {"": 1.0, "%": 1.0}, name, _GIVE["percent"]))
    elif unit.name == "size":
        number = int(_scaled(text, _SIZES, name, _GIVE["size"]))
    else:
        decimal = option.word in _DECIMAL_ONLY.get(kind, ())
        number = _whole(text, name, decimal=decimal)
    # A 0 is for tc what was not asked for, but for gains and shares that it passes on.
    if number not in unit.numbers and not (number == 0 and _is_nothing(kind, option)):
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
        If tc cannot read it, or it does not fit into 32 bits.
    """
    us = int(_scaled(text, _TIMES, name, "a time such as 15ms (a bare number is microseconds)"))
    if us >= 2**32:
        raise QuantityError(f"{name} = {show_value(text)} is longer than the 4294s that tc takes.")
    return us


def as_packets(text: str) -> int | None:
    """Return a number of packets, as of a step_thresh; None if it is none."""
    match = _PACKETS.fullmatch(text)
    return None if match is None else int(match[1])


def _is_nothing(kind: str, option: Number) -> bool:
    return kind != "dualpi2" or option.unit.name == "time" or option.word in {"limit", "memlimit"}


def _range(option: Number) -> str:
    unit = option.unit
    if unit.name == "time":
        return "a time from 1us to 4.29s"
    if unit.name == "hertz":
        return f"1/{unit.per_si} to {unit.high // unit.per_si} Hz"
    if unit.name == "percent":
        return f"{unit.low}% to {unit.high}%"
    return f"a whole number in [{unit.low}, {unit.high}]"


def _scaled(text: str, units: dict[str, float], name: str, give: str) -> float:
    match = _REAL.fullmatch(text)
    if match is None or match[3].lower() not in units:
        raise QuantityError(f"{name} = {show_value(text)} is nothing that tc reads: give {give}.")
    value = float(match[1] + match[2]) * units[match[3].lower()]
    if value > 2.0**64:
        raise QuantityError(f"{name} = {show_value(text)} is more than tc can hold: give {give}.")
    return value


def _whole(text: str, name: str, *, decimal: bool) -> int:
    if not (_DECIMAL if decimal else _WHOLE).fullmatch(text):
        raise QuantityError(
            f"{name} = {show_value(text)} is no whole number, which tc asks for: give one, without"
            " a unit."
        )
    octal = not decimal and len(text) > 1 and text[0] == "0" and text[1] not in "xX"
    return int(text, 8 if octal else 10 if decimal else 0)
