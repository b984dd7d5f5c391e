"""Which queue or class stands below which, and what is left out of a tree.

Source: tc(8), classful queues; tc-htb(8), tc-mq(8).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pi2_fluid.deployment.parents import children_of, handle_above, handle_below
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
    queues = [one for one in shown if not one.is_flow]
    children = children_of(queues, lambda one: above_of(one, queues))
    lower = {id(child) for below in children.values() for child in below}
    rows: list[tuple[int, Shown]] = []
    placed: set[int] = set()

    def put(one: Shown, depth: int) -> None:
        if id(one) in placed:
            return
        placed.add(id(one))
        rows.append((depth, one))
        for child in children.get(id(one), ()) if depth < _DEEPEST else ():
            put(child, depth + 1)

    for one in (*(one for one in queues if id(one) not in lower), *queues):
        put(one, 0)  # the second time what stands in a circle, which has no top
    return rows


def above_of(queue: Shown, shown: Sequence[Shown]) -> Shown | None:
    """Return the class or queue right above one; None at the top."""
    parent = queue.parent
    if queue.is_class and (parent is None or parent == "root"):
        parent = f"{queue.handle.partition(':')[0]}:"
    place, major = place_of(parent or ""), handle_above(parent)
    if not major:
        return None
    others = [one for one in shown if one is not queue]
    classes = (one for one in others if one.is_class and one.handle == place)
    owners = (
        one for one in others if not one.is_class and handle_below(one.kind, one.handle) == major
    )
    return next(classes, None) or next(owners, None)


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
