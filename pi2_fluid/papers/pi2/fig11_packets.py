"""Figure 11 of the PI2 paper packet by packet: light, heavy, mixed traffic, 10 Mbit/s, 100 ms."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from pi2_fluid.papers.pi2.experiments import STARTS
from pi2_fluid.papers.pi2.packet_experiments import draw_cases, peaks_text, run_both, value_at
from pi2_fluid.plot import page_style, save_figure, write_caption

__all__ = ["curves", "draw"]

_CASES: Final = {
    "a": "a) light: 5 Reno flows",
    "b": "b) heavy: 50 Reno flows",
    "c": "c) 5 Reno and 2 UDP flows of 6 Mbit/s",
}
_LATE: Final = (40.0, 99.0)  # s: when all start-ups are over


def curves() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the plotted numbers, one mapping of columns per queue and case, and the peaks."""
    found = [
        run_both(line, f"pi2_fig11{case}_{line}", [0.0])
        for case in _CASES
        for line in ("pie", "pi2")
    ]
    return [row for row, _ in found], [peak for _, peaks in found for peak in peaks]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    rows, peaks = curves()
    cases = {
        title: [row for row in rows if row["scenario"].startswith(f"pi2_fig11{case}")]
        for case, title in _CASES.items()
    }
    delay, fluid = (
        [1e3 * value_at(rows[k], f"queue_delay{key}_s", *_LATE) for k in (1, 3, 5)]
        for key in ("", "_fluid")
    )
    lost = [[100.0 * value_at(row, key, *_LATE) for key in ("lost", "lost_fluid")] for row in rows]
    with page_style():
        figure = draw_cases(cases, [0.0, 25.0, 50.0], highest=0.8)
        write_caption(
            figure,
            "PI2 overshoots less than PIE at the start of each traffic, and holds its target with"
            f" 50 flows, where the fluid stands at {fluid[1]:.0f} ms",
            note=(
                "10 Mbit/s, RTT 100 ms; means over 1 s.\n"
                f"a) Few flows: to halve a window of 20 takes 10 packets out of a queue of 17."
                f" PI2's queue runs empty now and then, and its mean is {delay[0]:.1f} ms.\n"
                f"b) Windows of 2 to 3 segments, and timeouts: packets lose {lost[3][0]:.1f} % at"
                f" {delay[1]:.0f} ms, the fluid wants 50 % (PIE) and is stopped at 25 % by PI2 of"
                " 2016.\n"
                f"c) UDP alone exceeds the link. PI2's cap of 25 % just suffices for packets:"
                f" {lost[5][0]:.1f} % lost, {delay[2]:.0f} ms. Of the fluid it does not.\n"
                f"Peaks at the start (means over 0.1 s): a) {peaks_text(peaks[:2])}; b)"
                f" {peaks_text(peaks[2:4])}; c) {peaks_text(peaks[4:])}. {STARTS}; UDP"
                " starts with the first. In the fluid slow start overshoots further: its drops are"
                " not missing from the queue, and its flows double until they expect one signal"
                " each."
            ),
            source="PI2 paper, Figure 11",
        )
        return save_figure(figure, out / "pi2_fig11_packets", rows, peaks=peaks)
