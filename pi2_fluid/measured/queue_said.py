"""The queue that a measurement names: by a kind, or by what tc shows of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, suggest
from pi2_fluid.laws.registry import AQMS, PRESETS, make_aqm
from pi2_fluid.tc.numerals import read_whole
from pi2_fluid.tc.observing.reader import observe
from pi2_fluid.tc.parsing import queue_of
from pi2_fluid.tc.red import red_as_run, shown_bytes
from pi2_fluid.units import parse_quantity

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.tc.block import Block


class QueueSaid(NamedTuple):
    """A queue with what the text around it says."""

    kind: str
    aqm: Aqm
    buffer: float | None = None
    """Packets, where the text has a limit of packets."""
    rate: float | None = None
    """Of the shaper above it (bit/s)."""
    delay: float | None = None
    """What netem adds on both ways together (s)."""
    numbered: bool = False
    """Whether its numbers were read, or are the kernel's defaults."""


#: Packets that Linux holds by default, by the name of the qdisc.
LIMITS: Final[Mapping[str, float]] = {
    "pie": 1000.0,
    "fq_pie": 10240.0,
    "dualpi2": 10000.0,
    "codel": 1000.0,
    "fq_codel": 10240.0,
    "taildrop": 1000.0,
}
_FULL_PACKET: Final = 1500  # bytes: RED's limit is in bytes
#: Other names of a queue in titles of measurements.
_CALLED: Final[Mapping[str, str]] = {
    "pfifo": "taildrop",
    "bfifo": "taildrop",
    "pfifo_fast": "taildrop",
    "fifo": "taildrop",
    "droptail": "taildrop",
    "tail_drop": "taildrop",
    "codel1q": "codel",
    "cnq_codel": "codel",
    "pie": "linux_pie",
    "dualpi2": "linux_dualpi2",
    "dualq": "linux_dualpi2",
}
#: Shapers, and what is no queue of packets at all.
_PASSED: Final = {"htb", "tbf", "hfsc", "netem", "ingress", "clsact", "noqueue", "mq"}


def queue_of_kind(kind: str) -> QueueSaid:
    """Return the queue of a kind, with the numbers that Linux has by default.

    Raises
    ------
    QuantityError
        If there is no law of that name.

    Examples
    --------
    >>> queue_of_kind("codel1q").aqm
    CoDel(target=0.005, interval=0.1, ecn=True, arithmetic='real')
    """
    word = kind.strip().lower()
    name = _CALLED.get(word, word)
    if name not in AQMS and name not in PRESETS:
        raise QuantityError(
            f"the queue {kind!r} has no law here: give aqm=, {suggest(word, [*_CALLED, *AQMS])}."
        )
    ecn = {"ecn": True} if name in {"linux_pie", "codel", "fq_codel", "fq_pie"} else {}
    plain = word if word in LIMITS else PRESETS[name].kind if name in PRESETS else name
    return QueueSaid(plain, make_aqm(name, ecn), LIMITS.get(plain))


def queue_of_text(text: str) -> QueueSaid | None:
    """Return the queue of a text of tc; None if it shows none that has a law here.

    Of several it is the one that served the most bytes, or else the last one.

    Examples
    --------
    >>> said = queue_of_text('''
    ... qdisc htb 1: root refcnt 2 r2q 10 default 0x1
    ... qdisc pie 2: parent 1:1 limit 500p target 15ms tupdate 16ms alpha 2 beta 20 ecn
    ... class htb 1:1 root leaf 2: prio 0 rate 50Mbit ceil 50Mbit burst 1600b cburst 1600b
    ... ''')
    >>> said.kind, said.aqm.target, said.buffer, said.rate
    ('pie', 0.015, 500.0, 50000000.0)
    """
    reading = observe(text)
    queues: list[tuple[float, QueueSaid]] = []
    for block in reading.blocks:
        if block.kind in _PASSED or block.gone:
            continue
        with contextlib.suppress(QuantityError, DomainError, UnsupportedError):
            made = _made(block)
            served = float((block.statistics or {}).get("bytes", 0.0))
            queues.append((served, made._replace(rate=reading.rate_above(block))))
    if not queues:
        return None
    most = max(served for served, _ in queues)
    _, said = [one for one in queues if one[0] == most][-1]
    return said._replace(delay=_netem(reading.blocks))


def _made(block: Block) -> QueueSaid:
    """Return the law of a queue that tc shows."""
    if block.ours and block.trouble is None and block.kind != "fq_pie":
        queue = queue_of(block)
        limit = queue.asked.get("limit")
        return QueueSaid(block.kind, queue.aqm, _number(limit), numbered=True)
    words = block.options or block.words
    if block.kind == "red":
        buffer = shown_bytes(words, "limit") // _FULL_PACKET if "limit" in words else None
        return QueueSaid("red", red_as_run(words), buffer, numbered=True)
    made = queue_of_kind(block.kind)
    given = {}
    for word, read in _READ.items():
        if hasattr(made.aqm, word) and (value := read(words.get(word))) is not None:
            given[word] = value
    kind = _CALLED.get(block.kind, block.kind)
    law = make_aqm(kind, {"ecn": "ecn" in words, **given}) if given else made.aqm
    limit = _packets(words.get("limit"))
    read_here = bool(given) or limit is not None
    return made._replace(aqm=law, buffer=limit or made.buffer, numbered=read_here)


def _netem(blocks: list[Block]) -> float | None:
    """Return what netem delays packets on both ways (s): of several devices all together."""
    delays: dict[str | None, float] = {}  # one of each device, which may be shown twice
    for block in blocks:
        if block.kind == "netem" and (delay := _time(block.words.get("delay"))) is not None:
            delays[block.dev] = delay
    return sum(delays.values()) if delays else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and value > 0 else None


def _time(value: object) -> float | None:
    if isinstance(value, (int, float)):
        return float(value)
    with contextlib.suppress(QuantityError):
        return parse_quantity(str(value), "time") if value else None
    return None


def _packets(value: object) -> float | None:
    if isinstance(value, (int, float)):
        return _number(value)
    read = read_whole(str(value).removesuffix("p")) if value else None
    return float(read) if read else None


_READ: Final[dict[str, Callable[[Any], float | None]]] = {
    "target": _time,
    "interval": _time,
    "flows": _packets,
    "quantum": _packets,
}
