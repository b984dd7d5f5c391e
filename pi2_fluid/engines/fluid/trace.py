"""Trace: what an engine reports at each sample, as arrays, whichever engine it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pi2_fluid.engines.fluid.instants import Row
from pi2_fluid.engines.fluid.plant import Plant

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray


class Trace(NamedTuple):
    """Samples of a trajectory, in packets and seconds. n samples, m classes, b bands.

    Of a network of several links these take the place of bands, or stand before them if a queue is
    dual, with 0 for the L4S queue of one that is not; `controller` and `capacity` have the shape
    (n, links).
    """

    time: FloatArray
    """Seconds, shape (n,)."""
    queue: FloatArray
    """Packets, shape (n, b)."""
    queue_delay: FloatArray
    """Seconds, shape (n, b)."""
    controller: FloatArray
    """The controller's variable, shape (n,)."""
    p: FloatArray
    """Signal probability per class, shape (n, m)."""
    window: FloatArray
    """Segments of one flow, shape (n, m)."""
    leaving: FloatArray
    """Packets per second of each class that leave the last link of its route, shape (n, m)."""
    capacity: FloatArray
    """Packets per second, shape (n,)."""
    link_p: FloatArray | None = None
    """Of several links: signal probability of each, shape (n, links, m); 0 off the route."""
    link_leaving: FloatArray | None = None
    """Of several links: packets per second that leave each, shape (n, links, m)."""


def trace_rows(plant: Plant, rows: Sequence[Row]) -> Trace:
    """Gather the rows of the Python engine."""
    classes = range(len(plant.senders))
    return Trace(
        time=np.array([row.t for row in rows]),
        queue=np.array([row.y[: plant.bands] for row in rows]),
        queue_delay=np.array([row.view.tau for row in rows]),
        controller=np.array([plant.aqm.controller(tuple(row.y[plant.state])) for row in rows]),
        p=np.array([[plant.met(row.view, row.mode, i) for i in classes] for row in rows]),
        window=np.array([[window_of(plant, row, i) for i in classes] for row in rows]),
        leaving=np.array([row.leaving for row in rows]),
        capacity=np.array([row.mode.capacity[0] for row in rows]),
    )


def window_of(plant: Plant, row: Row, i: int) -> float:
    """Return the window of a class: without one, what it sends in a round trip, dropped or not."""
    if plant.listens[i]:
        return row.y[plant.windows[i].start]
    if plant.count(row.t, row.mode, i) <= 0.0:
        return 0.0
    rtt = row.view.rtt[i]
    return float(plant.senders[i].sending_rate(plant.x(row.y, i), rtt)) * rtt
