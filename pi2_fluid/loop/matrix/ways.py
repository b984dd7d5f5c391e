"""The queues of a network at rest, and the way of each class through them.

A link with one queue is one here, and so is a dual queue that only one kind of packets crosses.
A dual queue that both cross is two: packets wait in one of them, those of the other are served as
they come, and take from the link what they need.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.link import require_plain_sharing
from pi2_fluid.network.bottlenecks import NetworkPoint
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.network import Network, Node
from pi2_fluid.network.routes import places_of

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray


class Passing(NamedTuple):
    """What one queue does to the rates that reach another behind it."""

    at: int
    """The queue that they reach."""
    before: int
    """The queue that they left."""
    shares: FloatArray
    """Part of what the later queue is served, class by class of those that cross both."""
    delays: FloatArray
    """Seconds from the arrival at one to the arrival at the other, class by class."""


class Pair(NamedTuple):
    """The two queues of a dual one."""

    waits: int
    """The queue in which packets wait."""
    served: int
    """The other, whose packets are served as they come."""
    delay: float
    """Seconds that packets wait in the first at rest."""


class QueueAtRest(NamedTuple):
    """Where the queue of a link rests, as `linearize_aqm` asks for it."""

    controller: float
    queue_delay: float | tuple[float, float]
    """Seconds; of a dual queue (Classic, L4S)."""
    capacity: float
    """Packets per second of the link."""


class FullLink(NamedTuple):
    """A link with a queue at rest, or with a price."""

    place: int
    """Among the nodes of the network."""
    queue: int
    """Which queue it is, of a dual one that which waits."""
    rest: QueueAtRest
    signals: bool
    """Whether it signals anything."""


class Ways(NamedTuple):
    """The queues at rest, and who crosses which."""

    links: tuple[FullLink, ...]
    pairs: tuple[Pair, ...]
    waits: BoolArray
    """Whether packets wait there: (queues,)."""
    served: FloatArray
    """Packets per second, of both queues of a dual one what the link leaves that which waits."""
    crosses: FloatArray
    """1 where a class goes through a queue, else 0: (classes, queues)."""
    forward: FloatArray
    """Seconds from the source to the link of the queue, 0 off the route: (classes, queues)."""
    shares: FloatArray
    """Part that a class has of what a queue is served: (queues, classes)."""
    routes: tuple[tuple[int, ...], ...]
    """Of each class: its queues in order."""
    places: tuple[int, ...]
    """Of each queue: its node among those of the network."""

    def passings(self) -> tuple[Passing, ...]:
        """Return every pair of queues that some class crosses one after the other.

        Of those whose first one waits. Classes that nothing moves count as well: what one queue
        does to their rates reaches the next.
        """
        found: dict[tuple[int, int], list[int]] = {}
        for row, route in enumerate(self.routes):
            for before, at in itertools.combinations(route, 2):
                if self.waits[before]:
                    found.setdefault((at, before), []).append(row)
        forward = self.forward
        return tuple(
            Passing(at, before, self.shares[at, rows], forward[rows, at] - forward[rows, before])
            for (at, before), rows in found.items()
        )


def ways_of(network: Network, point: NetworkPoint, senders: Sequence[Sender]) -> Ways:
    """Return the queues of a network at rest, and the ways through them.

    Parameters
    ----------
    network : Network
        Of any number of nodes.
    point : NetworkPoint
        Where it rests.
    senders : sequence of Sender
        One per class.

    Raises
    ------
    UnsupportedError
        If L4S traffic is up against what a dual queue keeps for Classic traffic, or a dual queue
        shares its link by a law of one's own.
    """
    places = places_of(network.node_names, network.flows)
    delays = np.column_stack([point.numbers("queue_delay"), point.numbers("l4s_delay")])
    signals, controller = point.signals_at, point.numbers("controller")
    full = point.numbers("bottleneck") & (signals | delays.any(axis=1))
    scalable = np.array([sender.signal == "scalable" for sender in senders])
    shares, capacity = point.numbers("share"), point.numbers("capacity")
    links, pairs = list[FullLink](), list[Pair]()
    waits, served = list[bool](), list[float]()
    #: Of each link that is full: the queue of Classic packets, and that of L4S packets.
    queues: dict[int, tuple[int, int]] = {}
    for place in np.flatnonzero(full).tolist():
        node, packets, own = network.nodes[place], float(capacity[place]), len(waits)
        classic, l4s = (float(delay) for delay in delays[place])
        dual, band = node.aqm.bands == 2, int(l4s > classic)
        rest = QueueAtRest(float(controller[place]), (classic, l4s) if dual else classic, packets)
        links.append(FullLink(place, own, rest, bool(signals[place])))
        waits.append(max(classic, l4s) > 0.0)
        beside = dual & (scalable != bool(band)) & np.array([place in way for way in places])
        left = packets * (1.0 - float(np.sum(shares[place, beside])))
        served.append(left)
        if np.any(beside):
            waits.append(False)
            served.append(left)
            pairs.append(Pair(own, own + 1, max(classic, l4s)))
            _require_one_that_waits(node, rest, left, band)
        other = own + int(np.any(beside))
        queues[place] = (other, own) if band else (own, other if dual else own)
    routes = tuple(
        tuple(queues[place][int(scalable[row])] for place in way if place in queues)
        for row, way in enumerate(places)
    )
    crosses = np.zeros((len(routes), len(waits)))
    for row, way in zip(crosses, routes, strict=True):
        row[list(way)] = 1.0
    first = [link.queue for link in links]
    place_of = np.repeat([link.place for link in links], np.diff([*first, len(waits)]))
    bands = delays[:, scalable.astype(int)].T
    forward = np.array(
        [arrivals_along(*way) for way in zip(network.flows, places, bands, strict=True)]
    )[:, place_of]
    parts = (shares * capacity[:, None])[place_of] / np.array(served)[:, None]
    return Ways(
        tuple(links),
        tuple(pairs),
        np.array(waits),
        np.array(served),
        crosses,
        forward,
        parts * crosses.T,
        routes,
        tuple(map(int, place_of)),
    )


def require_answers_in_time(senders: Sequence[Sender], feeds: FloatArray, ways: Ways) -> None:
    """Refuse rates that hear signals at once where they take the link from packets that wait.

    Raises
    ------
    UnsupportedError
        Naming the sender.
    """
    for pair in ways.pairs:
        for sender, feed, there in zip(senders, feeds, ways.crosses[:, pair.served], strict=True):
            if feed != 0.0 and there:
                raise UnsupportedError(
                    f"{type(sender).__name__} lets signals act on its rate at once, and its rate"
                    " acts on the delay of the other queue of a dual one at once, so that nothing"
                    " fades at high frequency: give another sender, or a single queue."
                )


def _require_one_that_waits(node: Node, rest: QueueAtRest, left: float, band: int) -> None:
    """Refuse two queues that both fill, or that share the link in another way than DualPi2's."""
    assert isinstance(rest.queue_delay, tuple), "of a dual queue"
    other = rest.capacity - left
    arriving = (other, left) if band else (left, other)
    require_plain_sharing(node.aqm, arriving, rest.queue_delay, rest.capacity)


def arrivals_along(flow: Flows, route: Sequence[int], delays: FloatArray) -> FloatArray:
    """Return the seconds from the source to each node of the route, 0 for others."""
    times = np.zeros(len(delays))
    now = 0.0
    for place, hop in zip(route, flow.hops or (0.0,) * len(route), strict=True):
        now += float(hop)
        times[place] = now
        now += float(delays[place])
    return times
