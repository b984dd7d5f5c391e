"""Figure 12 of the PI2 paper packet by packet: a capacity that falls to a fifth, and comes back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pi2_fluid as pf
from pi2_fluid.papers.pi2.experiments import STARTS
from pi2_fluid.papers.pi2.fig12 import MEASURED
from pi2_fluid.papers.pi2.packet_experiments import LINE_COLORS, draw_cases, run_both
from pi2_fluid.plot import page_style, save_figure, write_caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["curves", "draw", "least_peak"]

_LINES: Final = {"pie": "pi2_fig12_pie", "pi2": "pi2_fig12_pi2"}
_BEGINS: Final = (0.0, 50.0, 100.0)


def curves() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the plotted numbers, one mapping of columns per queue, and the peaks."""
    found = [run_both(line, name, _BEGINS) for line, name in _LINES.items()]
    return [row for row, _ in found], [peak for _, peaks in found for peak in peaks]


def least_peak(scenario: pf.Scenario) -> float:
    """Return the lowest peak (s) that the queue can have after the fall, with a full link before.

    The queue at its target takes longer to leave on a slower link. And for one round trip of the
    path packets come as before, of which the queue drops at most its cap.
    """
    queue: Any = scenario.aqm
    before, after = float(scenario.link.capacity), float(scenario.changes[0].capacity or 0.0)
    kept = (1.0 - float(queue.limit) ** 2) * before
    path = float(scenario.flows[0].base_rtt)
    return float(queue.target) * before / after + (kept - after) * path / after


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    rows, peaks = curves()
    fall = {peak["line"]: peak for peak in peaks if peak["from_s"] == _BEGINS[1]}
    pie, pi2 = (
        f"{1e3 * mine['peak_s']:.0f} ({1e3 * mine['peak_low_s']:.0f} to"
        f" {1e3 * mine['peak_high_s']:.0f})"
        for mine in (fall["pie"], fall["pi2"])
    )
    scenario = pf.named_scenario(_LINES["pi2"])
    count, least = float(scenario.flows[0].count), 1e3 * least_peak(scenario)
    with page_style():
        figure = draw_cases({"": rows}, _BEGINS, highest=0.55)
        for ax, line in zip(figure.axes, _LINES, strict=False):
            _mark_peak(ax, fall[line], LINE_COLORS[line])
        _mark_bound(figure.axes[1], least)
        write_caption(
            figure,
            f"When the capacity falls, PIE peaks at {1e3 * fall['pie']['peak_s']:.0f} ms"
            f" ({1e3 * MEASURED['pie']:.0f} measured), PI2 at {1e3 * fall['pi2']['peak_s']:.0f}"
            f" ({1e3 * MEASURED['pi2']:.0f}): a full link and 20 ms of queue make {least:.0f} at"
            " least",
            f"100:20:100 Mbit/s, RTT 100 ms, {count:g} Reno flows (the paper does not say how"
            " many); means over 1 s",
            f"Bars: peaks (means over 0.1 s) at 50 s, PIE {pie} ms, in the fluid"
            f" {1e3 * fall['pie']['peak_fluid_s']:.0f}; PI2 {pi2} ms, in the fluid"
            f" {1e3 * fall['pi2']['peak_fluid_s']:.0f}. Dotted: what 20 ms of queue on a full link"
            " make at least, were 25 %, PI2's cap, dropped from the first instant on: those 20 ms"
            " take 100 on the slower link, and for one round trip 75 Mbit/s go on coming. Were the"
            f" queue empty just then, it would be {least - 100.0:.0f} ms."
            " What made PI2 in the testbed so much lower neither model says. The fluid can be"
            " lower, because its senders slow down as the queue grows.\n"
            "At 100 Mbit/s both queues are beyond their margin at this RTT by rates, though not by"
            " acknowledgements: fluid and packets"
            f" swing. {STARTS}.",
            source="PI2 paper, Figure 12",
        )
        return save_figure(figure, out / "pi2_fig12_packets", rows, peaks=peaks)


def _mark_peak(ax: Axes, peak: dict[str, Any], color: str) -> None:
    """Draw median and range of the peaks, which means over 1 s smooth away."""
    low, middle, high = (1e3 * float(peak[f"peak{which}_s"]) for which in ("_low", "", "_high"))
    at = _BEGINS[1] + 1.5  # beside the curve
    ax.errorbar(
        [at], [middle], [[middle - low], [high - middle]], color=color, marker="o", markersize=3.5,
        capsize=2.5, linewidth=1.1,
    )  # fmt: skip


def _mark_bound(ax: Axes, least: float) -> None:
    """Draw the lowest peak that is to be expected, where it is."""
    fall = _BEGINS[1]
    ax.plot([fall - 2.0, fall + 5.0], [least] * 2, color="black", linestyle=":", linewidth=1.4)
    ax.annotate(
        f"{least:.0f} ms: full link, 25 % dropped at once", (fall + 5.0, least), (4, 0),
        va="center", fontsize=8, textcoords="offset points",
    )  # fmt: skip
