"""Statistics of packets over a stretch of time: from bins, and from histograms kept in blocks."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.results.completions import SIZES, completion_variables, size_coords
from pi2_fluid.results.dataset import (
    QUANTILES,
    Column,
    label_coords,
    make_dataset,
    quantile_name,
)
from pi2_fluid.results.delays import delay_quantiles, delay_sd, mean_of, used_buckets
from pi2_fluid.results.settling import extremes
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray, IntArray

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


class _Run:
    """What one seed has in a stretch, as arrays, with ``seed`` as a dim of one entry."""

    def __init__(
        self, dataset: xr.Dataset, stretch: _Stretch, place: int, arrays: dict[str, NDArray[Any]]
    ) -> None:
        self.sizes = dataset.sizes
        self._variables, self._arrays = dataset.variables, arrays
        # Of rows that follow one another.
        self._taken = {
            "seed": slice(place, place + 1),
            "time": slice(stretch.bins[0], stretch.bins[-1] + 1),
            "block": slice(stretch.blocks[0], stretch.blocks[-1] + 1),
        }

    def __contains__(self, name: str) -> bool:
        return name in self._variables

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._arrays:
            self._arrays[name] = self._variables[name].to_numpy()
        whole = slice(None)
        return self._arrays[name][
            tuple(self._taken.get(str(dim), whole) for dim in self._variables[name].dims)
        ]

    def dims_of(self, name: str) -> tuple[Hashable, ...]:
        """Return the dims of a variable."""
        return self._variables[name].dims


def summarize_packets(
    dataset: xr.Dataset, after: float | str, until: float | str | None
) -> xr.Dataset:
    """Return the statistics of runs of packets, as `summarize` describes them."""
    if "seed" not in dataset.dims:  # one was selected; of all variables the capacity has no seeds
        rest = dataset.drop_vars("capacity").expand_dims("seed")
        dataset = rest.assign(capacity=dataset["capacity"])
    stretch = _find_stretch(dataset, after, until)
    # Seed by seed: in arrays of several, sums would round by how many there are.
    arrays: dict[str, NDArray[Any]] = {}
    count = dataset.sizes["seed"]
    seeds = [_statistics(_Run(dataset, stretch, k, arrays)) for k in range(count)]
    variables = {
        name: column._replace(values=np.concatenate([one[name].values for one in seeds]))
        for name, column in seeds[0].items()
    }
    coords = label_coords(dataset, ("seed", "link", "flows", "place", "band", "quantile"))
    largest, changes = extremes(dataset, stretch.begin, stretch.end, binned=True)
    variables |= largest
    coords |= changes
    if "transfer_size" in dataset:
        variables |= completion_variables(dataset, SIZES, stretch.begin, stretch.end)
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


def _statistics(run: _Run) -> dict[str, Column]:
    return _delays(run) | _rings(run) | _backlog(run) | _shares(run) | _classes(run)


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


def _each_link(run: _Run) -> tuple[str, ...]:
    """Return the dims of what each link of each seed has."""
    return ("seed", "link") if "link" in run.sizes else ("seed",)


def _rings(run: _Run) -> dict[str, Column]:
    """Return how long packets wait in the rings below the queues, if there is any."""
    if "ring_delay" not in run:
        return {}
    entered = run["ring_departures"]
    met = np.sum(run["ring_delay"] * entered, axis=1)
    about = "mean delay in the ring below the queue"
    return {
        "ring_delay_mean": Column(_each_link(run), mean_of(met, entered.sum(axis=1)), "s", about)
    }


def _delays(run: _Run) -> dict[str, Column]:
    departures = run["departures"]
    met = np.sum(run["class_sojourn"] * departures, axis=1)
    left = departures.sum(axis=1)
    of_queues = _histograms(run)
    together = of_queues.sum(axis=-2)
    used = together.shape[-1]
    lower, upper = run["delay"][:used], run["delay_end"][:used]
    levels = delay_quantiles(together, lower, upper, QUANTILES)
    dims = _each_link(run)
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
    if "band" in run.sizes:
        values = delay_quantiles(of_queues, lower, upper, run["quantile"])
        variables["delay_quantile"] = Column(
            ("seed", "quantile", *dims[1:], "band"),
            np.moveaxis(values, -1, 1),
            "s",
            "delay quantile of what leaves the queue",
        )
    return variables


def _histograms(run: _Run) -> IntArray:
    """Return how many packets of all blocks met each delay (the last dim) in each band."""
    counts: IntArray = run["delay_histogram"].sum(axis=1, dtype=np.int64)
    # Other seeds may have met longer delays.
    counts = counts[..., : used_buckets(counts)]
    dims = run.dims_of("delay_histogram")
    if "flows" not in dims:
        return counts if "band" in dims else counts[..., None, :]
    bands = run["band_of"] if "band" in run.sizes else np.zeros(counts.shape[1])
    of_bands = [counts[:, bands == k].sum(axis=1) for k in range(run.sizes.get("band", 1))]
    return np.stack(of_bands, axis=1)


def _backlog(run: _Run) -> dict[str, Column]:
    """Return mean and standard deviation of the backlog's delay over time."""
    dims = (*_each_link(run), "band") if "band" in run.sizes else _each_link(run)
    weight = run["bin"] / run["bin"].sum()
    delay = np.moveaxis(run["queue_delay"], 1, 0)
    queue = np.moveaxis(run["queue"], 1, 0)
    within = np.moveaxis(run["queue_sd"], 1, 0)
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


