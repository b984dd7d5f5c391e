"""The right-hand side of the fluid over several links.

With A_s the packets per second of stream s (one class at one link) that arrive at its link l,

    A_s(t) = count_i * sending_rate(x_i, R_i) at t - hop          from the source,
    A_s(t) = what left the link before at t - hop                 from there,
    dq_l/dt = sum of A_s over the streams of l - C_l,             0 <= q_l <= buffer_l,

and what leaves is first in, first out: with a_l the time at which it has entered, which is t while
the queue is empty,

    out_s(t) = C_l(t) A_s(a_l) / sum of A at a_l,     da_l/dt = C_l(t) / sum of A at a_l.

A dual queue is two such queues, each with what the law's `serve` leaves it of the link in place of
C_l. While one of them is empty that depends on what arrives there.

A class hears at t what left link l at t - b_il(t), where b_il is what is left of its round trip
from there on, the link's own queue included. The network's `combine` says how it is signalled by
several of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Final, TypeAlias

from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.plant import (
    SLOWEST,
    UNSEEN,
    Plant,
    held,
    is_bounded,
    slopes_in_buffer,
)
from pi2_fluid.engines.fluid.routes.kinks import Kinks, Part
from pi2_fluid.engines.fluid.routes.layout import lay_out
from pi2_fluid.engines.fluid.routes.moment import Moment
from pi2_fluid.engines.fluid.routes.past import Past
from pi2_fluid.engines.fluid.sides import QueueCompared, compared_queue, compared_rate
from pi2_fluid.engines.fluid.state import EMPTY, FREE, FULL, Basin, Heard, Mode, Read, View
from pi2_fluid.laws.aqm import Aqm, Seen, Signal
from pi2_fluid.network.routes import on_their_ways
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.ops import Number

__all__ = ["RoutesPlant"]

_THIRDS: Final = (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0)
_LATE: Final = 1e-3  # s, added to the time of entry to make its error relative
_ROUNDS: Final = 1000  # until the rates before time 0 go on as they are
_SHARINGS: Final = 60  # until the shares of links that depend on one another agree
_AHEAD: Final = 1e-6  # of a delay, over which its own slope is taken
_SAME: Final = 1e-14

#: What leaves a queue: how fast the time of its entry moves, and the rate of each stream.
Outflow: TypeAlias = tuple[float, dict[int, float]]
#: What had entered when it did: the rate of each stream, and of all that found room.
Entered: TypeAlias = tuple[dict[int, float], float]
#: The right-hand side of a law: from what is its own, what is seen and the growth of the delay.
Move: TypeAlias = Callable[[Aqm, tuple[float, ...], Seen, float], Sequence[Number]]


class RoutesPlant(Plant):
    """The equations of several links. The state: as of one, and when what leaves has entered."""

    #: Whether delays, and with them the times of entry, are those at rest.
    at_rest = False

    def __init__(self, scenario: Scenario, update: str, beginning: Beginning | None = None) -> None:
        self._take_classes(scenario, beginning)
        network = scenario.network
        self.network, self.nodes = network, network.nodes
        queues = {node.name: node.aqm for node in network.nodes}
        told = on_their_ways(network.flows, queues, scenario.packet_size)
        self.senders = tuple(flows.sender for flows in told)
        self.layout = lay_out(network)
        self.paths, self.streams = self.layout.paths, self.layout.streams
        self.bands = len(self.layout.link_of)
        self.basins = tuple(
            Basin(slice(queues[0], queues[-1] + 1), float(node.link.buffer))
            for queues, node in zip(self.layout.queues_of, self.nodes, strict=True)
        )
        self.first_queue = tuple(queues[0] for queues in self.layout.queues_of)
        #: Links of dual queues.
        self._duals = tuple(k for k, queues in enumerate(self.layout.queues_of) if len(queues) > 1)
        self.dual = bool(self._duals)
        #: Which queue a stream waits in.
        self.band = tuple(stream.queue for stream in self.streams)
        #: Of each link: all streams that arrive there.
        self.meeting = tuple(
            tuple(s for s, stream in enumerate(self.streams) if stream.link == link)
            for link in range(len(self.nodes))
        )
        self.group = tuple(path.round_trip for path in self.paths)
        self.group_count = self.layout.readers
        self._lay_out()
        self._moves = tuple(_move_of(node.aqm, update) for node in self.nodes)
        self._flowing = tuple(move is _flow for move in self._moves)
        self.continuous = any(self._flowing)
        #: Whether signals follow from the controller's variable alone.
        self._simple = tuple(
            type(n.aqm).signals is Aqm.signals and n.aqm.bands == 1 for n in self.nodes
        )
        self._queues: tuple[QueueCompared | None, ...] = tuple(
            compared_queue(node.aqm, flows=flows)
            for node, flows in zip(self.nodes, self._flowing, strict=True)
        )
        self.compared = (*self._queues, *map(compared_rate, self.senders))
        jumping = tuple(move is _hold for move in self._moves)
        #: Streams of which a link drops what it signals.
        self.thinning = tuple(
            s
            for s, stream in enumerate(self.streams)
            if self.thinned[stream.owner] and self.nodes[stream.link].aqm.thins
        )
        self.kinks = Kinks(self.layout, jumping, self._simple, self.thinning)
        #: What arrived of each stream before time 0, and what left.
        self._came = [0.0] * len(self.streams)
        self._went = [0.0] * len(self.streams)
        # What has been found out about one instant, and instants before it.
        self._found: dict[tuple[int, float, int], Entered] = {}
        self._seen: dict[tuple[int, float, int], Moment] = {}
        self._looking = 0

    def _lay_out(self) -> None:
        aqms = [node.aqm for node in self.nodes]
        place = self.arrived = self.bands
        place, laws = 2 * self.bands, []
        for aqm in aqms:
            size = len(aqm.initial())
            laws.append((aqm, slice(place, place + size)))
            place += size
        self.laws = tuple(laws)
        self.state = slice(2 * self.bands, place)
        self._lay_out_classes(place)
        #: Where the time of entry stands, of each carrier.
        self.entered = {queue: self.size + n for n, queue in enumerate(self.layout.carriers)}
        self.size += len(self.entered)

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

    def initial(self) -> tuple[list[float], Mode]:
        """Return the state before time 0: empty queues, constant windows, no signals."""
        bits = 8.0 * float(self.network.packet_size)
        y, mode = self._initial([float(node.link.capacity) / bits for node in self.nodes])
        mode = mode._replace(places=(0,) * self.group_count)
        return (y, mode) if self.beginning is None else self._begin(self.beginning, y, mode)

    def _begin(self, given: Beginning, y: list[float], mode: Mode) -> tuple[list[float], Mode]:
        """Return a past that goes on as it is, signals included, for those who send at time 0."""
        y, mode = self._begun(given, y, mode)
        bound = [FREE if queue > 0.0 else EMPTY for queue in given.queues]
        for queues, size in self.basins:
            if sum(given.queues[queues]) >= size:
                bound[queues] = [b if b == EMPTY else FULL for b in bound[queues]]
        return y, mode._replace(bound=tuple(bound))

    # The state of one instant

    def observe(self, t: float, y: Sequence[float], mode: Mode) -> View:
        """Return delays, rates and signals at one instant."""
        if not self._looking:
            self._found.clear()
            self._seen.clear()
        self._looking += 1
        try:
            return self._observe(t, y, mode)
        finally:
            self._looking -= 1

    def _observe(self, t: float, y: Sequence[float], mode: Mode) -> View:
        at = Moment(t, y, mode)
        tau = self._waits(at)
        rtt = tuple(
            base + sum(tau[queue] for queue in path.queues)
            for base, path in zip(self.base_rtt, self.paths, strict=True)
        )
        rates = tuple(self._arrival(s, at) for s in range(len(self.streams)))
        net, served, seen, signals = [], [], [], []
        for link in range(len(self.nodes)):
            grows, leaves, seen_here = self._see(link, rates, at)
            net += grows
            served += leaves
            seen.append(seen_here)
            signals.append(self._signalled(link, y, seen_here, mode))
        paces, leaving = [], []
        for queue in self.layout.carriers:
            mine = self.layout.arriving[queue]
            if mode.bound[queue] == EMPTY:
                paces.append(1.0)
                leaving += [rates[s] for s in mine]
            else:
                pace, left = self._outflow(queue, at)
                paces.append(pace)
                leaving += left.values()
        passing = (*paces, *leaving)
        return View(
            tuple(tau), rtt, rates, tuple(net), tuple(served), tuple(seen), tuple(signals), passing
        )

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
        (aqm, where), queue = self.laws[link], self._queues[link]
        if queue is not None:
            return queue.signals(tuple(y[where]), seen, held(mode, link))
        return aqm.signals(tuple(y[where]), seen)

    def _encoded(self, link: int, y: Sequence[float]) -> Signal:
        aqm, where = self.laws[link]
        return aqm.encode(aqm.controller(tuple(y[where])))

    def met(self, view: View, mode: Mode, i: int) -> float:
        """Return the probability with which packets of class `i` are signalled on their way."""
        chances = [self.met_at(link, view, i) for link in self.paths[i].links]
        return self._combined(i, chances, mode)

    def met_at(self, link: int, view: View, i: int) -> float:
        """Return the probability with which packets of class `i` are signalled at a link."""
        if self.thinned[i] and not self.nodes[link].aqm.thins:
            return 0.0
        return self.signal(view.signals[link], i)

    def _combined(self, i: int, chances: Sequence[float], mode: Mode) -> float:
        """Return the probability of a signal by some link of a route, given those of each."""
        del i, mode
        if self.network.combine == "sum":
            return min(1.0, sum(chances))
        return reduce(lambda p, q: p + q - p * q, chances)

    def within_bounds(self, y: list[float]) -> list[float]:
        """Return the state with what interpolation has carried past a bound put back on it."""
        y = list(y)
        for queues, size in self.basins:
            y[queues] = [min(max(q, 0.0), size) for q in y[queues]]
        for aqm, where in self.laws:
            y[where] = [float(value) for value in aqm.saturate(tuple(y[where]))]
        for where in self.windows:
            y[where.start] = max(y[where.start], 0.0)
        return y

    # What is heard

    def past(self, t: float, view: View, mode: Mode, read: Read) -> list[Heard | None]:
        """Return what each class hears now; the past is read where it was attached."""
        del read
        return [
            self._heard(i, t, view.tau, mode) if active and listens else None
            for i, (active, listens) in enumerate(zip(mode.active, self.listens, strict=True))
        ]

    def _heard(self, i: int, t: float, tau: Sequence[float], mode: Mode) -> Heard:
        path = self.paths[i]

        def read(reader: int) -> Moment:
            return self._look(reader, t - self.lag(reader, tau, mode), mode)

        then = read(path.round_trip)
        # Nothing reaches it of what it had not sent.
        heard = 0.0
        if then.mode.signalling and then.mode.active[i]:
            heard = self._combined(
                i,
                [
                    self.signal(self._signals(link, read(reader)), i)
                    for link, reader in zip(path.links, path.heard, strict=True)
                ],
                mode,
            )
        return self.x(then.y, i), heard, self._rtt_at(i, then)

    def lag(self, reader: int, tau: Sequence[float], mode: Mode) -> float:
        """Return how long ago a reader reads, given the delays of the queues."""
        del mode
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

    def delayed(
        self, group: int, t: float, y: list[float], f: list[float], view: View, mode: Mode
    ) -> tuple[float, float] | None:
        """Return the instant that a reader reads and how fast it moves; None if nobody wants it."""
        if group >= len(self.layout.lags):
            queue = self.layout.carriers[group - len(self.layout.lags)]
            place = self.entered[queue]
            return None if mode.bound[queue] == EMPTY else (y[place], f[place])
        queues = self.layout.lags[group].queues
        if queues and not any(self._listening(i, mode) for i in self.listeners(group)):
            return None
        lag, speed = self.lag(group, view.tau, mode), 1.0
        if self.dual and queues:
            # The rate at which a queue is served moves as well: look ahead a little.
            ahead = _AHEAD * (lag + SLOWEST)
            after = [v + ahead * slope for v, slope in zip(y, f, strict=True)]
            tau = self._waits(Moment(t + ahead, after, mode))
            speed -= (self.lag(group, tau, mode) - lag) / ahead
        elif not self.at_rest:
            speed -= sum(f[q] / mode.capacity[self.layout.link_of[q]] for q in queues)
        return t - lag, speed

    def listeners(self, group: int) -> list[int]:
        """Return the classes that hear by a reader."""
        return [i for i, p in enumerate(self.paths) if group in (p.round_trip, *p.heard)]

    def carries(self, reader: int) -> bool:
        """Return whether a reader is of what arrives, not of what is heard."""
        return reader >= len(self.layout.lags) or not self.layout.lags[reader].queues

    def fed(self, reader: int) -> list[Part]:
        """Return what follows at once from what such a reader reads."""
        if reader >= len(self.layout.lags):
            return [Part("outflow", self.layout.carriers[reader - len(self.layout.lags)])]
        return [Part("arrival", s) for s, st in enumerate(self.streams) if st.reader == reader]

    def entries(self, mode: Mode) -> Iterator[tuple[int, int | None]]:
        """Yield the reader of each carrier, and where its time of entry stands unless it is now."""
        for reader, (queue, place) in enumerate(self.entered.items(), len(self.layout.lags)):
            yield reader, None if mode.bound[queue] == EMPTY else place

    def law_of(self, component: int) -> int:
        """Return the link to whose law a component of the controllers' state belongs."""
        place = self.state.start + component
        return sum(where.stop <= place for _, where in self.laws)

    def _listening(self, i: int, mode: Mode) -> bool:
        return mode.active[i] and self.listens[i]

    def sizes(self, mode: Mode) -> list[tuple[int, float]]:
        """Return which components' errors count, and what is added to each to make it relative."""
        found = [
            (queue, SLOWEST * mode.capacity[link]) for queue, link in enumerate(self.layout.link_of)
        ]
        found += self._sizes_of_laws()
        return found + [(place, _LATE) for place in self.entered.values()]

    # The right-hand side

    def queue_slopes(self, net: tuple[float, ...], mode: Mode) -> list[float]:
        """Return dq/dt of each queue within the bounds that hold."""
        found: list[float] = []
        for queues, _ in self.basins:
            found += slopes_in_buffer(net[queues], mode.bound[queues])
        return found

    def derivative(
        self, y: Sequence[float], mode: Mode, view: View, past: Sequence[Heard | None]
    ) -> list[float]:
        """Return dy/dt."""
        f = super().derivative(y, mode, view, past)
        for pace, place in zip(view.passing, self.entered.values(), strict=False):
            f[place] = pace
        return f

    def controller_slope(self, y: Sequence[float], mode: Mode, view: View) -> Sequence[float]:
        """Return d(controller state)/dt of all laws before clipping."""
        growth = self.queue_slopes(view.net, mode)
        slopes: list[float] = []
        for link, ((aqm, where), move) in enumerate(zip(self.laws, self._moves, strict=True)):
            rise = growth[self.first_queue[link]] / mode.capacity[link]
            queue = self._queues[link]
            if queue is not None and move is not _hold:
                slopes += queue.slopes(tuple(y[where]), view.seen[link], rise, held(mode, link))
            else:
                slopes += [float(v) for v in move(aqm, tuple(y[where]), view.seen[link], rise)]
        return slopes

    # Jumps

    def tick(
        self, t: float, y: list[float], mode: Mode, links: Sequence[int] = (0,)
    ) -> list[float]:
        """Return the state after one update of the controllers of some links."""
        view, y = self.observe(t, y, mode), list(y)
        for link in links:
            aqm, where = self.laws[link]
            interval = aqm.update_interval
            assert interval is not None, "what has no ticks is not ticked"
            state = aqm.update(tuple(y[where]), view.seen[link], interval)
            y[where] = [float(value) for value in aqm.saturate(state)]
        return y

    def jump(self, t: float, y: list[float], before: Mode, after: Mode) -> list[float]:
        """Return the state after a capacity has jumped: the delay, and what follows it, jump."""
        if not self.continuous:
            return y
        view, y = self.observe(t, y, before), list(y)
        for link, (aqm, where) in enumerate(self.laws):
            if not self._flowing[link]:
                continue
            state, seen, queue = tuple(y[where]), view.seen[link], self.first_queue[link]
            rise = y[queue] / after.capacity[link] - view.tau[queue]
            still, moved = aqm.flow(state, seen, 0.0), aqm.flow(state, seen, rise)
            impulse = [s + m - f for s, m, f in zip(state, moved, still, strict=True)]
            y[where] = [float(value) for value in aqm.saturate(tuple(impulse))]
        return y

    # Which bounds hold

    def hold_bounds(self, t: float, y: list[float], mode: Mode) -> tuple[list[float], Mode]:
        """Return the mode in which every bound that stops the motion is held, and no other."""
        for _ in range(self.bands + 1):  # what an empty queue hands on decides about the next
            view, bound = self.observe(t, y, mode), []
            for basin, (queues, size) in enumerate(self.basins):
                full = sum(y[queues]) >= size and self.growth(basin, view.net, mode) >= 0.0
                for q, net in zip(y[queues], view.net[queues], strict=True):
                    empty = q <= 0.0 and net <= 0.0
                    bound.append(EMPTY if empty else FULL if full else FREE)
            y = list(y)
            for queue, place in self.entered.items():
                if EMPTY in {bound[queue], mode.bound[queue]}:
                    y[place] = t
            if tuple(bound) == mode.bound:
                break
            mode = mode._replace(bound=tuple(bound))
        for basin, (queues, _) in enumerate(self.basins):
            if FULL in mode.bound[queues]:
                y, mode = self.end_slow_start(self.crossing(basin), y, mode)
        mode = mode._replace(held=self.clips(y, mode, self.observe(t, y, mode)))
        return y, mode

    def crossing(self, basin: int) -> Iterable[int]:
        """Return the classes that meet the queues of a basin."""
        return [self.streams[s].owner for s in self.meeting[basin]]

    def clipped(self, state: Sequence[float]) -> Sequence[float]:
        """Return the controllers' states within the clips of those that flow."""
        found, first = list(state), self.state.start
        for flows, (aqm, where) in zip(self._flowing, self.laws, strict=True):
            if flows:
                mine = slice(where.start - first, where.stop - first)
                found[mine] = [float(v) for v in aqm.saturate(tuple(state[mine]))]
        return found


