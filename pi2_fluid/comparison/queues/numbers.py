"""What is said of a queue under a traffic: of each seed, by name, from `summarize`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.comparison.agreement.numbers import Number, numbers_of
from pi2_fluid.comparison.agreement.places import at_place, places_in
from pi2_fluid.results import summarize
from pi2_fluid.results.delays import delay_quantiles
from pi2_fluid.results.schema import schema_of

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.comparison.queues.running import QueueRun

_DELAYS: Final = ("delay_mean", "delay_p50", "delay_p99")
_PARTS: Final = ("utilization", "drop_fraction", "mark_fraction")
_OF_CLASSES: Final = ("delay_mean_of", "drop_fraction_of", "mark_fraction_of")
_LEVEL: Final = 0.99
_COMPLETED: Final = (0.5, 0.95)
_SAME: Final = 1e-9  # s, by which rounding may move an instant


def numbers_in(run: QueueRun, after: float) -> dict[str, Number]:
    """Return the numbers of a run from `after` (s) on, by name, as `compare` lists them."""
    summary = summarize(run.result, after)
    numbers: dict[str, Number] = {}
    for place in places_in(run.scenario):
        for name, number in _of_queue(at_place(summary, place)).items():
            numbers[f"{name}{place.suffix}"] = number._replace(link=place.name)
    if "jain" in summary:
        numbers["jain"] = Number("1", np.atleast_1d(summary["jain"].to_numpy()))
    return numbers | _of_classes(run, summary)


def _of_queue(summary: xarray.Dataset) -> dict[str, Number]:
    numbers: dict[str, Number] = {}
    for name in _DELAYS:
        numbers |= numbers_of(name, summary[name], "")
    numbers["queue_delay_max"] = _slower(summary["queue_delay_max"])
    for name in _PARTS:
        numbers |= numbers_of(name, summary[name], "")
    for k, at in enumerate(summary["change_at"].to_numpy() if "change" in summary.dims else ()):
        for name in ("change_peak", "change_settling"):
            numbers[f"{name}.{at:g}s"] = _slower(summary[name].isel(change=k))
    return numbers


def _slower(values: xarray.DataArray) -> Number:
    """Return a number of the band in which it is larger, of two."""
    worst = values.max("band") if "band" in values.dims else values
    return Number(str(values.attrs["units"]), np.atleast_1d(worst.to_numpy()))


def _of_classes(run: QueueRun, summary: xarray.Dataset) -> dict[str, Number]:
    throughput = summary["throughput"]
    numbers = numbers_of("throughput", throughput, "flows")
    if summary.sizes["flows"] > 1:
        share = throughput / throughput.sum("flows")
        numbers |= numbers_of("share", share.assign_attrs(units="1"), "flows")
        if "link" not in summary.dims and schema_of(run.result).binned:
            for name in _OF_CLASSES:
                numbers |= numbers_of(name, summary[name], "flows")
            numbers |= numbers_of("delay_p99_of", _delays_of(run.result, summary), "flows")
    if "completion_quantile" in summary:
        for name, finite in zip(run.scenario.class_names, run.scenario.flows, strict=True):
            if finite.finite:
                for level in _COMPLETED:
                    taken = summary["completion_quantile"].sel(flows=name, quantile=level)
                    label = f"completion_p{round(100 * level)}.{name}"
                    numbers |= numbers_of(label, taken, "")
    return numbers


def _delays_of(result: xarray.Dataset, summary: xarray.Dataset) -> xarray.DataArray:
    """Return the 99 % delay quantile (s) of each class, of the blocks that its summary is of."""
    begin, end = (summary.attrs[f"quantiles_{name}"] for name in ("after", "until"))
    starts, stops = result["block_start"].to_numpy(), result["block"].to_numpy()
    inside = np.flatnonzero((starts >= begin - _SAME) & (stops <= end + _SAME))
    counts = result["delay_histogram"].isel(block=inside).sum("block", dtype=np.int64)
    delays = delay_quantiles(
        counts.transpose("seed", "flows", "delay").to_numpy(),
        result["delay"].to_numpy(),
        result["delay_end"].to_numpy(),
        [_LEVEL],
    )[..., 0]
    return summary["delay_mean_of"].transpose("seed", "flows").copy(data=delays)
