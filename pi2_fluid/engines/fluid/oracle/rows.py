"""The rows of a trajectory of the Python engine, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.engines.fluid.oracle.instants import Row
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.trace import Trace, by_band

if TYPE_CHECKING:
    pass


def trace_rows(plant: Plant, rows: Sequence[Row]) -> Trace:
    """Gather the rows of the Python engine."""
    n, links, classes = len(rows), len(plant.nodes), range(len(plant.senders))
    link_p, leaving = np.zeros((n, links, len(classes))), np.zeros((n, links, len(classes)))
    for number, stream in enumerate(plant.streams):
        link, owner = stream.link, stream.owner
        leaving[:, link, owner] = [row.leaving[number] for row in rows]
        link_p[:, link, owner] = [plant.met_at(link, row.view, owner) for row in rows]
    last = [path.links[-1] for path in plant.paths]
    trace = Trace(
        time=np.array([row.t for row in rows]),
        queue=by_band(plant.layout.queues_of, np.array([row.y[: plant.bands] for row in rows])),
        queue_delay=by_band(plant.layout.queues_of, np.array([row.view.tau for row in rows])),
        controller=np.array(
            [[aqm.controller(tuple(row.y[where])) for aqm, where in plant.laws] for row in rows]
        ),
        p=np.array([[plant.met(row.view, row.mode, i) for i in classes] for row in rows]),
        window=np.array([[_window(plant, row, i) for i in classes] for row in rows]),
        leaving=leaving[:, last, list(classes)],
        capacity=np.array([row.mode.capacity for row in rows]),
        link_p=link_p,
        link_leaving=leaving,
    )
    if links > 1:
        return trace
    # Of one link as every engine returns it.
    return trace._replace(
        queue=trace.queue.reshape(n, -1),
        queue_delay=trace.queue_delay.reshape(n, -1),
        controller=trace.controller[:, 0],
        capacity=trace.capacity[:, 0],
        link_p=None,
        link_leaving=None,
    )


def _window(plant: Plant, row: Row, i: int) -> float:
    """Return the window of a class: without one, what it sends in a round trip, dropped or not."""
    if plant.answering(i):
        return plant.window(row.t, row.y, row.mode, i)
    if plant.listens[i]:
        return row.y[plant.windows[i].start]
    if plant.count(row.t, row.mode, i) <= 0.0:
        return 0.0
    rtt = row.view.rtt[i]
    return float(plant.senders[i].sending_rate(plant.x(row.y, i), rtt)) * rtt
