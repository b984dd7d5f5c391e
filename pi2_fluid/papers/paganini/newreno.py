"""Figures 6 to 9 of Paganini and others (2002), claims 51 to 54: NewReno under other queues.

Five groups of flows join one after the other, each way; what is read is how full the link is and
how long its queue while 32, 64, 128, 256 and 512 of them send. A part of the links and flows has
the windows of the whole, but more chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import stretch_means
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.papers.claim import Claim, decide
from pi2_fluid.plot import COLORS, page_style, save_figure, scale_root, write_caption

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.values import FloatArray

__all__ = ["CLAIMS", "DRAWN", "FLOWS", "QUEUES", "Run", "draw_figure", "run"]

#: What the queue of each figure is called.
QUEUES: Final = {6: "RED", 7: "adaptive RED", 8: "AVQ", 9: "PI"}
#: Flows each way, stage by stage.
FLOWS: Final = (32, 64, 128, 256, 512)
STAGE: Final = 40.0  # s
#: The part of links and flows that is drawn, and that on which claims are computed.
DRAWN: Final = 0.5
CLAIMED: Final = 0.125
_BIN: Final = 0.1  # s
_MEAN: Final = 2.0  # s, of the paper's utilization
#: Of the capacity: what the new protocol uses, and what counts as the same or as much less.
ASKED: Final = 0.95
NEAR: Final = 0.02
MUCH: Final = 0.1


@dataclass(frozen=True)
class Run:
    """What one direction of the link shows. Queues are those of the whole link, in packets."""

    time: FloatArray
    """Middles of stretches of 2 s."""
    utilization: FloatArray
    queue: FloatArray
    used: tuple[float, ...]
    """Mean utilization in the second half of each stage."""
    waiting: tuple[float, ...]
    """Mean queue there."""


@cache
def run(figure: int, part: float = DRAWN, *, both_ways: bool = True) -> Run:
    """Return what the queue of a figure does on a part of the links with a part of the flows.

    Parameters
    ----------
    figure : int
        A key of `QUEUES`.
    part : float
        1 is all.
    both_ways : bool
        Whether acknowledgements share the queue with the data of the other way, as in the paper.
    """
    whole = pf.named_scenario(f"paganini_fig{figure:02d}")
    scenario = scaled(whole if both_ways else one_way(whole), part)
    found = pf.simulate(scenario, pf.Packets(seeds=1, bin=_BIN)).isel(seed=0)
    if both_ways:
        found = found.sel(link="there").assign(throughput=found.link_throughput.sel(link="there"))
    found["used"] = found.throughput.sum("flows") / found.capacity
    found["waiting"] = found.queue / part
    late = [slice((k + 0.5) * STAGE + _BIN / 2, (k + 1) * STAGE) for k in range(len(FLOWS))]
    time, used = stretch_means(found, "used", _MEAN)
    return Run(
        time,
        used,
        stretch_means(found, "waiting", _MEAN)[1],
        tuple(float(found.used.sel(time=each).mean()) for each in late),
        tuple(float(found.waiting.sel(time=each).mean()) for each in late),
    )


def one_way(scenario: pf.Scenario) -> pf.Scenario:
    """Return a scenario's first link alone, with its flows: acknowledgements do not wait then."""
    node, *_ = scenario.network.nodes
    flows = [
        replace(flow, route=None, back=None)
        for flow in scenario.flows
        if flow.route == (node.name,)
    ]
    return pf.Scenario(scenario.duration, network=pf.Network(node, flows))


def scaled(scenario: pf.Scenario, part: float) -> pf.Scenario:
    """Return a part of all links and of all flows: the same loop, with fewer packets at a time."""
    nodes = [
        replace(
            node,
            link=replace(
                node.link, capacity=part * node.link.capacity, buffer=part * node.link.buffer
            ),
            aqm=_scaled_queue(node.aqm, part),
        )
        for node in scenario.network.nodes
    ]
    flows = [replace(flow, count=part * flow.count) for flow in scenario.flows]
    return pf.Scenario(scenario.duration, network=pf.Network(nodes, flows))


