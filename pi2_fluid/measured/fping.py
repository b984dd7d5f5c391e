"""What fping prints, with ``-D -l`` as Flent calls it, or ``-c``: a probe a line.

Source: the manual fping(8), options -c, -C, -D, -l; lines as fping 5.1 prints them.
"""

from __future__ import annotations

import re
from typing import Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement
from pi2_fluid.measured.fields import number
from pi2_fluid.measured.probing import Probes, add_probes
from pi2_fluid.measured.source import Source

_LINE: Final = re.compile(
    r"^(?:\[(?P<unix>\d{1,12}(?:\.\d+)?)\]\s+)?(?P<target>[^\s\[]\S*)\s*:\s*"
    r"\[(?P<seq>\d{1,9})\],\s*"
    r"(?:\d+ bytes, (?P<ms>\d+(?:\.\d+)?) ms|(?P<lost>timed out))"
)


def recognises(source: Source) -> bool:
    """Say whether a source is what fping printed."""
    return any(map(_LINE.match, source.head.splitlines()))


def measurement(source: Source) -> Measurement:
    """Return the round trips, as ``delay`` of a probe for each target.

    Raises
    ------
    QuantityError
        If there is no line of fping in it.
    """
    runs: dict[str, list[Probes]] = {}
    for line in source.lines():
        found = _LINE.match(line)
        if found:
            probes = runs.setdefault(found["target"], [Probes()])[0]
            if found["lost"]:
                probes.miss(int(found["seq"]), number(found["unix"]))
            else:
                probes.answer(int(found["seq"]), number(found["unix"]), 1e-3 * float(found["ms"]))
                probes.coarse |= len(found["ms"]) > 2 and found["ms"].isdecimal()
    if not runs:
        raise QuantityError(f"{source.said} has no line of fping: give what it printed.")
    read = Measurement("fping", tool="fping")
    add_probes(read, runs, prefix="fping ")
    return read
