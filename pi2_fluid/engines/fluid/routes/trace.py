"""The rows of a trajectory over several links, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pi2_fluid.engines.fluid.instants import Row
from pi2_fluid.engines.fluid.routes.plant import RoutesPlant
from pi2_fluid.engines.fluid.trace import Trace, window_of

__all__ = ["trace_routes"]


def trace_routes(plant: RoutesPlant, rows: Sequence[Row]) -> Trace:
    """Gather the rows of the Python engine."""
    n, links, classes = len(rows), plant.bands, range(len(plant.senders))
    link_p, leaving = np.zeros((n, links, len(classes))), np.zeros((n, links, len(classes)))
    for stream, (owner, link, *_) in enumerate(plant.streams):
        leaving[:, link, owner] = [row.leaving[stream] for row in rows]
        link_p[:, link, owner] = [plant.met_at(link, row.view, owner) for row in rows]
    last = [path.links[-1] for path in plant.paths]
    trace = Trace(
        time=np.array([row.t for row in rows]),
        queue=np.array([row.y[:links] for row in rows]),
        queue_delay=np.array([row.view.tau for row in rows]),
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
        controller=trace.controller[:, 0],
        capacity=trace.capacity[:, 0],
        link_p=None,
        link_leaving=None,
    )


def _window(plant: RoutesPlant, row: Row, i: int) -> float:
    if plant.answering(i):
        return plant.window(row.t, row.y, row.mode, i)
    return window_of(plant, row, i)
