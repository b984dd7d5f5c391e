"""A network's closed loop written out with its delays, and the determinant of that.

The states are those of the classes, the queue delays and those of the controllers. What takes the
link from packets that wait in a dual queue has no state: it is made of those of others. The rate
that leaves a queue needs the derivatives of other queues' delays some time ago (`Passing`), which
makes the equation a neutral one. Where links can be ordered so that every route runs forward, it is
a retarded one all the same. On a ring it is not, but its difference part tau + F tau dies out: with
|A|^2/(N x) as the energy of a class's rate deviation A at a queue, a queue whose delay answers
projects on what sums up to zero, and so never adds energy, and every class leaves with all of its
energy after its last queue. Nothing is then left to go round, whatever the delays, so that
det(I + F) has no zeros on the right, nor on the axis in any limit. In a dual queue L4S packets add
to it what they take from Classic ones: where they then wait, rings are refused unless little enough
goes round.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pi2_fluid.loop.delay_system import controller_matrices
from pi2_fluid.loop.matrix.system import MatrixLoop
from pi2_fluid.loop.roots import ClosedSystem

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray


class _Term(NamedTuple):
    """Part of what something is: states some time ago, or their slopes."""

    delay: float
    states: FloatArray
    slopes: bool = False


def closed_system(loop: MatrixLoop, *, half_sample: bool = False) -> ClosedSystem:
    """Return the matrices of z = (classes, queue delays, controllers).

    Of a dual queue the delay is the backlog over what the queue is served at rest.

    Parameters
    ----------
    loop : MatrixLoop
    half_sample : bool
        Whether signals come T/2 later, the mean delay of one that is held for T.
    """
    made = _Made(loop, half_sample=half_sample)
    late: defaultdict[float, FloatArray] = defaultdict(made.square)
    neutral: defaultdict[float, FloatArray] = defaultdict(made.square)

    def move(into: FloatArray, terms: Iterable[_Term], after: float = 0.0) -> None:
        for delay, states, slopes in terms:
            # Slopes stand on the left.
            matrix, sign = (neutral, -1.0) if slopes else (late, 1.0)
            matrix[after + delay] += sign * np.outer(into, states)

    for number, (own, (A, B, *_)) in enumerate(zip(made.controls, made.parts, strict=True)):
        late[0.0][own, own] = A
        into = np.zeros(made.total)
        into[own] = B
        move(into, made.acted_on(number))
    for row, (cls, own) in enumerate(zip(loop.classes, made.own, strict=True)):
        rtt, by_signal, now, then = float(cls.rtt), *np.zeros((3, made.total))
        late[0.0][own, own] += cls.a0
        late[rtt][own, own] += cls.a1
        by_signal[own], now[own], then[own] = cls.b, cls.e0, cls.e1
        move(now, made.felt(row))
        move(then, made.felt(row), rtt)
        for number, delay, slope in made.heard(row):
            move(slope * by_signal, made.said(number), delay)
    for queue, state in enumerate(made.delays):
        if state >= 0:
            into = made.unit(state)
            move(into, made.arriving(queue))
            for pair in loop.pairs:
                if pair.waits == queue:
                    move(into, made.unknown(pair.served))
    present = late.pop(0.0)
    return ClosedSystem(
        present, sorted(late.items(), key=_first), sorted(neutral.items(), key=_first)
    )


class _Made:
    """What is felt, said, sent and arrives, made of states; and which states are whose."""

    def __init__(self, loop: MatrixLoop, *, half_sample: bool) -> None:
        self.loop = loop
        starts: list[int] = np.cumsum([0, *(cls.size for cls in loop.classes)]).tolist()
        waits = np.flatnonzero(loop.waits)
        last = starts[-1] + len(waits)
        #: Which state the delay of each queue is; none of one where nothing waits.
        self.delays = np.full(len(loop.waits), -1)
        self.delays[waits] = np.arange(starts[-1], last)
        self.parts = [controller_matrices(controller) for controller in loop.controllers]
        controls: list[int] = (last + np.cumsum([0, *(len(A) for A, *_ in self.parts)])).tolist()
        self.total = controls[-1]
        self.own = [slice(*ends) for ends in itertools.pairwise(starts)]
        self.controls = [slice(*ends) for ends in itertools.pairwise(controls)]
        self._half_sample = half_sample
        self._arriving: dict[int, list[_Term]] = {}

    def square(self) -> FloatArray:
        """Return a matrix of zeros over all states."""
        return np.zeros((self.total, self.total))

    def unit(self, state: int) -> FloatArray:
        """Return one state."""
        states = np.zeros(self.total)
        states[state] = 1.0
        return states

    def unknown(self, queue: int) -> list[_Term]:
        """Return the delay of a queue, or of one where nothing waits what arrives."""
        state = self.delays[queue]
        return [_Term(0.0, self.unit(state))] if state >= 0 else self.arriving(queue)

    def felt(self, row: int) -> list[_Term]:
        """Return how much longer packets of a class wait on their way."""
        return self._sum(self.loop.delayed[row])

    def acted_on(self, number: int) -> list[_Term]:
        """Return what a controller acts on."""
        return self._sum(self.loop.units[number] * self.loop.acted_on[number])

    def said(self, number: int) -> list[_Term]:
        """Return the variable of a controller."""
        _, _, C, D = self.parts[number]
        states = np.zeros(self.total)
        states[self.controls[number]] = C
        at_once = self.acted_on(number) if D != 0.0 else []
        return [_Term(0.0, states), *_scaled(at_once, D)]

    def heard(self, row: int) -> Iterator[tuple[int, float, float]]:
        """Yield what a class hears: of which controller, how late, how much."""
        loop = self.loop
        for number, queue in enumerate(loop.signals):
            if loop.slopes[row, number] != 0.0:
                extra = loop.intervals[number] / 2 if self._half_sample else 0.0
                back = float(loop.rtt[row] - loop.forward[row, queue])
                yield number, back + extra, float(loop.slopes[row, number])

    def sent(self, row: int) -> list[_Term]:
        """Return what one flow of a class sends."""
        cls, feed = self.loop.classes[row], self.loop.feeds[row]
        states = np.zeros(self.total)
        states[self.own[row]] = cls.c
        found = [_Term(0.0, states), *_scaled(self.felt(row), float(cls.r))]
        if feed != 0.0:
            for number, delay, slope in self.heard(row):
                found += _scaled(self.said(number), feed * slope, delay)
        return found

    def arriving(self, queue: int) -> list[_Term]:
        """Return what arrives at a queue, over its capacity."""
        if queue not in self._arriving:
            self._arriving[queue] = list(self._arrivals(queue))
        return self._arriving[queue]

    def _arrivals(self, queue: int) -> Iterator[_Term]:
        loop = self.loop
        for row in np.flatnonzero(loop.crosses[:, queue]).tolist():
            there = float(loop.forward[row, queue])
            yield from _scaled(self.sent(row), loop.weight[row, queue], there)
        for passing in loop.passings:
            if passing.at != queue:
                continue
            taking = [pair for pair in loop.pairs if pair.waits == passing.before]
            left = self.unit(self.delays[passing.before])
            for share, delay in zip(passing.shares.tolist(), passing.delays.tolist(), strict=True):
                yield _Term(delay, -share * left, slopes=True)
                for pair in taking:
                    taken = self.arriving(pair.served)
                    yield from _scaled(taken, share, delay)
                    yield from _scaled(taken, -share, delay - pair.delay)

    def _sum(self, parts: FloatArray) -> list[_Term]:
        found: list[_Term] = []
        for queue in np.flatnonzero(parts).tolist():
            found += _scaled(self.unknown(queue), float(parts[queue]))
        return found


def _scaled(terms: Iterable[_Term], by: float, later: float = 0.0) -> list[_Term]:
    """Return so much of something, and later."""
    if by == 0.0:
        return []
    return [_Term(delay + later, by * states, slopes) for delay, states, slopes in terms]


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