def _shares(run: _Run) -> dict[str, Column]:
    """Return what becomes of capacity and of arrivals."""
    width, dims = run["bin"], _each_link(run)
    left = run["link_throughput" if "link_throughput" in run else "throughput"]
    bits = np.einsum("t,st...f->s...", width, left)
    offered = width @ run["capacity"]
    arrived = run["arrivals"].sum(axis=1)
    variables = {
        "utilization": Column(dims, mean_of(bits, offered), "1", "part of the capacity used")
    }
    for name, key, text in (("drop", "drops", "dropped"), ("mark", "marks", "marked")):
        lost = run[key].sum(axis=1)
        total = mean_of(lost.sum(axis=-1), arrived.sum(axis=-1))
        variables[f"{name}_fraction"] = Column(dims, total, "1", f"part {text}")
        variables[f"{name}_fraction_of"] = Column(
            (*dims, "flows"), mean_of(lost, arrived), "1", f"part of the class {text}"
        )
    variables["jain"] = Column(
        ("seed",), _jain(run), "1", "Jain's index of fairness between all flows"
    )
    return variables


def _classes(run: _Run) -> dict[str, Column]:
    width = run["bin"]
    active = width[:, None] * run["active_flows"]
    windows = np.sum(active * run["window"], axis=1)
    throughput = np.einsum("t,stf->sf", width, run["throughput"]) / width.sum()
    dims = ("seed", "flows")
    return {
        "throughput": Column(dims, throughput, "bit/s", "mean throughput"),
        "window_mean": Column(
            dims, mean_of(windows, active.sum(axis=1)), "segments", "mean window of a flow"
        ),
        "timeouts": Column(dims, run["timeouts"], "1", "retransmission timeouts in the whole run"),
    }


def _jain(run: _Run) -> FloatArray:
    """Return the index over the flows that there are in the stretch, but those that end."""
    segments = run["flow_segments"].sum(axis=1, dtype=float)
    begin, end = run["block_start"][0], run["block"][-1]
    there = (run["flow_start"] < end) & (run["flow_stop"] > begin)
    if "finite" in run:
        there &= run["finite"][run["flow_class"]] == 0
    rates = segments[:, there]
    square = np.sum(rates**2, axis=1)
    alike = np.where(square > 0.0, square, 1.0) * max(1, rates.shape[1])
    return np.where(square > 0.0, rates.sum(axis=1) ** 2 / alike, 1.0)
