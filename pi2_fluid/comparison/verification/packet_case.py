"""Packets at one corner of a region: the steps one after another, and bounds on what they do.

Any engine will do that draws lots; one that does not is taken for a single seed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.comparison.agreement.causes import UNKNOWN
from pi2_fluid.comparison.verification.chance import delay_spread
from pi2_fluid.comparison.verification.corners import STEPS, Corner, Step
from pi2_fluid.comparison.verification.transients import SETTLED, Transient, read_transient
from pi2_fluid.engines.engine import Engine
from pi2_fluid.errors import quietly
from pi2_fluid.results.schema import schema_of

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import FloatArray

_PER_TRIP: Final = 5  # bins
_NS: Final = 1e9
_REST: Final = 80.0  # round trips at rest: some thirty independent values of each seed
_LONGER: Final = 1.5  # times the fluid's settling time, that packets are given
_SHORTEST: Final = 10.0  # round trips in which a peak is looked for
_UNSETTLED: Final = 200.0  # round trips, where the fluid does not settle
_SPREAD: Final = 1.5  # times the standard deviation of theory
_NINETY_NINE: Final = 2.326  # standard deviations, of a normal distribution
_ERRORS: Final = 3.0  # standard errors of the seeds' mean
_MEAN: Final = 0.05  # of the target
# Of the time. What clipping adds to p' is missing in the integral, so that the mean delay is off by
# that much, on the average of an update, over alpha: a small part of the time is enough.
_CLAMPED: Final = 1e-3

#: Units and meaning of each field of a `PacketCase`.
COLUMNS: Final = {
    "peak": ("s", "largest excursion of the seeds' mean above the target"),
    "trough": ("s", "largest excursion of the seeds' mean below the target"),
    "settling": ("s", "time until the seeds' mean stays within its band"),
    "mean": ("s", "mean delay after settling"),
    "sd": ("s", "standard deviation of the delay after settling"),
    "p99": ("s", "99th percentile of the delay after settling"),
    "utilization": ("1", "part of the capacity used after settling"),
    "clamped_part": ("1", "part of the time after settling that p' is at a bound"),
    "peak_fluid": ("s", "largest excursion of the fluid above the target"),
    "settling_fluid": ("s", "settling time of the fluid"),
    "sd_theory": ("s", "standard deviation that single signals cause in the linear loop"),
    "peak_bound": ("s", "largest excursion to be expected above the target"),
    "mean_bound": ("s", "largest distance of the mean from the target to be expected"),
    "p99_bound": ("s", "largest 99th percentile to be expected"),
    "within": ("1", "whether peak, mean and 99th percentile are within their bounds"),
    "why": ("1", "what explains it if not"),
}


class PacketCase(NamedTuple):
    """One step at one corner, in packets; `COLUMNS` says what is what."""

    peak: float
    trough: float
    settling: float
    mean: float
    sd: float
    p99: float
    utilization: float
    clamped_part: float
    peak_fluid: float
    settling_fluid: float
    sd_theory: float
    peak_bound: float
    mean_bound: float
    p99_bound: float
    within: bool
    why: str


class Bounds(NamedTuple):
    """Up to where things are as they should be (s)."""

    peak: float
    mean: float
    p99: float
    band: float
    """Within which the smoothed mean of the seeds is at rest."""

    @classmethod
    def of(
        cls, target: float, fluid: Transient, surplus: float, spread: float, slot: float, seeds: int
    ) -> Bounds:
        """Bounds from the fluid's transient and the spread of the linear loop (s).

        Queues of packets see the time that the packet at the head has waited. That is late by that
        time itself, while a `surplus` of the load goes on filling the queue; and at its update it
        is half a packet's time on the link (`slot`) less than what packets wait on the average.
        """
        wide = _SPREAD * spread
        error = _ERRORS * wide / math.sqrt(seeds)
        left = SETTLED * max(fluid.peak, fluid.trough)
        return cls(
            peak=fluid.peak + surplus * (target + fluid.peak) + error,
            mean=_MEAN * target + 0.5 * slot,
            p99=target + 0.5 * slot + left + _NINETY_NINE * wide,
            band=max(left, error),
        )


@dataclasses.dataclass(frozen=True)
class _Plan:
    """The lengths of a run: bins, and how many of them."""

    bin: float
    stage: int
    transient: int
    """Bins after a step in which its peak is looked for; what comes after `settled` is rest."""
    settled: int

    @classmethod
    def of(cls, corner: Corner, fluid: Sequence[Transient]) -> _Plan:
        bin_ = round(corner.rtt / _PER_TRIP * _NS) / _NS  # packets count whole nanoseconds
        finite = [x.settling for x in fluid if math.isfinite(x.settling)]
        longest = max([*finite, _SHORTEST * corner.rtt])
        if len(finite) < len(fluid):
            longest = max(longest, _UNSETTLED * corner.rtt)
        transient = math.ceil(longest / bin_)
        settled = math.ceil(_LONGER * transient)
        return cls(bin_, settled + round(_REST * _PER_TRIP), transient, settled)


def run_corner(
    corner: Corner,
    fluid: Sequence[Transient],
    engine: Engine,
    progress: Callable[[float], None],
) -> list[PacketCase]:
    """Return what the steps do to packets at a corner, in order.

    Parameters
    ----------
    corner : Corner
    fluid : sequence of Transient
        Of each step, what it does to the fluid.
    engine : Engine
        With the length of its rows left open.
    progress : callable
        Called with the part that is done.
    """
    plan = _Plan.of(corner, fluid)
    states = [STEPS[0].before, *(step.after for step in STEPS)]
    instants = [plan.stage * plan.bin * number for number in range(len(states) + 1)]
    scenario = corner.scenario(instants[-1], list(zip(instants, states, strict=False)))
    # Not the first windows of all flows at once.
    flows = tuple(dataclasses.replace(flow, start_jitter=corner.rtt) for flow in scenario.flows)
    run = engine.with_rows(plan.bin).run(
        dataclasses.replace(scenario, flows=flows),
        lambda done, total: progress(done / total),
    )
    if run.attrs["interrupted"]:  # not all seeds, or none: nothing to judge by
        raise KeyboardInterrupt
    run = run if "seed" in run.dims else run.expand_dims("seed")
    pieces = [_piece(run, plan, number) for number in range(1, len(states))]
    return [
        _read(corner, step, piece, plan, transient)
        for step, piece, transient in zip(STEPS, pieces, fluid, strict=True)
    ]


def _piece(run: xarray.Dataset, plan: _Plan, number: int) -> xarray.Dataset:
    """The bins after one step."""
    piece = run.isel(time=slice(number * plan.stage, (number + 1) * plan.stage))
    return piece.isel(band=0) if "band" in piece.dims else piece


def _read(
    corner: Corner, step: Step, piece: xarray.Dataset, plan: _Plan, fluid: Transient
) -> PacketCase:
    target = float(corner.queue.target)
    delay = piece[schema_of(piece).waited].to_numpy()
    rest = slice(plan.settled, None)
    u = piece["controller"].to_numpy()[:, rest]
    with quietly():
        flows, capacity = corner.flows(step.after), corner.capacity(step.after)
        spread = delay_spread(flows, corner.queue, capacity, float(u.mean()))
    slot = 1.0 / (corner.packets * step.after.capacity)
    bounds = Bounds.of(target, fluid, step.surplus, spread, slot, delay.shape[0])
    smooth = _smooth(delay.mean(axis=0)) - target
    first = read_transient(smooth[: plan.transient], plan.bin)
    clamped = float(np.mean(corner.clamped(u)))
    served = (piece["throughput"].sum("flows") / piece["capacity"]).mean("seed")
    case = PacketCase(
        peak=first.peak,
        trough=first.trough,
        settling=read_transient(smooth, plan.bin, bounds.band).settling,
        mean=float(delay[:, rest].mean()),
        sd=float(delay[:, rest].std()),
        p99=float(np.quantile(delay[:, rest], 0.99)),
        utilization=float(served[rest].mean()),
        clamped_part=clamped,
        peak_fluid=fluid.peak,
        settling_fluid=fluid.settling,
        sd_theory=spread,
        peak_bound=bounds.peak,
        mean_bound=bounds.mean,
        p99_bound=bounds.p99,
        within=True,
        why="",
    )
    off = _excess(case, target)
    if not off:
        return case
    return case._replace(within=False, why=f"{off}: {_cause(case)}")


def _smooth(signal: FloatArray) -> FloatArray:
    """The mean over the round trip around each bin; at the ends over what there is."""
    ones = np.ones(_PER_TRIP)
    count = np.convolve(np.ones_like(signal), ones, mode="same")
    return np.convolve(signal, ones, mode="same") / count


def _excess(found: PacketCase, target: float) -> str:
    """What is outside its bound; nothing is known of an unstable loop."""
    if not math.isfinite(found.sd_theory):
        return "no bounds"
    words = {
        "peak": found.peak > found.peak_bound,
        "mean": abs(found.mean - target) > found.mean_bound,
        "p99": found.p99 > found.p99_bound,
    }
    return ", ".join(name for name, off in words.items() if off)


def _cause(found: PacketCase) -> str:
    if not math.isfinite(found.sd_theory):
        return "the linear loop is not stable at the p' that the packets hold"
    if not math.isfinite(found.settling_fluid):
        return "the fluid does not come to rest either"
    if found.clamped_part > _CLAMPED:
        part = 100.0 * found.clamped_part
        return f"p' is at a bound for {part:.2g} % of the time, where nothing holds the delay"
    return UNKNOWN
