"""What passes the queues of a network: what arrives, what leaves, and what classes hear of it.

Links of dual queues are shared as their laws say; see `Plant`, whose part this is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Final, TypeAlias

from pi2_fluid.engines.fluid.oracle.equations import UNSEEN, Equations, held, slopes_in_buffer
from pi2_fluid.engines.fluid.oracle.layout import Layout, Path, Stream
from pi2_fluid.engines.fluid.oracle.moment import Moment
from pi2_fluid.engines.fluid.oracle.past import Past
from pi2_fluid.engines.fluid.oracle.sides import QueueCompared
from pi2_fluid.engines.fluid.oracle.state import EMPTY, FULL, Heard, Mode
from pi2_fluid.laws.aqm import Signal
from pi2_fluid.laws.seen import Seen
from pi2_fluid.network.network import Network, Node

_THIRDS: Final = (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0)
_ROUNDS: Final = 1000  # until the rates before time 0 go on as they are
_SHARINGS: Final = 60  # until the shares of links that depend on one another agree
_SAME: Final = 1e-14

#: What leaves a queue: how fast the time of its entry moves, and the rate of each stream.
Outflow: TypeAlias = tuple[float, dict[int, float]]
#: What had entered when it did: the rate of each stream, and of all that found room.
Entered: TypeAlias = tuple[dict[int, float], float]


class Passing(Equations):
    """The part of a plant that follows packets from queue to queue."""

    network: Network
    nodes: tuple[Node, ...]
    layout: Layout
    paths: tuple[Path, ...]
    streams: tuple[Stream, ...]
    #: Of each link: all streams that arrive there.
    meeting: tuple[tuple[int, ...], ...]
    #: Where the time of entry stands, of each carrier.
    entered: dict[int, int]
    #: Streams of which a link drops what it signals.
    thinning: tuple[int, ...]
    #: Whether there are dual queues, and the links of these.
    dual: bool
    _duals: tuple[int, ...]
    #: Whether signals follow from the controller's variable alone.
    _simple: tuple[bool, ...]
    _queues: tuple[QueueCompared | None, ...]
    #: What arrived of each stream before time 0, and what left.
    _came: list[float]
    _went: list[float]
    # What has been found out about one instant, and instants before it.
    _found: dict[tuple[int, float, int], Entered]
    _seen: dict[tuple[int, float, int], Moment]

    def attach(self, past: Past) -> None:
        """Say where the past is read, and find out what was under way before time 0.

        What waits then entered at the rates of then: the time of entry begins so long before.
        """
        self.memory = past
        self._before: Mode = past.history.segments[0].mode
        self._kept: dict[tuple[float, int], tuple[float, ...]] = {}
        self._making: set[tuple[float, int]] = set()
        y = past.history.segments[0].y0
        for _ in range(_ROUNDS):  # what one link lets through arrives at the next, also in rings
            at, before = Moment(0.0, y, self._before), self._went
            sent = [self._sent(stream.owner, at) for stream in self.streams]
            for s, stream in enumerate(self.streams):
                rate = before[stream.before] if stream.before >= 0 else sent[s]
                if s in self.thinning:
                    rate = self._let_in(s, rate, at)
                self._came[s] = rate
            self._went = [*self._came]
            for queue, mine in enumerate(self.layout.arriving):
                if self._before.bound[queue] != EMPTY:
                    entered = {s: self._came[s] for s in mine}
                    kept = self._let_room(queue, entered, at)
                    left = self._let_out(queue, (entered, kept), at)[1]
                    self._went = [left.get(s, rate) for s, rate in enumerate(self._went)]
            if all(map(_is_same, before, self._went)):
                break
        at = Moment(0.0, y, self._before)
        for queue, place in self.entered.items():
            # Of a full queue the rest was lost.
            kept = self._let_room(
                queue, {s: self._came[s] for s in self.layout.arriving[queue]}, at
            )
            y[place] = -y[queue] / kept if kept > 0.0 else 0.0

    def _see(
        self, link: int, rates: Mapping[int, float] | Sequence[float], at: Moment
    ) -> tuple[list[float], list[float], Seen]:
        """Return how a link's queues grow, what they serve, and what its law knows of them.

        `rates`: what arrives of each stream, of those of the link at least.
        """
        mode, C, tau, queues = at.mode, at.mode.capacity[link], at.tau, self.basins[link].queues
        arrivals = sum(rates[s] for s in self.meeting[link])
        if link in self._duals:
            return self._see_two(link, rates, arrivals, at)
        (bound,) = mode.bound[queues]
        served = arrivals if bound == EMPTY else C
        overflow = max(0.0, arrivals - C) if bound == FULL else 0.0
        first = queues.start
        return [arrivals - C], [served], Seen(tau[first], at.y[first], arrivals, C, overflow)

    def _see_two(
        self,
        link: int,
        rates: Mapping[int, float] | Sequence[float],
        total: float,
        at: Moment,
    ) -> tuple[list[float], list[float], Seen]:
        """Return the same of a dual queue."""
        C, queues = at.mode.capacity[link], self.basins[link].queues
        bound, served = at.mode.bound[queues], at.served[queues]
        numbers = self.layout.queues_of[link]
        arrivals = [sum(rates[s] for s in self.layout.arriving[queue]) for queue in numbers]
        waits, net = [b != EMPTY for b in bound], []
        for k, rate in enumerate(arrivals):
            # A queue that is held empty leaves 0 when it would not be served what arrives.
            would = [w or j == k for j, w in enumerate(waits)]
            shares = self.nodes[link].aqm.serve(would, arrivals, C)
            net.append(rate - (served[k] if waits[k] else float(shares[k])))
        growth = sum(n for n, w in zip(net, waits, strict=True) if w)
        overflow = max(0.0, growth) if FULL in bound else 0.0
        seen = Seen(tuple(at.tau[queues]), sum(at.y[queues]), total, C, overflow)
        return net, served, seen

    def _waits(self, at: Moment) -> list[float]:
        """Return the delay of each queue, once it is known how links are shared."""
        if not at.tau:
            at.served = [at.mode.capacity[link] for link in self.layout.link_of]
            at.tau = [q / C for q, C in zip(at.y, at.served, strict=False)]
            if self.dual:
                self._share_links(at)
        return at.tau

    def _share_links(self, at: Moment) -> None:
        """Share the links of dual queues: an idle one's delay is 0, a backlogged one's follows.

        What an idle one is sent may have waited, or wait, in another dual queue, whose share
        depends on others in turn.
        """
        waits = [bound != EMPTY for bound in at.mode.bound]
        for link in self._duals:
            for queue in self.layout.queues_of[link]:
                at.tau[queue] = 0.0
        for _ in range(_SHARINGS):
            before = [*at.served]
            for link in self._duals:
                queues = self.basins[link].queues
                arrivals = [
                    0.0 if waits[k] else sum(self._arrived(s, at) for s in mine)
                    for k, mine in enumerate(self.layout.arriving[queues], queues.start)
                ]
                shares = self.nodes[link].aqm.serve(waits[queues], arrivals, at.mode.capacity[link])
                for queue, served in enumerate(map(float, shares), queues.start):
                    at.served[queue] = served
                    at.tau[queue] = at.y[queue] / served if waits[queue] else 0.0
            if at.served == before:
                break

    def _arrived(self, s: int, at: Moment) -> float:
        """Return what arrives of a stream, or arrived if that is past."""
        if at.mode is self._before:
            return self._came[s]
        return self._arrival(s, at) if at.segment is None else self._entered(s, at)

    def answering(self, i: int) -> bool:
        """Return whether the rate of a class hears signals itself."""
        return self.senders[i].answers_at_once

    def rtt(self, y: Sequence[float], mode: Mode, i: int) -> float:
        """Return the round-trip time of class `i`, were every queue served the whole link."""
        return self.base_rtt[i] + sum(
            y[queue] / mode.capacity[link]
            for queue, link in zip(self.paths[i].queues, self.paths[i].links, strict=True)
        )

    def _rtt_at(self, i: int, at: Moment) -> float:
        """Return the round-trip time of class `i`."""
        tau = self._waits(at)
        return self.base_rtt[i] + sum(tau[queue] for queue in self.paths[i].queues)

    def _arrival(self, s: int, at: Moment) -> float:
        """Return the packets per second of a stream that arrive at its link and are let in."""
        stream = self.streams[s]
        then = at
        if stream.reader >= 0:
            then = self._look(stream.reader, at.t - stream.lag, at.mode)
        if stream.before >= 0:
            rate = self._left(stream.before, then)
        else:
            rate = self._sent(stream.owner, then)
        if s in self.thinning:
            rate = self._let_in(s, rate, at)
        return rate

    def _let_in(self, s: int, rate: float, at: Moment) -> float:
        """Return what is let in of a stream that its link thins."""
        return rate * (1.0 - float(self._encoded(self.streams[s].link, at.y).classic))

    def _sent(self, i: int, at: Moment) -> float:
        if not at.mode.active[i]:
            return 0.0
        sender, rtt = self.senders[i], self._rtt_at(i, at)
        if sender.answers_at_once:
            p = self._heard(i, at.t, self._waits(at), at.mode)[1]
            rate = sender.sending_rate_under(self.x(at.y, i), p, rtt)
        else:
            rate = sender.sending_rate(self.x(at.y, i), rtt)
        return self.count(at.t, at.mode, i) * float(rate)

    def window(self, t: float, y: Sequence[float], mode: Mode, i: int) -> float:
        """Return what a class whose rate answers signals has under way, of one flow."""
        at = Moment(t, y, mode)
        sent, count = self._sent(i, at), self.count(t, mode, i)
        return sent / count * self._rtt_at(i, at) if count > 0.0 else 0.0

    def _left(self, s: int, at: Moment) -> float:
        """Return the packets per second of a stream that leave its link."""
        queue = self.streams[s].queue
        if at.mode is self._before:
            return self._went[s]
        if at.mode.bound[queue] == EMPTY:
            return self._arrival(s, at)
        return self._outflow(queue, at)[1][s]

    def _outflow(self, queue: int, at: Moment) -> Outflow:
        """Return what leaves a queue that is not empty: what has entered it then."""
        key = (queue, at.t, id(at.mode))
        if key not in self._found:
            self._found[key] = self._find_entered(queue, at)
        return self._let_out(queue, self._found[key], at)

    def _find_entered(self, queue: int, at: Moment) -> Entered:
        reader = len(self.layout.lags) + self.layout.carriers.index(queue)
        then = self._look(reader, at.y[self.entered[queue]], at.mode)
        entered = {s: self._entered(s, then) for s in self.layout.arriving[queue]}
        return entered, self._let_room(queue, entered, then)

    def _let_room(self, queue: int, entered: dict[int, float], at: Moment) -> float:
        """Return how much found room of what arrived of each stream then.

        Of what a full queue refuses every stream loses its part.
        """
        total, link = sum(entered.values()), self.layout.link_of[queue]
        queues, bound = self.basins[link].queues, at.mode.bound
        if FULL not in bound[queues]:
            return total
        if link not in self._duals:
            return min(total, at.mode.capacity[link])
        self._waits(at)
        rates = {s: self._arrived(s, at) for s in self.meeting[link]} | entered
        grows, leaves, _ = self._see(link, rates, at)
        k = queue - queues.start
        return float(leaves[k] + slopes_in_buffer(grows, bound[queues])[k])

    def _let_out(self, queue: int, entered: Entered, at: Moment) -> Outflow:
        """Return what leaves a queue that is not empty, of what had entered it."""
        rates, kept = entered
        total = sum(rates.values())
        if total <= 0.0:  # nothing has entered then, and nothing leaves
            return 0.0, rates
        self._waits(at)
        served = at.served[queue]
        return served / kept, {s: served * rate / total for s, rate in rates.items()}

    def _look(self, reader: int, t: float, mode: Mode) -> Moment:
        """Return the instant that a reader finds at `t`."""
        key = (reader, t, id(mode))
        if key not in self._seen:
            then, segment = self.memory.find(reader, t, mode.places)
            self._seen[key] = Moment(then, segment.values(then), segment.mode, segment)
        return self._seen[key]

    def _entered(self, s: int, at: Moment) -> float:
        """Return what arrived of a stream at an earlier instant.

        What came from another link is kept, as a cubic in each segment: it would lead back from
        link to link, in a ring as far as to the beginning. Where a ring takes less time than the
        segment, its own cubic is not there yet while it is made.
        """
        segment = at.segment
        assert segment is not None, "it is past"
        if at.mode is self._before:
            return self._came[s]
        key = (segment.start, s)
        at_once = self.streams[s].before < 0 or not self.memory.is_past(segment)
        if at_once or key in self._making:
            return self._arrival(s, at)
        width = segment.end - segment.start
        if key not in self._kept:
            instants = [segment.start + part * width for part in _THIRDS]
            self._making.add(key)
            self._kept[key] = tuple(
                self._arrival(s, Moment(when, segment.values(when), segment.mode, segment))
                for when in instants
            )
            self._making.discard(key)
        return _cubic(self._kept[key], (at.t - segment.start) / width)

    def _signalled(self, link: int, y: Sequence[float], seen: Seen, mode: Mode) -> Signal:
        """Return what packets see of a link."""
        return self.shown(link, y[self.laws[link][1]], seen, mode)

    def shown(self, link: int, state: Sequence[float], seen: Seen, mode: Mode) -> Signal:
        """Return what packets see of a link whose controller is in a state."""
        queue = self._queues[link]
        if queue is not None:
            return queue.signals(tuple(state), seen, held(mode, link))
        return self.laws[link][0].signals(tuple(state), seen)

    def _encoded(self, link: int, y: Sequence[float]) -> Signal:
        aqm, where = self.laws[link]
        return aqm.encode(aqm.controller(tuple(y[where])))

    def _combined(self, chances: Sequence[float]) -> float:
        """Return the probability of a signal by some link of a route, given those of each."""
        if self.network.combine == "sum":
            return min(1.0, sum(chances))
        return reduce(lambda p, q: p + q - p * q, chances)

    def _heard(self, i: int, t: float, tau: Sequence[float], mode: Mode) -> Heard:
        path = self.paths[i]

        def read(reader: int) -> Moment:
            return self._look(reader, t - self.lag(reader, tau), mode)

        then = read(path.round_trip)
        # Nothing reaches it of what it had not sent.
        heard = 0.0
        if then.mode.signalling and then.mode.active[i]:
            heard = self._combined(
                [
                    self.signal(self._signals(link, read(reader)), i)
                    for link, reader in zip(path.links, path.heard, strict=True)
                ]
            )
        return self.x(then.y, i), heard, self._rtt_at(i, then)

    def lag(self, reader: int, tau: Sequence[float]) -> float:
        """Return how long ago a reader reads, given the delays of the queues."""
        time, queues = self.layout.lags[reader]
        return time + sum(tau[queue] for queue in queues)

    def _signals(self, link: int, at: Moment) -> Signal:
        """Return what packets saw of a link."""
        if self._simple[link] and self._queues[link] is not None:
            return self._signalled(link, at.y, UNSEEN, at.mode)
        if self._simple[link]:
            return self._encoded(link, at.y)
        self._waits(at)
        rates = {s: self._arrival(s, at) for s in self.meeting[link]}
        return self._signalled(link, at.y, self._see(link, rates, at)[2], at.mode)


def _is_same(before: float, now: float) -> bool:
    return abs(now - before) <= _SAME * before


def _cubic(values: tuple[float, ...], x: float) -> float:
    """Return the cubic that has four values at 0, 1/3, 2/3 and 1, at `x`."""
    a, b, c, d = values
    u, v, w = 3.0 * x - 1.0, 3.0 * x - 2.0, x - 1.0
    return 0.5 * u * v * (d * x - a * w) + 4.5 * x * w * (b * v - c * u)
