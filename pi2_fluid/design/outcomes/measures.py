"""What people feel of a run: delays, rates and losses of each seed, from what was counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.network.scenario import Scenario
from pi2_fluid.results.delays import delay_quantiles

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.results.dataset import Columns
    from pi2_fluid.values import BoolArray, FloatArray

#: Rows of a run (s), by which sd, peak and rate are measured.
BIN: Final = 0.02
_HIGH: Final = 0.99
_SMALL: Final = 100  # segments, below which a transfer is one that somebody waits for
_DROPS: Final = ("drop_aqm", "drop_full", "drop_overload")

#: From when to when (s).
Stretch = tuple[float, float]


class Measure(NamedTuple):
    """Its unit, how two queues are compared by it, and what it is."""

    unit: str
    compared: str
    """"ratio" or "difference"."""
    text: str


#: What is measured, in the order of the tables.
MEASURES: Final = {
    "p99": Measure("s", "ratio", "99th percentile of the packets' delay, steady"),
    "p99_after": Measure("s", "ratio", "99th percentile of the packets' delay after events"),
    "mean_after": Measure("s", "ratio", "mean queue delay after events"),
    "peak_after": Measure("s", "ratio", "largest queue delay of 20 ms after events"),
    "sd": Measure("s", "ratio", "standard deviation of the queue delay, steady"),
    "rate": Measure("1", "difference", "part of the capacity that is used, steady"),
    "rate_after": Measure("1", "difference", "part of the capacity that is used after events"),
    "rate_measured": Measure("1", "difference", "the same, steady and after events"),
    "l4s_p99": Measure("s", "ratio", "99th percentile of the L4S packets' delay, steady"),
    "completion": Measure("s", "ratio", "median time of transfers of less than 100 segments"),
    "loss": Measure("1", "difference", "part of the packets that are lost, in the whole run"),
}


def measure(
    runs: xarray.Dataset | Columns,
    scenario: Scenario,
    steady: Stretch | None,
    after: Sequence[Stretch],
) -> FloatArray:
    """Return every measure of every seed, NaN where there is none.

    Delays are those of Classic packets, or of L4S packets where no other sender hears signals.

    Parameters
    ----------
    runs : Dataset or Columns
        Of packets, of any engine that counts them, over one link.
    scenario : Scenario
        What was run.
    steady : (float, float), optional
        When nothing happens (s); None: the steady measures are NaN.
    after : sequence of (float, float)
        What follows each event (s); none: the measures after events are NaN.

    Returns
    -------
    array (measures, seeds)
        In the order of `MEASURES`.
    """
    bins = _Bins(runs, scenario)
    measures = dict.fromkeys(MEASURES, np.full(len(runs["count"].to_numpy()), np.nan))
    looked_at = [*([] if steady is None else [steady]), *after]
    measures["rate_measured"] = bins.used(bins.within(looked_at))
    if steady is not None:
        calm = bins.within([steady])
        measures["p99"] = bins.quantile([steady], bins.own)
        measures["sd"] = bins.delay[:, calm].std(axis=1)
        measures["rate"] = bins.used(calm)
        if bins.scalable.any():
            measures["l4s_p99"] = bins.quantile([steady], bins.scalable)
    if after:
        disturbed = bins.within(after)
        measures["p99_after"] = bins.quantile(after, bins.own)
        measures["mean_after"] = bins.delay[:, disturbed].mean(axis=1)
        measures["peak_after"] = bins.delay[:, disturbed].max(axis=1)
        measures["rate_after"] = bins.used(disturbed)
    if "transfer_size" in runs:
        measures["completion"] = _completion(runs, min(begin for begin, _ in looked_at))
    count = runs["count"].to_numpy().sum(axis=1)  # seed, flows, cause
    causes = runs["cause"].to_numpy().tolist()
    lost = count[:, [causes.index(name) for name in _DROPS]].sum(axis=1)
    measures["loss"] = lost / np.maximum(count[:, causes.index("sent")], 1)
    return np.array([measures[name] for name in MEASURES])


class _Bins:
    """The rows of some runs of one link, and the histograms of their delays."""

    def __init__(self, runs: xarray.Dataset | Columns, scenario: Scenario) -> None:
        self.width = runs["bin"].to_numpy()
        self.middle = runs["time"].to_numpy() - 0.5 * self.width
        self.block = runs["block_start"].to_numpy(), runs["block"].to_numpy()
        self.histogram = runs["delay_histogram"].to_numpy()  # seed, block, flows, delay
        self.edges = runs["delay"].to_numpy(), runs["delay_end"].to_numpy()
        self.scalable: BoolArray = np.array([f.sender.signal == "scalable" for f in scenario.flows])
        #: Whose delays are measured.
        heard = [flows.sender.constant_rate is None for flows in scenario.flows]
        alone = self.scalable.any() and bool(np.all(self.scalable[heard]))
        self.own = self.scalable if alone else ~self.scalable
        delay = runs["queue_delay"]
        waited: FloatArray = delay.to_numpy()
        self.delay = waited[..., int(alone)] if "band" in delay.dims else waited
        carried = runs["throughput"].to_numpy().sum(axis=-1)
        capacity = runs["capacity"].to_numpy()
        self.part: FloatArray = carried / np.maximum(capacity, 1.0)

    def within(self, stretches: Sequence[Stretch]) -> BoolArray:
        """Return which rows have their middle in one of some stretches."""
        each = [(self.middle > begin) & (self.middle < end) for begin, end in stretches]
        found: BoolArray = np.any(each, axis=0)
        return found

    def used(self, chosen: BoolArray) -> FloatArray:
        """Return which part of the capacity is used, each second counted alike."""
        found: FloatArray = np.average(self.part[:, chosen], axis=1, weights=self.width[chosen])
        return found

    def quantile(self, stretches: Sequence[Stretch], flows: BoolArray) -> FloatArray:
        """Return the 99th percentile of the delay of the packets of some classes."""
        middle = 0.5 * (self.block[0] + self.block[1])
        each = [(middle > begin) & (middle < end) for begin, end in stretches]
        counts = self.histogram[:, np.any(each, axis=0)][:, :, flows].sum(axis=(1, 2))
        found = delay_quantiles(counts, *self.edges, [_HIGH])[:, 0]
        return np.where(counts.sum(axis=1) > 0, found, np.nan)


def _completion(runs: xarray.Dataset | Columns, begin: float) -> FloatArray:
    """Return the median time of small transfers, those that were not finished being the longest."""
    size, started = runs["transfer_size"].to_numpy(), runs["transfer_start"].to_numpy()
    took = runs["transfer_time"].to_numpy()
    waited = np.where(np.isnan(took), np.inf, took)
    found = np.full(size.shape[0], np.nan)
    for seed, chosen in enumerate((size > 0) & (size < _SMALL) & (started >= begin)):
        if chosen.any():
            middle = float(np.median(waited[seed, chosen]))
            found[seed] = middle if np.isfinite(middle) else np.nan
    return found
