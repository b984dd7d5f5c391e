"""What a linear trajectory is made of: which numbers there are, and where each stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.oracle.equations import SLOWEST, is_bounded
from pi2_fluid.engines.fluid.oracle.layout import Layout, lay_out
from pi2_fluid.engines.fluid.oracle.state import Mode
from pi2_fluid.network.routes import on_their_ways
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender
    from pi2_fluid.network.flows import Flows
    from pi2_fluid.values import FloatArray


class Places(NamedTuple):
    """Where each number stands in v: first what has slopes, then what follows at once."""

    laws: tuple[slice, ...]
    windows: tuple[slice, ...]
    states: int
    delays: int
    """Of the first queue; queues themselves are first of all."""
    classic: int
    scalable: int
    """Of the first link: the probabilities of its signals."""
    would: int
    """Of the first class: what it would send, had all its flows begun;"""
    sent: int
    """and what it sends."""
    arrived: int
    """Of the first stream: what arrives at its link and is let in;"""
    left: int
    """and what leaves it."""
    size: int


class LaidOut:
    """Classes, queues and streams of a scenario, and where their numbers stand.

    Parameters
    ----------
    scenario : Scenario
        Of one link or several.
    update : {"sampled", "continuous"}
        How controllers move.
    """

    def __init__(self, scenario: Scenario, update: str) -> None:
        self.scenario = scenario
        network = scenario.network
        self.network, self.nodes = network, network.nodes
        self.flows: tuple[Flows, ...] = scenario.flows
        self.aqms: tuple[Aqm, ...] = tuple(node.aqm for node in network.nodes)
        queues = {node.name: node.aqm for node in network.nodes}
        told = on_their_ways(network.flows, queues, scenario.packet_size)
        self.senders: tuple[Sender, ...] = tuple(flow.sender for flow in told)
        self.base_rtt = tuple(float(flow.base_rtt) for flow in scenario.flows)
        self.listens = tuple(sender.constant_rate is None for sender in self.senders)
        self.layout: Layout = lay_out(network)
        self.queues = len(self.layout.link_of)
        #: Of each link: whether its controller moves between ticks.
        self.flowing = tuple(
            is_bounded(aqm) if aqm.update_interval is None else update == "continuous"
            for aqm in self.aqms
        )
        #: Streams of which a link drops what it signals.
        self.thinning = tuple(
            s
            for s, stream in enumerate(self.layout.streams)
            if self.senders[stream.owner].thinned and self.aqms[stream.link].thins
        )
        self.places = self._lay_out()

    def _lay_out(self) -> Places:
        place, laws, windows = self.queues, list[slice](), list[slice]()
        for aqm in self.aqms:
            laws.append(slice(place, place + len(aqm.initial())))
            place = laws[-1].stop
        for sender in self.senders:
            windows.append(slice(place, place + len(sender.states)))
            place = windows[-1].stop
        links, classes, streams = len(self.nodes), len(self.senders), len(self.layout.streams)
        counts = (self.queues, links, links, classes, classes, streams, streams)
        starts = [place + sum(counts[:k]) for k in range(len(counts) + 1)]
        return Places(tuple(laws), tuple(windows), place, *starts)

    def sizes(self, mode: Mode, rest: FloatArray) -> FloatArray:
        """Return by what an error of each state is divided to make it relative, given a rest."""
        added = np.full(self.places.states, 0.1)
        for queue, link in enumerate(self.layout.link_of):
            added[queue] = SLOWEST * mode.capacity[link]
        added[self.queues : self.places.laws[-1].stop] = 1e-3
        result: FloatArray = np.abs(rest) + added
        return result

    def carried(self, queue: int) -> Iterator[int]:
        """Yield the streams that wait in the other queue of the same link."""
        for other in self.layout.queues_of[self.layout.link_of[queue]]:
            if other != queue:
                yield from self.layout.arriving[other]
