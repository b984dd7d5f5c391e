"""Figure 10 of Paganini and others (2002), packet by packet: Figure 5 with few marks."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pi2_fluid.papers.paganini.fig05 import SCENARIO as MANY
from pi2_fluid.papers.paganini.joining import draw_run, run, stages

__all__ = ["SCENARIO", "draw"]

SCENARIO: Final = "paganini_fig10"


def draw(out: Path) -> list[Path]:
    """Draw the figure into the folder `out` and return the files written."""
    few, many = stages(SCENARIO), stages(MANY)
    noisier = [a.wander / b.wander for a, b in zip(few, many, strict=True)]
    last, queue = few[-1].rates, run(SCENARIO).queue.to_numpy()
    note = (
        "Packets of Figure 10's scenario, one run at its full size, and its fluid; one way of the"
        " paper's two. phi = 1.609. Bands: 90 % of a class's flows, second by second. Percentages:"
        " packets marked.\n"
        f"The price wanders {min(noisier):.1f} to {max(noisier):.1f} times as far as in Figure 5."
        " One mark more or less of 31 means much, and most over short paths: xi holds the mean of"
        " K/W at what the utility wants, and the mean of a W that swings is above that."
        f" {100 * (last[0] - 1.0):.0f} % more than the fair rate over 40 ms at 512 flows,"
        f" {100 * (1.0 - min(last)):.0f} % less over 200 ms. Queue: {queue.max():.0f} packets"
        " at most."
    )
    title = "5 % marks at most: noisier, and short paths get more"
    return draw_run(SCENARIO, title, note, "Paganini et al. (2002), Figure 10", out / SCENARIO)
