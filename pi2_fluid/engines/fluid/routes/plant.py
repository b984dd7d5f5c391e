"""The right-hand side of the fluid over several links.

With A_s the packets per second of stream s (one class at one link) that arrive at its link l,

    A_s(t) = count_i * sending_rate(x_i, R_i) at t - hop          from the source,
    A_s(t) = what left the link before at t - hop                 from there,
    dq_l/dt = sum of A_s over the streams of l - C_l,             0 <= q_l <= buffer_l,

and what leaves is first in, first out: with a_l the time at which it has entered, which is t while
the queue is empty,

    out_s(t) = C_l(t) A_s(a_l) / sum of A at a_l,     da_l/dt = C_l(t) / sum of A at a_l.

A class hears at t what left link l at t - b_il(t), where b_il is what is left of its round trip
from there on, the link's own queue included. The network's `combine` says how it is signalled by
several of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Final, TypeAlias

from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.history import Segment
from pi2_fluid.engines.fluid.plant import SLOWEST, UNSEEN, Plant, held, is_bounded
from pi2_fluid.engines.fluid.routes.kinks import Kinks, Part
from pi2_fluid.engines.fluid.routes.layout import lay_out
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
_SAME: Final = 1e-14

#: What leaves a link: how fast the time of its entry moves, and the rate of each stream.
Outflow: TypeAlias = tuple[float, dict[int, float]]
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
        self.bands = len(self.nodes)
        sizes = [float(node.link.buffer) for node in self.nodes]
        self.basins = tuple(Basin(slice(k, k + 1), size) for k, size in enumerate(sizes))
        #: Which queue a stream waits in.
        self.band = tuple(stream.link for stream in self.streams)
        self.group = tuple(path.round_trip for path in self.paths)
        self.group_count = self.layout.readers
        self._lay_out()
        self._moves = tuple(_move_of(node.aqm, update) for node in self.nodes)
        self._flowing = tuple(move is _flow for move in self._moves)
        self.continuous = any(self._flowing)
        #: Whether signals follow from the controller's variable alone.
        self._simple = tuple(type(n.aqm).signals is Aqm.signals for n in self.nodes)
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
        self._found: dict[tuple[int, float, int], Outflow] = {}
        self._seen: dict[tuple[int, float, int], tuple[float, list[float], Segment]] = {}
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
        self.entered = {link: self.size + n for n, link in enumerate(self.layout.carriers)}
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
        sent = [self._sent(stream.owner, 0.0, y, self._before) for stream in self.streams]
        self._went = sent
        for _ in range(_ROUNDS):  # what one link lets through arrives at the next, also in rings
            before = self._went
            for s, stream in enumerate(self.streams):
                rate = before[stream.before] if stream.before >= 0 else sent[s]
                if s in self.thinning:
                    rate = self._let_in(s, rate, y, self._before)
                self._came[s] = rate
            self._went = [*self._came]
            for link, mine in enumerate(self.layout.arriving):
                if self._before.bound[link] != EMPTY:
                    entered = {s: self._came[s] for s in mine}
                    left = self._let_out(link, entered, self._before, self._before)[1]
                    self._went = [left.get(s, rate) for s, rate in enumerate(self._went)]
            if all(map(_is_same, before, self._went)):
                break
        for link, place in self.entered.items():
            total = sum(self._came[s] for s in self.layout.arriving[link])
            if self._before.bound[link] == FULL:  # and the rest of it was lost
                total = min(total, self._before.capacity[link])
            y[place] = -y[link] / total if total > 0.0 else 0.0

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
        for k, (_, size) in enumerate(self.basins):
            if given.queues[k] >= size:
                bound[k] = FULL
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
        tau = self._delays(y, mode)
        rtt = tuple(
            base + sum(tau[link] for link in path.links)
            for base, path in zip(self.base_rtt, self.paths, strict=True)
        )
        rates = tuple(self._arrival(s, t, y, mode) for s in range(len(self.streams)))
        net, served, seen, signals = [], [], [], []
        for link, C in enumerate(mode.capacity):
            arrivals = sum(rates[s] for s in self.layout.arriving[link])
            bound = mode.bound[link]
            net.append(arrivals - C)
            served.append(arrivals if bound == EMPTY else C)
            overflow = max(0.0, arrivals - C) if bound == FULL else 0.0
            seen.append(Seen(tau[link], y[link], arrivals, C, overflow))
            signals.append(self._signalled(link, y, seen[link], mode))
        paces, leaving = [], []
        for link in self.layout.carriers:
            mine = self.layout.arriving[link]
            if mode.bound[link] == EMPTY:
                paces.append(1.0)
                leaving += [rates[s] for s in mine]
            else:
                pace, left = self._outflow(link, t, y, mode)
                paces.append(pace)
                leaving += left.values()
        passing = (*paces, *leaving)
        return View(
            tau, rtt, rates, tuple(net), tuple(served), tuple(seen), tuple(signals), passing
        )

    def answering(self, i: int) -> bool:
        """Return whether the rate of a class hears signals itself."""
        return self.senders[i].answers_at_once

    def rtt(self, y: Sequence[float], mode: Mode, i: int) -> float:
        """Return the round-trip time of class `i`."""
        return self.base_rtt[i] + sum(y[link] / mode.capacity[link] for link in self.paths[i].links)

    def _arrival(self, s: int, t: float, y: Sequence[float], mode: Mode) -> float:
        """Return the packets per second of a stream that arrive at its link and are let in."""
        stream = self.streams[s]
        then, past, old = t, y, mode
        if stream.reader >= 0:
            then, past, segment = self._look(stream.reader, t - stream.lag, mode)
            old = segment.mode
        if stream.before >= 0:
            rate = self._left(stream.before, then, past, old)
        else:
            rate = self._sent(stream.owner, then, past, old)
        if s in self.thinning:
            rate = self._let_in(s, rate, y, mode)
        return rate

    def _let_in(self, s: int, rate: float, y: Sequence[float], mode: Mode) -> float:
        """Return what is let in of a stream that its link thins."""
        return rate * (1.0 - float(self._encoded(self.streams[s].link, y).classic))

    def _sent(self, i: int, t: float, y: Sequence[float], mode: Mode) -> float:
        if not mode.active[i]:
            return 0.0
        sender, rtt = self.senders[i], self.rtt(y, mode, i)
        if sender.answers_at_once:
            p = self._heard(i, t, self._delays(y, mode), mode)[1]
            rate = sender.sending_rate_under(self.x(y, i), p, rtt)
        else:
            rate = sender.sending_rate(self.x(y, i), rtt)
        return self.count(t, mode, i) * float(rate)

    def _delays(self, y: Sequence[float], mode: Mode) -> tuple[float, ...]:
        return tuple(q / C for q, C in zip(y[: self.bands], mode.capacity, strict=True))

    def window(self, t: float, y: Sequence[float], mode: Mode, i: int) -> float:
        """Return what a class whose rate answers signals has under way, of one flow."""
        sent, count = self._sent(i, t, y, mode), self.count(t, mode, i)
        return sent / count * self.rtt(y, mode, i) if count > 0.0 else 0.0

    def _left(self, s: int, t: float, y: Sequence[float], mode: Mode) -> float:
        """Return the packets per second of a stream that leave its link."""
        link = self.streams[s].link
        if mode is self._before:
            return self._went[s]
        if mode.bound[link] == EMPTY:
            return self._arrival(s, t, y, mode)
        return self._outflow(link, t, y, mode)[1][s]

    def _outflow(self, link: int, t: float, y: Sequence[float], mode: Mode) -> Outflow:
        """Return what leaves a queue that is not empty: what has entered it then."""
        key = (link, t, id(mode))
        if key not in self._found:
            self._found[key] = self._find_outflow(link, t, y, mode)
        return self._found[key]

    def _find_outflow(self, link: int, t: float, y: Sequence[float], mode: Mode) -> Outflow:
        reader = len(self.layout.lags) + self.layout.carriers.index(link)
        then, past, segment = self._look(reader, y[self.entered[link]], mode)
        mine = self.layout.arriving[link]
        entered = {s: self._entered(s, then, past, segment) for s in mine}
        return self._let_out(link, entered, segment.mode, mode)

    def _let_out(self, link: int, entered: dict[int, float], old: Mode, mode: Mode) -> Outflow:
        """Return what leaves a queue that is not empty, of streams that had these rates."""
        total = sum(entered.values())
        if total <= 0.0:  # nothing has entered then, and nothing leaves
            return 0.0, entered
        # Of what a full queue refuses every stream loses its part.
        kept = min(total, old.capacity[link]) if old.bound[link] == FULL else total
        C = mode.capacity[link]
        return C / kept, {s: C * rate / total for s, rate in entered.items()}

    def _look(self, reader: int, t: float, mode: Mode) -> tuple[float, list[float], Segment]:
        """Return the instant, the state then, and the segment that a reader finds at `t`."""
        key = (reader, t, id(mode))
        if key not in self._seen:
            then, segment = self.memory.find(reader, t, mode.places)
            self._seen[key] = then, segment.values(then), segment
        return self._seen[key]

    def _entered(self, s: int, t: float, y: list[float], segment: Segment) -> float:
        """Return what arrived of a stream at an earlier instant.

        What came from another link is kept, as a cubic in each segment: it would lead back from
        link to link, in a ring as far as to the beginning. Where a ring takes less time than the
        segment, its own cubic is not there yet while it is made.
        """
        if segment.mode is self._before:
            return self._came[s]
        key = (segment.start, s)
        at_once = self.streams[s].before < 0 or not self.memory.is_past(segment)
        if at_once or key in self._making:
            return self._arrival(s, t, y, segment.mode)
        width = segment.end - segment.start
        if key not in self._kept:
            instants = [segment.start + part * width for part in _THIRDS]
            self._making.add(key)
            self._kept[key] = tuple(
                self._arrival(s, when, segment.values(when), segment.mode) for when in instants
            )
            self._making.discard(key)
        return _cubic(self._kept[key], (t - segment.start) / width)

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
        for k, (_, size) in enumerate(self.basins):
            y[k] = min(max(y[k], 0.0), size)
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

        def read(reader: int) -> tuple[float, list[float], Mode]:
            then, past, segment = self._look(reader, t - self.lag(reader, tau, mode), mode)
            return then, past, segment.mode

        _, then, old = read(path.round_trip)
        # Nothing reaches it of what it had not sent.
        heard = 0.0
        if old.signalling and old.active[i]:
            heard = self._combined(
                i,
                [
                    self.signal(self._signals(link, *read(reader)), i)
                    for link, reader in zip(path.links, path.heard, strict=True)
                ],
                mode,
            )
        return self.x(then, i), heard, self.rtt(then, old, i)

    def lag(self, reader: int, tau: Sequence[float], mode: Mode) -> float:
        """Return how long ago a reader reads, given the delays of the queues."""
        del mode
        time, links = self.layout.lags[reader]
        return time + sum(tau[link] for link in links)

    def _signals(self, link: int, t: float, y: Sequence[float], mode: Mode) -> Signal:
        if self._simple[link] and self._queues[link] is not None:
            return self._signalled(link, y, UNSEEN, mode)
        if self._simple[link]:
            return self._encoded(link, y)
        return self.observe(t, y, mode).signals[link]

    def delayed(
        self, group: int, t: float, y: list[float], f: list[float], view: View, mode: Mode
    ) -> tuple[float, float] | None:
        """Return the instant that a reader reads and how fast it moves; None if nobody wants it."""
        if group >= len(self.layout.lags):
            link = self.layout.carriers[group - len(self.layout.lags)]
            place = self.entered[link]
            return None if mode.bound[link] == EMPTY else (y[place], f[place])
        links = self.layout.lags[group].links
        if links and not any(self._listening(i, mode) for i in self.listeners(group)):
            return None
        speed = 1.0
        if not self.at_rest:
            speed -= sum(f[link] / mode.capacity[link] for link in links)
        return t - self.lag(group, view.tau, mode), speed

    def listeners(self, group: int) -> list[int]:
        """Return the classes that hear by a reader."""
        return [i for i, p in enumerate(self.paths) if group in (p.round_trip, *p.heard)]

    def carries(self, reader: int) -> bool:
        """Return whether a reader is of what arrives, not of what is heard."""
        return reader >= len(self.layout.lags) or not self.layout.lags[reader].links

    def fed(self, reader: int) -> list[Part]:
        """Return what follows at once from what such a reader reads."""
        if reader >= len(self.layout.lags):
            return [Part("outflow", self.layout.carriers[reader - len(self.layout.lags)])]
        return [Part("arrival", s) for s, st in enumerate(self.streams) if st.reader == reader]

    def entries(self, mode: Mode) -> Iterator[tuple[int, int | None]]:
        """Yield the reader of each carrier, and where its time of entry stands unless it is now."""
        for reader, (link, place) in enumerate(self.entered.items(), len(self.layout.lags)):
            yield reader, None if mode.bound[link] == EMPTY else place

    def link_of(self, component: int) -> int:
        """Return the link to whose law a component of the controllers' state belongs."""
        place = self.state.start + component
        return sum(where.stop <= place for _, where in self.laws)

    def _listening(self, i: int, mode: Mode) -> bool:
        return mode.active[i] and self.listens[i]

    def sizes(self, mode: Mode) -> list[tuple[int, float]]:
        """Return which components' errors count, and what is added to each to make it relative."""
        found = [(k, SLOWEST * C) for k, C in enumerate(mode.capacity)]
        found += self._sizes_of_laws()
        return found + [(place, _LATE) for place in self.entered.values()]

    # The right-hand side

    def growth(self, basin: int, net: tuple[float, ...], mode: Mode) -> float:
        """Return how fast a queue would grow, were there room."""
        return net[basin] if mode.bound[basin] != EMPTY else 0.0

    def queue_slopes(self, net: tuple[float, ...], mode: Mode) -> list[float]:
        """Return dq/dt of each queue within the bounds that hold."""
        return [
            0.0 if b == EMPTY or (b == FULL and n > 0.0) else n
            for n, b in zip(net, mode.bound, strict=True)
        ]

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
            rise, queue = growth[link] / mode.capacity[link], self._queues[link]
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
            state, seen = tuple(y[where]), view.seen[link]
            rise = y[link] / after.capacity[link] - view.tau[link]
            still, moved = aqm.flow(state, seen, 0.0), aqm.flow(state, seen, rise)
            impulse = [s + m - f for s, m, f in zip(state, moved, still, strict=True)]
            y[where] = [float(value) for value in aqm.saturate(tuple(impulse))]
        return y

    # Which bounds hold

    def hold_bounds(self, t: float, y: list[float], mode: Mode) -> tuple[list[float], Mode]:
        """Return the mode in which every bound that stops the motion is held, and no other."""
        for _ in range(self.bands + 1):  # what an empty link hands on decides about the next
            view, bound = self.observe(t, y, mode), []
            for q, net, (_, size) in zip(y, view.net, self.basins, strict=False):
                if q <= 0.0 and net <= 0.0:
                    bound.append(EMPTY)
                else:
                    bound.append(FULL if q >= size and net >= 0.0 else FREE)
            y = list(y)
            for link, place in self.entered.items():
                if EMPTY in {bound[link], mode.bound[link]}:
                    y[place] = t
            if tuple(bound) == mode.bound:
                break
            mode = mode._replace(bound=tuple(bound))
        for link, bound_now in enumerate(mode.bound):
            if bound_now == FULL:
                y, mode = self.end_slow_start(self.crossing(link), y, mode)
        mode = mode._replace(held=self.clips(y, mode, self.observe(t, y, mode)))
        return y, mode

    def crossing(self, basin: int) -> Iterable[int]:
        """Return the classes that meet a queue."""
        return [self.streams[s].owner for s in self.layout.arriving[basin]]

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
