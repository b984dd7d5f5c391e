"""Figure 6 of the PI2 paper packet by packet: 10:30:50:30:10 flows at 100 Mbit/s and 10 ms."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pi2_fluid.papers.pi2.experiments import STARTS
from pi2_fluid.papers.pi2.packet_experiments import draw_cases, peaks_text, run_both, value_at
from pi2_fluid.plot import page_style, save_figure, write_caption

__all__ = ["curves", "draw"]

_LINES: Final = {"pi": "pi2_fig06_pi", "pie": "pi2_fig06_pie", "pi2": "pi2_fig06_pi2"}
_BEGINS: Final = (0.0, 50.0, 100.0, 150.0, 200.0)


def curves() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the plotted numbers, one mapping of columns per queue, and the peaks."""
    found = [run_both(line, name, _BEGINS[:3]) for line, name in _LINES.items()]
    return [row for row, _ in found], [peak for _, peaks in found for peak in peaks]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    rows, peaks = curves()
    few = [1e3 * value_at(row, "queue_delay_s", 10.0, 49.0) for row in rows]
    lost = [100.0 * value_at(rows[2], key, 110.0, 149.0) for key in ("lost", "lost_fluid")]
    with page_style():
        figure = draw_cases({"": rows}, _BEGINS, highest=0.25, most=0.12)
        write_caption(
            figure,
            "Packets, too, hold PI's delay at an RTT of 10 ms; the paper saw its queue run empty",
            "10:30:50:30:10 Reno flows, 100 Mbit/s, RTT 10 ms; means over 1 s",
            f"With 10 flows PI, untuned, keeps a mean delay of {few[0]:.1f} ms (PIE {few[1]:.1f},"
            f" PI2 {few[2]:.1f}): its p is so small that chance takes it to 0 at times, where it"
            " is clipped, and the mean of the queue moves. The fluid does not come near 0. Neither"
            " shows idle times.\n"
            f"Lost with 50 flows under PI2: {lost[0]:.1f} %, in the fluid {lost[1]:.1f} %: drops by"
            " chance leave Reno at W = 1.2/\N{SQUARE ROOT}p, the fluid's law says 1.41, and p goes"
            " as the square; and windows are 5.7 where link and queue hold 5.\n"
            f"Peaks (means over 0.1 s) at 0, 50 and 100 s: {peaks_text(peaks)}. In the fluid"
            " the first slow start overshoots further: its drops are not missing from the queue,"
            f" and its flows double until they expect one signal each. {STARTS}.",
            source="PI2 paper, Figure 6",
        )
        return save_figure(figure, out / "pi2_fig06_packets", rows, peaks=peaks)
