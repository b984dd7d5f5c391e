"""Results as `xarray.Dataset`s: named dims, units on everything, provenance, and summaries."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr

from pi2_fluid.errors import QuantityError
from pi2_fluid.model.scenario import Scenario
from pi2_fluid.units import validate_quantity

__all__ = ["BANDS", "Column", "make_dataset", "summarize", "trajectory_dataset"]

#: Labels of the two queues of a dual queue.
BANDS: Final = ("C", "L")
_QUANTILES: Final = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


class Column(NamedTuple):
    """One variable or coordinate: its dims, values, units and long name."""

    dims: tuple[str, ...]
    values: Any
    units: str
    long_name: str


def make_dataset(
    variables: Mapping[str, Column], coords: Mapping[str, Column], attrs: Mapping[str, str | float]
) -> xr.Dataset:
    """Build a Dataset whose every variable and coordinate has ``units`` and ``long_name``.

    Parameters
    ----------
    variables, coords : mapping of name to Column
        SI units.
    attrs : mapping
        Provenance: text and numbers only, so that netCDF and Zarr keep them. The package version
        and the time of creation are added.
    """

    def entry(column: Column) -> Any:
        values = np.asarray(column.values)
        if values.dtype.kind == "U":
            values = values.astype(object)
        return (column.dims, values, {"units": column.units, "long_name": column.long_name})

    return xr.Dataset(
        {name: entry(column) for name, column in variables.items()},
        {name: entry(column) for name, column in coords.items()},
        {
            **attrs,
            "package_version": _version(),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )


@cache
def _version() -> str:
    return version("pi2-fluid")


def trajectory_dataset(
    trace: Any, scenario: Scenario, attrs: Mapping[str, str | float]
) -> xr.Dataset:
    """Build the Dataset of one trajectory from an engine's samples.

    Parameters
    ----------
    trace : Trace
        Arrays in packets and seconds: time, queue, queue_delay, controller, p, window, leaving,
        capacity.
    scenario : Scenario
        What was simulated.
    attrs : mapping
        Provenance.
    """
    bits = 8.0 * float(scenario.link.packet_size)
    dual = scenario.aqm.bands == 2
    queues = ("time", "band") if dual else ("time",)
    per_class = ("time", "flows")
    classic = np.array([flow.sender.signal == "classic" for flow in scenario.flows])
    marked = [int(_is_marked(scenario, index)) for index in range(len(scenario.flows))]

    def band(values: Any) -> Any:
        return values if dual else values[:, 0]

    variables = {
        "queue_delay": Column(queues, band(trace.queue_delay), "s", "queueing delay"),
        "queue": Column(queues, band(trace.queue), "packets", "backlog"),
        "controller": Column(("time",), trace.controller, "1", "the controller's own variable"),
        "p": Column(per_class, trace.p, "1", "probability that a packet is signalled"),
        "p_prime": Column(
            per_class,
            np.where(classic, np.sqrt(np.maximum(trace.p, 0.0)), trace.p),
            "1",
            "linear form of the signal probability",
        ),
        "window": Column(per_class, trace.window, "segments", "window of one flow"),
        "throughput": Column(
            per_class, bits * trace.leaving, "bit/s", "rate at which the class leaves the link"
        ),
        "capacity": Column(("time",), bits * trace.capacity, "bit/s", "capacity of the link"),
    }
    coords = {
        "time": Column(("time",), trace.time, "s", "time"),
        "flows": Column(("flows",), np.array(scenario.class_names), "1", "class of flows"),
        "flow_count": Column(
            ("flows",), [float(flow.count) for flow in scenario.flows], "1", "flows of the class"
        ),
        "ecn": Column(("flows",), np.array(marked), "1", "1 if packets are marked, not dropped"),
    }
    if dual:
        bands = np.array([int(flow.sender.signal == "scalable") for flow in scenario.flows])
        coords["band_of"] = Column(("flows",), bands, "1", "which queue the class goes through")
        coords["band"] = Column(("band",), np.array(BANDS), "1", "queue of the dual queue")
    return make_dataset(variables, coords, attrs)


def _is_marked(scenario: Scenario, index: int) -> bool:
    flow = scenario.flows[index]
    if flow.ecn is not None:
        return flow.ecn
    return flow.sender.signal == "scalable"


def summarize(
    dataset: xr.Dataset, after: float | str = "0s", until: float | str | None = None
) -> xr.Dataset:
    """Return the statistics of a trajectory over a stretch of time.

    Parameters
    ----------
    dataset : xarray.Dataset
        A trajectory, as `fluid.simulate` returns it.
    after, until : float or str
        The stretch (s); `until` None is the end.

    Returns
    -------
    xarray.Dataset
        ``delay_mean``, ``delay_sd`` and ``delay_p01`` ... ``delay_p99``: the delay that what leaves
        has met (s), weighted by departures; ``queue_delay_mean`` over time; ``utilization`` of the
        link; ``drop_fraction`` and ``mark_fraction`` of what arrives; per class ``throughput``
        (bit/s) and ``window_mean``; ``jain``, the index of fairness between all flows.

    Raises
    ------
    QuantityError
        If fewer than two samples lie in the stretch.
    """
    begin = validate_quantity(after, "time", "after", closed=True)
    end = float(dataset.time[-1]) if until is None else validate_quantity(until, "time", "until")
    part = dataset.sel(time=slice(begin, end))
    if part.sizes["time"] < 2:
        raise QuantityError(
            f"after = {begin:g} s and until = {end:g} s leave {part.sizes['time']} samples of a"
            f" trajectory that ends at {float(dataset.time[-1]):g} s: give a longer stretch."
        )
    weight = _time_weights(part.time.to_numpy())
    delay = part.queue_delay.to_numpy().reshape(len(weight), -1)
    classes = part.throughput.to_numpy()
    bands = _bands_of(part)
    served = np.stack([classes[:, bands == k].sum(axis=1) for k in range(delay.shape[1])], axis=1)
    departing = (weight[:, None] * served).ravel()
    flat = delay.ravel()
    total = max(float(departing.sum()), np.finfo(float).tiny)
    mean = float((departing * flat).sum() / total)
    variance = float((departing * (flat - mean) ** 2).sum() / total)
    throughput = weight @ classes / weight.sum()
    signalled = weight @ (classes * part.p.to_numpy()) / weight.sum()
    carried = max(float(throughput.sum()), np.finfo(float).tiny)
    marks = part.ecn.to_numpy() == 1
    capacity = float(weight @ part.capacity.to_numpy() / weight.sum())
    numbers = {
        "delay_mean": (mean, "s", "mean delay of what leaves"),
        "delay_sd": (variance**0.5, "s", "standard deviation of the delay of what leaves"),
        **{
            f"delay_p{round(100 * level):02d}": (value, "s", f"{100 * level:g} % delay quantile")
            for level, value in zip(
                _QUANTILES, _quantiles(flat, departing, _QUANTILES), strict=True
            )
        },
        "utilization": (float(throughput.sum()) / capacity, "1", "part of the capacity used"),
        "drop_fraction": (float(signalled[~marks].sum()) / carried, "1", "part dropped"),
        "mark_fraction": (float(signalled[marks].sum()) / carried, "1", "part marked"),
        "jain": (
            _jain(throughput, part.flow_count.to_numpy()),
            "1",
            "Jain's index of fairness between flows, those of a class being equal",
        ),
    }
    variables = {name: Column((), *entry) for name, entry in numbers.items()}
    queues = ("band",) if "band" in part.dims else ()
    means = weight @ delay / weight.sum()
    variables["queue_delay_mean"] = Column(
        queues, means if queues else means[0], "s", "mean queue delay over time"
    )
    variables["throughput"] = Column(("flows",), throughput, "bit/s", "mean throughput")
    window = weight @ part.window.to_numpy() / weight.sum()
    variables["window_mean"] = Column(("flows",), window, "segments", "mean window of a flow")
    coords = {
        name: Column(
            tuple(map(str, part[name].dims)), part[name].to_numpy(), "1", part[name].long_name
        )
        for name in ("flows", "band")
        if name in part.coords
    }
    attrs = {"engine": dataset.attrs.get("engine", ""), "after": begin, "until": end}
    return make_dataset(variables, coords, attrs)


def _bands_of(dataset: xr.Dataset) -> Any:
    """Return the band of each class, as a number."""
    if "band" not in dataset.dims:
        return np.zeros(dataset.sizes["flows"], dtype=int)
    return dataset.band_of.to_numpy()


def _time_weights(time: Any) -> Any:
    """Return the weights of the trapezoidal rule."""
    steps = np.diff(time)
    weights = np.zeros(len(time))
    weights[:-1] += 0.5 * steps
    weights[1:] += 0.5 * steps
    return weights


def _quantiles(values: Any, weights: Any, levels: tuple[float, ...]) -> list[float]:
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    if below[-1] <= 0.0:
        return [float(values[order[-1]])] * len(levels)
    places = np.searchsorted(below, np.array(levels) * below[-1])
    return [float(values[order[min(place, len(order) - 1)]]) for place in places]


def _jain(rates: Any, counts: Any) -> float:
    square = float((rates**2 / counts).sum())
    return float(rates.sum()) ** 2 / (float(counts.sum()) * square) if square > 0.0 else 1.0
