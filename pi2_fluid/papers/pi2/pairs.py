"""Cubic beside DCTCP or ECN-Cubic in one queue, as in the PI2 paper's Figures 15 to 20."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.plot import COLORS
from pi2_fluid.results.delays import delay_quantiles, mean_of
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    import xarray
    from numpy.typing import ArrayLike

    from pi2_fluid.values import FloatArray

#: The paper's two queues, by their names here.
QUEUES: Final = {"pie": "PIE", "pi2": "PI2"}
_SHIPPED: Final = {"pie": "pi2_coexistence_pie", "pi2": "pi2_coexistence_coupled"}
#: What is beside Cubic.
PAIRS: Final = {"dctcp": "DCTCP", "ecn_cubic": "ECN-Cubic"}
PAIR_NAMES: Final = {key: f"Cubic / {name}" for key, name in PAIRS.items()}
#: The paper's blue and black.
STYLES: Final[dict[str, dict[str, Any]]] = {
    "dctcp": {"color": COLORS[1], "marker": "o"},
    "ecn_cubic": {"color": COLORS[0], "marker": "s", "markerfacecolor": "white"},
}
#: What can be set of such figures; capacity, round-trip time and numbers of flows are their axes.
CHANGEABLE: Final = (
    "target", "alpha", "beta", "update_interval", "initial_window", "buffer", "duration",
)  # fmt: skip
#: What the text does not say of any of them.
DECISIONS: Final = (
    "Flows start within 1 s, when the queue is 5 s old.",
    (
        'The paper reworked PIE\'s rule that ends marking above 10 % "as described above", where'
        " it is disabled. So PIE marks at every p here."
    ),
    (
        "DCTCP grows by a segment per round trip, as in equation (11). In Linux before 4.0 it grew"
        " half as fast where receivers acknowledge every second segment, and had half the rate."
        " The paper does not say what its receivers did, so we leave this out."
    ),
)

_CYCLES: Final = 20.0
_SHORTEST, _LONGEST = 90.0, 240.0  # s
_LEFT_OUT: Final = 1.0 / 3.0
_BIN: Final = 1.0  # s


def lasts(capacity: float, base_rtt: float, target: float = 0.02) -> float:
    """Return how long (s) flows are watched: 20 sawteeth, if that is neither too short nor long.

    A sawtooth here is that of one of two Reno flows, which regains half of its window by a segment
    in each round trip.
    """
    rtt = base_rtt + target
    sawtooth = 0.25 * capacity / 12e3 * rtt**2
    return float(round(min(max(_CYCLES * sawtooth, _SHORTEST), _LONGEST)))


def pair_scenario(
    queue: str,
    pair: str,
    capacity: float,
    base_rtt: float,
    counts: tuple[int, int] = (1, 1),
    seconds: float | None = None,
) -> pf.Scenario:
    """Return so many Cubic flows beside so many of another kind, on a link of the testbed.

    Parameters
    ----------
    queue, pair : str
        Of `QUEUES` and `PAIRS`.
    capacity, base_rtt : float
        bit/s and s.
    counts : tuple of int
        Flows of Cubic, and beside it; a class of none is left out.
    seconds : float, optional
        For how long there are flows; `lasts` if not given.
    """
    shipped = pf.named_scenario(_SHIPPED[queue])
    cubic, dctcp = shipped.flows
    partner = {
        "dctcp": dctcp,
        "ecn_cubic": dataclasses.replace(cubic, ecn=True),
    }[pair]  # fmt: skip
    flows = tuple(
        dataclasses.replace(flow, base_rtt=base_rtt, count=count, name=name)
        for flow, count, name in zip((cubic, partner), counts, ("cubic", pair), strict=True)
        if count
    )
    start = float(cubic.start)
    return dataclasses.replace(
        shipped,
        duration=start + (lasts(capacity, base_rtt) if seconds is None else seconds),
        link=dataclasses.replace(shipped.link, capacity=capacity),
        flows=flows,
    )


class Runs(NamedTuple):
    """What was measured in the runs of one scenario, without their first third."""

    rates: FloatArray
    """Mean rate of each class (bit/s), (seeds, classes)."""
    half_rates: FloatArray
    """The same of each half of what is measured, (2, seeds, classes)."""
    delay: FloatArray
    """Mean and P99 of the packets' delays (s), (2, seeds)."""
    signals: FloatArray
    """Mean, P25 and P99 over seconds of what part of a class is signalled, (3, seeds, classes)."""
    use: FloatArray
    """Mean, P1 and P99 over seconds of what part of the capacity is used, (3, seeds)."""
    flow_rates: FloatArray
    """Segments of each flow in each block of seconds over the mean of all, (seeds, block, flow)."""
    owners: tuple[int, ...]
    """Index of the class of each flow."""
    block: float
    """How long a block is (s)."""

    @property
    def ratio(self) -> FloatArray:
        """Rate of the first class over that of the second, (seeds,)."""
        return _ratio(self.rates)

    @property
    def half_ratios(self) -> FloatArray:
        """The same of each half, (2, seeds)."""
        return _ratio(self.half_rates)


