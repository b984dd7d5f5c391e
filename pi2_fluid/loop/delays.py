"""Loops of flows that no signal holds back: from the queue's delay through their windows to itself.

With d the queue delay and x the state of each class, as in `pi2_fluid.loop.linearization`,

    s d = drive d + feedback d,    drive = sum of weight c (s - A0 - A1 e)^-1 (e0 + e1 e),
                                   feedback = sum of weight r:

what windows make of the delay, and by how much a longer round trip slows down what is sent. The
loop is opened where windows hear of the delay, L(s) = -drive / (s - feedback), so that what closes
it is the queue itself, and its gain margin is a factor on what the laws make of the delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.polynomial import Polynomial

from pi2_fluid.errors import DomainError, UnsupportedError
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.tapes import evaluate
from pi2_fluid.loop.corners import landmarks_of, slowest_corner
from pi2_fluid.loop.delay_system import delay_system
from pi2_fluid.loop.ends import plant_bound
from pi2_fluid.loop.linearization import (
    linearize_sender,
    loop_shape,
    per_class,
    require_windows,
)
from pi2_fluid.loop.link import Coupling
from pi2_fluid.loop.ratios import ratios_of
from pi2_fluid.loop.response import class_response, plant_response
from pi2_fluid.loop.roots import count_unstable, distinct, rightmost_roots
from pi2_fluid.loop.state_space import Keeping, LinearClass, LinearController, LinearLoop

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.network.equilibrium import OperatingPoint
    from pi2_fluid.values import ComplexArray, FloatArray, Real

_BEYOND: Final = 2.0
_STILL: Final = 1e-6  # segments per round trip, of a window at rest


@dataclass(frozen=True)
class DelayLoop(Keeping):
    """A loop through delays alone: its classes, and the shape of arrays.

    Attributes
    ----------
    classes : tuple of LinearClass
        With their answers to the delay, e0 and e1.
    shape : tuple of int
    """

    classes: tuple[LinearClass, ...]
    shape: tuple[int, ...]

    @property
    def controller(self) -> LinearController:
        """Nothing but the delay itself: a gain of 1."""
        one = (np.ones(()),)
        return LinearController(one, one, None)

    @property
    def is_late(self) -> bool:
        """Whether what laws do depends on one round trip ago."""
        return any(np.any(cls.a1) or np.any(cls.e1) for cls in self.classes)

    @property
    def reach(self) -> float:
        """All frequencies; without a delay in it one above all at which L is real, or |L| 1."""
        return np.inf if self.is_late else _BEYOND * _last_crossing(self.classes)

    def element(self, index: tuple[int, ...]) -> DelayLoop:
        """Return the scalar loop at one index of the array."""
        return DelayLoop(self.closed.element(index).classes, ())

    @property
    def closed(self) -> LinearLoop:
        """The same flows and queue as a loop whose controller nobody heeds."""
        return LinearLoop(self.classes, self.controller, self.shape)


def hears_nothing(point: OperatingPoint) -> bool:
    """Return whether flows rest by their delay alone: nothing is signalled to them."""
    return not any(p != 0.0 if type(p) is float else np.any(p) for p in per_class(point.p))


def linearize_delays(senders: Sequence[Sender], aqm: Aqm, point: OperatingPoint) -> DelayLoop:
    """Linearise flows that rest by their delay alone.

    Raises
    ------
    DomainError
        If a window is 0.
    UnsupportedError
        If they rest on a jump, or no window answers to the delay.
    """
    require_windows(senders, point)
    shape = loop_shape(senders, aqm, point)
    shares, rates, rtts = (per_class(x) for x in (point.share, point.rate, point.rtt))
    rows = zip(senders, point.states, per_class(point.p), rtts, shares, rates, strict=True)
    classes = []
    for sender, state, p, rtt, share, rate in rows:
        _require_rest(sender, state, p, rtt)
        alone = linearize_sender(sender, state, p, rtt, shape)
        coupling = Coupling(share / rate, None, True)
        one = alone.through(coupling, np.zeros(shape), "exact")
        if np.any(one.c) or np.any(one.r):
            classes.append(one)
    if not any(np.any(one.e0) or np.any(one.e1) for one in classes):
        raise UnsupportedError(
            "no window of these flows answers to the queue's delay where they rest, so that there"
            " is no loop: give laws whose rate() depends on rtt, or on signals beside a queue that"
            " signals."
        )
    return DelayLoop(tuple(classes), shape)


def _require_rest(sender: Sender, state: Real | tuple[Real, ...], p: Real, rtt: Real) -> None:
    """Refuse a law whose window stands still only because its motion jumps there."""
    x = state if isinstance(state, tuple) else (state,)
    moves = evaluate(sender, "rate", *x, *x, p, rtt, rtt)
    window, moved = np.asarray(x[0]), np.asarray(moves[0])
    if np.any(np.abs(moved * rtt) > _STILL * np.maximum(window, 1.0)):
        raise UnsupportedError(
            f"{type(sender).__name__} rests on a jump of its rate(), where nothing can be"
            " linearised: make it smooth there."
        )


def _last_crossing(classes: Sequence[LinearClass]) -> float:
    """Return a frequency above all at which L = N/D is real or of size 1, of polynomials N and D.

    No root of a polynomial in w, so none of Im N conj D and |N|^2 - |D|^2, is beyond the largest of
    all, complex ones as well.
    """
    unit = max(1.0 / float(cls.rtt) for cls in classes)  # w = 1 there: coefficients stay near 1
    jw = Polynomial([0.0, 1j * unit])
    top, bottom = Polynomial([0.0]), Polynomial([1.0])
    feedback = sum(float(cls.weight * cls.r) for cls in classes)
    for cls in classes:
        n, ratios = cls.size, ratios_of(cls)
        own, delay = (
            Polynomial([float(side[i * (n + 1)]) for i in range(n + 1)])(jw)
            for side in (ratios.own, ratios.delay)
        )
        top, bottom = top * own - float(cls.weight) * delay * bottom, bottom * own
    bottom = bottom * (jw - feedback)
    turned = top * Polynomial(bottom.coef.conj())
    sizes = [side * Polynomial(side.coef.conj()) for side in (top, bottom)]
    curves = turned.coef.imag, (sizes[0] - sizes[1]).coef.real
    found = [np.abs(Polynomial(curve).trim().roots()) for curve in curves]
    return unit * float(np.max(np.concatenate([[1.0], *found])))


@plant_response.register(DelayLoop)
def _response(loop: DelayLoop, s: ComplexArray) -> ComplexArray:
    drive: Any = 0.0
    feedback: Any = 0.0
    for cls in loop.classes:
        drive = drive - cls.weight * class_response(cls, s, np.exp(-s * cls.rtt))[1]
        feedback = feedback + cls.weight * cls.r
    result: ComplexArray = drive / (s - feedback)
    return result


@plant_bound.register(DelayLoop)
def _bound(loop: DelayLoop, w: float) -> tuple[float, int]:
    return plant_bound(_as_heard(loop, [np.abs(c.e0) + np.abs(c.e1) for c in loop.classes]), w)


@slowest_corner.register(DelayLoop)
def _slowest(loop: DelayLoop) -> FloatArray:
    return slowest_corner(_as_heard(loop, [cls.e0 + cls.e1 for cls in loop.classes]))


@landmarks_of.register(DelayLoop)
def _landmarks(loop: DelayLoop, high: float) -> FloatArray:
    return landmarks_of(_as_heard(loop, [cls.e0 + cls.e1 for cls in loop.classes]), high)


def _as_heard(loop: DelayLoop, heard: Sequence[FloatArray]) -> LinearLoop:
    """Return classes that hear as much of a controller's variable as of the delay."""
    classes = [
        replace(cls, b=b, e0=0.0 * cls.e0, e1=0.0 * cls.e1)
        for cls, b in zip(loop.classes, heard, strict=True)
    ]
    return LinearLoop(tuple(classes), loop.controller, loop.shape)


@count_unstable.register(DelayLoop)
def _count(loop: DelayLoop, update: str) -> int:
    return count_unstable(loop.closed, update)


@rightmost_roots.register(DelayLoop)
def _roots(loop: DelayLoop, update: str, n: int) -> ComplexArray:
    """The same; without a delay in it the loop has as many roots as states.

    Raises
    ------
    DomainError
        If these are fewer.
    """
    if loop.is_late:
        return rightmost_roots(loop.closed, update, n)
    roots = distinct(np.linalg.eigvals(delay_system(loop.closed).present).astype(complex))
    upper: ComplexArray = roots[roots.imag >= 0.0]
    if len(upper) < n:
        raise DomainError(
            f"n = {n} roots were asked for of a loop without delays, which has {len(upper)}, each"
            f" pair counted once: give n <= {len(upper)}."
        )
    return upper[:n]
