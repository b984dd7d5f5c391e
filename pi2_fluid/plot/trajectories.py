"""Trajectories: what a queue and its senders do over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.plot.page import COLORS

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from pi2_fluid.values import FloatArray, Real

_DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)), "-.")


def draw_trajectory(
    axes: Sequence[Axes],
    time: FloatArray,
    queue_delay: Mapping[str, FloatArray],
    throughput: Mapping[str, FloatArray],
    capacity: Real | Mapping[str, FloatArray],
    probability: Mapping[str, FloatArray],
    target: float | None = None,
    chance: Mapping[str, tuple[FloatArray, FloatArray]] | None = None,
) -> list[Artist]:
    """Draw queue delay, throughput and signal probability over time, one above the other.

    Each array of values is one curve over time, or one for each of several runs: then these are
    thin, and a thick one between them is their median at each time.

    Parameters
    ----------
    axes : three matplotlib Axes
        From top to bottom.
    time : array (time,)
        Seconds.
    queue_delay : mapping of label to array ([runs,] time)
        Seconds; one entry per queue, without a label in the picture if there is only one.
    throughput : mapping of label to array ([runs,] time)
        bit/s of each class of flows; of one run stacked on one another.
    capacity : array (time,), or mapping of label to such arrays
        bit/s; one entry per link where there are several, of which no class has a share of all, so
        that their throughputs are lines.
    probability : mapping of label to array ([runs,] time)
        Signal probability of each class, and the controller's variable.
    target : float, optional
        Queue delay aimed at (s).
    chance : mapping of label to pair of arrays (time,), optional
        Lower and upper end (s) of a ribbon about a queue delay, by its label: what chance adds.
    """
    top, middle, bottom = axes
    artists = _draw_lines(top, time, {k: 1e3 * np.asarray(v) for k, v in queue_delay.items()})
    ribbons = chance or {}
    for place, label in enumerate(queue_delay):
        if label in ribbons:
            name = "± by chance" if label == next(iter(ribbons)) else None
            color = COLORS[(place + 1) % len(COLORS)]
            artists.append(draw_ribbon(top, time, *ribbons[label], color, name))
    top.set_ylabel("queue delay [ms]")
    if target is not None:
        artists.append(top.axhline(1e3 * target, color="0.5", linewidth=0.8, zorder=1))
        top.annotate(
            "target", (1, 1e3 * target), (2, 0), va="center", fontsize=8, color="0.35",
            xycoords=("axes fraction", "data"), textcoords="offset points", annotation_clip=False,
        )  # fmt: skip
    rates = {k: 1e-6 * np.asarray(v) for k, v in throughput.items()}
    if isinstance(capacity, Mapping):
        artists += _draw_lines(middle, time, rates)
    else:
        artists += _draw_shares(middle, time, rates)
    limits = capacity if isinstance(capacity, Mapping) else {"": capacity}
    for place, (name, limit) in enumerate(limits.items()):
        artists += middle.plot(
            time, 1e-6 * np.asarray(limit), color=COLORS[0], linewidth=1.0,
            linestyle=_DASHES[place % len(_DASHES)], label=f"capacity {name}".rstrip(),
        )  # fmt: skip
    middle.set_ylabel("throughput [Mbit/s]")
    artists += _draw_lines(bottom, time, {k: 100 * np.asarray(v) for k, v in probability.items()})
    bottom.set(ylabel="probability [%]", xlabel="time [s]")
    for ax in axes:
        ax.grid(visible=True)
        ax.set_xlim(float(time[0]), float(time[-1]))
        ax.set_ylim(bottom=0.0)
        if len(ax.get_legend_handles_labels()[1]) > 1 or (ax is top and ribbons):
            _put_legend(ax)
    return artists


def draw_ribbon(
    ax: Axes,
    time: FloatArray,
    low: FloatArray,
    high: FloatArray,
    color: str,
    label: str | None = "± by chance",
) -> Artist:
    """Draw what chance adds to a delay (s), in ms: a ribbon from low to high, gaps where NaN."""
    ends = 1e3 * np.asarray(low), 1e3 * np.asarray(high)
    artist: Artist = ax.fill_between(
        time, *ends, where=np.isfinite(ends[0]) & np.isfinite(ends[1]), color=color, alpha=0.22,
        linewidth=0, zorder=1.5, label=label,
    )  # fmt: skip
    return artist


def _draw_shares(ax: Axes, time: FloatArray, shares: Mapping[str, FloatArray]) -> list[Artist]:
    """Draw what each class has of the link: of several runs as lines, for medians do not add up."""
    if any(values.ndim > 1 for values in shares.values()):
        return _draw_lines(ax, time, shares)
    colors = [COLORS[1 + index % (len(COLORS) - 1)] for index in range(len(shares))]
    areas: list[Any] = ax.stackplot(
        time, *shares.values(), labels=list(shares), colors=colors, alpha=0.75, linewidth=0
    )
    # A white seam keeps neighbours apart in greyscale, too.
    for area in areas:
        area.set(edgecolor="white", linewidth=0.6)
    return areas


def _draw_lines(ax: Axes, time: FloatArray, lines: Mapping[str, FloatArray]) -> list[Artist]:
    artists: list[Any] = []
    for index, (label, values) in enumerate(lines.items()):
        color = COLORS[(index + 1) % len(COLORS)]
        if values.ndim > 1 and len(values) > 1:
            alpha = max(0.12, 0.5 / len(values) ** 0.5)
            artists += ax.plot(time, values.T, color=color, alpha=alpha, linewidth=0.5)
        artists += ax.plot(
            time,
            np.median(values, axis=0) if values.ndim > 1 else values,
            label=label,
            color=color,
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
