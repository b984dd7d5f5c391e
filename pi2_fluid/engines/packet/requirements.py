"""What a run of packets is asked of: checked at the door, each in one sentence.

Flows are whole here, times are whole nanoseconds, and what is counted must fit into memory.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple, SupportsFloat

from pi2_fluid import _core
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.registry import kind_of
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.network import Node
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.schedule import NS, flow_counts, to_ns
from pi2_fluid.network.transfers import Transfers
from pi2_fluid.results.seeds import is_integer
from pi2_fluid.units import format_quantity, validate_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi2_fluid.values import Number

# The kernel's, times in ns.
_LIMITS: Final = _core.packet_limits()
_LONGEST: Final = _LIMITS["LONGEST"]
_LONGEST_SLOT: Final = float(_LIMITS["LONGEST_SLOT"])
_MOST_JITTER: Final = _LIMITS["MOST_JITTER"]
_MOST_FLOWS: Final = _LIMITS["MOST_FLOWS"]
_MOST_CLASSES: Final = _LIMITS["MOST_CLASSES"]
_MOST_LINKS: Final = _LIMITS["MOST_LINKS"]
_MOST_LEGS: Final = _LIMITS["MOST_LEGS"]
_MOST_WINDOW: Final = _LIMITS["MOST_WINDOW"]
_MOST_BUFFER: Final = _LIMITS["MOST_BUFFER"]
_MOST_BURST: Final = _LIMITS["MOST_BURST"]
_PACKET: Final = (_LIMITS["LEAST_PACKET"], _LIMITS["MOST_PACKET"])  # bytes
_MOST_AT_ONCE: Final = 50_000_000  # packets of first windows: some 2.5 GB
_MOST_UPDATES: Final = 1_000_000_000  # of all controllers: half a minute
_MOST_TRANSFERS: Final = 10_000_000  # that arrive at a class: some 700 MB
_MOST_TRACE: Final = 20_000_000  # events of all seeds together
_MOST_BYTES: Final = 4 * 10**9
# What is kept of each seed: bytes of a row of each kind, blocks at most, and bytes of histograms.
_BIN_BYTES: Final = 8 * 4
_BAND_BYTES: Final = 8 * 2
_CLASS_BYTES: Final = 8 * 2
_CROSSING_BYTES: Final = 8 * 6
_HISTOGRAM_BYTES: Final = 4 * 64 * 24
_BLOCKS: Final = 100
_HISTOGRAMS: Final = 4 * 2**23


class Sizes(NamedTuple):
    """How large a run is."""

    bins: int
    links: int
    bands: int
    """Of all links together."""
    legs: int
    """Links on the routes of all classes together."""
    classes: int
    flows: int


def sizes_of(scenario: Scenario, bins: int, flows: int) -> Sizes:
    """Return how large a run of so many bins is, with so many flows in all."""
    nodes = scenario.network.nodes
    bands = sum(node.aqm.bands for node in nodes)
    return Sizes(bins, len(nodes), bands, _crossed(scenario), len(scenario.flows), flows)


def _crossed(scenario: Scenario) -> int:
    return sum(len(flow.route or (None,)) + len(flow.back or ()) for flow in scenario.flows)


def interval_of(rate: SupportsFloat, packet_size: SupportsFloat) -> float:
    """Return the time (ns) that a packet takes at a rate (bit/s)."""
    return 8.0 * float(packet_size) / float(rate) * NS


# The scenario


def require_packets(scenario: Scenario) -> None:
    """Refuse what packets cannot do.

    Raises
    ------
    UnsupportedError
        If the queue or a sender is a law of one's own, or signals of links are summed.
    DomainError
        If something that is counted is no whole number, or a number is out of the kernel's range.
    """
    nodes, size = scenario.network.nodes, scenario.packet_size
    laws: list[Aqm | Sender] = [
        *(node.aqm for node in nodes),
        *(flow.sender for flow in scenario.flows),
    ]
    for law in laws:
        if kind_of(law) is None:
            raise UnsupportedError(
                f"{type(law).__name__} is a law of one's own, which packets do not follow: use"
                " fluid.simulate, or one of this package's laws."
            )
    if scenario.network.combine != "product":
        raise UnsupportedError(
            f"Network combine = {scenario.network.combine!r} is what textbooks compute with, and"
            ' packets are signalled or not at each link by itself: give combine = "product".'
        )
    _short(scenario.duration, "Scenario duration", low=1)
    for node in nodes:
        _require_node(node, scenario, f"Node {show_value(node.name)} " if len(nodes) > 1 else "")
    _require_routes(scenario)
    for number, (flow, name) in enumerate(
        zip(scenario.flows, scenario.class_names, strict=True), 1
    ):
        place = f"Scenario flows {number} ({show_value(name)})"
        _whole(flow.count, f"{place} count", 1, _MOST_FLOWS)
        _whole(flow.initial_window, f"{place} initial_window", 1, _MOST_WINDOW)
        if flow.push_every is not None:
            _whole(flow.push_every, f"{place} push_every", 0, _MOST_WINDOW)
        _short(flow.base_rtt, f"{place} base_rtt")
        own = size if flow.packet_size is None else flow.packet_size
        _whole(own, f"{place} packet_size", *_PACKET)
        if flow.sender.constant_rate is not None:
            _require_source(flow.sender, own, place)
        if isinstance(flow, Transfers):
            _require_transfers(flow, scenario, place)
    for change in scenario.changes:
        place = f"Scenario change at {format_quantity(float(change.at), 'time')}"
        for name, count in (change.counts or {}).items():
            _whole(count, f"{place} counts[{name!r}]", 0, _MOST_FLOWS)
        for name, rtt in (change.base_rtt or {}).items():
            _short(rtt, f"{place} base_rtt[{name!r}]")
        if change.capacity:
            _require_slot(float(change.capacity), size, f"{place} capacity")
    counts = flow_counts(scenario)
    if sum(counts) > _MOST_FLOWS:
        raise DomainError(
            f"Scenario has {sum(counts)} flows, more than {_MOST_FLOWS}: give fewer, or use"
            " fluid.simulate."
        )
    _require_timers(scenario, counts)
    pairs = zip(counts, scenario.flows, strict=True)
    first = sum(n * int(flow.initial_window) for n, flow in pairs)
    if first > _MOST_AT_ONCE:
        raise DomainError(
            f"Scenario has flows with initial_window of {first:.3g} packets together, more than"
            f" {_MOST_AT_ONCE:.0e}: give fewer flows, or smaller windows."
        )


def _require_timers(scenario: Scenario, counts: Sequence[int]) -> None:
    """Refuse more steps of senders' clocks than a run has time for."""
    steps = [
        (count * float(scenario.duration) / float(flow.sender.timer), flow.sender)
        for flow, count in zip(scenario.flows, counts, strict=True)
        if flow.sender.timer is not None
    ]
    if sum(many for many, _ in steps) > _MOST_UPDATES:
        many, sender = max(steps, key=lambda each: each[0])
        raise DomainError(
            f"{type(sender).__name__} interval = {float(sender.timer or 0.0):g} s makes {many:.3g}"
            f" updates of all flows in a run, more than {_MOST_UPDATES:.0e}: give a longer one,"
            " fewer flows, or a shorter duration."
        )


