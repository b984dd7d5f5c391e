"""Whether a queue's buffer leaves its controller anything to do."""

from __future__ import annotations

from typing import Final

from pi2_fluid.tc.qdisc import Qdisc
from pi2_fluid.units import rate_in_words

_FRAME: Final = 1514  # bytes, of a full packet on Ethernet
_MEMORY: Final = 2 * _FRAME  # bytes that the kernel's own default counts for a packet
#: bit/s: what a buffer must hold the target on, if the link is not known.
_SLOWEST: Final = 10e6


def rate_held(qdisc: Qdisc) -> float:
    """Return the rate of the link (bit/s) above which the buffer is full below the target.

    The queue then drops at its tail, whatever its controller says. Packets count as full ones; the
    `memlimit` and `memory_limit` count two frames for each, as the kernel's defaults do.
    """
    return _packets(qdisc) * _FRAME * 8.0 / float(qdisc.aqm.target)


def too_small(qdisc: Qdisc, rate: float | None) -> str:
    """Return why a buffer is no controller's but drops at its tail, "" if it is large enough.

    Parameters
    ----------
    rate : float or None
        Of the link (bit/s). Without it, a buffer that is full below the target on every link faster
        than 10 Mbit/s is too small to vouch for.
    """
    held = rate_held(qdisc)
    if held >= (_SLOWEST if rate is None else rate):
        return ""
    count = _packets(qdisc)
    full = (
        f"its limit of {count:.0f} packet{'s' * (count >= 1.5)} is full below the target on links"
        f" above {rate_in_words(held, 3)}"
    )
    tail = "it then drops at the tail, whatever its controller says"
    if rate is None:
        return f"{full}, and {tail}: give the rate of the link, or the queue a larger limit."
    least = rate * float(qdisc.aqm.target) / (8.0 * _FRAME)
    return (
        f"{full}, this one has {rate_in_words(rate)}, and {tail}: give it a limit of {least:.0f} or"
        " more."
    )


def _packets(qdisc: Qdisc) -> float:
    if qdisc.asked.get("limit") is None:
        return float("inf")  # not shown
    memory = qdisc.asked.get("memlimit") or qdisc.asked.get("memory_limit")
    limit = float(qdisc.asked["limit"])
    return limit if memory is None else min(limit, float(memory) / _MEMORY)
