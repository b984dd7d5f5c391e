"""Paganini, Wang, Low, Doyle (2002), claims 45 to 49: Figures 5 and 10 packet by packet."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.papers.claim import Claim, decide
from pi2_fluid.papers.paganini.claims import WINDOW
from pi2_fluid.papers.paganini.fig05 import SCENARIO
from pi2_fluid.papers.paganini.fig10 import SCENARIO as FEW_MARKS
from pi2_fluid.papers.paganini.joining import STAGE, Stage, run, stages

#: How near rates and prices must be to their rest, and rates to one another.
NEAR: Final = 0.05
#: How near the utilization must be to 95 %.
FULL: Final = 0.003
#: Packets, which the paper calls around 20.
SMALL: Final = 20.0
#: The time that the queue may be longer for, to be small almost always.
SELDOM: Final = 0.02


def _apart(stage: Stage) -> float:
    """Return by how much rates differ between round-trip times, over the fair one."""
    return max(stage.rates) - min(stage.rates)


def _tracks() -> Claim:
    found = stages(SCENARIO)
    off = max(abs(rate - 1.0) for stage in found for rate in stage.rates)
    low = [1.0 - stage.price / stage.rest for stage in found]
    return Claim(
        id="paganini-45",
        source="Paganini et al., section V-A, first observation, Figure 5",
        text="Packet by packet, too, source rates and prices track the expected equilibria.",
        computed=(
            f"Over the last 10 s of each stage every class's rate is within {100 * off:.1f} % of"
            f" the equilibrium; the price is {100 * min(low):.1f} to {100 * max(low):.1f} % below."
        ),
        verdict=decide(off < NEAR, max(low) < NEAR),
        why=(
            "Rates do. The price settles lower: a window that noise moves sends less than its"
            " mean, and prices read from few marks are too high on average. Within 5 % counts."
        ),
    )


def _noisy_estimates() -> Claim:
    last = stages(SCENARIO)[-1]
    spread = math.sqrt(last.marked * (1.0 - last.marked) / WINDOW)
    phi = float(pf.named_scenario(SCENARIO).aqm.phi)  # type: ignore[attr-defined]
    reads = spread / (1.0 - last.marked) / math.log(phi)
    return Claim(
        id="paganini-46",
        source="Paganini et al., section V-A, first observation, Figure 5",
        text="Although the estimated probability is extremely noisy, the protocol works well.",
        computed=(
            f"At {last.flows} flows {100 * last.marked:.1f} % are marked, and one source's estimate"
            f" of {WINDOW} marks is off by {100 * spread:.1f} points (standard deviation), its"
            f" price by {100 * reads / last.price:.0f} %. The link's own price wanders by"
            f" {100 * last.wander / last.price:.1f} %, and {100 * last.used:.2f} % are used."
        ),
        verdict=decide(last.wander < NEAR * last.price, abs(last.used - 0.95) < FULL),
        why="Errors of many sources average out in what arrives at the link.",
    )


def _fair() -> Claim:
    apart = [_apart(stage) for stage in stages(SCENARIO)]
    return Claim(
        id="paganini-47",
        source="Paganini et al., section V-A, second observation, Figure 5",
        text="Packet by packet, too, bandwidth shares do not depend on the round-trip time.",
        computed=(
            "Rates of the classes differ by "
            + ", ".join(f"{100 * part:.1f}" for part in apart[1:])
            + " % of the fair one, at 64 to 512 flows."
        ),
        verdict=decide(max(apart) < NEAR),
        why="Less than 5 % counts. The rest is noise of short windows, over short paths.",
    )


def _small_queue() -> Claim:
    dataset = run(SCENARIO)
    time, queue = dataset.time.to_numpy(), dataset.queue.to_numpy()
    rest = [stage.queue for stage in stages(SCENARIO)]
    long = float(np.mean(queue > SMALL))
    return Claim(
        id="paganini-48",
        source="Paganini et al., section V-A, third observation, Figure 5",
        text="The queue is small (around 20 packets), but for when 256 flows join.",
        computed=(
            f"{min(rest):.1f} to {max(rest):.1f} packets in the mean at the end of each stage."
            f" Means over 20 ms are above {SMALL:g} for {100 * long:.1f} % of the time, most at"
            f" {time[queue.argmax()]:.1f} s, {queue.max():.0f} packets."
        ),
        verdict=decide(max(rest) < SMALL, long < SELDOM, time[queue.argmax()] > 4 * STAGE),
        why=(
            "It is smaller still, also both ways with acknowledgements in it. The burst is five"
            " times the fluid's: a window may rise by a segment per acknowledgement only. Those"
            " over 200 ms lag for 2 s, and then arrive together."
        ),
    )


def _few_marks() -> Claim:
    few, many = stages(FEW_MARKS), stages(SCENARIO)
    noisier = [a.wander / b.wander for a, b in zip(few, many, strict=True)]
    used = [abs(stage.used - 0.95) for stage in few]
    return Claim(
        id="paganini-49",
        source="Paganini et al., section V-A, Figure 10",
        text="With at most 5 % marks the performance is satisfactory, though somewhat noisier.",
        computed=(
            f"{', '.join(f'{100 * stage.marked:.2f}' for stage in few)} % marked. The utilization"
            f" is within {100 * max(used):.2f} points of 95 %, the price wanders {min(noisier):.1f}"
            f" to {max(noisier):.1f} times as far as in Figure 5; rates differ by up to"
            f" {100 * max(map(_apart, few)):.0f} % of the fair one, the shortest path having most."
        ),
        verdict=decide(max(used) < FULL, max(map(_apart, few)) < NEAR),
        why=(
            "The utilization is. Fairness suffers: over short paths one mark of 31 moves the"
            " window much, and xi holds the mean of K/W, not that of W."
        ),
    )


CLAIMS: Final = (_tracks, _noisy_estimates, _fair, _small_queue, _few_marks)
