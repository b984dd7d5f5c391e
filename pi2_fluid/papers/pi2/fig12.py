"""Figure 12 of the PI2 paper as a fluid: a capacity that falls to a fifth, and comes back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pi2_fluid as pf
from pi2_fluid.papers.pi2.experiments import STARTS, curve_of, draw_panels, panels_of, window_peak
from pi2_fluid.plot import COLORS, label_curve, page_style, save_figure, write_caption

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MEASURED", "curves", "draw"]

_LINES: Final = {"pie": "pi2_fig12_pie", "pi2": "pi2_fig12_pi2"}
#: Highest mean over 100 ms after the fall, as the paper gives it (section 6), in s.
MEASURED: Final = {"pie": 0.510, "pi2": 0.250}
_FALL: Final = 50.0  # s after the first flow
_PATH: Final = 0.1  # s: round trip without queue
_FALL_COLORS: Final = {"pie": COLORS[2], "pi2": COLORS[1]}


def curves() -> list[dict[str, Any]]:
    """Return the plotted numbers, one mapping of columns per queue."""
    return [curve_of(name, line, "25ms") for line, name in _LINES.items()]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    rows = curves()
    panels = panels_of(rows)
    count = float(pf.named_scenario(_LINES["pi2"]).flows[0].count)
    peaks, measured = (
        " and ".join(f"{1e3 * delays[line]:.0f}" for line in _LINES)
        for delays in ({row["line"]: window_peak(row, _FALL, 0.1) for row in rows}, MEASURED)
    )
    with page_style():
        figure = draw_panels(panels, rows, length=12.0, highest=0.6)
        _mark_measured(figure)
        write_caption(
            figure,
            f"The capacity falls to a fifth: the fluid peaks at {peaks} ms, measured were"
            f" {measured}",
            f"100:20:100 Mbit/s, RTT 100 ms, {count:g} Reno flows (the paper does not say how"
            " many); fluid, controllers sampled every 32 ms",
            "Peaks: highest mean over 100 ms, PIE and PI2. Numbers in the panels: gain margin of"
            " the sampled loop; at 100 Mbit/s it is negative, and the delay cycles."
            f" If nobody reacted, what is in flight at 50 s would wait for {_in_flight(rows[0])}"
            " ms. The fluid stays below that, because windows in it send at W/R, which falls as"
            " soon as the queue grows, and not by their acknowledgements. Its PI2 peaks nearly as"
            " high as its PIE: whatever PI2 signals earlier is not felt within that round trip,"
            " whereas packets dropped in a testbed never enter the queue.\n"
            f"{STARTS}.",
            source="PI2 paper, Figure 12",
        )
        return save_figure(figure, out / "pi2_fig12", rows)


def _in_flight(row: dict[str, Any]) -> str:
    """Return the queue delay (ms) if all that is in flight before the fall waits after it."""
    at = int((row["time_s"] < _FALL).sum())
    before, after = (float(row["capacity_bit_s"][k]) for k in (at - 1, at))
    rtt = _PATH + float(row["queue_delay_s"][at - 1])
    return f"{1e3 * (rtt * before / after - _PATH):.0f}"


def _mark_measured(figure: Figure) -> None:
    top = figure.axes[3]
    for line, delay in MEASURED.items():
        color = _FALL_COLORS[line]
        top.plot([0.0, 0.9], [1e3 * delay] * 2, color=color, linewidth=3.0, alpha=0.55)
        text = f"measured {1e3 * delay:.0f} ms"
        label_curve(top, (0.9, 1e3 * delay), text, color, "right", fontsize=8)
