"""A network's closed loop written out with its delays, and the determinant of that.

The states are those of the classes, the queue delays and those of the controllers. The rate that
leaves a queue needs the derivatives of other queues' delays some time ago (`Passing`), which makes
the equation a neutral one. Where links can be ordered so that every route runs forward, it is a
retarded one all the same. On a ring it is not, but its difference part tau + F tau dies out: with
|A|^2/(N x) as the energy of a class's rate deviation A at a queue, a queue whose delay answers
projects on what sums up to zero, and so never adds energy, and every class leaves with all of its
energy after its last queue. Nothing is then left to go round, whatever the delays, so that
det(I + F) has no zeros on the right, nor on the axis in any limit.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.loop.delay_system import controller_matrices
from pi2_fluid.loop.matrix.system import MatrixLoop
from pi2_fluid.loop.roots import ClosedSystem

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

__all__ = ["CharacteristicMatrix", "closed_system"]


def closed_system(loop: MatrixLoop, *, half_sample: bool = False) -> ClosedSystem:
    """Return the matrices of z = (classes, queue delays, controllers).

    Parameters
    ----------
    loop : MatrixLoop
    half_sample : bool
        Whether signals come T/2 later, the mean delay of one that is held for T.
    """
    sizes = [cls.size for cls in loop.classes]
    starts = np.cumsum([0, *sizes]).tolist()
    last = starts[-1] + len(loop.capacity)
    queues = np.arange(starts[-1], last)
    parts = [controller_matrices(controller) for controller in loop.controllers]
    total = last + sum(len(A) for A, *_ in parts)
    late: defaultdict[float, FloatArray] = defaultdict(lambda: np.zeros((total, total)))
    neutral: defaultdict[float, FloatArray] = defaultdict(lambda: np.zeros((total, total)))
    for row, (cls, start) in enumerate(zip(loop.classes, starts, strict=False)):
        own, rtt = slice(start, start + cls.size), float(cls.rtt)
        on_route = loop.crosses[row]
        late[0.0][own, own] += cls.a0
        late[rtt][own, own] += cls.a1
        late[0.0][own, queues] += np.outer(cls.e0, on_route)
        late[rtt][own, queues] += np.outer(cls.e1, on_route)
        for met in np.flatnonzero(on_route):
            arriving = late[float(loop.forward[row, met])]
            weight = loop.weight[row, met]
            arriving[queues[met], own] += weight * cls.c
            arriving[queues[met], queues] += weight * float(cls.r) * on_route
    state = last
    for number, (A, B, C, D) in enumerate(parts):
        queue = loop.signals[number]
        own = slice(state, state + len(A))
        late[0.0][own, own] = A
        late[0.0][own, queues[queue]] = B
        extra = float(loop.controllers[number].interval) / 2 if half_sample else 0.0
        for row, (cls, start) in enumerate(zip(loop.classes, starts, strict=False)):
            drive = np.atleast_1d(cls.b * loop.slopes[row, number])
            if np.any(drive):
                heard = late[float(cls.rtt) - loop.forward[row, queue] + extra]
                heard[start : start + cls.size, queues[queue]] += drive * D
                heard[start : start + cls.size, own] += np.outer(drive, C)
        state = own.stop
    for passing in loop.passings:
        for share, delay in zip(passing.shares, passing.delays, strict=True):
            neutral[float(delay)][queues[passing.at], queues[passing.before]] += share
    present = late.pop(0.0)
    return ClosedSystem(
        present, sorted(late.items(), key=_first), sorted(neutral.items(), key=_first)
    )


def _first(item: tuple[float, Any]) -> float:
    return item[0]


class CharacteristicMatrix:
    """The matrix whose determinant is 0 at the modes: entire in s, s^n for large s.

    Parameters
    ----------
    system : ClosedSystem
    """

    def __init__(self, system: ClosedSystem) -> None:
        self.size = len(system.present)
        self._present = system.present
        self._delays = [[delay for delay, _ in each] for each in (system.delayed, system.neutral)]
        self._entries = [
            [
                (number, row, column, float(matrix[row, column]))
                for number, (_, matrix) in enumerate(each)
                for row, column in np.argwhere(matrix).tolist()
            ]
            for each in (system.delayed, system.neutral)
        ]

    def __call__(self, s: ComplexArray, scale: float | None = None) -> ComplexArray:
        """Return the matrix at each s, of shape (n, states, states).

        With a `scale`, over s + scale, so that of many states the determinant does not overflow.
        """
        result: ComplexArray = np.empty((self.size, self.size, s.size), dtype=complex)
        result[:] = -self._present[..., None]
        for state in range(self.size):
            result[state, state] += s
        for delays, entries, factor in zip(self._delays, self._entries, (-1.0, s), strict=True):
            late = factor * np.exp(np.multiply.outer(-np.array(delays), s))
            for number, row, column, value in entries:
                result[row, column] += value * late[number]
        if scale is not None:
            result *= 1.0 / (s + scale)
        return np.moveaxis(result, (0, 1), (-2, -1))
