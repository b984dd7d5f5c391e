"""Figure 12 of Paganini and others (2002): see `pi2_fluid.papers.paganini.heavy_tails`."""

from __future__ import annotations

from pathlib import Path

from pi2_fluid.papers.paganini.heavy_tails import draw_figure, run

__all__ = ["draw"]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    found = run("new protocol")
    message = (
        f"Heavy tails, new protocol: {100 * found.used:.0f} % used, {found.waiting:.0f} packets"
        " wait"
    )
    return draw_figure(12, ("new protocol", "NewReno/RED"), message, out)
