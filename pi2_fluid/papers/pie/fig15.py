"""Figure 15 of the PIE paper: the phase margin over the load, by pair of gains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.papers.pi2.scene import read_settings
from pi2_fluid.papers.pie.claims import DERIVED, FULL, HALF, PRINTED
from pi2_fluid.papers.pie.loads import (
    LINES,
    PARAMETERS,
    curves,
    draw_over_loads,
    order,
    setting,
    stable_from,
)
from pi2_fluid.papers.pie.reading import TITLES, Reading
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe
from pi2_fluid.plot import mark_unstable

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

_READINGS: Final[Mapping[str, Reading]] = {"derived": DERIVED, "printed": PRINTED}


def _measure(case: Case) -> Measured:
    settings = read_settings(case.settings)
    rows = curves(**settings)
    limits = [
        {
            "line": name,
            "kappa": kappa,
            # Under the table, where its lowest step has a margin.
            "stable_from": stable_from(_READINGS[kappa], alpha or FULL / 8, **settings),
        }
        for kappa in TITLES
        for name, alpha in LINES.items()
    ]
    found = {
        "full": 100.0 * stable_from(DERIVED, FULL, **settings),
        "half": 100.0 * stable_from(PRINTED, HALF, **settings),
        "order": order(rows, "phase_margin_deg", 0.1, 1),
    }
    return Measured({"": rows, "limits": limits}, found)


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows, limits = measured.tables[""], measured.tables["limits"]
    axes = draw_over_loads(figure, rows, "phase_margin_deg")
    highest = max(float(np.max(row["phase_margin_deg"])) for row in rows)
    axes[0].set(ylabel="phase margin [deg]", yticks=range(-90, 91, 30))
    axes[0].set(ylim=(-90, max(105.0, highest + 5.0)))
    for ax, kappa in zip(axes, TITLES, strict=True):
        mark_unstable(ax, at=0.83)
        mine = {row["line"]: row for row in limits if row["kappa"] == kappa}
        handles, names = ax.get_legend_handles_labels()
        labels = [_with_limit(mine[name]) for name in names]
        ax.legend(handles, labels, title="α:β [Hz], stable from", loc="lower right")
    moved = max(
        float(np.max(np.abs(row["simplified_margin_deg"] - row["phase_margin_deg"])))
        for row in rows
    )
    # Of the tuned line with the printed κ, which is the last, where the table has its upper steps.
    printed = rows[-1]["phase_margin_deg"][rows[-1]["p"] >= 0.01]
    but = case.as_printed("; with the printed κ not even to 1 %") if np.min(printed) < 0.0 else ""
    return Caption(
        f"Auto-tuning holds down to {100 * limits[len(LINES) - 1]['stable_from']:.2g} %{but}",
        note=f"{setting(rows)}\nTaken as 1, as in (9), (1 + e)/2 moves the lines by {moved:.0f}° at"
        f" most.{case.as_printed(' They go on below the frames.')}",
    )


def _with_limit(row: Mapping[str, Any]) -> str:
    """Add to the name of a pair of gains the load from which on it is stable."""
    name = row["line"]
    return name if LINES[name] is None else f"{name}, {100 * row['stable_from']:.3f} %"


RECIPE: Final = Recipe(
    caption="Phase margin over the root of the load, for three pairs of gains and with auto-tuning",
    kind="loop",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 5.6))},
    parameters=PARAMETERS,
    seeds=1,
    decisions=(
        (
            "Equation (9) has two readings: κ as (5) to (8) give it, and as printed. We keep (1 +"
            " e)/2."
        ),
        (
            "That gains have no margin below 1 % means to us: they are unstable at every load"
            " below it."
        ),
    ),
    why={
        "full": "This holds for either κ. With κ of (5) to (8) the pair is unstable up to 1.37 %"
        " (claim pie-20).",
        "half": "With κ of (5) to (8) this pair is stable from 0.44 % on (claim pie-20).",
        "order": "This holds for either κ. Above 10 %, where PIE's table ends, the order turns"
        " (claim pie-22).",
    },
    conditions={"half": "κ is as printed, twice that of (5) to (8)"},
)
