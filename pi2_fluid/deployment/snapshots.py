"""Outputs of tc one after the other: the same queues again, with counters that went on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from pi2_fluid.deployment.counters import heard_of, words_of
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.options import KINDS
from pi2_fluid.tc.statistics import STRANGERS

__all__ = ["Snapshots", "last_snapshots", "observed_of"]

#: The counters of each queue, in order, by what tells it from others.
Snapshots: TypeAlias = Mapping[Any, list[dict[str, Any]]]


def last_snapshots(blocks: Iterable[Block]) -> tuple[list[Block], Snapshots]:
    """Return each queue as it was shown last, and the counters of all its snapshots.

    Queues are the same where device, handle and options are; those that tc names neither by a
    device nor by a handle of their own stay apart.
    """
    kept: dict[Any, Block] = {}
    counters: dict[Any, list[dict[str, Any]]] = {}
    for number, block in enumerate(blocks):
        key = _key(block)
        nameless = block.dev is None and block.handle in {"", "0:"}
        if block.statistics is None or block.trouble is not None or nameless:
            kept[number] = block
        else:
            kept[key] = block
            counters.setdefault(key, []).append(block.statistics)
    return list(kept.values()), counters


def observed_of(block: Block, counters: Snapshots) -> tuple[str, ...]:
    """Return what the counters of a queue say, see `words_of`."""
    if block.statistics is None or block.kind not in {*KINDS, *STRANGERS}:
        return ()
    shown = counters.get(_key(block), [block.statistics])
    if "packets" not in shown[-1]:
        return ()
    options = block.options if block.ours else block.words
    marks = block.kind == "dualpi2" or bool(options.get("ecn", 0) != 0)
    k = float(block.options.get("coupling_factor", 2.0))
    return words_of(heard_of(block.kind, shown, marks=marks, k=k))


def _key(block: Block) -> tuple[object, ...]:
    options = block.options if block.ours else block.words
    return (block.kind, block.dev, block.parent, block.handle, str(options))