def _scaled_queue(queue: Aqm, part: float) -> Aqm:
    """Return a queue for a part of the packets: what counts them counts fewer, delays stay."""
    if isinstance(queue, pf.Red):
        return replace(
            queue, min=part * queue.min, max=part * queue.max, weight=queue.weight / part
        )
    if isinstance(queue, pf.Pi):
        assert queue.per_packet is not None, "Figure 9's acts on the length of the queue"
        return replace(queue, per_packet=queue.per_packet / part)
    if isinstance(queue, pf.Avq):
        return replace(queue, buffer=part * queue.buffer)
    raise UnsupportedError(
        f"{type(queue).__name__} is no queue whose share of a link is known: give Red, Pi or Avq."
    )


# --- the figures ----------------------------------------------------------------------------


def draw_figure(figure: int, out: Path) -> list[Path]:
    """Draw one of the figures into the folder `out` and return the files written."""
    from matplotlib.figure import Figure

    both, alone = run(figure), run(figure, both_ways=False)
    with page_style():
        picture = Figure(figsize=(9.0, 4.6))
        used, waiting = picture.subplots(2, 1, sharex=True)
        _draw(used, both, alone, "utilization", "used", 100.0)
        _draw(waiting, both, alone, "queue", "waiting", 1.0)
        used.axhline(100.0 * ASKED, color="0.5", linewidth=0.8, linestyle=":")
        used.set(ylabel="utilization [%]", ylim=(0, 105))
        used.legend(loc="lower right", ncols=2, fontsize=8)
        waiting.set(ylabel="queue [packets]\n(square-root scale)", xlabel="time [s]")
        waiting.set_xlim(0, STAGE * len(FLOWS))
        scale_root(waiting, float(max(both.queue.max(), alone.queue.max())))
        for ax in (used, waiting):
            ax.grid(visible=True)
        stages = ", ".join(map(str, FLOWS))
        write_caption(
            picture,
            f"NewReno under {QUEUES[figure]}: {_said(both)}",
            note=(
                f"Means over 2 s, and of the second half of each stage (bars): {stages} flows each"
                f" way, of which {100 * DRAWN:g} % are simulated, on as much of the links and with"
                " as much of the queue's thresholds. Queues are those of the whole link.\n"
                f"Both ways: {_percent(both.used)} % used, {_packets(both.waiting)} packets wait."
                f" One way, without acknowledgements in the queue: {_percent(alone.used)} %,"
                f" {_packets(alone.waiting)}.\n"
                f"Dotted: the {100 * ASKED:g} % of the new protocol."
            ),
            source=f"Paganini et al. (2002), Figure {figure}",
        )
        columns = [
            {
                "line": name,
                "time_s": each.time,
                "utilization": each.utilization,
                "queue_packets": each.queue,
            }
            for name, each in (("both ways", both), ("one way", alone))
        ]
        return save_figure(picture, out / f"paganini_fig{figure:02d}", columns)


def _draw(ax: Axes, both: Run, alone: Run, over_time: str, by_stage: str, factor: float) -> None:
    for each, name, color, dashes in (
        (alone, "one way", COLORS[2], "--"),
        (both, "both ways", COLORS[1], "-"),
    ):
        values = factor * getattr(each, over_time)
        ax.plot(each.time, values, color=color, linewidth=1.0, linestyle=dashes, label=name)
        for k, mean in enumerate(getattr(each, by_stage)):
            ax.hlines(factor * mean, (k + 0.5) * STAGE, (k + 1) * STAGE, color=color, linewidth=2.5)


def _said(both: Run) -> str:
    """Say what becomes of utilization and queue, for the head of the picture."""
    least, most = (100 * extreme(both.used) for extreme in (min, max))
    shortest, longest = both.waiting[0], both.waiting[-1]
    return f"{least:.0f} to {most:.0f} % used, a queue from {shortest:.0f} to {longest:.0f} packets"


