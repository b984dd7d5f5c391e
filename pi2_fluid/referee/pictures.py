"""Figures of the comparison: all errors at a glance, and what happens at the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.plot import COLORS, page_style, save_figure, write_caption
from pi2_fluid.referee import references
from pi2_fluid.referee.cells import CELLS
from pi2_fluid.referee.judging import Finding, pooled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray

# The columns of the overview: title, and the statistics in it with their markers.
_COLUMNS: Final = (
    ("utilisation", {"utilization": "o"}),
    ("mean delay", {"delay_mean": "o"}),
    ("sd of delay", {"delay_sd": "o"}),
    ("quartiles", {"delay_p25": "<", "delay_p50": "o", "delay_p75": ">"}),
    ("p95, p99", {"delay_p95": "o", "delay_p99": ">"}),
    ("drops, marks", {"drop_fraction": "o", "mark_fraction": "s"}),
    ("window, rate,\nconstant", {"window": "o", "rate": "s", "response": "D"}),
    ("controller,\ntimeouts", {"controller": "o", "timeouts": "s"}),
)
_WIDE: Final = 2.6  # tight tolerances shown to either side
_QUEUES: Final = {"pie_steps": "PIE", "pi2_steps": "PI2"}
_BEGINS: Final = (0.0, 50.0, 100.0, 150.0, 200.0)
_FLOWS: Final = ("0 → 10 flows", "10 → 30 flows", "30 → 50 flows", "50 → 30 flows", "30 → 10 flows")
_SHOWN: Final = 10.0  # s after each step


def draw_overview(findings: Sequence[Finding], out: Path) -> list[Path]:
    """Draw every error in units of its tight tolerance, and return the files written."""
    shown = [f for f in findings if any(f.statistic in marks for _, marks in _COLUMNS)]
    rows = _rows(shown)
    with page_style():
        figure = _overview(shown, rows)
        judged = [f for f in shown if f.judged]
        tight = sum(f.tight_ok for f in judged)
        write_caption(
            figure,
            f"{tight} of {len(judged)} statistics lie within the tight tolerance around what the"
            " Linux kernel does",
            "",
            "Each mark: simulated less measured, in units of the tight tolerance (shaded): three"
            " standard deviations of the difference, rounded, and for quantiles one packet time"
            " more. Short bars: loose tolerance, which decides; those beyond the panel are not"
            " drawn. Open marks: not judged, because the test bed's timing noise decides there."
            f" Root mean square of z: {pooled(findings):.2f}.\n"
            "Quartiles: left-pointing 25 %, right-pointing 75 %; p99 points right; squares are"
            " marks, rates and timeouts, diamonds W√p of Reno and Wp of DCTCP.",
        )
        return save_figure(figure, out / "validation", _numbers(findings))


def _rows(findings: Sequence[Finding]) -> list[tuple[str, tuple[str, ...]]]:
    """Return what is drawn in each row: the cell, and the groups of flows that it stands for."""
    rows: list[tuple[str, tuple[str, ...]]] = []
    for cell in CELLS:
        groups = dict.fromkeys(f.group for f in findings if f.cell == cell.name and f.group)
        for number, group in enumerate(groups):
            rows.append((cell.name, ("", group) if number == 0 else (group,)))
    return rows


def _overview(findings: Sequence[Finding], rows: list[tuple[str, tuple[str, ...]]]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 1.6 + 0.185 * len(rows)))
    axes = figure.subplots(1, len(_COLUMNS), sharey=True)
    places = {(cell, group): k for k, (cell, groups) in enumerate(rows) for group in groups}
    for ax, (title, marks) in zip(axes, _COLUMNS, strict=True):
        ax.axvspan(-1, 1, color="0.9", zorder=0, linewidth=0)
        ax.axvline(0, color="0.6", linewidth=0.6, zorder=1)
        for finding in findings:
            if finding.statistic in marks:
                _mark(ax, finding, places[finding.cell, finding.group], marks[finding.statistic])
        ax.set(xlim=(-_WIDE, _WIDE), ylim=(len(rows) - 0.4, -0.6), xticks=[-2, -1, 0, 1, 2])
        ax.set_title(title, fontsize=8.5, loc="center")
        ax.tick_params(axis="y", length=0)
        ax.tick_params(axis="x", labelsize=7.5)
        for place in range(len(rows)):
            ax.axhline(place, color="0.85", linewidth=0.4, zorder=0)
    axes[0].set_yticks(range(len(rows)), _labels(rows), fontsize=7.5)
    middle = axes[len(axes) // 2]
    middle.set_xlabel("error in units of the tight tolerance", fontsize=8.5)
    return figure


def _labels(rows: list[tuple[str, tuple[str, ...]]]) -> list[str]:
    titles = {cell.name: cell.title for cell in CELLS}
    several = {cell.name for cell in CELLS if len(cell.groups) > 1}
    labels = []
    for name, groups in rows:
        group = groups[-1].replace("_", " ") if name in several else ""
        if len(groups) == 1:
            labels.append(group)
        else:
            labels.append(f"{titles[name]}: {group}" if group else titles[name])
    return labels


def _mark(ax: Axes, finding: Finding, height: int, marker: str) -> None:
    if not finding.tight:
        return
    color = COLORS[1] if finding.loose_ok else COLORS[2]
    x = (finding.measured - finding.reference) / finding.tight
    face = color if finding.judged else "white"
    ax.plot(
        np.clip(x, -_WIDE, _WIDE), height, marker, color=color, markerfacecolor=face,
        markersize=4 if finding.loose_ok else 6, markeredgewidth=0.8, zorder=3, clip_on=False,
    )  # fmt: skip
    if finding.loose is not None:
        limits = np.array([-1, 1]) * finding.loose / finding.tight
        ax.plot(limits, [height, height], "|", color="0.35", markersize=5, markeredgewidth=0.8)


def _numbers(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    return [
        {
            "cell": f.cell,
            "group": f.group,
            "statistic": f.statistic,
            "measured": f.measured,
            "reference": f.reference,
            "tight": f.tight,
            "loose": np.inf if f.loose is None else f.loose,
            "z": np.nan if f.z is None else f.z,
            "judged": float(f.judged),
        }
        for f in findings
    ]


def draw_steps(runs: Mapping[str, tuple[Any, Any]], out: Path) -> list[Path]:
    """Draw the delay after each step, of all runs and of Linux, and return the files written.

    Parameters
    ----------
    runs : mapping of str to pair of array
        By cell: delay (s) by run and time, and time (s, the ends of bins of 0.1 s).
    out : Path
        Folder.
    """
    numbers = []
    with page_style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10.5, 5.6))
        axes = figure.subplots(len(_QUEUES), len(_BEGINS), sharex=True, sharey=True)
        measured = references.linux_steps()
        for row, (cell, queue) in zip(axes, _QUEUES.items(), strict=True):
            time, delay = _pairs(*runs[cell])
            for ax, begin in zip(row, _BEGINS, strict=True):
                _draw_step(ax, begin, time, delay, measured["time"], measured[cell])
            row[0].set_ylabel(f"{queue}: delay [ms]\n(square-root scale)")
            numbers.append(
                {
                    "queue": queue,
                    "run": "Linux",
                    "time_s": measured["time"],
                    "delay_s": measured[cell],
                }
            )
            numbers += [
                {"queue": queue, "run": f"seed {k + 1}", "time_s": time, "delay_s": one}
                for k, one in enumerate(delay)
            ]
        _finish(figure, axes, len(delay))
        return save_figure(figure, out / "validation_steps", numbers)


def _pairs(delay: FloatArray, time: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the middles of bins of 0.2 s, as Linux was sampled, and the means in them."""
    whole = delay.shape[1] // 2
    means = delay[:, : 2 * whole].reshape(len(delay), whole, 2).mean(axis=2)
    return time[0 : 2 * whole : 2], means


