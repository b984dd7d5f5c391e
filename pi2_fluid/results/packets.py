"""Statistics of packets over a stretch of time: from bins, and from histograms kept in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr

from pi2_fluid.errors import QuantityError
from pi2_fluid.results.completions import SIZES, completion_variables, size_coords
from pi2_fluid.results.dataset import (
    QUANTILES,
    Column,
    label_coords,
    make_dataset,
    quantile_name,
)
from pi2_fluid.results.delays import delay_quantiles, delay_sd, mean_of
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, IntArray

__all__ = ["summarize_packets"]

# Of the length of a bin: how far its ends may lie outside the stretch, which rounding may move.
_ROUNDING = 1e-6


class _Stretch(NamedTuple):
    """The rows that are asked for."""

    bins: IntArray
    blocks: IntArray
    begin: float
    end: float
    blocks_begin: float
    blocks_end: float


def summarize_packets(
    dataset: xr.Dataset, after: float | str, until: float | str | None
) -> xr.Dataset:
    """Return the statistics of runs of packets, as `summarize` describes them."""
    if "seed" not in dataset.dims:  # one was selected; of all variables the capacity has no seeds
        rest = dataset.drop_vars("capacity").expand_dims("seed")
        dataset = rest.assign(capacity=dataset["capacity"])
    stretch = _find_stretch(dataset, after, until)
    part = dataset.isel(time=stretch.bins, block=stretch.blocks)
    variables = _delays(part) | _backlog(part) | _shares(part) | _classes(part)
    coords = label_coords(part, ("seed", "link", "flows", "place", "band", "quantile"))
    if "transfer_size" in part:
        variables |= completion_variables(part, SIZES, stretch.begin, stretch.end)
        coords |= size_coords(SIZES)
    elif "delay_quantile" not in variables:
        coords.pop("quantile", None)
    attrs = {
        "engine": dataset.attrs.get("engine", ""),
        "after": stretch.begin,
        "until": stretch.end,
        "quantiles_after": stretch.blocks_begin,
        "quantiles_until": stretch.blocks_end,
    }
    return make_dataset(variables, coords, attrs)


def _find_stretch(dataset: xr.Dataset, after: float | str, until: float | str | None) -> _Stretch:
    ends = dataset["time"].to_numpy()
    last = float(ends[-1]) if ends.size else 0.0
    begin = float(validate_quantity(after, "time", "after", closed=True))
    end = last if until is None else float(validate_quantity(until, "time", "until"))
    widths = dataset["bin"].to_numpy()
    slack = _ROUNDING * widths
    inside = (ends - widths >= begin - slack) & (ends <= end + slack)
    if not inside.any():
        longest = float(widths.max()) if ends.size else 0.0
        raise QuantityError(
            f"after = {begin:g} s and until = {end:g} s leave no whole bin of {longest:g} s of runs"
            f" that end at {last:g} s: give a longer stretch."
        )
    bins = np.flatnonzero(inside)
    first, final = float(ends[bins[0]] - widths[bins[0]]), float(ends[bins[-1]])
    starts, stops = dataset["block_start"].to_numpy(), dataset["block"].to_numpy()
    little = _ROUNDING * float(widths.min())
    blocks = np.flatnonzero((starts >= first - little) & (stops <= final + little))
    if not blocks.size:
        blocks = np.flatnonzero((stops > first + little) & (starts < final - little))
    return _Stretch(bins, blocks, begin, end, float(starts[blocks[0]]), float(stops[blocks[-1]]))


def _each_link(part: xr.Dataset) -> tuple[str, ...]:
    """Return the dims of what each link of each seed has."""
    return ("seed", "link") if "link" in part.dims else ("seed",)


def _delays(part: xr.Dataset) -> dict[str, Column]:
    departures = part["departures"].to_numpy()
    met = np.sum(part["class_sojourn"].to_numpy() * departures, axis=1)
    left = departures.sum(axis=1)
    of_queues = _histograms(part)
    together = of_queues.sum(axis=-2)
    lower, upper = part["delay"].to_numpy(), part["delay_end"].to_numpy()
    levels = delay_quantiles(together, lower, upper, QUANTILES)
    dims = _each_link(part)
    variables = {
        "delay_mean": Column(
            dims, mean_of(met.sum(axis=-1), left.sum(axis=-1)), "s", "mean delay of what leaves"
        ),
        "delay_sd": Column(
            dims,
            delay_sd(together, lower, upper),
            "s",
            "standard deviation of the delay of what leaves",
        ),
        **{
            quantile_name(level): Column(
                dims, levels[..., k], "s", f"{100 * level:g} % delay quantile"
            )
            for k, level in enumerate(QUANTILES)
        },
        "delay_mean_of": Column(
            (*dims, "flows"), mean_of(met, left), "s", "mean delay of what leaves of the class"
        ),
    }
    if "band" in part.dims:
        values = delay_quantiles(of_queues, lower, upper, part["quantile"].to_numpy())
        variables["delay_quantile"] = Column(
            ("seed", "quantile", *dims[1:], "band"),
            np.moveaxis(values, -1, 1),
            "s",
            "delay quantile of what leaves the queue",
        )
    return variables


def _histograms(part: xr.Dataset) -> IntArray:
    """Return how many packets of all blocks met each delay (the last dim) in each band."""
    counted = part["delay_histogram"]
    counts: IntArray = counted.to_numpy().sum(axis=1, dtype=np.int64)
    if "flows" not in counted.dims:
        return counts if "band" in counted.dims else counts[..., None, :]
    bands = part["band_of"].to_numpy() if "band" in part.dims else np.zeros(counts.shape[1])
    of_bands = [counts[:, bands == k].sum(axis=1) for k in range(part.sizes.get("band", 1))]
    return np.stack(of_bands, axis=1)


def _backlog(part: xr.Dataset) -> dict[str, Column]:
    """Return mean and standard deviation of the backlog's delay over time."""
    dims = (*_each_link(part), "band") if "band" in part.dims else _each_link(part)
    weight = part["bin"].to_numpy() / part["bin"].to_numpy().sum()
    delay = part["queue_delay"].transpose("time", ...).to_numpy()
    queue = part["queue"].transpose("time", ...).to_numpy()
    within = part["queue_sd"].transpose("time", ...).to_numpy()
    # Seconds for each packet of the backlog, at the rate of the bin.
    packet = mean_of(delay, queue)
    mean = np.tensordot(weight, delay, 1)
    variance = np.tensordot(weight, (packet * within) ** 2 + (delay - mean) ** 2, 1)
    return {
        "queue_delay_mean": Column(dims, mean, "s", "mean queue delay over time"),
        "queue_delay_sd": Column(
            dims, np.sqrt(variance), "s", "standard deviation of the queue delay over time"
        ),
    }


