"""Blocks: consecutive points that a worker takes at once, about a second of work."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Final, NamedTuple

import numpy as np

from pi2_fluid import _core
from pi2_fluid.errors import QuantityError
from pi2_fluid.sweeping.axes import Grid
from pi2_fluid.sweeping.outcomes import Layout, Rows
from pi2_fluid.sweeping.questions.question import Piece, Question
from pi2_fluid.sweeping.warned import Heard, listening

_SECONDS: Final = 1.0
_SECONDS_EACH: Final = 0.02  # for each worker: twice what a block costs the process that writes it
_PATIENCE: Final = 0.1  # s of a pilot, from where on its time says something
_FIRST: Final = 10.0  # times as long for the very first point, which imports and fills caches
_GROWTH: Final = 8.0  # at most, from one block to the next: the first may be far too quick
_MOST_BYTES: Final = 2**26


class Block(NamedTuple):
    """Points from `start` on, up to `stop`, and where in an array of all they go."""

    start: int
    stop: int
    region: tuple[slice, ...]


@dataclass(frozen=True, repr=False)
class Task:
    """What goes to a worker: a question, and the points of a block."""

    question: Question
    grid: Grid
    """Of the block alone."""
    layout: Layout
    raising: bool
    known: int = 0
    """How many of its first points are known."""

    def __call__(self) -> Rows:
        """Return what the points that are not known have.

        Raises
        ------
        QuantityError, DomainError, ScenarioError, UnsupportedError, SolverError
            If a point has no result, and that is not to be kept.
        """
        start, stop = self.known, self.grid.size
        with listening() as heard:
            found = heard.of(pieces(self.question, self.grid, start, stop))
            rows = gathered(found, self.layout, self.grid, start, stop, raising=self.raising)
        return rows._replace(warned=tuple(heard.notes.items()))


@dataclass(frozen=True)
class Work:
    """All that is to be done, and what the first points have, which are done already."""

    question: Question
    grid: Grid
    layout: Layout
    raising: bool
    first: Rows

    def task(self, block: Block) -> Task:
        """Return the work on a block, which holds no more than that needs."""
        part = self.grid.part(block.region)
        known = max(0, min(self.first.size, block.stop) - block.start)
        return Task(self.question.bare(), part, self.layout, self.raising, known)

    def whole(self, block: Block, rows: Rows) -> Rows:
        """Return what a block has, of what its task returned."""
        known = self.first.part(block.start, block.stop)
        return Rows.joined([known, rows]) if known.size else rows


@dataclass(frozen=True)
class Pilot:
    """What the first points came to: their rows, the layout of all, and how long one takes (s)."""

    layout: Layout
    seconds: float
    rows: Rows


def pieces(question: Question, grid: Grid, start: int, stop: int) -> Iterator[Piece]:
    """Yield what a question finds at the points of a grid from `start` to `stop`."""
    points = np.arange(start, stop)
    seeds = grid.seeds_at(points) if grid.seeds else []
    for where, found in question.ask(grid.columns(points), seeds, points.size):
        yield slice(start + where.start, start + where.stop), found


def gathered(
    spans: Iterable[Piece], layout: Layout, grid: Grid, start: int, stop: int, *, raising: bool
) -> Rows:
    """Return as rows what was found at points from `start` to `stop`.

    Raises
    ------
    QuantityError, DomainError, ScenarioError, UnsupportedError, SolverError
        If a point has no result, and that is not to be kept.
    """
    rows, answered = Rows.blank(layout, stop - start, _core.simd()), 0
    for place, what in spans:
        where = slice(place.start - start, place.stop - start)
        answered += place.stop - place.start
        if isinstance(what, Exception):
            if raising:
                raise located(what, grid, place.start)
            sentence = str(what)
        else:
            outcome = what[0]
            sentence = layout.refusal(outcome)
            if sentence and raising:
                raise located(QuantityError(sentence), grid, place.start)
            for name, column in () if sentence else outcome.values.items():
                rows.values[name][where] = column.values
        if sentence:
            rows.refuse(where, sentence)
    assert answered == rows.size, "a question is to say something of every point"
    rows.remark()
    return rows


def located(error: Exception, grid: Grid, point: int) -> Exception:
    """Return an error that says at which point it is."""
    return type(error)(f"at {grid.describe(point)}: {error}")


def fly(question: Question, grid: Grid, *, raising: bool, patience: float = _PATIENCE) -> Pilot:
    """Ask the first points, ever more of them, until one has a result and time has passed.

    Raises
    ------
    QuantityError, DomainError, ScenarioError, UnsupportedError, SolverError
        If a point has no result, and that is not to be kept, or if none has.
    """
    with listening() as heard:
        layout, known, seconds = _ask_first(question, grid, heard, patience, raising=raising)
        stop = known[-1][0].stop
        rows = gathered(known, layout, grid, 0, stop, raising=raising)
    return Pilot(layout, seconds, rows._replace(warned=tuple(heard.notes.items())))


def _ask_first(
    question: Question, grid: Grid, heard: Heard, patience: float, *, raising: bool
) -> tuple[Layout, list[Piece], float]:
    layout: Layout | None = None
    known: list[Piece] = []
    start, count = 0, 1
    while True:
        stop = min(start + count, grid.size)
        begun = time.perf_counter()
        for where, found in heard.of(pieces(question, grid, start, stop)):
            known.append((where, found))
            if not isinstance(found, Exception):
                layout = layout or Layout.of(*found)
            elif raising:
                raise located(found, grid, where.start)
        passed = time.perf_counter() - begun
        enough = passed >= (patience if start else _FIRST * patience)
        if layout is not None and (enough or stop == grid.size):
            return layout, known, passed / (stop - start)
        if stop == grid.size:
            where, error = known[0]
            assert isinstance(error, Exception)
            raise type(error)(
                f"no point of the sweep has a result; {located(error, grid, where.start)}"
            )
        # One worker does all this: no more than is needed, so that the others begin.
        factor = 1.25 * patience / max(passed, 1e-9)
        start, count = stop, math.ceil(count * min(max(2.0, factor), _GROWTH))


def chunk_shape(shape: tuple[int, ...], pilot: Pilot, workers: int) -> tuple[int, ...]:
    """Return the shape of blocks of about a second, and not fewer than there are workers.

    Of more than fifty workers blocks are longer, so that who writes them keeps up.
    """
    bytes_each = 8 * sum(prod(slot.shape) for slot in pilot.layout.slots.values())
    points = prod(shape)
    seconds = points * pilot.seconds
    length = max(_SECONDS, workers * _SECONDS_EACH)
    # As many for each worker, so that none waits for another at the end.
    blocks = workers * max(1, round(seconds / workers / length))
    wanted = min(math.ceil(points / blocks), _MOST_BYTES // max(bytes_each, 1))
    return fitted(shape, max(1, wanted))


def fitted(shape: tuple[int, ...], wanted: int) -> tuple[int, ...]:
    """Return the shape of a box of at most `wanted` consecutive points, the last dims whole.

    Examples
    --------
    >>> fitted((10, 4, 5), 12), fitted((10, 4, 5), 50), fitted((10, 4, 5), 3)
    ((1, 2, 5), (2, 4, 5), (1, 1, 3))
    """
    chunk = [1] * len(shape)
    for axis in reversed(range(len(shape))):
        chunk[axis] = max(1, min(shape[axis], wanted))
        wanted //= chunk[axis]
        if chunk[axis] < shape[axis]:
            break
    return tuple(chunk)


def blocks_of(shape: tuple[int, ...], chunk: tuple[int, ...]) -> list[Block]:
    """Return the blocks of an array, in order; only the last along a dim may be shorter.

    Examples
    --------
    >>> [(block.start, block.stop) for block in blocks_of((2, 3), (1, 2))]
    [(0, 2), (2, 3), (3, 5), (5, 6)]
    """
    steps = [range(0, size, step) for size, step in zip(shape, chunk, strict=True)]
    found = []
    begin = 0
    for corner in np.ndindex(*map(len, steps)):
        region = tuple(
            slice(step[place], min(step[place] + size, whole))
            for step, place, size, whole in zip(steps, corner, chunk, shape, strict=True)
        )
        count = prod(part.stop - part.start for part in region)
        found.append(Block(begin, begin + count, region))
        begin += count
    return found
