"""The linearised plant: every law replaced by its tangent at the operating point.

Around each stage of the schedule (a capacity, and who sends) the window laws, the encoder, the
controller and the queue are replaced by their first-order expansions, the delay by its value at
rest, and the bounds are taken away. Deviations may be of any size: this is what margins describe,
for an overlay on what really happens.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.plant import Plant
from pi2_fluid.engines.fluid.state import Basin, Mode, View
from pi2_fluid.engines.fluid.tangents import QueueTangent, Tangent, queue_tangent_of, tangent_of
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Signal
from pi2_fluid.laws.seen import Seen
from pi2_fluid.network.equilibrium import equilibrium
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.scenario import Scenario

OPEN: Final = 2  # the bound of a queue that has none


class _Stage(NamedTuple):
    """One stage of the schedule, linearised."""

    law: QueueTangent
    classes: tuple[Tangent | None, ...]


class LinearPlant(Plant):
    """A plant whose laws are their tangents."""

    floors = False

    def __init__(self, scenario: Scenario, update: str, beginning: Beginning | None = None) -> None:
        super().__init__(scenario, update, beginning)
        assert self.bands == 1, "of two queues it is that of routes"
        self.basins = (Basin(slice(0, 1), math.inf),)
        self.compared = (None,) * len(self.compared)
        self._stages: dict[Any, _Stage | None] = {}

    def initial(self) -> tuple[list[float], Mode]:
        """Return the state before time 0; no bounds, no slow start."""
        y, mode = super().initial()
        return y, mode._replace(bound=(OPEN,), slow=(False,) * len(self.flows))

    def stage(self, mode: Mode) -> _Stage | None:
        """Return the expansion for who sends now; None if nobody listens to signals."""
        key = (mode.capacity[0], mode.counts, mode.active)
        if key not in self._stages:
            self._stages[key] = self._expand(mode)
        return self._stages[key]

    def _expand(self, mode: Mode) -> _Stage | None:
        acting = [i for i, active in enumerate(mode.active) if active and mode.counts[i] > 0.0]
        if not any(self.listens[i] for i in acting):
            return None
        if not any(self.senders[i].signal for i in acting):
            raise UnsupportedError(
                "linear=True is of queues whose signals are heard, and none of these flows hears"
                " any: use linear=False, or ask Loop for the linear answer."
            )
        size = self.scenario.link.packet_size
        flows = [Flows(self.senders[i], mode.counts[i], self.base_rtt[i]) for i in acting]
        point = equilibrium(flows, self.aqm, 8.0 * size * mode.capacity[0], size)
        classes: list[Tangent | None] = [None] * len(self.senders)
        for place, i in enumerate(acting):
            x, p, rtt = point.states[place], point.p[place], point.rtt[place]
            classes[i] = tangent_of(self.senders[i], x, p, rtt, point.rate[place])
        (C,), u, delay = mode.capacity, point.controller, point.queue_delay
        law = queue_tangent_of(self.aqm, u, delay, C, continuous=self.continuous)
        return _Stage(law, tuple(classes))

    # The same questions as a plant's, answered to first order

    def observe(self, t: float, y: Sequence[float], mode: Mode) -> View:
        """Return delays, rates and signals at one instant; `rtt` is that at rest."""
        (C,) = mode.capacity
        tau, stage = y[0] / C, self.stage(mode)
        if stage is None:
            rates = (0.0,) * len(self.senders)
            seen = Seen(tau, y[0], 0.0, C)
            return View((tau,), self.base_rtt, rates, (0.0,), (0.0,), (seen,), (Signal(0.0, 0.0),))
        signals = stage.law.shows(y[self.state])
        dropped = stage.law.dropped(y[self.state])
        found = [
            0.0 if mine is None else self.count(t, mode, i) * self._sends(i, mine, y, tau, dropped)
            for i, mine in enumerate(stage.classes)
        ]
        rtt = tuple(
            base if mine is None else mine.rtt
            for base, mine in zip(self.base_rtt, stage.classes, strict=True)
        )
        total = sum(found)
        seen = Seen(tau, y[0], total, C)
        return View((tau,), rtt, tuple(found), (total - C,), (C,), (seen,), (signals,))

    def _sends(
        self, i: int, mine: Tangent, y: Sequence[float], tau: float, dropped: float
    ) -> float:
        """Return what a flow brings to the queue; `dropped` is by how much p is above rest."""
        more = mine.more(y[self.windows[i]], self.base_rtt[i] + tau)
        if not self.thinned[i]:
            return mine.sends + more
        kept = 1.0 - mine.p
        return mine.sends + kept * more - mine.sends / kept * dropped

    def heard(self, t: float, y: Sequence[float], mode: Mode, i: int) -> tuple[Any, float, float]:
        """Return state, signal probability and (varying) round-trip time at an earlier instant."""
        view = self.observe(t, y, mode)
        heard = mode.signalling and mode.active[i]
        p = self.signal(view.signals[0], i) if heard else 0.0
        return tuple(y[self.windows[i]]), p, self.base_rtt[i] + view.tau[0]

    def derivative(
        self, y: Sequence[float], mode: Mode, view: View, past: Sequence[Any]
    ) -> list[float]:
        """Return dy/dt to first order in all deviations from rest."""
        f, stage = [0.0] * self.size, self.stage(mode)
        f[0] = view.net[0]
        f[self.arrived] = view.served[0] + f[0]
        if stage is None:
            return f
        for i, mine in enumerate(stage.classes):
            if mine is not None and self.listens[i]:
                rtt = self.base_rtt[i] + view.tau[0]
                f[self.windows[i]] = mine.slope(y[self.windows[i]], rtt, past[i])
        if self.continuous or self.aqm.update_interval is None:
            growth = f[0] / mode.capacity[0]
            f[self.state] = stage.law.flow(y[self.state], view.tau[0], growth)
        return f

    def tick(
        self, t: float, y: list[float], mode: Mode, links: Sequence[int] = (0,)
    ) -> list[float]:
        """Return the state after one update, to first order."""
        stage = self.stage(mode)
        if stage is None:
            return y
        y = list(y)
        y[self.state] = stage.law.updated(y[self.state], y[0] / mode.capacity[0])
        return y

    def jump(self, t: float, y: list[float], before: Mode, after: Mode) -> list[float]:
        """Return the state after the capacity has jumped, and the queue delay with it."""
        stage = self.stage(after)
        if not self.continuous or stage is None:
            return y
        jump = y[0] / after.capacity[0] - y[0] / before.capacity[0]
        y = list(y)
        y[self.state] = stage.law.jumped(y[self.state], jump)
        return y

    def hold_bounds(self, t: float, y: list[float], mode: Mode) -> tuple[list[float], Mode]:
        """Return state and mode as they are: nothing is bounded."""
        return y, mode._replace(bound=(OPEN,), held=(0.0,) * len(mode.held))

    def clipped(self, state: Sequence[float]) -> Sequence[float]:
        """Return the state as it is."""
        return state

    def clips(self, y: Sequence[float], mode: Mode, view: View) -> tuple[float, ...]:
        """Return that nothing is clipped."""
        return (0.0,) * len(mode.held)

    def within_bounds(self, y: list[float]) -> list[float]:
        """Return the state as it is."""
        return y

    def speed(
        self, i: int, t: float, y: Sequence[float], f: Sequence[float], view: View, mode: Mode
    ) -> float:
        """Return 1: the delay is constant."""
        return 1.0
