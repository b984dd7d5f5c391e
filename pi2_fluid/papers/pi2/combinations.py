"""Several Cubic flows beside several others, as in the PI2 paper's Figures 19 and 20."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.pi2.pairs import (
    DECISIONS,
    PAIRS,
    QUEUES,
    Runs,
    geometric_mean,
    pair_scenario,
    run_pair,
)
from pi2_fluid.papers.recipe import Case
from pi2_fluid.papers.words import quantity_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pi2_fluid.values import FloatArray

#: Flows of Cubic, and beside it.
COMBINATIONS: Final = (*((k, 10 - k) for k in range(11)), (1, 1), (10, 10))
_CAPACITY, _RTT = 40e6, 0.01
_SECONDS: Final = 120.0
#: The link of all of them, as notes say it.
LINK_TEXT: Final = f"Link {1e-6 * _CAPACITY:g} Mb/s, RTT {quantity_text(_RTT, 'time')}"
COMBINATION_DECISIONS: Final = (
    (
        "The text does not list the combinations. We take ten flows divided in every way, 1-1 and"
        " 10-10."
    ),
    f"Runs last {_SECONDS:g} s; the first third is left out.",
    *DECISIONS,
)


class Combination(NamedTuple):
    """One set-up."""

    queue: str
    pair: str
    counts: tuple[int, int]

    @property
    def name(self) -> str:
        """What its scenario is called."""
        return f"{self.queue}_{self.pair}_{self.counts[0]}_{self.counts[1]}"

    @property
    def mixed(self) -> bool:
        """Whether there are flows of both kinds."""
        return min(self.counts) > 0


_ALL: Final = tuple(
    Combination(queue, pair, counts)
    for queue in QUEUES
    for pair in PAIRS
    for counts in COMBINATIONS
)


def scenarios() -> dict[str, pf.Scenario]:
    """Return the scenario of every combination by its name."""
    return {
        at.name: pair_scenario(at.queue, at.pair, _CAPACITY, _RTT, at.counts, _SECONDS)
        for at in _ALL
    }


class Found(NamedTuple):
    """A combination and its runs."""

    at: Combination
    runs: Runs

    @property
    def ratio(self) -> FloatArray:
        """Rate of a Cubic flow over that of a flow of the other kind, (seeds,)."""
        return self.runs.ratio * (self.at.counts[1] / self.at.counts[0])


def runs_of(case: Case) -> list[Found]:
    """Run a figure's combinations, and return them."""
    return [Found(at, run_pair(case.scenarios[at.name], case.seeds)) for at in _ALL]


def shares_of(point: Found, kind: int) -> FloatArray:
    """Return what flows of a kind have over the fair share, (seeds, blocks, flows of the kind).

    Parameters
    ----------
    point : Found
    kind : int
        0 for Cubic, 1 for what is beside it.
    """
    # A kind without flows is no class of the scenario.
    owner = kind if point.at.mixed else 0
    there = np.array(point.runs.owners) == owner
    return point.runs.flow_rates[:, :, there & (point.at.counts[kind] > 0)]


def mean_over(points: Sequence[Found], queue: str, pair: str) -> FloatArray:
    """Return the geometric mean of the ratios of all combinations that have one, (seeds,)."""
    return geometric_mean(
        [
            point.ratio
            for point in points
            if (point.at.queue, point.at.pair) == (queue, pair) and point.at.mixed
        ]
    )


def label_combinations(axes: Sequence[Axes], counts: Sequence[Any]) -> None:
    """Name combinations on axes above each other."""
    for ax in axes:
        ax.set_xticks(range(len(counts)), [f"{a}-{b}" for a, b in counts], fontsize=8)
        ax.set_xlim(-0.5, len(counts) - 0.5)
        ax.grid(visible=True, axis="y")
        ax.tick_params(axis="x", labelbottom=ax is axes[-1])
    axes[-1].set_xlabel("flows: of Cubic - of the other kind")
