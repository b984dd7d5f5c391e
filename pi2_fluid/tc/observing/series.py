"""The same queue at one instant after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pi2_fluid.tc.block import Block
from pi2_fluid.tc.observing.reader import Reading
from pi2_fluid.tc.statistics import MOMENTARY


@dataclass(kw_only=True)
class Series:
    """One queue, at each instant at which it was shown.

    Parameters
    ----------
    blocks : list of Block
        In the order of the text, one at least.
    times : list of float or None
        When each was (s).
    """

    blocks: list[Block]
    times: list[float | None] = field(default_factory=list)

    @property
    def last(self) -> Block:
        """How it was shown last."""
        return self.blocks[-1]

    @property
    def statistics(self) -> list[dict[str, Any]]:
        """Its counters, in order; none where none were shown."""
        return [block.statistics for block in self.blocks if block.statistics is not None]


def series_of(reading: Reading, *, one_device: bool = False) -> list[Series]:
    """Return each queue once, in the order of the text.

    Two outputs are two instants of one queue where they name the same device, the queue has the
    same place and options, and no counter has fallen. All others are queues of their own.

    Parameters
    ----------
    reading : Reading
    one_device : bool
        Whether outputs that name no device are known to be of the same.
    """
    series: list[Series] = []
    latest: dict[Any, Series] = {}
    for block in reading.blocks:
        where = reading.where(block)
        time = reading.time(block)
        known = where[2] is not None or one_device
        key = (where, *_identity(block))
        before = latest.get(key)
        if known and before is not None and _goes_on(before.last, block):
            before.blocks.append(block)
            before.times.append(time)
            continue
        latest[key] = Series(blocks=[block], times=[time])
        series.append(latest[key])
    return series


def _identity(block: Block) -> tuple[object, ...]:
    options = block.options if block.ours else block.words
    return block.kind, block.parent, block.handle, str(options), block.proposed


def _goes_on(before: Block, after: Block) -> bool:
    """Say whether counters say that one is what became of the other."""
    if before.trouble or after.trouble or before.proposed:
        return False
    return before.statistics is not None and _none_fell(before.statistics, after.statistics)


def _none_fell(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> bool:
    return after is not None and all(
        after.get(name, value) >= value for name, value in before.items() if name not in MOMENTARY
    )
