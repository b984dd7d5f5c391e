"""How kinks spread: what of a network is not smooth at an instant at which something else is not.

The order of a kink is that of the lowest derivative that jumps. What follows from something at once
has its order, what integrates it the next one; and what a reader reads has the lowest order of all
that it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from pi2_fluid.engines.fluid.oracle.layout import Layout

#: Order above which a kink costs the method no more than its own error.
MOST: Final = 2


class Part(NamedTuple):
    """A part of the state of a network."""

    kind: str
    """ "window" or "rate" of a class, the latter where signals act on it at once; "signal" of a
    link; "delay" or "outflow" of a queue; "arrival" of a stream."""
    place: int


class Kinks:
    """Which readers meet a kink, given what of a network jumps.

    Parameters
    ----------
    layout : Layout
        The network.
    held, simple : tuple of bool
        Of each link: whether its law's state moves by ticks alone, and whether its signal follows
        from that state alone.
    thinning : tuple of int
        Streams of which their link drops what it signals.
    """

    def __init__(
        self,
        layout: Layout,
        held: tuple[bool, ...],
        simple: tuple[bool, ...],
        thinning: tuple[int, ...] = (),
    ) -> None:
        self.layout = layout
        self._read = self._readers()
        self._edges: dict[Part, list[tuple[Part, int]]] = {}
        self._draw(held, simple)
        for s in thinning:
            link = Part("signal", layout.streams[s].link)
            self._edges.setdefault(link, []).append((Part("arrival", s), 0))
        self._found: dict[object, dict[int, int]] = {}

    def _draw(self, held: tuple[bool, ...], simple: tuple[bool, ...]) -> None:
        """Note what follows from what, and by how many derivatives later."""

        def edge(cause: Part, effect: Part, later: int) -> None:
            self._edges.setdefault(cause, []).append((effect, later))

        for s, stream in enumerate(self.layout.streams):
            edge(Part("arrival", s), Part("delay", stream.queue), 1)
            if not simple[stream.link]:
                edge(Part("arrival", s), Part("signal", stream.link), 0)
            if stream.before >= 0 and stream.reader < 0:
                before = self.layout.streams[stream.before].queue
                edge(Part("outflow", before), Part("arrival", s), 0)
        for queue, link in enumerate(self.layout.link_of):
            if not (held[link] and simple[link]):
                edge(Part("delay", queue), Part("signal", link), 0)
        for i, path in enumerate(self.layout.paths):
            at_once = self.layout.streams[path.streams[0]].reader < 0
            for queue in path.queues:
                edge(Part("delay", queue), Part("window", i), 1)
                if at_once:
                    edge(Part("delay", queue), Part("arrival", path.streams[0]), 0)
            if at_once:
                edge(Part("window", i), Part("arrival", path.streams[0]), 0)
                edge(Part("rate", i), Part("arrival", path.streams[0]), 0)

    def _readers(self) -> list[list[Part]]:
        """Return what each reader reads."""
        layout = self.layout
        found: list[list[Part]] = [[] for _ in range(layout.readers)]
        for i, path in enumerate(layout.paths):
            found[path.round_trip] += [Part("window", i)]
            found[path.round_trip] += [Part("delay", queue) for queue in path.queues]
            for link, reader in zip(path.links, path.heard, strict=True):
                found[reader].append(Part("signal", link))
            first = layout.streams[path.streams[0]]
            if first.reader >= 0:
                found[first.reader] += [Part("window", i), Part("rate", i)]
                found[first.reader] += [Part("delay", queue) for queue in path.queues]
        for stream in layout.streams:
            if stream.before >= 0 and stream.reader >= 0:
                found[stream.reader].append(Part("outflow", layout.streams[stream.before].queue))
        for n, queue in enumerate(layout.carriers):
            found[len(layout.lags) + n] = [Part("arrival", s) for s in layout.arriving[queue]]
        return found

    def beside(self, queue: int) -> list[Part]:
        """Return what another queue of the same link makes of what this one leaves it."""
        others = [q for q in self.layout.queues_of[self.layout.link_of[queue]] if q != queue]
        return [Part(kind, other) for other in others for kind in ("delay", "outflow")]

    def spread(self, jumps: Mapping[Part, int], empty: tuple[bool, ...]) -> dict[int, int]:
        """Return the readers for which the present has a kink of order 2 at most, and its order.

        Parameters
        ----------
        jumps : mapping of Part to int
            The order of the kink in each part that has one.
        empty : tuple of bool
            Whether each queue is empty, so that what arrives leaves at once.
        """
        key = (tuple(jumps.items()), empty)
        if key not in self._found:
            self._found[key] = self._spread(jumps, empty)
        return self._found[key]

    def _spread(self, jumps: Mapping[Part, int], empty: tuple[bool, ...]) -> dict[int, int]:
        orders: dict[Part, int] = {}
        waiting = list(jumps.items())
        while waiting:
            part, order = waiting.pop()
            if order > MOST or orders.get(part, MOST + 1) <= order:
                continue
            orders[part] = order
            waiting += [(effect, order + later) for effect, later in self._edges.get(part, ())]
            if part.kind == "arrival":
                queue = self.layout.streams[part.place].queue
                if empty[queue]:
                    waiting.append((Part("outflow", queue), order))
                    waiting += [(other, order) for other in self.beside(queue)]
        found = {}
        for reader, parts in enumerate(self._read):
            order = min((orders[part] for part in parts if part in orders), default=MOST + 1)
            if order <= MOST:
                found[reader] = order
        return found