def _require_source(sender: Sender, size: Number, place: str) -> None:
    """Refuse packets that come too fast or too rarely, and pauses after next to none."""
    parameters = sender.packet_parameters()
    rate, burst = float(parameters["rate"]), float(parameters["burst"] or size)
    _whole(burst, f"{place} burst", 1, _MOST_BURST)
    for name in ("rate", "peak"):
        if parameters[name]:
            _require_slot(float(parameters[name]), size, f"{place} {name}")
    interval = interval_of(rate, burst)
    _require_slot(rate, burst, f"{place} rate")
    for name, key in (("on", "sends"), ("off", "pause")):
        if parameters[key]:
            _short(parameters[key], f"{place} {name}", low=1)
    if parameters["sends"] and NS * float(parameters["sends"]) < 1e-3 * interval:
        raise DomainError(
            f"{place} on = {float(parameters['sends']):g} s is less than a thousandth of the"
            f" {interval / NS:g} s between two of its packets or bursts: raise on or rate, or lower"
            " burst."
        )


def _require_transfers(flow: Transfers, scenario: Scenario, place: str) -> None:
    """Refuse transfers that come too often, or whose sources wait too long."""
    if flow.idle is not None:
        _short(flow.idle, f"{place} idle")
    if flow.arrivals is not None:
        rate = float(flow.arrivals)
        expected = rate * float(scenario.duration)
        if rate > NS or expected > _MOST_TRANSFERS:
            raise DomainError(
                f"{place} arrivals = {rate:g}/s are {expected:.3g} transfers of a run, more than"
                f" {_MOST_TRANSFERS:.0e}, or than one in a ns: give fewer, or a shorter duration."
            )


def _require_routes(scenario: Scenario) -> None:
    """Refuse more links or classes, or longer routes, than are counted."""
    for count, what, most in (
        (len(scenario.node_names), "links", _MOST_LINKS),
        (len(scenario.flows), "classes", _MOST_CLASSES),
        (_crossed(scenario), "links on all its routes together", _MOST_LEGS),
    ):
        if count > most:
            raise DomainError(f"Scenario has {count} {what}, more than {most}: give fewer.")


