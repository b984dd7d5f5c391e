"""Figure 13 of Paganini and others (2002): see `pi2_fluid.papers.paganini.heavy_tails`."""

from __future__ import annotations

from pathlib import Path

from pi2_fluid.papers.paganini.heavy_tails import draw_figure, run

__all__ = ["draw"]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    wide, narrow = run("NewReno/RED"), run("thresholds 5, 20")
    message = (
        f"NewReno under RED: {100 * wide.used:.0f} % used, {100 * narrow.used:.0f} % with a short"
        " queue"
    )
    settings = ("NewReno/RED", "thresholds 5, 20", "new protocol")
    return draw_figure(13, settings, message, out)
