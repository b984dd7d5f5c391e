"""Traces of mahimahi: capacity over time, as opportunities to send a packet."""

from __future__ import annotations

from typing import Final

import numpy as np

from pi2_fluid.errors import QuantityError, ScenarioError
from pi2_fluid.measured.dataset import Measurement
from pi2_fluid.measured.source import Source
from pi2_fluid.network.capacity_trace import of_opportunities

#: Opportunities are counted over steps of this length (s).
_STEP: Final = 0.1
#: Longer numbers are no milliseconds of a trace: it would last more than a day.
_DIGITS: Final = 8


def recognises(source: Source) -> bool:
    """Say whether every line is a whole number that does not fall."""
    lines = source.head.split("\n")[:-1] or [source.head]  # the last may be cut
    found = [line.strip() for line in lines if line.strip()]
    if not found or not all(line.isascii() and line.isdecimal() for line in found):
        return False
    times = [int(line) for line in found if len(line) <= _DIGITS]
    return len(times) == len(found) and times == sorted(times)


def measurement(source: Source) -> Measurement:
    """Return the capacity, over steps of 100 ms; gaps are outages, with a capacity of 0.

    Raises
    ------
    QuantityError
        If a line is no millisecond, or before the line above; or if the file counts packets of
        each second, as those do whose names end in ``.pps``.
    """
    if source.name.endswith(".pps"):
        raise QuantityError(
            f"{source.said} has packets of each second, by its name, and mahimahi's traces have"
            " milliseconds: write times and rates as CSV."
        )
    lines = [(count, line.strip()[: _DIGITS + 1]) for count, line in enumerate(source.lines(), 1)]
    kept = [(count, line) for count, line in lines if line and not line.startswith("#")]
    if any(len(line) > _DIGITS for _, line in kept):
        raise QuantityError(f"{source.said} has numbers too long for milliseconds: correct them.")
    if not kept:
        raise QuantityError(f"{source.said} has no line with milliseconds: give a trace.")
    try:
        trace = of_opportunities(kept, source.said, _STEP)
    except ScenarioError as error:
        raise QuantityError(str(error)) from error
    read = Measurement("mahimahi", tool="mahimahi", clock="relative")
    read.add("capacity", "link", np.asarray(trace.times), np.asarray(trace.capacities))
    if trace.period is not None:
        read.about["duration"] = float(trace.period)
        read.warn(
            f"mahimahi begins a trace anew at its end: this one does so every {trace.period:g} s."
        )
    return read
