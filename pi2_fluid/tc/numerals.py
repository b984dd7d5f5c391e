"""Numbers as the C library reads them from text, by which tc reads its arguments.

Both skip spaces before a number and take a sign. Real ones may be hexadecimal, infinite or none at
all; whole ones are hexadecimal or octal where the base is left open, and wrap where they are
negative.

Source: ISO C, strtod and strtoul (7.22.1.3 and 7.22.1.4 of C11).
"""

from __future__ import annotations

import math
import re
from typing import Final

_WORD: Final = 2**64  # of an unsigned long
_SPACE: Final = r"[ \t\n\v\f\r]*"
_REAL: Final = re.compile(
    _SPACE + r"(?P<sign>[+-]?)"
    r"(?:(?P<hex>0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]{1,5})?)"
    r"|(?P<decimal>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,5})?)"
    r"|(?P<infinite>[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)"
    r"|(?P<none>[nN][aA][nN](?:\([0-9A-Za-z_]*\))?))"
)
_DIGITS: Final = {0: r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*", 10: r"[0-9]+"}
_WHOLE: Final = {
    base: re.compile(_SPACE + rf"([+-]?)({digits})") for base, digits in _DIGITS.items()
}
_LONGEST: Final = 400  # letters of a number that anyone means


def read_real(text: str) -> tuple[float, str] | None:
    """Return the real number that a text begins with, and what stands behind it; None without one.

    Examples
    --------
    >>> read_real("+5ms"), read_real("0x10"), read_real(" infs"), read_real("ms")
    ((5.0, 'ms'), (16.0, ''), (inf, 's'), None)
    """
    match = _REAL.match(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    sign = -1.0 if match["sign"] == "-" else 1.0
    return sign * _value_of(match), text[match.end() :]


def _value_of(match: re.Match[str]) -> float:
    if match["infinite"] is not None:
        return math.inf
    if match["none"] is not None:
        return math.nan
    if match["decimal"] is not None:
        return float(match["decimal"])
    try:
        return float.fromhex(match["hex"])
    except OverflowError:
        return math.inf


def read_whole(text: str, base: int = 0) -> int | None:
    """Return the whole number that a text is, modulo 2^64; None if it is none or beyond that.

    Parameters
    ----------
    text : str
    base : {0, 10}
        0 is for decimal numbers, hexadecimal ones with 0x, and octal ones with 0.

    Examples
    --------
    >>> read_whole("+3"), read_whole("0x10"), read_whole("010"), read_whole("010", 10)
    (3, 16, 8, 10)
    >>> read_whole("-1") == 2**64 - 1, read_whole("3p"), read_whole("08")
    (True, None, None)
    """
    match = _WHOLE[base].fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    sign, digits = match.groups()
    octal = base == 0 and digits[0] == "0" and digits[1:2].isdecimal()
    number = int(digits, 8 if octal else base)
    if number >= _WORD:
        return None
    return -number % _WORD if sign == "-" else number
