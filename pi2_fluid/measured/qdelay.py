"""Waiting times of each packet, as the testbed of the L4S team writes them.

A patched queue discipline writes into the identification field of IP how long a packet waited, in
steps of 32 us from 1 ms on; a program at the receiver keeps ``ts-us``, ``delay-us`` and ``drop``.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement, Quantity
from pi2_fluid.measured.fields import entries, number, part
from pi2_fluid.measured.source import Source

_US: Final = 1e-6
_DROPS: Final = Quantity("band", "1", "packets dropped since the one before")
#: Times above this (s) count from 1970.
_UNIX: Final = 1e9


def recognises(source: Source) -> bool:
    """Say whether a source has packets with ``delay-us``, or none at all."""
    if source.json is None:
        return source.head.lstrip().startswith("{") and '"delay-us"' in source.head
    results = part(source.json).get("results")
    return isinstance(results, list) and all("delay-us" in row for row in entries(results[:1]))


def measurement(source: Source) -> Measurement:
    """Return the waiting time of each packet, and what was dropped since the one before.

    Raises
    ------
    QuantityError
        If it is no JSON that was written to its end, or no packet passed: most of these files of
        the testbed are of flows that sent none.
    """
    if source.json is None:
        raise source.cut("and is no whole JSON")
    rows = list(entries(part(source.json).get("results")))
    if not rows:
        raise QuantityError(
            f"{source.said} has no packets: the testbed writes an empty list where none passed."
        )
    times = _US * np.array([number(row.get("ts-us")) for row in rows])
    delays = _US * np.array([number(row.get("delay-us")) for row in rows])
    drops = np.array([number(row.get("drop", 0)) for row in rows])
    if not (np.isfinite(times) & np.isfinite(delays)).any():
        raise QuantityError(
            f"{source.said} has no packet with ts-us and delay-us: give what the testbed wrote."
        )
    unix = bool(np.nanmin(times) > _UNIX)
    read = Measurement("qdelay", tool="L4S testbed", clock="unix" if unix else "relative")
    read.add("queue_delay", "queue", times, delays)
    read.add("drops", "queue", times, drops, quantity=_DROPS)
    return read
