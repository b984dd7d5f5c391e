"""Text to SI and back: one regular expression and one table of units.

Inside the package every quantity is an SI float (seconds, Hz, bit/s, bytes, packets). Text such as
``"100ms"``, ``"10Mbit/s"``, ``"1500B"`` or ``"40000 packets"`` is read here and nowhere else.

Deliberately refused: expressions, bare numbers in text for anything that has a unit, and the
ambiguous spellings ``mbps``, ``kbps`` and ``MBps`` (`tc` reads ``mbps`` as mega*bytes* per
second). ``Mbps`` and ``Gbps`` are bits everywhere but there.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, given_by_caller, show_value, warn_of

if TYPE_CHECKING:
    import jax
    import xarray

    from pi2_fluid.values import BoolArray, FloatArray, Real

# dimension -> (SI unit, what to give, in messages, {spelling: factor})
_TABLE: Final[dict[str, tuple[str, str, dict[str, float]]]] = {
    "time": (
        "s",
        'a time such as "100ms"',
        {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    ),
    "rate": (
        "bit/s",
        'a rate such as "10Mbit/s"',
        {
            "bit/s": 1.0,
            "kbit/s": 1e3,
            "Mbit/s": 1e6,
            "Gbit/s": 1e9,
            "Tbit/s": 1e12,
            "b/s": 1.0,
            "kb/s": 1e3,
            "Mb/s": 1e6,
            "Gb/s": 1e9,
            "Mbps": 1e6,
            "Gbps": 1e9,
            # tc's own spellings of the same
            "bit": 1.0,
            "kbit": 1e3,
            "mbit": 1e6,
            "Mbit": 1e6,
            "gbit": 1e9,
            "Gbit": 1e9,
        },
    ),
    "size": (
        "B",
        'a size such as "1500B"',
        {"B": 1.0, "kB": 1e3, "MB": 1e6, "KiB": 1024.0, "MiB": 1048576.0},
    ),
    "packets": (
        "packets",
        'a number of packets such as "40000 packets"',
        {"packets": 1.0, "packet": 1.0, "p": 1.0},
    ),
    "frequency": ("Hz", 'a frequency such as "0.3125Hz"', {"Hz": 1.0, "kHz": 1e3, "/s": 1.0}),
    "number": ("", "a number without unit such as 0.5", {}),
    "fraction": ("", 'a fraction such as 0.01 or "1%"', {"%": 0.01}),
}
#: The longest round trip (s), and the longest target or time between updates, that a bare number
#: means without a doubt.
LONG_PATH: Final = 10.0
LONG_WAIT: Final = 5.0
#: The slowest link (bit/s) that a bare number means without a doubt.
SLOW_LINK: Final = 10e3
#: What a bare number is likely to be in, where it can hardly be in SI units.
_MEANT: Final = {"time": "ms", "rate": "Mbit/s"}
#: What a quantity can be.
DIMENSIONS: Final = tuple(_TABLE)
# What has no unit, or is in Hz (alpha, beta), may be given as text without one.
_BARE_TEXT_ALLOWED: Final = frozenset({"frequency", "number", "fraction"})
# ASCII digits only: float() would read any script's.
_PATTERN: Final = re.compile(
    r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\d\s.+\-][^\d\s]*)?\s*"
)
_TEXT_LIMIT: Final = 64
# Unicode has two letters for micro that look the same, and keyboards disagree.
_GREEK_MU, _MICRO_SIGN = "\u03bc", "\u00b5"
# No network comes near either end, and between them no product of gains, delays and rates that the
# models form leaves double precision.
_MAGNITUDES: Final = (1e-20, 1e20)


def parse_quantity(text: str, dimension: str, name: str = "value") -> float:
    """Read one quantity from text.

    Parameters
    ----------
    text : str
        A decimal number followed by a unit, e.g. ``"100ms"``.
    dimension : str
        One of ``time``, ``rate``, ``size``, ``packets``, ``frequency``, ``number``, ``fraction``.
    name : str
        What the quantity is called in messages.

    Returns
    -------
    float
        The value in SI units (s, bit/s, B, packets, Hz, 1).

    Raises
    ------
    QuantityError
        If the text is no number, has no unit or one of another dimension, or is not finite.

    Examples
    --------
    >>> parse_quantity("100ms", "time")
    0.1
    >>> parse_quantity("10Mbit/s", "rate")
    10000000.0
    """
    _, wanted, units = _TABLE[dimension]
    match = _PATTERN.fullmatch(text) if len(text) <= _TEXT_LIMIT else None
    if match is None:
        form = "one number with one unit" if units else "one number"
        raise QuantityError(f"{name} = {show_value(text)} is not {form}: give {wanted}.")
    number, unit = float(match[1]), match[2]
    if unit is None:
        if dimension not in _BARE_TEXT_ALLOWED:
            raise QuantityError(f"{name} = {show_value(text)} has no unit: give {wanted}.")
        factor = 1.0
    else:
        unit = unit.replace(_GREEK_MU, _MICRO_SIGN)
        if unit not in units:
            allowed = f", in one of {', '.join(units)}" if units else ""
            raise QuantityError(
                f"{name} = {show_value(text)} has the unit {unit!r}: give {wanted}{allowed}."
            )
        factor = units[unit]
    value = number * factor if factor >= 1 else number / round(1 / factor)
    if not math.isfinite(value):
        raise QuantityError(f"{name} = {show_value(text)} is not finite: give {wanted}.")
    return value


def si_unit(dimension: str) -> str:
    """Return the SI unit of a dimension as text, "" for plain numbers.

    Examples
    --------
    >>> si_unit("frequency")
    'Hz'
    """
    return _TABLE[dimension][0]


def spellings(dimension: str) -> tuple[str, ...]:
    """Return the units that text may have in a dimension, "" among them if it may have none.

    Examples
    --------
    >>> spellings("frequency")
    ('Hz', 'kHz', '/s', '')
    """
    units = tuple(_TABLE[dimension][2])
    if _MICRO_SIGN + "s" in units:
        units += (_GREEK_MU + "s",)
    return (*units, "") if dimension in _BARE_TEXT_ALLOWED else units


#: The units in which people read rates, the largest first, in bit/s.
RATES: Final = (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3), ("bit/s", 1.0))


def rate_in_words(rate: float, digits: int = 4) -> str:
    """Return a rate (bit/s) as people read it, rounded.

    Examples
    --------
    >>> rate_in_words(5.5e6)
    '5.5 Mbit/s'
    """
    fits = (one for one in RATES if rate >= one[1])
    name, unit = next(fits, RATES[-1])
    return f"{rate / unit:.{digits}g} {name}"


def format_quantity(value: float, dimension: str) -> str:
    """Write an SI value as the shortest text that `parse_quantity` reads back to the same value.

    Raises
    ------
    QuantityError
        If `value` is not one finite number.

    Examples
    --------
    >>> format_quantity(0.032, "time")
    '32ms'
    >>> format_quantity(1e7, "rate")
    '10Mbit/s'
    """
    choices = {
        "time": ("s", "ms", "us", "ns"),
        "rate": ("Gbit/s", "Mbit/s", "kbit/s", "bit/s"),
        "size": ("B",),
        "packets": ("packets",),
        "frequency": ("Hz",),
        "number": ("",),
        "fraction": ("",),
    }[dimension]
    if np.ndim(value):
        raise QuantityError(
            f"value = {show_value(value)} is an array: format one number at a time."
        )
    value = float(_as_float_array(value, dimension, "value"))
    space = " " if dimension == "packets" else ""
    texts = []
    for unit in choices:
        scaled = value / _TABLE[dimension][2].get(unit, 1.0)
        # 15 digits hide the rounding of the division; 17 always suffice in SI.
        for digits in (f"{scaled:.15g}", repr(scaled)):
            text = f"{digits}{space}{unit}"
            if _reads_as(text, dimension, value):
                texts.append(text)
                break
    return min(texts, key=len)


def _reads_as(text: str, dimension: str, value: float) -> bool:
    try:
        return parse_quantity(text, dimension) == value
    except QuantityError:  # too large in this unit, or infinite after rounding
        return False


def validate_quantity(
    value: object,
    dimension: str,
    name: str,
    *,
    low: float = 0.0,
    high: float = math.inf,
    closed: bool = False,
    usual: float = math.inf,
    usual_from: float = -math.inf,
) -> Real:
    """Turn a number, array or text into finite SI floats within ``low .. high``.

    Parameters
    ----------
    value : float, int, Fraction, Decimal, str, timedelta or array-like of them
        The quantity as a caller gave it; a list of texts, NumPy's timedelta64 and pandas' Series
        and Timedelta, too. JAX tracers in double precision pass through unchanged,
        as nothing can be said about their values.
    dimension, name : str
        As in `parse_quantity`.
    low, high : float
        The allowed range; ``low`` itself is allowed only if `closed`, ``high`` always.
    usual : float
        Up to where a caller's number without a unit is taken as it is; a larger one is, with a
        warning.
    usual_from : float
        From where it is; a smaller one, too, with a warning.

    Returns
    -------
    float or numpy.ndarray
        float64, in SI units.

    Raises
    ------
    QuantityError
        If it is no real number: bool, complex, bytes, NaN, infinite, single precision, bad text;
        or an array whose dimensions have names, which would be lost.
    DomainError
        If it lies outside the range, or is traced by JAX in single precision.
    """
    # What loops are made of, thousands of times: a plain number of which nothing is to be said.
    least, most = _MAGNITUDES
    if type(value) is float and (
        least <= value <= most and low < value <= high and usual_from <= value <= usual
    ):
        return value
    if is_traced(value):
        if value.dtype.kind == "f" and value.dtype.itemsize < 8:
            raise DomainError(
                f"{name} is {value.dtype} under JAX, which loses half of the digits: enable 64"
                " bits, e.g. by `with jax.enable_x64(True):` around the call."
            )
        traced: Any = value  # which computes as an array does
        number: Real = traced
        return number
    if has_labels(value):
        raise QuantityError(
            f"{name} has dimensions with names ({', '.join(map(str, value.dims))}), which only"
            f" loops and operating points keep: give {name} without names, by .to_numpy()."
        )
    original = value
    value = _as_numbers(value, dimension, name)
    if (
        isinstance(original, str)
        and type(value) is float
        and (least <= value <= most and low < value <= high)
    ):
        return value  # of text the unit is known
    array = _as_float_array(value, dimension, name)
    bad = (array < low) | (array > high) if closed else (array <= low) | (array > high)
    if bad.any():
        wanted = _TABLE[dimension][1]
        if dimension == "number" and low >= 0.5:
            wanted = wanted.replace("0.5", f"{2 * low:g}")
        raise DomainError(
            f"{name} = {_show_element(original, array, bad)} is outside"
            f" {_range_text(low, high, closed)}: give {wanted}."
        )
    size = np.abs(array)
    bad = (size > 0) & ((size < _MAGNITUDES[0]) | (size > _MAGNITUDES[1]))
    if bad.any():
        raise DomainError(
            f"{name} = {_show_element(original, array, bad)} is beyond the {_MAGNITUDES[0]:g} to"
            f" {_MAGNITUDES[1]:g} (SI) that the models compute with: give {_TABLE[dimension][1]}."
        )
    doubtful = (array > usual) | ((array < usual_from) & (array != 0.0))  # 0 is 0 in any unit
    if doubtful.any() and _has_no_unit(original) and given_by_caller(original):
        number = float(array[doubtful].flat[0])
        unit, meant = si_unit(dimension), _MEANT.get(dimension, "")
        warn_of(
            f"{name} = {number:.15g} is {number:.15g} {unit}: did you mean"
            f" '{number:.15g}{meant}'? Give '{number:.15g}{unit}' if not.",
            past=("dataclasses",),
        )
    return float(array) if array.ndim == 0 else array


def _has_no_unit(given: object) -> bool:
    """Return whether a quantity is a number, or has one in it, and no text or span of time."""
    if isinstance(given, (list, tuple)):
        return any(map(_has_no_unit, given))
    kind = getattr(getattr(given, "dtype", None), "kind", "")
    return kind in set("iuf") or isinstance(given, (int, float, Fraction, Decimal))


def validate_number(
    value: object,
    dimension: str,
    name: str,
    *,
    low: float = 0.0,
    high: float = math.inf,
    closed: bool = False,
    usual: float = math.inf,
    usual_from: float = -math.inf,
) -> float:
    """Turn a single number or text into a finite SI float from `low` to `high`.

    Parameters
    ----------
    value, dimension, name, low, high, closed, usual, usual_from
        As in `validate_quantity`.

    Raises
    ------
    QuantityError
        As `validate_quantity`, and if it is an array.
    """
    number = validate_quantity(
        value,
        dimension,
        name,
        low=low,
        high=high,
        closed=closed,
        usual=usual,
        usual_from=usual_from,
    )
    if np.ndim(number):
        raise QuantityError(f"{name} = {show_value(value)} is an array: give one number.")
    return float(number)


def validate_choice(value: object, options: Sequence[object], name: str) -> None:
    """Refuse what is none of a few words, whatever type it is of.

    Raises
    ------
    QuantityError
        Listing the options.
    """
    # Compared within one type only: an array has no truth value, and True == 1.
    if not any(isinstance(value, type(option)) and value == option for option in options):
        known = ", ".join(repr(option) for option in options)
        raise QuantityError(f"{name} = {show_value(value)} is unknown: give one of {known}.")


def broadcast_shape(values: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the shape to which named numbers and arrays broadcast together.

    Raises
    ------
    QuantityError
        If they do not, naming those of the arrays that disagree.

    Examples
    --------
    >>> broadcast_shape({"rtt": 0.1, "p": np.ones(3), "alpha": np.ones((2, 1))})
    (2, 3)
    """
    shape: tuple[int, ...] = ()
    seen: list[str] = []
    arrays = {name: value for name, value in values.items() if type(value) is not float}
    for name, value in arrays.items():
        own = np.shape(value)
        if own:
            seen.append(f"{name} of shape {own}")
        try:
            shape = np.broadcast_shapes(shape, own)
        except ValueError:
            raise QuantityError(
                f"{' and '.join(seen)} do not broadcast together: give numbers, or arrays whose"
                " shapes do by NumPy's rules."
            ) from None
    return shape


