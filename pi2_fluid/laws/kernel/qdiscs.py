"""Queue disciplines that Linux has and that have no equations here: their options, by tc's words.

A hyphen of tc is an underscore here, and what tc has several words for is one option with those
words. How many packets a queue holds is no option: it is the link's buffer. All of them are in
Linux 5.8 and newer.

Source: Linux 7.2, net/sched/sch_fq_codel.c, sch_fq_pie.c, sch_cake.c, sch_fq.c, sch_sfq.c;
iproute2 7.3, tc/q_fq_codel.c, q_fq_pie.c, q_cake.c, q_fq.c, q_sfq.c.
"""

from __future__ import annotations

import math
from dataclasses import Field, dataclass
from typing import Any, Final, NamedTuple, TypeAlias, cast

from pi2_fluid.errors import DomainError, ScenarioError, show_value, suggest
from pi2_fluid.laws.kernel.units import SWITCH
from pi2_fluid.records.record import choice, quantity
from pi2_fluid.records.unit import Unit
from pi2_fluid.units import LONG_WAIT, validate_choice, validate_number

#: Into how many queues flows are hashed, and how many bytes one sends in its turn, at most.
MOST_FLOWS: Final = 65536
MOST_QUANTUM: Final = 1 << 20

_MOST: Final = 2**32 - 1

#: What an option is: a number in SI, a word, or on or off.
Value: TypeAlias = float | str | bool


class Option(NamedTuple):
    """What a queue discipline can be told."""

    field: Field[Any]
    """As a law declares a parameter: what it may be, and what the kernel counts it in."""
    said: str
    """What it is, and what the kernel takes where it is left out."""


@dataclass(frozen=True, kw_only=True)
class _Counted(Unit):
    """Whole numbers of something."""

    low: int = 0
    high: int = _MOST
    what: str = "whole numbers"


class _Eighths(_Counted):
    """Bytes, of bits."""

    def ask(self, value: float) -> int | None:
        return super().ask(value / 8.0)


class _PowerOfTwo(_Counted):
    def ask(self, value: float) -> int | None:
        return round(value) if math.log2(value).is_integer() else None


class _Log2(_Counted):
    def ask(self, value: float) -> int | None:
        power = math.log2(value)
        return round(power) if power.is_integer() else None


@dataclass(frozen=True, kw_only=True)
class _Words(Unit):
    """Words, by their places."""

    words: tuple[object, ...]

    def ask(self, value: object) -> int:
        return self.words.index(value)


_COUNT: Final = _Counted(name="count")
_MICROSECONDS: Final = _Counted(name="time", per_si=1_000_000, what="whole microseconds")
_NANOSECONDS: Final = _Counted(name="time", per_si=1_000_000_000, what="whole nanoseconds")
_SECONDS: Final = _Counted(name="time", what="whole seconds")
_SIZE: Final = _Counted(name="size", what="whole bytes")
_RATE: Final = _Eighths(name="rate", what="whole bytes per second")
_POWER: Final = _PowerOfTwo(name="count", what="powers of 2")
_LOG2: Final = _Log2(name="count", what="powers of 2")


def _number(
    said: str, dimension: str, unit: _Counted, low: float, high: float, *, closed: bool = True
) -> Option:
    usual = LONG_WAIT if unit in {_MICROSECONDS, _NANOSECONDS} else math.inf
    field = quantity(
        None, dimension, low=low, high=high, closed=closed, usual=usual, optional=True, kernel=unit
    )
    return Option(field, said)


def _time(said: str, unit: _Counted = _MICROSECONDS, high: float = math.inf) -> Option:
    return _number(said, "time", unit, 0.0, min(high, unit.high / unit.per_si))


def _count(said: str, low: float, high: float = _MOST, unit: _Counted = _COUNT) -> Option:
    return _number(said, "number", unit, low, high)


def _bytes(said: str, low: float = 0, high: float = _MOST) -> Option:
    return _number(said, "size", _SIZE, low, high)


