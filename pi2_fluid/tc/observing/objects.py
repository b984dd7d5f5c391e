"""The JSON that stands in a text: where it begins, and the objects of tc in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.tc.observing.times import time_in

_BEGIN: Final = re.compile(r"\[\s*\{|\[\s*\]|\{\s*(?:\"[\w@ .-]*\"\s*:|\})")
_DECODER: Final = json.JSONDecoder()


def begins_json(text: str, at: int) -> bool:
    """Say whether JSON begins at a place of a text, and no ``[Match]``, ``[root@fw]#`` or ``{``."""
    return _BEGIN.match(text, at) is not None


def read_json(text: str, at: int) -> tuple[object, int]:
    """Return the value that begins at a place of a text, and where it ends.

    Raises
    ------
    QuantityError
        If it cannot be read.
    """
    try:
        value: tuple[object, int] = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else "no number or too deep"
        raise QuantityError(
            f"the JSON cannot be read ({reason}): give the whole output of `tc -j qdisc show`."
        ) from None
    return value


def objects_in(value: object) -> Iterator[tuple[dict[str, Any], float | None]]:
    """Yield what looks like tc's, and the time that stands beside it or above."""
    waiting: list[tuple[object, float | None]] = [(value, None)]
    while waiting:
        inner, time = waiting.pop()
        if isinstance(inner, dict):
            beside = time_in(inner)
            time = time if beside is None else beside
            if isinstance(inner.get("kind"), str) or isinstance(inner.get("class"), str):
                yield inner, time
                continue
            inner = list(inner.values())
        if isinstance(inner, list):
            waiting += [(each, time) for each in reversed(inner)]
