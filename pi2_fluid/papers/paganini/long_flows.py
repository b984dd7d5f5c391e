"""Paganini, Wang, Low, Doyle (2002), claims 42 to 44: the long flows of Figure 5, as a fluid."""

from __future__ import annotations

from typing import Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.claim import Claim, decide
from pi2_fluid.papers.paganini.fig05 import (
    SCENARIO,
    STAGES,
    backlog,
    equilibria,
    rates,
    run,
    run_with_constant_delays,
)

#: How near the end of a stage must be to its rest, and utilization to 95 %.
NEAR: Final = 0.02
#: Packets, which the paper calls around 20.
SMALL: Final = 20.0


def _tracks() -> Claim:
    dataset = run()
    price, each = dataset.controller, rates(dataset)
    off = 0.0
    for number, (start, rest) in enumerate(zip(STAGES, equilibria(), strict=True), 1):
        last = start + 19.98
        there = price.sel(time=last, method="nearest")
        off = max(off, abs(float(there) / float(rest.controller) - 1.0))
        found = each.isel(flows=slice(number)).sel(time=last, method="nearest").to_numpy()
        off = max(off, float(np.max(np.abs(found / np.array(rest.rate) - 1.0))))
    return Claim(
        id="paganini-42",
        source="Paganini et al., section V-A, first observation, Figure 5",
        text="Source rates and prices track the expected equilibria when new sources join.",
        computed=(
            f"At the end of each stage the price and every class's rate are within"
            f" {100 * off:.2g} % of the operating point."
        ),
        verdict=decide(off < NEAR),
        why="This is the fluid, which has no noise. Within 2 % counts.",
    )


def _small_queue() -> Claim:
    dataset = run()
    time, queue = dataset.time.to_numpy(), dataset.queue.to_numpy()
    held = backlog(run_with_constant_delays())
    when = time[queue > SMALL]
    return Claim(
        id="paganini-43",
        source="Paganini et al., section V-A, third observation, Figure 5",
        text="The queue is around 20 packets almost all the time, but for when 256 flows join.",
        computed=(
            f"Above {SMALL:g} packets only from {when.min():.2f} to {when.max():.2f} s, where 256"
            f" flows join; {queue.max():.0f} packets at most, {held.max():.0f} if round-trip times"
            " did not grow with it. Else it is empty."
        ),
        verdict=decide(when.min() >= STAGES[-1], when.max() < STAGES[-1] + 2.0),
        why="The 20 packets are noise, which a fluid does not have. The burst is in the equations.",
    )


def _full() -> Claim:
    dataset = run()
    used = dataset.throughput.sum("flows") / float(pf.named_scenario(SCENARIO).link.capacity)
    settled = used.sel(time=slice(STAGES[0] + 10.0, None)).to_numpy()
    away = float(np.mean(np.abs(settled - 0.95) > NEAR))
    return Claim(
        id="paganini-44",
        source="Paganini et al., section V-A, Figure 5",
        text="The utilization is always around the target of 95 %.",
        computed=(
            f"From 10 s on, between {100 * settled.min():.1f} and {100 * settled.max():.1f} %, and"
            f" more than 2 points away for {100 * away:.1f} % of the time."
        ),
        verdict=decide(away < NEAR),
        why=(
            "Exceptions are the first seconds, in which 32 flows grow from nothing, and the burst"
            " when 256 join. Away for 2 % of the time counts as always."
        ),
    )


CLAIMS: Final = (_tracks, _small_queue, _full)
