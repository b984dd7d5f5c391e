"""The stages of a scenario: stretches of time in which nothing is scheduled."""

from __future__ import annotations

from typing import NamedTuple

import pi2_fluid as pf


class Stage(NamedTuple):
    """A stretch of a scenario in which nothing is scheduled."""

    begin: float
    """Seconds after the first flow."""
    flows: tuple[pf.Flows, ...]
    """The classes that send."""
    capacity: float
    """bit/s."""

    @property
    def number(self) -> float:
        """How many flows send."""
        return sum(float(flow.count) for flow in self.flows)


def first_start(scenario: pf.Scenario) -> float:
    """Return when the first flow starts (s), from which pictures count time."""
    return min(float(flow.start) for flow in scenario.flows)


def stages_of(scenario: pf.Scenario) -> list[Stage]:
    """Return the stretches between which flows come and go, or the capacity changes."""
    edges = {float(change.at) for change in scenario.changes}
    for flow in scenario.flows:
        edges |= {float(flow.start)} | ({float(flow.stop)} if flow.stop else set())
    stages, capacity, first = [], float(scenario.link.capacity), first_start(scenario)
    for begin in sorted(edge for edge in edges if edge < scenario.duration):
        for change in scenario.changes:
            if change.at == begin and change.capacity is not None:
                capacity = float(change.capacity)
        there = [f for f in scenario.flows if f.start <= begin and not (f.stop and f.stop <= begin)]
        stages.append(Stage(begin - first, tuple(there), capacity))
    return stages
