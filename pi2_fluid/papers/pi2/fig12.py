"""Figure 12 of the PI2 paper: a capacity that falls to a fifth, and comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import stretch_means
from pi2_fluid.papers.pi2.experiments import (
    FINE,
    FINE_MEANS,
    GROWTH,
    MEAN,
    STARTS,
    Both,
    find_peaks,
    measure_runs,
)
from pi2_fluid.papers.pi2.panels import LINE_COLORS, draw_stages, draw_whole, share_legend
from pi2_fluid.papers.recipe import Caption, Case, Measured, Page, Recipe, shipped
from pi2_fluid.papers.words import (
    flows_text,
    link_text,
    quantity_text,
    rtt_text,
    share_text,
    target_text,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

_PIE, _PI2 = "pi2_fig12_pie", "pi2_fig12_pi2"
_BEGINS: Final = (0.0, 50.0, 100.0)
#: Highest mean over 100 ms after the fall (s), as the paper gives it.
STATED: Final = {"pie": 0.510, "pi2": 0.250}
_BESIDE: Final = _BEGINS[1] - 3.0  # s: where peaks are drawn, before the curve rises
_HIGH: Final = 0.100  # s: what the paper calls a further peak
_VISIBLE: Final = 1.25  # times what comes later: as far as what is alike may differ
_BACK: Final = 10.0  # s: within which the flows have filled the capacity that came back


def least_peak(scenario: pf.Scenario) -> tuple[float, float]:
    """Return the lowest peak (s) that the queue can have after the fall, with a full link before.

    The queue at its target takes longer to leave on a slower link. And for one round trip of the
    path packets come as before, of which the queue drops at most its cap. The second number is
    without that queue.
    """
    queue: Any = scenario.aqm
    before, after = float(scenario.link.capacity), float(scenario.changes[0].capacity or 0.0)
    kept = (1.0 - float(queue.limit) ** 2) * before
    path = float(scenario.flows[0].base_rtt)
    empty = (kept - after) * path / after
    return float(queue.target) * before / after + empty, empty


def further_peaks(delay: FloatArray) -> int:
    """Return how often a delay rises above 100 ms again after it first did.

    Examples
    --------
    >>> further_peaks(np.array([0.02, 0.5, 0.4, 0.03, 0.12, 0.02, 0.11]))
    2
    """
    above = np.concatenate([[False], delay > _HIGH])
    return max(0, int((above[1:] & ~above[:-1]).sum()) - 1)


def overshoots(early: FloatArray, late: FloatArray) -> bool:
    """Return whether a delay can be seen to overshoot, beside how it varies afterwards.

    Examples
    --------
    >>> overshoots(np.array([5.0, 24.0, 20.0]), np.array([19.0, 22.0, 20.0]))
    False
    """
    return bool(early.max(initial=0.0) >= _VISIBLE * late.max(initial=0.0))


def _measure(case: Case) -> Measured:
    runs, measured = measure_runs(case, _BEGINS, 12.0)
    pie, pi2 = runs[_PIE], runs[_PI2]
    numbers = {
        f"peak_{line}": 1e3 * find_peaks(both.packets, _BEGINS[1], FINE)
        for line, both in (("pie", pie), ("pi2", pi2))
    }
    further = {
        f"further_{line}": [
            further_peaks(run) for run in _between(both, FINE, _BEGINS[1], _BEGINS[2])
        ]
        for line, both in (("pie", pie), ("pi2", pi2))
    }
    back = _BEGINS[2] + _BACK
    early, late = _between(pi2, MEAN, _BEGINS[2], back), _between(pi2, MEAN, back, np.inf)
    flat = [not overshoots(*parts) for parts in zip(early, late, strict=True)]
    queue, empty = least_peak(pi2.scenario)
    bound = [{"line": "pi2", "least_peak_s": queue, "with_empty_queue_s": empty}]
    return Measured({**measured.tables, "bound": bound}, {**numbers, **further, "overshoot": flat})


def _between(both: Both, width: float, begin: float, end: float) -> FloatArray:
    time, delay = stretch_means(both.packets, "queue_delay", width)
    result: FloatArray = delay[:, (time >= begin) & (time < end)]
    return result


def _draw(figure: FigureBase, measured: Measured, case: Case) -> Caption:
    rows = measured.tables[""]
    axes = draw_whole(figure, {"": rows}, _BEGINS, highest=0.6)
    fall = {
        peak["line"]: peak
        for peak in measured.tables["peaks"]
        if peak["from_s"] == _BEGINS[1] and peak["mean_over_s"] == FINE
    }
    for ax, (line, peak) in zip(axes[:, 0], fall.items(), strict=False):
        _mark_peak(ax, line, peak)
        if not case.changed:
            _mark_stated(ax, line)
    (bound,) = measured.tables["bound"]
    least, empty = 1e3 * bound["least_peak_s"], 1e3 * bound["with_empty_queue_s"]
    scenario = case.scenarios[_PI2]
    queue: Any = scenario.aqm
    _mark_bound(
        axes[1, 0], least,
        f"full link, {target_text(scenario)} of queue, {share_text(float(queue.limit) ** 2)}"
        " dropped from the first instant",
    )  # fmt: skip
    _mark_bound(axes[1, 0], empty, "the same with an empty queue")
    share_legend(axes[0, 0], ncols=2)
    share_legend(axes[-1, 0], ("pie", "pi2"), kinds=False, loc="center", ncols=2)
    return Caption(
        f"After the fall PIE peaks at {1e3 * fall['pie']['peak_s']:.0f} ms (stated"
        f" {1e3 * STATED['pie']:.0f}), PI2 at {1e3 * fall['pi2']['peak_s']:.0f} (stated"
        f" {1e3 * STATED['pi2']:.0f}): a full link and 20 ms of queue leave {least:.0f} at least",
        f"Dots: highest mean over {FINE:g} s, median and range"
        f"{case.as_printed('; crosses: as stated')}. Curves are means over"
        f" {quantity_text(MEAN, 'time')}.",
        f"{link_text(scenario)}, RTT {rtt_text(scenario)}, {flows_text(scenario)}",
    )


def _mark_peak(ax: Axes, line: str, peak: Mapping[str, Any]) -> None:
    """Draw median and range of the peaks, which means over 1 s smooth away."""
    low, middle, high = (1e3 * float(peak[f"peak{which}_s"]) for which in ("_low", "", "_high"))
    ax.errorbar(
        [_BESIDE], [middle], [[middle - low], [high - middle]], color=LINE_COLORS[line], marker="o",
        markersize=3.5, capsize=2.5, linewidth=1.1,
    )  # fmt: skip


def _mark_stated(ax: Axes, line: str) -> None:
    """Draw the peak that the paper states."""
    level = 1e3 * STATED[line]
    ax.plot([_BESIDE], [level], color="black", marker="x", markersize=6, linestyle="")
    ax.annotate(
        f"stated {level:.0f} ms", (_BESIDE, level), (-6, 0), ha="right",
        va="center", fontsize=8, textcoords="offset points",
    )  # fmt: skip


def _mark_bound(ax: Axes, least: float, text: str) -> None:
    fall = _BEGINS[1]
    ax.plot([fall - 2.0, fall + 5.0], [least] * 2, color="black", linestyle=":", linewidth=1.4)
    ax.annotate(
        f"at least {least:.0f} ms: {text}", (fall + 5.0, least), (4, 0), va="center", fontsize=8,
        textcoords="offset points",
    )  # fmt: skip


def _draw_transients(figure: FigureBase, measured: Measured, _: Case) -> Caption:
    draw_stages(figure, measured.tables, highest=0.6, most=0.5)
    peaks = [
        f"{1e3 * peak['peak_fluid_s']:.0f}"
        for peak in measured.tables["peaks"]
        if peak["from_s"] == _BEGINS[1] and peak["mean_over_s"] == FINE
    ]
    return Caption(
        "Within the round trip after the fall neither queue can do much: the drops are felt later",
        f"{FINE_MEANS}, by rates; where it is negative"
        f" the fluid oscillates.\nThe fluid peaks at {' and '.join(peaks)} ms: its windows send at"
        " W/R, less as soon as the queue grows; packets go on with the acknowledgements on their"
        " way.",
    )


RECIPE: Final = Recipe(
    caption="Queue delay under PIE and PI2 while the capacity is 100, 20 and 100 Mbit/s",
    shows="Queue delay under PIE and PI2 while the capacity falls and comes back",
    kind="fluid and packets",
    measure=_measure,
    pages={"": Page(_draw, (9.0, 6.4)), "transients": Page(_draw_transients, (10.0, 6.4))},
    scenarios=shipped(_PIE, _PI2),
    decisions=(
        STARTS,
        GROWTH,
        "There are 20 flows: the paper does not say how many.",
        ("A further peak is a later rise of the mean over 0.1 s above 100 ms, before 100 s."),
        (
            "An overshoot is visible if the highest mean over 1 s from 100 to 110 s is at least"
            " 1.25 times the highest one later."
        ),
    ),
    why={
        "peak_pie": "What was in flight on the fast link has to leave at a fifth of its rate. With"
        " 100 flows the peak is 463 ms.",
        "peak_pi2": "The set-up as described cannot give 250 ms. The link is full and 20 ms wait"
        " when the rate falls. If PI2 dropped 25 %, the most it can, from then on, the delay would"
        " still reach 375 ms; 275 ms if nothing had waited.",
        "further_pie": "Open. PIE's delay falls below 100 ms within a second and stays there, also"
        " with 5 and with 100 flows: it does not oscillate.",
        "further_pi2": "The delay is above 100 ms once, for about a second.",
        "overshoot": "Neither queue overshoots: Reno takes seconds to fill the restored capacity,"
        " while the queue is empty. The paper sees an overshoot of PIE; here its ratio is 0.9.",
    },
)
