"""Trajectories: what a queue and its senders do over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.plot.page import COLORS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw_trajectory"]

_DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)), "-.")


def draw_trajectory(
    axes: Any,
    time: Any,
    queue_delay: Mapping[str, Any],
    throughput: Mapping[str, Any],
    capacity: Any,
    probability: Mapping[str, Any],
    target: float | None = None,
) -> list[Any]:
    """Draw queue delay, throughput and signal probability over time, one above the other.

    Parameters
    ----------
    axes : three matplotlib Axes
        From top to bottom.
    time : array
        Seconds.
    queue_delay : mapping of label to array
        Seconds; one entry per queue, without a label in the picture if there is only one.
    throughput : mapping of label to array
        bit/s of each class of flows, stacked on one another.
    capacity : array
        bit/s.
    probability : mapping of label to array
        Signal probability of each class, and the controller's variable.
    target : float, optional
        Queue delay aimed at (s).
    """
    top, middle, bottom = axes
    artists = _draw_lines(top, time, {k: 1e3 * np.asarray(v) for k, v in queue_delay.items()})
    top.set_ylabel("queue delay [ms]")
    if target is not None:
        artists.append(top.axhline(1e3 * target, color="0.5", linewidth=0.8, zorder=1))
        top.annotate(
            "target", (1, 1e3 * target), (2, 0), va="center", fontsize=8, color="0.35",
            xycoords=("axes fraction", "data"), textcoords="offset points", annotation_clip=False,
        )  # fmt: skip
    shares = [1e-6 * np.asarray(values) for values in throughput.values()]
    colors = [COLORS[1 + index % (len(COLORS) - 1)] for index in range(len(shares))]
    areas = middle.stackplot(
        time, *shares, labels=list(throughput), colors=colors, alpha=0.75, linewidth=0
    )
    # A white seam keeps neighbours apart in greyscale, too.
    for area in areas:
        area.set(edgecolor="white", linewidth=0.6)
    artists += areas
    artists += middle.plot(
        time, 1e-6 * np.asarray(capacity), color=COLORS[0], linewidth=1.0, label="capacity"
    )
    middle.set_ylabel("throughput [Mbit/s]")
    artists += _draw_lines(bottom, time, {k: 100 * np.asarray(v) for k, v in probability.items()})
    bottom.set(ylabel="probability [%]", xlabel="time [s]")
    for ax in axes:
        ax.grid(visible=True)
        ax.set_xlim(float(time[0]), float(time[-1]))
        ax.set_ylim(bottom=0.0)
        if len(ax.get_legend_handles_labels()[1]) > 1:
            _put_legend(ax)
    return artists


def _draw_lines(ax: Axes, time: Any, lines: Mapping[str, Any]) -> list[Any]:
    artists = []
    for index, (label, values) in enumerate(lines.items()):
        artists += ax.plot(
            time,
            values,
            label=label,
            color=COLORS[(index + 1) % len(COLORS)],
            linestyle=_DASHES[index % len(_DASHES)],
            linewidth=1.2,
        )
    return artists


def _put_legend(ax: Axes) -> None:
    """Name the lines above the axes, where they hide nothing."""
    ax.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=6, fontsize=8, borderaxespad=0.1,
        handlelength=1.8, columnspacing=1.2,
    )  # fmt: skip
