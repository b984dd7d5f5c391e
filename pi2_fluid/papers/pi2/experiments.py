"""The experiments of the PI2 paper as fluid trajectories: numbers, stages, one way to draw them.

Figures 6 and 11 to 13 of the paper were measured in a testbed, and plotted as means over 1 s. Here
the same scenarios run as a fluid. All its transients are over seconds after a change of load, so
the panels show those seconds; above them is the whole run, averaged as the paper does.

Here as in the paper time is counted from the first flow, which is there some seconds after the
queue in the scenarios.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.plot import COLORS, scale_root

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pi2_fluid.values import FloatArray

__all__ = [
    "NAMES",
    "STARTS",
    "Panel",
    "bin_means",
    "curve_of",
    "draw_panels",
    "first_start",
    "list_peaks",
    "margin_of",
    "panels_of",
    "stages_of",
    "window_peak",
]

#: What the paper calls its queues.
NAMES: Final = {"pi": "PI", "pie": "PIE", "pi2": "PI2"}
_STYLE: Final[dict[str, dict[str, Any]]] = {
    "pi": {"color": COLORS[0], "linestyle": (0, (1, 1)), "linewidth": 1.5},
    "pie": {"color": COLORS[2], "linestyle": (0, (4, 1.5)), "linewidth": 1.5},
    "pi2": {"color": COLORS[1], "linestyle": "-", "linewidth": 1.7},
}
#: Said under each picture that shows a start-up.
STARTS: Final = (
    "Flows start within 1 s, 5 s after the queue was made: our decision, the paper does not say"
)
_TOLERANCE: Final = 1e-6  # of the trajectories: far below what a picture shows


class Stage(NamedTuple):
    """A stretch of a scenario in which nothing is scheduled."""

    begin: float
    """Seconds after the first flow."""
    flows: tuple[pf.Flows, ...]
    """The classes that send."""
    capacity: float
    """bit/s."""


class Panel(NamedTuple):
    """The first seconds of one stage, for several queues."""

    title: str
    begin: float
    """Seconds; the axis counts from here."""
    rows: Sequence[Mapping[str, Any]]
    """One mapping of columns per queue, as `curve_of` returns it."""
    margins: Mapping[str, str]
    """What is said of each queue's margin."""


def first_start(scenario: pf.Scenario) -> float:
    """Return when the first flow starts (s), from which pictures count time."""
    return min(float(flow.start) for flow in scenario.flows)


def curve_of(name: str, line: str, sample: str = "50ms") -> dict[str, Any]:
    """Return the plotted numbers of a scenario that comes with the package, as columns."""
    scenario = pf.named_scenario(name)
    begin = first_start(scenario)
    run = pf.fluid.simulate(scenario, sample=sample, tolerance=_TOLERANCE)
    run = run.isel(time=run.time.to_numpy() > begin - 1e-9)
    tcp = [flow.sender.signal is not None for flow in scenario.flows]
    throughput = run.throughput.to_numpy()
    return {
        "line": line,
        "scenario": name,
        "time_s": run.time.to_numpy() - begin,
        "queue_delay_s": run.queue_delay.to_numpy(),
        "throughput_bit_s": throughput.sum(axis=1),
        "tcp_throughput_bit_s": throughput[:, tcp].sum(axis=1),
        "capacity_bit_s": run.capacity.to_numpy(),
        "controller": run.controller.to_numpy(),
    }


def stages_of(scenario: pf.Scenario) -> list[Stage]:
    """Return the stretches between which flows come and go, or the capacity changes."""
    edges = {float(change.at) for change in scenario.changes}
    for flow in scenario.flows:
        edges |= {float(flow.start)} | ({float(flow.stop)} if flow.stop else set())
    stages, capacity, first = [], float(scenario.link.capacity), first_start(scenario)
    for begin in sorted(edge for edge in edges if edge < scenario.duration):
        for change in scenario.changes:
            if change.at == begin and change.capacity is not None:
                capacity = float(change.capacity)
        there = [f for f in scenario.flows if f.start <= begin and not (f.stop and f.stop <= begin)]
        stages.append(Stage(begin - first, tuple(there), capacity))
    return stages


def margin_of(stage: Stage, aqm: Any) -> str:
    """Return the gain margin of the sampled loop in a stage as text, empty if it has no rest."""
    with warnings.catch_warnings(action="ignore", category=pf.AssumptionWarning):
        try:
            loop = pf.Loop(
                stage.flows, aqm, capacity=stage.capacity, update="sampled", rtt_terms="exact"
            )
        except (pf.DomainError, pf.UnsupportedError):
            return ""
        if loop.operating_point.controller > aqm.limit:
            return "at its limit"
        margin = float(loop.margins().gain_margin_db)
    return f"{margin:+.1f} dB".replace("-", "\N{MINUS SIGN}")


def panels_of(rows: Sequence[Mapping[str, Any]]) -> list[Panel]:
    """Return one panel per stage of the scenarios, which differ in their queue alone."""
    scenarios = {row["line"]: pf.named_scenario(row["scenario"]) for row in rows}
    stages = stages_of(next(iter(scenarios.values())))
    varies = len({stage.capacity for stage in stages}) > 1
    panels = []
    for stage in stages:
        count = sum(float(flow.count) for flow in stage.flows)
        margins = {line: margin_of(stage, s.aqm) for line, s in scenarios.items()}
        what = f"{1e-6 * stage.capacity:g} Mbit/s" if varies else f"{count:g} flows"
        panels.append(Panel(f"{stage.begin:g} s: {what}", stage.begin, rows, margins))
    return panels


