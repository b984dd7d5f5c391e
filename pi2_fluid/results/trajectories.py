"""Trajectories of the fluid: their Dataset, and their statistics."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.results.dataset import (
    QUANTILES,
    Column,
    class_coords,
    label_coords,
    make_dataset,
    most_bands,
    quantile_name,
    shared_variables,
)
from pi2_fluid.results.settling import extremes
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import FloatArray, IntArray

#: What a summary has of all classes together, and of each.
_OF_CLASSES: Final = ("jain", "throughput", "window_mean")
#: Of a trajectory over dual and other queues: the names of links whose classes share one queue.
_SINGLE: Final = "one_queue"
_SAME: Final = 1e-12  # s: an instant is reached this much before it


class _Samples(Protocol):
    """What an engine has sampled, in packets and seconds: n samples, m classes, b bands or links.

    The last two are of networks of several links. Where one of these has a dual queue, bands come
    behind links.
    """

    @property
    def time(self) -> FloatArray: ...
    @property
    def queue(self) -> FloatArray: ...
    @property
    def queue_delay(self) -> FloatArray: ...
    @property
    def controller(self) -> FloatArray: ...
    @property
    def p(self) -> FloatArray: ...
    @property
    def window(self) -> FloatArray: ...
    @property
    def leaving(self) -> FloatArray: ...
    @property
    def capacity(self) -> FloatArray: ...
    @property
    def link_p(self) -> FloatArray | None: ...
    @property
    def link_leaving(self) -> FloatArray | None: ...


def trajectory_dataset(
    trace: _Samples, scenario: Scenario, attrs: Mapping[str, str | float]
) -> xr.Dataset:
    """Build the Dataset of one trajectory from an engine's samples.

    Parameters
    ----------
    trace : Trace or the samples of packets
        Of the engine.
    scenario : Scenario
        What was simulated.
    attrs : mapping
        Provenance.
    """
    bits = 8.0 * float(scenario.packet_size)
    values = {
        "queue_delay": trace.queue_delay,
        "queue": trace.queue,
        "controller": trace.controller,
        "p": trace.p,
        "window": trace.window,
        "throughput": bits * trace.leaving,
        "capacity": bits * trace.capacity,
    }
    if trace.link_p is not None and trace.link_leaving is not None:
        values |= {"link_p": trace.link_p, "link_throughput": bits * trace.link_leaving}
        if most_bands(scenario) == 1:
            values |= {name: values[name][..., None] for name in ("queue_delay", "queue")}
    bands = [int(flow.sender.signal == "scalable") for flow in scenario.flows]
    queues = [node.aqm for node in scenario.network.nodes]
    thins = any(queue.thins for queue in queues)
    thinned = [int(thins and flow.sender.thinned) for flow in scenario.flows]
    coords = {
        "time": Column(("time",), trace.time, "s", "time"),
        **class_coords(scenario, bands),
        "thinned": Column(
            ("flows",), np.array(thinned), "1", "1 if what is signalled does not enter the queue"
        ),
    }
    variables = shared_variables(scenario, ("time",), values)
    offered = np.stack(
        [_offered(scenario, i, trace.time) * on for i, on in enumerate(thinned)], axis=-1
    )
    if offered.any():
        variables["offered"] = Column(
            ("time", "flows"),
            offered,
            "bit/s",
            "rate that thinned traffic of a constant rate is sent at; 0 of any other",
        )
    single = [node.name for node in scenario.network.nodes if node.aqm.bands == 1]
    if single and most_bands(scenario) == 2:
        attrs = {**attrs, _SINGLE: json.dumps(single)}
    return make_dataset(variables, coords, attrs)


def _offered(scenario: Scenario, index: int, time: FloatArray) -> FloatArray:
    """Return what a class sends (bit/s) if it does so at a constant rate, 0 if not."""
    flow, name, time = scenario.flows[index], scenario.class_names[index], time + _SAME
    rate = flow.sender.constant_rate
    if rate is None:
        return np.zeros(len(time))
    count = np.full(len(time), float(flow.count))
    for change in sorted(scenario.changes, key=lambda change: float(change.at)):
        if name in (change.counts or {}):
            count[time >= float(change.at)] = float((change.counts or {})[name])
    since, ramp = time - float(flow.start), float(flow.start_jitter)
    begun = np.clip(since / ramp, 0.0, 1.0) if ramp > 0.0 else (since >= 0.0).astype(float)
    begun[time >= (math.inf if flow.stop is None else float(flow.stop))] = 0.0
    sent: FloatArray = float(rate) * count * begun
    return sent


def summarize_trajectory(
    dataset: xr.Dataset, after: float | str, until: float | str | None
) -> xr.Dataset:
    """Return the statistics of a trajectory, as `summarize` describes them."""
    if "link" in dataset.dims:
        return _summarize_links(dataset, after, until)
    begin = validate_quantity(after, "time", "after", closed=True)
    end = float(dataset.time[-1]) if until is None else validate_quantity(until, "time", "until")
    stretch = dataset.sel(time=slice(begin, end))
    if stretch.sizes["time"] < 2:
        raise QuantityError(
            f"after = {begin:g} s and until = {end:g} s leave {stretch.sizes['time']} samples of a"
            f" trajectory that ends at {float(dataset.time[-1]):g} s: give a longer stretch."
        )
    weight = _time_weights(stretch.time.to_numpy())
    delay = stretch.queue_delay.to_numpy().reshape(len(weight), -1)
    classes = stretch.throughput.to_numpy()
    bands = _bands_of(stretch)
    served = np.stack([classes[:, bands == k].sum(axis=1) for k in range(delay.shape[1])], axis=1)
    departing = (weight[:, None] * served).ravel()
    flat = delay.ravel()
    total = max(float(departing.sum()), np.finfo(float).tiny)
    mean = float((departing * flat).sum() / total)
    variance = float((departing * (flat - mean) ** 2).sum() / total)
    throughput = weight @ classes / weight.sum()
    arrived, signalled = _arrivals(stretch, weight, classes)
    offered = max(float(arrived.sum()), np.finfo(float).tiny)
    marks = stretch.ecn.to_numpy() == 1
    capacity = float(weight @ stretch.capacity.to_numpy() / weight.sum())
    numbers = {
        "delay_mean": (mean, "s", "mean delay of what leaves"),
        "delay_sd": (variance**0.5, "s", "standard deviation of the delay of what leaves"),
        **{
            quantile_name(level): (value, "s", f"{100 * level:g} % delay quantile")
            for level, value in zip(QUANTILES, _quantiles(flat, departing, QUANTILES), strict=True)
        },
        "utilization": (
            float(throughput.sum()) / capacity if capacity > 0.0 else 0.0,
            "1",
            "part of the capacity used",
        ),
        "drop_fraction": (float(signalled[~marks].sum()) / offered, "1", "part dropped"),
        "mark_fraction": (float(signalled[marks].sum()) / offered, "1", "part marked"),
        "jain": (
            _jain(throughput, stretch.flow_count.to_numpy()),
            "1",
            "Jain's index of fairness between flows, those of a class being equal",
        ),
    }
    variables = {name: Column((), *entry) for name, entry in numbers.items()}
    queues = ("band",) if "band" in stretch.dims else ()
    means = weight @ delay / weight.sum()
    variables["queue_delay_mean"] = Column(
        queues, means if queues else means[0], "s", "mean queue delay over time"
    )
    variables["throughput"] = Column(("flows",), throughput, "bit/s", "mean throughput")
    window = weight @ stretch.window.to_numpy() / weight.sum()
    variables["window_mean"] = Column(("flows",), window, "segments", "mean window of a flow")
    largest, changes = extremes(stretch, float(begin), float(end), binned=False)
    variables |= largest
    coords = label_coords(stretch, ("flows", "band")) | changes
    attrs = {"engine": dataset.attrs.get("engine", ""), "after": begin, "until": end}
    return make_dataset(variables, coords, attrs)


def _summarize_links(
    dataset: xr.Dataset, after: float | str, until: float | str | None
) -> xr.Dataset:
    """Return the statistics of each link, over the classes that cross it, and of all classes."""
    import xarray as xr

    summaries, single = [], json.loads(str(dataset.attrs.get(_SINGLE, "[]")))
    for name in dataset.link.to_numpy():
        mine = dataset.sel(link=name, drop=True)
        if str(name) in single:
            mine = mine.assign_coords(band_of=xr.zeros_like(mine.band_of))
        mine = mine.assign(throughput=mine.link_throughput, p=mine.link_p)
        mine = mine.isel(flows=mine.place > 0)
        summaries.append(summarize_trajectory(mine, after, until).drop_vars(_OF_CLASSES))
    alone = dataset.isel(link=0, drop=True)
    classes = summarize_trajectory(alone, after, until)[list(_OF_CLASSES)]
    links = xr.concat(
        [each.drop_dims("flows", errors="ignore") for each in summaries],
        dataset.link,
        coords="minimal",
        compat="override",
    )
    return links.merge(classes, combine_attrs="override")


def _arrivals(
    stretch: xr.Dataset, weight: FloatArray, leaving: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what arrives of each class and what of that is signalled (bit/s), in the mean.

    The fluid carries what it signals, but for thinned traffic, of which only 1 - p enters. What
    that was is ``offered`` if it is sent at a constant rate; of others the mean of p over the time
    in which they send is taken to be the part lost.
    """
    p, whole = stretch.p.to_numpy(), weight.sum()
    mean = weight @ leaving / whole
    signalled = weight @ (leaving * p) / whole
    if "thinned" not in stretch.coords or not stretch.thinned.any():
        return mean, signalled
    sending = weight[:, None] * (stretch.window.to_numpy() > 0.0)
    lost = (sending * p).sum(axis=0) / np.maximum(sending.sum(axis=0), np.finfo(float).tiny)
    kept = np.maximum(1.0 - lost, np.finfo(float).eps)
    thinned = stretch.thinned.to_numpy() == 1
    arrived = np.where(thinned, mean / kept, mean)
    signalled = np.where(thinned, arrived * lost, signalled)
    if "offered" not in stretch:
        return arrived, signalled
    offered = stretch.offered.to_numpy()
    sent = weight @ offered / whole
    constant = sent > 0.0
    dropped = weight @ (offered * p) / whole
    return np.where(constant, sent, arrived), np.where(constant, dropped, signalled)


def _bands_of(dataset: xr.Dataset) -> IntArray:
    """Return the band of each class, as a number."""
    if "band" not in dataset.dims:
        return np.zeros(dataset.sizes["flows"], dtype=int)
    result: IntArray = dataset.band_of.to_numpy()
    return result


def _time_weights(time: FloatArray) -> FloatArray:
    """Return the weights of the trapezoidal rule."""
    steps = np.diff(time)
    weights = np.zeros(len(time))
    weights[:-1] += 0.5 * steps
    weights[1:] += 0.5 * steps
    return weights


def _quantiles(values: FloatArray, weights: FloatArray, levels: tuple[float, ...]) -> list[float]:
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    if below[-1] <= 0.0:
        return [float(values[order[-1]])] * len(levels)
    places = np.searchsorted(below, np.array(levels) * below[-1])
    return [float(values[order[min(place, len(order) - 1)]]) for place in places]


def _jain(rates: FloatArray, counts: FloatArray) -> float:
    square = float((rates**2 / counts).sum())
    return float(rates.sum()) ** 2 / (float(counts.sum()) * square) if square > 0.0 else 1.0
