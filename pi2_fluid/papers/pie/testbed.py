"""The testbed of the PIE paper, Figures 10 and 11: how long packets wait under PIE and CoDel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.comparison.agreement.curves import delay_distribution
from pi2_fluid.papers.pie.simulations import MEAN, SETTLED, reference_of
from pi2_fluid.papers.recipe import Case, Measured
from pi2_fluid.papers.runs import packet_runs
from pi2_fluid.plot import COLORS, draw_runs

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

#: The queues in the paper's order.
LINES: Final = {"pie": "PIE", "codel": "CoDel"}
#: Panels and their reference delays (ms).
TARGETS: Final = {"a": 5.0, "b": 20.0}
DECISIONS: Final = (
    (
        f"Packets of all classes that leave after {SETTLED:g} s are counted. Throughputs are of"
        " the whole run, as tc counts them."
    ),
    (
        "The paper gives neither the initial window nor when flows start. We take 10 segments, as"
        " in Linux 3.5, and the first second."
    ),
    "Reno grows by 1/W per acknowledgement, as in Linux before 4.0; the paper names 3.5.",
)
_STYLES: Final = {"pie": (COLORS[1], "-"), "codel": (COLORS[2], (0, (5, 1.5)))}
_MARKS: Final = {"pie": "o", "codel": "s"}
_STATED: Final[dict[str, Any]] = {
    "fillstyle": "none", "markersize": 7, "markeredgewidth": 1.6, "zorder": 5,
}  # fmt: skip


class Waits(NamedTuple):
    """What became of one queue's packets."""

    delays: FloatArray
    """s."""
    share: FloatArray
    """Of each run (a row), the part of the packets that met at most that."""
    rate: FloatArray
    """Throughput of each run (Mbit/s)."""

    def below(self, delay_ms: float) -> FloatArray:
        """Return which part of each run's packets waited less than `delay_ms`."""
        return np.array([np.interp(1e-3 * delay_ms, self.delays, row) for row in self.share])


def _waits(runs: xarray.Dataset) -> Waits:
    delays, share = delay_distribution(runs, SETTLED)
    # From 0 on: what waits not at all is in the first bucket.
    share = np.concatenate([np.zeros((share.shape[0], 1)), share], axis=1)
    rate = 1e-6 * runs["rate"].sum("flows").to_numpy()
    return Waits(np.append(0.0, delays), share, rate)


def measure_waits(case: Case) -> tuple[dict[str, Waits], Measured]:
    """Return what packets met, by panel and queue ("a_pie"), and curves and throughputs of it."""
    every = {
        name.partition("_fig")[2][2:]: _waits(packet_runs(scenario, case.seeds, MEAN))
        for name, scenario in case.scenarios.items()
    }
    rows = [
        {
            "panel": name[0],
            "line": name[2:],
            "seeds": case.seeds,
            "reference_s": reference_of(scenario),
            "queue_delay_s": waits.delays,
            "share": np.median(waits.share, axis=0),
            "share_low": waits.share.min(axis=0),
            "share_high": waits.share.max(axis=0),
        }
        for (name, waits), scenario in zip(every.items(), case.scenarios.values(), strict=True)
    ]
    return every, Measured({"": rows}, {f"{name}_rate": one.rate for name, one in every.items()})


def draw_panels(
    figure: FigureBase,
    rows: Sequence[Mapping[str, Any]],
    longest: float,
    stated: Mapping[str, Sequence[tuple[float, float, str]]],
) -> None:
    """Draw a panel per reference delay, with what the paper states as hollow marks.

    Parameters
    ----------
    figure : Figure
        Empty.
    rows : sequence of mapping
        The curves.
    longest : float
        End of the axes of delays (ms).
    stated : mapping of str to sequence of (float, float, str)
        Of each panel: delay (ms), share and queue; "" if both have more. Nothing of what was
        changed.
    """
    axes: Any = figure.subplots(1, len(TARGETS), sharex=True, sharey=True)
    for ax, panel in zip(axes, TARGETS, strict=True):
        reference = next(1e3 * row["reference_s"] for row in rows if row["panel"] == panel)
        ax.axvline(reference, color="0.35", linewidth=0.9, linestyle="dotted", zorder=1)
        for row in rows:
            if row["panel"] != panel:
                continue
            color, dashes = _STYLES[row["line"]]
            curves = [row[f"share{which}"] for which in ("_low", "", "_high")]
            # Beyond its last packet a queue's curve is 1.
            delays = np.append(1e3 * row["queue_delay_s"], longest)
            curves = [np.append(curve, 1.0) for curve in curves]
            _, line = draw_runs(ax, delays, np.array(curves), color, LINES[row["line"]])
            line.set(linestyle=dashes, linewidth=1.6)
        for delay, share, name in stated.get(panel, ()):
            color, marker = (_STYLES[name][0], _MARKS[name]) if name in LINES else ("0.3", "^")
            ax.plot(delay, share, marker, color=color, **_STATED)
        ax.set(xlabel="queue delay [ms]", xlim=(0.0, longest), ylim=(0.0, 1.02))
        ax.set_title(f"{panel}) reference delay {reference:g} ms", fontsize=9.5)
        ax.grid(visible=True)
    axes[0].set_ylabel("share of packets below")
    said = {queue for points in stated.values() for *_, queue in points}
    for queue, title in LINES.items():
        if queue in said:
            style = {"color": _STYLES[queue][0], "label": f"stated of {title}", **_STATED}
            axes[1].plot([], [], _MARKS[queue], **style)
    if "" in said:
        axes[1].plot([], [], "^", color="0.3", label="stated: more, of both", **_STATED)
    axes[1].legend(loc="lower right")