def _rate(said: str, high: float) -> Option:
    return _number(said, "rate", _RATE, 0.0, high, closed=False)


def _switch(said: str) -> Option:
    return Option(choice(None, (None, False, True), kernel=SWITCH), said)


def _word(said: str, *words: object) -> Option:
    return Option(choice(None, (None, *words), kernel=_Words(name="word", words=words)), said)


_QUANTA: Final = (256, MOST_QUANTUM)
_RATES: Final = 8.0 * _MOST
_FASTEST: Final = 1e12  # bit/s

_TARGET: Final = "Delay (s) that a standing queue may have; otherwise {}."
_HASHED: Final = "Queues into which flows are hashed; otherwise 1024."
_QUANTUM: Final = "Bytes that a flow may send in its turn; otherwise those of {}."
_MEMORY: Final = "Bytes of memory that packets may take; otherwise {}."
_MARKED: Final = "Delay (s) above which all packets that can be marked are; otherwise none is set."

#: What tc calls a queue discipline -> its options, by tc's words.
QDISCS: Final[dict[str, dict[str, Option]]] = {
    "fq_codel": {
        "target": _time(_TARGET.format("5 ms")),
        "interval": _time("Time (s) above the target before the first drop; otherwise 100 ms."),
        "ecn": _switch("Whether packets that can be marked are; otherwise they are."),
        "flows": _count(_HASHED, 1, MOST_FLOWS),
        "quantum": _bytes(_QUANTUM.format("a full frame"), *_QUANTA),
        "ce_threshold": _time(_MARKED),
        "memory_limit": _bytes(_MEMORY.format("32 MiB")),
        "drop_batch": _count("Packets dropped at once from a full queue; otherwise 64.", 1),
    },
    "fq_pie": {
        "target": _time(_TARGET.format("15 ms")),
        "tupdate": _time("Time between two updates of the probability (s); otherwise 15 ms."),
        "alpha": _count("Gain in sixteenths of 1 Hz, as tc has it; otherwise 2.", 0, 32),
        "beta": _count("Gain in sixteenths of 1 Hz, as tc has it; otherwise 20.", 0, 32),
        "ecn": _switch("Whether packets that can be marked are; otherwise they are dropped."),
        "ecn_prob": _count("Percent up to which packets are marked; otherwise 10.", 0, 100),
        "flows": _count(_HASHED, 1, MOST_FLOWS),
        "quantum": _bytes(_QUANTUM.format("a full frame"), *_QUANTA),
        "memory_limit": _bytes(_MEMORY.format("32 MiB")),
        "bytemode": _switch("Whether small packets are dropped less; otherwise they are not."),
        "dq_rate_estimator": _switch(
            "Whether the delay is a backlog over an estimated rate; otherwise that of packets."
        ),
    },
    "cake": {
        "rtt": _time("Round-trip time (s) to expect, 20 times its target; otherwise 100 ms."),
        "bandwidth": _rate(
            "Rate (bit/s) that it shapes to by itself; otherwise it does not.", _FASTEST
        ),
        "diffserv": _word(
            'By which classes of packets it has queues; otherwise "diffserv3".',
            *("diffserv3", "diffserv4", "diffserv8", "besteffort", "precedence"),
        ),
        "isolation": _word(
            'Between what it is fair; otherwise "triple-isolate".',
            *("flowblind", "srchost", "dsthost", "hosts"),
            *("flows", "dual-srchost", "dual-dsthost", "triple-isolate"),
        ),
        "ack_filter": _word(
            "Whether acknowledgements that later ones replace are dropped; otherwise they are not.",
            *(False, True, "aggressive"),
        ),
        "split_gso": _switch("Whether large packets are split; otherwise they are."),
        "memlimit": _bytes(
            _MEMORY.format(
                "what its bandwidth serves in 4 rtt, 4 MiB at least, or 10240 full frames without"
                " a bandwidth"
            )
        ),
        "overhead": _count(
            "Bytes that a packet has beside its own, where it shapes; otherwise 0.", -64, 256
        ),
        "mpu": _bytes("Bytes that a packet has at least, where it shapes; otherwise 0.", 0, 256),
        "ingress": _switch(
            "Whether what it drops counts as sent, where it shapes; otherwise it does not."
        ),
        "wash": _switch("Whether it clears the class that packets name; otherwise it does not."),
    },
    "fq": {
        "flow_limit": _count("Packets that it holds of a flow at most; otherwise 100.", 1),
        "quantum": _bytes(_QUANTUM.format("two full frames"), *_QUANTA),
        "initial_quantum": _bytes(
            "Bytes that a new flow may send in its first turn; otherwise those of ten full frames.",
            *(0, MOST_QUANTUM),
        ),
        "pacing": _switch("Whether flows are paced that ask for it; otherwise they are."),
        "maxrate": _rate("Rate (bit/s) of a flow at most; otherwise any.", _RATES),
        "low_rate_threshold": _rate(
            "Rate (bit/s) below which flows are paced by the packet; otherwise 550 kbit/s.", _RATES
        ),
        "buckets": _count("Trees into which flows are hashed; otherwise 1024.", 2, 1 << 18, _LOG2),
        "refill_delay": _time(
            "Silence (s) after which a flow has its quantum again; otherwise 40 ms."
        ),
        "ce_threshold": _time(_MARKED),
        "timer_slack": _time(
            "Time (s) by which its timer may be late; otherwise 10 us.", _NANOSECONDS
        ),
        "horizon": _time("Time (s) for which packets may be meant at the latest; otherwise 10 s."),
        "horizon_drop": _switch(
            "Whether later ones are dropped, not sent at that time; otherwise they are."
        ),
    },
    "sfq": {
        "quantum": _bytes(_QUANTUM.format("a full frame"), *_QUANTA),
        "perturb": _time(
            "Time (s) after which flows are hashed anew; otherwise never.", _SECONDS, 2e6
        ),
        "flows": _count("Flows that it tells apart at most; otherwise 128.", 1, 65408),
        "divisor": _count(_HASHED, 2, MOST_FLOWS, _POWER),
        "depth": _count("Packets that it holds of a flow at most; otherwise 127.", 1, 127),
        "headdrop": _switch("Whether the oldest packets are dropped; otherwise the newest are."),
    },
}


