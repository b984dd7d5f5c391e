"""Trace: what an engine reports at each sample, as arrays, whichever engine it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
