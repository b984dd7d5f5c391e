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
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.loop.delay_system import controller_matrices
from pi2_fluid.loop.matrix.system import MatrixLoop
from pi2_fluid.loop.roots import ClosedSystem

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray


def closed_system(loop: MatrixLoop, *, half_sample: bool = False) -> ClosedSystem:
    """Return the matrices of z = (classes, queue delays, controllers).

    Parameters
    ----------
    loop : MatrixLoop
    half_sample : bool
        Whether signals come T/2 later, the mean delay of one that is held for T.
    """
    starts: list[int] = np.cumsum([0, *(cls.size for cls in loop.classes)]).tolist()
    waits = np.flatnonzero(loop.waits)
    last = starts[-1] + len(waits)
    #: Which state the delay of each queue is; none of a link without one.
    delays = np.full(len(loop.waits), -1)
    delays[waits] = np.arange(starts[-1], last)
    parts = [controller_matrices(controller) for controller in loop.controllers]
    controls = last + np.cumsum([0, *(len(A) for A, *_ in parts)])
    total = int(controls[-1])
    late: defaultdict[float, FloatArray] = defaultdict(lambda: np.zeros((total, total)))
    neutral: defaultdict[float, FloatArray] = defaultdict(lambda: np.zeros((total, total)))
    said = np.zeros((len(parts), total))  # by each controller, from which states
    for number, (queue, (A, B, C, D)) in enumerate(zip(loop.signals, parts, strict=True)):
        own = slice(controls[number], controls[number + 1])
        late[0.0][own, own] = A
        said[number, own] = C
        if loop.waits[queue]:
            late[0.0][own, delays[queue]] = B
            said[number, delays[queue]] = D
    #: What arrives at each queue, over its capacity, and what that moves: how late, from or to
    #: which states.
    arriving: list[list[tuple[float, FloatArray]]] = [[] for _ in loop.capacity]
    moved: list[list[tuple[float, FloatArray]]] = []
    for place, capacity in enumerate(loop.capacity):
        into = np.zeros(total)
        if loop.waits[place]:
            into[delays[place]] = 1.0
        else:
            number = loop.signals.index(place)
            into[controls[number] : controls[number + 1]] = capacity * parts[number][1]
        moved.append([(0.0, into)])
    for row, (cls, start) in enumerate(zip(loop.classes, starts, strict=False)):
        own, rtt = slice(start, start + cls.size), float(cls.rtt)
        on_route = np.zeros(total)
        on_route[delays[waits]] = loop.crosses[row, waits]
        late[0.0][own, own] += cls.a0
        late[rtt][own, own] += cls.a1
        late[0.0][own] += np.outer(cls.e0, on_route)
        late[rtt][own] += np.outer(cls.e1, on_route)
        sent = [(0.0, float(cls.r) * on_route)]
        sent[0][1][own] += cls.c
        for number, delay, slope in _heard(loop, row, half_sample=half_sample):
            into = np.zeros(total)
            into[own] = slope * cls.b
            late[delay] += np.outer(into, said[number])
            queue, at_once = loop.signals[number], parts[number][3]
            if loop.feeds[row] != 0.0:
                sent.append((delay, loop.feeds[row] * slope * said[number]))
            if not loop.waits[queue] and at_once != 0.0:
                moved[queue].append((delay, loop.capacity[queue] * at_once * into))
        for place in np.flatnonzero(loop.crosses[row]).tolist():
            there, weight = float(loop.forward[row, place]), loop.weight[row, place]
            arriving[place] += [(there + delay, weight * states) for delay, states in sent]
    for place, ways in enumerate(moved):
        for after, into in ways:
            for delay, states in arriving[place]:
                late[after + delay] += np.outer(into, states)
            for share, delay, before in _passed(loop, place):
                neutral[after + delay][:, delays[before]] += share * into
    present = late.pop(0.0)
    return ClosedSystem(
        present, sorted(late.items(), key=_first), sorted(neutral.items(), key=_first)
    )


def _heard(loop: MatrixLoop, row: int, *, half_sample: bool) -> Iterator[tuple[int, float, float]]:
    """What a class hears: of which controller, how late, how much."""
    for number, queue in enumerate(loop.signals):
        if loop.slopes[row, number] != 0.0:
            extra = loop.intervals[number] / 2 if half_sample else 0.0
            back = float(loop.rtt[row] - loop.forward[row, queue])
            yield number, back + extra, float(loop.slopes[row, number])


def _passed(loop: MatrixLoop, place: int) -> Iterator[tuple[float, float, int]]:
    """What queues before one take away from it: which share, how late, from which."""
    for passing in loop.passings:
        if passing.at == place:
            for share, delay in zip(passing.shares, passing.delays, strict=True):
                yield float(share), float(delay), passing.before


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
