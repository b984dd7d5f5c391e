"""Figure 12 of the PI2 paper packet by packet: a capacity that falls to a fifth, and comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pi2_fluid as pf
from pi2_fluid.paper.packet_experiments import draw_cases, run_both
from pi2_fluid.paper.pi2_fig12 import MEASURED
from pi2_fluid.plot import page_style, save_figure, write_caption, write_numbers

__all__ = ["curves", "draw"]

_LINES: Final = {"pie": "pi2_fig12_pie", "pi2": "pi2_fig12_pi2"}
_BEGINS: Final = (0.0, 50.0, 100.0)


def curves() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the plotted numbers, one mapping of columns per queue, and the peaks."""
    found = [run_both(line, name, _BEGINS) for line, name in _LINES.items()]
    return [row for row, _ in found], [peak for _, peaks in found for peak in peaks]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    rows, peaks = curves()
    fall = {peak["line"]: peak for peak in peaks if peak["from_s"] == _BEGINS[1]}
    pie, pi2 = (
        f"{1e3 * mine['peak_s']:.0f} ({1e3 * mine['peak_low_s']:.0f} to"
        f" {1e3 * mine['peak_high_s']:.0f})"
        for mine in (fall["pie"], fall["pi2"])
    )
    count = float(pf.named_scenario(_LINES["pi2"]).flows[0].count)
    with page_style():
        figure = draw_cases({"": rows}, _BEGINS, highest=0.55)
        write_caption(
            figure,
            f"When the capacity falls, packets of PIE peak at {1e3 * fall['pie']['peak_s']:.0f} ms,"
            f" where {1e3 * MEASURED['pie']:.0f} were measured; those of PI2 at"
            f" {1e3 * fall['pi2']['peak_s']:.0f}, not {1e3 * MEASURED['pi2']:.0f}",
            f"100:20:100 Mbit/s, RTT 100 ms, {count:g} Reno flows (the paper does not say how"
            " many); means over 1 s",
            f"Peaks (means over 0.1 s) at 50 s: PIE {pie} ms, in the fluid"
            f" {1e3 * fall['pie']['peak_fluid_s']:.0f}; PI2 {pi2} ms, in the fluid"
            f" {1e3 * fall['pi2']['peak_fluid_s']:.0f}. What is in flight when the capacity falls"
            " makes most of the peak, whichever queue it meets; between 5 and 80 flows it is much"
            " the same. What made PI2 in the testbed so much lower, neither model says."
            " The fluid stays lower because its senders slow down as the queue grows.\n"
            "At 100 Mbit/s both queues are beyond their margin at this RTT: fluid and packets"
            " swing. The fluid's start is cut off: flows that join in slow start are copies there.",
        )
        files = save_figure(figure, out / "pi2_fig12_packets")
    return [
        *files,
        write_numbers(out / "pi2_fig12_packets.csv", rows),
        write_numbers(out / "pi2_fig12_packets_peaks.csv", peaks),
    ]
