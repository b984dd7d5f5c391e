"""What a run falls into: a warm-up, a steady part, and what comes after each event.

An event is a change of the schedule, or the start or the stop of flows that send for 5 s or more.
Shorter flows and transfers are traffic, not events. Times are seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, groupby, pairwise
from typing import Final, NamedTuple

from pi2_fluid.network.flows import Flows
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.schedule import NS, class_steps

#: How long a run is left alone at its beginning (s).
WARM_UP: Final = 8.0
#: How long is looked at after an event (s). What is switched more often than that is a train.
AFTER: Final = 8.0
#: Flows that send for so long at a time are long ones (s).
LONG: Final = 5.0
#: What is switched within this time is one event, and what is shorter is not looked at (s).
TOGETHER: Final = 1.0

#: From when to when (s).
Span = tuple[float, float]


class Event(NamedTuple):
    """When traffic or link change, and whether less is offered from then on.

    Less is offered where flows stop or the capacity rises, and nothing does the opposite.
    """

    at: float
    falls: bool


class Moment(NamedTuple):
    """From when to when the link serves how much (bit/s), with how many flows of each class.

    Of classes that send for 5 s or more at a time; the others are 0 here.
    """

    start: float
    end: float
    capacity: float
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Course:
    """The course of a scenario of one link, whose numbers of flows are whole."""

    scenario: Scenario

    @cached_property
    def steps(self) -> list[list[tuple[float, int]]]:
        """Of each class, when (s) its number of flows becomes what."""
        return [[(at / NS, n) for at, n in told] for _, told in class_steps(self.scenario)]

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """The whole run, cut where the capacity changes, or what sends for long at a time."""
        end, rates = float(self.scenario.duration), self._capacities
        lasting = [
            steps if lasts else [] for steps, lasts in zip(self.steps, self._lasting, strict=True)
        ]
        told = (*rates, *chain.from_iterable(lasting))
        cuts = sorted({0.0, end, *(at for at, _ in told if at < end)})
        found: list[Moment] = []
        for a, b in pairwise(cuts):
            counts = tuple(int(_at(steps, a, 0)) for steps in lasting)
            moment = Moment(a, b, _at(rates, a, 0.0), counts)
            if found and found[-1][2:] == moment[2:]:  # what was scheduled changed nothing
                moment = moment._replace(start=found.pop().start)
            found.append(moment)
        return tuple(found)

    @cached_property
    def short_spells(self) -> tuple[Span, ...]:
        """From when to when short flows or transfers are there, class by class."""
        end = float(self.scenario.duration)
        return tuple(
            spell
            for steps, short in zip(self.steps, self.short, strict=True)
            if short
            for spell in _spells(steps, end)
        )

    @cached_property
    def long(self) -> tuple[bool, ...]:
        """Of each class, whether it obeys signals and sends for 5 s or more at a time."""
        return tuple(
            flow.sender.constant_rate is None and lasting
            for flow, lasting in zip(self.scenario.flows, self._lasting, strict=True)
        )

    @cached_property
    def short(self) -> tuple[bool, ...]:
        """Of each class, whether it obeys signals and sends for less: transfers, and short flows.

        A sender of constant rate is neither short nor long.
        """
        return tuple(
            flow.sender.constant_rate is None and not lasting
            for flow, lasting in zip(self.scenario.flows, self._lasting, strict=True)
        )

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """The events of the run, in order.

        What is switched within 1 s is one event, at the first of them. What is switched again less
        than 8 s later, as trains of packets are, is one event at the first switch, and one at the
        last. What comes before the warm-up is over belongs to the beginning.
        """
        return tuple(event for event in self._all_events if event.at >= WARM_UP)

    @cached_property
    def steady(self) -> Span | None:
        """From 8 s after the beginning, and what belongs to it, to the first event, or the end.

        None if that is less than 1 s.
        """
        begun = [event.at for event in self._all_events if event.at < WARM_UP]
        first = self.events[0].at if self.events else float(self.scenario.duration)
        return _span(max(begun, default=0.0) + WARM_UP, first)

    @cached_property
    def after(self) -> tuple[Span, ...]:
        """8 s after each event, cut at the next one, or at the end; none of less than 1 s."""
        times = [*(event.at for event in self.events), float(self.scenario.duration)]
        spans = [_span(at, min(at + AFTER, following)) for at, following in pairwise(times)]
        return tuple(span for span in spans if span is not None)

    @cached_property
    def counted(self) -> tuple[Moment, ...]:
        """The moments that last for 1 s or more after the warm-up."""
        return tuple(m for m in self.moments if m.end - max(m.start, WARM_UP) >= TOGETHER)

    @cached_property
    def long_counts(self) -> tuple[int, ...]:
        """How many long flows there are at once, as often as it lasts so after the warm-up."""
        alike = (list(some) for _, some in groupby(self.moments, self.long_flows))
        return tuple(
            self.long_flows(some[0])
            for some in alike
            if some[-1].end - max(some[0].start, WARM_UP) >= TOGETHER
        )

    def long_flows(self, moment: Moment) -> int:
        """Return how many long flows there are at once."""
        return sum(n for n, long in zip(moment.counts, self.long, strict=True) if long)

    def fixed_rate(self, moment: Moment) -> float:
        """Return what senders of constant rate send (bit/s)."""
        pairs = zip(self.scenario.flows, moment.counts, strict=True)
        return float(sum(count * _rate(flow) for flow, count in pairs))

    @cached_property
    def _capacities(self) -> list[tuple[float, float]]:
        changed = [(float(c.at), c.capacity) for c in self.scenario.changes]
        rates = [(at, float(rate)) for at, rate in changed if rate is not None]
        return [(0.0, float(self.scenario.link.capacity)), *rates]

    @cached_property
    def _lasting(self) -> list[bool]:
        """Of each class, whether it sends on and on, for 5 s or more at a time."""
        end = float(self.scenario.duration)
        return [
            not flow.finite and max(map(_length, _spells(steps, end)), default=0.0) >= LONG
            for flow, steps in zip(self.scenario.flows, self.steps, strict=True)
        ]

    @cached_property
    def _switched(self) -> list[bool]:
        """Of each class, whether its beginning, end and changes are events."""
        scheduled = {name for change in self.scenario.changes for name in change.counts or ()}
        return [
            lasting or name in scheduled
            for lasting, name in zip(self._lasting, self.scenario.class_names, strict=True)
        ]

    @cached_property
    def _all_events(self) -> tuple[Event, ...]:
        """Events, those of the beginning, too."""
        switches: list[float] = []
        for steps, switched in zip(self.steps, self._switched, strict=True):
            if switched:
                switches += _ends_of_trains(_switches([(-math.inf, 0), *steps]))
        switches += _ends_of_trains(_switches(self._capacities))
        found: list[Event] = []
        for first, last in _together(sorted(switches)):
            if first < float(self.scenario.duration):
                found.append(Event(first, self._falls(first, last)))
        return tuple(found)

    def _falls(self, first: float, last: float) -> bool:
        before, after = self._offered(first, before=True), self._offered(last, before=False)
        pairs = list(zip(before, after, strict=True))
        return all(b >= a for b, a in pairs) and any(b > a for b, a in pairs)

    def _offered(self, at: float, *, before: bool) -> tuple[float, ...]:
        """Return flows, sources of transfers, what is sent at constant rate, and 1, by capacity."""
        at = math.nextafter(at, -math.inf) if before else at
        flows = sources = 0
        rate = 0.0
        for flow, steps, switched in zip(
            self.scenario.flows, self.steps, self._switched, strict=True
        ):
            there = int(_at(steps, at, 0)) if switched else 0
            flows += 0 if flow.finite or flow.sender.constant_rate is not None else there
            sources += there if flow.finite else 0
            rate += there * _rate(flow)
        capacity = _at(self._capacities, max(at, 0.0), 0.0)
        return flows / capacity, sources / capacity, rate / capacity, 1.0 / capacity


def _rate(flow: Flows) -> float:
    rate = flow.sender.constant_rate
    return 0.0 if rate is None else float(rate)


def _at(steps: Sequence[tuple[float, float]], at: float, otherwise: float) -> float:
    """Return what was told last."""
    told = otherwise
    for when, what in steps:
        if when > at:
            break
        told = what
    return told


def _spells(steps: Sequence[tuple[float, int]], end: float) -> Iterator[Span]:
    """Yield from when to when a class has any flows."""
    since: float | None = None
    for at, count in steps:
        if count and since is None:
            since = at
        elif not count and since is not None:
            yield since, at
            since = None
    if since is not None:
        yield since, end


def _length(span: Span) -> float:
    return span[1] - span[0]


def _span(start: float, end: float) -> Span | None:
    return (start, end) if end - start >= TOGETHER else None


def _switches(steps: Sequence[tuple[float, float]]) -> list[float]:
    """Return when a number becomes another one than the first, and so on."""
    return [at for (_, old), (at, new) in pairwise(steps) if new != old]


def _ends_of_trains(switches: Sequence[float]) -> list[float]:
    """Return the first and the last of each train of switches."""
    kept = []
    for i, at in enumerate(switches):
        first = i == 0 or at - switches[i - 1] >= AFTER
        last = i + 1 == len(switches) or switches[i + 1] - at >= AFTER
        if first or last:
            kept.append(at)
    return kept


def _together(times: Sequence[float]) -> Iterator[Span]:
    """Yield the first and the last of the times that lie within 1 s of the first of them."""
    group: list[float] = []
    for at in times:
        if group and at - group[0] > TOGETHER:
            yield group[0], group[-1]
            group = []
        group.append(at)
    if group:
        yield group[0], group[-1]