def validate_option(name: str, word: str, value: object) -> Value | None:
    """Return an option in SI, None for one that is left out.

    Parameters
    ----------
    name, word : str
        What tc calls a queue discipline, one of `QDISCS`, and the option.
    value : float, str, bool or None
        What it is to be.

    Raises
    ------
    ScenarioError
        If there is none of that name, with those that there are.
    QuantityError, DomainError
        If it may not be that, or the kernel cannot count it.

    Examples
    --------
    >>> validate_option("fq_codel", "target", "5ms")
    0.005
    """
    if word == "limit":
        raise ScenarioError(
            f"Qdisc limit = {show_value(value)} is for the link, which says how many packets its"
            " queue holds: give Link buffer."
        )
    if word not in QDISCS[name]:
        known = suggest(word, QDISCS[name])
        raise ScenarioError(f"Qdisc {word} is unknown for name = {name!r}: give {known}.")
    if value is None:
        return None
    rules = QDISCS[name][word].field.metadata
    if "choice" in rules:
        validate_choice(value, rules["choice"][1:], f"Qdisc {word}")
        return cast("Value", value)
    number = validate_number(value, name=f"Qdisc {word}", **rules["quantity"])
    if rules["kernel"].ask(number) is None:
        raise DomainError(
            f"Qdisc {word} = {show_value(value)} is none of the {rules['kernel'].what} that the"
            " kernel counts it in: give one of them."
        )
    return number


def told(name: str, word: str, value: Value) -> int:
    """Return the number that the kernel is told for an option.

    Examples
    --------
    >>> told("fq_codel", "target", 0.005), told("cake", "isolation", "flows")
    (5000, 4)
    """
    number: int = QDISCS[name][word].field.metadata["kernel"].ask(value)
    return number
