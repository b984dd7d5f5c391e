"""What the guest is told: a scenario as orders, one on a line, checked before.

The guest has three network namespaces in a row, a sender, a router and a receiver. It reads

====================================  ==========================================================
``sys NS PATH VALUE``                 write to /proc/sys/PATH in a namespace
``nl NS DEVICE KIND FLAGS HEX``       send a message of rtnetlink; the device's index goes into it
``rest SECONDS``                      let time pass
``at T nl ...``                       send a message, at a time (s)
``class CC ECN PRIORITY BPS BYTES``   a class of flows: congestion control, whether it asks for ECN,
                                      priority of what its receivers send, rate (0: TCP), bytes of
                                      UDP in a packet
``flow CLASS START STOP``             a flow of it, by times (s)
``run DURATION SAMPLE TCP``           go on so long (s), read counters every SAMPLE (s), and what
                                      flows say of themselves at every TCP-th reading
====================================  ==========================================================

All of the round trip lies on the way back, in a netem for each time; the queue is the leaf of a
token bucket that holds one packet.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterator
from typing import Final

import numpy as np

from pi2_fluid.engines.linux.laws import Told, congestion_of, qdisc_of
from pi2_fluid.engines.linux.messages import (
    Message,
    add_address,
    add_clsact,
    add_default_route,
    add_htb,
    add_neighbour,
    add_netem,
    add_priorities,
    add_qdisc,
    add_veth,
    enable_link,
    mark_as_l4s,
    set_htb_class,
)
from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.laws.aqms.taildrop import TailDrop
from pi2_fluid.network.flows import Flows, refuse_finite
from pi2_fluid.network.outstanding import socket_bytes
from pi2_fluid.network.packets_only import (
    refuse_aggregates,
    refuse_detours,
    refuse_losses,
    refuse_rings,
)
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.schedule import NS, flow_counts, flow_lives, to_ns
from pi2_fluid.ops import Number
from pi2_fluid.units import format_quantity

#: The shortest bin of a result (s).
SHORTEST_BIN: Final = 0.001

_SENDER, _ROUTER, _RECEIVER = range(3)
#: Devices, and the last byte of their addresses.
_NUMBER: Final = {"s_r": 1, "r_s": 2, "r_d": 1, "d_r": 2}
_NAMESPACES_AT: Final = 100  # file descriptor of the first namespace, in the guest
_BUCKET: Final = 0x10000
_FIRST_NETEM: Final = 0x20
_HELD: Final = 200_000  # packets in a netem at most
_PORT: Final = 5000  # of the first class's receiver
_ETHERNET: Final = 14  # bytes of a frame's header, which the queue counts
_UDP: Final = 28  # bytes of headers of IP and UDP
_LEAST_DATAGRAM: Final = _ETHERNET + _UDP
_HANDLE: Final = 0x100000  # of the queue
# Between two readings of what the queue counts, and of what flows say of themselves (s), at most.
_SAMPLE, _FLOW_SAMPLE = 0.002, 0.1
# Until the kernel has noticed that devices are up (s): before, they lose what they are to send.
# The queue is made afterwards, as young as the run.
_REST: Final = 2
_SAMPLES: Final = 5  # of the queue in a bin, at least
_LEAST_SOCKET: Final = 2**25  # bytes of a socket's buffers
_RECEIVER_BEGINS: Final = 131_072  # bytes of its buffer: Linux's own default

# What the guest, its log and the kernel can count.
_MOST_CLASSES: Final = 64
_MOST_FLOWS: Final = 4096
_MOST_CHANGES: Final = 256
_MOST_PATHS: Final = 16  # bands of prio
_LONGEST: Final = 4000.0  # s: times of packets are 32 bits of us
_MOST_BUFFER: Final = 2**31 - 1
_PACKET: Final = (256, 9014)  # bytes
_CAPACITY: Final = (1e4, 1e11)  # bit/s
#: Of flows: what Linux does anyway.
_KNOWN: Final = {
    "initial_window": 10,
    "slow_start": True,
    "delayed_ack": True,
    "push_every": None,
}


def make_plan(scenario: Scenario, seed: int, length: float = 0.1, queue: Told | None = None) -> str:
    """Return the orders for one run, refusing what Linux cannot do.

    Parameters
    ----------
    scenario : Scenario
        What to run.
    seed : int
        Of the times at which flows start within `start_jitter`.
    length : float
        Of a bin of the result (s): the queue is read five times in one, or every 2 ms, and flows
        say twice what they have, or every 0.1 s.
    queue : Told, optional
        What takes the place of the scenario's own queue.

    Raises
    ------
    UnsupportedError
        If Linux lacks a law, or a field of one that decides what it does; of transfers, several
        links, and links without a token bucket.
    DomainError
        If something that is counted is no whole number, or a number is out of range.
    """
    _require_network(scenario)
    qdisc = qdisc_of(scenario.aqm, scenario.link)
    _require_times(scenario)
    for index in range(len(scenario.flows)):
        _require_flows(scenario, index)
    _require_counts(scenario)
    paths = sorted({to_ns(flow.base_rtt) for flow in scenario.flows})
    if len(paths) > _MOST_PATHS:
        raise UnsupportedError(
            f"Scenario has {len(paths)} different base_rtt, more than the {_MOST_PATHS} ways back"
            " that the guest has: give fewer, or use another engine, e.g. Packets()."
        )
    orders = [
        *(message.order() for message in _wires(scenario)),
        *_switches(scenario),
        *(message.order() for message in _ways_back(paths)),
        f"rest {_REST}",
        *(message.order() for message in _bottleneck(scenario, queue or qdisc)),
        *_changes(scenario),
        *_classes(scenario, paths),
        *_flows(scenario, seed),
        f"run {float(scenario.duration)!r} {_readings(length)}",
    ]
    return "\n".join(orders) + "\n"


def _readings(length: float) -> str:
    """Return how often the queue is read (s), and at every how many of them the flows."""
    sample = min(_SAMPLE, length / _SAMPLES)
    return f"{sample!r} {max(1, round(min(_FLOW_SAMPLE, length / 2.0) / sample))}"


def not_modelled(scenario: Scenario) -> list[str]:
    """Return what of a scenario Linux does otherwise, or cannot feel."""
    found = ["link.ack_jitter"] if scenario.link.ack_jitter > 0.0 else []
    law, link = scenario.aqm, scenario.link
    queue = qdisc_of(law, link)
    found += [] if queue.holds_buffer else ["link.buffer"]
    found += [f"aqm.{name}" for name in queue.not_modelled]
    for flow in scenario.flows:
        found += ["flows.sender.thinned"] if flow.sender.constant_rate is not None else []
    return list(dict.fromkeys(found))


# The orders


def _wires(scenario: Scenario) -> Iterator[Message]:
    mtu = int(scenario.packet_size) - _ETHERNET
    ends = ((_SENDER, "s_r", "r_s", "10.0.1"), (_RECEIVER, "d_r", "r_d", "10.0.2"))
    for host, near, far, _ in ends:
        hardware = _hardware(far), _hardware(near)
        yield add_veth(_ROUTER, far, _NAMESPACES_AT + host, near, mtu, hardware)
    for host, near, far, _ in ends:
        yield enable_link(host, near)
        yield enable_link(_ROUTER, far)
    for namespace in (_SENDER, _ROUTER, _RECEIVER):
        yield enable_link(namespace, "lo")
    for host, near, far, net in ends:
        yield add_address(host, near, f"{net}.{_NUMBER[near]}")
        yield add_address(_ROUTER, far, f"{net}.{_NUMBER[far]}")
    for host, near, far, net in ends:
        yield add_neighbour(host, near, f"{net}.{_NUMBER[far]}", _hardware(far))
        yield add_neighbour(_ROUTER, far, f"{net}.{_NUMBER[near]}", _hardware(near))
    for host, _, far, net in ends:
        yield add_default_route(host, f"{net}.{_NUMBER[far]}")


def _hardware(device: str) -> bytes:
    """Return an Ethernet address that is administered locally."""
    return bytes([2, 0, 0, 0, list(_NUMBER).index(device), _NUMBER[device]])


def _switches(scenario: Scenario) -> Iterator[str]:
    yield f"sys {_ROUTER} net/ipv4/ip_forward 1"
    most = socket_bytes(scenario, _LEAST_SOCKET)
    for host in (_SENDER, _RECEIVER):
        yield f"sys {host} net/ipv4/tcp_no_metrics_save 1"
        yield f"sys {host} net/ipv4/tcp_wmem 4096 1048576 {most}"
        # To begin with a larger one would do harm: Linux answers every segment at once until the
        # window that it offers has grown to its buffer (tcp_grow_window).
        yield f"sys {host} net/ipv4/tcp_rmem 4096 {_RECEIVER_BEGINS} {most}"
        yield f"sys {host} net/ipv4/tcp_ecn 2"  # only where the other end asks for it


def _ways_back(paths: list[int]) -> Iterator[Message]:
    yield add_priorities(_RECEIVER, "d_r", _BUCKET, max(2, len(paths)))
    for band, delay in enumerate(paths):
        handle = (_FIRST_NETEM + band) << 16
        yield add_netem(_RECEIVER, "d_r", handle, _priority(band), delay, _HELD)


def _priority(band: int) -> int:
    """Return which class of the receiver's root, and which priority of a socket, is a band."""
    return _BUCKET | band + 1


