"""Figure 8 of the PIE paper: RED and PIE where the number of flows changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.pie.simulations import (
    MEAN,
    SETTLED,
    START,
    draw_curve,
    end_of,
    explain_curves,
    instantaneous,
    level,
    path_text,
    reference_of,
)
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.runs import fluid_run, packet_runs
from pi2_fluid.papers.stages import stages_of
from pi2_fluid.papers.words import buffer_text
from pi2_fluid.plot import COLORS

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

_LEGENDS: Final[dict[str, dict[str, Any]]] = {
    "red": {"loc": "lower center", "ncols": 2, "bbox_to_anchor": (0.5, 0.08)},
    "pie": {"loc": "upper center", "ncols": 3},
}
_LINES: Final = {"red": ("RED", COLORS[2]), "pie": ("PIE", COLORS[1])}
#: Flows of each stage in the paper, and how long it is (s).
STAGES: Final = (10, 30, 50, 30, 10)
_LENGTH: Final = 50.0


def _levels(runs: xarray.Dataset, counts: Sequence[int]) -> dict[int, FloatArray]:
    """Return each run's settled delay (ms) by the number of flows, of the stages that have it."""
    begins = _LENGTH * np.arange(len(counts))
    each = [level(runs, begin + SETTLED, begin + _LENGTH) for begin in begins]
    return {
        flows: np.mean([one for one, there in zip(each, counts, strict=True) if there == flows], 0)
        for flows in sorted(set(counts))
    }


def _counts(scenario: pf.Scenario) -> list[int]:
    """Return the number of flows in each stage."""
    return [round(stage.number) for stage in stages_of(scenario)]


def _measure(case: Case) -> Measured:
    runs = {
        name: packet_runs(case.scenarios[f"pie_fig08_{name}"], case.seeds, MEAN) for name in _LINES
    }
    reference = reference_of(case.scenarios["pie_fig08_pie"])
    counts = _counts(case.scenarios["pie_fig08_pie"])
    levels = {name: _levels(run, counts) for name, run in runs.items()}
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
    fluid = instantaneous(
        "queue_delay", runs["pie"], fluid_run(case.scenarios["pie_fig08_pie"], MEAN)
    )
    rows[1]["queue_delay_fluid_s"] = fluid["queue_delay_fluid_s"]
    settled = [
        {"line": name, "flows": flows, "seed": np.arange(delay.size), "queue_delay_ms": delay}
        for name, of_line in levels.items()
        for flows, delay in of_line.items()
    ]
    found = {}
    if tuple(counts) == STAGES:
        found = {
            "pie_10": levels["pie"][10],
            "pie_30": levels["pie"][30],
            "red_grows": levels["red"][50] / levels["red"][10],
        }
    return Measured({"": rows, "settled": settled}, found)


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
    for k, flows in enumerate(_counts(case.scenarios["pie_fig08_pie"])):
        axes[0].text((k + 0.5) * _LENGTH, 660.0, f"{flows} flows", ha="center", color="0.25")
    axes[-1].set_xlabel("time [s]")
    red, pie = (
        [
            float(np.median(row["queue_delay_ms"]))
            for row in measured.tables["settled"]
            if row["line"] == line
        ]
        for line in _LINES
    )
    highest = 1e3 * float(rows[0]["queue_delay_high_s"].max())
    return Caption(
        f"More flows, more delay under RED ({', '.join(f'{x:.0f}' for x in red)} ms); PIE stays at"
        f" {min(pie):.0f} to {max(pie):.0f} ms",
        note=f"{path_text(case)}, buffer {buffer_text(case.scenarios['pie_fig08_pie'])}; means over"
        f" {MEAN:g} s. Dotted: {reference:g} ms, PIE's reference."
        + case.as_printed(f" RED's first {highest:.0f} ms and its peaks are beyond the axis."),
    )


RECIPE: Final = Recipe(
    caption="Queue delay under RED and PIE while there are 10, 30, 50, 30 and 10 TCP flows",
    shows="Queue delay under RED and PIE while TCP flows come and go",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 6.4))},
    scenarios=shipped("pie_fig08_red", "pie_fig08_pie"),
    decisions=(
        START,
        "The text does not give the link: we take that of the simulations before it, 10 Mbit/s.",
        "Flows leave at 150 and 200 s, as the text says. The caption says 200 and 250 s.",
        'RED has the defaults of ns-2, with which the paper simulates: gentle, with "wait".',
        (
            f"Delays are means over the last 30 s of a stage, from {SETTLED:g} s after the change"
            " on, of both stages with that number of flows."
        ),
    ),
    why={
        "": "A controller without an integral needs a longer queue for a higher p. One with an"
        " integral does not.",
    },
)