def list_peaks(rows: Sequence[Mapping[str, Any]], begins: Sequence[float]) -> str:
    """Return the highest queue delays in the 10 s after each of some instants, as text."""
    said = []
    for row in rows:
        peaks = [window_peak(row, begin, 0.0) for begin in begins]
        said.append(f"{NAMES[row['line']]} {', '.join(f'{1e3 * peak:.0f}' for peak in peaks)}")
    return f"{'; '.join(said)} ms"


def window_peak(row: Mapping[str, Any], begin: float, width: float) -> float:
    """Return the highest queue delay (s) in the 10 s after `begin`, of means over `width`.

    A width of 0 means no means.
    """
    after = (row["time_s"] >= begin) & (row["time_s"] < begin + 10.0)
    t, delay = row["time_s"][after], row["queue_delay_s"][after]
    return float((bin_means(t, delay, width)[1] if width else delay).max())


def bin_means(time: FloatArray, values: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    """Return the middle of each bin of `width` seconds, and the mean over it.

    Examples
    --------
    >>> middle, mean = bin_means(np.arange(6.0), np.array([1, 1, 2, 4, 0, 9]), 2.0)
    >>> middle.tolist(), mean.tolist()
    ([1.0, 3.0], [1.0, 3.0])
    """
    step = time[1] - time[0]
    count = round(width / step)
    if abs(count * step - width) > 1e-6 * width:
        raise ValueError(f"width = {width} s is no multiple of the step of {step:g} s.")
    whole = (len(time) - 1) // count
    mean = np.asarray(values[: whole * count], dtype=float).reshape(whole, count).mean(axis=1)
    return (np.arange(whole) + 0.5) * width, mean


def draw_panels(
    panels: Sequence[Panel], strip: Sequence[Mapping[str, Any]], length: float, highest: float
) -> Figure:
    """Return a figure with queue delay and throughput of each panel, side by side.

    Parameters
    ----------
    panels : sequence of Panel
        From left to right.
    strip : sequence of mapping
        Curves shown in full above the panels, as means over 1 s; may be empty.
    length : float
        Seconds shown of each stage.
    highest : float
        Upper end of the delay axes (s); what is higher is cut off, and its peak written there.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 6.6 if strip else 5.2))
    ratios = ([1.0] if strip else []) + [1.8, 1.0]
    grid = figure.add_gridspec(len(ratios), len(panels), height_ratios=ratios)
    if strip:
        begins = [panel.begin for panel in panels]
        _draw_strip(figure.add_subplot(grid[0, :]), strip, begins, highest)
    first: list[Any] = [None, None]
    for column, panel in enumerate(panels):
        axes = [
            figure.add_subplot(grid[len(ratios) - 2 + k, column], sharey=first[k]) for k in (0, 1)
        ]
        first = [mine or ax for mine, ax in zip(first, axes, strict=True)]
        _draw_panel(axes, panel, length, highest)
        for ax in axes:
            ax.tick_params(labelleft=column == 0)
    scale_root(first[0], 1e3 * highest)
    first[0].set_ylabel("queue delay [ms]\n(square-root scale)")
    first[1].set_ylabel("throughput\n[Mbit/s]")
    first[1].set_ylim(bottom=0.0)
    for row in panels[-1].rows:
        axes[1].plot([], [], label=NAMES[row["line"]], **_STYLE[row["line"]])
    axes[1].legend(loc="lower right", fontsize=8, handlelength=2.6, borderaxespad=0.1)
    return figure


def _draw_strip(
    ax: Axes, rows: Sequence[Mapping[str, Any]], begins: Sequence[float], highest: float
) -> None:
    peak = 0.0
    for row in rows:
        middle, mean = bin_means(row["time_s"], row["queue_delay_s"], 1.0)
        ax.plot(middle, 1e3 * mean, **_STYLE[row["line"]])
        peak = max(peak, float(mean.max()))
    end = rows[0]["time_s"][-1]
    ax.set(xlim=(0, end), ylim=(0.0, 1.05e3 * min(peak, highest)), xlabel="s after the first flow")
    ax.set_ylabel("queue delay [ms]\nmeans over 1 s")
    ax.set_xticks([*begins, end])
    ax.grid(visible=True)


def _draw_panel(axes: Sequence[Any], panel: Panel, length: float, highest: float) -> None:
    top, bottom = axes
    said = list(panel.margins)
    for row in panel.rows:
        shown = (row["time_s"] >= panel.begin) & (row["time_s"] <= panel.begin + length)
        t, style = row["time_s"][shown] - panel.begin, _STYLE[row["line"]]
        delay = row["queue_delay_s"][shown]
        top.plot(t, 1e3 * delay, **style)
        bottom.plot(t, 1e-6 * row["throughput_bit_s"][shown], **style)
        text = f"{NAMES[row['line']]} {panel.margins[row['line']]}".rstrip()
        if delay.max() > highest:
            text += f", peak {delay.max():.1f} s"
        top.annotate(
            text, (1, 1), (-2, -2 - 10.5 * said.index(row["line"])), ha="right", va="top",
            xycoords="axes fraction", textcoords="offset points", fontsize=8, color=style["color"],
        )  # fmt: skip
    capacity = 1e-6 * panel.rows[0]["capacity_bit_s"][shown]
    bottom.plot(t, capacity, color="0.6", linewidth=0.8, zorder=0)
    for ax in axes:
        ax.set_xlim(0, length)
        ax.grid(visible=True)
    top.tick_params(labelbottom=False)
    bottom.set_xlabel("s after the change" if panel.begin else "s after the first flow")
    top.set_title(panel.title, fontsize=9.5)
