"""The rows of a trajectory of the Python engine, as arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pi2_fluid.engines.fluid.oracle.instants import Row
from pi2_fluid.engines.fluid.oracle.plant import Plant
from pi2_fluid.engines.fluid.trace import Rows, Trace, trace_of


def trace_rows(plant: Plant, rows: Sequence[Row]) -> Trace:
    """Gather the rows of the Python engine."""
    classes = range(len(plant.senders))
    found = Rows(
        queue=np.array([row.y[: plant.bands] for row in rows]),
        queue_delay=np.array([row.view.tau for row in rows]),
        controller=np.array(
            [[aqm.controller(tuple(row.y[where])) for aqm, where in plant.laws] for row in rows]
        ),
        capacity=np.array([row.mode.capacity for row in rows]),
        window=np.array([[_window(plant, row, i) for i in classes] for row in rows]),
        p=np.array(
            [[plant.met_at(s.link, row.view, s.owner) for s in plant.streams] for row in rows]
        ),
        leaving=np.array([row.leaving for row in rows]),
    )
    return trace_of(plant.scenario, np.array([row.t for row in rows]), found)


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
