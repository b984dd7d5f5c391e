"""Figure 16 of the PIE paper: the loop's bandwidth over the load, by pair of gains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pi2_fluid.papers.pi2.scene import read_settings
from pi2_fluid.papers.pie.loads import PARAMETERS, curves, draw_over_loads, order, setting
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase


def _measure(case: Case) -> Measured:
    rows = curves(**read_settings(case.settings))
    return Measured({"": rows}, {"order": order(rows, "gain_crossover_rad_s", 1.0, -1)})


def _draw(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    rows = measured.tables[""]
    axes = draw_over_loads(figure, rows, "gain_crossover_rad_s")
    axes[0].set(ylabel="loop frequency: gain crossover [rad/s]", yscale="log", ylim=(0.05, 60))
    axes[1].legend(title="α:β [Hz]", loc="upper right")
    return Caption(
        "Smaller gains answer more slowly; auto-tuning goes back to larger ones",
        note=setting(rows),
    )


RECIPE: Final = Recipe(
    caption="Loop frequency over the root of the load, for three pairs of gains and with"
    " auto-tuning",
    kind="loop",
    measure=_measure,
    pages={"": Page(_draw, (9.4, 5.0))},
    parameters=PARAMETERS,
    seeds=1,
    decisions=(
        "We take the loop frequency as that at which the gain is 1.",
        (
            "Equation (9) has two readings: κ as (5) to (8) give it, and as printed. We keep (1 +"
            " e)/2."
        ),
    ),
    why={"order": "This holds for either κ, at every load (claim pie-22)."},
)
