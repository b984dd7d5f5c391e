"""The grid of links and round-trip times of the PI2 paper's Figures 15 to 18, and its pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.pi2.pairs import (
    DECISIONS,
    PAIR_NAMES,
    PAIRS,
    QUEUES,
    STYLES,
    Runs,
    pair_scenario,
    range_of,
    run_pair,
)
from pi2_fluid.papers.recipe import Case, Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

__all__ = [
    "BDP_LIMIT",
    "CAPACITIES",
    "GRID_DECISIONS",
    "LEGEND",
    "RTTS",
    "Found",
    "Point",
    "draw_panels",
    "draw_points",
    "label_grid",
    "points_of",
    "positions",
    "scenarios",
    "shade_beyond_limit",
    "tables_of",
]

#: Mbit/s and ms.
CAPACITIES: Final = (4, 12, 40, 120, 200)
RTTS: Final = (5, 10, 20, 50, 100)
#: Of a grid in a hurry.
_QUICK: Final = {(capacity, rtt) for capacity in (4, 40, 200) for rtt in (5, 20, 100)}
#: Bandwidth times round-trip time (bit), to which the testbed's kernel was limited.
BDP_LIMIT: Final = 8e6
GRID_DECISIONS: Final = (
    (
        "The text names links of 4 and 200 Mb/s; the steps between them, and the round-trip times,"
        f" {', '.join(map(str, RTTS))} ms, are ours."
    ),
    (
        "Runs last 20 sawteeth of Reno, at least 90 and at most 240 s, and their first third is"
        " left out."
    ),
    "The bandwidth-delay product of 1 MB is that of the path, without queue.",
    *DECISIONS,
)

#: Of a legend over lines that part the links.
LEGEND: Final[dict[str, Any]] = {
    "frameon": True, "framealpha": 1.0, "edgecolor": "none", "fontsize": 8,
}  # fmt: skip


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
        return 1e3 * self.capacity * self.rtt <= BDP_LIMIT


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
    found: Sequence[Found], quantities: Callable[[Runs], Mapping[str, FloatArray]]
) -> dict[str, Rows]:
    """Return curves over the round-trip time, median and range of the runs, and run by run.

    Parameters
    ----------
    found : sequence of Found
    quantities : callable
        Returns the wanted columns of a point's runs, (seeds,) each.
    """
    lines: dict[tuple[str, str, int], list[Found]] = {}
    for point in found:
        lines.setdefault(point.at[:3], []).append(point)
    middle, single = [], []
    for (queue, pair, capacity), points in lines.items():
        head = {"queue": queue, "pair": pair, "capacity_bit_s": 1e6 * capacity}
        rtts = 1e-3 * np.array([point.at.rtt for point in points])
        each = [quantities(point.runs) for point in points]
        values = {key: np.stack([one[key] for one in each]) for key in each[0]}
        columns: dict[str, FloatArray] = {}
        for key, runs in values.items():
            columns.update(range_of(key, runs))
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


# Pictures: links side by side, and within each of them the round-trip times.


def _places(rows: Rows) -> tuple[list[float], list[float]]:
    """Return which capacities and round-trip times there are."""
    return (
        sorted({float(row["capacity_bit_s"]) for row in rows}),
        sorted({float(rtt) for row in rows for rtt in row["base_rtt_s"]}),
    )


def positions(row: Mapping[str, Any], rows: Rows, shift: float = 0.0) -> FloatArray:
    """Return where a curve's points stand among those of all curves."""
    capacities, rtts = _places(rows)
    at = len(rtts) * capacities.index(row["capacity_bit_s"])
    return at + shift + np.arange(len(rtts), dtype=float)


def draw_points(
    ax: Axes,
    rows: Rows,
    columns: tuple[str, str, str],
    *,
    shift: float,
    style: Mapping[str, Any],
    label: str,
    scale: float = 1.0,
) -> None:
    """Draw one series: per link a line over the round-trip time, with bars.

    Parameters
    ----------
    ax : matplotlib Axes
    rows : sequence of mapping
        Curves of one series, one per link.
    columns : tuple of str
        What is drawn, and from where to where its bar reaches.
    shift : float
        To the right, so that series stand side by side.
    style : mapping
        Colour and marker.
    label : str
        For the legend.
    scale : float
        Of all values.
    """
    for k, row in enumerate(rows):
        at = positions(row, rows, shift)
        middle, low, high = (scale * np.asarray(row[name]) for name in columns)
        ax.vlines(at, low, high, color=style["color"], linewidth=1.0, zorder=2)
        ax.plot(
            at, middle, linewidth=0.6, markersize=3.8, zorder=3, label=label if k == 0 else None,
            **style,
        )  # fmt: skip


def draw_panels(
    figure: FigureBase,
    rows: Rows,
    columns: tuple[str, str, str],
    label: str,
    scale: float = 1.0,
    place: Literal["upper right", "lower left"] = "upper right",
) -> list[Axes]:
    """Draw both pairs under each queue, one below the other, and return the axes.

    `place` is that of the legend in the first of them; the other arguments are those of
    `draw_points`.
    """
    axes: list[Axes] = list(figure.subplots(len(QUEUES), 1, sharex=True, sharey=True))
    for ax, (queue, name) in zip(axes, QUEUES.items(), strict=True):
        for k, pair in enumerate(PAIRS):
            mine = [row for row in rows if (row["queue"], row["pair"]) == (queue, pair)]
            draw_points(
                ax, mine, columns, shift=0.26 * k - 0.13, style=STYLES[pair],
                label=PAIR_NAMES[pair], scale=scale,
            )  # fmt: skip
        ax.set_ylabel(f"{name}\n{label}")
    axes[0].legend(loc=place, ncols=2, **LEGEND)
    label_grid(axes, rows)
    shade_beyond_limit(axes, rows)
    return axes


def shade_beyond_limit(axes: Sequence[Axes], rows: Rows) -> None:
    """Shade where more is under way than the testbed's kernel carried."""
    places = {row["capacity_bit_s"]: row for row in rows}
    for row in places.values():
        beyond = row["capacity_bit_s"] * np.asarray(row["base_rtt_s"]) > BDP_LIMIT * (1.0 + 1e-9)
        for ax in axes:
            for at in positions(row, rows)[beyond]:
                ax.axvspan(at - 0.5, at + 0.5, color="0.92", linewidth=0, zorder=0)


def label_grid(axes: Sequence[Axes], rows: Rows) -> None:
    """Name links and round-trip times on axes above each other, and part the links."""
    capacities, rtts = _places(rows)
    count = len(rtts)
    for ax in axes:
        for k in range(1, len(capacities)):
            ax.axvline(count * k - 0.5, color="0.75", linewidth=0.7, zorder=0)
        ax.set_xlim(-0.5, count * len(capacities) - 0.5)
        ax.set_xticks(
            range(count * len(capacities)),
            [f"{1e3 * rtt:g}" for rtt in rtts] * len(capacities),
            fontsize=8,
        )
        ax.grid(visible=True, axis="y")
        ax.tick_params(axis="x", labelbottom=ax is axes[-1])
    for k, capacity in enumerate(capacities):
        axes[0].annotate(
            f"{1e-6 * capacity:g} Mb/s", (count * (k + 0.5) - 0.5, 1.0), (0, 2), va="bottom",
            ha="center", fontsize=9, xycoords=("data", "axes fraction"),
            textcoords="offset points",
        )  # fmt: skip
    axes[-1].set_xlabel("RTT of the path [ms]")