def _require_node(node: Node, scenario: Scenario, where: str) -> None:
    """Refuse what packets cannot be served with; `where` says which node it is, if need be."""
    link, interval = node.link, node.aqm.update_interval
    most = _MOST_UPDATES // len(scenario.network.nodes)
    _whole(link.packet_size, f"{where}Link packet_size", *_PACKET)
    _require_slot(float(link.capacity), link.packet_size, f"{where}Link capacity")
    _whole(link.buffer, f"{where}Link buffer", 1, _MOST_BUFFER)
    _short(link.ack_jitter, f"{where}Link ack_jitter", high=_MOST_JITTER)
    if link.aggregate is not None:
        _whole(link.aggregate, f"{where}Link aggregate", 1, _MOST_BUFFER)
    if link.aggregate_time is not None:
        _short(link.aggregate_time, f"{where}Link aggregate_time", low=1)
    if link.ring is not None:
        _whole(link.ring, f"{where}Link ring", 1, _MOST_BUFFER)
    for name in ("bql_min", "bql_max"):
        if getattr(link, name) is not None:
            _whole(getattr(link, name), f"{where}Link {name}", 1, _MOST_BUFFER)
    if interval is not None:
        name = f"{where}{type(node.aqm).__name__} update_interval"
        _short(interval, name, low=1)
        updates = float(scenario.duration) / float(interval)
        if updates > most:
            raise DomainError(
                f"{name} = {float(interval):g} s makes {updates:.3g} updates of a run, more than"
                f" {most:.0e}: give a longer one, or a shorter duration."
            )


def _whole(value: Number, name: str, low: int, high: int) -> None:
    if not low <= value <= high or value != math.floor(value):
        raise DomainError(
            f"{name} = {float(value):.12g} is no whole number in [{low}, {high}], which packets"
            " need: give one."
        )


def _short(value: Number, name: str, low: int = 0, high: int = _LONGEST) -> None:
    if not low <= to_ns(value) <= high:
        raise DomainError(
            f"{name} = {float(value):g} s is outside [{low / NS:g}, {high / NS:.3g}] s, the times"
            " that packets are simulated with: give one inside."
        )


def _require_slot(rate: float, size: Number, name: str) -> None:
    slot = interval_of(rate, size)
    if not 1.0 <= slot <= _LONGEST_SLOT:
        raise DomainError(
            f"{name} = {rate:g} bit/s sends a packet every {slot / NS:.3g} s, which is outside"
            f" [1e-09, {_LONGEST_SLOT / NS:.3g}] s: give {'less' if slot < 1.0 else 'more'}."
        )


# The arguments


def bin_length(length: object, scenario: Scenario) -> int:
    """Return the length of a bin in ns: at most that of the run.

    Raises
    ------
    QuantityError, DomainError
        If it is no time, or shorter than 1 ns.
    """
    seconds = validate_number(length, "time", "bin")
    duration = to_ns(scenario.duration)
    if seconds * NS >= duration:
        return duration
    _short(seconds, "bin", low=1)
    return to_ns(seconds)


def trace_length(trace: object, seeds: int) -> int:
    """Return how many events of each seed are recorded.

    Raises
    ------
    QuantityError
        If it is no integer, or too many.
    """
    if trace is None:
        return 0
    if not is_integer(trace) or trace < 1 or trace * seeds > _MOST_TRACE:
        raise QuantityError(
            f"trace = {show_value(trace)} is no number of events from 1 to"
            f" {_MOST_TRACE // seeds}, for {seeds} seeds: give one, or None."
        )
    return int(trace)


def require_room(sizes: Sizes, seeds: int) -> None:
    """Refuse results that would not fit into memory.

    Raises
    ------
    QuantityError
        Saying what makes them large.
    """
    room = _HISTOGRAMS // (sizes.legs * _HISTOGRAM_BYTES)
    blocks = min(_BLOCKS, sizes.bins, max(1, room))
    row = sizes.links * _BIN_BYTES + sizes.bands * _BAND_BYTES
    row += sizes.classes * (_CLASS_BYTES + sizes.links * _CROSSING_BYTES)
    histograms = blocks * (sizes.legs * _HISTOGRAM_BYTES + 4 * sizes.flows)
    total = seeds * (sizes.bins * row + histograms)
    if total > _MOST_BYTES:
        links = f"{sizes.links} links, " if sizes.links > 1 else ""
        raise QuantityError(
            f"seeds = {seeds} with {sizes.bins} bins, {links}{sizes.classes} classes and"
            f" {sizes.flows} flows make {total / 1e9:.3g} GB of results, more than"
            f" {_MOST_BYTES / 1e9:g}: give fewer seeds, or a longer bin."
        )
