"""Figure 13 of the PI2 paper packet by packet: 10:30:50:30:10 flows at 10 Mbit/s and 100 ms."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pi2_fluid.papers.pi2.experiments import STARTS
from pi2_fluid.papers.pi2.packet_experiments import draw_cases, peaks_text, run_both, value_at
from pi2_fluid.plot import page_style, save_figure, write_caption

__all__ = ["curves", "draw"]

_LINES: Final = {"pie": "pi2_fig13_pie", "pi2": "pi2_fig13_pi2"}
_BEGINS: Final = (0.0, 50.0, 100.0, 150.0, 200.0)


def curves() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the plotted numbers, one mapping of columns per queue, and the peaks."""
    found = [run_both(line, name, _BEGINS[:3]) for line, name in _LINES.items()]
    return [row for row, _ in found], [peak for _, peaks in found for peak in peaks]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    rows, peaks = curves()
    pie, pi2 = rows
    lost = [
        [100.0 * value_at(pie, key, *span) for key in ("lost", "lost_fluid")]
        for span in ((70.0, 99.0), (120.0, 149.0))
    ]
    delays = [1e3 * value_at(pi2, f"queue_delay{key}_s", 120.0, 149.0) for key in ("", "_fluid")]
    with page_style():
        figure = draw_cases({"": rows}, _BEGINS, highest=0.75)
        write_caption(
            figure,
            "When flows are added PI2 overshoots less than PIE; with 50 flows packets need"
            f" p = {lost[1][0]:.0f} %, the fluid {lost[1][1]:.0f} %",
            "10:30:50:30:10 Reno flows, 10 Mbit/s, RTT 100 ms; means over 1 s",
            "Between 100 and 150 s a window is 2 to 3 segments. Retransmission timeouts slow such"
            f" flows down, which the fluid does not know: it asks for p = {lost[1][1]:.0f} %, more"
            f" than the 25 % that PI2 of 2016 gives, so its delay stays at {delays[1]:.0f} ms; that"
            f" of packets at {delays[0]:.0f}. With 30 flows (4 segments) the two still differ:"
            f" {lost[0][0]:.1f} and {lost[0][1]:.1f} %.\n"
            f"Peaks (means over 0.1 s) at 0, 50 and 100 s: {peaks_text(peaks)}. In the fluid"
            " slow start overshoots further: its drops are not missing from the queue, and its"
            f" flows double until they expect one signal each. {STARTS}.",
            source="PI2 paper, Figure 13",
        )
        return save_figure(figure, out / "pi2_fig13_packets", rows, peaks=peaks)
