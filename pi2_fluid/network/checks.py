"""Contradictions: what a scenario must not say, checked when it is made.

Every sentence names the class of flows by its place and its name, or the change by its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from pi2_fluid.errors import ScenarioError, show_value, suggest
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.routes import check_routes
from pi2_fluid.network.transfers import Transfers
from pi2_fluid.ops import Number
from pi2_fluid.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi2_fluid.network.changes import Change

_INITIAL_WINDOW: Final = Flows.__dataclass_fields__["initial_window"].default


class Described(Protocol):
    """What is checked: a scenario, or one run of a batch of them."""

    @property
    def duration(self) -> Any:
        """Seconds."""

    @property
    def packet_size(self) -> Number:
        """Bytes."""

    @property
    def node_names(self) -> Sequence[str]:
        """What each link is called."""

    @property
    def flows(self) -> Sequence[Flows]:
        """The classes of flows."""

    @property
    def changes(self) -> Sequence[Change]:
        """The schedule."""

    @property
    def class_names(self) -> Sequence[str]:
        """What each class is called."""


def check_labels(classes: Sequence[Flows], owner: str = "Scenario") -> None:
    """Refuse two classes of one name, and a name that is empty: nothing that is a number."""
    first: dict[str, int] = {}
    for number, flows in enumerate(classes, 1):
        place = f"{owner} flows {number}"
        if flows.name == "":
            raise ScenarioError(f"{place} name = '' is empty: give a label, or leave it out.")
        if flows.name is not None and first.setdefault(flows.name, number) != number:
            raise ScenarioError(
                f"{place} name = {show_value(flows.name)} is also that of class"
                f" {first[flows.name]}: give each class its own, or none."
            )


def check_only_node(classes: Sequence[Flows], node: str) -> None:
    """Refuse routes of a scenario that lead elsewhere than over its only node, and hops."""
    check_routes("Scenario", (node,), classes)
    for number, flows in enumerate(classes, 1):
        if flows.hops:
            raise ScenarioError(
                f"Scenario flows {number} hops = {show_value(flows.hops)} are where several nodes"
                " are crossed, and a scenario has one: leave them out, for Link delay_on says on"
                " which way its propagation lies."
            )


def check_times(scenario: Described) -> None:
    """Refuse flows that start too late, stop before they start, or have no window to start with."""
    end = float(scenario.duration)
    for number, (flows, name) in enumerate(
        zip(scenario.flows, scenario.class_names, strict=True), 1
    ):
        place = f"Scenario flows {number} ({show_value(name)})"
        start, jitter = float(flows.start), float(flows.start_jitter)
        stop = end if flows.stop is None else float(flows.stop)
        if start >= end:
            raise ScenarioError(
                f"{place} start = {_time(start)} is not before the end, duration ="
                f" {_time(end)}: lower start, or raise duration."
            )
        if stop <= start:
            raise ScenarioError(
                f"{place} stop = {_time(stop)} is not after start = {_time(start)}: raise"
                " stop, or leave it out."
            )
        last = start + jitter
        if last > min(stop, end):
            raise ScenarioError(
                f"{place} start_jitter = {_time(jitter)} lets the last flow start at"
                f" {_time(last)}, after the class ends at {_time(min(stop, end))}: lower it."
            )
        try:
            flows.sender.on_link(scenario.packet_size)
        except ScenarioError as error:
            raise ScenarioError(f"{place} {error}") from None
        if flows.packet_size is not None and flows.packet_size > scenario.packet_size:
            raise ScenarioError(
                f"{place} packet_size = {float(flows.packet_size):g} B is more than the link's"
                f" {float(scenario.packet_size):g} B, which are the largest packets: lower it, or"
                " raise that of the link."
            )
        if flows.sender.constant_rate is not None and flows.initial_window != _INITIAL_WINDOW:
            raise ScenarioError(
                f"{place} initial_window = {flows.initial_window:g} has no meaning, for a Cbr has"
                " no window: leave it out, or use another sender."
            )


def check_changes(scenario: Described) -> None:
    """Refuse changes of what is not there, or that come too late, or twice at one instant."""
    links = scenario.node_names
    stops = dict(zip(scenario.class_names, (flows.stop for flows in scenario.flows), strict=True))
    arriving = {
        name
        for flows, name in zip(scenario.flows, scenario.class_names, strict=True)
        if isinstance(flows, Transfers) and flows.arrivals is not None
    }
    done: set[tuple[float, str]] = set()
    for change in scenario.changes:
        at = float(change.at)
        place = f"Scenario change at {_time(at)}"
        if at >= scenario.duration:
            raise ScenarioError(
                f"{place} is not before the end, duration = {_time(scenario.duration)}: lower at,"
                " or raise duration."
            )
        counts = change.counts or {}
        for name in counts:
            stop = stops.get(name)
            if name not in stops:
                raise ScenarioError(
                    f"{place} counts {show_value(name)}, which is no class of flows: give"
                    f" {suggest(name, stops)}."
                )
            if name in arriving:
                raise ScenarioError(
                    f"{place} counts {show_value(name)}, whose transfers arrive as arrivals says:"
                    " give a class with another start, or sources with idle."
                )
            if stop is not None and at >= stop:
                raise ScenarioError(
                    f"{place} counts {show_value(name)}, which stops at {_time(stop)}: lower at,"
                    " or raise its stop."
                )
        for name, rtt in (change.base_rtt or {}).items():
            _check_path(scenario, name, rtt, place)
        what = [f"the base_rtt of {show_value(name)}" for name in change.base_rtt or ()]
        what += [f"the count of {show_value(name)}" for name in counts]
        if change.capacity is not None:
            what.append(_capacity(change, links, place))
        for thing in what:
            if (at, thing) in done:
                raise ScenarioError(f"{place} sets {thing} twice: give it once.")
            done.add((at, thing))


def _check_path(scenario: Described, name: str, base_rtt: Number, place: str) -> None:
    """Refuse a new path of a class that there is not, or shorter than what leads to its links."""
    named = dict(zip(scenario.class_names, scenario.flows, strict=True))
    if name not in named:
        raise ScenarioError(
            f"{place} base_rtt {show_value(name)}, which is no class of flows: give"
            f" {suggest(name, named)}."
        )
    least = sum(map(float, (*(named[name].hops or ()), *(named[name].back_hops or ()))))
    if float(base_rtt) < least:
        raise ScenarioError(
            f"{place} base_rtt[{name!r}] = {_time(base_rtt)} is less than its hops together,"
            f" {_time(least)}: raise it."
        )


def _capacity(change: Change, links: Sequence[str], place: str) -> str:
    """Return which capacity a change sets."""
    if change.link is None and len(links) > 1:
        raise ScenarioError(
            f"{place} sets capacity, and there are {len(links)} links: give link, one of"
            f" {', '.join(map(show_value, links))}."
        )
    if change.link is not None and change.link not in links:
        raise ScenarioError(
            f"{place} has link = {show_value(change.link)}, which is no node: give"
            f" {suggest(change.link, links)}."
        )
    return "the capacity" + (f" of {show_value(change.link)}" if len(links) > 1 else "")


def _time(value: Number) -> str:
    return format_quantity(float(value), "time")
