"""Fields of JSON that may be of any type, as in a file that was damaged or written by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any


def part(value: object, *names: str) -> dict[str, Any]:
    """Return the object that lies under some names, one in the other; empty where there is none.

    Examples
    --------
    >>> part({"a": {"b": {"c": 1}}}, "a", "b"), part({"a": [1]}, "a", "b")
    ({'c': 1}, {})
    """
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def entries(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list; nothing of what is none.

    Examples
    --------
    >>> list(entries([{"a": 1}, 2, {"a": 3}])), list(entries(None))
    ([{'a': 1}, {'a': 3}], [])
    """
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, dict))


def number(value: object) -> float:
    """Return a number that JSON or a text has; NaN of anything else, and of what is not finite.

    Examples
    --------
    >>> number(3), number("2.5"), number("-nan"), number(None), number(True)
    (3.0, 2.5, nan, nan, nan)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.nan
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return math.nan
    return found if math.isfinite(found) else math.nan


def text_of(value: object) -> str:
    """Return a text; "" of anything else.

    Examples
    --------
    >>> text_of("cubic"), text_of(5)
    ('cubic', '')
    """
    return value if isinstance(value, str) else ""
