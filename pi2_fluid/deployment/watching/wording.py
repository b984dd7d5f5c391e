"""Numbers of a tree in plain words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_DAY: Final = 86_400.0
_PREFIXES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def _scaled(value: float, unit: str) -> str:
    for size, prefix in _PREFIXES:
        if value >= 0.9995 * size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def rate_said(rate: float | None) -> str:
    """Return a rate (bit/s) in words; "" of None.

    Examples
    --------
    >>> rate_said(9.82e6), rate_said(0.0), rate_said(None)
    ('9.82 Mbit/s', '0 bit/s', '')
    """
    return "" if rate is None else _scaled(rate, "bit/s")


def size_said(size: float) -> str:
    """Return a size (bytes) in words.

    Examples
    --------
    >>> size_said(60560), size_said(90)
    ('60.6 kB', '90 B')
    """
    return _scaled(size, "B")


def waiting_said(packets: float | None, size: float | None) -> str:
    """Return what waits: how many packets, and their bytes.

    Examples
    --------
    >>> waiting_said(40, 60560), waiting_said(0, 0), waiting_said(1, None), waiting_said(None, 90)
    ('40 (60.6 kB)', '0', '1', '(90 B)')
    """
    said = [] if packets is None else [f"{packets:.0f}"]
    if size or (packets is None and size is not None):
        said.append(f"({size_said(size)})")
    return " ".join(said)


def time_said(time: float | None, output: int) -> str:
    """Return when something was: its clock, or which output where there are no times.

    Examples
    --------
    >>> time_said(1764270005.0, 6), time_said(72000.0, 6), time_said(None, 6)
    ('19:00:05 UTC', '20:00:00', 'output 6')
    """
    if time is None:
        return f"output {output}"
    clock = datetime.fromtimestamp(time, UTC).strftime("%H:%M:%S")
    return clock if time < 2.0 * _DAY else f"{clock} UTC"
