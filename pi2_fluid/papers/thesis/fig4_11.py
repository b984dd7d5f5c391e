"""Figure 4.11 of the thesis on PI2 in ns-3: how the delay of TCP and UDP is distributed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from pi2_fluid.papers.recipe import Caption, Measured, Page, Recipe, shipped
from pi2_fluid.papers.thesis.experiments import (
    COMMON,
    READING,
    draw_distributions,
    measure_shares,
    range_text,
)

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

__all__ = ["RECIPE"]


#: Panels, and the scenarios in them.
_PANELS: Final = {
    "a) 5 TCP and 2 UDP flows, target 5 ms": ("thesis_fig4_11_5ms_pie", "thesis_fig4_11_5ms_pi2"),
    "b) 5 TCP and 2 UDP flows, target 20 ms": ("thesis_fig4_8_pie", "thesis_fig4_8_pi2"),
}


def _draw(figure: FigureBase, measured: Measured) -> Caption:
    draw_distributions(figure, measured.tables[""])
    small, large = (range_text(measured.found[f"share_{at}ms"], ".2f") for at in (5, 20))
    return Caption(
        f"With UDP, PI2 has {small} times as many packets below a target of 5 ms as PIE, and"
        f" {large} below 20 ms",
        note="NewReno, and UDP of 10 Mbit/s each, over 10 Mbit/s, RTT 80 ms without queue; packets"
        " from 20 s on, median and range of the runs.",
    )


RECIPE: Final = Recipe(
    caption="Distribution of the queue delay: 5 TCP and 2 UDP flows, targets of 5 and 20 ms",
    kind="packets",
    measure=partial(measure_shares, _PANELS),
    pages={"": Page(_draw, (9.0, 4.4))},
    scenarios=shipped(*(name for names in _PANELS.values() for name in names)),
    decisions=(
        *COMMON,
        READING,
        "UDP sources transmit at 10 Mbit/s: each, not together.",
    ),
    why={
        "": "Both controllers hold their target, and losses of a half leave little of TCP's"
        " sawtooth. Where UDP sends 10 Mbit/s together it is 1.11 and 1.01 (12 seeds).",
    },
)
