"""Rates in a title, and when a link went from one to another, by its throughput."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.evenly import flow_labels, sent_by
from pi2_fluid.network.changes import Change
from pi2_fluid.units import parse_quantity

if TYPE_CHECKING:
    import xarray as xr

    from pi2_fluid.values import BoolArray

_RATE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg])(?:bit|bps)", re.IGNORECASE)
_STEP: Final = 0.2  # s
_LASTS: Final = 5  # steps that a rate has to last
_LEFT: Final = 0.2  # of a rate, by which throughput is off where the rate is another
_REACHED: Final = 0.8  # of the first rate, from which on the link is taken to be full


def rates_in(title: str) -> list[float]:
    """Return the rates that a title has (bit/s), in its order, each once.

    Examples
    --------
    >>> rates_in("bandwidth:50Mbit bandwidth1:5mbit rtt:20ms")
    [50000000.0, 5000000.0]
    """
    found: dict[float, None] = {}
    for number, prefix in _RATE.findall(title):
        with contextlib.suppress(QuantityError):
            unit = {"k": "kbit/s", "m": "Mbit/s", "g": "Gbit/s"}[prefix.lower()]
            found[parse_quantity(f"{number}{unit}", "rate")] = None
    return list(found)


def changes_of(
    data: xr.Dataset, title: str, rate: float, goodput: float, zero: float
) -> list[Change]:
    """Return when the link had which of two rates in a title, in the time of the scenario.

    Parameters
    ----------
    data : xarray.Dataset
    title : str
        With exactly two rates, of which `rate` is one; else there are no changes.
    rate : float
        With which the link begins (bit/s).
    goodput : float
        Part of a packet that is data.
    zero : float
        When the scenario begins, in the time of the measurement (s).

    Examples
    --------
    >>> from pi2_fluid.measured.dataset import Measurement
    >>> measurement = Measurement("mine")
    >>> measurement.add("throughput", "a", np.arange(1.0, 21.0), [9e6] * 10 + [4e6] * 10)
    >>> [(change.at, change.capacity) for change in
    ...  changes_of(measurement.to_dataset(), "10Mbit 4Mbit", 10e6, 1.0, -1.0)]
    [(10.0, 4000000.0)]
    """
    rates = rates_in(title)
    if len(rates) != 2 or rate not in rates:
        return []
    sent = [sent_by(data, label) for label in flow_labels(data)]
    begin, end = min(one.start for one in sent), max(one.stop for one in sent)
    edges = np.arange(begin, end, _STEP)
    if edges.size < 2 * _LASTS:
        return []
    total = np.sum([one.rates(edges) for one in sent], axis=0) / goodput
    full = np.flatnonzero(total > _REACHED * rate)
    if not full.size:
        return []
    other = next(one for one in rates if one != rate)
    # Nearer to the other rate in the logarithm, as long as it lasts.
    ratio = np.log(np.maximum(total, 1.0) / rate) / np.log(other / rate)
    there = _lasting(ratio > 0.5)
    there[: full[0]] = False
    turns = np.flatnonzero(np.diff(there.astype(int)) != 0) + 1
    changes = []
    for turn in turns:
        old, new = (rate, other) if there[turn] else (other, rate)
        left = turn  # back to where the throughput left the old rate: senders take a while to rise
        while left > 0 and abs(total[left - 1] / old - 1.0) > _LEFT:
            left -= 1
        changes.append(Change(round(float(edges[left] - zero), 3), capacity=new))
    return changes


def _lasting(values: BoolArray) -> BoolArray:
    """Return booleans without stretches that are shorter than `_LASTS`: by a running majority."""
    width = 2 * _LASTS + 1
    padded = np.pad(values.astype(float), _LASTS, mode="edge")
    kept: BoolArray = np.convolve(padded, np.ones(width) / width, "valid") > 0.5
    return kept
