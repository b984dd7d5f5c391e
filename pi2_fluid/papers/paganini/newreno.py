"""Figures 6 to 9 of Paganini and others (2002), claims 51 to 54: NewReno under other queues.

Five groups of flows join one after the other, each way; what is read is how full the link is and
how long its queue while 32, 64, 128, 256 and 512 of them send. A part of the links and flows has
the windows of the whole, but more chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import stretch_means
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.papers.claim import Claim, decide
from pi2_fluid.papers.paganini.joining import unevenness

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.values import FloatArray

#: What the queue of each figure is called.
QUEUES: Final = {6: "RED", 7: "adaptive RED", 8: "AVQ", 9: "PI"}
#: Flows each way, stage by stage.
FLOWS: Final = (32, 64, 128, 256, 512)
STAGE: Final = 40.0  # s
#: The part of links and flows on which claims are computed.
CLAIMED: Final = 0.125
#: Packets, of RED's thresholds where a short queue is wanted.
NARROW: Final = (5.0, 20.0)
_BIN: Final = 0.1  # s
MEAN: Final = 2.0  # s, of the paper's utilization
#: Of the capacity: what the new protocol uses, and what counts as the same or as much less.
ASKED: Final = 0.95
NEAR: Final = 0.02
MUCH: Final = 0.1
#: About what PI uses of whole links with 32 flows each way: an eighth of both uses less.
WHOLE_PI: Final = 0.70
_WHOLE: Final = (
    f"Whole links are fuller at low load (under PI about {100 * WHOLE_PI:.0f} %), as Figures 6"
    " to 9 show."
)


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
    uneven: float
    """How unevenly the first flows send, second by second, in the last 10 s of the first stage."""


@cache
def runs(
    scenario: pf.Scenario, share: float, seeds: int, *, both_ways: bool = True
) -> tuple[Run, ...]:
    """Return what a queue does on a part of the links with a part of the flows, run by run.

    Parameters
    ----------
    scenario : Scenario
        That of one of the figures.
    share : float
        1 is all.
    seeds : int
        How many runs.
    both_ways : bool
        Whether acknowledgements share the queue with the data of the other way, as in the paper.
    """
    shown = scaled(scenario if both_ways else one_way(scenario), share)
    found = pf.simulate(shown, pf.Packets(seeds=seeds, bin=_BIN))
    if both_ways:
        found = found.sel(link="there").assign(throughput=found.link_throughput.sel(link="there"))
    found["used"] = found.throughput.sum("flows") / found.capacity
    found["waiting"] = found.queue / share
    late = [slice((k + 0.5) * STAGE + _BIN / 2, (k + 1) * STAGE) for k in range(len(FLOWS))]
    time, used = stretch_means(found, "used", MEAN)
    waiting = stretch_means(found, "waiting", MEAN)[1]
    each = [found.isel(seed=k) for k in range(seeds)]
    return tuple(
        Run(
            time,
            used[k],
            waiting[k],
            tuple(float(one.used.sel(time=part).mean()) for part in late),
            tuple(float(one.waiting.sel(time=part).mean()) for part in late),
            unevenness(one, STAGE - 10.0, STAGE),
        )
        for k, one in enumerate(each)
    )


def run(figure: int, part: float = 1.0, *, both_ways: bool = True) -> Run:
    """Return one run of the scenario of a figure, a key of `QUEUES`: see `runs`."""
    return runs(pf.named_scenario(f"paganini_fig{figure:02d}"), part, 1, both_ways=both_ways)[0]


def with_thresholds(scenario: pf.Scenario, thresholds: tuple[float, float]) -> pf.Scenario:
    """Return a scenario of links with RED with other thresholds (packets)."""
    low, high = thresholds
    nodes = [
        replace(node, aqm=replace(node.aqm, min=low, max=high))  # type: ignore[call-arg]
        for node in scenario.network.nodes
    ]
    return pf.Scenario(scenario.duration, network=pf.Network(nodes, scenario.network.flows))


@cache
def run_narrow(scenario: pf.Scenario, seeds: int) -> tuple[FloatArray, FloatArray]:
    """Return what is used, and how many packets wait, with the first flows and a short queue.

    Of each run and each of the two ways, from 10 to 20 s.
    """
    first = [flow for flow in scenario.flows if float(flow.start) == 0.0]
    begun = pf.Scenario("20s", network=pf.Network(scenario.network.nodes, first))
    found = pf.simulate(with_thresholds(begun, NARROW), pf.Packets(seeds=seeds, bin=_BIN))
    late = found.sel(time=slice(10, None)).mean("time")
    used = late.link_throughput.sum("flows") / late.capacity
    return used.transpose("seed", "link").to_numpy(), late.queue.transpose(
        "seed", "link"
    ).to_numpy()


def one_way(scenario: pf.Scenario) -> pf.Scenario:
    """Return a scenario's first link alone, with its flows: acknowledgements do not wait then."""
    node, *_ = scenario.network.nodes
    flows = [
        replace(flow, route=None, back=None)
        for flow in scenario.flows
        if flow.route == (node.name,)
    ]
    return pf.Scenario(scenario.duration, network=pf.Network(node, flows))


