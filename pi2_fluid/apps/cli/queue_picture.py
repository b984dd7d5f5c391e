"""The picture of several queues under one traffic: delay over time, its distribution, who sends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.apps.cli.queue_report import ways_of

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from pi2_fluid.comparison.agreement.places import Place
    from pi2_fluid.comparison.queues.running import QueueComparison

_POINTS: Final = 120  # of a curve over time
_MOST_BANDS: Final = 4  # queues whose ranges over seeds can be told apart in one picture
_DASHES: Final = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
_TAIL: Final = 1e-3  # of packets, down to which the distribution is drawn
_EARLY: Final = 0.995  # of packets, from which on it is drawn
_SHORTEST: Final = 1e-4  # s, where axes of delays begin at the latest
_DECADES: Final = 200.0  # ratio of the ends of an axis, from which on 2 and 5 have no room
_OPACITY: Final = (0.9, 0.5, 0.3, 0.7, 0.18)  # of classes in a bar
_MARKS: Final = ("o", "s", "^", "D", "v")  # of classes
_APART: Final = 0.6  # of a row, which the classes take
_IN_A_ROW: Final = 7  # names of a legend
_LETTERS, _BESIDE = 125, 9  # in a row of names, and what stands beside each
_ROW: Final = 0.34  # inches of a bar


def draw_queues(comparison: QueueComparison, table: xarray.Dataset, title: str, path: Path) -> None:
    """Save queue delay over time, how many packets wait longer than what, and who got the link.

    Parameters
    ----------
    comparison : pi2_fluid.comparison.queues.running.QueueComparison
        All results.
    table : xarray.Dataset
        What `compare` makes of them.
    title : str
        Above the picture.
    path : Path
        Its ending says which kind of picture.
    """
    from matplotlib.figure import Figure

    from pi2_fluid.comparison.agreement.places import places_in
    from pi2_fluid.plot import page_style, save_picture, write_caption

    places = places_in(comparison.scenario)
    slowest = [
        float(table["value"].sel(name=f"delay_mean{place.suffix}").max()) for place in places
    ]
    place = places[int(np.argmax(slowest))]  # of several links the one that matters most
    with page_style():
        rows = len(comparison.runs) * _ROW
        figure = Figure(figsize=(9.0, 4.9 + rows))
        grid = figure.add_gridspec(2, 2, width_ratios=[1.6, 1.0], height_ratios=[3.2, 0.7 + rows])
        delays = figure.add_subplot(grid[0, 0])
        _draw_delays(delays, comparison, place)
        _name_above(delays)
        _draw_tail(figure.add_subplot(grid[0, 1]), comparison, place)
        shares = figure.add_subplot(grid[1, 0])
        levels = figure.add_subplot(grid[1, 1], sharey=shares)
        _draw_levels(levels, table, place, comparison.scenario.class_names)
        _draw_shares(shares, table)
        shares.set_ylim(len(comparison.runs) - 0.5, -0.5)
        levels.tick_params(labelleft=False)
        write_caption(figure, title, note=_note(comparison, place))
        save_picture(figure, path)


def _pens(count: int) -> list[dict[str, Any]]:
    """Return colours, and dashes for those who do not see them."""
    from pi2_fluid.plot import COLORS

    return [
        {
            "color": COLORS[(k + 1) % len(COLORS)],
            "linestyle": _DASHES[(k // len(COLORS) + k) % len(_DASHES)],
        }
        for k in range(count)
    ]


def _draw_delays(ax: Axes, comparison: QueueComparison, place: Place) -> None:
    from pi2_fluid.comparison.agreement.curves import stretch_means
    from pi2_fluid.comparison.agreement.places import at_place
    from pi2_fluid.plot import scale_root

    width = float(comparison.scenario.duration) / _POINTS
    for run, pen in zip(comparison.runs, _pens(len(comparison.runs)), strict=True):
        time, delay = stretch_means(_slower(at_place(run.result, place)), "delay", width)
        runs = 1e3 * np.atleast_2d(delay)
        ax.plot(time, np.median(runs, axis=0), label=run.label, linewidth=1.4, zorder=3, **pen)
        if len(comparison.runs) <= _MOST_BANDS:
            low, high = runs.min(axis=0), runs.max(axis=0)
            ax.fill_between(time, low, high, color=pen["color"], alpha=0.16, linewidth=0)
    ax.axvspan(0.0, comparison.after, color="0.5", alpha=0.08, linewidth=0)
    ax.set_xlim(0.0, float(comparison.scenario.duration))
    ax.set(xlabel="time [s]", ylabel="queue delay [ms]\n(square-root scale)")
    scale_root(ax, max(1.0, 1.05 * ax.get_ylim()[1]))
    ax.grid(visible=True)


def _slower(result: xarray.Dataset) -> xarray.Dataset:
    """Return a result of one delay: that of its only band, or of the one in which it is larger."""
    from pi2_fluid.results.schema import schema_of

    if "band" not in result["queue_delay"].dims:
        return result.assign(delay=result["queue_delay"])
    delay = result[schema_of(result).waited]
    over_time = delay.mean([dim for dim in delay.dims if dim != "band"]).to_numpy()
    slower = result.isel(band=int(over_time.argmax()))
    return slower.assign(delay=slower[schema_of(result).waited])


def _draw_tail(ax: Axes, comparison: QueueComparison, place: Place) -> None:
    from pi2_fluid.comparison.agreement.curves import delay_distribution
    from pi2_fluid.comparison.agreement.places import at_place

    ends = []
    for run, pen in zip(comparison.runs, _pens(len(comparison.runs)), strict=True):
        x, below = delay_distribution(at_place(run.result, place), comparison.after)
        above = 1.0 - np.atleast_2d(below).mean(axis=0)
        seen = above >= _TAIL
        seen[1:] |= seen[:-1]  # and down to where it leaves the picture
        ax.plot(1e3 * x[seen], 100.0 * np.maximum(above[seen], 0.5 * _TAIL), linewidth=1.4, **pen)
        early = np.flatnonzero(above < _EARLY)
        ends += [x[early[0]] if early.size else x[-1], x[seen][-1] if seen.any() else x[0]]
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlim(1e3 * max(min(ends), _SHORTEST), 1.1e3 * max(*ends, 2.0 * _SHORTEST))
    ax.set_ylim(100.0 * _TAIL, 110.0)
    ax.set_yticks([100, 10, 1, 0.1], ["100", "10", "1", "0.1"])
    _count_plainly(ax)
    ax.set(xlabel="queue delay [ms]", ylabel="packets that wait longer [%]")
    ax.grid(visible=True)


def _draw_shares(ax: Axes, table: xarray.Dataset) -> None:
    """Draw of each queue how much each class gets, one behind the other."""
    from matplotlib.patches import Patch

    names = [str(name) for name in table["name"].to_numpy() if name.startswith("throughput.")]
    rows, left = np.arange(table.sizes["queue"]), np.zeros(table.sizes["queue"])
    colors = [pen["color"] for pen in _pens(table.sizes["queue"])]
    for name, opacity in zip(names, cycle(_OPACITY)):
        rate = 1e-6 * table["value"].sel(name=name).to_numpy()
        ax.barh(rows, rate, 0.7, left, color=colors, alpha=opacity, edgecolor="white")
        left += rate
    ax.set(xlabel="throughput [Mbit/s]", xlim=(0.0, 1.02 * max(*left, 1e-9)))
    ax.set_yticks(rows, [str(label) for label in table["queue"].to_numpy()])
    if len(names) > 1:
        handles = [
            Patch(color="0.25", alpha=opacity, label=name.partition(".")[2])
            for name, opacity in zip(names, cycle(_OPACITY))
        ]
        _put_above(ax, handles)
    ax.grid(visible=True, axis="x")


def _draw_levels(ax: Axes, table: xarray.Dataset, place: Place, names: Sequence[str]) -> None:
    """Draw mean and 99 % of the delay in each queue, of each class where that is known."""
    from matplotlib.lines import Line2D

    known = {str(name) for name in table["name"].to_numpy()}
    classes = [name for name in names if f"delay_p99_of.{name}" in known]
    ends = [(f"delay_{level}_of.{of}", of) for of in classes for level in ("mean", "p99")]
    ends = ends or [(f"delay_{level}{place.suffix}", "all") for level in ("mean", "p99")]
    rows = np.arange(table.sizes["queue"])
    pens = _pens(table.sizes["queue"])
    shown = list(dict.fromkeys(of for _, of in ends))
    for name, of in ends:
        place_of = shown.index(of)
        off = (place_of - 0.5 * (len(shown) - 1)) * _APART / len(shown)
        at = table.sel(name=name)
        value, low, high = (1e3 * at[key].to_numpy() for key in ("value", "low", "high"))
        floor = 1e3 * _SHORTEST
        for row, pen in zip(rows, pens, strict=True):
            edges = np.nan_to_num([value[row] - low[row], high[row] - value[row]])
            edges[0] = min(edges[0], max(0.0, value[row] - floor))
            ax.errorbar(
                max(value[row], floor), row + off, xerr=edges[:, None], color=pen["color"],
                fmt=_MARKS[place_of % len(_MARKS)], markersize=5, capsize=2, elinewidth=1,
                fillstyle="none" if "mean" in name else "full",
            )  # fmt: skip
    ax.set_xscale("log")
    _count_plainly(ax)
    ax.set(xlabel="queue delay [ms]\nhollow: mean, full: P99")
    if len(shown) > 1:
        handles = [
            Line2D([], [], linestyle="", color="0.25", marker=mark, markersize=5, label=of)
            for of, mark in zip(shown, cycle(_MARKS))
        ]
        _put_above(ax, handles)
    ax.grid(visible=True)


def _name_above(ax: Axes) -> None:
    """Name the curves of the first axes above the whole picture, in as many rows as they need."""
    handles, labels = ax.get_legend_handles_labels()
    in_a_row = max(1, _LETTERS // (max(map(len, labels)) + _BESIDE))
    legend = ax.legend(
        handles, labels, loc="lower left", bbox_to_anchor=(-0.04, 1.0), ncols=in_a_row, fontsize=8,
        handlelength=2.6,
    )  # fmt: skip
    legend.set_in_layout(False)  # which would make the axes narrower: an empty title keeps its room
    ax.set_title("\n".join([" "] * -(-len(labels) // in_a_row)), fontsize=8.5)


def _put_above(ax: Axes, handles: Sequence[Any]) -> None:
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=(-0.04, 0.98), ncols=_IN_A_ROW,
        fontsize=8, columnspacing=1.0, handletextpad=0.3, handlelength=1.4,
    )  # fmt: skip


def _count_plainly(ax: Axes) -> None:
    """Write the delays of a logarithmic axis as people do: 0.5, 10, 200."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.xaxis.set_major_locator(LogLocator(subs=(1.0,)))
    low, high = ax.get_xlim()
    if high < _DECADES * low:
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _note(comparison: QueueComparison, place: Place) -> str:
    ways = [f"{', '.join(labels)}: {way}" for way, labels in ways_of(comparison).items()]
    curves = "Curves are medians of the seeds"
    if len(comparison.runs) <= _MOST_BANDS:
        curves += ", bands their range"
    where = f" of link {place.name}" if place.name else ""
    return (
        f"{'; '.join(ways)}. {curves}; bars and points means, with intervals of 95 %. All but the"
        f" curves over time begin at {comparison.after:g} s (shaded: before). Queue delay{where} of"
        " all packets."
    )
