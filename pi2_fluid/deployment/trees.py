"""Where packets wait in a tree of queues, and how the tree hangs together.

A queue with others below it counts what they hold, so only those with none below are looked at.

Source: Linux 6.18, net/sched/sch_api.c (qdisc_tree_reduce_backlog).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from pi2_fluid.deployment.flow_counters import in_ms
from pi2_fluid.deployment.parents import children_of, handle_above, handle_below
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.observing import Reading, Series
from pi2_fluid.tc.observing.observation import Where
from pi2_fluid.units import rate_in_words

_NOWHERE: Final = (
    "nothing waits in any queue that is shown, at {}. Look with `tc -s` while people feel the"
    " delay: if nothing waits then either, it is elsewhere, in the device's ring or driver, behind"
    " it (modem, access point, the next hop), or in the other direction."
)
_NAMED: Final = 4
_INDENT: Final = "  "


def waiting_of(series: Sequence[Series], reading: Reading, rate: float | None = None) -> str:
    """Return which queue has the backlog, in a sentence; "" where no counters are shown.

    Of several instants it is the largest of each. `rate` is that of the link (bit/s), where the
    text has none.
    """
    counted = [one for one in series if any("qlen" in each for each in one.statistics)]
    if not counted:
        return ""
    below = _below([one.last for one in series], reading)
    backlogs: list[tuple[int, str]] = []
    for one in counted:
        fullest = max(one.statistics, key=lambda each: int(each.get("qlen", 0)))
        packets, size = int(fullest.get("qlen", 0)), int(fullest.get("backlog", 0))
        if (packets == 0 and size == 0) or id(one.last) in below:
            continue
        above = reading.rate_above(one.last) or rate
        takes = f", {in_ms(8.0 * size / above)} at {rate_in_words(above, 3)}" if above else ""
        held = f"{packets} packet{'s' * (packets != 1)} ({size} bytes{takes})"
        verb = "waits" if packets == 1 else "wait"
        backlogs.append((packets, f"{held} {verb} in {one.last.name}{_at(one.last)}"))
    instants = max(len(one.statistics) for one in counted)
    if not backlogs:
        return _NOWHERE.format(f"any of {instants} instants" if instants > 1 else "this instant")
    backlogs.sort(reverse=True)
    more = f", and in {len(backlogs) - _NAMED} more" * (len(backlogs) > _NAMED)
    most = "at most " * (instants > 1)
    return f"{most}{'; '.join(text for _, text in backlogs[:_NAMED])}{more}."


def _at(block: Block) -> str:
    return "" if block.parent in {None, "root"} else f" parent {block.parent}"


def _below(blocks: Sequence[Block], reading: Reading) -> dict[int, list[Block]]:
    """Return the queues right below each, or below a class of it, by the identity of its block."""
    handles: dict[tuple[Where, str], Block] = {}
    for block in blocks:
        if handle := handle_below(block.kind, block.handle):
            handles.setdefault((reading.where(block), handle), block)
    return children_of(
        blocks, lambda block: handles.get((reading.where(block), handle_above(block.parent)))
    )


def tree_of(series: Sequence[Series], reading: Reading) -> tuple[str, ...]:
    """Return each device's queues as lines, those below others indented; () where none is.

    Queues alike below one are a line.
    """
    blocks = [one.last for one in series if one.last.kind]
    below = _below(blocks, reading)
    placed = {id(child) for children in below.values() for child in children}
    tops = [block for block in blocks if id(block) in below and id(block) not in placed]
    return tuple(line for top in tops for line in _branch(top, below, reading, 0))


def branches(tree: Sequence[str]) -> bool:
    """Say whether queues of `tree_of` stand beside each other below one.

    Examples
    --------
    >>> branches(["htb 1:", "  pie 2: at 1:10"]), branches(["mq 0:", "  4 times pie 0:"])
    (False, True)
    """
    depths = [len(line) - len(line.lstrip()) for line in tree]
    beside = any(this and this <= before for before, this in pairwise(depths))
    return beside or any(" times " in line for line in tree)


def _branch(
    block: Block, below: Mapping[int, list[Block]], reading: Reading, depth: int
) -> Iterator[str]:
    rate = reading.rate_above(block)
    at = f", {rate_in_words(rate, 3)}" if rate is not None and depth else ""
    where = "" if block.parent in {None, "root"} else f" at {block.parent}"
    yield f"{_INDENT * depth}{block.name}{where}{at}"
    alike: dict[str, list[Block]] = {}
    for child in below.get(id(block), ()):
        key = f"{child.kind} {child.handle}" if id(child) not in below else f"{child.order}"
        alike.setdefault(key, []).append(child)
    for group in alike.values():
        if len(group) == 1:
            yield from _branch(group[0], below, reading, depth + 1)
        else:
            first, last = group[0].parent, group[-1].parent
            names = f"{group[0].kind} {group[0].handle}"
            yield f"{_INDENT * (depth + 1)}{len(group)} times {names} at {first} to {last}"
