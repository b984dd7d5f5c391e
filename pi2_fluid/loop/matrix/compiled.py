"""A network's loop as compiled code takes it: numbers by name.

`native/matrices/` does what `response`, `bounds`, `eigenloci`, `margins` and `counting` do, which
stay the readable twin: both are tested against one another. What it cannot do is left to them, and
so are all refusals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.errors import SolverError
from pi2_fluid.loop.crossovers import Crossings
from pi2_fluid.loop.matrix.bounds import sizes_of
from pi2_fluid.loop.matrix.counting import longest_delay, slowest_of
from pi2_fluid.loop.matrix.margins import crossings_of
from pi2_fluid.loop.matrix.sampled import (
    counting_links,
    far_aliases,
    leading_terms,
    require_followable,
)
from pi2_fluid.loop.matrix.system import MatrixLoop
from pi2_fluid.loop.state_space import LinearClass, LinearController

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, IntArray

# What compiled code has room for.
_MOST_QUEUES: Final = 24
_MOST_STATES: Final = 4
_MOST_COEFFICIENTS: Final = 8
_MOST_DELAYS: Final = 1024
_ON_CIRCLE: Final = -(2**31)

#: So much of one unknown arrives at a queue, some seconds later: queue, unknown, delay, how much.
_Passed = tuple[int, int, float, float]


class CompiledMatrix:
    """A matrix loop in compiled code.

    Parameters
    ----------
    loop : MatrixLoop
    update : {"continuous", "delayed", "sampled"}
    open : sequence of int
        Links that signal whose loops are open, by their numbers; those of the others are closed.
    """

    def __init__(self, loop: MatrixLoop, update: str, open: Sequence[int]) -> None:
        self._given = loop, update, tuple(open)
        self.longest = longest_delay(loop, update)
        self._slow = slowest_of(loop)
        self._sampled = update == "sampled"
        self._loop = _core.MatrixLoop(
            _numbers_of(loop, update, open),
            1.0 / self.longest,
            _sampling_of(loop) if self._sampled else None,
        )

    def __reduce__(self) -> tuple[type, tuple[MatrixLoop, str, tuple[int, ...]]]:
        return type(self), self._given  # what is compiled is made anew

    def crossings(self, *, quiet: bool) -> Crossings | None:
        """Return what `find_matrix_crossings` does; None where it is to find them."""
        found = self._loop.crossings(1.0 / self.longest, quiet=quiet)
        if found is None:
            return None
        w, loci, *rows = found
        gains, phases = ([(at, left, int(on)) for at, left, on in row.tolist()] for row in rows)
        return crossings_of(gains, phases, w, loci)

    def count(self) -> int | None:
        """Return how many modes grow, -1 on the boundary; None where that was not found."""
        found = self._loop.count(self.longest, self._slow, closed=not self._sampled)
        if not self._sampled or found is None or found < 0:
            return found
        turns = self._loop.count_sampled(self.longest, self._slow)
        if turns is None:
            return None
        return -1 if turns == _ON_CIRCLE else found + turns

    def nearest(self, w: FloatArray) -> float | None:
        """Return the smallest singular value of I + L from these frequencies on, 1 at most."""
        return self._loop.nearest(w, fades=not self._sampled)


def compile_matrix(loop: MatrixLoop, update: str, open: Sequence[int]) -> CompiledMatrix | None:
    """Return a loop in compiled code, None if it has no room for it.

    Parameters
    ----------
    loop, update, open
        As for `CompiledMatrix`.
    """
    image = [controller.continuous_image[:2] for controller in loop.controllers]
    if update == "sampled":
        image += [controller.in_steps for controller in loop.controllers]
    coefficients = max(max(len(top), len(bottom)) for top, bottom in image)
    fits = (
        len(loop.waits) <= _MOST_QUEUES
        and max(cls.size for cls in loop.classes) <= _MOST_STATES
        and coefficients <= _MOST_COEFFICIENTS
        and loop.delays[0].size + len(loop.passings) * (1 + len(loop.pairs)) <= _MOST_DELAYS // 2
    )
    if not fits or (update == "sampled" and not _can_be_sampled(loop)):
        return None
    return CompiledMatrix(loop, update, open)


def _can_be_sampled(loop: MatrixLoop) -> bool:
    """Whether a loop can be followed up to pi/T, its far aliases as a polynomial."""
    try:
        require_followable(loop)
    except SolverError:
        return False
    return far_aliases(loop) is not None


def _numbers_of(
    loop: MatrixLoop, update: str, open: Sequence[int]
) -> dict[str, FloatArray | IntArray]:
    """Return the numbers that `_core.MatrixLoop` takes."""
    passing, at_once = list(_passed(loop)), list(_passed_at_once(loop))
    times = [time for *_, time, _ in passing + at_once]
    delays, which = np.unique(
        np.concatenate([[0.0], loop.rtt, loop.forward.ravel(), times]), return_inverse=True
    )
    classes, queues = loop.forward.shape
    ends = np.cumsum([1, classes, classes * queues, len(passing), len(at_once)])
    _, trips, ahead, after, then = np.split(which.astype(np.int64), ends[:-1])
    links = range(len(loop.signals))
    # A sampled loop ends at pi/T, and needs no bound.
    norms, passes = np.zeros((4, classes)), np.zeros((queues, queues))
    if update != "sampled":
        sizes = sizes_of(loop)
        norms, passes = np.array(sizes[:4]), _table(sizes.passes)
    half = update == "delayed"
    rows = [
        _of_controller(*each, half_sample=half)
        for each in zip(loop.controllers, loop.units.tolist(), strict=True)
    ]
    return {
        "delays": delays,
        "states": np.array([cls.size for cls in loop.classes], np.int64),
        "round_trips": trips,
        "classes": np.array(
            [_of_class(*each) for each in zip(loop.classes, loop.feeds, strict=True)]
        ),
        "ahead": ahead.reshape(classes, queues),
        "weight": _table(loop.weight),
        "delayed": _table(loop.delayed),
        "slopes": _table(loop.slopes),
        "acted_on": _table(loop.acted_on),
        "waits": loop.waits.astype(np.int64),
        "queues": np.array(loop.signals, np.int64),
        "passing": np.array([each[3] for each in passing], float),
        "passing_at": _places(passing, after),
        "at_once": np.array([each[3] for each in at_once], float),
        "at_once_at": _places(at_once, then),
        "controllers": np.array([row for row, _ in rows]),
        "degrees": np.array([degrees for _, degrees in rows], np.int64),
        "open": np.array(open, np.int64),
        "closed": np.array([link for link in links if link not in open], np.int64),
        "norms": norms,
        "passes": passes,
    }


def _sampling_of(loop: MatrixLoop) -> dict[str, FloatArray | IntArray | float]:
    """Return the numbers that a sampled loop needs besides."""
    far, leading, T = far_aliases(loop), leading_terms(loop), loop.intervals[0]
    assert far is not None
    square, cube = leading.together
    counts = counting_links(loop)
    rows = [_of_ratio(*controller.in_steps, 1.0, 1.0, 0.0) for controller in loop.controllers]
    return {
        "interval": T,
        "rate": leading.rate,
        "counts": counts.astype(np.int64),
        "units": np.where(counts, T, 1.0) * loop.units,
        "delays": leading.each,
        "square": _table(square),
        "cube": _table(cube),
        "far": np.ascontiguousarray(far.coefficients)
        .reshape(len(far.coefficients), -1)
        .view(float),
        "updates": np.array([row for row, _ in rows]),
        "degrees": np.array([degrees for _, degrees in rows], np.int64),
    }


def _table(values: FloatArray) -> FloatArray:
    return np.ascontiguousarray(values, dtype=float)


def _places(passed: list[_Passed], delays: IntArray) -> IntArray:
    places = np.empty((len(passed), 3), np.int64)
    for row, (queue, unknown, *_), delay in zip(places, passed, delays, strict=True):
        row[:] = queue, unknown, delay
    return places


def _of_class(cls: LinearClass, feed: float) -> FloatArray:
    """Return the numbers of a class in one row, with room for the most states."""
    n, most = cls.size, _MOST_STATES
    squares, lines = np.zeros((2, most, most)), np.zeros((4, most))
    for square, part in zip(squares, (cls.a0, cls.a1), strict=True):
        square[:n, :n] = part
    for line, part in zip(lines, (cls.b, cls.e0, cls.e1, cls.c), strict=True):
        line[:n] = part
    return np.concatenate([squares.ravel(), lines.ravel(), [float(cls.r), feed]])


def _of_controller(
    controller: LinearController, unit: float, *, half_sample: bool
) -> tuple[FloatArray, tuple[int, int]]:
    """Return coefficients, unit, factor and lag of a controller in one row; and its degrees."""
    top, bottom, step = controller.continuous_image
    lag = float(controller.interval) / 2 if half_sample else 0.0
    return _of_ratio(top, bottom, float(step), unit, lag)


def _of_ratio(
    top: Sequence[FloatArray], bottom: Sequence[FloatArray], step: float, unit: float, lag: float
) -> tuple[FloatArray, tuple[int, int]]:
    row = np.zeros(2 * _MOST_COEFFICIENTS + 3)
    row[: len(top)] = top
    row[_MOST_COEFFICIENTS : _MOST_COEFFICIENTS + len(bottom)] = bottom
    row[-3:] = step, unit, lag
    return row, (len(top) - 1, len(bottom) - 1)


def _passed(loop: MatrixLoop) -> Iterator[_Passed]:
    """Yield the parts of F, as `passed_on` adds them up."""
    for passing in loop.passings:
        for share, delay in zip(passing.shares.tolist(), passing.delays.tolist(), strict=True):
            yield passing.at, passing.before, delay, share
            for pair in loop.pairs:
                if pair.waits == passing.before:
                    yield passing.at, pair.served, delay - pair.delay, share
                    yield passing.at, pair.served, delay, -share
    for pair in loop.pairs:
        yield pair.waits, pair.served, 0.0, -1.0


def _passed_at_once(loop: MatrixLoop) -> Iterator[_Passed]:
    """Yield what `high_frequency_determinant` adds to that."""
    for pair in loop.pairs:
        felt = pair.delay * loop.crosses[:, pair.waits] * [float(cls.r) for cls in loop.classes]
        for row, queue in np.argwhere(loop.weight * felt[:, None]).tolist():
            there = float(loop.forward[row, queue])
            yield queue, pair.served, there, -float(loop.weight[row, queue] * felt[row])
