"""Figure 6 of the PI2 paper as a fluid: 10:30:50:30:10 flows at 100 Mbit/s and 10 ms."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pi2_fluid.papers.pi2.experiments import STARTS, curve_of, draw_panels, list_peaks, panels_of
from pi2_fluid.plot import page_style, save_figure, write_caption

__all__ = ["curves", "draw"]

_LINES: Final = {"pi": "pi2_fig06_pi", "pie": "pi2_fig06_pie", "pi2": "pi2_fig06_pi2"}


def curves() -> list[dict[str, Any]]:
    """Return the plotted numbers, one mapping of columns per queue."""
    return [curve_of(name, line) for line, name in _LINES.items()]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    rows = curves()
    panels = panels_of(rows)
    with page_style():
        figure = draw_panels(panels, rows, length=6.0, highest=0.36)
        write_caption(
            figure,
            "At 10 ms even PI without tuning settles in the fluid; with 10 flows it has the least"
            " margin",
            "Reno flows that come and go, 100 Mbit/s, RTT 10 ms; fluid, controllers sampled every"
            " 32 ms",
            "Numbers in the panels: gain margin of the sampled loop at that load."
            f" PI with 10 flows keeps {panels[0].margins['pi']}, where the paper measured an"
            " oscillating queue and idle times: whole packets, bursts"
            " and the chance in drops, which a fluid lacks, are amplified by a loop so near its"
            " limit, but the loop itself is stable.\n"
            f"Peaks at 0, 50 and 100 s: {list_peaks(rows, (0, 50, 100))}. {STARTS}.",
            source="PI2 paper, Figure 6",
        )
        return save_figure(figure, out / "pi2_fig06", rows)
