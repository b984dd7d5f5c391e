"""What a queue sees of its link and of itself."""

from __future__ import annotations

from typing import Any, NamedTuple

from pi2_fluid.ops import Number


class Seen(NamedTuple):
    """What a queue sees when its controller updates.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> queue = pf.Pi2(alpha=0.3, beta=3.0)
    >>> seen = pf.Seen(queue_delay=0.03, queue=30.0, arrival_rate=1e3, capacity=1e3)
    >>> p_prime, before = queue.update((0.1, 0.025), seen, 0.032)
    >>> print(f"{p_prime:.3f}, {before:.3f} s")
    0.118, 0.030 s
    """

    queue_delay: Any
    """Queueing delay in seconds, a number; with two bands a tuple of them (Classic, L4S)."""
    queue: Number
    """Backlog in packets."""
    arrival_rate: Number
    """Packets per second arriving."""
    capacity: Number
    """Packets per second the link serves."""
    overflow: Number = 0.0
    """Packets per second lost because the buffer is full."""
