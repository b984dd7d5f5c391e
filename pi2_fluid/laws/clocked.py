"""Queues that drop by a clock: why they have no loop, and which engine runs them."""

from __future__ import annotations

from typing import Final

__all__ = ["NO_LOOP"]

_CLOCKED: Final = "{} drops by {}: it has no linear loop, and no margins. {} runs it: kind = {}."
#: Why there is no loop to judge, by kind, and what answers instead.
NO_LOOP: Final = {
    "codel": _CLOCKED.format("CoDel", "a clock", "The engine Packets", '"codel"'),
    "fq_codel": _CLOCKED.format(
        "fq_codel", "CoDel's clock", "The engine Linux", '"qdisc", name = "fq_codel"'
    ),
    "cake": _CLOCKED.format(
        "cake", "CoDel's clock and BLUE's steps", "The engine Linux", '"qdisc", name = "cake"'
    ),
}
