"""What Figure 15 of the PI2 paper would be with other senders and queues, beside the fluid."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.pi2.grid_axes import LEGEND, Grid, draw_points, label_grid, positions
from pi2_fluid.papers.pi2.pairs import pair_scenario, run_pair
from pi2_fluid.papers.recipe import Caption, Case, Measured, Rows
from pi2_fluid.papers.runs import spread
from pi2_fluid.papers.words import share_text
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

#: Mbit/s and ms.
_CAPACITIES: Final = (4, 12, 40, 120)
_RTTS: Final = (5, 20, 100)
_GRID: Final = Grid(_CAPACITIES, _RTTS)
_QUICK: Final = (4, 40)  # Mbit/s
_MARK_LIMIT: Final = 0.1  # of PIE as in Linux
_APART: Final = 1.25  # ratio of the two halves, from which a run is called unsettled


class _Line(NamedTuple):
    label: str
    aqm: pf.Aqm
    scalable: pf.Sender
    style: dict[str, Any]


def _lines() -> dict[str, _Line]:
    pie, coupled = (pf.named_scenario(f"pi2_coexistence_{name}").aqm for name in ("pie", "coupled"))
    rfc, linux = pf.Dctcp(variant="rfc8257"), pf.Dctcp()
    marks: Any = {"mark_limit": _MARK_LIMIT}
    return {
        "pie": _Line(
            f"PIE that marks up to {share_text(_MARK_LIMIT)}",
            dataclasses.replace(pie, **marks),
            rfc,
            {"color": COLORS[2], "marker": "s"},
        ),
        "coupled": _Line("PI2", coupled, rfc, {"color": COLORS[1], "marker": "o"}),
        "coupled_linux": _Line(
            "PI2, DCTCP of Linux today", coupled, linux, {"color": COLORS[6], "marker": "D"}
        ),
        "dualpi2": _Line("DualPI2", pf.DualPi2(), rfc, {"color": COLORS[3], "marker": "^"}),
    }


#: Queues and their Scalable senders.
LINES: Final = _lines()
#: What they share the link with.
CLASSIC: Final[Mapping[str, tuple[str, pf.Sender]]] = {
    "cubic": ("Cubic", pf.Cubic(variant="linux3.18")),
    "reno": ("Reno", pf.Reno()),
}


def _name(classic: str, line: str, capacity: int, rtt: int) -> str:
    return f"more_{line}_{classic}_{capacity}mbit_{rtt}ms"


def _scenario(classic: str, line: str, capacity: int, rtt: int) -> pf.Scenario:
    paper = pair_scenario("pi2", "dctcp", 1e6 * capacity, 1e-3 * rtt)
    senders = (CLASSIC[classic][1], LINES[line].scalable)
    flows = tuple(
        dataclasses.replace(flow, sender=sender, name=name)
        for flow, sender, name in zip(paper.flows, senders, ("classic", "scalable"), strict=True)
    )
    return dataclasses.replace(paper, flows=flows, aqm=LINES[line].aqm)


def scenarios() -> dict[str, pf.Scenario]:
    """Return the scenario of every point by its name."""
    return {
        _name(classic, line, capacity, rtt): _scenario(classic, line, capacity, rtt)
        for classic in CLASSIC
        for line in LINES
        for capacity in _CAPACITIES
        for rtt in _RTTS
    }


def curves(case: Case) -> Rows:
    """Return the balances, one mapping of columns per pair of senders, queue and capacity."""
    return [
        _curve(case, classic, line, capacity)
        for classic in CLASSIC
        for line in LINES
        for capacity in (_QUICK if case.quick else _CAPACITIES)
    ]


def _curve(case: Case, classic: str, line: str, capacity: int) -> dict[str, Any]:
    there = [case.scenarios[_name(classic, line, capacity, rtt)] for rtt in _RTTS]
    runs = [run_pair(scenario, case.seeds) for scenario in there]
    return {
        "classic": classic,
        "line": line,
        "capacity_bit_s": 1e6 * capacity,
        "base_rtt_s": 1e-3 * np.array(_RTTS),
        **spread("ratio", np.stack([run.ratio for run in runs]), axis=-1),
        "ratio_fluid": np.array([_at_rest(scenario) for scenario in there]),
        "settled": np.array([float(is_settled(*run.half_ratios)) for run in runs]),
    }


def is_settled(early: FloatArray, late: FloatArray) -> bool:
    """Whether the medians of two halves of runs are alike: within a factor 1.25."""
    return bool(abs(np.log(np.median(late) / np.median(early))) < np.log(_APART))


def _at_rest(scenario: pf.Scenario) -> float:
    """Return the ratio of the rates at the fluid's operating point, 0 if it has none."""
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        try:
            rest = pf.equilibrium(scenario.flows, scenario.aqm, scenario.link.capacity)
        except pf.DomainError:  # more than the link carries, however much is signalled
            return 0.0
    return float(rest.rate[0] / rest.rate[1])


def draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    """Draw the page, and return its words."""
    rows = measured.tables["more"]
    axes: Any = figure.subplots(len(CLASSIC), 1, sharex=True)
    for ax, (classic, (name, *_sender)) in zip(axes, CLASSIC.items(), strict=True):
        _draw_balance(ax, [row for row in rows if row["classic"] == classic])
        ax.set(yscale="log", ylim=(0.02, 40.0))
        ax.set_ylabel(f"{name} / DCTCP\nrate of a flow")
    label_ratios(axes)
    label_grid(axes, _GRID)
    axes[0].plot([], [], color="black", linewidth=1.2, label="fluid, settled")
    names = axes[0].get_legend_handles_labels()
    axes[1].legend(*names, loc="upper right", ncols=5, **LEGEND)
    return Caption(
        "With the DCTCP of Linux today PI2's balance is lost at large windows; DualPI2, with a"
        " queue for each, favours Classic flows on slow links",
        note="DCTCP of RFC 8257 unless said otherwise. Marks: medians of the seeds; bars: their"
        f" range. Hollow: the halves of the run differ by a factor of {_APART:g} or more.",
    )


def _draw_balance(ax: Axes, rows: Rows) -> None:
    for k, (line, (label, _, _, style)) in enumerate(LINES.items()):
        mine = [row for row in rows if row["line"] == line]
        shift = 0.19 * (k - 0.5 * (len(LINES) - 1))
        columns = ("ratio", "ratio_low", "ratio_high")
        draw_points(ax, mine, columns, shift=shift, grid=_GRID, style=style, label=label)
        for row in mine:
            at = positions(row, _GRID) + shift
            swings = row["settled"] == 0.0
            ax.plot(
                at[swings], row["ratio"][swings], linestyle="", markersize=3.8, zorder=4,
                markerfacecolor="white", **style,
            )  # fmt: skip
            rest = row["ratio_fluid"] > 0.0
            ax.hlines(
                row["ratio_fluid"][rest], at[rest] - 0.09, at[rest] + 0.09, color="black",
                linewidth=1.2, zorder=5,
            )  # fmt: skip
    ax.axhline(1.0, color="0.4", linewidth=0.8, zorder=1)


def label_ratios(axes: Sequence[Axes]) -> None:
    """Number the logarithmic axes of ratios at 1, 3, 10 and their inverses."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    for ax in axes:
        ax.yaxis.set_major_locator(FixedLocator([0.03, 0.1, 0.3, 1, 3, 10, 30]))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_locator(NullLocator())
