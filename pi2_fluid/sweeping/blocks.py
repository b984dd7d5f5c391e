"""Blocks: consecutive points that a worker takes at once, about a second of work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid import _core
from pi2_fluid.errors import QuantityError
from pi2_fluid.sweeping.axes import Grid
from pi2_fluid.sweeping.outcomes import Layout, Rows
from pi2_fluid.sweeping.questions import Piece, Question

if TYPE_CHECKING:
    from pi2_fluid.values import IntArray

__all__ = ["Block", "Pilot", "Work", "blocks_of", "chunk_shape", "fly"]

_SECONDS: Final = 1.0
_PATIENCE: Final = 0.1  # s of a pilot, from where on its time says something
_MOST_BYTES: Final = 2**26


class Block(NamedTuple):
    """Points from `start` on, up to `stop`, and where in an array of all they go."""

    start: int
    stop: int
    region: tuple[slice, ...]


class Pilot(NamedTuple):
    """What the first points came to: the layout of all, and how long one takes (s)."""

    layout: Layout
    seconds: float


@dataclass(frozen=True)
class Work:
    """All that a worker needs to know, but which points are its own."""

    question: Question
    grid: Grid
    layout: Layout
    raising: bool

    def __call__(self, start: int, stop: int) -> Rows:
        """Return what the points from `start` to `stop` have.

        Raises
        ------
        QuantityError, DomainError, ScenarioError, UnsupportedError, SolverError
            If a point has no result, and that is not to be kept.
        """
        rows = Rows.empty(self.layout, stop - start, _core.simd())
        points = np.arange(start, stop)
        for where, found in pieces(self.question, self.grid, points):
            if isinstance(found, Exception):
                if self.raising:
                    raise located(found, self.grid, start + where.start)
                sentence = str(found)
            else:
                outcome = found[0]
                sentence = self.layout.refusal(outcome)
                if sentence and self.raising:
                    raise located(QuantityError(sentence), self.grid, start + where.start)
                for name, column in () if sentence else outcome.values.items():
                    rows.values[name][where] = column.values
            rows.errors[where] = [sentence] * (where.stop - where.start)
        rows.remark()
        return rows


def pieces(question: Question, grid: Grid, points: IntArray) -> Iterator[Piece]:
    """Yield what a question finds at some points of a grid."""
    seeds = grid.seeds_at(points) if grid.seeds else []
    yield from question.ask(grid.columns(points), seeds, points.size)


def located(error: Exception, grid: Grid, point: int) -> Exception:
    """Return an error that says at which point it is."""
    return type(error)(f"at {grid.describe(point)}: {error}")


def fly(question: Question, grid: Grid, *, raising: bool) -> Pilot:
    """Ask the first points, ever more of them, until one has a result and time has passed.

    Raises
    ------
    QuantityError, DomainError, ScenarioError, UnsupportedError, SolverError
        If a point has no result, and that is not to be kept, or if none has.
    """
    layout: Layout | None = None
    first: Exception | None = None
    start, count = 0, 1
    while True:
        stop = min(start + count, grid.size)
        begun = time.perf_counter()
        for where, found in pieces(question, grid, np.arange(start, stop)):
            if not isinstance(found, Exception):
                layout = layout or Layout.of(*found)
                continue
            first = first or located(found, grid, start + where.start)
            if raising:
                raise first
        passed = time.perf_counter() - begun
        seconds = passed / (stop - start)
        if layout is None and stop == grid.size:
            assert first is not None
            raise type(first)(f"no point of the sweep has a result; {first}")
        if layout is not None and (passed >= _PATIENCE or stop == grid.size):
            return Pilot(layout, seconds)
        start, count = stop, 2 * count


def chunk_shape(shape: tuple[int, ...], pilot: Pilot, workers: int) -> tuple[int, ...]:
    """Return the shape of blocks of about a second, and not fewer than there are workers."""
    bytes_each = 8 * sum(prod(slot.shape) for slot in pilot.layout.slots.values())
    wanted = min(
        _SECONDS / max(pilot.seconds, 1e-9),
        prod(shape) / workers,
        _MOST_BYTES / max(bytes_each, 1),
    )
    return fitted(shape, max(1, round(wanted)))


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
