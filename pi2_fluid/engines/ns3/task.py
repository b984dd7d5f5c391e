"""What the child process is asked for: a scenario as numbers and names of ns-3, checked before."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from pi2_fluid import _core
from pi2_fluid.engines.ns3.laws import Described, congestion_of, queue_disc_of
from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.network.flows import Flows, refuse_finite
from pi2_fluid.network.outstanding import socket_bytes
from pi2_fluid.network.packets_only import (
    refuse_aggregates,
    refuse_detours,
    refuse_losses,
    refuse_rings,
)
from pi2_fluid.network.routes import places_of
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.schedule import NS, flow_counts, flow_lives, to_ns
from pi2_fluid.ops import Number
from pi2_fluid.results.delays import bins_per_histogram
from pi2_fluid.units import format_quantity

_PACKET: Final = (100, 65535)  # bytes
_CAPACITY: Final = (1e3, 1e11)  # bit/s
_MOST_BUFFER: Final = 2**31 - 1
_MOST_WINDOW: Final = 10_000  # segments
_MOST_FLOWS: Final = 50_000
_MOST_ROWS: Final = 50_000_000  # of all classes
_HEADERS: Final = 52  # bytes of IP and TCP, which has timestamps
_LEAST_SOCKET: Final = 2**20  # bytes of a socket's buffers


class Task(NamedTuple):
    """A scenario, made ready."""

    request: dict[str, Any]
    """What the child reads, without seeds."""
    shapes: dict[str, tuple[int, ...]]
    """Of what it writes."""


def make_task(scenario: Scenario, length: int) -> Task:
    """Return what a scenario asks of each seed, refusing what ns-3 cannot do.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    length : int
        Of a bin (ns).

    Raises
    ------
    UnsupportedError
        If ns-3 lacks a law, or a field of one that decides what it does; of transfers, and of links
        that are not in a row.
    DomainError
        If something that is counted is no whole number, or a number is out of range.
    QuantityError
        If there are too many bins.
    """
    refuse_finite(scenario.flows)
    queues = [queue_disc_of(node.aqm, node.link) for node in scenario.network.nodes]
    delays = row_delays(scenario)
    classes = [_class_of(scenario, index, delays) for index in range(len(scenario.flows))]
    _require_links(scenario)
    for index in range(len(scenario.flows)):
        _require_flows(scenario, index)
    _require_changes(scenario)
    counts = flow_counts(scenario)
    if sum(counts) > _MOST_FLOWS:
        raise DomainError(
            f"Scenario has {sum(counts)} flows, more than the {_MOST_FLOWS} of which ns-3 is asked:"
            " give fewer, or use another engine, e.g. Packets()."
        )
    duration = to_ns(scenario.duration)
    bins, n, links = -(-duration // length), len(classes), len(delays)
    legs = sum(one["last"] - one["first"] + 1 for one in classes)
    if bins * legs > _MOST_ROWS:
        raise QuantityError(
            f"bin = {show_value(length / NS)} s makes {bins} bins of {legs} classes, more than"
            f" {_MOST_ROWS} rows: give a longer bin."
        )
    block = bins_per_histogram(bins, legs)
    blocks = -(-bins // block)
    edges = [round(1e6 * edge) for edge in _core.packet_delay_edges()]
    lives = flow_lives(scenario)
    request = {
        "links": [
            {"queue": _told(queue), "capacity": float(node.link.capacity), "delay": delay}
            for queue, node, delay in zip(queues, scenario.network.nodes, delays, strict=True)
        ],
        "classes": classes,
        "changes": [
            (
                to_ns(change.at),
                0 if change.link is None else scenario.node_names.index(change.link),
                float(change.capacity),
            )
            for change in scenario.changes
            if change.capacity is not None
        ],
        "flows": np.stack([lives.owner, lives.start, lives.stop], axis=1).tolist(),
        "edges": edges,
        "packet_size": int(scenario.packet_size),
        "segment": int(scenario.packet_size) - _HEADERS,
        "window_bytes": socket_bytes(scenario, _LEAST_SOCKET),
        "duration": duration,
        "bin": length,
        "per_block": block,
        "access": 0.0,
        "sources": [],
    }
    shapes = {
        "bins": (bins, links, 3),
        "bands": (bins, links, 2),
        "legs": (bins, legs, 6),
        "classes": (bins, n, 2),
        "totals": (legs, 7),
        "ends": (n, 2),
        "delays": (blocks, legs, len(edges) - 1),
        "segments": (blocks, sum(counts)),
    }
    return Task(request, shapes)


def not_modelled(scenario: Scenario) -> list[str]:
    """Return what of a scenario ns-3 does otherwise, or cannot feel."""
    paths = []
    for node in scenario.network.nodes:
        link = node.link
        paths += ["link.kind"] if link.kind != "wire" else []
        paths += ["link.delay_on"] if link.delay_on != "split" else []
        paths += ["link.ack_jitter"] if link.ack_jitter > 0.0 else []
        paths += [f"aqm.{name}" for name in queue_disc_of(node.aqm, link).not_modelled]
    delays = row_delays(scenario)
    for index, flow in enumerate(scenario.flows):
        asked = _class_of(scenario, index, delays)
        links = asked["last"] - asked["first"] + 1
        paths += ["flows.hops"] if to_ns(_hops(flow, links)[0]) not in {0, asked["access"]} else []
        constant = flow.sender.constant_rate is not None
        pushes = not constant and flow.delayed_ack and flow.push_every != 0
        paths += ["flows.push_every"] if pushes else []
        names = ("thinned",) if constant else congestion_of(flow.sender).not_modelled
        paths += [f"flows.sender.{name}" for name in names]
    return list(dict.fromkeys(paths))


def row_delays(scenario: Scenario) -> list[int]:
    """Return the delay (ns) from each link to the next, of links in a row.

    Raises
    ------
    UnsupportedError
        If a class crosses links that do not follow one another, or they are not as far apart for
        all classes, or acknowledgements cross links.
    """
    names = scenario.node_names
    delays: dict[int, int] = {}
    for index, (flow, way) in enumerate(
        zip(scenario.flows, places_of(names, scenario.flows), strict=True)
    ):
        place = _place(scenario, index)
        if flow.back:
            raise UnsupportedError(
                f"{place} back = {show_value(flow.back)} is not for ns-3, where acknowledgements"
                " meet no queue: leave it out, or use Packets()."
            )
        if way != list(range(way[0], way[0] + len(way))):
            raise UnsupportedError(
                f"{place} route = {show_value(flow.route)} leaves the row of links that ns-3 is"
                f" asked for, {', '.join(map(repr, names))}: give routes along it, or use"
                " Packets()."
            )
        for link, hop in zip(way, _hops(flow, len(way))[1:], strict=False):
            if delays.setdefault(link, to_ns(hop)) != to_ns(hop):
                raise UnsupportedError(
                    f"{place} hops = {show_value(flow.hops)} has {names[link]!r} and"
                    f" {names[link + 1]!r} at another distance than other classes, and ns-3 has one"
                    " wire between them: give one, or use Packets()."
                )
    return [delays.get(link, 0) for link in range(len(names))]


def _hops(flow: Flows, links: int) -> tuple[Number, ...]:
    return flow.hops or (0.0,) * links


def _told(made: Described) -> dict[str, Any]:
    return {
        "type": f"ns3::{made.type}",
        "attributes": made.attributes,
        "full": [*made.full, "Dropped by internal queue"],
    }


def _class_of(scenario: Scenario, index: int, delays: list[int]) -> dict[str, Any]:
    flow, sender = scenario.flows[index], scenario.flows[index].sender
    ways = places_of(scenario.node_names, scenario.flows)
    first, last = ways[index][0], ways[index][-1]
    # Wires are as long there as back.
    access = to_ns(flow.base_rtt) // 2 - sum(delays[first : last + 1])
    if access < 0:
        raise UnsupportedError(
            f"{_place(scenario, index)} base_rtt = {float(flow.base_rtt):g} s is shorter than the"
            " wires behind its links there and back: give a longer one, or use Packets()."
        )
    interval, congestion = 0, None
    rate = sender.constant_rate
    if rate is not None:
        bits = 8.0 * float(scenario.packet_size)
        interval = max(1, round(bits / float(rate) * NS))
    else:
        congestion = _told(congestion_of(sender))
    if sender.signal == "scalable" and flow.ecn is False:
        raise UnsupportedError(
            f"{_place(scenario, index)} ecn = False asks for {type(sender).__name__} without marks,"
            " which ns-3 turns on for it: leave ecn out, or use another engine, e.g. Packets()."
        )
    return {
        "congestion": congestion,
        "interval": interval,
        "first": first,
        "last": last,
        "leg": sum(map(len, ways[:index])),
        "rtt": to_ns(flow.base_rtt),
        "access": access,
        "jitter": to_ns(flow.start_jitter),
        "initial_window": int(flow.initial_window),
        "slow_start": flow.slow_start,
        "delayed_ack": flow.delayed_ack,
        "ecn": flow.ecn_capable,
    }


def _place(scenario: Scenario, index: int) -> str:
    return f"Scenario flows {index + 1} ({show_value(scenario.class_names[index])})"


def _require_links(scenario: Scenario) -> None:
    refuse_losses(scenario.network, "the engine for ns-3 does")
    refuse_detours(scenario, "the engine for ns-3 does")
    refuse_aggregates(scenario.network, "the engine for ns-3 does")
    refuse_rings(scenario.network, "the engine for ns-3 does")
    several = len(scenario.node_names) > 1
    for node in scenario.network.nodes:
        where = f"Node {node.name!r} " * several
        _whole(node.link.packet_size, f"{where}Link packet_size", *_PACKET)
        _whole(node.link.buffer, f"{where}Link buffer", 1, _MOST_BUFFER)
        _require_rate(node.link.capacity, f"{where}Link capacity")


def _require_flows(scenario: Scenario, index: int) -> None:
    flow, place = scenario.flows[index], _place(scenario, index)
    if flow.packet_size not in {None, scenario.packet_size}:
        raise UnsupportedError(
            f"{place} packet_size = {show_value(flow.packet_size)} B is not what the engine asks"
            " ns-3 for, whose packets all have the link's: leave it out, or use Packets()."
        )
    if not flow.sender.even:
        raise UnsupportedError(
            f"{place} sends in bursts, at random or with pauses, and the engine asks ns-3 for even"
            " packets: leave burst, spacing and off out, or use Packets()."
        )
    if isinstance(flow.ecn, str):
        raise UnsupportedError(
            f"{place} ecn = {flow.ecn!r} is not what the engine asks ns-3 for, whose senders choose"
            " the field: give true or false, or use Packets()."
        )
    _whole(flow.count, f"{place} count", 1, _MOST_FLOWS)
    _whole(flow.initial_window, f"{place} initial_window", 1, _MOST_WINDOW)


def _require_changes(scenario: Scenario) -> None:
    for change in scenario.changes:
        place = f"Scenario change at {format_quantity(float(change.at), 'time')}"
        for name, count in (change.counts or {}).items():
            _whole(count, f"{place} counts[{name!r}]", 0, _MOST_FLOWS)
        if change.capacity is not None:
            _require_rate(change.capacity, f"{place} capacity")


def _require_rate(rate: Any, name: str) -> None:
    low, high = _CAPACITY
    if not low <= rate <= high:
        raise DomainError(
            f"{name} = {float(rate):g} bit/s is outside [{low:g}, {high:g}] bit/s, the rates of"
            " which ns-3 is asked: give one inside."
        )


def _whole(value: Any, name: str, low: int, high: int) -> None:
    if not low <= value <= high or value != math.floor(value):
        raise DomainError(
            f"{name} = {float(value):.12g} is no whole number in [{low}, {high}], which ns-3 needs:"
            " give one."
        )
