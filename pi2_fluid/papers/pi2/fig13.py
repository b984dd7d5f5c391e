"""Figure 13 of the PI2 paper as a fluid: 10:30:50:30:10 flows at 10 Mbit/s and 100 ms."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from pi2_fluid.papers.pi2.experiments import STARTS, curve_of, draw_panels, list_peaks, panels_of
from pi2_fluid.plot import page_style, save_figure, write_caption

__all__ = ["curves", "draw"]

_LINES: Final = {"pie": "pi2_fig13_pie", "pi2": "pi2_fig13_pi2"}


def curves() -> list[dict[str, Any]]:
    """Return the plotted numbers, one mapping of columns per queue."""
    return [curve_of(name, line) for line, name in _LINES.items()]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    rows = curves()
    with page_style():
        figure = draw_panels(panels_of(rows), rows, length=12.0, highest=0.75)
        write_caption(
            figure,
            "When flows are added PI2 overshoots less than PIE, until 50 flows need more than its"
            " cap",
            "Reno flows that come and go, 10 Mbit/s, RTT 100 ms; fluid, controllers sampled every"
            " 32 ms",
            "Numbers in the panels: gain margin of the sampled loop at that load. Peaks at 0, 50"
            f" and 100 s: {list_peaks(rows, (0, 50, 100))}; the paper says of its measurement that"
            " PI2 overshoots less, without numbers.\n"
            "With 50 flows Reno's window is 2 segments: the fluid needs p = 50 % for that, PI2 of"
            f" 2016 stops at 25 %, and its delay rises to {_delay_at(rows[1], 149.0)} ms, from"
            " which the third peak is as high as it is. TCP, with its timeouts, needs less: in"
            " packets PI2 overshoots less there, too.\n"
            f"{STARTS}. A fluid at rest does not fluctuate; packets do.",
            source="PI2 paper, Figure 13",
        )
        return save_figure(figure, out / "pi2_fig13", rows)


def _delay_at(row: dict[str, Any], time: float) -> str:
    """Return the queue delay (ms) at an instant (s)."""
    return f"{1e3 * float(np.interp(time, row['time_s'], row['queue_delay_s'])):.0f}"
