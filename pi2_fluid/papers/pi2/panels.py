"""How the experiments of the PI2 paper are drawn: whole runs, and the seconds after each change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from pi2_fluid.plot import COLORS, draw_fluid, draw_runs, scale_root

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray

#: What the paper calls its queues; and one of ours.
NAMES: Final = {"pi": "PI", "pie": "PIE", "pi2": "PI2", "uncapped": "PI2 without cap"}
#: Colours of the paper's queues, as in its other figures here.
LINE_COLORS: Final = {
    "pi": COLORS[3],
    "pie": COLORS[2],
    "pi2": COLORS[1],
    "uncapped": COLORS[4],
}
# What tells curves apart where queues share their axes, also without colours.
_MARKERS: Final[dict[str, dict[str, Any]]] = {
    line: {"marker": marker, "markersize": 3.5, "markevery": (offset, 20)}
    for line, marker, offset in (
        ("pi", "s", 5), ("pie", "o", 10), ("pi2", "^", 15), ("uncapped", "D", 19),
    )
}  # fmt: skip
_DELAY: Final = "queue delay [ms]\n(square-root axis)"
_PACKETS: Final = "packets, median and range"

_Place = Literal["upper right", "lower right", "center"]
_Curves = Sequence[Mapping[str, Any]]


def draw_whole(
    figure: FigureBase,
    cases: Mapping[str, _Curves],
    begins: Sequence[float],
    highest: float,
    *,
    throughput: bool = True,
) -> NDArray[np.object_]:
    """Draw a column per case: the delay of each queue and, below, what the link carries.

    Parameters
    ----------
    figure : matplotlib Figure or SubFigure
    cases : mapping of title to sequence of mapping
        Curves, as `whole_run` returns them, of the same queues in each case.
    begins : sequence of float
        Instants (s) that the time axis names.
    highest : float
        Upper end of the delay axes (s).
    throughput : bool, default True
        Whether there is a row of it.

    Returns
    -------
    array of matplotlib Axes
        By row and column.
    """
    lines = next(iter(cases.values()))
    count = len(lines) + throughput
    grid: Any = figure.subplots(count, len(cases), sharex=True, sharey="row", squeeze=False)
    axes: NDArray[np.object_] = grid
    for column, (title, rows) in enumerate(cases.items()):
        for k, row in enumerate(rows):
            _draw_delay(axes[k, column], row["time_s"], row)
            if throughput:
                _draw_throughput(axes[-1, column], row)
        end = _end(rows[0]["time_s"])
        axes[0, column].set_title(title, fontsize=9.5)
        axes[-1, column].set(xlabel="s after the first flow", xlim=(0.0, end))
        axes[-1, column].set_xticks([*(at for at in begins if at < end), end])
    for k, row in enumerate(lines):
        axes[k, 0].set_ylabel(f"{NAMES[row['line']]}\n{_DELAY}", fontsize=9)
        scale_root(axes[k, 0], 1e3 * highest)
    if throughput:
        axes[-1, 0].set_ylabel("throughput\n[Mbit/s]", fontsize=9)
        axes[-1, 0].set_ylim(bottom=0.0)
    for ax in grid.flat:
        ax.grid(visible=True)
    return axes


def share_legend(
    ax: Axes,
    lines: Sequence[str] = (),
    *,
    kinds: bool = True,
    loc: _Place = "upper right",
    ncols: int = 1,
) -> None:
    """Say whose colours there are, if several share the axes, and what bands and dashes are."""
    for line in lines:
        marked = _MARKERS[line] | {"markevery": 1}
        ax.plot([], [], color=LINE_COLORS[line], label=NAMES[line], **marked)
    if kinds:
        ax.fill_between([], [], color="0.7", label=_PACKETS)
        draw_fluid(ax, np.array([]), np.array([]), "black", "fluid")
    ax.legend(loc=loc, ncols=ncols, fontsize=8)


def draw_transients(
    figure: FigureBase,
    columns: Mapping[str, tuple[_Curves, _Curves]],
    highest: float,
    most: float,
) -> NDArray[np.object_]:
    """Draw the seconds after each change, a column each, and below which part is dropped.

    Parameters
    ----------
    figure : matplotlib Figure or SubFigure
    columns : mapping of title to (sequence of mapping, sequence of mapping)
        Curves of the same queues, as `transients` and `losses` return them; where all columns have
        the same losses, these are of the whole run, and drawn once.
    highest : float
        Upper end of the delay axes (s); what is higher is cut off, and its peak written there.
    most : float
        Upper end of the axes of losses.

    Returns
    -------
    array of matplotlib Axes
        Of the delays, by row and column.
    """
    queues = list(dict.fromkeys(row["line"] for rows, _ in columns.values() for row in rows))
    grid: Any = figure.add_gridspec(len(queues) + 1, len(columns))
    axes: NDArray[np.object_] = np.empty((len(queues), len(columns)), dtype=object)
    for column, (title, (rows, _)) in enumerate(columns.items()):
        for k, queue in enumerate(queues):
            share = axes[0, 0]
            ax = axes[k, column] = figure.add_subplot(grid[k, column], sharex=share, sharey=share)
            for row in (row for row in rows if row["line"] == queue):
                _draw_delay(ax, row["after_s"], row)
                _say_margin(ax, row, highest)
            ax.tick_params(labelleft=column == 0, labelbottom=k == len(queues) - 1)
            ax.grid(visible=True)
        axes[0, column].set_title(title, fontsize=9.5)
        since = "first flow" if rows[0]["stage"].startswith("0 ") else "change"
        axes[-1, column].set_xlabel(f"s after the {since}")
        axes[0, column].set_xlim(0.0, _end(rows[0]["after_s"]))
    for k, queue in enumerate(queues):
        axes[k, 0].set_ylabel(f"{NAMES[queue]}\n{_DELAY}", fontsize=9)
        scale_root(axes[k, 0], 1e3 * highest)
    lost = [found for _, found in columns.values()]
    once = all(found is lost[0] for found in lost)
    places = [grid[-1, :]] if once else [grid[-1, k] for k in range(len(columns))]
    first: Any = None
    for place, found in zip(places, lost, strict=False):
        ax = figure.add_subplot(place, sharey=first)
        first = first or ax
        _draw_losses(ax, found)
        ax.tick_params(labelleft=ax is first)
    first.set_ylim(0.0, 100.0 * most)
    first.set_ylabel("packets\nlost [%]", fontsize=9)
    share_legend(first, queues, ncols=5 if once else 1)
    return axes


def draw_stages(
    figure: FigureBase, tables: Mapping[str, _Curves], highest: float, most: float
) -> None:
    """Draw the transients of one scenario, a column for each of its stages.

    `tables` has them as "transients", with the stage of each, and "losses"; the other arguments are
    those of `draw_transients`.
    """
    rows = tables["transients"]
    columns = {
        stage: ([row for row in rows if row["stage"] == stage], tables["losses"])
        for stage in dict.fromkeys(row["stage"] for row in rows)
    }
    draw_transients(figure, columns, highest=highest, most=most)


def _draw_delay(ax: Axes, time: FloatArray, row: Mapping[str, Any]) -> None:
    runs = [row[f"queue_delay{which}_s"] for which in ("_low", "", "_high")]
    draw_runs(ax, time, 1e3 * np.array(runs), LINE_COLORS[row["line"]])
    draw_fluid(ax, time, 1e3 * row["queue_delay_fluid_s"], "black")


def _draw_throughput(ax: Axes, row: Mapping[str, Any]) -> None:
    runs = [row[f"throughput{which}_bit_s"] for which in ("_low", "", "_high")]
    color = LINE_COLORS[row["line"]]
    _, line = draw_runs(ax, row["time_s"], 1e-6 * np.array(runs), color)
    line.set(**_MARKERS[row["line"]])
    draw_fluid(ax, row["time_s"], 1e-6 * row["throughput_fluid_bit_s"], color)


def _draw_losses(ax: Axes, rows: _Curves) -> None:
    for row in rows:
        runs = [row[f"lost{which}"] for which in ("_low", "", "_high")]
        color = LINE_COLORS[row["line"]]
        _, line = draw_runs(ax, row["time_s"], 100.0 * np.array(runs), color)
        line.set(**_MARKERS[row["line"]])
        draw_fluid(ax, row["time_s"], 100.0 * row["lost_fluid"], color)
    ax.set(xlabel="s after the first flow", xlim=(0.0, _end(rows[0]["time_s"])))
    ax.grid(visible=True)


def _say_margin(ax: Axes, row: Mapping[str, Any], highest: float) -> None:
    """Write the loop's margin, and the fluid's peak if it is cut off."""
    said = [row["margin"]] if row["margin"] else []
    peak = float(np.max(row["queue_delay_fluid_s"], initial=0.0))
    if peak > highest:
        said.append(f"fluid up to {peak:.1f} s")
    ax.annotate(
        ", ".join(said), (1, 1), (-2, -2), ha="right", va="top", xycoords="axes fraction",
        textcoords="offset points", fontsize=8, color=LINE_COLORS[row["line"]],
    )  # fmt: skip


def peaks_text(peaks: _Curves, width: float) -> str:
    """Return the peaks of means over `width` (s), of packets and fluid, queue by queue.

    Examples
    --------
    >>> peaks_text(
    ...     [{"line": "pie", "mean_over_s": 0.1, "peak_s": 0.4694, "peak_fluid_s": 0.39}], 0.1
    ... )
    'PIE 469 (fluid 390) ms'
    """
    said: dict[str, list[str]] = {}
    for peak in (peak for peak in peaks if peak["mean_over_s"] == width):
        text = f"{1e3 * peak['peak_s']:.0f} (fluid {1e3 * peak['peak_fluid_s']:.0f})"
        said.setdefault(NAMES[peak["line"]], []).append(text)
    return f"{'; '.join(f'{name} ' + ', '.join(texts) for name, texts in said.items())} ms"


def _end(time: FloatArray) -> float:
    return float(time[-1] + 0.5 * (time[1] - time[0]))
