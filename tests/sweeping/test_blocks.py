"""Blocks: how long they are, and the first points, which say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from pi2_fluid.sweeping import blocks
from pi2_fluid.sweeping.axes import Grid, read_axes
from pi2_fluid.sweeping.outcomes import Layout, Outcome, Rows, scalars
from pi2_fluid.sweeping.questions.question import Pointwise


@pytest.mark.parametrize(
    ("workers", "points"),
    [(1, 10), (50, 10), (1000, 200)],  # a second, but what one process has time to write
)
def test_many_workers_have_longer_blocks(workers: int, points: int) -> None:
    pilot = blocks.Pilot(Layout({}, {}), seconds=0.1, rows=Rows({}, 0, {}, ""))
    assert blocks.chunk_shape((10**6,), pilot, workers) == (points,)


class Timed(Pointwise):
    """Points that take a time by a clock of their own, the first longer."""

    kind: ClassVar[str] = "timed"

    def __init__(self, first: float, others: float) -> None:
        self.now, self.first, self.others = 0.0, first, others

    def at(self, values: Mapping[str, Any]) -> tuple[Outcome, frozenset[str]]:
        self.now += self.others if self.now else self.first
        return scalars(x=([values["x"]], "1", "x")), frozenset()

    def dimension(self, name: str) -> str:
        return "number"

    def parts(self) -> dict[str, object]:
        return {}

    def describe(self) -> dict[str, str]:
        return {}


@pytest.mark.parametrize(
    ("first", "others", "most"),
    [
        (0.5, 1e-3, 256),  # imports
        (1e-3, 1e-3, 256),
        (0.04, 0.04, 11),
        (3.0, 3.0, 1),  # a design, which is not asked for twice to know that it is slow
    ],
)
def test_the_first_points_say_how_long_others_take(
    monkeypatch: pytest.MonkeyPatch, first: float, others: float, most: int
) -> None:
    question = Timed(first, others)
    monkeypatch.setattr("time.perf_counter", lambda: question.now)
    grid = Grid(read_axes({"x": np.linspace(0.0, 1.0, 2_000)}, question.dimension))
    pilot = blocks.fly(question, grid, raising=True)
    assert pilot.seconds == pytest.approx(others)
    assert pilot.rows.size <= most
    assert pilot.rows.values["x"].tolist() == grid.axes[0].values[0][: pilot.rows.size].tolist()