def _bottleneck(scenario: Scenario, queue: Told) -> Iterator[Message]:
    yield add_htb(_ROUTER, "r_d", _BUCKET)
    yield _rate(scenario, float(scenario.link.capacity))
    yield add_qdisc(_ROUTER, "r_d", _HANDLE, _BUCKET | 1, queue.kind, queue.options)
    if scenario.aqm.tells_l4s:
        yield add_clsact(_ROUTER, "r_s")
        for index, flow in enumerate(scenario.flows):
            if flow.is_l4s and flow.sender.constant_rate is None:
                yield mark_as_l4s(_ROUTER, "r_s", _PORT + index, _FIRST_NETEM + index)


def _rate(scenario: Scenario, capacity: float, *, replace: bool = False) -> Message:
    burst = int(scenario.packet_size)
    return set_htb_class(_ROUTER, "r_d", _BUCKET, capacity, burst, replace=replace)


def _changes(scenario: Scenario) -> Iterator[str]:
    """Yield new rates; new numbers of flows are flows that start and stop."""
    for change in scenario.changes:
        if change.capacity is not None:
            message = _rate(scenario, float(change.capacity), replace=True)
            yield f"at {float(change.at)!r} {message.order()}"


def _classes(scenario: Scenario, paths: list[int]) -> Iterator[str]:
    for flow in scenario.flows:
        priority = _priority(paths.index(to_ns(flow.base_rtt)))
        if flow.sender.constant_rate is None:
            control, ecn, sent = congestion_of(flow.sender), int(flow.ecn_capable), "0.0 0 0 -1"
        else:
            control, ecn, sent = "reno", _field(flow), _datagrams(flow, int(scenario.packet_size))
        yield f"class {control} {ecn} {priority} {sent}"


