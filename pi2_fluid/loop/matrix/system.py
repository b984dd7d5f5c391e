"""A network at rest -> what its matrix loop is made of, by the derivatives of the laws themselves.

Classes are linearised as for one queue (`pi2_fluid.loop.linearization`), controllers too. What a
network adds is where things are on the way: f, the time from the source to each queue, R - f, the
time that a signal takes from there to the source and the answer back, and what each queue does to
the rates that leave it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pi2_fluid.errors import UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.controllers import linearize_aqm
from pi2_fluid.loop.linearization import feed_through, linearize_sender
from pi2_fluid.loop.link import Coupling
from pi2_fluid.loop.state_space import Keeping, LinearClass, LinearController
from pi2_fluid.network.bottlenecks import NetworkPoint
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.network import Network
from pi2_fluid.network.routes import on_their_ways, places_of

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray, IntArray


class Passing(NamedTuple):
    """What one queue does to the rates that reach another behind it."""

    at: int
    """The queue that they reach."""
    before: int
    """The queue that they left."""
    shares: FloatArray
    """Part of the capacity at the later queue, class by class of those that cross both."""
    delays: FloatArray
    """Seconds from the arrival at one to the arrival at the other, class by class."""


@dataclass(frozen=True, eq=False)
class MatrixLoop(Keeping):
    """A network linearised at rest, with all that has a queue there.

    Attributes
    ----------
    classes : tuple of LinearClass
        Those that move, in any order. Their b is the response to the probability p with which some
        queue signals them, their weight the number of flows.
    controllers : tuple of LinearController
        Of each link that signals: from its queue delay, or without a queue from what arrives.
    signals : tuple of int
        Which queues these links are. The others wait less than their target, signal nothing, and
        are part of the plant.
    capacity : numpy.ndarray, shape (queues,)
        Packets per second.
    crosses : shape (classes, queues)
        1 where the queue is on the route, else 0.
    forward : shape (classes, queues)
        Seconds from the source to the arrival at the queue, queues on the way included; 0 where it
        is not on the route.
    slopes : shape (classes, links that signal)
        Of p of the class over the variable of the link's controller.
    passings : tuple of Passing
        None of transport "delay".
    feeds : shape (classes,)
        Response of the sending rate to p itself, beside that of the states; 0 as a rule.
    waits : numpy.ndarray of bool, shape (queues,)
        Whether a queue is there. A link with a price has none: its controller acts on what arrives.
    moving : tuple of int
        Which of the network's classes of flows the classes are.
    places : tuple of int
        Which of its nodes the queues are.
    """

    classes: tuple[LinearClass, ...]
    controllers: tuple[LinearController, ...]
    signals: tuple[int, ...]
    capacity: FloatArray
    crosses: FloatArray
    forward: FloatArray
    slopes: FloatArray
    passings: tuple[Passing, ...]
    feeds: FloatArray
    waits: BoolArray
    moving: tuple[int, ...]
    places: tuple[int, ...]

    @cached_property
    def rtt(self) -> FloatArray:
        """Round-trip time of each class, queues included (s)."""
        return np.array([float(cls.rtt) for cls in self.classes])

    @cached_property
    def weight(self) -> FloatArray:
        """Seconds of queue per second and packet per second of one flow: (classes, queues)."""
        counts = np.array([float(cls.weight) for cls in self.classes])
        return counts[:, None] * self.crosses / self.capacity

    @cached_property
    def delayed(self) -> FloatArray:
        """1 where the queue delays the class, else 0: (classes, queues)."""
        return self.crosses * self.waits

    @cached_property
    def groups(self) -> list[tuple[list[int], LinearClass]]:
        """The classes by their number of states: their places, and all as one with a first axis."""
        found = []
        for size in sorted({cls.size for cls in self.classes}):
            places = [place for place, cls in enumerate(self.classes) if cls.size == size]
            stacked: dict[str, Any] = {}
            for field in fields(LinearClass):
                values = [getattr(self.classes[place], field.name) for place in places]
                if field.name not in ("size", "lead"):
                    stacked[field.name] = np.stack(values)[:, None]
            found.append((places, LinearClass(size=size, **stacked)))
        return found

    @cached_property
    def intervals(self) -> list[float]:
        """Time between updates of each link that signals (s); inf without updates."""
        every = [controller.interval for controller in self.controllers]
        return [math.inf if interval is None else float(interval) for interval in every]

    @cached_property
    def units(self) -> FloatArray:
        """What each controller acts on, per unknown of its link: seconds, or packets per second."""
        signals = list(self.signals)
        return np.where(self.waits[signals], 1.0, self.capacity[signals])


class _Queue(NamedTuple):
    """Where one queue of the network rests."""

    controller: float
    queue_delay: float
    capacity: float


def linearize_network(
    network: Network, point: NetworkPoint, rtt_terms: str = "frozen", transport: str = "fifo"
) -> MatrixLoop:
    """Linearise a network where it rests.

    Parameters
    ----------
    network : Network
        Of any number of nodes.
    point : NetworkPoint
        Where it rests.
    rtt_terms : {"frozen", "exact"}
        As for `pi2_fluid.loop.linearization.linearize`.
    transport : {"fifo", "delay"}
        Whether a queue that waits passes on what entered it, no more than its capacity in all, or
        each class's rate reaches every queue of its route as it left the source, late.

    Raises
    ------
    UnsupportedError
        If no queue signals, or what queues signal is not unique; if a law cannot be differentiated
        or reacts to the arrival rate.
    """
    _require_unique(point)
    waits = point.queue_delay.to_numpy()
    signalled = point.controller.to_numpy() > 0.0
    places = np.flatnonzero(point.bottleneck.to_numpy() & (signalled | (waits > 0.0)))
    numbers = point.controller, waits, point.capacity
    queues = [_Queue(*(float(values[place]) for values in numbers)) for place in places]
    signals = [number for number, queue in enumerate(queues) if queue.controller > 0.0]
    if not signals:
        raise UnsupportedError(
            "no node of this network signals at rest, so that there is no loop: lower a capacity,"
            " or add flows."
        )
    laws = [network.nodes[places[queue]].aqm for queue in signals]
    for law, queue in zip(laws, signals, strict=True):
        law.encode(queues[queue].controller)  # which a law without a loop refuses in its own words
    found = [
        linearize_aqm(law, queues[queue], ()) for law, queue in zip(laws, signals, strict=True)
    ]
    (size,) = {float(node.link.packet_size) for node in network.nodes}
    queues_by_name = {node.name: node.aqm for node in network.nodes}
    flows = on_their_ways(network.flows, queues_by_name, size)
    senders = [flow.sender for flow in flows]
    at_rest = list(
        zip(senders, point.states, point.p.to_numpy(), point.rtt.to_numpy(), strict=True)
    )
    classes = [
        _without_still_states(
            linearize_sender(*rest, ()).through(
                Coupling(float(flow.count), None, True), np.ones(()), rtt_terms
            )
        )
        for rest, flow in zip(at_rest, network.flows, strict=True)
    ]
    feeds = np.array([float(feed_through(*rest)) for rest in at_rest])
    routes = places_of(network.node_names, network.flows)
    crosses = np.array([np.isin(places, route) for route in routes], float)
    forward = np.array(
        [_forward(*way, waits)[places] for way in zip(network.flows, routes, strict=True)]
    )
    slopes = _slopes(network, point, senders, [slope for slope, _ in found], places[signals])
    moves = [
        place
        for place, cls in enumerate(classes)
        if np.any(cls.c) or np.any(cls.r) or feeds[place] != 0.0
    ]
    waiting = np.array([queue.queue_delay > 0.0 for queue in queues])
    for law, queue, (_, controller) in zip(laws, signals, found, strict=True):
        if not waiting[queue]:
            _require_a_pause(law, controller, senders, feeds)
    shares = point.share.to_numpy()[places]
    return MatrixLoop(
        classes=tuple(classes[place] for place in moves),
        controllers=tuple(controller for _, controller in found),
        signals=tuple(signals),
        capacity=np.array([queue.capacity for queue in queues]),
        crosses=crosses[moves],
        forward=forward[moves] * crosses[moves],
        slopes=slopes[moves],
        passings=tuple(
            passing
            for passing in _passings(routes, places, forward, shares)
            if transport == "fifo" and waiting[passing.before]
        ),
        feeds=feeds[moves],
        waits=waiting,
        moving=tuple(moves),
        places=tuple(map(int, places)),
    )


def _without_still_states(cls: LinearClass) -> LinearClass:
    """A class whose state nothing moves, without it: its rate hears signals itself, or nothing."""
    if any(np.any(part) for part in (cls.a0, cls.a1, cls.b, cls.e0, cls.e1)):
        return cls
    square, none = np.zeros((0, 0)), np.zeros(0)
    return replace(cls, a0=square, a1=square, b=none, e0=none, e1=none, c=none, size=0)


def _require_unique(point: NetworkPoint) -> None:
    if point.unique:
        return
    names, waits = point.load.link.to_numpy(), point.bottleneck.to_numpy()
    full = [show_value(str(name)) for name in names[waits]]
    raise UnsupportedError(
        f"what the bottlenecks {', '.join(full)} signal is not unique, since the same flows fill"
        " them, so that nothing holds one of their queues where it is: leave one of them out, or"
        " change its capacity."
    )


def _require_a_pause(
    law: Aqm, controller: LinearController, senders: Sequence[Sender], feeds: FloatArray
) -> None:
    """Refuse what acts at once both ways, signals on rates and rates on signals."""
    top, bottom, _ = controller.continuous_image
    at_once = len(top) == len(bottom) and np.any(top[-1])
    for sender, feed in zip(senders, feeds, strict=True):
        if at_once and feed != 0.0:
            raise UnsupportedError(
                f"{type(sender).__name__} lets signals act on its rate at once, and"
                f" {type(law).__name__} what arrives on its signals, so that nothing fades at high"
                " frequency: give another sender, or Price."
            )


def _forward(flow: Flows, route: Sequence[int], waits: FloatArray) -> FloatArray:
    """Seconds from the source to each node of the route, 0 for others."""
    times = np.zeros(len(waits))
    now = 0.0
    for place, hop in zip(route, flow.hops or (0.0,) * len(route), strict=True):
        now += float(hop)
        times[place] = now
        now += waits[place]
    return times


def _slopes(
    network: Network,
    point: NetworkPoint,
    senders: Sequence[Sender],
    encoders: Sequence[dict[str, FloatArray]],
    places: IntArray,
) -> FloatArray:
    """Of what each class hears over the controller's variable of each link that signals.

    Independent draws: 1 - p is the product of 1 - p_l, so that a link counts by what the others of
    the route leave unsignalled.
    """
    slopes = np.zeros((len(senders), len(encoders)))
    adds = network.combine == "sum"
    names = network.node_names
    for row, (sender, flow) in enumerate(zip(senders, network.flows, strict=True)):
        if sender.signal is None:
            continue
        p = point.link_p.sel(signal=sender.signal).to_numpy()
        route = [names.index(name) for name in flow.route or names[:1]]
        for column, (encoder, place) in enumerate(zip(encoders, places, strict=True)):
            if place in route:
                others = [other for other in route if other != place]
                left = 1.0 if adds else float(np.prod(1.0 - p[others]))
                slopes[row, column] = encoder[sender.signal] * left
    return slopes


def _passings(
    routes: Sequence[Sequence[int]], places: IntArray, forward: FloatArray, shares: FloatArray
) -> list[Passing]:
    """Every pair of queues that some class crosses one after the other.

    Classes that nothing moves count as well: what one queue does to their rates reaches the next.
    """
    pairs: dict[tuple[int, int], list[int]] = {}
    queue_of = {int(place): queue for queue, place in enumerate(places)}
    for row, route in enumerate(routes):
        way = [queue_of[place] for place in route if place in queue_of]
        for before, at in itertools.combinations(way, 2):
            pairs.setdefault((at, before), []).append(row)
    return [
        Passing(at, before, shares[at, rows], forward[rows, at] - forward[rows, before])
        for (at, before), rows in pairs.items()
    ]
