"""Plant: the right-hand side of the fluid, on plain floats, for any laws and routes.

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

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.oracle.equations import SLOWEST, held, slopes_in_buffer
from pi2_fluid.engines.fluid.oracle.kinks import Kinks, Part
from pi2_fluid.engines.fluid.oracle.layout import lay_out
from pi2_fluid.engines.fluid.oracle.moment import Moment
from pi2_fluid.engines.fluid.oracle.moves import flow, hold, move_of, recalls, shows_queue
from pi2_fluid.engines.fluid.oracle.passing import Entered, Passing
from pi2_fluid.engines.fluid.oracle.sides import QueueCompared, compared_queue, compared_rate
from pi2_fluid.engines.fluid.oracle.state import EMPTY, FREE, FULL, Basin, Heard, Mode, View
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.network.routes import on_their_ways
from pi2_fluid.network.scenario import Scenario

_LATE: Final = 1e-3  # s, added to the time of entry to make its error relative
_AHEAD: Final = 1e-6  # of a delay, over which its own slope is taken


class Plant(Passing):
    """The equations. The state: queues, what entered, controllers, senders, times of entry."""

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
        self._moves = tuple(move_of(node.aqm, update) for node in self.nodes)
        self._flowing = tuple(move is flow for move in self._moves)
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
        jumping = tuple(move is hold for move in self._moves)
        #: Streams of which a link drops what it signals.
        self.thinning = tuple(
            s
            for s, stream in enumerate(self.streams)
            if self.thinned[stream.owner] and self.nodes[stream.link].aqm.thins
        )
        thinned = {self.streams[s].link for s in self.thinning}
        #: Of each link: whether a tick moves what enters it, or how its law moves, at once.
        self.ticks_move = tuple(not held or link in thinned for link, held in enumerate(jumping))
        self.kinks = Kinks(self.layout, jumping, self._simple, self.thinning)
        #: Of each link: whether its signals follow from the queue as well.
        self.shows_queue = tuple(shows_queue(node.aqm) for node in self.nodes)
        #: Whether it is one link to which all packets come at once, from senders that answer a
        #: round trip later. Then no rate is heard of later, and the error of a step at its ends
        #: tells enough.
        self.at_once = (
            len(self.nodes) == 1
            and not any(stream.lag for stream in self.streams)
            and not any(map(self.answering, range(len(self.senders))))
        )
        self.reads = self._list_reads()
        #: What arrived of each stream before time 0, and what left.
        self._came = [0.0] * len(self.streams)
        self._went = [0.0] * len(self.streams)
        # What has been found out about one instant, and instants before it.
        self._found: dict[tuple[int, float, int], Entered] = {}
        self._seen: dict[tuple[int, float, int], Moment] = {}
        self._looking = 0

    def _list_reads(self) -> tuple[tuple[int, ...], ...]:
        """Return of each reader the components in which it may misread a step in the making."""
        if not self.at_once:
            states = range(self.state.start, self.windows[-1].stop)
            return ((*range(self.bands), *states, *self.entered.values()),) * self.group_count
        found: list[set[int]] = [set() for _ in range(self.group_count)]
        for path, sender, where in zip(self.paths, self.senders, self.windows, strict=True):
            mine = found[path.round_trip]
            mine |= set(range(self.state.start, self.state.stop)) | set(path.queues)
            mine |= set(range(self.bands)) if self.shows_queue[0] else set()
            mine |= {where.start + k for k in range(len(sender.states)) if recalls(sender, k)}
        return tuple(tuple(sorted(mine)) for mine in found)

    def nearest(self, mode: Mode) -> float:
        """Return how near the past is that somebody reads, however short queues become (s)."""
        hears = zip(self.base_rtt, mode.active, self.listens, strict=True)
        return min((base for base, *heeds in hears if all(heeds)), default=math.inf)

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

    def met(self, view: View, i: int) -> float:
        """Return the probability with which packets of class `i` are signalled on their way."""
        chances = [self.met_at(link, view, i) for link in self.paths[i].links]
        return self._combined(chances)

    def met_at(self, link: int, view: View, i: int) -> float:
        """Return the probability with which packets of class `i` are signalled at a link."""
        if self.thinned[i] and not self.nodes[link].aqm.thins:
            return 0.0
        return self.signal(view.signals[link], i)

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

    def past(self, t: float, view: View, mode: Mode) -> list[Heard | None]:
        """Return what each class hears now; the past is read where it was attached."""
        return [
            self._heard(i, t, view.tau, mode) if active and listens else None
            for i, (active, listens) in enumerate(zip(mode.active, self.listens, strict=True))
        ]

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
        lag, speed = self.lag(group, view.tau), 1.0
        if self.dual and queues:
            # The rate at which a queue is served moves as well: look ahead a little.
            ahead = _AHEAD * (lag + SLOWEST)
            after = [v + ahead * slope for v, slope in zip(y, f, strict=True)]
            tau = self._waits(Moment(t + ahead, after, mode))
            speed -= (self.lag(group, tau) - lag) / ahead
        else:
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
            if queue is not None and move is not hold:
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
