"""Fluid, packets and the kernel side by side: the cells in which packets are least sure."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.errors import AssumptionWarning, UnsupportedError
from pi2_fluid.referee import references
from pi2_fluid.referee.cells import AFTER, Cell
from pi2_fluid.referee.judging import z_of_both
from pi2_fluid.referee.live_cells import LIVE_CELLS
from pi2_fluid.referee.measuring import LINK, measure, run
from pi2_fluid.referee.wording import name_of, value_text

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

#: Beyond this a z is no chance, of a hundred or two.
_FAR: Final = 3.0
_OF_LINK: Final = ("utilization", "delay_sd")
_OF_FLOWS: Final = (
    "delay_mean", "delay_p99", "drop_fraction", "mark_fraction", "window", "rate", "timeouts",
)  # fmt: skip
_QUANTILE: Final = "delay_p"
_FLUID: Final = {
    "utilization": "utilization",
    "delay_mean": "delay_mean",
    "drop_fraction": "drop_fraction",
    "mark_fraction": "mark_fraction",
}
_HEAD: Final = ("flows", "statistic", "fluid", "packets", "kernel", "packets − kernel", "z")


class Beside(NamedTuple):
    """One statistic of one cell."""

    cell: str
    group: str
    """Of flows; "" for the link and its queue."""
    statistic: str
    fluid: float | None
    """None: the fluid model has no such thing, or says that it does not hold here."""
    packets: FloatArray
    """Of each run."""
    kernel: FloatArray
    """Of each run."""

    @property
    def z(self) -> float | None:
        """The difference over its standard deviation; None of quantiles, which jump."""
        if self.statistic.startswith(_QUANTILE):
            return None
        return z_of_both(self.packets, self.kernel, self.difference)

    @property
    def difference(self) -> float:
        """Packets less kernel."""
        return float(self.packets.mean() - self.kernel.mean())


def compare_live(
    seeds: int = 20, threads: int | None = None, progress: Callable[[str], None] | None = None
) -> list[Beside]:
    """Return packets, simulated anew, and fluid beside what was measured of `LIVE_CELLS`."""
    say = progress or (lambda _: None)
    found = []
    for cell in LIVE_CELLS:
        say(f"simulating {cell.name}")
        found += _beside(cell, measure(run(cell, seeds, threads)), references.live(), _fluid(cell))
    return found


def _beside(
    cell: Cell,
    packets: Mapping[str, Mapping[str, Any]],
    kernel: Mapping[tuple[str, str], Mapping[str, Any]],
    fluid: Mapping[str, float],
) -> list[Beside]:
    first, *_ = cell.groups
    rows = [
        Beside(cell.name, LINK, name, fluid.get(name), packets[LINK][name],
               kernel[cell.name, first][name])
        for name in _OF_LINK
    ]  # fmt: skip
    one = len(cell.groups) == 1
    for group in cell.groups:
        for name in _OF_FLOWS:
            mine, its = packets[group][name], kernel[cell.name, group][name]
            # Of a single group the rate is the utilisation once more.
            if (
                (mine.any() or its.any())
                and not (one and name == "rate")
                and _says(cell, group, name)
            ):
                said = fluid.get(name) if one else None
                rows.append(Beside(cell.name, group, name, said, mine, its))
    return rows


def _says(cell: Cell, group: str, statistic: str) -> bool:
    """Return whether a statistic says something of its own.

    What never waits for an answer has no window, and of one group the rate is the utilisation.
    """
    if statistic == "rate":
        return len(cell.groups) > 1
    flow = cell.scenario.flows[cell.groups.index(group)]
    return statistic != "window" or flow.sender.constant_rate is None


def _fluid(cell: Cell) -> dict[str, float]:
    """Return what the fluid model says; nothing where an assumption of its does not hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", AssumptionWarning)
        try:
            found = pf.simulate(cell.scenario, pf.Fluid())
        except (AssumptionWarning, UnsupportedError):  # it has no CoDel
            return {}
    summary = pf.summarize(found, after=AFTER)
    return {name: float(summary[its]) for name, its in _FLUID.items()}


def far_apart(found: Sequence[Beside]) -> list[Beside]:
    """Return what differs by something else than chance."""
    return [row for row in found if row.z is not None and abs(row.z) > _FAR]


def side_by_side_markdown(beside: Sequence[Beside]) -> str:
    """Return a sentence on all and a table of each cell."""
    scores = [row.z for row in beside if row.z is not None]
    runs = len(beside[0].packets), len(beside[0].kernel)
    summary = (
        f"{references.live_source()}. {runs[0]} runs of packets, {runs[1]} of the kernel: mean ±"
        f" standard deviation of one run. Of {len(scores)} statistics {len(far_apart(beside))} have"
        f" a |z| above {_FAR:g}; the root mean square of z is"
        f" {float(np.sqrt(np.mean(np.square(scores)))):.2f}. An em dash: the fluid model has no"
        " such statistic or queue, or warns that an assumption does not hold; quantiles have no z."
    )
    parts = [summary]
    for cell in LIVE_CELLS:
        rows = [row for row in beside if row.cell == cell.name]
        parts += [f"*{cell.title}* (`{cell.name}`). {cell.remark}".strip(), _table(rows)]
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[Beside]) -> str:
    lines = [_HEAD, tuple("---" for _ in _HEAD), *map(_row, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(row: Beside) -> tuple[str, ...]:
    far = row.z is not None and abs(row.z) > _FAR
    score = "—" if row.z is None else f"{row.z:+.1f}"
    return (
        row.group or "—",
        name_of(row.statistic),
        "—" if row.fluid is None else value_text(row.statistic, row.fluid),
        _with_scatter(row.statistic, row.packets),
        _with_scatter(row.statistic, row.kernel),
        _error(row),
        f"**{score}**" if far else score,
    )


def _with_scatter(statistic: str, values: FloatArray) -> str:
    return (
        f"{value_text(statistic, float(values.mean()))} ±"
        f" {value_text(statistic, float(values.std(ddof=1)))}"
    )


def _error(row: Beside) -> str:
    if row.statistic == "utilization":
        return f"{100 * row.difference:+.2f} points"
    mean = float(row.kernel.mean())
    return (
        f"{100 * row.difference / mean:+.1f} %"
        if mean
        else value_text(row.statistic, row.difference)
    )