def _shares(part: xr.Dataset) -> dict[str, Column]:
    """Return what becomes of capacity and of arrivals."""
    width, dims = part["bin"].to_numpy(), _each_link(part)
    left = part["link_throughput" if "link_throughput" in part else "throughput"].to_numpy()
    bits = np.einsum("t,st...f->s...", width, left)
    offered = width @ part["capacity"].to_numpy()
    arrived = part["arrivals"].to_numpy().sum(axis=1)
    variables = {"utilization": Column(dims, bits / offered, "1", "part of the capacity used")}
    for name, key, text in (("drop", "drops", "dropped"), ("mark", "marks", "marked")):
        lost = part[key].to_numpy().sum(axis=1)
        total = mean_of(lost.sum(axis=-1), arrived.sum(axis=-1))
        variables[f"{name}_fraction"] = Column(dims, total, "1", f"part {text}")
        variables[f"{name}_fraction_of"] = Column(
            (*dims, "flows"), mean_of(lost, arrived), "1", f"part of the class {text}"
        )
    variables["jain"] = Column(
        ("seed",), _jain(part), "1", "Jain's index of fairness between all flows"
    )
    return variables


def _classes(part: xr.Dataset) -> dict[str, Column]:
    width = part["bin"].to_numpy()
    active = width[:, None] * part["active_flows"].to_numpy()
    windows = np.sum(active * part["window"].to_numpy(), axis=1)
    throughput = np.einsum("t,stf->sf", width, part["throughput"].to_numpy()) / width.sum()
    dims = ("seed", "flows")
    return {
        "throughput": Column(dims, throughput, "bit/s", "mean throughput"),
        "window_mean": Column(
            dims, mean_of(windows, active.sum(axis=1)), "segments", "mean window of a flow"
        ),
        "timeouts": Column(
            dims, part["timeouts"].to_numpy(), "1", "retransmission timeouts in the whole run"
        ),
    }


def _jain(part: xr.Dataset) -> FloatArray:
    """Return the index over the flows that there are in the stretch, but those that end."""
    segments = part["flow_segments"].to_numpy().sum(axis=1, dtype=float)
    begin, end = part["block_start"].to_numpy()[0], part["block"].to_numpy()[-1]
    there = (part["flow_start"].to_numpy() < end) & (part["flow_stop"].to_numpy() > begin)
    if "finite" in part:
        there &= part["finite"].to_numpy()[part["flow_class"].to_numpy()] == 0
    rates = segments[:, there]
    square = np.sum(rates**2, axis=1)
    alike = np.where(square > 0.0, square, 1.0) * max(1, rates.shape[1])
    return np.where(square > 0.0, rates.sum(axis=1) ** 2 / alike, 1.0)
