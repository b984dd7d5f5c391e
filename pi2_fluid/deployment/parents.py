"""Which queue stands below which, by the handles and parents that tc prints.

Source: tc(8), classful queues; tc-mq(8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from pi2_fluid.tc.observing.rates import place_of

Node = TypeVar("Node")

#: The kinds whose children may name no handle: those of a device's default queue.
_DEFAULTS: Final = frozenset({"mq", "mqprio"})
_NO_HANDLE: Final = "0:"


def handle_above(parent: str | None) -> str:
    """Return the handle of the queue that a parent is of; "" at the top.

    Examples
    --------
    >>> handle_above("1:10"), handle_above(":5"), handle_above("root")
    ('1:', '0:', '')
    """
    major, colon, _ = place_of(parent or "").partition(":")
    return f"{major}:" if major and colon else _NO_HANDLE * bool(colon)


def handle_below(kind: str, handle: str | None) -> str:
    """Return the handle by which others can name a queue as their parent; "" where none can.

    Examples
    --------
    >>> handle_below("htb", "1:"), handle_below("mq", "0:"), handle_below("pie", "0:")
    ('1:', '0:', '')
    """
    place = place_of(handle or "") or _NO_HANDLE
    return place if place != _NO_HANDLE or kind in _DEFAULTS else ""


def children_of(
    nodes: Iterable[Node], above: Callable[[Node], Node | None]
) -> dict[int, list[Node]]:
    """Return what is right below each, in order, by the identity of what it is below."""
    children: dict[int, list[Node]] = {}
    for node in nodes:
        owner = above(node)
        if owner is not None and owner is not node:
            children.setdefault(id(owner), []).append(node)
    return children
