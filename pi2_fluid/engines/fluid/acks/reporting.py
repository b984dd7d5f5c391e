"""What a trajectory by acknowledgements reports, between the nodes of its grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.engines.fluid.acks.integration import Fifo, Integrator
from pi2_fluid.engines.fluid.acks.streams import Stream
from pi2_fluid.engines.fluid.trace import Trace

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

    def rate(counts: Sequence[float]) -> FloatArray:
        passed = np.array(counts)
        found: FloatArray = (passed[ends] - passed[ends - 1]) / widths
        return found

    def leaving(stream: Stream, line: Fifo) -> FloatArray:
        if line.lost == 0.0:
            return rate(stream.left)
        # What found no room counts as acknowledged with the rest, but has not left by the link.
        whole = np.sum([rate(each.left) for each in line.streams], axis=0)
        return rate(stream.left) * rate(line.served) / np.where(whole > 0.0, whole, 1.0)

    return Trace(
        time=samples,
        queue=between(column("queue")),
        queue_delay=between(column("queue_delay")),
        controller=column("controller")[held],
        p=column("p")[held],
        window=np.stack([sampled_window(stream, times, samples) for stream in run.streams], axis=1),
        leaving=np.stack(
            [
                leaving(stream, run.lines[k])
                for stream, k in zip(run.streams, run.band, strict=True)
            ],
            axis=1,
        ),
        capacity=column("capacity")[held],
    )


def sampled_window(stream: Stream, times: FloatArray, samples: FloatArray) -> FloatArray:
    """Return the window; of a class without, what it sends in one round trip of the path."""
    if stream.window is None:
        begun = [stream.begun(t) * (stream.start <= t < stream.stop) for t in samples.tolist()]
        return stream.rate * stream.path * np.array(begun)
    sizes: FloatArray = np.interp(samples, times, np.array(stream.sizes))
    return sizes
