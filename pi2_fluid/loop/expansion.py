"""The plant at large s: a sum of coefficient * e^{-s delay} / s^order.

Sampling needs it for the aliases that are not summed, and a step response for its kinks. The
expansion is that of formal power series in 1/s whose coefficients are polynomials in the delays
e_i = e^{-s R_i} of the classes: a `Series` maps (order, classes) to a coefficient, where the
classes are those whose round-trip times add up to the delay.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from pi2_fluid.loop.state_space import LinearClass, LinearLoop, once

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Real

Series: TypeAlias = "dict[tuple[int, tuple[int, ...]], Real]"

_HIGHEST: Final = 3


class Echo(NamedTuple):
    """The terms of one delay."""

    delay: Real
    """Seconds."""
    orders: dict[int, Real]
    """Coefficients of 1/s^order."""


def expand_plant(loop: LinearLoop, highest: int = _HIGHEST) -> Series:
    """Return G(s), from the controller's variable to minus the queue delay, up to an order.

    With the drive and the feedback of all classes, G = drive/(s - feedback).
    """
    drive: Series = {}
    feedback: Series = {}
    for index, cls in enumerate(loop.classes):
        late = {(order, (index, *key)): value for (order, key), value in
                _respond(cls, index, {(): cls.b}, highest + 1).items()}  # fmt: skip
        _add(drive, late, -cls.weight)
        if cls.lead is not None:
            ahead = {(order - 1, key): value for (order, key), value in late.items()}
            _add(drive, ahead, -cls.weight * cls.lead)
        _add(feedback, {(0, ()): cls.r}, cls.weight)
        coupling = _respond(cls, index, {(): cls.e0, (index,): cls.e1}, highest)
        _add(feedback, coupling, cls.weight)
    # 1/(s - feedback) = (1/s) sum of (feedback/s)^n
    ratio = {(order + 1, key): value for (order, key), value in feedback.items()}
    power: Series = {(0, ()): 1.0}
    inverse: Series = {}
    for _ in range(highest):
        _add(inverse, {(order + 1, key): value for (order, key), value in power.items()}, 1.0)
        power = multiply(power, ratio, highest)
    return multiply(drive, inverse, highest)


@once
def expansion_of(loop: LinearLoop) -> Series:
    """Return `expand_plant` of a loop, expanded once."""
    return expand_plant(loop)


@once
def echoes_of(loop: LinearLoop) -> list[Echo]:
    """Return G(s)/s in powers of 1/(s + 1/T), delay by delay: what sampling needs of a loop."""
    rate = 1.0 / loop.controller.interval
    return [recentre(echo, rate, 4) for echo in collect(expansion_of(loop), loop, up=1)]


def collect(series: Series, loop: LinearLoop, late: float = 0.0, up: int = 0) -> list[Echo]:
    """Return a series delay by delay, `up` orders higher, each delay longer by `late` seconds."""
    found: dict[tuple[int, ...], dict[int, Any]] = {}
    for (order, key), value in series.items():
        found.setdefault(key, {})[order + up] = value
    delays: list[Real] = [cls.rtt for cls in loop.classes]
    return [
        Echo(sum((delays[index] for index in key), late), orders) for key, orders in found.items()
    ]


def multiply(a: Series, b: Series, highest: int) -> Series:
    """Return the product of two series up to an order."""
    product: Series = {}
    for (order_a, key_a), value_a in a.items():
        for (order_b, key_b), value_b in b.items():
            if order_a + order_b <= highest:
                key = tuple(sorted(key_a + key_b))
                _add(product, {(order_a + order_b, key): value_a * value_b}, 1.0)
    return product


def recentre(echo: Echo, rate: Real, highest: int) -> Echo:
    """Return the same terms in powers of 1/(s + rate), up to an order.

    1/s^m = sum over j of C(m - 1 + j, j) rate^j / (s + rate)^{m + j}.
    """
    moved: dict[int, Any] = {}
    for order, value in echo.orders.items():
        for higher in range(order, highest + 1):
            factor = math.comb(higher - 1, higher - order) * rate ** (higher - order)
            moved[higher] = moved.get(higher, 0.0) + factor * value
    return Echo(echo.delay, moved)


def _respond(
    cls: LinearClass, index: int, right: dict[tuple[int, ...], FloatArray], highest: int
) -> Series:
    """c (s - A0 - A1 e)^-1 right, order by order: each multiplies by A0 + A1 e once more."""
    series: Series = {}
    vectors = {key: value for key, value in right.items() if np.any(value)}
    for order in range(1, highest + 1):
        following: dict[tuple[int, ...], Any] = {}
        for key, vector in vectors.items():
            _add(series, {(order, key): _row(cls, vector)}, 1.0)
            for place, matrix in ((key, cls.a0), ((*key, index), cls.a1)):
                moved = _times(cls, matrix, vector)
                if np.any(moved):
                    following[place] = following.get(place, 0.0) + moved
        vectors = following
    return series


def _row(cls: LinearClass, vector: FloatArray) -> FloatArray:
    return cls.c * vector if cls.size == 1 else np.einsum("...i,...i->...", cls.c, vector)


def _times(cls: LinearClass, matrix: FloatArray, vector: FloatArray) -> FloatArray:
    return matrix * vector if cls.size == 1 else np.einsum("...ij,...j->...i", matrix, vector)


def _add(series: Series, other: Series, factor: Real) -> None:
    for key, value in other.items():
        term = factor * value
        if np.any(term):
            series[key] = series.get(key, 0.0) + term
