"""The times that stand in logs: alone on a line, before each line, in the header of `watch`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_CLOCK: Final = r"[0-2]?[0-9]:[0-5][0-9]:[0-6][0-9](?:[.,][0-9]+)?"
_ZONE: Final = r"(?:Z|[+-][0-9]{2}:?[0-9]{2}|[A-Z]{2,5})"
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DAY: Final = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?"
_EPOCH: Final = r"[0-9]{9,10}(?:[.,][0-9]+)?|[0-9]{13}|[0-9]{16}|[0-9]{19}"
_WRITTEN: Final = (
    rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T_ ]{_CLOCK}(?:[ ]?{_ZONE})?"
    rf"|(?:{_DAY}\s+)?(?:{_MONTH}\s+[0-9]{{1,2}}|[0-9]{{1,2}}\.?\s+{_MONTH})(?:,?\s+[0-9]{{4}})?"
    rf",?\s+{_CLOCK}(?:\s[AP]M)?(?:\s{_ZONE})?(?:\s[0-9]{{4}})?"
    rf"|{_CLOCK}"
)
_LABEL: Final = r"(?:(?i:time|date|timestamp|epoch|uptime|at|now)(?:\s*[:=])?\s+)?"
_LEADING: Final = re.compile(
    rf"\s*(?:[=#*-]+\s+)?{_LABEL}[\[(]?(?P<time>{_EPOCH}|{_WRITTEN})[\])]?[,;:]?"
    r"(?:\s+[=#*-]+\s*$|\s+|$)"
)
_WATCH: Final = re.compile(
    rf"\s*Every [0-9.,]+s?: (?P<command>.*?)\s+(?P<host>[\w.-]+): (?P<time>{_WRITTEN})\s*$"
)
#: What an integer of so many digits counts: parts of a second.
_PARTS: Final = {13: 1e3, 16: 1e6, 19: 1e9}
_KEYS: Final = ("time", "timestamp", "ts", "date", "epoch", "t", "@timestamp")
_HALF: Final = 12  # hours


def leading_time(line: str) -> tuple[float, str] | None:
    """Return the time at the beginning of a line (s), and what follows it; None without one.

    Examples
    --------
    >>> leading_time("Time: 1764270000.25")
    (1764270000.25, '')
    >>> leading_time("Time: 1764270000.5"), leading_time("1764270000500 qdisc pie 1: root")
    ((1764270000.5, ''), (1764270000.5, 'qdisc pie 1: root'))
    >>> leading_time("Thu Nov 27 19:00:00 UTC 2025"), leading_time("[2025-11-27T19:00:00+01:00] x")
    ((1764270000.0, ''), (1764266400.0, 'x'))
    """
    match = _LEADING.match(line)
    return None if match is None else (as_time(match["time"]), line[match.end() :])


def of_watch(line: str) -> tuple[str, float] | None:
    """Return the command and the time in a header of `watch`; None if it is none.

    Examples
    --------
    >>> of_watch("Every 1.0s: tc -s q      host: Thu Nov 27 19:00:00 2025")
    ('tc -s q', 1764270000.0)
    """
    match = _WATCH.match(line)
    return None if match is None else (match["command"], as_time(match["time"]))


def time_in(entry: dict[str, object]) -> float | None:
    """Return the time that an object of JSON has beside others; None without one."""
    for key in _KEYS:
        if key not in entry:
            continue
        value = entry[key]
        text = f"{value:.6f}" if isinstance(value, float) else str(value)
        if (found := leading_time(text)) is not None and not found[1]:
            return found[0]
    return None


def as_time(text: str) -> float:
    """Return a time (s): since 1970 of what has a date, else since midnight.

    A date without a year is of 1972, and one without a zone of UTC: differences are true.
    """
    if re.fullmatch(_EPOCH, text):
        parts = _PARTS.get(len(text), 1.0) if text.isdecimal() else 1.0
        return float(text.replace(",", ".")) / parts
    clock = re.search(_CLOCK, text)
    assert clock is not None
    hours, minutes, seconds = clock[0].replace(",", ".").split(":")
    hour = int(hours)
    if half := re.search(r"\s([AP])M", text):
        hour = hour % _HALF + _HALF * (half[1] == "P")
    of_day = 3600.0 * hour + 60.0 * int(minutes) + float(seconds)
    day = _day_of(text.replace(clock[0], " "))
    if day is None:
        return of_day
    return (day + timedelta(seconds=of_day)).timestamp()


def _day_of(text: str) -> datetime | None:
    zone = re.search(r"([+-])([0-9]{2}):?([0-9]{2})\s*(?:[0-9]{4})?$", text)
    offset: timezone = UTC
    if zone and not re.search(r"[0-9]-[0-9]{2}-[0-9]{2}$", text.strip()):
        sign = -1 if zone[1] == "-" else 1
        offset = timezone(sign * timedelta(hours=int(zone[2]), minutes=int(zone[3])))
    try:
        if iso := re.search(r"([0-9]{4})-([0-9]{2})-([0-9]{2})", text):
            return datetime(int(iso[1]), int(iso[2]), int(iso[3]), tzinfo=offset)
        month = re.search(_MONTH, text)
        if month is None:
            return None
        number = 1 + _MONTHS.index(month[0][:3].lower())
        day = re.search(r"\b([0-9]{1,2})\b", text)
        year = re.search(r"\b([0-9]{4})\b", text)
        return datetime(
            int(year[1]) if year else 1972, number, int(day[1]) if day else 1, tzinfo=offset
        )
    except ValueError:  # the 30th of February, and its like
        return None
