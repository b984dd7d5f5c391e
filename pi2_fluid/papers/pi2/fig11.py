"""Figure 11 of the PI2 paper as a fluid: light, heavy and mixed traffic at 10 Mbit/s and 100 ms."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pi2_fluid as pf
from pi2_fluid.papers.pi2.experiments import (
    STARTS,
    Panel,
    curve_of,
    draw_panels,
    list_peaks,
    margin_of,
    stages_of,
)
from pi2_fluid.plot import page_style, save_figure, write_caption

__all__ = ["curves", "draw"]

_PANELS: Final = {
    "a": "a) light: 5 Reno flows",
    "b": "b) heavy: 50 Reno flows",
    "c": "c) 5 Reno and 2 UDP flows of 6 Mbit/s",
}


def curves() -> list[dict[str, Any]]:
    """Return the plotted numbers, one mapping of columns per queue and panel."""
    return [
        curve_of(f"pi2_fig11{part}_{line}", line) for part in _PANELS for line in ("pie", "pi2")
    ]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    rows = curves()
    panels = []
    for part, title in _PANELS.items():
        mine = [row for row in rows if row["scenario"].startswith(f"pi2_fig11{part}")]
        margins = {}
        for row in mine:
            scenario = pf.named_scenario(row["scenario"])
            margins[row["line"]] = margin_of(stages_of(scenario)[0], scenario.aqm)
        panels.append(Panel(title, 0.0, mine, margins))
    with page_style():
        figure = draw_panels(panels, [], length=25.0, highest=2.2)
        write_caption(
            figure,
            "PI2 overshoots less than PIE at the start of each traffic; the fluid of both more than"
            " packets",
            note=(
                "10 Mbit/s, RTT 100 ms; fluid, controllers sampled every 32 ms. Numbers in the"
                " panels: gain margin of the sampled loop. Peaks: a)"
                f" {list_peaks(rows[:2], (0,))}, b) {list_peaks(rows[2:4], (0,))}, c)"
                f" {list_peaks(rows[4:], (0,))}.\n"
                "b) Reno's window is 2 segments: the fluid needs p = 50 % for that, PI2 of 2016"
                f" stops at 25 %, and its delay stays at {1e3 * rows[3]['queue_delay_s'][-1]:.0f}"
                " ms. TCP, with its timeouts, needs less.\n"
                "c) UDP alone exceeds the link; what is dropped of it does not enter the queue."
                f" PIE comes to rest at p = {100 * rows[4]['controller'][-1]:.0f} %; PI2 again"
                " stops at 25 %, where Reno has the same window and delay as in b).\n"
                "Drops of the fluid are not missing from its queue, its flows double until they"
                " expect one signal each, and then it obeys every signal, even two in one round"
                f" trip: so the start is rougher than that of packets. {STARTS}; UDP starts with"
                " the first."
            ),
            source="PI2 paper, Figure 11",
        )
        return save_figure(figure, out / "pi2_fig11", rows)
