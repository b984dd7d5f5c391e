"""Which queue or class stands below which, and what is left out of a tree.

Source: tc(8), classful queues; tc-htb(8), tc-mq(8).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pi2_fluid.tc.observing.following import Shown
from pi2_fluid.tc.observing.rates import SHAPERS, as_rate, place_of

_DEEPEST: Final = 64  # a circle of parents ends there


def ordered(shown: Sequence[Shown]) -> list[tuple[int, Shown]]:
    """Return depth and queue or class, each behind what it stands below; classes of flows go.

    Examples
    --------
    >>> root = Shown(kind="htb", handle="1:", parent="root")
    >>> shaped = Shown(kind="htb", handle="1:10", parent="root", is_class=True, rate=5e6)
    >>> leaf = Shown(kind="pie", handle="110:", parent="1:10")
    >>> [(depth, one.name) for depth, one in ordered([root, leaf, shaped])]
    [(0, 'htb 1:'), (1, 'class htb 1:10'), (2, 'pie 110:')]
    """
    kept = [one for one in shown if not one.is_flow]
    found: list[tuple[int, Shown]] = []
    above = {id(one): above_of(one, kept) for one in kept}
    left = list(kept)

    def put(one: Shown, depth: int) -> None:
        left.remove(one)
        found.append((depth, one))
        if depth < _DEEPEST:
            for each in kept:
                if above[id(each)] is one and each in left:
                    put(each, depth + 1)

    for one in kept:
        if above[id(one)] is None and one in left:
            put(one, 0)
    for one in list(left):
        if one in left:
            put(one, 0)
    return found


def above_of(one: Shown, shown: Sequence[Shown]) -> Shown | None:
    """Return the class or queue right above one; None at the top."""
    parent = one.parent
    if one.is_class and (parent is None or parent == "root"):
        parent = f"{one.handle.partition(':')[0]}:"
    if parent is None or parent == "root":
        return None
    place = place_of(parent)
    by_class = next(
        (each for each in shown if each.is_class and each is not one and each.handle == place), None
    )
    if by_class is not None:
        return by_class
    major = f"{place.partition(':')[0] or '0'}:"
    return next(
        (
            each
            for each in shown
            if not each.is_class and each is not one and (place_of(each.handle) or "0:") == major
        ),
        None,
    )


def rate_of(one: Shown) -> float | None:
    """Return the most that a queue or class lets through (bit/s); None where it has no rate."""
    if one.is_class:
        return one.rate
    word = SHAPERS.get(one.kind)
    if word is None:
        return None
    value = one.options().get(word)
    if isinstance(value, dict):  # as netem has it
        value = value.get("rate")
    return as_rate(value)


def shaped_by(one: Shown, shown: Sequence[Shown]) -> tuple[Shown, float] | None:
    """Return the shaper with the least rate at or above a queue, and that rate (bit/s)."""
    found: tuple[Shown, float] | None = None
    here: Shown | None = one
    for _ in range(_DEEPEST):
        if here is None:
            break
        rate = rate_of(here)
        if rate is not None and (found is None or rate < found[1]):
            found = here, rate
        here = above_of(here, shown)
    return found
