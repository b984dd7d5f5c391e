"""Classes whose number of flows changes, as parts that come and go whole.

Packets of flows that have gone still travel, and are acknowledged to nobody; flows that come have
none under way. So a class of which some come or go is followed as several: those who came last go
first, and those who come begin with the window that the others have then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.trace import Trace
from pi2_fluid.errors import UnsupportedError, show_value
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.scenario import Scenario

_NEVER: Final = float("inf")
_ROUNDING: Final = 1e-9  # flows


class _Part(NamedTuple):
    """Flows of a class that come and go together."""

    number: float
    since: float
    until: float


class Parts(NamedTuple):
    """A scenario in which no number of flows changes, and where its classes come from."""

    scenario: Scenario
    origin: tuple[int, ...]
    """Of each class here: which class it is a part of."""
    copied: tuple[int | None, ...]
    """Whose window it begins with, as that is then; None: its own initial one."""
    beginning: Beginning | None

    def merge(self, trace: Trace) -> Trace:
        """Return the samples of the parts as those of the classes they are parts of.

        A class's window is the mean over its flows that send; if none does, that of the last ones.
        """
        origin, flows = np.array(self.origin), self.scenario.flows
        first = np.flatnonzero(np.diff(origin, prepend=-1))
        since = np.array([float(flow.start) for flow in flows])
        until = np.array([_NEVER if flow.stop is None else float(flow.stop) for flow in flows])
        number = np.array([float(flow.count) for flow in flows])
        time = trace.time[:, None]
        weight = number * ((time >= since) & (time < until))
        for start, end in zip(first, [*first[1:], len(origin)], strict=True):
            idle = np.flatnonzero(weight[:, start:end].sum(axis=1) == 0.0)
            gone = np.where(until[start:end] <= time[idle], until[start:end], -1.0)
            weight[idle, start + gone.argmax(axis=1)] = 1.0
        windows = np.add.reduceat(weight * trace.window, first, axis=1)
        merged = trace._replace(
            p=trace.p[:, first],
            window=windows / np.add.reduceat(weight, first, axis=1),
            leaving=np.add.reduceat(trace.leaving, first, axis=1),
        )
        if trace.link_p is None or trace.link_leaving is None:
            return merged
        return merged._replace(
            link_p=trace.link_p[..., first],
            link_leaving=np.add.reduceat(trace.link_leaving, first, axis=2),
        )


def split_counts(scenario: Scenario, beginning: Beginning | None) -> Parts:
    """Return a scenario with every class whose number of flows changes split into its parts."""
    flows: list[Flows] = []
    origin: list[int] = []
    copied: list[int | None] = []
    for i, (flow, name) in enumerate(zip(scenario.flows, scenario.class_names, strict=True)):
        parts = list(_parts(scenario, flow, name))
        before = len(flows)
        for k, part in enumerate(parts):
            own = part.since == float(flow.start)
            flows.append(
                dataclasses.replace(
                    flow,
                    name=f"{name}\N{NULL}\N{NULL}{k}" if len(parts) > 1 else name,
                    count=part.number,
                    start=part.since,
                    stop=None if part.until == _NEVER else part.until,
                    start_jitter=flow.start_jitter if own else 0.0,
                )
            )
            origin.append(i)
            others = [(before + j, p.until) for j, p in enumerate(parts) if p.since < part.since]
            copied.append(max(others, key=lambda other: other[1])[0] if others else None)
    if len(flows) == len(scenario.flows) and not any(c.counts for c in scenario.changes):
        return Parts(scenario, tuple(origin), tuple(copied), beginning)
    changes = tuple(
        dataclasses.replace(change, counts=None)
        for change in scenario.changes
        if change.capacity is not None
    )
    if beginning is not None:
        beginning = beginning._replace(senders=tuple(beginning.senders[i] for i in origin))
    split = scenario.with_classes(flows, changes)
    return Parts(split, tuple(origin), tuple(copied), beginning)


def _parts(scenario: Scenario, flow: Flows, name: str) -> Iterator[_Part]:
    """Yield the parts of a class, in the order in which they come."""
    start, end = float(flow.start), _NEVER if flow.stop is None else float(flow.stop)
    there: list[list[float]] = [[float(flow.count), start]]
    found: list[_Part] = []
    last = min(end, float(scenario.duration))
    for change in scenario.changes:
        at, count = float(change.at), (change.counts or {}).get(name)
        if count is None or at >= last:
            continue
        if at <= start:
            there[0][0] = float(count)
            continue
        more = float(count) - sum(number for number, _ in there)
        if more > _ROUNDING:
            there.append([more, at])
        while more < 0.0 and there:
            number, since = there.pop()
            goes = min(number, -more)
            found.append(_Part(goes, since, at))
            more += goes
            if number > goes:
                there.append([number - goes, since])
                break
    found += [_Part(number, since, end) for number, since in there]
    # Those of one beginning: who stay longest first.
    present = [part for part in found if part.number > 0.0]
    if not present:
        # A cohort's name is that of its class, a zero byte and its number.
        given = show_value(name.partition("\N{NULL}")[0])
        raise UnsupportedError(
            f"{given} has no flows that ever send: leave the class out, or give it a count above 0."
        )
    yield from sorted(present, key=lambda part: (part.since, -part.until))
