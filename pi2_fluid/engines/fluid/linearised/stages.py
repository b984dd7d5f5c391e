"""A stage of the schedule: the tangents of all laws where it rests, as equations.

What leaves a link that is full at rest is to first order

    out_s(t) = A_s(a) - share_s (sum of A at a - C),        a = t - tau at rest:

the sum over its streams is C. A link that is not full at rest has no queue, and lets pass what
arrives.

In a dual queue one of the two queues waits. The other lets pass what arrives and takes it from the
link, of which mu is left, mu_0 at rest. What waits is then served mu in place of C, of which each
stream has its share, and its delay is

    tau + (q - tau mu_0)/mu_0 - tau (mu - mu_0)/mu_0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.engines.fluid.linearised.equations import Equations, Writer
from pi2_fluid.engines.fluid.linearised.places import LaidOut
from pi2_fluid.engines.fluid.linearised.resting import Resting
from pi2_fluid.engines.fluid.linearised.tangents import (
    QueueTangent,
    Tangent,
    queue_tangent_of,
    tangent_of,
)
from pi2_fluid.engines.fluid.oracle.state import Mode
from pi2_fluid.errors import UnsupportedError

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray


class Stage:
    """One stage: where it rests, and its equations. All of it is empty if nobody listens.

    Parameters
    ----------
    of : LaidOut
        What it is a stage of.
    mode : Mode
        Who sends.
    """

    def __init__(self, of: LaidOut, mode: Mode) -> None:
        self.of, self.mode = of, mode
        classes, links = len(of.senders), len(of.nodes)
        self.is_silent = True
        #: Of each queue: whether its link is full at rest, and packets wait in this one;
        self.waits = [False] * of.queues
        #: its delay at rest (s), and packets per second that it is served while it waits.
        self.tau = [0.0] * of.queues
        self.served = [mode.capacity[link] for link in of.layout.link_of]
        self.laws: list[QueueTangent | None] = [None] * links
        self.classes: list[Tangent | None] = [None] * classes
        #: Of each class: the probability of a signal by each link of its route, and
        self.met: list[tuple[float, ...]] = [()] * classes
        #: by how much a signal of each counts to it.
        self.counts: list[tuple[float, ...]] = [()] * classes
        #: Packets per second of each stream.
        self.rates = [0.0] * len(of.layout.streams)
        self._written: dict[tuple[bool, ...], Equations] = {}

    def lag(self, reader: int) -> float:
        """Return how long ago a reader reads."""
        time, queues = self.of.layout.lags[reader]
        return time + sum(self.tau[queue] for queue in queues)

    def round_trip(self, i: int) -> float:
        """Return how long ago class `i` sent what it hears of now."""
        return self.lag(self.of.layout.paths[i].round_trip)

    def equations(self, hears: tuple[bool, ...]) -> Equations:
        """Return the equations, given which classes hear by now what was signalled."""
        if hears not in self._written:
            self._written[hears] = self._write(hears)
        return self._written[hears]

    @cached_property
    def rest(self) -> FloatArray:
        """Where the states rest, 0 of those that do not."""
        of, z = self.of, np.zeros(self.of.places.states)
        z[: of.queues] = [t * s for t, s in zip(self.tau, self.served, strict=True)]
        for law, where in zip(self.laws, of.places.laws, strict=True):
            if law is not None:
                z[where] = law.state
        for mine, where in zip(self.classes, of.places.windows, strict=True):
            if mine is not None:
                z[where] = mine.x
        return z

    def _write(self, hears: tuple[bool, ...]) -> Equations:
        of, places = self.of, self.of.places
        to = Writer(places.states, places.size - places.states)
        for queue in range(of.queues):
            self._write_queue(to, queue)
        for link, law in enumerate(self.laws):
            if law is not None:
                self._write_law(to, link, law)
        for i, mine in enumerate(self.classes):
            if mine is not None:
                self._write_sent(to, i, mine)
                if of.listens[i]:
                    self._write_window(to, i, mine, hears=hears[i])
        for s in range(len(of.layout.streams)):
            self._write_stream(to, s)
        return Equations(to, of.sizes(self.mode, self.rest))

    def _write_queue(self, to: Writer, queue: int) -> None:
        """Write the delay of a queue, and how it grows."""
        of, places = self.of, self.of.places
        link, delay = of.layout.link_of[queue], places.delays + queue
        C, single = self.mode.capacity[link], len(of.layout.queues_of[link]) == 1
        beside = [places.arrived + s for s in of.carried(queue)]
        if single:
            to.add(delay, queue, 1.0 / C)
        elif self.waits[queue]:
            served, rest = self.served[queue], self.tau[queue]
            to.add(delay, queue, 1.0 / served)
            to.constant[delay] -= rest * (C - served) / served
            for column in beside:
                to.add(delay, column, rest / served)
        if self.waits[queue]:
            to.constant[queue] -= C
            for column in [*beside, *(places.arrived + s for s in of.layout.arriving[queue])]:
                to.add(queue, column, 1.0)

    def _write_law(self, to: Writer, link: int, law: QueueTangent) -> None:
        """Write what a law shows, and how its state moves between ticks."""
        of, places = self.of, self.of.places
        first = places.laws[link].start
        rows = (places.classic + link, places.scalable + link)
        for row, shown, steep in zip(rows, law.signals, law.encode, strict=True):
            to.constant[row] += float(shown)
            for j, (by, rest) in enumerate(zip(law.controller, law.state, strict=True)):
                to.add(row, first + j, steep * by)
                to.constant[row] -= steep * by * rest
        if not (of.flowing[link] or of.aqms[link].update_interval is None):
            return
        C, queue = self.mode.capacity[link], of.layout.queues_of[link][0]
        for j, (by_state, by_delay, trend) in enumerate(zip(*law.update, law.trend, strict=True)):
            row = first + j
            for k, (by, rest) in enumerate(zip(by_state, law.state, strict=True)):
                to.add(row, first + k, by)
                to.constant[row] -= by * rest
            to.add(row, queue, by_delay / C)
            to.constant[row] -= by_delay * law.delay
            to.at_once[row] += trend / C * to.at_once[queue]
            to.constant[row] += trend / C * to.constant[queue]

    def _write_sent(self, to: Writer, i: int, mine: Tangent) -> None:
        """Write what a class sends."""
        places, count = self.of.places, self.mode.counts[i]
        row, (by_x, by_rtt) = places.would + i, mine.sending
        to.constant[row] += count * mine.sends
        for j, (by, rest) in enumerate(zip(by_x, mine.x, strict=True)):
            to.add(row, places.windows[i].start + j, count * by)
            to.constant[row] -= count * by * rest
        self._add_rtt(to, row, i, count * by_rtt, mine.rtt)
        # Of those that are still starting it is added as they do.
        if not self.mode.ramping[i]:
            to.add(places.sent + i, row, 1.0)

    def _add_rtt(
        self, to: Writer, row: int, i: int, factor: float, rest: float, delay: float = 0.0
    ) -> None:
        """Add by how much a round-trip time is longer than at rest, times a factor."""
        to.constant[row] += factor * (self.of.base_rtt[i] - rest)
        for queue in self.of.layout.paths[i].queues:
            to.add(row, self.of.places.delays + queue, factor, delay)

    def _write_window(self, to: Writer, i: int, mine: Tangent, *, hears: bool) -> None:
        """Write how the window of a class moves."""
        of, places, path = self.of, self.of.places, self.of.layout.paths[i]
        first, ago, kind = places.windows[i].start, self.round_trip(i), of.senders[i].signal
        signals = places.scalable if kind == "scalable" else places.classic
        for j, (by_x, by_then, by_p, by_rtt, by_rtt_then) in enumerate(
            zip(*mine.slopes, strict=True)
        ):
            row = first + j
            for k, rest in enumerate(mine.x):
                to.add(row, first + k, by_x[k])
                to.add(row, first + k, by_then[k], ago)
                to.constant[row] -= (by_x[k] + by_then[k]) * rest
            self._add_rtt(to, row, i, by_rtt, mine.rtt)
            self._add_rtt(to, row, i, by_rtt_then, mine.rtt, ago)
            if not hears:
                to.constant[row] -= by_p * mine.p
                continue
            for link, reader, met, counts in zip(
                path.links, path.heard, self.met[i], self.counts[i], strict=True
            ):
                if counts != 0.0:
                    to.add(row, signals + link, by_p * counts, self.lag(reader))
                    to.constant[row] -= by_p * counts * met

    def _write_stream(self, to: Writer, s: int) -> None:
        """Write what arrives of a stream, and what leaves."""
        of, places, stream = self.of, self.of.places, self.of.layout.streams[s]
        law, row, out = self.laws[stream.link], places.arrived + s, places.left + s
        source = places.sent + stream.owner if stream.before < 0 else places.left + stream.before
        kept = 1.0
        if s in of.thinning and law is not None:
            kept = 1.0 - float(law.signals.classic)
            lost = self.rates[s] / kept * law.encode[0]
            first = places.laws[stream.link].start
            for j, (by, rest) in enumerate(zip(law.controller, law.state, strict=True)):
                to.add(row, first + j, -lost * by)
                to.constant[row] += lost * by * rest
        to.add(row, source, kept, stream.lag if stream.reader >= 0 else 0.0)
        queue = stream.queue
        if not self.waits[queue]:
            to.add(out, row, 1.0)
            return
        ago, part = self.tau[queue], self.rates[s] / self.served[queue]
        to.add(out, row, 1.0, ago)
        to.constant[out] += part * self.mode.capacity[stream.link]
        for other in of.layout.arriving[queue]:
            to.add(out, places.arrived + other, -part, ago)
        for other in of.carried(queue):
            to.add(out, places.arrived + other, -part)


def expand(of: LaidOut, mode: Mode, acting: Sequence[int], rest: Resting) -> Stage:
    """Return the stage of classes that act, given where they rest."""
    found = Stage(of, mode)
    found.is_silent = False
    for place, i in enumerate(acting):
        sender, path = of.senders[i], of.layout.paths[i]
        x, p, rtt = rest.states[place], rest.p[place], rest.rtt[place]
        found.classes[i] = tangent_of(sender, x, p, rtt, float(sender.sending_rate(x, rtt)))
        found.met[i], found.counts[i] = _met_at_rest(of, rest, i)
        for s, link in zip(path.streams, path.links, strict=True):
            found.rates[s] = rest.share[link][place] * mode.capacity[link]
    for link, queues in enumerate(of.layout.queues_of):
        mine = rest.delays[link][: len(queues)]
        waiting = queues[mine.index(max(mine))]
        for queue, delay in zip(queues, mine, strict=True):
            found.waits[queue] = rest.full[link] and queue == waiting
            found.tau[queue] = delay
            beside = sum(found.rates[s] for s in of.carried(queue))
            found.served[queue] = mode.capacity[link] - beside
        found.laws[link] = _law_at(of, link, rest, mode)
    return found


def _met_at_rest(of: LaidOut, rest: Resting, i: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    links, kind = of.layout.paths[i].links, of.senders[i].signal
    if kind is None:
        return (0.0,) * len(links), (0.0,) * len(links)
    met = tuple(float(getattr(rest.signals[link], kind)) for link in links)
    if of.network.combine == "sum":
        return met, (1.0,) * len(links)
    left = [math.prod(1.0 - p for m, p in enumerate(met) if m != k) for k in range(len(met))]
    return met, tuple(left)


def _law_at(of: LaidOut, link: int, rest: Resting, mode: Mode) -> QueueTangent | None:
    u, aqm = rest.controller[link], of.aqms[link]
    if u <= 0.0:
        if any(rest.signals[link]):
            raise UnsupportedError(
                f"{type(aqm).__name__} at node {of.nodes[link].name!r} marks L4S traffic by"
                " itself, without its controller, which linear=True does not describe: use"
                " linear=False, or ask Loop for the linear answer."
            )
        return None
    return queue_tangent_of(
        aqm,
        u,
        max(rest.delays[link]),
        mode.capacity[link],
        continuous=of.flowing[link],
        l4s=rest.waits_in_l4s(link),
    )
