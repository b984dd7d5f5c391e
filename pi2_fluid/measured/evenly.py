"""Throughput of a measurement over time that is even: each sample belongs to the time before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi2_fluid.measured.dataset import samples_of

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import FloatArray


class Sent(NamedTuple):
    """What one flow has sent up to some instants."""

    times: FloatArray
    """Ends of the samples, the begin of the first before them (s)."""
    bits: FloatArray
    """Sent since the first of these times."""

    @property
    def start(self) -> float:
        """When it began to send (s)."""
        return float(self.times[0])

    @property
    def stop(self) -> float:
        """When it was last seen sending (s)."""
        return float(self.times[-1])

    def rate(self, begin: float, end: float) -> float:
        """Return its mean rate between two times (bit/s); it sends nothing where it is not seen."""
        low, high = np.interp([begin, end], self.times, self.bits)
        return float(high - low) / (end - begin)

    def rates(self, edges: FloatArray) -> FloatArray:
        """Return its mean rates (bit/s) between the edges (s) of a grid."""
        return np.diff(np.interp(edges, self.times, self.bits)) / np.diff(edges)


def flow_labels(data: xr.Dataset) -> list[str]:
    """Return the labels of the flows whose throughput a measurement has.

    Examples
    --------
    >>> from pi2_fluid.measured.dataset import Measurement
    >>> measurement = Measurement("mine")
    >>> measurement.add("throughput", "a", [1.0, 2.0], [1e6, 3e6])
    >>> measurement.add("tcp_rtt", "b", [1.0], [0.02])
    >>> flow_labels(measurement.to_dataset())
    ['a']
    """
    if "throughput" not in data:
        return []
    labels = [str(label) for label in data["flows"].to_numpy()]
    return [label for label in labels if samples_of(data, "throughput", label)[0].size]


def sent_by(data: xr.Dataset, label: str) -> Sent:
    """Return what a flow has sent over time, by the samples of its throughput.

    A sample is the mean since the one before it; the first is taken to be as long as most are.

    Examples
    --------
    >>> from pi2_fluid.measured.dataset import Measurement
    >>> measurement = Measurement("mine")
    >>> measurement.add("throughput", "a", [1.0, 2.0, 3.0], [1e6, 3e6, 3e6])
    >>> sent = sent_by(measurement.to_dataset(), "a")
    >>> sent.start, sent.stop, sent.rate(0.5, 1.5), sent.rates(np.array([-1.0, 1.0, 2.0])).tolist()
    (-1.0, 2.0, 3000000.0, [2000000.0, 3000000.0])
    """
    times, rates = samples_of(data, "throughput", label)
    usual = float(np.median(np.diff(times))) if times.size > 1 else 1.0
    edges = np.concatenate([[times[0] - usual], times])
    return Sent(edges, np.concatenate([[0.0], np.cumsum(rates * np.diff(edges))]))
