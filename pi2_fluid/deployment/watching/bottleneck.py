"""Who is the bottleneck: the queue in which packets wait persistently, with the evidence for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Final, Literal, NamedTuple, TypeAlias

from pi2_fluid.deployment.watching.rows import HOLDING, Row
from pi2_fluid.deployment.watching.wording import size_said

#: How many outputs are looked back at.
WINDOW: Final = 30
_LEAST: Final = 5  # outputs that say anything
_OFTEN: Final = 0.5  # of the outputs: that often packets wait in a bottleneck
_FEW: Final = 2  # packets: that many wait in any queue that hands them on at once
_LONG: Final = 1e-3  # s
_PACKET: Final = 1514.0  # bytes
_RARE: Final = 0.1  # of the outputs: packets wait that rarely where there is no bottleneck

Verdict: TypeAlias = Literal["found", "none here", "cannot be told"]


class Bottleneck(NamedTuple):
    """Who is the bottleneck: "found", "none here" or "cannot be told"; its name; the evidence."""

    verdict: Verdict
    queue: str | None
    evidence: str


@dataclass
class _Load:
    name: str
    kind: str
    waited: deque[bool] = field(default_factory=lambda: deque(maxlen=WINDOW))
    packets: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    bytes: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    delays: deque[float] = field(default_factory=lambda: deque(maxlen=WINDOW))
    signals: deque[bool] = field(default_factory=lambda: deque(maxlen=WINDOW))

    @property
    def share(self) -> float:
        return sum(self.waited) / len(self.waited)


class Loads:
    """What waited in each queue of a device, over the last `WINDOW` outputs."""

    def __init__(self) -> None:
        self._loads: dict[object, _Load] = {}

    def add(self, rows: Iterable[Row]) -> None:
        """Add an output: the rows that have no other below them count."""
        seen = set()
        for row in rows:
            seen.add(row.key)
            load = self._loads.setdefault(row.key, _Load(row.name, row.kind))
            if row.qlen is None and row.backlog is None and row.delay_from != "tc":
                continue
            # what is segmented later counts as one packet, and has many of them
            packets = max(row.qlen or 0.0, (row.backlog or 0.0) / _PACKET)
            # a delay alone may be that of the last packet, long ago
            some = packets > 0 or (row.qlen is None and row.backlog is None)
            load.waited.append(packets > _FEW or (some and (row.delay or 0.0) >= _LONG))
            load.packets.append(row.qlen or 0.0)
            load.bytes.append(row.backlog or 0.0)
            if row.delay is not None:
                load.delays.append(row.delay)
            load.signals.append(bool((row.drops or 0.0) + (row.marks or 0.0)))
        for key in set(self._loads) - seen:
            del self._loads[key]

    def judge(self, shapers: Mapping[object, str]) -> Bottleneck:
        """Return who is the bottleneck; `shapers` say by key what holds a queue back."""
        loads = {key: load for key, load in self._loads.items() if load.waited}
        if not loads:
            return Bottleneck("cannot be told", None, "no queue shows what waits in it")
        seen = max(len(load.waited) for load in loads.values())
        if seen < _LEAST:
            return Bottleneck(
                "cannot be told", None, f"{seen} of the {_LEAST} outputs that it takes were seen"
            )
        own = {key: load for key, load in loads.items() if load.kind not in HOLDING}
        key = max(own, key=lambda each: _rank(own[each]), default=None)
        if key is not None and own[key].share >= _OFTEN:
            return Bottleneck("found", own[key].name, _evidence(own[key]) + shapers.get(key, ""))
        holding = next((load for load in loads.values() if load.kind in HOLDING), None)
        if holding is not None and holding.share >= _OFTEN:
            return Bottleneck(
                "cannot be told",
                None,
                f"packets wait in {holding.name}, which holds them on purpose",
            )
        most = max(loads.values(), key=_rank)
        if most.share <= _RARE:
            signals = sum(map(sum, (load.signals for load in loads.values())))
            if signals == 0:
                return Bottleneck("none here", None, f"nothing waits: {_evidence(most)}")
        return Bottleneck("cannot be told", None, f"packets wait at times: {_evidence(most)}")


def _rank(load: _Load) -> tuple[float, float, float]:
    return load.share, median(load.delays or [0.0]), median(load.packets or [0.0])


def _evidence(load: _Load) -> str:
    """Say what waited, and how often."""
    count, seen = sum(load.waited), len(load.waited)
    evidence = f"backlog in {count} of {seen} outputs"
    packets, size = (
        median([value for value, waited in zip(row, load.waited, strict=True) if waited] or [0.0])
        for row in (load.packets, load.bytes)
    )
    if packets:
        more = f" ({size_said(size)})" if size else ""
        evidence = f"backlog {packets:.3g} packets{more} in {count} of {seen} outputs"
    elif size:
        evidence = f"backlog {size_said(size)} in {count} of {seen} outputs"
    elif count:
        evidence = f"a delay above 1 ms in {count} of {seen} outputs"
    if signals := sum(load.signals):
        evidence += f", drops or marks in {signals}"
    return evidence + _delay(load) if count else evidence


def _delay(load: _Load) -> str:
    return f", delay {1e3 * median(load.delays):.3g} ms" if load.delays else ""
