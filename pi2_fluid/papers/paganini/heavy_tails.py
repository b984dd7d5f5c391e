"""Transfers with heavy tails, claims 55 to 60 of Paganini and others (2002): Figures 12 and 13.

512 on-off sources each way send transfers of Pareto sizes: mice, which are over before they are
controlled, and elephants, which carry most of what is sent. Everything is read on one way of two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.comparison.agreement.curves import stretch_means
from pi2_fluid.papers.claim import Claim, decide
from pi2_fluid.papers.paganini.fig11 import COUNT, MICE, TOTAL, summed
from pi2_fluid.papers.paganini.newreno import NARROW, with_thresholds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray

    from pi2_fluid.values import FloatArray, IntArray

#: What is run: the scenario, and thresholds of RED in place of its own.
SETTINGS: Final[dict[str, tuple[str, tuple[float, float] | None]]] = {
    "new protocol": ("paganini_fig12", None),
    "NewReno/RED": ("paganini_fig13", None),
    "thresholds 5, 20": ("paganini_fig13", NARROW),
}
#: When runs are settled (s), and how much of the scenarios is run.
AFTER: Final = 10.0
CLAIMED: Final = 40.0
_BIN: Final = 0.02  # s
LATE: Final = 0.95  # of transfers, by when they have ended
MEAN: Final = 2.0  # s, over which the utilization is drawn
DRAWN_BIN: Final = 0.1  # s, over which the queue is
#: Segments of an elephant, and how long it has had to find its rate (s).
ELEPHANT: Final = 10_000
SETTLED: Final = 5.0
#: Packets, beyond which the queue overshoots.
OVERSHOOT: Final = 200.0
SELDOM: Final = 0.05  # of the time
#: Segments from which each range of sizes reaches, whose times are drawn.
_SIZES: Final = np.array([100, 180, 320, 560, 1000, 1800, 3200, 5600, 10_000, 32_000])
_FEW: Final = 5  # transfers: fewer have no quantile, and no shares


@dataclass(frozen=True)
class Run:
    """What one way of the link shows. Queues in packets, times in s; judged from 10 s on."""

    used_time: FloatArray
    """Middles of stretches of 2 s."""
    utilization: FloatArray
    queue_time: FloatArray
    """Middles of stretches of 0.1 s."""
    queue: FloatArray
    judged_queue: FloatArray
    """Means over 20 ms, of what is judged."""
    used: float
    """Mean utilization."""
    waiting: float
    """Mean queue."""
    rates: tuple[FloatArray, ...]
    """Of the elephants of each path in every block of bins, over their mean of all paths then."""
    jain: float
    """Jain's index of the rates of all elephants in a block, in the mean."""
    transfers: int
    """That began, both ways."""
    sizes: IntArray
    """Of transfers that began in the first half of the run (segments)."""
    took: FloatArray
    """Of the same; inf: they were not finished."""


@cache
def runs(scenario: pf.Scenario, seeds: int) -> tuple[Run, ...]:
    """Return what a scenario of two links, there and back, shows, run by run."""
    every = pf.simulate(scenario, pf.Packets(seeds=seeds, bin=_BIN))
    return tuple(_read(every.isel(seed=k), scenario) for k in range(seeds))


def _read(dataset: xarray.Dataset, scenario: pf.Scenario) -> Run:
    there = dataset.sel(link="there")
    there["used"] = there.link_throughput.sum("flows") / there.capacity
    used_time, utilization = stretch_means(there, "used", MEAN)
    queue_time, queue = stretch_means(there, "queue", DRAWN_BIN)
    judged = there.sel(time=slice(AFTER + 0.5 * _BIN, None))
    rates, jain = _elephants(dataset)
    took = dataset.transfer_time.to_numpy()
    early = dataset.transfer_start.to_numpy() <= 0.5 * float(scenario.duration)
    return Run(
        used_time,
        utilization,
        queue_time,
        queue,
        judged.queue.to_numpy(),
        float(judged.used.mean()),
        float(judged.queue.mean()),
        rates,
        jain,
        int(dataset.transfer_count),
        dataset.transfer_size.to_numpy()[early],
        np.where(np.isnan(took), np.inf, took)[early],
    )


