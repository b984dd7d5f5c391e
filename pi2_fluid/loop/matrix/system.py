"""A network at rest -> what its matrix loop is made of, by the derivatives of the laws themselves.

Classes are linearised as for one queue (`pi2_fluid.loop.linearization`), controllers too. What a
network adds is where things are on the way: f, the time from the source to each queue, R - f, the
time that a signal takes from there to the source and the answer back, and what each queue does to
the rates that leave it. A dual queue is two queues (`Pair`), of which one waits and the other takes
what it is sent from the link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.errors import UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.controllers import linearize_aqm
from pi2_fluid.loop.linearization import feed_through, linearize_sender
from pi2_fluid.loop.link import Coupling
from pi2_fluid.loop.matrix.network_matrices import NetworkMatrices
from pi2_fluid.loop.matrix.ways import Pair, Passing, require_answers_in_time, ways_of
from pi2_fluid.loop.state_space import LinearClass, LinearController
from pi2_fluid.network.bottlenecks import NetworkPoint
from pi2_fluid.network.network import Network
from pi2_fluid.network.routes import on_their_ways

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class MatrixLoop(NetworkMatrices):
    """A network linearised at rest, with all that has a queue there.

    Attributes
    ----------
    classes : tuple of LinearClass
        Those that move, in any order. Their b is the response to the probability p with which some
        queue signals them, their weight the number of flows.
    controllers : tuple of LinearController
        Of each link that signals: from its queue delay, or without a queue from what arrives.
    signals : tuple of int
        Which queues these links are, of a dual one that which waits. The others wait less than
        their target, signal nothing, and are part of the plant; so is the other one of a pair.
    capacity : numpy.ndarray, shape (queues,)
        Packets per second; of either queue of a dual one what the link leaves the one that waits.
    crosses : shape (classes, queues)
        1 where the class goes through the queue, else 0.
    forward : shape (classes, queues)
        Seconds from the source to the arrival at the link of the queue, queues on the way included;
        0 where it is not on the route.
    slopes : shape (classes, links that signal)
        Of p of the class over the variable of the link's controller.
    passings : tuple of Passing
        None of transport "delay".
    feeds : shape (classes,)
        Response of the sending rate to p itself, beside that of the states; 0 as a rule.
    waits : numpy.ndarray of bool, shape (queues,)
        Whether packets wait there. At a link with a price they do not: its controller acts on what
        arrives.
    moving : tuple of int
        Which of the network's classes of flows the classes are.
    places : tuple of int
        Which of its nodes the queues are.
    pairs : tuple of Pair
        Dual queues.
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
    pairs: tuple[Pair, ...] = ()

    @cached_property
    def delays(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Round-trip times and times to queues, every one once, and which are whose.

        Seconds; which the round-trip times are, (classes,), and `forward`, (classes, queues).
        """
        found, which = np.unique(np.append(self.rtt, self.forward), return_inverse=True)
        count = len(self.rtt)
        return found, which[:count], which[count:].reshape(self.forward.shape)

    @cached_property
    def weight(self) -> FloatArray:
        """Seconds of queue per second and packet per second of one flow: (classes, queues)."""
        counts = np.array([float(cls.weight) for cls in self.classes])
        return counts[:, None] * self.crosses / self.capacity

    @cached_property
    def delayed(self) -> FloatArray:
        """Seconds that a class is delayed per unknown of a queue: (classes, queues).

        1 of a queue that waits. What takes the link from it makes its packets wait for longer.
        """
        felt = self.crosses * self.waits
        for pair in self.pairs:
            felt[:, pair.served] = pair.delay * self.crosses[:, pair.waits]
        return felt

    @cached_property
    def acted_on(self) -> FloatArray:
        """What each controller acts on, per unknown of a queue: (links that signal, queues)."""
        found = np.zeros((len(self.signals), len(self.waits)))
        found[range(len(self.signals)), list(self.signals)] = 1.0
        for pair in self.pairs:
            found[:, pair.served] = pair.delay * found[:, pair.waits]
        return found

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
    def units(self) -> FloatArray:
        """What each controller acts on, per unknown of its link: seconds, or packets per second."""
        signals = list(self.signals)
        return np.where(self.waits[signals], 1.0, self.capacity[signals])


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
    if not np.any(point.numbers("bottleneck") & point.signals_at):
        raise UnsupportedError(
            "no node of this network signals at rest, so that there is no loop: lower a capacity,"
            " or add flows."
        )
    (size,) = {float(node.link.packet_size) for node in network.nodes}
    queues_by_name = {node.name: node.aqm for node in network.nodes}
    flows = on_their_ways(network.flows, queues_by_name, size)
    senders = [flow.sender for flow in flows]
    ways = ways_of(network, point, senders)
    links = [link for link in ways.links if link.signals]
    laws = [network.nodes[link.place].aqm for link in links]
    for law, link in zip(laws, links, strict=True):
        law.encode(link.rest.controller)  # which a law without a loop refuses in its own words
    found = [linearize_aqm(law, link.rest, ()) for law, link in zip(laws, links, strict=True)]
    at_rest = list(
        zip(senders, point.states, point.numbers("p"), point.numbers("rtt"), strict=True)
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
    encoders = [slope for slope, _ in found]
    slopes = _slopes(network, point, senders, encoders, [link.place for link in links])
    moves = [
        place
        for place, cls in enumerate(classes)
        if np.any(cls.c) or np.any(cls.r) or feeds[place] != 0.0
    ]
    for law, link, (_, controller) in zip(laws, links, found, strict=True):
        if not ways.waits[link.queue]:
            _require_a_pause(law, controller, senders, feeds)
    require_answers_in_time(senders, feeds, ways)
    result = MatrixLoop(
        classes=tuple(classes[place] for place in moves),
        controllers=tuple(controller for _, controller in found),
        signals=tuple(link.queue for link in links),
        capacity=ways.served,
        crosses=ways.crosses[moves],
        forward=ways.forward[moves],
        slopes=slopes[moves],
        passings=ways.passings() if transport == "fifo" else (),
        feeds=feeds[moves],
        waits=ways.waits,
        moving=tuple(moves),
        places=ways.places,
        pairs=ways.pairs,
    )
    _require_fading_rings(result)
    return result


def _without_still_states(cls: LinearClass) -> LinearClass:
    """A class whose state nothing moves, without it: its rate hears signals itself, or nothing."""
    if any(np.any(part) for part in (cls.a0, cls.a1, cls.b, cls.e0, cls.e1)):
        return cls
    square, none = np.zeros((0, 0)), np.zeros(0)
    return replace(cls, a0=square, a1=square, b=none, e0=none, e1=none, c=none, size=0)


def _require_unique(point: NetworkPoint) -> None:
    if point.unique:
        return
    names, waits = point.load.link.to_numpy(), point.numbers("bottleneck")
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


def most_passed(loop: MatrixLoop) -> FloatArray:
    """Return bounds of what passes from queue to queue at high frequency: (queues, queues)."""
    queues = len(loop.capacity)
    most = np.zeros((queues, queues))
    for passing in loop.passings:
        share = float(np.sum(passing.shares))
        most[passing.at, passing.before] += share
        for pair in loop.pairs:
            if pair.waits == passing.before:
                most[passing.at, pair.served] += 2.0 * share
    for pair in loop.pairs:
        most[pair.waits, pair.served] += 1.0
    return most


def _require_fading_rings(loop: MatrixLoop) -> None:
    """Refuse what may go round by a dual queue and back through one in which L4S packets wait.

    What they take from the link there, other packets lose, and so on around: nothing says that it
    dies out, as what goes round single queues does (see `pi2_fluid.loop.matrix.delays`), but that
    it is little.
    """
    if not loop.pairs:
        return
    at_once = np.array([abs(float(cls.r)) for cls in loop.classes])
    most = loop.weight.T @ (at_once[:, None] * loop.delayed)
    most[:, loop.waits] = 0.0  # a delay follows what arrives: that fades
    most += most_passed(loop)
    further = reaches = (most > 0.0).astype(float)
    for _ in loop.waits:
        further = np.minimum(further + further @ reaches, 1.0)
    rings = any(further[pair.served, pair.served] > 0.0 for pair in loop.pairs)
    if rings and np.max(np.abs(np.linalg.eigvals(most))) >= 1.0:
        raise UnsupportedError(
            "what L4S packets take from others in a dual queue comes round to a single one in which"
            " they wait, and whether it dies out is not known: simulate it, or make that one a dual"
            " queue, too."
        )


def _slopes(
    network: Network,
    point: NetworkPoint,
    senders: Sequence[Sender],
    encoders: Sequence[dict[str, FloatArray]],
    places: Sequence[int],
) -> FloatArray:
    """Of what each class hears over the controller's variable of each link that signals.

    Independent draws: 1 - p is the product of 1 - p_l, so that a link counts by what the others of
    the route leave unsignalled.
    """
    slopes = np.zeros((len(senders), len(encoders)))
    adds = network.combine == "sum"
    names = network.node_names
    probabilities = dict(zip(("classic", "scalable"), point.numbers("link_p").T, strict=True))
    for row, (sender, flow) in enumerate(zip(senders, network.flows, strict=True)):
        if sender.signal is None:
            continue
        p = probabilities[sender.signal]
        route = [names.index(name) for name in flow.route or names[:1]]
        for column, (encoder, place) in enumerate(zip(encoders, places, strict=True)):
            if place in route:
                others = [other for other in route if other != place]
                left = 1.0 if adds else float(np.prod(1.0 - p[others]))
                slopes[row, column] = encoder[sender.signal] * left
    return slopes
