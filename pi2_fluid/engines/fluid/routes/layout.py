"""What a network is to its equations: streams over links, and who reads which part of the past."""

from __future__ import annotations

from typing import NamedTuple

from pi2_fluid.network.network import Network
from pi2_fluid.network.routes import places_of

__all__ = ["Layout", "Path", "Stream", "lay_out"]


class Path(NamedTuple):
    """The way of one class."""

    links: tuple[int, ...]
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
    before: int
    """The stream that it was at the link before, -1 if it comes from the source."""
    lag: float
    """Propagation time from there (s)."""
    reader: int
    """Who reads what left so long ago, -1 without a lag."""


class Lag(NamedTuple):
    """A delayed time: now, less a time of propagation and the delays of some queues."""

    time: float
    links: tuple[int, ...]


class Layout(NamedTuple):
    """Classes, streams and readers of a network.

    Readers are numbered: first those with a `Lag`, then one for each carrier.
    """

    paths: tuple[Path, ...]
    streams: tuple[Stream, ...]
    arriving: tuple[tuple[int, ...], ...]
    """Of each link: the streams that arrive there."""
    carriers: tuple[int, ...]
    """Links from which a class goes on to another one."""
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

    def reader(time: float, links: tuple[int, ...]) -> int:
        lag = Lag(time, tuple(sorted(links)))
        if lag not in lags:
            lags.append(lag)
        return lags.index(lag)

    for i, links in enumerate(places_of(network.node_names, network.flows)):
        base = float(network.flows[i].base_rtt)
        hops = [float(hop) for hop in network.flows[i].hops] or [0.0] * len(links)
        first, heard, way = len(streams), [], 0.0
        round_trip = reader(base, tuple(links))
        for k, (link, hop) in enumerate(zip(links, hops, strict=True)):
            way += hop
            heard.append(reader(max(base - way, 0.0) if way else base, tuple(links[k:])))
            before = len(streams) - 1 if k else -1
            streams.append(Stream(i, link, before, hop, reader(hop, ()) if hop else -1))
        numbers = tuple(range(first, len(streams)))
        paths.append(Path(tuple(links), numbers, round_trip, tuple(heard)))
    arriving = tuple(
        tuple(s for s, stream in enumerate(streams) if stream.link == link)
        for link in range(len(network.nodes))
    )
    carriers = sorted({streams[stream.before].link for stream in streams if stream.before >= 0})
    return Layout(tuple(paths), tuple(streams), arriving, tuple(carriers), tuple(lags))