def _as_numbers(value: object, dimension: str, name: str) -> object:
    """Turn text, spans of time and exact fractions into numbers, one by one in arrays of them."""
    if isinstance(value, str):
        return parse_quantity(value, dimension, name)
    if isinstance(value, (Fraction, Decimal)):
        return float(value)
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if isinstance(value, timedelta) or kind == "m":
        if dimension != "time":
            wanted = _TABLE[dimension][1]
            raise QuantityError(f"{name} = {show_value(value)} is a time: give {wanted}.")
        if isinstance(value, timedelta):
            return value.total_seconds()
        return np.asarray(value) / np.timedelta64(1, "s")
    if kind and kind in "OTU":
        value = np.asarray(value, dtype=object).tolist()
    if isinstance(value, (list, tuple)):
        items = [_as_numbers(item, dimension, name) for item in value]
        return tuple(items) if isinstance(value, tuple) else items  # as given, for messages
    return value


def _as_float_array(value: object, dimension: str, name: str) -> FloatArray:
    wanted = _TABLE[dimension][1]

    def refused(reason: str) -> QuantityError:  # to print an array takes milliseconds
        return QuantityError(f"{name} = {show_value(value)} {reason}")

    # Objects without a buffer would be boxed by NumPy; name the type instead.
    if value is None or isinstance(value, (bytes, bytearray, memoryview, dict, set)):
        raise refused(f"is no number: give {wanted}.")
    try:
        # NumPy would box an integer of more than 64 bits.
        array = np.asarray(float(value) if type(value) is int else value)
    except OverflowError:
        raise refused(f"is too large for a float: give {wanted}.") from None
    except ValueError:  # ragged nested sequences
        raise refused(f"is no rectangular array: give {wanted}.") from None
    if array.dtype.kind not in "iuf" or _holds_bool(value):
        raise refused(f"is no real number: give {wanted}.")
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        raise refused(f"is {array.dtype}, which has lost half of the digits: pass float64.")
    if array.size == 0:
        raise refused(f"is an empty array: give {wanted}.")
    masked = sys.modules.get("numpy.ma")  # slow to import, and loaded if anything is masked
    if masked is not None and masked.is_masked(value):
        raise refused(f"has masked elements: fill them, or give {wanted}.")
    with np.errstate(over="ignore"):  # long doubles beyond float64 become infinite, seen below
        result = array.astype(np.float64)
    bad = ~np.isfinite(result)
    if bad.any():
        shown = _show_element(value, result, bad)
        raise QuantityError(f"{name} = {shown} is not finite: give {wanted}.")
    return result


