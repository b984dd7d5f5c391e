"""Figure 8 of Paganini and others (2002): see `pi2_fluid.papers.paganini.newreno`."""

from __future__ import annotations

from pathlib import Path

from pi2_fluid.papers.paganini.newreno import draw_figure

__all__ = ["draw"]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    return draw_figure(8, out)
