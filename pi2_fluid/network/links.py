"""What arrives at each link of several, given what their queues signal and how long they hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Signal
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.network import Node
from pi2_fluid.network.prices import LEAST
from pi2_fluid.network.response import answer
from pi2_fluid.network.rest import Rest, l4s_is_alone, rest_at
from pi2_fluid.network.routes import places_of, routing_of

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray

# So little that it changes no digit where something else signals, too, and a window of 1e15.
NO_SIGNAL: Final = 1e-30
#: A link that would have to signal less than this signals nothing.
LEAST_SIGNAL: Final = 1e-12


class LinkLaw:
    """The queue of a node, or its price, or both queues of a dual one, as its rest asks for it.

    Parameters
    ----------
    node : Node
        Whose it is.
    capacity : float
        Packets per second.
    alone : bool
        Of a dual queue: whether L4S traffic is alone in it, so that its queue waits, and what is
        moved is the probability that its packets are marked with.
    """

    def __init__(self, node: Node, capacity: float, *, alone: bool) -> None:
        self.aqm, self.capacity, self.alone = node.aqm, float(capacity), alone
        self.dual = node.aqm.bands == 2
        self.full_load = float(node.aqm.full_load)
        self.highest = 1.0 if alone else float(node.aqm.highest)
        #: Of a tail drop, whose variable is what part it loses: the delay of a full buffer.
        self.buffer = float(node.link.buffer) / self.capacity
        self.overflows = node.aqm.overflows
        self.prices = node.aqm.acts_on == "arrivals"
        #: Why it does not rest where it signals something, None if it does.
        self.restless: UnsupportedError | None = None
        #: The delay with which it begins to signal, of the queue that waits (s).
        self.begins = float(np.max(self._rest(np.zeros(())).queue_delay))

    @property
    def waiting(self) -> int:
        """Which of the two queues of a dual one waits: 0 of Classic packets, 1 of L4S packets."""
        return int(self.alone)

    def at(self, v: FloatArray, least: float) -> Rest:
        """Return the queue at the coordinate v, which signals `least` at least."""
        u = np.maximum(v, 0.0) * self.highest
        rest = self._rest(u)
        # Below 0 it waits for less than it begins to signal at.
        part = np.where(v > 0.0, 1.0, np.minimum(1.0 + v, 1.0))
        delay = rest.queue_delay
        waits: Any = tuple(part * own for own in delay) if self.dual else part * delay
        seen = Signal(*(np.maximum(p, least) for p in rest.signal))
        return Rest(rest.controller, seen, waits)

    def kept(self, v: FloatArray) -> FloatArray:
        """Return what has to be served of what arrives, in parts of what may arrive."""
        if self.overflows:
            return 1.0 - np.maximum(v, 0.0)
        load = self.aqm.load_at(np.maximum(v * self.highest, LEAST_SIGNAL))
        return np.asarray(self.full_load / load) * np.ones(v.shape)

    def _rest(self, u: FloatArray) -> Rest:
        if self.dual:
            return self._rest_of_two(u)
        waits = self.buffer if self.overflows else self.aqm.at_rest(u, self.capacity)[1]
        seen = Signal(u, u) if self.overflows else self.aqm.encode(u)
        return Rest(u, seen, np.asarray(waits, float) + 0.0 * u)

    def _rest_of_two(self, u: FloatArray) -> Rest:
        try:
            return rest_at(self.aqm, u, self.capacity, alone=self.alone)
        except UnsupportedError as error:
            if not self.alone:
                raise
            # Marked by a step, which may be next to nothing of a ramp until it is said to be full.
            self.restless = error
            return Rest(0.0 * u, Signal(0.0 * u, u), (0.0 * u, self.aqm.marking_step + 0.0 * u))


class Links:
    """What arrives at every link, given the coordinates v of all."""

    def __init__(self, nodes: Sequence[Node], flows: tuple[Flows, ...], combine: str) -> None:
        self.names = tuple(node.name for node in nodes)
        self.capacity = np.array([n.link.capacity / (8.0 * n.link.packet_size) for n in nodes])
        self.places = places_of(self.names, flows)
        self.routing = routing_of(self.names, flows)
        crossing = [
            tuple(flow for flow, there in zip(flows, row, strict=True) if there)
            for row in self.routing
        ]
        self.laws = [
            LinkLaw(node, packets, alone=l4s_is_alone(own, node.aqm, packets))
            for node, packets, own in zip(nodes, self.capacity, crossing, strict=True)
        ]
        self.flows, self.combine = flows, combine
        #: Whether no link has a queue at rest, each marks all packets alike, and drops none.
        self.priced = all(
            law.prices and law.aqm.price_base is not None for law in self.laws
        ) and not any(flow.sender.thinned for flow in flows)
        self.least = LEAST if self.priced else NO_SIGNAL
        self.highest = np.array([law.highest for law in self.laws])
        #: What may arrive at a link that is full.
        self.usable = self.capacity * [law.full_load for law in self.laws]
        #: The delay with which each queue begins to signal.
        self.begins = np.array([law.begins for law in self.laws])

    def rests(self, v: FloatArray, least: float | None = None) -> list[Rest]:
        """The queues at v, (links,) or (links, variants), that signal `least` at least."""
        least = self.least if least is None else least
        return [law.at(own, least) for law, own in zip(self.laws, v, strict=True)]

    def response(self, index: int, rests: Sequence[Rest]) -> tuple[Any, ...]:
        """(p, rtt, state, rate) of one class, the rate as it is sent."""
        on_the_way = [rests[place] for place in self.places[index]]
        return answer(self.flows[index], on_the_way, self.combine)

    def arrivals(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Packets per second at each link by class, (links, flows, ...), and the classes' RTTs."""
        rests = self.rests(v)
        rates = np.zeros((len(v), len(self.flows), *v.shape[1:]))
        rtts = np.empty(rates.shape[1:])
        for index, (flow, route) in enumerate(zip(self.flows, self.places, strict=True)):
            _, rtts[index], _, sent = self.response(index, rests)
            arriving, _ = self.along(index, rests, flow.count * sent)
            for place, rate in zip(route, arriving, strict=True):
                rates[place, index] = rate
        return rates, rtts

    def along(
        self, index: int, rests: Sequence[Rest], rate: FloatArray
    ) -> tuple[list[FloatArray], FloatArray]:
        """What of a class arrives at each link of its route, and what the last one takes in.

        What a link drops of thinned traffic, and what a full buffer cannot hold, goes no further.
        """
        thinned, arriving = self.flows[index].sender.thinned, []
        for place in self.places[index]:
            law, kept = self.laws[place], 1.0 - rests[place].signal.classic
            if thinned and law.aqm.thins:
                rate = rate * kept
            arriving.append(rate)
            if law.overflows:
                rate = rate * kept
        return arriving, rate

    def excess(self, rates: FloatArray, v: FloatArray) -> FloatArray:
        """log(y/C) of each link, of what it does not lose; -inf where nothing arrives."""
        kept = np.array([law.kept(own) for law, own in zip(self.laws, v, strict=True)])
        with np.errstate(divide="ignore"):
            result: FloatArray = np.log((rates.sum(axis=1).T / self.usable).T * kept)
        return result

    def excess_at(self, v: FloatArray) -> FloatArray:
        """The same at the coordinates v."""
        return self.excess(self.arrivals(v)[0], v)

    def scalable(self, place: int) -> BoolArray:
        """Which classes cross a link as L4S packets, which have a queue of their own in some."""
        signals = [flow.sender.signal for flow in self.flows]
        of_l4s = np.array([kind == "scalable" for kind in signals], dtype=bool)
        found: BoolArray = np.logical_and(of_l4s, self.routing[place] > 0.0)
        return found
