"""Tangents: what senders and queues do to first order, around where they rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.oracle.state import State
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.derivatives import differentiate
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.sender import Sender

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.values import FloatArray, Number


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


class QueueTangent(NamedTuple):
    """The law of a queue: where it rests, and its slopes there."""

    state: tuple[float, ...]
    delay: float
    update: tuple[Any, Any]
    """d(new state)/d(state, queue delay) of an update, or of the continuous flow per second."""
    trend: list[float]
    """d(state)/dt per unit of d(queue delay)/dt, in continuous time."""
    controller: list[float]
    """d(controller's variable)/d(state)."""
    signals: Signal
    encode: tuple[float, ...]
    """What packets see at rest, and its slopes over the controller's variable."""

    def updated(self, state: Sequence[float], delay: float) -> list[float]:
        """Return the state after one update."""
        by_state, by_delay = self.update
        away = [x - rest for x, rest in zip(state, self.state, strict=True)]
        late = delay - self.delay
        return [
            rest + (sum(x * y for x, y in zip(a, away, strict=True)) + b * late)
            for rest, a, b in zip(self.state, by_state, by_delay, strict=True)
        ]

    def jumped(self, state: Sequence[float], by: float) -> list[float]:
        """Return the state after the delay has jumped."""
        return [a + b * by for a, b in zip(state, self.trend, strict=True)]


def tangent_of(sender: Sender, x: State, p: float, rtt: float, sends: float) -> Tangent:
    """Return the tangent of a class that rests at `x`, and sends so much there."""
    values = x if isinstance(x, tuple) else (x,)
    n = len(values)

    slopes = _numbers(differentiate(sender, "rate", (*values, *values, p, rtt, rtt))).T
    out = _numbers(differentiate(sender, "sending_rate", (*values, rtt)))[:, 0]
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


def queue_tangent_of(
    aqm: Aqm, u: float, delay: float, C: float, *, continuous: bool, l4s: bool = False
) -> QueueTangent:
    """Return the tangent of a queue that rests at `u` with this delay, serving `C` packets/s.

    Of a dual queue the delay is that of the queue that waits, the Classic one unless `l4s`.
    """
    rest, waits = aqm.at_rest(u, C)
    state = tuple(float(value) for value in rest)
    if aqm.bands == 2:
        picked, encode = _encoder_slopes(aqm, state, u)
        moved = _update_l4s if l4s else _update_classic
        slopes = _slopes_over(aqm, "update", (*state, delay, C), moved)
        none, seen = [0.0] * len(state), Signal(*map(float, aqm.encode(u)))
        return QueueTangent(state, delay, slopes, none, picked, seen, encode)
    picked, encode = _encoder_slopes(aqm, state, u)
    return QueueTangent(
        state,
        delay,
        _controller_slopes(aqm, state, float(waits), C, continuous=continuous),
        _trend_of(aqm, state, float(waits), C, continuous=continuous),
        picked,
        Signal(*map(float, aqm.encode(u))),
        encode,
    )


def _encoder_slopes(
    aqm: Aqm, state: tuple[float, ...], controller: float
) -> tuple[list[float], tuple[float, ...]]:
    """Return d(controller's variable)/d(state), and the slopes of what packets see over it."""
    picked = differentiate(aqm, "controller", state)
    (encode,) = differentiate(aqm, "encode", (controller,))
    return [float(slope) for (slope,) in picked], tuple(_numbers(encode).tolist())


def _controller_slopes(
    aqm: Aqm, state: tuple[float, ...], delay: float, C: float, *, continuous: bool
) -> tuple[list[list[float]], list[float]]:
    """Return d(new state)/d(state, queue delay) of an update, or of the flow per second."""
    ticks = aqm.update_interval is not None
    name, moved = ("flow", _flow) if continuous and ticks else ("update", _update)
    if not ticks:
        name, moved = "drift", _drift
    return _slopes_over(aqm, name, (*state, delay, C), moved)


def _slopes_over(
    aqm: Aqm, name: str, args: tuple[float, ...], moved: Callable[..., tuple[Number, ...]]
) -> tuple[list[list[float]], list[float]]:
    """Return the slopes of a law's motion over its state and over the delay, the last but one."""
    n = len(args) - 2
    slopes = _numbers(differentiate(aqm, name, args, range(n + 1), moved)).T
    return slopes[:, :n].tolist(), slopes[:, n].tolist()


def _watched(args: tuple[Number, ...]) -> tuple[tuple[Number, ...], Seen]:
    *state, delay, C = args
    return tuple(state), Seen(delay, delay * C, C, C)


def _drift(aqm: Aqm, *args: Number) -> tuple[Number, ...]:
    return tuple(aqm.drift(*_watched(args)))


def _flow(aqm: Aqm, *args: Number) -> tuple[Number, ...]:
    return tuple(aqm.flow(*_watched(args), 0.0))


def _update(aqm: Aqm, *args: Number) -> tuple[Number, ...]:
    assert aqm.update_interval is not None
    return tuple(aqm.update(*_watched(args), aqm.update_interval))


def _update_classic(aqm: Aqm, *args: Number) -> tuple[Number, ...]:
    state, seen = _watched(args)
    return _update_of_two(aqm, state, seen._replace(queue_delay=(args[-2], 0.0 * args[-2])))


def _update_l4s(aqm: Aqm, *args: Number) -> tuple[Number, ...]:
    state, seen = _watched(args)
    return _update_of_two(aqm, state, seen._replace(queue_delay=(0.0 * args[-2], args[-2])))


def _update_of_two(aqm: Aqm, state: tuple[Number, ...], seen: Seen) -> tuple[Number, ...]:
    assert aqm.update_interval is not None
    return tuple(aqm.update(state, seen, aqm.update_interval))


def _trend_of(
    aqm: Aqm, state: tuple[float, ...], delay: float, C: float, *, continuous: bool
) -> list[float]:
    """Return d(state)/dt per unit of d(queue delay)/dt, in continuous time."""
    if not continuous:
        return [0.0] * len(state)
    seen = Seen(delay, delay * C, C, C)
    moved, still = (aqm.flow(state, seen, d) for d in (1.0, 0.0))
    return [float(m - s) for m, s in zip(moved, still, strict=True)]


def _numbers(slopes: Sequence[ArrayLike] | Sequence[Sequence[ArrayLike]]) -> FloatArray:
    return np.array(slopes, dtype=float)
