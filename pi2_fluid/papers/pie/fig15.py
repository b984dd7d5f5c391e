"""Figure 15 of the PIE paper: the phase margin over the load, by pair of gains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pi2_fluid.papers.pie.claims import DERIVED, FULL, PRINTED, auto_tuning, too_large_gains
from pi2_fluid.papers.pie.loads import LINES, curves, draw_over_loads, setting, stable_from
from pi2_fluid.papers.pie.reading import LONGEST_RTT, Reading, phase_margin
from pi2_fluid.plot import mark_unstable, page_style, save_figure, write_caption

__all__ = ["draw"]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    rows = curves()
    with page_style():
        figure = Figure(figsize=(9.4, 5.6))
        axes = draw_over_loads(figure, rows, "phase_margin_deg")
        axes[0].set(ylabel="phase margin [deg]", ylim=(-90, 105), yticks=range(-90, 91, 30))
        for ax, reading in zip(axes, (DERIVED, PRINTED), strict=True):
            mark_unstable(ax, at=0.83)
            handles, names = ax.get_legend_handles_labels()
            labels = [_with_limit(reading, name) for name in names]
            ax.legend(handles, labels, title="α:β [Hz], stable from", loc="lower right")
        write_caption(
            figure,
            "Auto-tuning holds down to"
            f" {100 * stable_from(DERIVED, FULL / 8):.2f} %; with the printed κ not even to 1 %",
            note=f"{setting()} Taken as 1, as in (9), (1 + e)/2 moves the lines by"
            f" {_simplified(rows):.0f}° at most. They go on below the frames.\n"
            f"{too_large_gains().in_short()}\n{auto_tuning().in_short()}",
            source="PIE paper (HPSR'13), Figure 15",
        )
        return save_figure(figure, out / "pie_fig15", rows)


def _simplified(rows: list[dict[str, Any]]) -> float:
    """Return by how much the phase margins change at most if (1 + e)/2 is taken as 1 (deg)."""
    found = [
        phase_margin(Reading(gain=row["kappa"], kept=False), row["p"], row["alpha_hz"], LONGEST_RTT)
        for row in rows
    ]
    changes = [
        np.abs(margin - row["phase_margin_deg"])
        for (margin, _), row in zip(found, rows, strict=True)
    ]
    return float(np.max(changes))


def _with_limit(reading: Reading, name: str) -> str:
    """Add to the name of a pair of gains the load from which on it is stable."""
    alpha = LINES[name]
    return name if alpha is None else f"{name}, {100 * stable_from(reading, alpha):.3f} %"
