"""The picture of Figures 5 and 10 of Paganini and others: packets, and their fluid dashed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.paganini.joining import BIN, MIDDLE, STAGE
from pi2_fluid.papers.words import quantity_text, share_text
from pi2_fluid.plot import COLORS
from pi2_fluid.plot.pairs import draw_fluid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.papers.recipe import Case, Measured, Rows

#: Of the page (in).
SIZE: Final = (9.4, 6.8)
#: Of the five paths.
_STYLES: Final = ("-", "--", "-.", ":", (0, (5, 1)))
_STATED_USE: Final = 0.95  # of the capacity
#: What the notes say of its lines.
KEY: Final = (
    f"Packets: median and range of the runs; of flows {share_text(MIDDLE)} in the band. Dashed: the"
    " fluid, and rates at the operating points. Percentages: packets marked"
)
_LEAST: Final = 0.1  # packets, where the logarithmic axis of the queue ends


def draw_page(
    figure: FigureBase, measured: Measured, case: Case, stated_queue: float | None = None
) -> None:
    """Draw rates, price, queue and utilization; and a queue (packets) that the paper states."""
    axes: Any = figure.subplots(2, 2, sharex=True)
    (link,), each = measured.tables["link"], measured.tables["stages"]
    _draw_rates(axes[0][0], measured.tables[""], each)
    _draw_prices(axes[0][1], link, each)
    _draw_queue(axes[1][0], link, None if case.changed else stated_queue)
    _draw_utilization(axes[1][1], link)
    if not case.changed:
        label = f"stated: {share_text(_STATED_USE)}"
        axes[1][1].axhline(
            100.0 * _STATED_USE, color="0.3", linewidth=0.9, linestyle=":", label=label
        )
    axes[1][1].legend(loc="lower right")
    for ax in axes.flat:
        ax.grid(visible=True)
        ax.set_xlim(0.0, link["time_s"][-1])
    for ax in axes[1]:
        ax.set_xlabel("time [s]")


def _draw_rates(ax: Axes, rows: Rows, stages: Rows) -> None:
    """Draw the mean flow of each class second by second, and between which 90 % of them are."""
    for number, row in enumerate(rows):
        color = COLORS[number % len(COLORS)]
        ax.fill_between(
            row["time_s"], row["rate_p5_segments_s"], row["rate_p95_segments_s"], color=color,
            alpha=0.25, linewidth=0.0,
        )  # fmt: skip
        ax.semilogy(
            row["time_s"], row["rate_segments_s"], color=color,
            linestyle=_STYLES[number % len(_STYLES)], label=f"path {row['flows']}",
        )  # fmt: skip
    for stage in stages:
        begin = stage["begin_s"]
        rate = stage["rest_rate_segments_s"]
        ax.hlines(rate, begin, begin + STAGE, color="black", linewidth=0.9, linestyle=(0, (4, 1.5)))
    ax.set(ylabel="rate of one flow [packets/s]", ylim=(50, 2e4))
    ax.legend(loc="upper right", ncols=2)


def _band(ax: Axes, link: Mapping[str, Any], name: str, unit: str, factor: float) -> None:
    """Draw the median of the runs, the band of all, and the fluid."""
    color, time = COLORS[1], link["time_s"]
    low, middle, high, fluid = (
        factor * link[f"{name}{which}{unit}"] for which in ("_least", "", "_most", "_fluid")
    )
    ax.fill_between(time, low, high, color=color, alpha=0.35, linewidth=0.0, zorder=2)
    ax.plot(time, middle, color=color, linewidth=0.7, label="packets", zorder=3)
    draw_fluid(ax, time, fluid, COLORS[0], "fluid")


def _draw_prices(ax: Axes, link: Mapping[str, Any], each: Rows) -> None:
    _band(ax, link, "price", "_s", 1e3)
    for stage in each:
        percent = 100.0 * stage["marked"]
        ax.annotate(
            f"{percent:.0f} %" if percent > 10.0 else f"{percent:.1f} %",
            (stage["begin_s"] + STAGE - 1.0, 1e3 * stage["rest_price_s"]), (0, 5),
            textcoords="offset points", ha="right", va="bottom", fontsize=8,
        )  # fmt: skip
    ax.set(ylabel="price [ms], and what is marked", ylim=(0, 130))
    ax.legend(loc="upper left")


def _draw_queue(ax: Axes, link: Mapping[str, Any], stated: float | None) -> None:
    shown = {name: np.maximum(link[name], _LEAST) for name in link if name.startswith("queue")}
    # Where a fluid's queue is empty, it is not on a logarithmic axis.
    fluid = np.where(link["queue_fluid_packets"] > _LEAST, link["queue_fluid_packets"], np.nan)
    _band(ax, {**link, **shown, "queue_fluid_packets": fluid}, "queue", "_packets", 1.0)
    ax.set_yscale("log")
    if stated is not None:
        label = f"stated: around {stated:g}"
        ax.axhline(stated, color="0.3", linewidth=0.9, linestyle=":", label=label)
    ax.set(ylabel=f"queue over {quantity_text(BIN, 'time')} [packets]", ylim=(_LEAST, 2e4))
    ax.legend(loc="upper left")


def _draw_utilization(ax: Axes, link: Mapping[str, Any]) -> None:
    _band(ax, link, "utilization", "", 100.0)
    ax.set(ylabel=f"utilization over {quantity_text(BIN, 'time')} [%]", ylim=(0, 105))