def _is_same(before: float, now: float) -> bool:
    return abs(now - before) <= _SAME * before


def _cubic(values: tuple[float, ...], x: float) -> float:
    """Return the cubic that has four values at 0, 1/3, 2/3 and 1, at `x`."""
    a, b, c, d = values
    u, v, w = 3.0 * x - 1.0, 3.0 * x - 2.0, x - 1.0
    return 0.5 * u * v * (d * x - a * w) + 4.5 * x * w * (b * v - c * u)


def _hold(aqm: Aqm, state: tuple[float, ...], seen: Seen, rise: float) -> Sequence[Number]:
    del aqm, seen, rise
    return (0.0,) * len(state)


def _drift(aqm: Aqm, state: tuple[float, ...], seen: Seen, rise: float) -> Sequence[Number]:
    del rise
    return aqm.drift(state, seen)


def _flow(aqm: Aqm, state: tuple[float, ...], seen: Seen, rise: float) -> Sequence[Number]:
    return aqm.flow(state, seen, rise)


def _move_of(aqm: Aqm, update: str) -> Move:
    """Return how a law moves between its ticks, or without any."""
    if aqm.update_interval is None:
        return _flow if is_bounded(aqm) else _drift
    if update == "continuous":
        return _flow
    return _drift if type(aqm).drift is not Aqm.drift else _hold
