"""Two columns without a header, as programs for ns-3 write them: a time and a value.

The file does not say what the value is, or its unit. Its name does, by the words that programs of
the L4S evaluation use: ``dualpi2-bytes.dat``, ``l-sojourn.dat``, ``cubic-cwnd.dat``.
"""

from __future__ import annotations

import math
import re
from typing import Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement, Quantity
from pi2_fluid.measured.fields import number
from pi2_fluid.measured.source import Source

_BACKLOG: Final = Quantity("band", "B", "backlog of a queue")
#: Words of names: the variable, and what is taken off the name to have the label.
_WORDS: Final = {
    "bytes": "backlog",
    "sojourn": "queue_delay",
    "qdelay": "queue_delay",
    "cwnd": "window_bytes",
    "rtt": "tcp_rtt",
}
_SPLIT: Final = re.compile(r"[-_.\s]+")
#: Lines that show what a file is.
_SHOWN: Final = 20


def recognises(source: Source) -> bool:
    """Say whether a file is named by a known word and has two numbers a line."""
    lines = source.head.splitlines()[:_SHOWN]
    pairs = [line.split() for line in lines[: -1 if len(lines) > 1 else None] if line.strip()]
    return (
        _named(source) is not None
        and bool(pairs)
        and all(len(pair) == 2 and all(math.isfinite(number(x)) for x in pair) for pair in pairs)
    )


def _named(source: Source) -> tuple[str, str] | None:
    """Return the variable and the label that a file's name says."""
    words = [word for word in _SPLIT.split(source.name.lower()) if word]
    found = [word for word in words if word in _WORDS]
    if not found:
        return None
    rest = [word for word in words if word != found[0] and word not in {"dat", "txt", "gz", "tr"}]
    return _WORDS[found[0]], "-".join(rest) or "ns3"


def measurement(source: Source) -> Measurement:
    """Return the values (s or bytes), event by event.

    Raises
    ------
    QuantityError
        If the name does not say what they are, or no line has two numbers.
    """
    named = _named(source)
    if named is None:
        raise QuantityError(
            f"{source.said} has two columns, and its name says not of what: name it by one of"
            f" {', '.join(_WORDS)}, such as 'dualpi2-bytes.dat', or give a CSV file with a header."
        )
    times, values, odd = [], [], 0
    for line in source.lines():
        pair = [number(word) for word in line.split()]
        if len(pair) == 2 and all(map(math.isfinite, pair)):
            times.append(pair[0])
            values.append(pair[1])
        elif line.strip() and not line.startswith("#"):
            odd += 1
    if not times:
        raise QuantityError(f"{source.said} has no line with a time and a value: give its columns.")
    read = Measurement("ns3", tool="ns-3", clock="relative")
    variable, label = named
    read.add(variable, label, times, values, quantity=_BACKLOG)
    if odd:
        read.warn(f"{odd} lines are not a time and a value, and are left out.")
    if variable == "window_bytes":
        read.warn("ns-3 writes windows in bytes, and this file does not say of which segments.")
    return read
