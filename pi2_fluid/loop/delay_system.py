"""A linearised loop written out as a system with delays: matrices of senders, queue, controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.loop.state_space import LinearController, LinearLoop

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray


@dataclass(frozen=True)
class Delayed:
    """What acts on the plant one round trip late: matrix z(t - delay) + drive u(t - delay)."""

    delay: float
    """Seconds."""
    matrix: FloatArray
    drive: FloatArray


@dataclass(frozen=True)
class DelaySystem:
    """The plant z' = present z + what is `delayed`, class by class, with z = (senders, delay)."""

    present: FloatArray
    delayed: tuple[Delayed, ...]


def delay_system(loop: LinearLoop) -> DelaySystem:
    """Return senders and queue of a scalar loop; the queue delay is the last of its states."""
    queue = sum(cls.size for cls in loop.classes)
    present = np.zeros((queue + 1, queue + 1))
    delayed = []
    start = 0
    for cls in loop.classes:
        own = slice(start, start + cls.size)
        matrix, drive = np.zeros_like(present), np.zeros(queue + 1)
        present[own, own] = cls.a0
        present[own, queue] = cls.e0
        matrix[own, own] = cls.a1
        matrix[own, queue] = cls.e1
        drive[own] = cls.b
        present[queue, own] += cls.weight * cls.c
        present[queue, queue] += cls.weight * cls.r
        if cls.lead is not None:  # weight * lead * c x', with x' from the class's own rows
            row = float(cls.weight * cls.lead) * np.atleast_1d(cls.c)
            for part in (present, matrix, drive):
                part[queue] += row @ part[own]
        delayed.append(Delayed(float(cls.rtt), matrix, drive))
        start += cls.size
    return DelaySystem(present, tuple(delayed))


def controller_matrices(
    controller: LinearController,
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """State space of the controller in continuous time: xc' = A xc + B d, u = C xc + D d."""
    top, bottom, unit = controller.continuous_image
    if len(bottom) == 1:  # a gain, for which tf2ss would make up a state
        return np.zeros((0, 0)), np.zeros(0), np.zeros(0), float(top[0] / bottom[0])
    order = len(bottom) - 1
    a, b = np.zeros(order + 1), np.zeros(order + 1)  # over the highest power, in falling powers
    for side, coefficients in ((a, bottom), (b, top)):
        for power, value in enumerate(coefficients):
            side[order - power] = float(value * unit**power)
    a, b = a / a[0], b / a[0]
    A = np.eye(order, k=-1)
    A[0] = -a[1:]
    return A, np.eye(order)[0], b[1:] - b[0] * a[1:], float(b[0])