def _ratio(rates: FloatArray) -> FloatArray:
    result: FloatArray = rates[..., 0] / np.maximum(rates[..., 1], 1.0)
    return result


def measured_from(scenario: pf.Scenario) -> float:
    """Return from when on (s) runs are measured: without the first third of their traffic."""
    start = float(scenario.flows[0].start)
    return start + _LEFT_OUT * (float(scenario.duration) - start)


@cache
def run_pair(scenario: pf.Scenario, seeds: int) -> Runs:
    """Return what is measured in runs of a scenario, which are made once."""
    runs = uninterrupted(pf.packet.simulate(scenario, seeds=seeds, bin=_BIN))
    begin = measured_from(scenario)
    bins = runs.isel(time=runs["time"].to_numpy() - _BIN >= begin)
    blocks = runs.isel(block=runs["block_start"].to_numpy() >= begin)
    rates = bins["throughput"].to_numpy()
    return Runs(
        rates.mean(axis=1),
        np.stack([half.mean(axis=1) for half in np.array_split(rates, 2, axis=1)]),
        np.stack([_mean_delay(bins), _p99(blocks)]),
        levels_of(bins["p"].to_numpy(), (25.0, 99.0)),
        levels_of(rates.sum(axis=2) / bins["capacity"].to_numpy(), (1.0, 99.0)),
        over_fair(blocks["flow_segments"].to_numpy()),
        tuple(int(owner) for owner in runs["flow_class"].to_numpy()),
        float((runs["block"] - runs["block_start"])[0]),
    )


def _mean_delay(bins: xarray.Dataset) -> FloatArray:
    waited, left = bins["class_sojourn"].to_numpy(), bins["departures"].to_numpy()
    return mean_of((waited * left).sum(axis=(1, 2)), left.sum(axis=(1, 2)))


def _p99(blocks: xarray.Dataset) -> FloatArray:
    counts = blocks["delay_histogram"].sum(("block", "flows")).to_numpy()
    lower, upper = (blocks[name].to_numpy() for name in ("delay", "delay_end"))
    return delay_quantiles(counts, lower, upper, [0.99])[:, 0]


def levels_of(values: FloatArray, percentiles: tuple[float, float]) -> FloatArray:
    """Return the mean and percentiles over the second axis, on a new first one."""
    low_high = np.percentile(values, percentiles, axis=1)
    return np.concatenate([values.mean(axis=1)[None], low_high])


def over_fair(segments: FloatArray) -> FloatArray:
    """Return what flows have in each block over what each had, were they served alike."""
    fair = segments.mean(axis=2, keepdims=True)
    result: FloatArray = segments / np.maximum(fair, 1e-9)
    return result


def geometric_mean(ratios: ArrayLike) -> FloatArray:
    """Return the geometric mean over the first axis.

    Examples
    --------
    >>> float(geometric_mean([0.5, 2.0, 8.0]))
    2.0
    """
    result: FloatArray = np.exp(np.mean(np.log(np.asarray(ratios, dtype=float)), axis=0))
    return result