def _field(flow: Flows) -> int:
    """Return the ECN field of datagrams."""
    return (1 if flow.is_l4s else 2) if flow.ecn_capable else 0


def _datagrams(flow: Flows, link: int) -> str:
    """Return when datagrams go (s), bytes in each, and of a burst how many and what is left."""
    told, headers = flow.sender.packet_parameters(), _ETHERNET + _UDP
    size = int(flow.packet_size or link)
    burst = int(told["burst"] or size)
    full, rest = divmod(burst, size)
    interval = 8.0 * burst / float(told["rate"])
    return f"{interval!r} {size - headers} {full} {rest - headers if rest else -1}"


def flow_times(scenario: Scenario, seed: int) -> list[tuple[int, float, float]]:
    """Return the class of each flow, and when it comes and goes (s); one that stays goes later.

    A flow is late by what is drawn of its class's `start_jitter`, and none lives backwards.
    The same seed draws something else for other traffic, and the same for another queue under it.
    """
    traffic = dataclasses.replace(scenario, aqm=TailDrop()).to_toml()
    draw, end = random.Random(f"{seed} {traffic}"), to_ns(scenario.duration)
    lives = flow_lives(scenario)
    found = []
    for owner, start, stop in np.stack(lives, axis=1).tolist():
        begins = start / NS + draw.random() * float(scenario.flows[owner].start_jitter)
        ends = (stop if stop < end else 2 * end) / NS
        found.append((owner, begins, max(begins, ends)))
    return found


def _flows(scenario: Scenario, seed: int) -> Iterator[str]:
    for owner, begins, ends in flow_times(scenario, seed):
        yield f"flow {owner} {begins:.9f} {ends:.9f}"


def _require_network(scenario: Scenario) -> None:
    refuse_finite(scenario.flows)
    names = scenario.node_names
    if len(names) > 1:
        raise UnsupportedError(
            f"Scenario has {len(names)} links, and the guest's router has one: give one, or use"
            " another engine, e.g. Packets()."
        )
    refuse_losses(scenario.network, "the guest does")
    refuse_detours(scenario, "the guest does")
    refuse_aggregates(scenario.network, "the guest does")
    refuse_rings(scenario.network, "the guest does")
    link = scenario.link
    if link.kind != "htb":
        raise UnsupportedError(
            f'Link kind = "{link.kind}" is not in Linux, where a token bucket makes the rate: give'
            ' kind = "htb" below [link], or use another engine, e.g. Packets().'
        )
    if link.delay_on != "return":
        raise UnsupportedError(
            f'Link delay_on = "{link.delay_on}" is not what the guest has, which delays'
            ' acknowledgements: give delay_on = "return", or use another engine, e.g. Packets().'
        )
    _whole(link.packet_size, "Link packet_size", *_PACKET)
    _whole(link.buffer, "Link buffer", 1, _MOST_BUFFER)
    _require_rate(link.capacity, "Link capacity")
    queue = qdisc_of(scenario.aqm, link)
    for index, flow in enumerate(scenario.flows):
        if queue.marks_anyway and flow.ecn_capable:
            name = type(scenario.aqm).__name__
            raise UnsupportedError(
                f"{name} ecn = False drops what {_place(scenario, index)} could be told by marks,"
                f" and Linux's {queue.kind} always marks: give {name} ecn = True, or flows without"
                " ecn."
            )


