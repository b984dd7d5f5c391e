"""Queues that drop by a clock: why they have no loop, and which engine runs them."""

from __future__ import annotations

from typing import Final, NamedTuple


class _Clocked(NamedTuple):
    """What it drops by, and who runs it, as what."""

    clock: str
    engine: str
    kind: str


CLOCKED: Final = {
    "codel": _Clocked("a clock", "Packets", '"codel"'),
    "fq_codel": _Clocked("CoDel's clock", "Packets", '"fq_codel"'),
    "cake": _Clocked("CoDel's clock and BLUE's steps", "Linux", '"qdisc", name = "cake"'),
}
#: Why there is no loop to judge, by kind, and what answers instead.
NO_LOOP: Final = {
    name: f"{'CoDel' if name == 'codel' else name} drops by {one.clock}: it has no linear loop, and"
    f" no margins. The engine {one.engine} runs it: kind = {one.kind}."
    for name, one in CLOCKED.items()
}


def refusal(name: str) -> str:
    """Return why such a queue has no gains, and what to do, as one sentence without its subject.

    Examples
    --------
    >>> print(refusal("cake"))
    drops by CoDel's clock and BLUE's steps and has no loop: run it by the engine Linux, with kind =
    "qdisc", name = "cake".
    """
    one = CLOCKED[name]
    return (
        f"drops by {one.clock} and has no loop: run it by the engine {one.engine}, with kind ="
        f" {one.kind}."
    )
