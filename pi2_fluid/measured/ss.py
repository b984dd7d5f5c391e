"""What ``ss -ti`` printed again and again: window, round-trip time and rates of each socket.

Source: iproute2 7.3, ss(8), misc/ss.c, the function tcp_stats_print.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement, Quantity
from pi2_fluid.measured.source import Source
from pi2_fluid.tc.observing.times import leading_time, of_watch

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray

_STATES: Final = (
    "ESTAB|SYN-SENT|SYN-RECV|FIN-WAIT-1|FIN-WAIT-2|TIME-WAIT|CLOSE-WAIT|LAST-ACK|CLOSING|CLOSED"
)
_SOCKET: Final = re.compile(
    rf"(?:tcp\s+|mptcp\s+)?(?:{_STATES})\s+\d+\s+\d+\s+(?P<local>\S+:\S+)\s+(?P<peer>\S+:\S+)"
    r"(?P<rest>.*)"
)
_INFO: Final = re.compile(r"\s*\S.*\b(?:cwnd|rtt|rto):\d")
_FLAGS: Final = frozenset(
    {"ts", "sack", "ecn", "ecnseen", "fastopen", "app_limited", "cwr", "inet-sockopt:"}
)
_RATE: Final = re.compile(r"([\d.]+)([KMGT]?)bps")
_PREFIXES: Final = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_MS: Final = 1e-3

#: Variables that only this format has.
_MORE: Final = {
    "pacing_rate": Quantity("flows", "bit/s", "rate at which the sender paces"),
    "tcp_rttvar": Quantity("flows", "s", "mean deviation of the round-trip time"),
}


class _Sample(NamedTuple):
    time: float | None
    pair: str
    sender: str
    values: dict[str, float]


def recognises(source: Source) -> bool:
    """Say whether a source is what ``ss -i`` printed of TCP."""
    lines = source.head.splitlines()
    return any(map(_SOCKET.search, lines)) and any(
        _INFO.match(line) and "cwnd:" in line for line in lines
    )


def measurement(source: Source) -> Measurement:
    """Return the samples of each socket.

    A flow is called by its two ends and its congestion control, if that is shown:
    "10.0.0.1:5201 > 10.0.0.2:40000 (cubic)". ``throughput`` (bit/s) and ``retransmissions`` are
    those since the sample before, of the counters ``bytes_acked`` and ``retrans``.

    Raises
    ------
    QuantityError
        If no socket of TCP is in it.
    """
    read = Measurement("ss", tool="ss")
    flows: dict[str, _Flow] = {}
    rounds = _Rounds()
    for sample in _samples(source):
        number = rounds.of(sample)
        label = f"{sample.pair} ({sample.sender})" if sample.sender else sample.pair
        flow = flows.setdefault(label, _Flow())
        if sample.sender:
            read.about.setdefault("senders", {})[label] = sample.sender
        flow.add(sample.time, number, sample.values)
    if not flows:
        raise QuantityError(
            f"{source.said} has no socket with a window or a round-trip time: give what `ss -tin`"
            " printed again and again."
        )
    timed = any(flow.timed for flow in flows.values())
    if timed:
        first = next(flow.times[0] for flow in flows.values() if flow.timed)
        read.clock = "unix" if first > 1e8 else "relative"
    else:
        read.about["time"] = "number of the sample"
        read.warn(
            "The log has no times: samples are numbered from 0, and time is that number, not"
            " seconds. Throughput cannot be told."
        )
    for label, flow in flows.items():
        flow.hand_to(read, label, timed=timed)
    return read


class _Rounds:
    """Which output a socket is of, where nothing else says it: one that comes again begins one."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._number = 0

    def of(self, sample: _Sample) -> int:
        if sample.pair in self._seen:
            self._seen.clear()
            self._number += 1
        self._seen.add(sample.pair)
        return self._number