def _require_times(scenario: Scenario) -> None:
    if scenario.duration > _LONGEST:
        raise DomainError(
            f"Scenario duration = {float(scenario.duration):g} s is longer than the {_LONGEST:g} s"
            " that the guest's log counts: give a shorter one, or use another engine, e.g."
            " Packets()."
        )
    if len(scenario.changes) > _MOST_CHANGES:
        raise DomainError(
            f"Scenario has {len(scenario.changes)} changes, more than the {_MOST_CHANGES} that the"
            " guest can keep: give fewer, or use another engine, e.g. Packets()."
        )
    for change in scenario.changes:
        place = f"Scenario change at {format_quantity(float(change.at), 'time')}"
        for name, count in (change.counts or {}).items():
            _whole(count, f"{place} counts[{name!r}]", 0, _MOST_FLOWS)
        if change.capacity is not None:
            _require_rate(change.capacity, f"{place} capacity")


def _require_flows(scenario: Scenario, index: int) -> None:
    flow, place = scenario.flows[index], _place(scenario, index)
    _whole(flow.count, f"{place} count", 1, _MOST_FLOWS)
    if flow.sender.constant_rate is not None:
        _require_datagrams(flow, int(scenario.packet_size), place)
        return
    if flow.packet_size not in {None, scenario.packet_size}:
        raise UnsupportedError(
            f"{place} packet_size = {show_value(flow.packet_size)} B is not for"
            f" {type(flow.sender).__name__}, whose segments the guest's devices make full: leave it"
            " out, or use another engine, e.g. Packets()."
        )
    if isinstance(flow.ecn, str) and flow.is_l4s != (flow.sender.signal == "scalable"):
        raise UnsupportedError(
            f"{place} ecn = {flow.ecn!r} is not what Linux's {congestion_of(flow.sender)} sends:"
            " leave it out, or use another engine, e.g. Packets()."
        )
    congestion_of(flow.sender)
    for field, known in _KNOWN.items():
        if (value := getattr(flow, field)) != known:
            raise UnsupportedError(
                f"{place} {field} = {show_value(value)} is not what Linux does: give {field} ="
                f" {known}, or use another engine, e.g. Packets()."
            )
    if flow.sender.signal == "scalable" and flow.ecn is False:
        raise UnsupportedError(
            f"{place} ecn = False asks for {type(flow.sender).__name__} without marks, which Linux"
            " turns on for it: leave ecn out, or use another engine, e.g. Packets()."
        )


def _require_datagrams(flow: Flows, link: int, place: str) -> None:
    parameters, size = flow.sender.packet_parameters(), int(flow.packet_size or link)
    for what, name in (("peak", "peak"), ("poisson", "spacing"), ("pause", "off")):
        if parameters[what]:
            raise UnsupportedError(
                f"{place} {name} = {show_value(getattr(flow.sender, name))} is not what the guest's"
                " program does, which sends bursts at once and evenly: leave it out, or use another"
                " engine, e.g. Packets()."
            )
    _whole(size, f"{place} packet_size", _LEAST_DATAGRAM, link)
    rest = int(parameters["burst"]) % size
    if parameters["burst"] and 0 < rest < _LEAST_DATAGRAM:
        raise DomainError(
            f"{place} burst = {show_value(parameters['burst'])} B leaves {rest} B for its last"
            f" packet, less than the {_LEAST_DATAGRAM} B of headers: give some more, or less."
        )


def _require_counts(scenario: Scenario) -> None:
    flows, classes = sum(flow_counts(scenario)), len(scenario.flows)
    for what, number, most in (
        ("flows", flows, _MOST_FLOWS),
        ("classes of flows", classes, _MOST_CLASSES),
    ):
        if number > most:
            raise DomainError(
                f"Scenario has {number} {what}, more than the {most} of which the guest is asked:"
                " give fewer, or use another engine, e.g. Packets()."
            )


def _place(scenario: Scenario, index: int) -> str:
    return f"Scenario flows {index + 1} ({show_value(scenario.class_names[index])})"


def _require_rate(rate: Number, name: str) -> None:
    low, high = _CAPACITY
    if not low <= float(rate) <= high:
        raise DomainError(
            f"{name} = {float(rate):g} bit/s is outside [{low:g}, {high:g}] bit/s, the rates of"
            " which Linux is asked: give one inside."
        )


def _whole(value: Number, name: str, low: int, high: int) -> None:
    number = float(value)
    if not low <= number <= high or number != math.floor(number):
        raise DomainError(
            f"{name} = {number:.12g} is no whole number in [{low}, {high}], which Linux"
            " needs: give one."
        )
