"""Figure 7 of the PIE paper: RED and PIE where the capacity changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.comparison.agreement.curves import stretch_means
from pi2_fluid.papers.pie.simulations import (
    MEAN,
    SETTLED,
    draw_curve,
    end_of,
    explain_curves,
    farthest,
    instantaneous,
    level,
    median_of,
    reference_of,
)
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.runs import fluid_run, packet_runs
from pi2_fluid.papers.stages import stages_of
from pi2_fluid.papers.words import buffer_text, flows_text, quantity_text, rtt_text
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import BoolArray, FloatArray

_LEGENDS: Final[dict[str, dict[str, Any]]] = {
    "red": {"loc": "center left", "ncols": 1},
    "pie": {"loc": "upper right", "ncols": 3},
}
_LINES: Final = {"red": ("RED", COLORS[2]), "pie": ("PIE", COLORS[1])}
#: Beginning and end of the stages (s), between which the capacity changes.
_STAGES: Final = ((0.0, 50.0), (50.0, 100.0), (100.0, 150.0))
#: In targets: what is "around the equilibrium value".
_AROUND: Final = 1.5


def back_after(runs: xarray.Dataset, target: float, begin: float, end: float) -> FloatArray:
    """Return how long (s) after `begin` each run's delay comes below 1.5 targets to stay there.

    Of means over 0.1 s, until `end` (s); NaN if it is above in the last of them.
    """
    time, delay = stretch_means(runs, "queue_delay", MEAN)
    there = (time > begin) & (time < end)
    ends = time[there] + MEAN / 2 - begin
    above = delay[:, there] > _AROUND * target
    last = [np.flatnonzero(row) for row in above]
    return np.array(
        [
            0.0 if not row.size else np.nan if row[-1] == ends.size - 1 else ends[row[-1]]
            for row in last
        ]
    )


def _answer(
    runs: xarray.Dataset, target: float, begin: float, end: float
) -> tuple[FloatArray, FloatArray]:
    """Return when each run's delay first comes below 1.5 targets, and then reaches one (s)."""
    time, delay = stretch_means(runs, "queue_delay", MEAN)
    there = (time > begin) & (time < end)
    since, delay = time[there] - begin, delay[:, there]
    count = np.arange(since.size)
    above = np.argmax(delay > _AROUND * target, axis=1)[:, None]
    below = _first(since, (delay < _AROUND * target) & (count > above))
    risen = _first(since, (delay > target) & (since > below[:, None]))
    return below, risen


def _first(since: FloatArray, holds: BoolArray) -> FloatArray:
    """Return when something holds for the first time in each run (s); NaN: never."""
    found = [np.flatnonzero(row) for row in holds]
    return np.array([since[row[0]] if row.size else np.nan for row in found])


def _measure(case: Case) -> Measured:
    runs = {
        name: packet_runs(case.scenarios[f"pie_fig07_{name}"], case.seeds, MEAN) for name in _LINES
    }
    scenario = case.scenarios["pie_fig07_pie"]
    reference = reference_of(scenario)
    levels = {
        name: [level(run, begin + SETTLED, end) for begin, end in _STAGES]
        for name, run in runs.items()
    }
    rows = [
        {
            "line": name,
            "seeds": case.seeds,
            "reference_s": reference,
            **instantaneous("queue_delay", run),
        }
        for name, run in runs.items()
    ]
    rows[0]["queue_delay_fluid_s"] = np.full_like(rows[0]["time_s"], np.nan)
    fluid = instantaneous("queue_delay", runs["pie"], fluid_run(scenario, MEAN))
    rows[1]["queue_delay_fluid_s"] = fluid["queue_delay_fluid_s"]
    found = {
        "red_100": levels["red"][0],
        "red_20": levels["red"][1],
        "pie": farthest(levels["pie"], 20.0),
        "back": back_after(runs["pie"], reference, *_STAGES[1]),
    }
    below, risen = _answer(runs["pie"], reference, *_STAGES[1])
    after = {"below_s": below, "risen_s": risen, "back_s": found["back"]}
    return Measured({"": rows, "after": [after]}, found)


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    axes: Any = figure.subplots(len(rows), 1, sharex=True, sharey=True)
    for ax, row in zip(axes, rows, strict=True):
        name, color = _LINES[row["line"]]
        draw_curve(ax, row, "queue_delay", "_s", 1e3, color)
        reference = 1e3 * row["reference_s"]
        ax.axhline(reference, color="0.35", linewidth=0.9, linestyle="dotted", zorder=1)
        ax.set(ylabel=f"{name}\nqueue delay [ms]", xlim=(0.0, end_of(row)), ylim=(0.0, 700.0))
        ax.grid(visible=True)
        explain_curves(
            ax, int(row["seeds"]), color, _LEGENDS[row["line"]], fluid=row["line"] == "pie"
        )
    scenario = case.scenarios["pie_fig07_pie"]
    for (begin, end), stage in zip(_STAGES, stages_of(scenario), strict=False):
        rate = quantity_text(stage.capacity, "rate")
        axes[0].text((begin + end) / 2, 660.0, rate, ha="center", color="0.25")
    axes[-1].set_xlabel("time [s]")
    fast, slow = (median_of(measured, key) for key in ("red_100", "red_20"))
    return Caption(
        f"RED's delay follows the capacity, {fast:.0f} or {slow:.0f} ms; PIE returns to"
        f" {reference:g} ms",
        note=f"{flows_text(scenario, 'TCP')}, RTT {rtt_text(scenario)}, buffer"
        f" {buffer_text(scenario)}; means over {MEAN:g} s. Dotted: {reference:g} ms, PIE's"
        " reference.",
    )


