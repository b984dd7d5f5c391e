"""What a probe, such as ping, would have met in a run: the queue at its instants."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.results.schema import schema_of

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.network.scenario import Scenario
    from pi2_fluid.values import FloatArray, IntArray

#: Of a ping on Ethernet.
PROBE_BITS: Final = 8.0 * 98.0
_AROUND: Final = 0.02  # s, within which a packet tells that the queue of a probe is not empty
_STEPS: Final = (1e-3, 1e-4, 1e-5, 1e-6)
_EXACT: Final = 1e-3  # of a step
_DECADES: Final = (0.0, 0.01, 0.1, math.inf)  # s, between which a tool prints as many decimals


def waits_at(
    run: xarray.Dataset, scenario: Scenario, instants: FloatArray
) -> tuple[FloatArray, bool]:
    """Return how long a small packet that is not L4S waits (s): array (seeds, instants).

    Also whether its queue has nobody else's packets, so that it waits for the link alone.

    Parameters
    ----------
    run : xarray.Dataset
        Of any engine, of one link.
    scenario : Scenario
        What was run.
    instants : array (n,)
        When it comes (s).

    Notes
    -----
    In one queue it waits as long as all that is in it. Of two it is in the Classic one. Where each
    flow has a queue, or the Classic one is empty, it waits for what is left of the packet in
    service, drawn evenly between nothing and a packet, as often as the link is busy.
    """
    alone = bool(scenario.aqm.queues_flows)
    rows = _index(run, instants)
    capacity = np.maximum(run["capacity"].to_numpy()[rows], 1.0)  # 0 in an outage
    slot = 8.0 * float(scenario.packet_size) / capacity
    seeds = run.sizes.get("seed", 1)
    wait = np.zeros((seeds, instants.size))
    if not alone:
        wait, alone = _shared(run, rows, float(slot.max()))
    busy = _by_seed(run["throughput"].sum("flows"))[:, rows] / capacity
    chance = np.random.default_rng(seeds)  # the same for whoever asks again
    residual = slot * chance.random(wait.shape) * (chance.random(wait.shape) < busy)
    # In a queue with others it waits for the packet in service with these.
    return np.where(wait > 0.0, wait, residual) + PROBE_BITS / capacity, alone


def _shared(run: xarray.Dataset, rows: IntArray, slot: float) -> tuple[FloatArray, bool]:
    """Return the wait in the queue that the probe shares with others, 0 while it is empty."""
    if "band" not in run.dims:
        return _by_seed(run["queue_delay"])[:, rows], False
    delay = _by_seed(run[schema_of(run).waited].isel(band=0))
    members = np.flatnonzero(run["band_of"].to_numpy() == 0)
    if not members.size:
        return np.zeros((delay.shape[0], rows.size)), True
    if "departures" not in run:
        return delay[:, rows], False
    left = _by_seed(run["departures"].isel(flows=members).sum("flows")) > 0
    step = float(np.median(np.diff(run["time"].to_numpy())))
    reach = max(1, round(max(_AROUND, 3.0 * slot) / step))
    near = np.array([np.convolve(row, np.ones(2 * reach + 1), "same") > 0.5 for row in left])
    return np.where(near, delay, 0.0)[:, rows], False


def _index(run: xarray.Dataset, instants: FloatArray) -> IntArray:
    """Return which row each instant is in."""
    time = run["time"].to_numpy()
    return np.clip(np.searchsorted(time, instants), 0, time.size - 1)


def _by_seed(values: xarray.DataArray) -> FloatArray:
    """Return an array (seeds, time)."""
    return np.atleast_2d(values.transpose(..., "time").to_numpy())


def resolution_of(delays: FloatArray) -> list[tuple[float, float, float]]:
    """Return in which steps a tool has printed delays: (from, to, step), all in s.

    Examples
    --------
    >>> resolution_of(np.array([0.00912, 0.0201, 0.0354, 0.112, 0.121]))
    [(0.0, 0.01, 1e-05), (0.01, 0.1, 0.0001), (0.1, inf, 0.001)]
    """
    found = []
    for low, high in pairwise(_DECADES):
        mine = delays[(delays >= low) & (delays < high)]
        fits = (
            step
            for step in _STEPS
            if mine.size and np.all(abs(mine / step - np.round(mine / step)) < _EXACT)
        )
        found.append((low, high, next(fits, 0.0)))
    return found


def as_printed(delays: FloatArray, steps: list[tuple[float, float, float]]) -> FloatArray:
    """Return delays (s) rounded as a tool would print them, see `resolution_of`.

    Examples
    --------
    >>> as_printed(np.array([0.02013, 0.1234]), [(0.0, 0.1, 1e-4), (0.1, np.inf, 1e-3)]).tolist()
    [0.0201, 0.123]
    """
    printed = np.array(delays, dtype=float)
    for low, high, step in steps:
        if step > 0.0:
            mine = (delays >= low) & (delays < high)
            printed[mine] = np.round(np.round(delays[mine] / step) * step, 9)
    return printed
