"""Figure 11 of the PI2 paper: light, heavy and mixed traffic at 10 Mbit/s and 100 ms."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import pi2_fluid as pf
from pi2_fluid.papers.pi2.experiments import (
    FINE_MEANS,
    GROWTH,
    MEAN,
    STARTS,
    measure_runs,
    peak_ratios,
    value_at,
)
from pi2_fluid.papers.pi2.panels import draw_transients, draw_whole, peaks_text, share_legend
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe
from pi2_fluid.papers.words import flows_text, quantity_text, rate_text, rtt_text

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

#: What the paper calls the traffic of each panel.
_CASES: Final = {"a": "light: ", "b": "heavy: ", "c": ""}
_BEGINS: Final = (0.0, 25.0, 50.0, 75.0)
_START: Final = 5.0  # s: when the first flow starts
_LATE: Final = (40.0, 99.0)  # s: when all start-ups are over


def _scenarios() -> dict[str, pf.Scenario]:
    """The paper's, and of b and c PI2 without its cap."""
    names = [f"pi2_fig11{case}_{line}" for case in _CASES for line in ("pie", "pi2")]
    found = {name: pf.named_scenario(name) for name in names}
    uncapped = pf.named_scenario("pi2_fig11c_uncapped")
    found["pi2_fig11b_uncapped"] = dataclasses.replace(
        found["pi2_fig11b_pi2"], name="pi2_fig11b_uncapped", aqm=uncapped.aqm
    )
    return found | {"pi2_fig11c_uncapped": uncapped}


def _measure(case: Case) -> Measured:
    runs, measured = measure_runs(case, [0.0], 12.0)
    found = {
        f"{part}_peak": peak_ratios(runs[f"pi2_fig11{part}_pi2"], runs[f"pi2_fig11{part}_pie"], 0.0)
        for part in _CASES
    }
    return Measured(measured.tables, found)


def _cases(
    case: Case, rows: Sequence[Mapping[str, Any]], *lines: str
) -> dict[str, list[Mapping[str, Any]]]:
    """Return the rows of each panel, by its title."""
    return {
        _title(case, part): [
            row for row in rows if row["scenario"] in {f"pi2_fig11{part}_{line}" for line in lines}
        ]
        for part in _CASES
    }


def _title(case: Case, part: str) -> str:
    flows = flows_text(case.scenarios[f"pi2_fig11{part}_pi2"], rated=True)
    return f"{part}) {case.as_printed(_CASES[part])}{flows}"


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    cases = _cases(case, measured.tables[""], "pie", "pi2")
    axes = draw_whole(figure, cases, _BEGINS, highest=0.75)
    share_legend(axes[0, 0])
    share_legend(axes[-1, -1], ("pie", "pi2"), kinds=False, loc="lower right", ncols=2)
    peaks = _cases(case, measured.tables["peaks"], "pie", "pi2")
    said = "; ".join(f"{title[:2]} {peaks_text(rows, MEAN)}" for title, rows in peaks.items())
    every = case.scenarios.values()
    return Caption(
        "With 5 flows PI2 overshoots less than PIE; with 50, or against UDP, its cap of 25 %"
        " makes its queue last",
        f"{rate_text(*every)}, RTT {rtt_text(*every)}; means over {quantity_text(MEAN, 'time')}."
        f" Peaks at the start: {said}.",
    )


def _draw_transients(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    lines = ("pie", "pi2", "uncapped")
    tables = [_cases(case, measured.tables[table], *lines) for table in ("transients", "losses")]
    columns = {title: (tables[0][title], tables[1][title]) for title in tables[0]}
    axes = draw_transients(figure, columns, highest=1.2, most=0.6)
    axes[-1, 0].annotate(
        case.as_printed("a) stays far below the cap"),
        (0.5, 0.5), xycoords="axes fraction", ha="center",
    )  # fmt: skip
    peaks = _cases(case, measured.tables["peaks"], *lines)
    medians = {
        row["scenario"].removeprefix("pi2_fig11"): 1e3 * row["peak_s"]
        for rows in peaks.values()
        for row in rows
        if row["mean_over_s"] == MEAN
    }
    whole = {row["scenario"]: row for row in measured.tables[""]}
    lost = {row["scenario"]: row for row in measured.tables["losses"]}
    needed, wanted = (
        [100.0 * value_at(lost[f"pi2_fig11{c}_pie"], key, *_LATE) for c in "bc"]
        for key in ("lost", "lost_fluid")
    )
    stands = 1e3 * value_at(whole["pi2_fig11b_pi2"], "queue_delay_fluid_s", *_LATE)
    said = "; ".join(
        f"{part}) PIE {medians[f'{part}_pie']:.0f}, PI2 {medians[f'{part}_pi2']:.0f}, without cap"
        f" {medians[f'{part}_uncapped']:.0f} ms"
        for part in "bc"
    )
    return Caption(
        "Without its cap PI2 overshoots less than PIE in each traffic",
        f"{FINE_MEANS}. Peaks of means over {quantity_text(MEAN, 'time')}:"
        f" {said}.\nPIE's packets lose b) {needed[0]:.0f}, c) {needed[1]:.0f} %, its fluid"
        f" {wanted[0]:.0f} and {wanted[1]:.0f}: the fluid has no timeouts."
        + case.as_printed(f" That of PI2 stops at 25 %, and stands at {stands:.0f} ms."),
    )


RECIPE: Final = Recipe(
    caption="Queue delay and throughput under PIE and PI2: 5 flows, 50 flows, 5 flows and UDP",
    shows="Queue delay and throughput under PIE and PI2, without and with UDP",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, (10.0, 6.4)), "transients": Page(_draw_transients, (10.0, 7.8))},
    scenarios=_scenarios,
    least_duration=_START + _LATE[0],
    decisions=(
        STARTS,
        GROWTH,
        ("A peak is the highest mean over 1 s in the first 10 s: the paper plots such means."),
    ),
    why={
        "a_peak": "PI2's higher gain answers sooner. With means over 0.1 s the ratio is 0.67.",
        "b_peak": "PI2 of 2016 drops at most 25 %, and 50 flows in slow start reach this cap. PIE"
        " goes to 45 %. Without its cap PI2 has 0.6 of PIE's peak (second picture).",
        "c_peak": "UDP alone takes 17 of the 25 % that PI2 may drop, which leaves little for slow"
        " start. Without this cap the ratio is 0.6; with it, in means over 0.1 s, 0.72.",
    },
)
