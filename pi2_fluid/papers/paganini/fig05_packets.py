"""Figure 5 of Paganini and others (2002) packet by packet: long flows that join a fast link."""

from __future__ import annotations

from pathlib import Path

from pi2_fluid.papers.paganini.fig05 import SCENARIO
from pi2_fluid.papers.paganini.joining import draw_run, run, run_fluid, stages

__all__ = ["draw"]


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    found, queue = stages(SCENARIO), run(SCENARIO).queue.to_numpy()
    low = [100.0 * (1.0 - stage.price / stage.rest) for stage in found]
    apart = 100.0 * max(max(stage.rates) - min(stage.rates) for stage in found)
    still = max(stage.queue for stage in found)
    note = (
        "Packets of Figure 5's scenario, one run at its full size, and its fluid; one way of the"
        " paper's two. Bands: 90 % of a class's flows, second by second. Percentages: packets"
        " marked.\n"
        f"At the end of each stage rates are the same within {apart:.0f} %, and prices"
        f" {min(low):.0f} to {max(low):.0f} % below the fluid's, since a window that noise moves"
        f" sends less than its mean. Queue: {still:.0f} packets or less at rest, in the mean;"
        f" {queue.max():.0f} at most. After 256 flows have joined, their windows may rise by a"
        " segment per acknowledgement only, so that they come late, and together:"
        f" {float(run_fluid(SCENARIO).queue.max()):.0f} in the fluid, which has no such limit."
    )
    title = "In packets: equal rates, 95 %, a short queue, one burst"
    name = out / "paganini_fig05_packets"
    return draw_run(SCENARIO, title, note, "Paganini et al. (2002), Figure 5", name)
