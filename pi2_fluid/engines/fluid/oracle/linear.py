"""The linearised plant of one link or several: every law is its tangent where they rest.

Around each stage of the schedule (capacities, and who sends) the window laws, the encoders, the
controllers and the queues are replaced by their first-order expansions, delays by their values at
rest, and the bounds are taken away. Deviations may be of any size: this is what margins describe,
for an overlay on what really happens.

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
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.oracle.moment import Moment
from pi2_fluid.engines.fluid.oracle.passing import Entered, Outflow
from pi2_fluid.engines.fluid.oracle.past import Past
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.oracle.resting import Resting, rest_of
from pi2_fluid.engines.fluid.oracle.state import EMPTY, Basin, Heard, Mode, View
from pi2_fluid.engines.fluid.oracle.tangents import (
    QueueTangent,
    Tangent,
    dot,
    minus,
    queue_tangent_of,
    tangent_of,
)
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Signal
from pi2_fluid.laws.seen import Seen
from pi2_fluid.network.scenario import Scenario

OPEN: Final = 2  # the bound of a queue that has none
_SILENT: Final = Signal(0.0, 0.0)


class _Stage(NamedTuple):
    """One stage of the schedule, linearised."""

    waits: tuple[bool, ...]
    """Of each queue: whether its link is full at rest, and packets wait in this one."""
    tau: tuple[float, ...]
    """Of each queue: its delay at rest (s)."""
    served: tuple[float, ...]
    """Of each queue: packets per second that it is served at rest while it waits."""
    laws: tuple[QueueTangent | None, ...]
    classes: tuple[Tangent | None, ...]
    met: tuple[tuple[float, ...], ...]
    """Of each class: the probability of a signal by each link of its route, and"""
    counts: tuple[tuple[float, ...], ...]
    """by how much a signal of each counts to it."""
    rates: tuple[float, ...]
    """Packets per second of each stream."""


class LinearPlant(Plant):
    """A plant of several links whose laws are their tangents."""

    floors = False
    at_rest = True

    def __init__(self, scenario: Scenario, update: str, beginning: Beginning | None = None) -> None:
        super().__init__(scenario, update, beginning)
        self.basins = tuple(Basin(basin.queues, math.inf) for basin in self.basins)
        self.compared = (None,) * len(self.compared)
        self._queues = (None,) * len(self.nodes)
        #: Delays are those at rest, however links are shared.
        self.dual = False
        self._stages: dict[Any, _Stage | None] = {}

    def initial(self) -> tuple[list[float], Mode]:
        """Return the state before time 0; no bounds, no slow start."""
        y, mode = super().initial()
        mode = mode._replace(slow=(False,) * len(self.flows))
        return y, mode._replace(bound=self._bounds(mode))

    def attach(self, past: Past) -> None:
        """Say where the past is read; what waits has entered the delay of rest ago."""
        super().attach(past)
        y = past.history.segments[0].y0
        for queue, place in self.entered.items():
            y[place] = -self._rest(queue, self._before)

    def stage(self, mode: Mode) -> _Stage | None:
        """Return the expansion for who sends now; None if nobody listens to signals."""
        key = (mode.capacity, mode.counts, mode.active)
        if key not in self._stages:
            self._stages[key] = self._expand(mode)
        return self._stages[key]

    def _expand(self, mode: Mode) -> _Stage | None:
        acting = [i for i, active in enumerate(mode.active) if active and mode.counts[i] > 0.0]
        if not any(self.listens[i] for i in acting):
            return None
        bits = 8.0 * float(self.network.packet_size)
        nodes = tuple(
            replace(node, link=replace(node.link, capacity=bits * C))
            for node, C in zip(self.nodes, mode.capacity, strict=True)
        )
        flows = tuple(replace(self.network.flows[i], count=mode.counts[i]) for i in acting)
        point = rest_of(replace(self.network, nodes=nodes, flows=flows))
        return self._stage_at(point, acting, mode)

    def _stage_at(self, point: Resting, acting: Sequence[int], mode: Mode) -> _Stage:
        classes: list[Tangent | None] = [None] * len(self.senders)
        met: list[tuple[float, ...]] = [()] * len(self.senders)
        counts: list[tuple[float, ...]] = [()] * len(self.senders)
        rates = [0.0] * len(self.streams)
        for place, i in enumerate(acting):
            sender, path = self.senders[i], self.paths[i]
            x, p, rtt = point.states[place], point.p[place], point.rtt[place]
            sends = float(sender.sending_rate(x, rtt))
            classes[i] = tangent_of(sender, x, p, rtt, sends)
            met[i], counts[i] = self._met_at_rest(point, i)
            for s, link in zip(path.streams, path.links, strict=True):
                rates[s] = point.share[link][place] * mode.capacity[link]
        waits, tau, served = self._queues_at(point, rates, mode)
        return _Stage(
            waits=waits,
            tau=tau,
            served=served,
            laws=tuple(self._law_at(link, point, mode) for link in range(len(self.nodes))),
            classes=tuple(classes),
            met=tuple(met),
            counts=tuple(counts),
            rates=tuple(rates),
        )

    def _queues_at(
        self, point: Resting, rates: Sequence[float], mode: Mode
    ) -> tuple[tuple[bool, ...], tuple[float, ...], tuple[float, ...]]:
        """Return of each queue whether it waits, how long, and what it is served."""
        waits, tau, served = list[bool](), list[float](), list[float]()
        for link, queues in enumerate(self.layout.queues_of):
            full, mine = point.full[link], point.delays[link][: len(queues)]
            waiting = queues[mine.index(max(mine))]
            for queue, delay in zip(queues, mine, strict=True):
                beside = [
                    s for other in queues if other != queue for s in self.layout.arriving[other]
                ]
                waits.append(full and queue == waiting)
                tau.append(delay)
                served.append(mode.capacity[link] - sum(rates[s] for s in beside))
        return tuple(waits), tuple(tau), tuple(served)

    def _met_at_rest(self, point: Resting, i: int) -> tuple[tuple[float, ...], ...]:
        links, kind = self.paths[i].links, self.senders[i].signal
        if kind is None:
            return (0.0,) * len(links), (0.0,) * len(links)
        met = tuple(float(getattr(point.signals[link], kind)) for link in links)
        if self.network.combine == "sum":
            return met, (1.0,) * len(links)
        left = [math.prod(1.0 - p for m, p in enumerate(met) if m != k) for k in range(len(met))]
        return met, tuple(left)

    def _law_at(self, link: int, point: Resting, mode: Mode) -> QueueTangent | None:
        u, C, (aqm, _) = point.controller[link], mode.capacity[link], self.laws[link]
        if u <= 0.0:
            if any(point.signals[link]):
                raise UnsupportedError(
                    f"{type(aqm).__name__} at node {self.nodes[link].name!r} marks L4S traffic by"
                    " itself, without its controller, which linear=True does not describe: use"
                    " linear=False, or ask Loop for the linear answer."
                )
            return None
        delay, l4s = max(point.delays[link]), point.waits_in_l4s(link)
        return queue_tangent_of(aqm, u, delay, C, continuous=self._flowing[link], l4s=l4s)

    def _rest(self, queue: int, mode: Mode) -> float:
        """Return the delay of a queue at rest (s)."""
        stage = self.stage(mode)
        return 0.0 if stage is None else stage.tau[queue]

    def _waiting(self, link: int, mode: Mode) -> int:
        """Return the queue of a link that waits, or its first."""
        stage, queues = self.stage(mode), self.layout.queues_of[link]
        return next((q for q in queues if stage is not None and stage.waits[q]), queues[0])

    def _bounds(self, mode: Mode) -> tuple[int, ...]:
        stage = self.stage(mode)
        waits = (False,) * self.bands if stage is None else stage.waits
        return tuple(OPEN if each else EMPTY for each in waits)

    # The same questions as a plant's, answered to first order

    def _observe(self, t: float, y: Sequence[float], mode: Mode) -> View:
        view, stage = super()._observe(t, y, mode), self.stage(mode)
        classes = (None,) * len(self.senders) if stage is None else stage.classes
        rtt = tuple(
            base if mine is None else mine.rtt
            for base, mine in zip(self.base_rtt, classes, strict=True)
        )
        net = tuple(
            0.0 if bound == EMPTY else n for n, bound in zip(view.net, mode.bound, strict=True)
        )
        return view._replace(rtt=rtt, net=net)

    def _waits(self, at: Moment) -> list[float]:
        """Return the delay of each queue to first order in its backlog and in what it is served."""
        tau = [self._delay(queue, at) for queue in range(self.bands)]
        for queue, served in enumerate(at.served):
            if math.isnan(served):  # where nothing waits
                mine = self.layout.arriving[queue]
                at.served[queue] = sum(self._arrived(s, at) for s in mine)
        return tau

    def _rtt_at(self, i: int, at: Moment) -> float:
        """Return the round-trip time of class `i`, of which nothing is asked but its own queues."""
        return self.base_rtt[i] + sum(self._delay(queue, at) for queue in self.paths[i].queues)

    def _delay(self, queue: int, at: Moment) -> float:
        """Return the delay of one queue, and find out what it is served while it waits.

        What others of a dual queue take from the link may have passed links before: routes run
        forward, so that this ends.
        """
        if not at.tau:
            at.tau, at.served = [math.nan] * self.bands, [math.nan] * self.bands
        if not math.isnan(at.tau[queue]):
            return at.tau[queue]
        link = self.layout.link_of[queue]
        C, numbers, stage = at.mode.capacity[link], self.layout.queues_of[link], self.stage(at.mode)
        if len(numbers) == 1:
            at.served[queue], at.tau[queue] = C, at.y[queue] / C
        elif stage is None or at.mode.bound[queue] == EMPTY:
            at.tau[queue] = 0.0
        else:
            beside = [s for other in numbers if other != queue for s in self.layout.arriving[other]]
            at.served[queue] = C - sum(self._arrived(s, at) for s in beside)
            rest, served = stage.tau[queue], stage.served[queue]
            more = at.served[queue] - served
            at.tau[queue] = (at.y[queue] - rest * more) / served
        return at.tau[queue]

    def _sent(self, i: int, at: Moment) -> float:
        t, y, mode = at.t, at.y, at.mode
        stage = self.stage(mode)
        mine = None if stage is None else stage.classes[i]
        if mine is None:
            return 0.0
        more = mine.more(y[self.windows[i]], self._rtt_at(i, at))
        return self.count(t, mode, i) * (mine.sends + more)

    def _let_in(self, s: int, rate: float, at: Moment) -> float:
        y, stage, link = at.y, self.stage(at.mode), self.streams[s].link
        law = None if stage is None else stage.laws[link]
        if stage is None or law is None:
            return rate
        kept = 1.0 - float(law.signals.classic)
        dropped = law.dropped(y[self.laws[link][1]])
        return kept * rate - stage.rates[s] / kept * dropped

    def _let_out(self, queue: int, entered: Entered, at: Moment) -> Outflow:
        (rates, _), stage = entered, self.stage(at.mode)
        assert stage is not None, "without anybody who listens no queue waits"
        self._delay(queue, at)
        over, served = sum(rates.values()) - at.served[queue], stage.served[queue]
        return 1.0, {s: rate - stage.rates[s] / served * over for s, rate in rates.items()}

    def _signalled(self, link: int, y: Sequence[float], seen: Seen, mode: Mode) -> Signal:
        del seen
        return self._signals(link, Moment(0.0, y, mode))

    def _signals(self, link: int, at: Moment) -> Signal:
        stage = self.stage(at.mode)
        law = None if stage is None else stage.laws[link]
        return _SILENT if law is None else law.shows(at.y[self.laws[link][1]])

    def _combined(self, i: int, chances: Sequence[float], mode: Mode) -> float:
        stage = self.stage(mode)
        mine = None if stage is None else stage.classes[i]
        if stage is None or mine is None:
            return 0.0
        return mine.p + dot(stage.counts[i], minus(chances, stage.met[i]))

    def lag(self, reader: int, tau: Sequence[float], mode: Mode) -> float:
        """Return how long ago a reader reads: the delays are those at rest."""
        del tau
        time, queues = self.layout.lags[reader]
        return time + sum(self._rest(queue, mode) for queue in queues)

    def derivative(
        self, y: Sequence[float], mode: Mode, view: View, past: Sequence[Heard | None]
    ) -> list[float]:
        """Return dy/dt to first order in all deviations from rest."""
        f, stage = [0.0] * self.size, self.stage(mode)
        for queue, growth in enumerate(view.net):
            f[queue] = growth
            f[self.arrived + queue] = view.served[queue] + growth
        for place in self.entered.values():
            f[place] = 1.0
        if stage is None:
            return f
        for i, (mine, heard) in enumerate(zip(stage.classes, past, strict=True)):
            if mine is not None and heard is not None:
                rtt = self.base_rtt[i] + sum(view.tau[queue] for queue in self.paths[i].queues)
                f[self.windows[i]] = mine.slope(y[self.windows[i]], rtt, heard)
        for link, (law, (aqm, where)) in enumerate(zip(stage.laws, self.laws, strict=True)):
            if law is not None and (self._flowing[link] or aqm.update_interval is None):
                C, queue = mode.capacity[link], self.first_queue[link]
                f[where] = law.flow(y[where], y[queue] / C, f[queue] / C)
        return f

    def tick(
        self, t: float, y: list[float], mode: Mode, links: Sequence[int] = (0,)
    ) -> list[float]:
        """Return the state after one update of the controllers of some links, to first order."""
        stage, tau, y = self.stage(mode), self.observe(t, y, mode).tau, list(y)
        for link in links:
            law = None if stage is None else stage.laws[link]
            if law is not None:
                where = self.laws[link][1]
                y[where] = law.updated(y[where], tau[self._waiting(link, mode)])
        return y

    def jump(self, t: float, y: list[float], before: Mode, after: Mode) -> list[float]:
        """Return the state after a capacity has jumped, and the queue delay with it."""
        stage, y = self.stage(after), list(y)
        for link, law in enumerate(stage.laws if stage is not None else ()):
            if law is not None and self._flowing[link]:
                where, queue = self.laws[link][1], self.first_queue[link]
                rise = y[queue] / after.capacity[link] - y[queue] / before.capacity[link]
                y[where] = law.jumped(y[where], rise)
        return y

    def hold_bounds(self, t: float, y: list[float], mode: Mode) -> tuple[list[float], Mode]:
        """Return the mode in which links that are full at rest have a queue, and no others."""
        bound, y, stage = self._bounds(mode), list(y), self.stage(mode)
        for queues, (aqm, where) in zip(self.layout.queues_of, self.laws, strict=True):
            empty = [queue for queue in queues if bound[queue] == EMPTY]
            if stage is not None:
                for queue in empty:
                    y[queue] = 0.0
                if len(empty) == len(queues):
                    y[where] = [float(value) for value in aqm.initial()]
        for queue, place in self.entered.items():
            y[place] = t - self._rest(queue, mode)
        return y, mode._replace(bound=bound, held=(0.0,) * len(mode.held))

    def clipped(self, state: Sequence[float]) -> Sequence[float]:
        """Return the states as they are."""
        return state

    def clips(self, y: Sequence[float], mode: Mode, view: View) -> tuple[float, ...]:
        """Return that nothing is clipped."""
        return (0.0,) * len(mode.held)

    def within_bounds(self, y: list[float]) -> list[float]:
        """Return the state as it is."""
        return y
