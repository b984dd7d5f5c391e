"""What happens when, whatever the state: ticks of the controller, changes of load and capacity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from pi2_fluid.engines.fluid.plant import Mode
from pi2_fluid.network.scenario import Scenario

__all__ = ["SAME", "Happening", "Schedule"]

#: Instants closer than this are one (s); a generous tolerance costs accuracy.
SAME: Final = 1e-12


class Happening(NamedTuple):
    """One scheduled event: `apply` returns the mode after it."""

    at: float
    apply: Callable[[Mode], Mode]


class Schedule:
    """All instants known beforehand. First changes, then the tick, if both come at once."""

    def __init__(self, scenario: Scenario, *, ticks: bool) -> None:
        self.end = float(scenario.duration)
        self.happenings = sorted(_happenings(scenario), key=lambda item: item.at)
        interval = scenario.aqm.update_interval
        self.interval = float(interval) if ticks and interval is not None else math.inf
        self._place, self._tick = 0, 1

    def next_after(self, t: float) -> float:
        """Return when the next thing happens after `t`, the end of the run at the latest."""
        scheduled = (
            self.happenings[self._place].at if self._place < len(self.happenings) else math.inf
        )
        end = self.end if self.end > t + SAME else math.inf
        return min(scheduled, self._tick * self.interval, end)

    def take(self, t: float) -> tuple[list[Happening], bool]:
        """Return what happens at `t`: the changes, and whether the controller ticks."""
        found = []
        while self._place < len(self.happenings) and self.happenings[self._place].at <= t + SAME:
            found.append(self.happenings[self._place])
            self._place += 1
        ticks = self._tick * self.interval <= t + SAME
        if ticks:
            self._tick += 1
        return found, ticks


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


def _change(scenario: Scenario, change: object) -> Callable[[Mode], Mode]:
    names = scenario.class_names
    counts = dict(getattr(change, "counts", None) or {})
    capacity = getattr(change, "capacity", None)

    def apply(mode: Mode) -> Mode:
        if capacity is not None:
            packets = float(capacity) / (8.0 * float(scenario.link.packet_size))
            mode = mode._replace(capacity=packets)
        new = tuple(float(counts.get(n, old)) for n, old in zip(names, mode.counts, strict=True))
        sends = tuple(s and n > 0.0 for s, n in zip(mode.started, new, strict=True))
        return mode._replace(counts=new, active=sends)

    return apply
