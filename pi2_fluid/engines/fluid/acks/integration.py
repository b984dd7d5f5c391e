"""From a scenario to the counts of its packets, step by step, without a derivative.

Until t, class i has sent A_i. Of it A_ik has come to the k-th link of its way, of which D_ik has
left, and K_i is acknowledged, with hops h_ik and the way back b_i,

    A_i(t) = max(A_i before, K_i(t) + N_i W_i(t)),    A_i1(t) = A_i(t - h_i1),
    A_ik(t) = D_i,k-1(t - h_ik),    K_i(t) = D_i,last(t - b_i),

and each link serves what has come to it,

    D(t) = min(A(t), D before + what the link could serve),   D_ik(t) = A_ik(u), with A(u) = D(t),

so that u is when what leaves at t came, and t - u how long it waited. A dual queue has two such
lines, which share the link as its law says of what each needs in a step. A window that stays sends
one packet for each that is acknowledged, whichever queues the others wait in, and what is under way
is the window. A packet that some link has signalled is heard of when it is acknowledged. All of it
is known at the end of a step no longer than the shortest path: W_i moves with acknowledgements that
have come.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from pi2_fluid.engines.fluid.acks.beginnings import is_present, usual_delays, window_of
from pi2_fluid.engines.fluid.acks.counts import Grid
from pi2_fluid.engines.fluid.acks.links import CORNER, TINY, Line, Link, signals
from pi2_fluid.engines.fluid.acks.order import step_and_order, step_of, ways_of
from pi2_fluid.engines.fluid.acks.passages import Passage, Past
from pi2_fluid.engines.fluid.acks.sources import Sent, Source
from pi2_fluid.engines.fluid.acks.waiting import waits_before
from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.errors import SolverError
from pi2_fluid.laws.seen import Seen
from pi2_fluid.network.routes import on_their_ways
from pi2_fluid.network.scenario import Scenario

TOO_MANY_STEPS: Final = (
    "the trajectory needs more than {most} steps of at most {step:g} s: give a longer step, or a"
    " shorter duration."
)
MOST_KEPT: Final = 5_000_000  # steps, of each class and of each queue: some 2 GB, for all are kept
SAME: Final = 1e-12  # s: instants closer than this are one
AGES: Final = 4.0  # longest delays that the past before time 0 reaches back


class Node(NamedTuple):
    """What is true at an instant, just after all that happens then; link after link."""

    t: float
    queue: tuple[float, ...]
    """Packets in every queue."""
    queue_delay: tuple[float, ...]
    controller: tuple[float, ...]
    capacity: tuple[float, ...]
    p: tuple[tuple[float, ...], ...]
    """Of each link: with what probability it signals each class."""


class Integrator:
    """One trajectory by acknowledgements, over one link or several, in steps of order 2.

    Parameters
    ----------
    scenario : Scenario
        In which no number of flows changes.
    step : float, optional
        Longest step (s).
    beginning : Beginning, optional
        The state before time 0.
    copied : tuple
        Of each class: with whose window it begins, or None.
    """

    def __init__(
        self,
        scenario: Scenario,
        step: float | None,
        beginning: Beginning | None,
        copied: tuple[int | None, ...] = (),
    ) -> None:
        self.scenario, self.copied, self.network = scenario, copied, scenario.network
        self.ways = ways_of(self.network)
        most = step_of(scenario, step)
        asked = step is not None
        self.step, self.order = step_and_order(self.network, self.ways, most, asked=asked)
        self.bits = 8.0 * float(scenario.packet_size)
        names = self.network.node_names
        #: When the capacity of which link changes to how many packets/s.
        self.changes = [
            (float(c.at), names.index(c.link or names[0]), float(c.capacity) / self.bits)
            for c in scenario.changes
            if c.capacity is not None
        ]
        laws = {node.name: node.aqm for node in self.network.nodes}
        flows = on_their_ways(scenario.flows, laws, scenario.packet_size)
        self.senders = [flow.sender for flow in flows]
        waits = waits_before(scenario, self.ways, self.senders, beginning)
        self.times = Grid(AGES * (1.0 + sum(waits) + max(float(f.base_rtt) for f in flows)))
        self.links = self._links(waits, beginning)
        self.usual = usual_delays(self.network, self.ways)
        self.sources: list[Source] = []
        self.passages: list[list[Passage]] = []
        for i in range(len(flows)):
            self._add_class(i, waits, beginning)
        for k, link in enumerate(self.links):
            mine = [
                passage
                for way, passages in zip(self.ways, self.passages, strict=True)
                for place, passage in zip(way.links, passages, strict=True)
                if place == k
            ]
            waited = (waits[k], 0.0)[: link.aqm.bands]
            link.lines = [
                Line(self.times, [p for p in mine if self.band(k, p.owner) == band], wait)
                for band, wait in enumerate(waited)
            ]
        #: In which queues the packets of each class wait, one after the other.
        self.lines = [
            [self.links[k].lines[self.band(k, i)] for k in way.links]
            for i, way in enumerate(self.ways)
        ]
        self.nodes = [self._node()]

    # Before time 0

    def _links(self, waits: list[float], beginning: Beginning | None) -> list[Link]:
        found, place = [], 0
        for k, (node, wait) in enumerate(zip(self.network.nodes, waits, strict=True)):
            aqm = node.aqm
            state = tuple(map(float, aqm.initial()))
            if beginning is not None:
                state = beginning.controller[place : place + len(state)]
            place += len(state)
            capacity = float(node.link.capacity) / self.bits
            # Which signal a class sees here, drops of what is thinned included.
            kinds = [
                ("classic" if aqm.thins and sender.thinned else sender.signal)
                if k in way.links
                else None
                for sender, way in zip(self.senders, self.ways, strict=True)
            ]
            delay: float | tuple[float, ...] = wait if aqm.bands == 1 else (wait, 0.0)
            p = signals(aqm, state, Seen(delay, wait * capacity, 0.0, capacity), kinds, 0.0)
            found.append(Link(aqm, capacity, float(node.link.buffer), state, [], kinds, p))
        return found

    def _add_class(self, i: int, waits: list[float], beginning: Beginning | None) -> None:
        flows, sender, way = self.scenario.flows[i], self.senders[i], self.ways[i]
        there = is_present(self.scenario, i, beginning)
        waited = [waits[k] * (self.band(k, i) == 0) for k in way.links]
        adds = self.network.combine == "sum"
        met, signalled = [0.0], [self.links[k].p[i] if there else 0.0 for k in way.links]
        for p in signalled:
            met.append(min(1.0, met[-1] + p) if adds else met[-1] + p - met[-1] * p)
        rate, before, window = 0.0, 0.0, None
        if sender.constant_rate is not None:
            rate = float(sender.sending_rate(sender.initial(1.0), 1.0))
            before = rate * float(flows.count) * there
        else:
            path = float(flows.base_rtt)
            round_trips = path + sum(self.usual[i]), path + sum(waited)
            begun = (beginning.senders[i], met[-1]) if there and beginning is not None else None
            window, before = window_of(self.scenario, i, sender, self.times, round_trips, begun)
        source = Source(flows, self.times, window, rate, before, way.back)
        feed, took, passages = source.feed, 0.0, []
        for k, hop, wait, had, p in zip(way.links, way.hops, waited, met, signalled, strict=False):
            thinned = self.links[k].aqm.thins and sender.thinned
            past = Past(before, took + hop, wait, had, p)
            passage = Passage(i, feed, hop, self.times, past, adds=adds, thinned=thinned)
            passages.append(passage)
            before *= 1.0 - p if thinned else 1.0
            feed, took = passage.out, took + hop + wait
        source.hear(feed)
        self.sources.append(source)
        self.passages.append(passages)

    def band(self, link: int, i: int) -> int:
        """Return which line of a link a class waits in: of two, scalable senders in the second."""
        two = self.network.nodes[link].aqm.bands == 2
        return int(two and self.senders[i].signal == "scalable")

    # In time

    def run(self, progress: Callable[[float, float], None] | None = None) -> None:
        """Follow the scenario to its end."""
        end, reported = float(self.scenario.duration), -1
        changes = list(self.changes)
        for at, ticking in self._instants([change[0] for change in changes]):
            self._reach(at)
            for source, other in zip(self.sources, self.copied, strict=False):
                if other is not None and abs(source.start - at) <= SAME:
                    source.copy(self.sources[other])
            while changes and changes[0][0] <= at + SAME:
                _, number, capacity = changes.pop(0)
                self.links[number].capacity = capacity
            for k in ticking:
                self.links[k].tick(self.times, float(self.links[k].aqm.update_interval or 0.0))
            self.nodes[-1] = self._node()
            part = int(100 * at / end)
            if progress is not None and part > reported:
                progress(at, end)
                reported = part

    def _instants(self, changes: list[float]) -> Iterator[tuple[float, list[int]]]:
        """Yield every instant at which something happens, and whose controllers tick then."""
        end = float(self.scenario.duration)
        found: list[tuple[float, int]] = [(end, -1)]
        for k, link in enumerate(self.links):
            interval = float(link.aqm.update_interval or math.inf)
            ticks = int(end / interval * (1.0 + SAME))
            found += [(n * interval, k) for n in range(1, ticks + 1)]
        others = [*changes, *(at for source in self.sources for at in source.instants())]
        found += [(at, -1) for at in others if 0.0 < at <= end]
        before, ticking = 0.0, list[int]()
        for at, k in sorted(found):
            if at > before + SAME:
                if before > 0.0:
                    yield before, ticking
                before, ticking = at, []
            ticking = [*ticking, k] if k >= 0 else ticking
        if before > 0.0:
            yield before, ticking

    def _reach(self, at: float) -> None:
        """Go to an instant, before which nothing happens that is known beforehand."""
        steps, dt = 0, 0.0
        # What is kept of two passages takes no more memory than what is of one source.
        kept = len(self.sources) + sum(map(len, self.passages)) // 2 + len(self.links)
        most = MOST_KEPT // kept
        while (left := at - self.times[-1]) > SAME:
            if steps <= 1:  # at first, after a step that was split, and for what rounding leaves
                steps = max(1, math.ceil(left / self.step - 1e-9))
                dt = left / steps
            else:
                steps -= 1
            sent, split = self._try(dt)
            least = TINY / dt
            if least < split < 1.0 - least:
                self._take_back()
                (sent, _), steps = self._try(split * dt), 0
            self._settle(sent)
            if len(self.times) > most:
                raise SolverError(TOO_MANY_STEPS.format(most=most, step=self.step))

    def _try(self, dt: float) -> tuple[list[Sent], float]:
        """Take a step; return what classes have sent, and how much of it there should have been."""
        t, split = self.times[-1] + dt, 1.0
        waited = [sum([line.delays[-1] for line in lines]) for lines in self.lines]
        self.times.grow(t, 1.0 / dt)
        sent: dict[int, Sent] = {}
        for kind, number in self.order:
            if kind == "link":
                split = min(split, self.links[number].step(t, dt))
                continue
            source = self.sources[number]
            sent[number] = after = source.step(t, dt, waited[number])
            window = source.window
            if window is not None and window.slow and after.moved and after.moved.expected > 1.0:
                before = window.now.expected
                split = min(split, (1.0 - before) / (after.moved.expected - before))
            if source.silence > CORNER and after.silence < -CORNER:
                split = min(split, source.silence / (source.silence - after.silence))
        return [sent[i] for i in range(len(self.sources))], split

    def _take_back(self) -> None:
        self.times.take_back()
        for source in self.sources:
            source.take_back()
        for link in self.links:
            link.take_back()

    def _settle(self, sent: list[Sent]) -> None:
        """Take a step for good; slow start ends by a signal, or where a link on the way is full."""
        for source, way, after in zip(self.sources, self.ways, sent, strict=True):
            source.settle(after)
            window = source.window
            if window is None or not window.slow:
                continue
            meets = source.start <= self.times[-1] and any(
                self.links[k].is_full() for k in way.links
            )
            if meets or window.now.expected >= 1.0 - TINY:
                window.leave_slow_start()
        self.nodes.append(self._node())

    def _node(self) -> Node:
        return Node(
            self.times[-1],
            tuple([line.queue for link in self.links for line in link.lines]),
            tuple([line.delays[-1] for link in self.links for line in link.lines]),
            tuple([float(link.aqm.controller(link.state)) for link in self.links]),
            tuple([link.capacity for link in self.links]),
            tuple([link.p for link in self.links]),
        )
