"""`Cell`: one scenario of a family, and what of it is looked at."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pi2_fluid.errors import ScenarioError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.network.events import TOGETHER, WARM_UP, Course, Event, Span
from pi2_fluid.network.family_text import in_cell
from pi2_fluid.network.scenario import Scenario, require_scenario
from pi2_fluid.records.record import Record


@dataclass(frozen=True, eq=False)
class Cell(Record):
    """A scenario of a family, with what it stands for, who measured that, and what happens in it.

    Parameters
    ----------
    scenario : Scenario
        Of one link; its name is the cell's, and its queue the base that others are compared with.
    why : str
        What it stands for, in a sentence.
    source : str
        Who measured that; "" is an opinion of ours.

    Raises
    ------
    ScenarioError
        If something is no text, a number of flows is not whole, or the run is so short that nothing
        of it is looked at.
    UnsupportedError
        If the scenario has several nodes.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> flows = [pf.Flows(pf.Cubic(), 1, "40ms"), pf.Flows(pf.Cubic(), 2, "40ms", start="20s")]
    >>> queue = pf.presets.linux_dualpi2()
    >>> cell = pf.Cell(pf.Scenario("30s", pf.Link("20Mbit/s"), queue, flows, name="more"))
    >>> cell.name, cell.long_flows, cell.steady, cell.after
    ('more', (1, 3), (8.0, 20.0), ((20.0, 28.0),))
    >>> print("{:.1f} to {:.1f} segments".format(*cell.windows))
    30.6 to 91.7 segments
    """

    scenario: Scenario
    why: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_scenario(self.scenario)
        for field in ("why", "source"):
            word: object = getattr(self, field)
            if not isinstance(word, str):
                raise ScenarioError(f"Cell {field} = {show_value(word)} is no text: give text.")
        with in_cell(self.name):
            self._check()

    @property
    def name(self) -> str:
        """What it is called: its scenario's name."""
        return self.scenario.name

    def with_aqm(self, aqm: Aqm) -> Cell:
        """Return it behind another queue, and all else as it is."""
        with in_cell(self.name):
            scenario = dataclasses.replace(self.scenario, aqm=aqm)
        return dataclasses.replace(self, scenario=scenario)

    @property
    def events(self) -> tuple[Event, ...]:
        """When traffic or link change: `at` (s), and whether less is offered then, `falls`.

        An event is a change of the schedule, or the start or stop of flows that send for 5 s or
        more at a time. What is switched within 1 s is one event. A train, what is switched again
        less than 8 s later, is one event at its first switch and one at its last. What comes in the
        first 8 s belongs to the beginning.
        """
        return self._course.events

    @property
    def steady(self) -> Span | None:
        """From when to when (s) it is steady, None if never.

        From 8 s after the beginning, and after what is switched in the first 8 s, to the first
        event, or to the end.
        """
        return self._course.steady

    @property
    def after(self) -> tuple[Span, ...]:
        """From when to when (s) it is after an event: 8 s, cut at the next event, or at the end."""
        return self._course.after

    @property
    def long_classes(self) -> tuple[str, ...]:
        """The classes that obey signals, and send for 5 s or more at a time."""
        return self._named(self._course.long)

    @property
    def short_classes(self) -> tuple[str, ...]:
        """The classes that obey signals, and are transfers or send for less than 5 s at a time."""
        return self._named(self._course.short)

    @cached_property
    def long_flows(self) -> tuple[int, int]:
        """The fewest and the most long flows at once, after 8 s, while there are any; or 0, 0."""
        counts = [count for count in self._course.long_counts if count]
        return min(counts, default=0), max(counts, default=0)

    @cached_property
    def rtts(self) -> tuple[float, float] | None:
        """The shortest and the longest base round-trip time (s) of its long flows, None if none."""
        pairs = zip(self.scenario.flows, self._course.long, strict=True)
        rtts = [float(flow.base_rtt) for flow, long in pairs if long]
        return (min(rtts), max(rtts)) if rtts else None

    @cached_property
    def windows(self) -> tuple[float, float] | None:
        """The smallest and the largest window (segments) of its long flows at the target.

        As many as are there at once, each with the window W, fill what senders of constant rate
        leave: the sum of W/(R + target) over them is the capacity. With one round-trip time that is
        W = C (R + target)/N. Short flows count for nothing. None without long flows.
        """
        windows = list(self._windows())
        return (min(windows), max(windows)) if windows else None

    def to_dict(self) -> dict[str, Any]:
        """Return what is known of it, as JSON takes it; times in s, the rate in bit/s."""
        return {
            "name": self.name,
            "why": self.why,
            "source": self.source,
            "rate": float(self.scenario.link.capacity),
            "rtts": self.rtts,
            "long_classes": self.long_classes,
            "long_flows": self.long_flows,
            "windows": self.windows,
            "short_classes": self.short_classes,
            "events": [event._asdict() for event in self.events],
            "steady": self.steady,
            "after": self.after,
        }

    def short_beside(self, count: int) -> bool:
        """Return whether short flows send while exactly so many long flows are there."""
        course = self._course
        alike = [moment for moment in course.moments if course.long_flows(moment) == count]
        return any(
            max(start, moment.start, WARM_UP) < min(end, moment.end)
            for moment in alike
            for start, end in course.short_spells
        )

    @cached_property
    def _course(self) -> Course:
        return Course(self.scenario)

    def _named(self, chosen: tuple[bool, ...]) -> tuple[str, ...]:
        names = self.scenario.class_names
        return tuple(name for name, wanted in zip(names, chosen, strict=True) if wanted)

    def _windows(self) -> Iterator[float]:
        target = self.scenario.aqm.target_delay
        wait = 0.0 if target is None else float(target)
        bits = 8.0 * float(self.scenario.packet_size)
        for moment in self._course.counted:
            left = moment.capacity - self._course.fixed_rate(moment)
            rate = sum(
                count / (float(flow.base_rtt) + wait)
                for flow, count, long in zip(
                    self.scenario.flows, moment.counts, self._course.long, strict=True
                )
                if long
            )
            if rate and left > 0.0:
                yield left / bits / rate

    def _check(self) -> None:
        """Refuse what is not of one link, what no packets can run, and what is over too soon."""
        scenario = self.scenario
        if len(scenario.node_names) > 1:
            raise UnsupportedError(
                f"its {len(scenario.node_names)} nodes have a queue each, and a cell has one, which"
                " others replace: give a scenario of one link."
            )
        counts = {
            f"flows {number} count": flow.count for number, flow in enumerate(scenario.flows, 1)
        }
        for change in scenario.changes:
            for name, count in (change.counts or {}).items():
                counts[f"change at {float(change.at):g} s counts {show_value(name)}"] = count
        for place, count in counts.items():
            if float(count) != int(count):
                raise ScenarioError(
                    f"{place} = {float(count):g} is no whole number, and a cell is run packet by"
                    " packet: give whole numbers of flows."
                )
        if self.steady is None and not self.after:
            raise ScenarioError(
                f"duration = {float(scenario.duration):g} s is over before anything is looked at,"
                f" which is from {WARM_UP:g} s on and after events, for {TOGETHER:g} s at least:"
                " raise it."
            )