def scaled(scenario: pf.Scenario, share: float) -> pf.Scenario:
    """Return a part of all links and of all flows: the same loop, with fewer packets at a time."""
    nodes = [
        replace(
            node,
            link=replace(
                node.link, capacity=share * node.link.capacity, buffer=share * node.link.buffer
            ),
            aqm=_scaled_queue(node.aqm, share),
        )
        for node in scenario.as_run.network.nodes
    ]
    flows = [replace(flow, count=share * flow.count) for flow in scenario.flows]
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


# --- the claims -----------------------------------------------------------------------------


def _percent(values: tuple[float, ...]) -> str:
    return " ".join(f"{100 * value:.1f}" for value in values)


def _packets(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:.0f}" for value in values)


def _each() -> dict[str, Run]:
    return {name: run(figure, CLAIMED) for figure, name in QUEUES.items()}


def _told(what: str, text: Callable[[Run], str]) -> str:
    """Say something of each queue, and of which part of the links it is."""
    flows = " ".join(str(round(CLAIMED * each)) for each in FLOWS)
    found = "; ".join(f"{name} {text(each)}" for name, each in _each().items())
    return f"{_part()} ({flows} each way), {what}: {found}."


def _part() -> str:
    return f"On {100 * CLAIMED:g} % of the links and flows"


def _queue_grows() -> Claim:
    found = _each()
    return Claim(
        id="paganini-51",
        source="Paganini et al., section V-A, third observation, Figures 6 to 9",
        text="With NewReno under other AQMs the queueing delay increases when flows are activated.",
        computed=_told(
            "mean queues as of the whole link (packets)", lambda each: _packets(each.waiting)
        ),
        verdict=decide(*(each.waiting[-1] > 1.5 * each.waiting[0] for each in found.values())),
        why="An increase by half from the lightest to the heaviest load counts. Whole links agree.",
    )


def _low_at_low_load() -> Claim:
    found = _each()
    return Claim(
        id="paganini-52",
        source="Paganini et al., section V-A, Figures 6 to 9",
        text="Utilization with AIMD is much lower than 95 % at low load, and improves with load.",
        computed=_told("used (%)", lambda each: _percent(each.used)),
        verdict=decide(
            *(each.used[0] < ASKED - MUCH for each in found.values()),
            *(each.used[-1] > each.used[0] + NEAR for each in found.values()),
        ),
        why=(
            f'"Much" means here {100 * MUCH:g} points, an improvement {100 * NEAR:g}. It is so'
            " under PI, whose queue is too short for halved windows; RED's is not."
            f" {_WHOLE} One way, the link under PI is used by 85 to 91 % at every load."
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
        why=f"{100 * MUCH:g} points count as little. {_WHOLE}",
    )


def _small_thresholds() -> Claim:
    (used,), (queue,) = run_narrow(pf.named_scenario("paganini_fig06"), 1)
    return Claim(
        id="paganini-54",
        source="Paganini et al., section V-A",
        text="RED with thresholds 5 and 20 has a small queue and uses no more than 50 %.",
        computed=(
            f"With {FLOWS[0]} flows each way, on whole links, {_percent(tuple(used))} % of the two"
            f" ways are used, and {queue.max():.1f} packets wait at most."
        ),
        verdict=decide(bool(np.all(used < 0.5 + NEAR))),
        why=f"The queue is as small. Use up to {100 * NEAR:g} points above 50 % would count.",
    )


CLAIMS: Final = (_queue_grows, _low_at_low_load, _little_difference, _small_thresholds)