def _holds_bool(value: object) -> bool:
    """Whether a (nested) list has a truth value in it, which NumPy takes for 0 or 1."""
    if not isinstance(value, (list, tuple)):
        return False
    return any(isinstance(item, (bool, np.bool_)) for item in np.array(value, dtype=object).flat)


def _show_element(given: object, array: FloatArray, bad: BoolArray) -> str:
    """Return what to print of a refused value: as given, or the first refused element of arrays."""
    if array.ndim:
        return repr(float(array[bad].flat[0]))
    return show_value(given if isinstance(given, (str, int)) else float(array))


def is_traced(value: object) -> TypeGuard[jax.Array]:
    """Return whether JAX is tracing this value, so that nothing can be said about it."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.core.Tracer)


def has_labels(value: object) -> TypeGuard[xarray.DataArray]:
    """Return whether this is an array of xarray's, whose dimensions have names."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(value, xarray.DataArray) and value.ndim > 0


def plain_row(value: object) -> object:
    """Return a labelled array without its labels, for what reads its numbers in their order."""
    return value.to_numpy() if has_labels(value) else value


def _range_text(low: float, high: float, closed: bool) -> str:
    left = f"[{low:g}" if closed else f"({low:g}"
    return f"{left}, {'inf)' if math.isinf(high) else f'{high:g}]'}"