class _Flow:
    """One socket: its samples, in the order of the log."""

    def __init__(self) -> None:
        self.times = array("d")
        self.numbers = array("d")
        self.values: dict[str, array[float]] = {}

    @property
    def timed(self) -> bool:
        """Whether its samples have times of their own."""
        known = np.array(self.times)
        known = known[np.isfinite(known)]
        return bool(known.size) and (len(self.times) == 1 or bool(known.min() < known.max()))

    def add(self, time: float | None, number: int, values: dict[str, float]) -> None:
        before = len(self.times)
        self.times.append(np.nan if time is None else time)
        self.numbers.append(number)
        for name in dict.fromkeys((*self.values, *values)):
            column = self.values.setdefault(name, array("d", [np.nan]) * before)
            column.append(values.get(name, np.nan))

    def hand_to(self, read: Measurement, label: str, *, timed: bool) -> None:
        """Put its samples into a measurement: one a time, and counters as what was added."""
        times = np.array(self.times if timed else self.numbers)
        kept = np.flatnonzero(np.isfinite(times))
        if kept.size < times.size:
            read.warn(f"{times.size - kept.size} samples of {label} have no time: left out.")
        times = times[kept]
        steps = np.diff(times)
        if (steps <= 0).any():
            read.warn(f"The times of {label} go back, or stand still: no throughput is told there.")
        for name, column in self.values.items():
            values = np.array(column)[kept]
            if name == "acked" and timed:
                with np.errstate(divide="ignore", invalid="ignore"):
                    rates = np.where(steps > 0, 8.0 * np.diff(values) / steps, np.nan)
                good = _add_since(read, "throughput", label, times, rates)
                read.add("interval", label, times[1:][good], steps[good])
            elif name == "retrans":
                _add_since(read, "retransmissions", label, times, np.diff(values))
            elif name != "acked":
                seen = np.isfinite(values)
                read.add(name, label, times[seen], values[seen], quantity=_MORE.get(name))


def _add_since(
    read: Measurement, name: str, label: str, times: FloatArray, values: FloatArray
) -> BoolArray:
    """Add what a counter has got since the sample before; return where that is known."""
    if (values < 0).any():
        read.warn(f"The counters of {label} fall: its ends began another connection.")
    good = values >= 0
    if good.any():
        read.add(name, label, times[1:][good], values[good])
    return np.asarray(good)


def _samples(source: Source) -> Iterator[_Sample]:
    time: float | None = None
    pair: str | None = None
    for line in source.lines():
        socket = _SOCKET.search(line)
        found = leading_time(line)
        if found is not None:
            time = found[0]
        elif (watched := of_watch(line)) is not None:
            time = watched[1]
        if socket is not None:
            pair = f"{socket['local']} > {socket['peer']}"
        about = line if socket is None else socket["rest"]
        if pair is None or not _INFO.match(about):
            continue
        sender, values = _read(about)
        if values:
            yield _Sample(time, pair, sender, values)
        pair = None


def _read(line: str) -> tuple[str, dict[str, float]]:
    """Return the congestion control that a line of numbers names, and the numbers."""
    words = line.split()
    values: dict[str, float] = {}
    sender, numbers = "", {"retrans": 0.0}  # which is shown only where there were any
    for at, word in enumerate(words):
        key, colon, text = word.partition(":")
        if key in {"wscale", "rto"} and not values and at and ":" not in words[at - 1]:
            sender = "" if words[at - 1] in _FLAGS else words[at - 1]
        if colon:
            values |= _number(key, text)
        elif word in {"delivery_rate", "pacing_rate"} and at + 1 < len(words):
            rate = _RATE.match(words[at + 1])
            if rate is not None:
                values[word] = float(rate[1]) * _PREFIXES[rate[2]]
    return sender, numbers | values if values else {}


def _number(key: str, text: str) -> dict[str, float]:
    try:
        if key == "cwnd":
            return {"window": float(text)}
        if key == "rtt":
            mean, _, deviation = text.partition("/")
            found = {"tcp_rtt": _MS * float(mean)}
            return found | ({"tcp_rttvar": _MS * float(deviation)} if deviation else {})
        if key == "retrans":
            return {"retrans": float(text.partition("/")[2])}
        if key == "bytes_acked":
            return {"acked": float(text)}
    except ValueError:
        return {}
    return {}