def _draw_step(
    ax: Axes, begin: float, time: FloatArray, delay: FloatArray, when: FloatArray, linux: FloatArray
) -> None:
    mine = (time > begin) & (time < begin + _SHOWN)
    theirs = (when > begin) & (when < begin + _SHOWN)
    ax.plot(time[mine] - begin, 1e3 * delay[:, mine].T, color=COLORS[6], linewidth=0.5, alpha=0.7)
    ax.plot(when[theirs] - begin, 1e3 * linux[theirs], color=COLORS[0], linewidth=1.4)
    ax.axhline(20.0, color="0.5", linewidth=0.7, linestyle=(0, (4, 2)), zorder=0)


def _finish(figure: Figure, axes: NDArray[Any], seeds: int) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    for ax, title in zip(axes[0], _FLOWS, strict=True):
        ax.set_title(title, fontsize=9.5)
    for ax in axes[-1]:
        ax.set_xlabel("s after the step")
    corner = axes[0, 0]
    corner.set(xlim=(0, _SHOWN), xticks=[0, 2, 4, 6, 8])
    corner.set_yscale("function", functions=(lambda y: np.sqrt(np.maximum(y, 0.0)), np.square))
    corner.set_ylim(0, 750)
    corner.yaxis.set_major_locator(FixedLocator([0, 5, 20, 50, 100, 200, 400, 700]))
    corner.yaxis.set_minor_locator(NullLocator())
    for ax in axes.flat:
        ax.grid(visible=True)
    last = axes[0, -1]
    last.plot([], [], color=COLORS[0], linewidth=1.4, label="Linux, one run")
    last.plot([], [], color=COLORS[6], linewidth=1.0, label=f"simulated, {seeds} seeds")
    last.plot([], [], color="0.5", linewidth=0.7, linestyle=(0, (4, 2)), label="target")
    last.legend(loc="upper right", fontsize=8)
    write_caption(
        figure,
        "After each step of the load the simulated delay follows that of the kernel",
        "",
        "Reno flows at 10 Mbit/s, RTT 100 ms, 50 s for each stage; means over 0.2 s of the backlog"
        " over the capacity. Linux 7.2: sch_pie and sch_dualpi2 in virtual time.",
    )
