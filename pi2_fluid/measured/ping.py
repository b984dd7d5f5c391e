"""What ping prints: a round trip a line.

Source: iputils, ping (lines of ``ping -D``); the manual ping(8).
"""

from __future__ import annotations

import math
import re
from typing import Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement
from pi2_fluid.measured.source import Source

__all__ = ["measurement", "recognises"]

_REPLY: Final = re.compile(
    r"^(?:\[(?P<unix>\d+(?:\.\d+)?)\]\s+)?\d+ bytes from .*?"
    r"(?:icmp_seq|seq)=(?P<seq>\d+).*?time[=<](?P<ms>[\d.]+)\s*ms"
)


def recognises(source: Source) -> bool:
    """Say whether a source is what ping printed."""
    return any(_REPLY.match(line) for line in source.head.splitlines())


def measurement(source: Source) -> Measurement:
    """Return the round trips.

    Raises
    ------
    QuantityError
        If there is no reply in it.
    """
    times: list[float] = []
    delays: list[float] = []
    for line in source.lines():
        reply = _REPLY.match(line)
        if reply:
            times.append(float(reply["unix"]) if reply["unix"] else math.nan)
            delays.append(1e-3 * float(reply["ms"]))
    if not delays:
        raise QuantityError(f"{source.said} has no reply of ping: give what it printed.")
    read = Measurement("ping", tool="ping", clock="unix")
    read.add("delay", "ping", times, delays)
    return read
