"""Where packets wait in a tree of queues, and how the tree hangs together.

A queue with others below it counts what they hold, so only those with none below are looked at.

Source: Linux 6.18, net/sched/sch_api.c (qdisc_tree_reduce_backlog).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pi2_fluid.deployment.flow_counters import in_ms
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.observing import Reading, Series
from pi2_fluid.tc.observing.rates import place_of
from pi2_fluid.units import rate_in_words

__all__ = ["tree_of", "waiting_of"]

_NOWHERE: Final = (
    "nothing waits in any queue that is shown, at {}. Look with `tc -s` while people feel the"
    " delay: if nothing waits then either, it is elsewhere, in the device's ring or driver, behind"
    " it (modem, access point, the next hop), or in the other direction."
)
#: The kinds whose children may name no handle: those of a device's default queue.
_DEFAULTS: Final = frozenset({"mq", "mqprio"})
_NAMED: Final = 4


def waiting_of(series: Sequence[Series], reading: Reading, rate: float | None = None) -> str:
    """Return which queue has the backlog, in a sentence; "" where no counters are shown.

    Of several instants it is the largest of each. `rate` is that of the link (bit/s), where the
    text has none.
    """
    counted = [one for one in series if any("qlen" in each for each in one.statistics)]
    if not counted:
        return ""
    found: list[tuple[int, str]] = []
    for one in counted:
        fullest = max(one.statistics, key=lambda each: int(each.get("qlen", 0)))
        packets, size = int(fullest.get("qlen", 0)), int(fullest.get("backlog", 0))
        if packets == 0 and size == 0:
            continue
        if _children(one.last, [other.last for other in series], reading):
            continue
        above = reading.rate_above(one.last) or rate
        takes = f", {in_ms(8.0 * size / above)} at {rate_in_words(above, 3)}" if above else ""
        held = f"{packets} packet{'s' * (packets != 1)} ({size} bytes{takes})"
        verb = "waits" if packets == 1 else "wait"
        found.append((packets, f"{held} {verb} in {one.last.name}{_at(one.last)}"))
    instants = max(len(one.statistics) for one in counted)
    if not found:
        return _NOWHERE.format(f"any of {instants} instants" if instants > 1 else "this instant")
    found.sort(reverse=True)
    more = f", and in {len(found) - _NAMED} more" * (len(found) > _NAMED)
    most = "at most " * (instants > 1)
    return f"{most}{'; '.join(text for _, text in found[:_NAMED])}{more}."


def _at(block: Block) -> str:
    return "" if block.parent in {None, "root"} else f" parent {block.parent}"


def _children(block: Block, among: Iterable[Block], reading: Reading) -> list[Block]:
    """Return the queues right below one, or below a class of it."""
    where = reading.where(block)
    return [
        other
        for other in among
        if other is not block and reading.where(other) == where and _is_below(other, block)
    ]


def _is_below(other: Block, block: Block) -> bool:
    major, colon, _ = place_of(other.parent or "").partition(":")
    handle = place_of(block.handle)
    if not major:  # ":5", of a default queue, which has no handle
        return bool(colon) and handle == "0:" and block.kind in _DEFAULTS
    return bool(colon) and handle == f"{major}:" != "0:"


def tree_of(series: Sequence[Series], reading: Reading) -> tuple[str, ...]:
    """Return each device's queues as lines, those below others indented; () where none is.

    Queues alike below one are a line.
    """
    blocks = [one.last for one in series if one.last.kind]
    lines: list[str] = []
    for block in blocks:
        placed = [other for other in blocks if block in _children(other, blocks, reading)]
        if not placed and _children(block, blocks, reading):
            lines += _branch(block, blocks, reading, 0)
    return tuple(lines)


def _branch(block: Block, blocks: Sequence[Block], reading: Reading, depth: int) -> Iterator[str]:
    rate = reading.rate_above(block)
    at = rate_in_words(rate, 3) if rate is not None and depth else ""
    where = "" if block.parent in {None, "root"} else f" at {block.parent}"
    yield f"{'  ' * depth}{block.name}{where}{f', {at}' if at else ''}"
    if depth > len(blocks):
        return
    alike: dict[str, list[Block]] = {}
    for child in _children(block, blocks, reading):
        below = _children(child, blocks, reading)
        key = f"{child.kind} {child.handle}" if not below else f"{child.order}"
        alike.setdefault(key, []).append(child)
    for group in alike.values():
        if len(group) == 1:
            yield from _branch(group[0], blocks, reading, depth + 1)
        else:
            first, last = group[0].parent, group[-1].parent
            names = f"{group[0].kind} {group[0].handle}"
            yield f"{'  ' * (depth + 1)}{len(group)} times {names} at {first} to {last}"
