"""The grid of links and round-trip times of the PI2 paper's Figures 15 to 18, and its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.pi2.pairs import (
    DECISIONS,
    PAIRS,
    QUEUES,
    Runs,
    pair_scenario,
    run_pair,
)
from pi2_fluid.papers.recipe import Case, Rows
from pi2_fluid.papers.runs import spread
from pi2_fluid.papers.words import quantity_text

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

#: Mbit/s and ms.
CAPACITIES: Final = (4, 12, 40, 120, 200)
RTTS: Final = (5, 10, 20, 50, 100)
#: Of a grid in a hurry.
_QUICK: Final = {(capacity, rtt) for capacity in (4, 40, 200) for rtt in (5, 20, 100)}
#: Bandwidth times round-trip time (bit), to which the testbed's kernel was limited.
BDP_LIMIT: Final = 8e6
LIMIT_TEXT: Final = quantity_text(BDP_LIMIT / 8.0, "size")
GRID_DECISIONS: Final = (
    (
        "The text names links of 4 and 200 Mb/s. We chose the links between them, and RTTs of"
        f" {', '.join(map(str, RTTS))} ms."
    ),
    "Runs last 20 sawteeth of Reno, from 90 to 240 s. Their first third is left out.",
    "The bandwidth-delay product of 1 MB is of the path without queue.",
    *DECISIONS,
)


def within_limit(capacity: int, rtt: int) -> bool:
    """Return whether a link (Mbit/s) and a round-trip time (ms) keep to `BDP_LIMIT`."""
    return 1e3 * capacity * rtt <= BDP_LIMIT


class Point(NamedTuple):
    """One point of the grid."""

    queue: str
    pair: str
    capacity: int
    """Mbit/s"""
    rtt: int
    """ms"""

    @property
    def name(self) -> str:
        """What its scenario is called."""
        return f"{self.queue}_{self.pair}_{self.capacity}mbit_{self.rtt}ms"

    @property
    def within_limit(self) -> bool:
        """Whether the testbed's kernel carried so much under way."""
        return within_limit(self.capacity, self.rtt)


_POINTS: Final = tuple(
    Point(queue, pair, capacity, rtt)
    for queue in QUEUES
    for pair in PAIRS
    for capacity in CAPACITIES
    for rtt in RTTS
)


def scenarios() -> dict[str, pf.Scenario]:
    """Return the scenario of every point by its name."""
    return {
        at.name: pair_scenario(at.queue, at.pair, 1e6 * at.capacity, 1e-3 * at.rtt)
        for at in _POINTS
    }


class Found(NamedTuple):
    """A point and its runs."""

    at: Point
    runs: Runs


def points_of(case: Case) -> list[Found]:
    """Run a figure's grid, or where a few points are enough those, and return it."""
    wanted = [at for at in _POINTS if not case.quick or (at.capacity, at.rtt) in _QUICK]
    return [Found(at, run_pair(case.scenarios[at.name], case.seeds)) for at in wanted]


def tables_of(
    results: Sequence[Found], quantities: Callable[[Runs], Mapping[str, FloatArray]]
) -> dict[str, Rows]:
    """Return curves over the round-trip time, median and range of the runs, and run by run.

    Parameters
    ----------
    results : sequence of Found
    quantities : callable
        Returns the wanted columns of a point's runs, (seeds,) each.
    """
    lines: dict[tuple[str, str, int], list[Found]] = {}
    for point in results:
        lines.setdefault(point.at[:3], []).append(point)
    middle, single = [], []
    for (queue, pair, capacity), points in lines.items():
        head = {"queue": queue, "pair": pair, "capacity_bit_s": 1e6 * capacity}
        rtts = 1e-3 * np.array([point.at.rtt for point in points])
        each = [quantities(point.runs) for point in points]
        values = {key: np.stack([one[key] for one in each]) for key in each[0]}
        columns: dict[str, FloatArray] = {}
        for key, runs in values.items():
            stem = key.removesuffix("_s")
            columns.update(spread(stem, runs, key.removeprefix(stem), axis=-1))
        middle.append({**head, "base_rtt_s": rtts, **columns})
        seeds = next(iter(values.values())).shape[1]
        single.append(
            {
                **head,
                "base_rtt_s": np.repeat(rtts, seeds),
                "seed": np.tile(np.arange(1, seeds + 1), rtts.size),
                **{key: runs.ravel() for key, runs in values.items()},
            }
        )
    return {"": middle, "runs": single}
