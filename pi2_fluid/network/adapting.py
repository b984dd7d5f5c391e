"""Cells made to measure: at another rate, over other paths, with more or fewer flows, with L4S.

Whatever is asked for, a cell stays what it is: its classes, its events, and what is short or long.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value, warn_of
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.senders.cubic import Cubic
from pi2_fluid.laws.senders.prague import Prague
from pi2_fluid.network.cells import Cell
from pi2_fluid.network.changes import Change
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.long_flows import read_counts
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.transfers import Transfers
from pi2_fluid.units import LONG_PATH, SLOW_LINK, validate_quantity

# Products of decimals are rounded.
_EXACT: Final = 1e-9

#: Classes in the place of one, with how many of so many of its flows each has; and their numbers.
_Parts = list[tuple[Flows, Callable[[int], int]]]


def at_rate(cells: Sequence[Cell], rate: object) -> list[Cell]:
    """Return cells at a rate (bit/s), and in proportion what is sent whatever becomes of it.

    That are changes of the capacity, senders of constant rate, and transfers that arrive; the
    buffer holds packets for as long as it did.
    """
    wanted = float(validate_quantity(rate, "rate", "rate", usual_from=SLOW_LINK))
    return [_replaced(cell, _at_rate(cell, wanted)) for cell in cells]


def over_paths(cells: Sequence[Cell], rtt: object, span: tuple[float, float]) -> list[Cell]:
    """Return cells whose base round-trip times span others (s); their own span is given.

    The logarithm of a time is mapped from the one span to the other; what lies outside its own goes
    to the nearest end. Where all are one, they become the geometric middle.
    """
    asked = _span_of(rtt)
    return [
        _with_flows(
            cell,
            [
                flow
                if flow.sender.constant_rate is not None
                else dataclasses.replace(flow, base_rtt=_mapped(float(flow.base_rtt), span, asked))
                for flow in cell.scenario.flows
            ],
        )
        for cell in cells
    ]


def with_long_flows(cells: Sequence[Cell], long: object) -> list[Cell]:
    """Return cells with other numbers of long flows: between the fewest and the most, whole ones.

    The logarithm of how many there are at once is mapped from the span of all cells to the one that
    is asked for. Every class keeps at least one flow.
    """
    few, most = read_counts(long, "long")
    if most is None:
        raise QuantityError(
            f"long = {show_value(long)} has no most: give the fewest and the most, e.g. (1, 4)."
        )
    spans = [cell.long_flows for cell in cells if cell.long_flows[0]]
    if not spans:
        return list(cells)
    own = (float(min(low for low, _ in spans)), float(max(high for _, high in spans)))

    def wanted(count: int) -> int:
        return math.floor(_mapped(float(count), own, (float(few), float(most))) + 0.5)

    made = [_with_counts(cell, wanted) for cell in cells]
    beyond = [cell.name for cell in made if cell.long_flows[1] > most]
    if beyond:
        warn_of(
            f"long = {show_value(few if few == most else (few, most))}: more than {most} long flows"
            " are at once in"
            f" {', '.join(map(repr, beyond))}, for each of their classes keeps at least one."
        )
    return made


def with_l4s(cells: Sequence[Cell], share: object) -> list[Cell]:
    """Return cells of whose long flows this share is L4S: whole flows, the others Classic.

    What becomes L4S is Prague; what becomes Classic is what most Classic long flows of the cell
    are, Cubic where there are none. A half goes to Classic.
    """
    wanted = float(validate_quantity(share, "number", "l4s", high=1.0, closed=True))
    return [_with_l4s(cell, wanted) for cell in cells]


def _at_rate(cell: Cell, rate: float) -> Scenario:
    scenario = cell.scenario
    times = rate / float(scenario.link.capacity)
    link = dataclasses.replace(scenario.link, capacity=rate)
    given: object = scenario.link.buffer  # None: for as long, whatever the rate
    if given is not None:
        link = dataclasses.replace(link, buffer=float(_up(float(scenario.link.buffer) * times)))
    changes = [
        change
        if change.capacity is None
        else dataclasses.replace(change, capacity=float(change.capacity) * times)
        for change in scenario.changes
    ]
    flows = [_offering(flow, times, cell.name) for flow in scenario.flows]
    return dataclasses.replace(scenario, link=link, flows=tuple(flows), changes=tuple(changes))


def _offering(flow: Flows, times: float, cell: str) -> Flows:
    """Return a class that offers so many times as much, if it does not wait for answers."""
    if isinstance(flow, Transfers) and flow.arrivals is not None:
        most = max(float(flow.count), float(_up(float(flow.count) * times)))
        return dataclasses.replace(flow, arrivals=float(flow.arrivals) * times, count=most)
    rate = flow.sender.constant_rate
    if rate is None:
        return flow
    sender = flow.sender.at_bitrate(float(rate) * times)
    if sender is None:
        raise UnsupportedError(
            f"cell {show_value(cell)} has a {type(flow.sender).__name__}, whose rate is its own and"
            " cannot be set: use Cbr, or leave rate out."
        )
    return dataclasses.replace(flow, sender=sender)


def _span_of(rtt: object) -> tuple[float, float]:
    """Return two times (s) from one, or two."""
    ends = list(rtt) if isinstance(rtt, (tuple, list)) else [rtt, rtt]
    if len(ends) != 2:
        raise QuantityError(
            f"rtt = {show_value(rtt)} is neither a time nor two: give one, or the shortest and the"
            ' longest, e.g. ("10ms", "80ms").'
        )
    low, high = (float(validate_quantity(end, "time", "rtt", usual=LONG_PATH)) for end in ends)
    if high < low:
        raise DomainError(f"rtt = {show_value(rtt)} ends before it begins: swap the two.")
    return low, high


def _mapped(value: float, span: tuple[float, float], onto: tuple[float, float]) -> float:
    """Return where a value of one span lies in another, by logarithms; ends stay ends."""
    if span == onto and span[0] <= value <= span[1]:
        return value
    if onto[0] == onto[1]:
        return onto[0]
    if span[0] == span[1]:
        return math.sqrt(onto[0] * onto[1])
    if value <= span[0]:
        return onto[0]
    if value >= span[1]:
        return onto[1]
    part = math.log(value / span[0]) / math.log(span[1] / span[0])
    return onto[0] * math.pow(onto[1] / onto[0], part)


def _with_counts(cell: Cell, wanted: Callable[[int], int]) -> Cell:
    """Return a cell in which as many long flows as there are at once become as many as is wanted.

    A class gets what its flows add to those that are there before it, and with it.
    """
    numbers: dict[str, Callable[[int], int]] = {}
    before: list[tuple[str, Flows]] = []
    for name, flow in _long(cell):
        beside = [(other, there) for other, there in before if _meet(there, flow, cell.scenario)]
        old = sum(int(there.count) for _, there in beside)
        new = sum(numbers[other](int(there.count)) for other, there in beside)

        def number(count: int, old: int = old, new: int = new) -> int:
            return max(1, wanted(old + count) - new) if count else 0

        numbers[name] = number
        before.append((name, flow))

    def scaled(name: str, flow: Flows) -> _Parts:
        return [(flow, numbers.get(name, lambda count: count))]

    return _in_parts(cell, scaled)


def _with_l4s(cell: Cell, share: float) -> Cell:
    """Return a cell with a share of L4S in its long flows, of those that come together alike."""
    together: dict[tuple[float, float | None], list[tuple[str, Flows]]] = {}
    for name, flow in _long(cell):
        stop = None if flow.stop is None else float(flow.stop)
        together.setdefault((float(flow.start), stop), []).append((name, flow))
    turned: dict[str, int] = {}  # how many of a class become the other
    passed = marked = 0
    for group in together.values():
        passed += sum(int(flow.count) for _, flow in group)
        wanted = _part(passed, share) - marked
        marked += wanted
        l4s = sum(int(flow.count) for _, flow in group if _is_l4s(flow))
        turned |= _turned(group, wanted - l4s)
    classic = _usual_classic(cell)

    def parts(name: str, flow: Flows) -> _Parts:
        own, other = int(flow.count), turned.get(name, 0)
        if not other:
            return [(flow, lambda count: count)]
        sender = classic if _is_l4s(flow) else Prague()
        new = dataclasses.replace(flow, sender=sender, ecn=None, name=f"{name}_{sender.label}")
        kept = dataclasses.replace(flow, name=name)
        moved = [(new, lambda count: _part(count, other / own))]
        return moved if other == own else [(kept, lambda n: n - _part(n, other / own)), *moved]

    return _in_parts(cell, parts)


def _turned(group: Sequence[tuple[str, Flows]], more: int) -> dict[str, int]:
    """Return how many of each class are to change, for so many more of L4S, or fewer."""
    able = [(name, int(flow.count)) for name, flow in group if _is_l4s(flow) == (more < 0)]
    whole = sum(count for _, count in able)
    turned, passed, done = {}, 0, 0
    for name, count in able:
        passed += count
        turned[name] = _part(passed, abs(more) / whole) - done
        done += turned[name]
    return turned


def _usual_classic(cell: Cell) -> Sender:
    counts: dict[Sender, float] = {}
    for _, flow in _long(cell):
        if not _is_l4s(flow):
            counts[flow.sender] = counts.get(flow.sender, 0.0) + float(flow.count)
    return max(counts, key=lambda sender: counts[sender], default=Cubic())


def _is_l4s(flow: Flows) -> bool:
    return flow.sender.signal == "scalable"


def _part(count: int, share: float) -> int:
    """Return how many of so many a share is, a half left out."""
    return max(math.ceil(count * share - 0.5 - _EXACT), 0)


def _up(value: float) -> int:
    return max(math.ceil(value * (1.0 - _EXACT)), 1)


def _long(cell: Cell) -> list[tuple[str, Flows]]:
    """Return the long classes with their names: who is there first, and of these who stays."""
    named = zip(cell.scenario.class_names, cell.scenario.flows, strict=True)
    end = float(cell.scenario.duration)
    long = [(name, flow) for name, flow in named if name in cell.long_classes]
    return sorted(long, key=lambda each: (float(each[1].start), -_end_of(each[1], end)))


def _end_of(flow: Flows, end: float) -> float:
    return end if flow.stop is None else min(float(flow.stop), end)


def _meet(one: Flows, other: Flows, scenario: Scenario) -> bool:
    """Return whether two classes are there together at any time."""
    end = float(scenario.duration)
    return max(float(one.start), float(other.start)) < min(_end_of(one, end), _end_of(other, end))


def _in_parts(cell: Cell, parts_of: Callable[[str, Flows], _Parts]) -> Cell:
    """Return a cell with other classes in the place of each, its schedule told to them."""
    flows: list[Flows] = []
    told: dict[str, list[tuple[str, Callable[[int], int]]]] = {}
    taken = set(cell.scenario.class_names)
    for name, flow in zip(cell.scenario.class_names, cell.scenario.flows, strict=True):
        told[name] = []
        for part, number in parts_of(name, flow):
            label = part.name or name
            given = part.name if label == name else (label := _free(label, taken))
            count = float(number(int(flow.count)))
            flows.append(dataclasses.replace(part, name=given, count=count))
            told[name].append((label, number))
    changes = [_told(change, told) for change in cell.scenario.changes]
    return _with_flows(cell, flows, changes)


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}{number}"
    taken.add(free)
    return free


def _told(change: Change, told: Mapping[str, Sequence[tuple[str, Callable[[int], int]]]]) -> Change:
    if not change.counts:
        return change
    counts = {
        label: float(number(int(count)))
        for name, count in change.counts.items()
        for label, number in told[name]
    }
    return dataclasses.replace(change, counts=counts)


def _with_flows(
    cell: Cell, flows: Sequence[Flows], changes: Sequence[Change] | None = None
) -> Cell:
    changes = cell.scenario.changes if changes is None else changes
    return _replaced(cell, cell.scenario.with_classes(flows, changes))


def _replaced(cell: Cell, scenario: Scenario) -> Cell:
    return dataclasses.replace(cell, scenario=scenario)