def setting_of(setting: str, scenario: pf.Scenario, duration: float = CLAIMED) -> pf.Scenario:
    """Return so many seconds of the scenario of a setting, with its thresholds."""
    _, thresholds = SETTINGS[setting]
    changed = with_thresholds(scenario, thresholds) if thresholds else scenario
    return pf.Scenario(duration, network=changed.network)


@cache
def run(setting: str, duration: float = CLAIMED) -> Run:
    """Return one run of a setting, a key of `SETTINGS`, over so many seconds."""
    scenario = setting_of(setting, pf.named_scenario(SETTINGS[setting][0]), duration)
    return runs(scenario, 1)[0]


def paths() -> list[float]:
    """Return the round-trip times (s) of one way, in the order of classes."""
    flows = pf.named_scenario("paganini_fig12").network.flows
    return [float(flow.base_rtt) for flow in flows if flow.route == ("there",)]


def _elephants(runs: xarray.Dataset) -> tuple[tuple[FloatArray, ...], float]:
    """Return the rates of the elephants of each path in all blocks, and how even they are."""
    size, begun = runs.transfer_size.to_numpy(), runs.transfer_start.to_numpy()
    took, flow = runs.transfer_time.to_numpy(), runs.transfer_flow.to_numpy()
    class_ = runs.transfer_class.to_numpy()
    over = np.where(np.isfinite(took), begun + took, np.inf)
    segments = runs.flow_segments.to_numpy()
    rates: list[list[float]] = [[] for _ in paths()]
    even = []
    blocks = zip(runs.block_start.to_numpy(), runs.block.to_numpy(), segments, strict=True)
    for start, end, sent in blocks:
        there = (size >= ELEPHANT) & (begun + SETTLED <= start) & (over >= end)
        there &= class_ < len(rates)
        if np.count_nonzero(there) < _FEW:
            continue
        each = sent[flow[there]] / np.mean(sent[flow[there]])
        for path, rate in zip(class_[there], each, strict=True):
            rates[path].append(float(rate))
        even.append(1.0 / float(np.mean(each**2)))
    return tuple(np.array(path) for path in rates), float(np.mean(even)) if even else float("nan")


def times(name: str, found: Sequence[Run]) -> dict[str, Any]:
    """Return median and 95 % of the times of each range of sizes, at the geometric mean of it.

    Of the transfers of all runs together.
    """
    sizes, took = (
        np.concatenate([getattr(each, what) for each in found]) for what in ("sizes", "took")
    )
    within = np.searchsorted(_SIZES, sizes, side="right") - 1
    kept = [k for k in range(len(_SIZES)) if np.count_nonzero(within == k) >= _FEW]
    of_each = [took[within == k] for k in kept]
    return {
        "line": name,
        "size_segments": np.array([float(np.exp(np.log(sizes[within == k]).mean())) for k in kept]),
        "begun": np.array([each.size for each in of_each]),
        "median_s": np.array([_quantile(each, 0.5) for each in of_each]),
        "p95_s": np.array([_quantile(each, LATE) for each in of_each]),
    }


def _quantile(took: FloatArray, level: float) -> float:
    """Return the least time within which so many are finished, inf if they are not."""
    return float(np.sort(took)[math.ceil(level * took.size) - 1])


def overshooting(found: Run) -> float:
    """Return the part of the time in which the queue is beyond `OVERSHOOT`."""
    return float(np.mean(found.judged_queue > OVERSHOOT))


# --- the claims -----------------------------------------------------------------------------


def _mice() -> Claim:
    samples = [summed(seed) for seed in range(1, 201)]
    small = np.array([each.small for each in samples])
    carried, total = (np.array(column) for column in zip(*(
        (each.carried, each.total) for each in samples), strict=True))  # fmt: skip
    low, high = np.quantile(carried, [0.1, 0.9])
    fewer, more = np.quantile(total, [0.1, 0.9])
    alike = carried[np.abs(total / TOTAL - 1.0) < 0.05]
    return Claim(
        id="paganini-55",
        source="Paganini et al., section V-B, Figure 11",
        text=(
            "More than 90 % of the flows have fewer than 1000 packets, and contribute only around"
            " 25 % of them."
        ),
        computed=(
            f"In 200 samples of {COUNT} sizes, {100 * small.min():.1f} to {100 * small.max():.1f} %"
            f" are below {MICE}, and carry {100 * np.median(carried):.0f} % (median;"
            f" {100 * low:.0f} to {100 * high:.0f} % in 8 of 10) of {np.median(total):.2g}"
            f" ({fewer:.2g} to {more:.2g}) packets. Those of about {TOTAL:.3g} packets, as in the"
            f" paper: {100 * alike.mean():.0f} %."
        ),
        verdict=decide(
            abs(float(np.median(small)) - 0.9) < 0.005, low < 0.25 < high, matches_quarter(alike)
        ),
        why=(
            "Exactly 90 % are, of a Pareto distribution of shape 1. It has no mean: a few sizes"
            " decide the sum. The paper's sample is one of many small sums."
        ),
    )