def _draw_after(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    row = measured.tables[""][1]
    color = _LINES["pie"][1]
    begin = _STAGES[1][0]
    ax: Any = figure.subplots()
    draw_curve(ax, {**row, "time_s": row["time_s"] - begin}, "queue_delay", "_s", 1e3, color)
    reference = 1e3 * row["reference_s"]
    for level_ms, dashes in ((reference, "dotted"), (_AROUND * reference, (0, (6, 3)))):
        ax.axhline(level_ms, color="0.35", linewidth=0.9, linestyle=dashes, zorder=1)
    ax.set(xlabel="time since the change [s]", ylabel="PIE: queue delay [ms]")
    ax.set(xlim=(-2.0, _STAGES[1][1] - begin), ylim=(0.0, 80.0))
    ax.grid(visible=True)
    explain_curves(ax, int(row["seeds"]), color, _LEGENDS["pie"], fluid=True)
    below, up, last = (
        float(np.median(after))
        for after in (
            measured.tables["after"][0][name] for name in ("below_s", "risen_s", "back_s")
        )
    )
    return Caption(
        f"After the step PIE's queue is below {_AROUND * reference:g} ms in {below:.1f} s, empty,"
        f" and at {reference:g} ms again after {up:.0f} s",
        note=f"Means over {MEAN:g} s; medians of the seeds. Dotted: the reference; dashed line:"
        f" {_AROUND:g} times it, above which such a mean lies for the last time after"
        f" {last:.0f} s.",
    )


RECIPE: Final = Recipe(
    caption="Queue delay under RED and PIE while the capacity goes from 100 to 20 Mbit/s and back",
    shows="Queue delay under RED and PIE while the capacity falls and comes back",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 6.4)), "after": Page(_draw_after, (9.0, 4.2))},
    scenarios=shipped("pie_fig07_red", "pie_fig07_pie"),
    decisions=(
        "The paper does not give the initial window. We take 10 segments.",
        'RED has the defaults of ns-2, with which the paper simulates: gentle, with "wait".',
        (
            f"Delays are means over the last 30 s of a stage, from {SETTLED:g} s after the change"
            " on. RED's at 100 Mbit/s is of the first stage; PIE's is of the stage whose mean is"
            " farthest from 20 ms."
        ),
        (
            f"PIE is back after the last mean over {MEAN:g} s above {_AROUND:g} times the"
            " reference before the next change."
        ),
    ),
    why={
        "red_100": "RED settles above min_th (32 ms), where its p is what 100 flows need. With the"
        " spacing of ns-2 fewer packets than p are dropped; with that of Linux more, and the"
        " delays are 29 and 212 ms.",
        "red_20": "The same flows need a higher p at a fifth of the capacity, and so a longer"
        " queue. Each packet in it waits five times as long.",
        "back": "Open. The delay is below 30 ms after 0.9 s, then the queue is empty, and it is"
        " back at 20 ms after some 8 s. Later, one in 20 means of 0.1 s is above 30 ms. Means over"
        " 1 s are below 30 ms after 1 s. No reading gives 3 s.",
    },
)
