"""What a network is to its equations: streams over links, and who reads which part of the past."""

from __future__ import annotations

from typing import NamedTuple

from pi2_fluid.network.network import Network
from pi2_fluid.network.routes import places_of


class Path(NamedTuple):
    """The way of one class."""

    links: tuple[int, ...]
    queues: tuple[int, ...]
    """The queue of each link in which it waits."""
    streams: tuple[int, ...]
    """Its streams, in the order of the links."""
    round_trip: int
    """The reader of its past one round trip ago."""
    heard: tuple[int, ...]
    """Of each link: the reader of the signals that come from there."""


class Stream(NamedTuple):
    """What arrives of one class at one link."""

    owner: int
    """The class."""
    link: int
    queue: int
    """Where it waits, among all queues of all links."""
    before: int
    """The stream that it was at the link before, -1 if it comes from the source."""
    lag: float
    """Propagation time from there (s)."""
    reader: int
    """Who reads what left so long ago, -1 without a lag."""


class Lag(NamedTuple):
    """A delayed time: now, less a time of propagation and the delays of some queues."""

    time: float
    queues: tuple[int, ...]


class Layout(NamedTuple):
    """Classes, streams and readers of a network.

    Queues are numbered link after link: a link of a dual queue has two, its Classic one first.

    Readers are numbered: first those with a `Lag`, then one for each carrier.
    """

    paths: tuple[Path, ...]
    streams: tuple[Stream, ...]
    link_of: tuple[int, ...]
    """Of each queue: the link that serves it."""
    queues_of: tuple[tuple[int, ...], ...]
    """Of each link: its queues."""
    arriving: tuple[tuple[int, ...], ...]
    """Of each queue: the streams that wait in it."""
    carriers: tuple[int, ...]
    """Queues from which a class goes on to another link."""
    lags: tuple[Lag, ...]

    @property
    def readers(self) -> int:
        """How many there are."""
        return len(self.lags) + len(self.carriers)


def lay_out(network: Network) -> Layout:
    """Return the streams of a network, and what they need to know of the past."""
    lags: list[Lag] = []
    paths: list[Path] = []
    streams: list[Stream] = []
    link_of = tuple(k for k, node in enumerate(network.nodes) for _ in range(node.aqm.bands))
    numbered = list(enumerate(link_of))
    queues_of = tuple(
        tuple(q for q, mine in numbered if mine == link) for link in range(len(network.nodes))
    )

    def reader(time: float, queues: tuple[int, ...]) -> int:
        lag = Lag(time, tuple(sorted(queues)))
        if lag not in lags:
            lags.append(lag)
        return lags.index(lag)

    for i, links in enumerate(places_of(network.node_names, network.flows)):
        base, scalable = float(network.flows[i].base_rtt), _is_scalable(network, i)
        hops = [float(hop) for hop in network.flows[i].hops] or [0.0] * len(links)
        # The L4S queue of a dual one takes the scalable senders.
        queues = tuple(queues_of[link][-1 if scalable else 0] for link in links)
        first, heard, way = len(streams), [], 0.0
        round_trip = reader(base, queues)
        for k, (link, hop) in enumerate(zip(links, hops, strict=True)):
            way += hop
            heard.append(reader(max(base - way, 0.0) if way else base, queues[k:]))
            before = len(streams) - 1 if k else -1
            back = reader(hop, ()) if hop else -1
            streams.append(Stream(i, link, queues[k], before, hop, back))
        numbers = tuple(range(first, len(streams)))
        paths.append(Path(tuple(links), queues, numbers, round_trip, tuple(heard)))
    arriving = tuple(
        tuple(s for s, stream in enumerate(streams) if stream.queue == queue)
        for queue in range(len(link_of))
    )
    carriers = sorted({streams[stream.before].queue for stream in streams if stream.before >= 0})
    return Layout(
        tuple(paths), tuple(streams), link_of, queues_of, arriving, tuple(carriers), tuple(lags)
    )


def _is_scalable(network: Network, i: int) -> bool:
    return network.flows[i].sender.signal == "scalable"
