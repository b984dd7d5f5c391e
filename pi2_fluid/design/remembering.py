"""What follows from a region and a queue alone is computed once: among alternatives it recurs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, ParamSpec, TypeVar, cast

from pi2_fluid.laws.registry import kind_of

P = ParamSpec("P")
T = TypeVar("T")

_MOST: Final = 256  # answers
_forget: Final[list[Callable[[], None]]] = []


def remembered(function: Callable[P, T]) -> Callable[P, T]:
    """Let a function of a region, a queue and more keep its last answers.

    Those of a law of one's own are kept as long as the very region is asked: what its code says may
    change between two calls.
    """
    cached = lru_cache(_MOST)(function)
    _forget.append(cached.cache_clear)

    @wraps(function)
    def answer(*args: P.args, **named: P.kwargs) -> T:
        region, aqm, *_ = args
        laws = (aqm, *region.senders)  # type: ignore[attr-defined]
        if any(kind_of(law) is None for law in laws):
            own: dict[object, T] = region.kept  # type: ignore[attr-defined]
            key = (function, args[1:], tuple(sorted(named.items())))
            if key not in own:
                own[key] = function(*args, **named)
            return own[key]
        return cast("Callable[P, T]", cached)(*args, **named)

    return answer


def forget() -> None:
    """Forget all answers, as where they are timed."""
    for clear in _forget:
        clear()
