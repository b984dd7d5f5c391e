"""An integrator of window, queue and controller that shares no line with the product.

Runge and Kutta's method of order 4 with a fixed step and cubics between its nodes, for equal flows
of one state in one queue, around a rest at which no bound holds:

    w' = law(w(t), w(t - R), p(t - R), R(t), R(t - R)),  R = base + q/C,
    q' = N w/R - C,   u' = alpha/T (q/C - target) + (beta + alpha/2) q'/C,   p = encode(u).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Queue(NamedTuple):
    """A link of `capacity` packets per second behind a path of `base` seconds, and who sends."""

    capacity: float
    base: float
    count: float


class Controller(NamedTuple):
    """A PI controller in continuous time; gains over T, and the gain on the growth of the delay."""

    integral: float
    proportional: float
    target: float
    encode: Callable[[float], float]


NONE = Controller(0.0, 0.0, 0.0, lambda u: 0.0 * u)


def integrate(
    law: Callable[..., float],
    queue: Queue,
    start: tuple[float, float, float],
    steps: int,
    h: float,
    controller: Controller = NONE,
) -> np.ndarray:
    """Return (window, packets, controller) at the multiples of `h`, from a constant past."""
    capacity, base, count = queue
    gain, rise, target, encode = controller
    nodes: list[tuple[float, float, float]] = [start]
    slopes: list[tuple[float, float, float]] = []

    def past(t: float) -> tuple[float, ...]:
        if t <= 0.0:
            return start
        k = min(int(t / h), len(slopes) - 1, len(nodes) - 2)
        x = t / h - k
        a, b = (2 * x + 1) * (1 - x) ** 2, x * x * (3 - 2 * x)
        c, d = h * x * (1 - x) ** 2, h * x * x * (x - 1)
        rows = zip(nodes[k], nodes[k + 1], slopes[k], slopes[k + 1], strict=True)
        return tuple(a * y0 + b * y1 + c * f0 + d * f1 for y0, y1, f0, f1 in rows)

    def slope(t: float, y: tuple[float, ...]) -> tuple[float, float, float]:
        window, packets, _ = y
        rtt = base + packets / capacity
        then, old, u = past(t - rtt)
        moves = law(window, then, encode(u), rtt, base + old / capacity)
        growth = count * window / rtt - capacity
        return (
            moves,
            growth,
            gain * (packets / capacity - target) + rise * growth / capacity,
        )

    def along(y: tuple[float, ...], f: tuple[float, ...], by: float) -> tuple[Any, ...]:
        return tuple(a + by * b for a, b in zip(y, f, strict=True))

    for k in range(steps):
        t, y = k * h, nodes[-1]
        first = slope(t, y)
        slopes.append(first)
        second = slope(t + h / 2, along(y, first, h / 2))
        third = slope(t + h / 2, along(y, second, h / 2))
        fourth = slope(t + h, along(y, third, h))
        mean = zip(first, second, third, fourth, strict=True)
        nodes.append(along(y, tuple((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in mean), h))
    return np.array(nodes)
