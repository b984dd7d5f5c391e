"""What happens when, whatever the state: ticks of the controller, changes of load and capacity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from pi2_fluid.engines.fluid.oracle.state import Mode
from pi2_fluid.network.changes import Change
from pi2_fluid.network.scenario import Scenario

#: Instants closer than this are one (s); a generous tolerance costs accuracy.
SAME: Final = 1e-12


def shortest_interval(scenario: Scenario) -> float | None:
    """Return the shortest time between two ticks of a queue (s), None if none ticks."""
    intervals = [node.aqm.update_interval for node in scenario.network.nodes]
    return min((float(each) for each in intervals if each is not None), default=None)


class Happening(NamedTuple):
    """One scheduled event: `apply` returns the mode after it."""

    at: float
    apply: Callable[[Mode], Mode]


class Schedule:
    """All instants known beforehand. First changes, then the ticks, if both come at once."""

    def __init__(self, scenario: Scenario, *, ticks: bool) -> None:
        self.end = float(scenario.duration)
        self.happenings = sorted(_happenings(scenario), key=lambda item: item.at)
        nodes = scenario.network.nodes
        intervals = (node.aqm.update_interval if ticks else None for node in nodes)
        self.intervals = [math.inf if each is None else float(each) for each in intervals]
        self._place, self._ticks = 0, [1] * len(nodes)

    def next_after(self, t: float) -> float:
        """Return when the next thing happens after `t`, the end of the run at the latest."""
        scheduled = (
            self.happenings[self._place].at if self._place < len(self.happenings) else math.inf
        )
        end = self.end if self.end > t + SAME else math.inf
        ticks = zip(self._ticks, self.intervals, strict=True)
        return min(scheduled, end, *(tick * interval for tick, interval in ticks))

    def take(self, t: float) -> tuple[list[Happening], list[int]]:
        """Return what happens at `t`: the changes, and which links' controllers tick."""
        found = []
        while self._place < len(self.happenings) and self.happenings[self._place].at <= t + SAME:
            found.append(self.happenings[self._place])
            self._place += 1
        ticking = [
            link
            for link, (tick, interval) in enumerate(zip(self._ticks, self.intervals, strict=True))
            if tick * interval <= t + SAME
        ]
        for link in ticking:
            self._ticks[link] += 1
        return found, ticking


def _happenings(scenario: Scenario) -> list[Happening]:
    found = []
    for change in scenario.changes:
        found.append(Happening(float(change.at), _change(scenario, change)))
    for i, flow in enumerate(scenario.flows):
        found.append(Happening(float(flow.start), _start(i, ramp=bool(flow.start_jitter > 0.0))))
        if flow.start_jitter > 0.0:
            found.append(Happening(float(flow.start + flow.start_jitter), _end_ramp(i)))
        if flow.stop is not None:
            found.append(Happening(float(flow.stop), _stop(i)))
    return found


def _with(values: tuple[bool, ...], i: int, value: bool) -> tuple[bool, ...]:
    return (*values[:i], value, *values[i + 1 :])


def _start(i: int, *, ramp: bool) -> Callable[[Mode], Mode]:
    return lambda mode: mode._replace(
        started=_with(mode.started, i, True),
        active=_with(mode.active, i, mode.counts[i] > 0.0),
        ramping=_with(mode.ramping, i, ramp),
    )


def _end_ramp(i: int) -> Callable[[Mode], Mode]:
    return lambda mode: mode._replace(ramping=_with(mode.ramping, i, False))


def _stop(i: int) -> Callable[[Mode], Mode]:
    return lambda mode: mode._replace(
        started=_with(mode.started, i, False), active=_with(mode.active, i, False)
    )


def _change(scenario: Scenario, change: Change) -> Callable[[Mode], Mode]:
    names = scenario.class_names
    counts = dict(change.counts or {})
    link = 0 if change.link is None else scenario.node_names.index(change.link)

    def apply(mode: Mode) -> Mode:
        if change.capacity is not None:
            packets = float(change.capacity) / (8.0 * float(scenario.packet_size))
            capacity = (*mode.capacity[:link], packets, *mode.capacity[link + 1 :])
            mode = mode._replace(capacity=capacity)
        new = tuple(float(counts.get(n, old)) for n, old in zip(names, mode.counts, strict=True))
        sends = tuple(s and n > 0.0 for s, n in zip(mode.started, new, strict=True))
        return mode._replace(counts=new, active=sends)

    return apply