def matches_quarter(carried: FloatArray) -> bool:
    """Return whether about a quarter is carried, in the mean: between a fifth and 30 %."""
    return bool(0.2 < carried.mean() < 0.3)


def _full() -> Claim:
    found = run("new protocol", CLAIMED)
    return Claim(
        id="paganini-56",
        source="Paganini et al., section V-B, Figure 12",
        text="With heavy-tailed traffic the new protocol still keeps high utilization.",
        computed=f"{100 * found.used:.1f} % from {AFTER:g} to {CLAIMED:g} s, both ways loaded.",
        verdict=decide(abs(found.used - 0.95) < 0.02),
        why="Within 2 points of the 95 % that it aims at counts.",
    )


def _small_queue() -> Claim:
    found = run("new protocol", CLAIMED)
    above = overshooting(found)
    return Claim(
        id="paganini-57",
        source="Paganini et al., section V-B, Figure 12",
        text="The queue is small as with long flows; there are only a few overshoots.",
        computed=(
            f"{found.waiting:.0f} packets in the mean, {np.median(found.judged_queue):.0f} in the"
            f" median; above {OVERSHOOT:g} for {100 * above:.1f} % of the time."
        ),
        verdict=decide(found.waiting < 50.0, above < SELDOM),
        why="Below 50 packets, 0.4 ms, counts as small, and 5 % of the time as few.",
    )


def _fair() -> Claim:
    ours, other = (run(name, CLAIMED) for name in ("new protocol", "NewReno/RED"))
    apart = [path.mean() for path in other.rates if path.size]
    return Claim(
        id="paganini-58",
        source="Paganini et al., section V-B, Figure 12",
        text="The elephants share the bandwidth fairly.",
        computed=(
            f"Jain's index of the rates of transfers of {ELEPHANT} packets and more is"
            f" {ours.jain:.2f}, and {other.jain:.2f} with NewReno/RED, where those over the"
            f" shortest path have {apart[0] / apart[-1]:.1f} times the rate of those over the"
            " longest."
        ),
        verdict=decide(ours.jain > 0.9, ours.jain > other.jain),
        why=f"Elephants count {SETTLED:g} s after they began. An index of 0.9 or more is fair.",
    )


def _delay_for_utilization() -> Claim:
    ours, other = (run(name, CLAIMED) for name in ("new protocol", "NewReno/RED"))
    return Claim(
        id="paganini-59",
        source="Paganini et al., section V-B, Figure 13",
        text=(
            "NewReno/RED needs a high queueing delay for high utilization, and has less than 80 %."
        ),
        computed=(
            f"{other.waiting:.0f} packets wait in the mean,"
            f" {other.waiting / ours.waiting:.1f} times as many as with the new protocol, and"
            f" {100 * other.used:.1f} % are used."
        ),
        verdict=decide(other.waiting > 2.0 * ours.waiting, other.used < 0.8),
        why="Twice the queue counts. The 80 % are said of the other queues.",
    )


def _small_thresholds() -> Claim:
    found = run("thresholds 5, 20", CLAIMED)
    return Claim(
        id="paganini-60",
        source="Paganini et al., section V-B",
        text="With RED's thresholds at 5 and 20 the utilization falls to less than 50 %.",
        computed=(
            f"{100 * found.used:.1f} % are used, and {found.waiting:.1f} packets wait in the mean."
        ),
        verdict=decide(found.used < 0.5),
        why="Marks end slow start early, and windows grow by one segment per round trip.",
    )


CLAIMS: Final = (
    _mice, _full, _small_queue, _fair, _delay_for_utilization, _small_thresholds
)  # fmt: skip
