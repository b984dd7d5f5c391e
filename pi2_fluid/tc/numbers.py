"""Numbers as tc prints them, and what was asked for where it shows so.

Times that tc prints as text have three digits, and the kernel cuts off what it is given before it
shows it. A number is believed if something that can be asked for shows as it does.
"""

from __future__ import annotations

import math
import re
from typing import Final

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.records.unit import Unit
from pi2_fluid.tc import kernel
from pi2_fluid.tc.options import Number
from pi2_fluid.units import parse_quantity

_LARGEST: Final = 2**64 - 1  # counters; options have half the bits
_LARGEST_OPTION: Final = 2**32 - 1
_SUFFIX: Final = {"packets": "p", "bytes": "B", "percent": "%", "count": "", "sixteenths": ""}
_WHOLE: Final = re.compile(r"[0-9]{1,20}")
_SIZE: Final = re.compile(r"([0-9]{1,20})(b|Kb|Mb)")
_SIZES: Final = {"b": 1, "Kb": 1 << 10, "Mb": 1 << 20}
_REAL: Final = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,3})?")


def as_whole(text: str, name: str, unit: str = "count", low: int = 0) -> int:
    """Read a whole number with tc's suffix for its unit.

    Raises
    ------
    QuantityError
        Naming it, if it is none or does not fit into 64 bits.
    """
    if unit == "size":
        match = _SIZE.fullmatch(text)
        number = int(match[1]) * _SIZES[match[2]] if match else -1
    else:
        suffix, sign = _SUFFIX[unit], text.startswith("-") and low < 0
        digits = text[sign : len(text) - len(suffix)]
        good = _WHOLE.fullmatch(digits) and text.endswith(suffix)
        number = int(digits) * (-1 if sign else 1) if good else low - 1
    if not low <= number <= _LARGEST:
        form = {"size": "a size such as 1500b or 32Mb", "packets": "packets such as 1000p"}.get(
            unit, f"a whole number such as 10{_SUFFIX.get(unit, '')}"
        )
        raise QuantityError(f"{name} = {show_value(text)} cannot be read: tc prints {form}.")
    return number


def as_time(text: str, name: str) -> float:
    """Read a time in microseconds, whole where it is printed exactly."""
    us = parse_quantity(text, "time", name) * 1e6
    if not 0 <= us <= _LARGEST_OPTION:
        raise QuantityError(
            f"{name} = {show_value(text)} cannot be read: tc prints times from 0us to 4295s."
        )
    return round(us) if abs(us - round(us)) <= 1e-9 * us else us


def as_fraction(text: str, name: str) -> float:
    """Read a plain number, such as a probability."""
    value = float(text) if _REAL.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise QuantityError(
            f"{name} = {show_value(text)} cannot be read: tc prints a number such as 0.15."
        )
    return value


def as_share(value: float, name: str) -> float:
    """Return a probability.

    Raises
    ------
    QuantityError
        Naming it, if it is outside [0, 1].
    """
    if not 0.0 <= value <= 1.0:
        raise QuantityError(
            f"{name} = {show_value(value)} is no probability: tc prints a number from 0 to 1."
        )
    return value


def read_text(option: Number, text: str, name: str) -> float:
    """Return the value of an option in tc's units from its text.

    Raises
    ------
    QuantityError
        Naming it, if it cannot be read.
    """
    if option.unit.name == "time":
        value = as_time(text, name)
    elif option.unit.name == "hertz":
        value = as_fraction(text, name) * option.unit.per_si
    else:
        value = as_whole(text, name, option.unit.name)
    return _within(value, text, name)


def read_json(option: Number, value: object, name: str) -> float:
    """Return the value of an option in tc's units from the JSON of tc."""
    real = option.unit.name == "hertz"
    if isinstance(value, bool) or not isinstance(value, (int, float) if real else int):
        wanted = "a number" if real else "a whole number"
        raise QuantityError(f"{name} = {show_value(value)} cannot be read: tc -j prints {wanted}.")
    if not (isinstance(value, int) or math.isfinite(value)) or value < 0:
        raise QuantityError(
            f"{name} = {show_value(value)} cannot be read: tc -j prints numbers from 0."
        )
    return _within(
        value if value > _LARGEST else value * (option.unit.per_si if real else 1), value, name
    )


def _within(value: float, given: object, name: str) -> float:
    if value > _LARGEST_OPTION:
        raise QuantityError(
            f"{name} = {show_value(given)} is more than the 32 bits that tc and kernel exchange:"
            " give the output of `tc qdisc show` as printed."
        )
    return value


def asked_for(kind: str, option: Number, read: float, hz: int, name: str) -> int:
    """Return the least that can have been asked for where tc shows `read`, in tc's units.

    Raises
    ------
    QuantityError
        If nothing that one can ask for shows so.
    """
    if option.unit.name == "hertz":
        return _parts(read, option.unit, name)
    if option.unit.name != "time":
        return int(read)
    low = int(read)  # the kernel cuts off after it was asked
    candidates = [low, low + 1]
    if option.word == "tupdate" and kind != "dualpi2":
        count = low * hz // 1_000_000
        candidates = [kernel.jiffies_to_us(number, hz) for number in (count, count + 1)]
    for same in (_exactly, _in_three_digits):
        for candidate in candidates:
            if same(option.unit.tell(candidate), read):
                return candidate
    if option.word == "tupdate" and kind != "dualpi2":
        raise QuantityError(
            f"{name} = {read / 1000:g}ms is no whole number of ticks at hz = {hz}"
            f" ({1000 / hz:.4g} ms each): give the CONFIG_HZ of the kernel that showed it."
        )
    raise QuantityError(
        f"{name} = {read:.15g}us is no value that a kernel shows: give the output of"
        " `tc qdisc show` as printed."
    )


def _exactly(us: int, read: float) -> bool:
    return us == read


def _in_three_digits(us: int, read: float) -> bool:
    return as_time(kernel.time_text(us), "time") == read


def _parts(read: float, unit: Unit, name: str) -> int:
    """Return the parts of 1 Hz that were asked for where `read` of them are shown."""
    shown, per_hertz = round(read), unit.per_si
    # Six decimals in text, six digits in JSON, of a number in single precision.
    if abs(read - shown) > max(per_hertz * 0.51e-6, 5.1e-6 * read):
        raise QuantityError(
            f"{name} = {read / per_hertz:.9g} is no multiple of 1/{per_hertz} Hz, as which tc shows"
            " it: give the output of `tc qdisc show` as printed."
        )
    for parts in (shown + 1, shown):
        if unit.tell(parts) == shown:
            return parts
    raise QuantityError(
        f"{name} = {read / per_hertz:.9g} is no value that a kernel shows: give the output of"
        " `tc qdisc show` as printed."
    )
