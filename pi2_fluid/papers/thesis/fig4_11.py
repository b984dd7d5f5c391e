"""Figure 4.11 of the thesis on PI2 in ns-3: how the delay of TCP and UDP is distributed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.thesis.experiments import (
    COMMON,
    READING,
    after_of,
    draw_distributions,
    measure_shares,
    range_text,
)
from pi2_fluid.papers.words import flows_text, listed, rate_text, rtt_text, sent_text

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

#: The scenarios of each panel.
_PANELS: Final = (
    ("thesis_fig4_11_5ms_pie", "thesis_fig4_11_5ms_pi2"),
    ("thesis_fig4_8_pie", "thesis_fig4_8_pi2"),
)


def _said(scenario: pf.Scenario) -> str:
    return flows_text(scenario, "TCP")


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    draw_distributions(figure, measured.tables[""])
    every = case.scenarios.values()
    sent = sent_text(*every)
    small, large = (range_text(measured.found[f"share_{at}ms"], ".2f") for at in (5, 20))
    return Caption(
        f"With UDP, PI2 has {small} times as many packets below a target of 5 ms as PIE, and"
        f" {large} below 20 ms",
        note=f"NewReno, and UDP of {sent} each, over {rate_text(*every)}, RTT"
        f" {rtt_text(*every)} without queue; packets from"
        f" {listed(map(after_of, every), 'time')} on, median and range of the runs.",
    )


RECIPE: Final = Recipe(
    caption="Distribution of the queue delay: 5 TCP and 2 UDP flows, targets of 5 and 20 ms",
    shows="Distribution of the queue delay of TCP and UDP flows, PIE and PI2",
    kind="packets",
    measure=partial(measure_shares, _PANELS, _said),
    pages={"": Page(_draw, (9.0, 4.4))},
    scenarios=shipped(*(name for names in _PANELS for name in names)),
    decisions=(
        *COMMON,
        READING,
        "Each UDP source sends at 10 Mbit/s, not both together.",
    ),
    why={
        "": "Both controllers hold their target, and at a loss of a half little is left of TCP's"
        " sawtooth. If both UDP senders together send 10 Mbit/s, the ratios are 1.11 and 1.01 (12"
        " seeds).",
    },
)
