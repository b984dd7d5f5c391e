"""What a trajectory by acknowledgements reports, between the nodes of its grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.engines.fluid.acks.integration import Integrator
from pi2_fluid.engines.fluid.acks.passages import Passage
from pi2_fluid.engines.fluid.acks.sources import Source
from pi2_fluid.engines.fluid.trace import Rows, Trace, trace_of

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray


def trace_nodes(run: Integrator, samples: FloatArray) -> Trace:
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
        return np.stack([np.interp(samples, grid, line) for line in values.T], axis=1)

    def leaving(passage: Passage) -> FloatArray:
        counts = np.array(passage.out.real)
        found: FloatArray = (counts[ends] - counts[ends - 1]) / widths
        return found

    link_p = column("p")[held]
    visits = [(link, i) for i, way in enumerate(run.ways) for link in way.links]
    windows = [_sampled_window(source, times, samples) for source in run.sources]
    rows = Rows(
        queue=between(column("queue")),
        queue_delay=between(column("queue_delay")),
        controller=column("controller")[held],
        capacity=column("capacity")[held],
        window=np.stack(windows, axis=1),
        p=np.stack([link_p[:, link, i] for link, i in visits], axis=1),
        leaving=np.stack([leaving(each) for way in run.passages for each in way], axis=1),
    )
    return trace_of(run.scenario, samples, rows)


def _sampled_window(source: Source, times: FloatArray, samples: FloatArray) -> FloatArray:
    """Return the window; of a class without, what it sends in one round trip of the path."""
    if source.window is None:
        begun = [source.begun(t) * (source.start <= t < source.stop) for t in samples.tolist()]
        return source.rate * source.path * np.array(begun)
    sizes: FloatArray = np.interp(samples, times, np.array(source.sizes))
    return sizes