def _percent(values: tuple[float, ...]) -> str:
    return " ".join(f"{100 * value:.1f}" for value in values)


def _packets(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.0f}" for value in values)


# --- the claims -----------------------------------------------------------------------------


def _each() -> dict[str, Run]:
    return {name: run(figure, CLAIMED) for figure, name in QUEUES.items()}


def _part() -> str:
    flows = " ".join(str(round(CLAIMED * each)) for each in FLOWS)
    return f"{100 * CLAIMED:g} % of the links and flows ({flows} each way)"


def _queue_grows() -> Claim:
    found = _each()
    return Claim(
        id="paganini-51",
        source="Paganini et al., section V-A, third observation, Figures 6 to 9",
        text="With NewReno under other AQMs the queueing delay increases when flows are activated.",
        computed=f"{_part()}, mean queues as of the whole link (packets): "
        + "; ".join(f"{name} {_packets(each.waiting)}" for name, each in found.items())
        + ".",
        verdict=decide(*(each.waiting[-1] > 1.5 * each.waiting[0] for each in found.values())),
        why="By half from the lightest load to the heaviest would count.",
    )


def _low_at_low_load() -> Claim:
    found = _each()
    return Claim(
        id="paganini-52",
        source="Paganini et al., section V-A, Figures 6 to 9",
        text="Utilization with AIMD is much lower than 95 % at low load, and improves with load.",
        computed=f"{_part()}, used (%): "
        + "; ".join(f"{name} {_percent(each.used)}" for name, each in found.items())
        + ".",
        verdict=decide(
            *(each.used[0] < ASKED - MUCH for each in found.values()),
            *(each.used[-1] > each.used[0] + NEAR for each in found.values()),
        ),
        why=(
            f"Much is taken to be {100 * MUCH:g} points, an improvement {100 * NEAR:g}. It is so"
            " under PI, whose queue is too short for the windows that are halved; RED's queue is"
            " not. One way, PI is used by 85 to 91 % at every load."
        ),
    )


def _little_difference() -> Claim:
    used = {name: each.used[0] for name, each in _each().items()}
    least, most = (of(used, key=lambda name: used[name]) for of in (min, max))
    return Claim(
        id="paganini-53",
        source="Paganini et al., section V-A, Figures 6 to 9",
        text="The AQM schemes differ little in how they trade utilization for delay.",
        computed=(
            f"{_part()}: of the lightest load, {least} uses {100 * used[least]:.1f} % and {most}"
            f" {100 * used[most]:.1f} %."
        ),
        verdict=decide(used[most] - used[least] < MUCH),
        why=f"{100 * MUCH:g} points would count as little.",
    )


def _small_thresholds() -> Claim:
    whole = pf.named_scenario("paganini_fig06")
    red: Any = whole.network.nodes[0].aqm
    nodes = [replace(node, aqm=replace(red, min=5.0, max=20.0)) for node in whole.network.nodes]
    flows = [flow for flow in whole.flows if float(flow.start) == 0.0]
    scenario = pf.Scenario("20s", network=pf.Network(nodes, flows))
    found = pf.simulate(scenario, pf.Packets(seeds=1, bin=_BIN)).isel(seed=0)
    late = found.sel(time=slice(10, None))
    used = (late.link_throughput.sum("flows") / late.capacity).mean("time").to_numpy()
    queue = late.queue.mean("time").to_numpy()
    return Claim(
        id="paganini-54",
        source="Paganini et al., section V-A",
        text="RED with thresholds 5 and 20 has a small queue and uses no more than 50 %.",
        computed=(
            f"With {FLOWS[0]} flows each way, {_percent(tuple(used))} % of the two ways are used,"
            f" and {queue.max():.1f} packets wait at most."
        ),
        verdict=decide(bool(np.all(used < 0.5 + NEAR))),
        why=f"The queue is as small; {100 * NEAR:g} points above 50 % would count.",
    )


CLAIMS: Final = (_queue_grows, _low_at_low_load, _little_difference, _small_thresholds)
