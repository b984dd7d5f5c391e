"""What irtt writes as JSON: round trips and one-way delays of small UDP packets.

Source: irtt, manual irtt-client(1), section "JSON format"; files of irtt 0.9.0.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Clock, Measurement, rises
from pi2_fluid.measured.fields import entries, number, part, text_of
from pi2_fluid.measured.source import Source

_NS: Final = 1e-9
#: Which delay of irtt is which variable.
_DELAYS: Final = {"rtt": "delay", "send": "delay_up", "receive": "delay_down"}


def recognises(source: Source) -> bool:
    """Say whether a source is what ``irtt client -o`` wrote."""
    if source.json is None:
        head = source.head.lstrip()
        return head.startswith("{") and ('"round_trips"' in head or '"irtt"' in head)
    return "round_trips" in part(source.json)


def measurement(source: Source) -> Measurement:
    """Return the round trips of a probe, and the one-way delays above their least.

    The time is when the client sent the packet. ``delay`` is without the time that the server
    took. One-way delays have the offset of two clocks in them: only their rise says something.

    Raises
    ------
    QuantityError
        If it is no JSON that was written to its end, or has no round trip.
    """
    if source.json is None:
        raise source.cut("and is no whole JSON")
    rows = list(entries(part(source.json).get("round_trips")))
    sent = [part(row, "timestamps", "client", "send") for row in rows]
    clock, times = _times(sent)
    if not np.isfinite(times).any():
        raise QuantityError(
            f"{source.said} has no round trip of irtt that says when it was sent: give what"
            " `irtt client -o` wrote."
        )
    tool = text_of(part(source.json, "version").get("irtt"))
    read = Measurement("irtt", tool=f"irtt {tool}".strip(), clock=clock)
    lost = np.array([row.get("lost") not in ("false", False) for row in rows])
    delays = [part(row, "delay") for row in rows]
    for name, variable in _DELAYS.items():
        values = _NS * np.array([number(delay.get(name)) for delay in delays])
        if np.isfinite(values).any() or name == "rtt":
            values[lost] = math.nan
            known = np.isfinite(values) | lost
            if not known.all():
                read.warn(f"{np.count_nonzero(~known)} round trips have no {name} delay: left out.")
            read.add(
                variable,
                "irtt",
                times[known],
                values[known] if name == "rtt" else rises(values[known]),
            )
    _say(read, part(source.json))
    if "delay_up" in read.variables:
        read.warn(
            "one-way delays of irtt have the offset of two clocks in them: they are given above"
            " their least."
        )
    return read


def _times(sent: list[dict[str, Any]]) -> tuple[Clock, np.ndarray]:
    """Return the clock and the times (s); nanoseconds since 1970 need more digits than floats."""
    for clock in ("wall", "monotonic"):
        stamps = [stamp.get(clock) for stamp in sent]
        if any(isinstance(stamp, int) for stamp in stamps):
            times = _NS * np.array([number(stamp) for stamp in stamps])
            return "unix" if clock == "wall" else "monotonic", times
    return "unix", np.full(len(sent), math.nan)


def _say(read: Measurement, file: dict[str, Any]) -> None:
    settings = part(file, "config", "params")
    for key, value in {
        "duration": _NS * number(settings.get("duration")),
        "probe_interval": _NS * number(settings.get("interval")),
        "probe_size": number(settings.get("length")),
    }.items():
        if math.isfinite(value):
            read.about[key] = value
