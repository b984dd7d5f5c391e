"""What a measurement has of delays: round trips, the queue's own, and the time under load."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.measured.dataset import samples_of
from pi2_fluid.measured.evenly import flow_labels, sent_by

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import FloatArray

_FEWEST: Final = 3  # outputs, of which a rate can be told


def probe_of(data: xr.Dataset) -> tuple[FloatArray, FloatArray]:
    """Return times and round trips (s) of the probe with the most answers, while flows send."""
    best = np.empty(0), np.empty(0)
    for label in data["probe"].to_numpy() if "delay" in data else []:
        times, values = samples_of(data, "delay", str(label))
        there = np.isfinite(values) & np.isfinite(times)
        if there.sum() > best[0].size:
            best = times[there], values[there]
    return best


def loaded(data: xr.Dataset) -> tuple[float, float]:
    """Return from when to when some flow sends (s); all times if none is known."""
    sent = [sent_by(data, label) for label in flow_labels(data)]
    if not sent:
        return -np.inf, np.inf
    return min(one.start for one in sent), max(one.stop for one in sent)


def own_delays(data: xr.Dataset) -> tuple[FloatArray, FloatArray, str]:
    """Return times and delays (s) of the queue that was recorded, that of the busiest band.

    Where a queue shows no delay, it is its backlog over what it sends from one output to the next.
    """
    begin, end = loaded(data)
    best: tuple[FloatArray, FloatArray, str] = np.empty(0), np.empty(0), ""
    for label in map(str, data["band"].to_numpy() if "band" in data.dims else []):
        times, values = _delays(data, label)
        inside = (times >= begin) & (times <= end)
        times, values = times[inside], values[inside]
        if values.size and (not best[2] or values.mean() > best[1].mean()):
            best = times, values, label
    return best


def _delays(data: xr.Dataset, label: str) -> tuple[FloatArray, FloatArray]:
    if "queue_delay" in data:
        times, values = samples_of(data, "queue_delay", label)
        if values.size:
            return times, values
    dated = "time" not in json.loads(str(data.attrs["about"]))  # else it is a sample's number
    if not (dated and {"backlog", "bytes"} <= set(data.data_vars)):
        return np.empty(0), np.empty(0)
    times, left = samples_of(data, "bytes", label)
    when, waiting = samples_of(data, "backlog", label)
    if times.size < _FEWEST or not np.array_equal(times, when):
        return np.empty(0), np.empty(0)
    sent, took = np.diff(left), np.diff(times)
    sends = (sent > 0.0) & (took > 0.0)
    return times[1:][sends], waiting[1:][sends] * took[sends] / sent[sends]
