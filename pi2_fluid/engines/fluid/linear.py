"""The linearised plant: every law replaced by its tangent at the operating point.

Around each stage of the schedule (a capacity, and who sends) the window laws, the encoder, the
controller and the queue are replaced by their first-order expansions, the delay by its value at
rest, and the bounds are taken away. Deviations may be of any size: this is what margins describe,
for an overlay on what really happens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.beginning import Beginning
from pi2_fluid.engines.fluid.plant import Basin, Mode, Plant, State, View
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm, Seen, Signal
from pi2_fluid.laws.derivatives import differentiate
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.equilibrium import OperatingPoint, equilibrium
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.values import FloatArray, Number

__all__ = [
    "OPEN",
    "LinearPlant",
    "Tangent",
    "controller_slopes",
    "dot",
    "encoder_slopes",
    "minus",
    "tangent_of",
    "trend_of",
]

OPEN: Final = 2  # the bound of a queue that has none


class Tangent(NamedTuple):
    """One class: where it rests, and its slopes there."""

    x: Any
    p: float
    rtt: float
    sends: float
    """Segments per second at rest."""
    slopes: tuple[Any, ...]
    """d(rate)/d(x, x delayed, p delayed, rtt, rtt delayed)."""
    sending: tuple[Any, float]
    """d(sending rate)/d(x, rtt)."""


class _Stage(NamedTuple):
    """One stage of the schedule, linearised."""

    point: OperatingPoint
    state: tuple[float, ...]
    classes: tuple[Tangent | None, ...]
    update: tuple[Any, Any]
    """d(new state)/d(state, queue delay) of an update, or of the continuous flow per second."""
    trend: Any
    """d(state)/dt per unit of d(queue delay)/dt, in continuous time."""
    controller: Any
    """d(controller's variable)/d(state)."""
    signals: Signal
    encode: tuple[float, ...]
    """What packets see at rest, and its slopes over the controller's variable."""


class LinearPlant(Plant):
    """A plant whose laws are their tangents."""

    floors = False

    def __init__(self, scenario: Scenario, update: str, beginning: Beginning | None = None) -> None:
        super().__init__(scenario, update, beginning)
        if self.bands == 2:
            raise UnsupportedError(
                f"{type(self.aqm).__name__} has two queues, which linear=True does not describe:"
                " simulate it with linear=False."
            )
        self.basins = (Basin(slice(0, 1), math.inf),)
        self._switching = False
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
        size = self.scenario.link.packet_size
        flows = [Flows(self.senders[i], mode.counts[i], self.base_rtt[i]) for i in acting]
        point = equilibrium(flows, self.aqm, 8.0 * size * mode.capacity[0], size)
        rest, delay = self.aqm.at_rest(point.controller, mode.capacity[0])
        state = tuple(float(value) for value in rest)
        classes: list[Tangent | None] = [None] * len(self.senders)
        for place, i in enumerate(acting):
            x, p, rtt = point.states[place], point.p[place], point.rtt[place]
            classes[i] = tangent_of(self.senders[i], x, p, rtt, point.rate[place])
        picked, encode = encoder_slopes(self.aqm, state, point.controller)
        (C,) = mode.capacity
        return _Stage(
            point,
            state,
            tuple(classes),
            controller_slopes(self.aqm, state, float(delay), C, continuous=self.continuous),
            trend_of(self.aqm, state, float(delay), C, continuous=self.continuous),
            picked,
            self.aqm.encode(point.controller),
            encode,
        )

    # The same questions as a plant's, answered to first order

    def observe(self, t: float, y: Sequence[float], mode: Mode) -> View:
        """Return delays, rates and signals at one instant; `rtt` is that at rest."""
        (C,) = mode.capacity
        tau, stage = y[0] / C, self.stage(mode)
        state = tuple(y[self.state])
        if stage is None:
            rates = (0.0,) * len(self.senders)
            seen = Seen(tau, y[0], 0.0, C)
            return View((tau,), self.base_rtt, rates, (0.0,), (0.0,), (seen,), (Signal(0.0, 0.0),))
        u = dot(stage.controller, minus(state, stage.state))
        dropped = stage.encode[0] * u
        found = [
            0.0 if mine is None else self.count(t, mode, i) * self._sends(i, mine, y, tau, dropped)
            for i, mine in enumerate(stage.classes)
        ]
        signals = Signal(*(p + k * u for p, k in zip(stage.signals, stage.encode, strict=True)))
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
        by_x, by_rtt = mine.sending
        away = minus(y[self.windows[i]], mine.x)
        more = dot(by_x, away) + by_rtt * (self.base_rtt[i] + tau - mine.rtt)
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
            if mine is None or not self.listens[i]:
                continue
            x_then, p_then, rtt_then = past[i]
            by_x, by_then, *others = mine.slopes
            now = minus(y[self.windows[i]], mine.x)
            then = minus(x_then, mine.x)
            rest = (
                p_then - mine.p,
                self.base_rtt[i] + view.tau[0] - mine.rtt,
                rtt_then - mine.rtt,
            )
            f[self.windows[i]] = [
                dot(a, now) + dot(b, then) + dot(c, rest)
                for a, b, c in zip(by_x, by_then, zip(*others, strict=True), strict=True)
            ]
        if self.continuous or self.aqm.update_interval is None:
            move = self._move(y, stage, view.tau[0])
            growth = f[0] / mode.capacity[0]
            f[self.state] = [a + b * growth for a, b in zip(move, stage.trend, strict=True)]
        return f

    def _move(self, y: Sequence[float], stage: _Stage, tau: float) -> list[float]:
        by_state, by_delay = stage.update
        away, late = minus(y[self.state], stage.state), tau - stage.point.queue_delay
        return [dot(a, away) + b * late for a, b in zip(by_state, by_delay, strict=True)]

    def tick(
        self, t: float, y: list[float], mode: Mode, links: Sequence[int] = (0,)
    ) -> list[float]:
        """Return the state after one update, to first order."""
        stage = self.stage(mode)
        if stage is None:
            return y
        moved = self._move(y, stage, y[0] / mode.capacity[0])
        y = list(y)
        y[self.state] = [a + b for a, b in zip(stage.state, moved, strict=True)]
        return y

    def jump(self, t: float, y: list[float], before: Mode, after: Mode) -> list[float]:
        """Return the state after the capacity has jumped, and the queue delay with it."""
        stage = self.stage(after)
        if not self.continuous or stage is None:
            return y
        jump = y[0] / after.capacity[0] - y[0] / before.capacity[0]
        y = list(y)
        y[self.state] = [a + b * jump for a, b in zip(y[self.state], stage.trend, strict=True)]
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


def tangent_of(sender: Sender, x: State, p: float, rtt: float, sends: float) -> Tangent:
    """Return the tangent of a class that rests at `x`, and sends so much there."""
    values = x if isinstance(x, tuple) else (x,)
    n = len(values)

    def rate(*args: Number) -> tuple[Number, ...]:
        now, then, rest = args[:n], args[n : 2 * n], args[2 * n :]
        if n == 1:
            return (sender.rate(now[0], then[0], *rest),)
        return tuple(sender.rate(now, then, *rest))

    def sending(*args: Number) -> Number:
        return sender.sending_rate(args[0] if n == 1 else args[:n], args[n])

    args = (*values, *values, p, rtt, rtt)
    slopes = _numbers(differentiate(sender, "rate", rate, args)).T
    out = _numbers(differentiate(sender, "sending_rate", sending, (*values, rtt)))
    return Tangent(
        values,
        p,
        rtt,
        sends,
        (
            slopes[:, :n].tolist(),
            slopes[:, n : 2 * n].tolist(),
            *slopes[:, 2 * n :].T.tolist(),
        ),
        (out[:n].tolist(), float(out[n])),
    )


def encoder_slopes(
    aqm: Aqm, state: tuple[float, ...], controller: float
) -> tuple[list[float], tuple[float, ...]]:
    """Return d(controller's variable)/d(state), and the slopes of what packets see over it."""
    picked = differentiate(aqm, "controller", lambda *s: aqm.controller(s), state)
    (encode,) = differentiate(aqm, "encode", lambda u: tuple(aqm.encode(u)), (controller,))
    return _numbers(picked).tolist(), tuple(_numbers(encode).tolist())


def controller_slopes(
    aqm: Aqm, state: tuple[float, ...], delay: float, C: float, *, continuous: bool
) -> tuple[list[list[float]], list[float]]:
    """Return d(new state)/d(state, queue delay) of an update, or of the flow per second."""
    n = len(state)
    move: Callable[..., tuple[Any, ...]]
    if aqm.update_interval is None:
        name, move = "drift", aqm.drift
    elif continuous:
        name, move = "flow", partial(aqm.flow, d_queue_delay=0.0)
    else:
        name, move = "update", partial(aqm.update, dt=aqm.update_interval)

    def moved(*args: Number) -> tuple[Number, ...]:
        return tuple(move(args[:n], Seen(args[n], args[n] * C, C, C)))

    slopes = _numbers(differentiate(aqm, name, moved, (*state, delay))).T
    return slopes[:, :n].tolist(), slopes[:, n].tolist()


def trend_of(
    aqm: Aqm, state: tuple[float, ...], delay: float, C: float, *, continuous: bool
) -> list[float]:
    """Return d(state)/dt per unit of d(queue delay)/dt, in continuous time."""
    if not continuous:
        return [0.0] * len(state)
    seen = Seen(delay, delay * C, C, C)
    moved, still = (aqm.flow(state, seen, d) for d in (1.0, 0.0))
    return [float(m - s) for m, s in zip(moved, still, strict=True)]


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the sum of the products."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def minus(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Return the differences."""
    return [x - y for x, y in zip(a, b, strict=True)]


def _numbers(slopes: Sequence[ArrayLike] | Sequence[Sequence[ArrayLike]]) -> FloatArray:
    return np.array(slopes, dtype=float)
