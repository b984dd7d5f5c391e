"""What a trajectory by acknowledgements over several links reports."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.engines.fluid.acks.reporting import sampled_window
from pi2_fluid.engines.fluid.acks.routes.integration import RoutesIntegrator
from pi2_fluid.engines.fluid.oracle.rows import by_band
from pi2_fluid.engines.fluid.trace import Trace

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray


def trace_links(run: RoutesIntegrator, samples: FloatArray) -> Trace:
    """Return the samples of a trajectory that has been followed to its end.

    What is held from node to node is that of the last one, what moves is linear between two.
    """
    times = np.array(run.times)
    grid = np.array([node.t for node in run.nodes])
    held = np.searchsorted(grid, samples + 1e-12, side="right") - 1
    ends = np.clip(np.searchsorted(times, samples - 1e-12), 1, len(times) - 1)
    widths = times[ends] - times[ends - 1]

    def column(name: str) -> FloatArray:
        return np.array([getattr(node, name) for node in run.nodes], dtype=float)

    def between(values: FloatArray) -> FloatArray:
        lines = np.stack([np.interp(samples, grid, line) for line in values.T], axis=1)
        return by_band(queues_of, lines)

    bands = [node.aqm.bands for node in run.network.nodes]
    firsts = np.cumsum([0, *bands])
    queues_of = [tuple(range(a, b)) for a, b in pairwise(firsts)]
    leaving = np.zeros((len(samples), len(run.links), len(run.sources)))
    for i, (way, passages) in enumerate(zip(run.ways, run.passages, strict=True)):
        for link, passage in zip(way.links, passages, strict=True):
            counts = np.array(passage.out.real)
            leaving[:, link, i] = (counts[ends] - counts[ends - 1]) / widths
    last = [way.links[-1] for way in run.ways]
    link_p = column("p")[held]
    if run.network.combine == "sum":
        p = np.minimum(1.0, link_p.sum(axis=1))
    else:
        p = 1.0 - np.prod(1.0 - link_p, axis=1)
    windows = [sampled_window(source, times, samples) for source in run.sources]
    return Trace(
        time=samples,
        queue=between(column("queue")),
        queue_delay=between(column("queue_delay")),
        controller=column("controller")[held],
        p=p,
        window=np.stack(windows, axis=1),
        leaving=leaving[:, last, range(len(last))],
        capacity=column("capacity")[held],
        link_p=link_p,
        link_leaving=leaving,
    )
