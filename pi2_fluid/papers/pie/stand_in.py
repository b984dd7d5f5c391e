"""What stands in for Figures 1 and 2 of the PIE paper, which are measurements: a large buffer.

Nothing of them is reproduced or judged: they were taken on networks of 2012.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pi2_fluid as pf
from pi2_fluid.papers.recipe import Case
from pi2_fluid.papers.runs import packet_runs
from pi2_fluid.papers.words import rate_text, rtt_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    from pi2_fluid.values import FloatArray

NAME: Final = "pie_fig01_taildrop"
DECISIONS: Final = (
    (
        "The paper measured networks that nobody can have again. Nothing is reproduced, and"
        " nothing is judged."
    ),
    (
        "Link, buffer and traffic of the stand-in are ours. Its buffer holds the 8 s of which the"
        " text speaks."
    ),
)
_EVERY: Final = 1.0  # s, between two pings


def note(case: Case) -> str:
    """Return what the stand-in is."""
    scenario = case.scenarios[NAME]
    senders = sum(float(flow.count) for flow in scenario.flows)
    return (
        f"The stand-in: {rate_text(scenario)}, RTT {rtt_text(scenario)},"
        f" {float(scenario.link.buffer):g} packets of buffer and no AQM;"
        f" {senders:g} senders of transfers with a heavy tail; one seed, a ping per second."
    )


def round_trips(case: Case) -> tuple[FloatArray, FloatArray]:
    """Return when pings are sent (s) and how long each takes (s), in the first run.

    Each meets the mean queue of the second in which it is sent.
    """
    scenario: pf.Scenario = case.scenarios[NAME]
    run = packet_runs(scenario, case.seeds, _EVERY).isel(seed=0)
    base = float(scenario.flows[0].base_rtt)
    return run["time"].to_numpy() - _EVERY, base + run["queue_delay"].to_numpy()


def axes_below_words(figure: FigureBase, words: str) -> Axes:
    """Return axes below a box that says what the paper's figure is, and that this is another."""
    box, ax = figure.subplots(2, 1, height_ratios=(0.34, 1.0))
    box.set_axis_off()
    style: dict[str, Any] = {"facecolor": "0.94", "edgecolor": "0.6", "boxstyle": "round,pad=0.7"}
    box.text(0.5, 0.5, words, ha="center", va="center", fontsize=9.5, bbox=style)
    made: Axes = ax
    made.grid(visible=True)
    made.set_title("A stand-in, simulated: a link with a large buffer and no AQM", fontsize=9.5)
    return made
