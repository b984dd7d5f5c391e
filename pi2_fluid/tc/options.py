"""The options of each kind of queue: their words in tc, their keys in ``tc -j``, their defaults.

Values are whole numbers of what tc and the kernel count in, see `pi2_fluid.laws.kernel.units`.
The parameters of a law have their word, their unit and their default from its fields; here is how
tc prints them, in what order, and what it has beside them. Those defaults are the kernel's.

Source: iproute2 7.3, tc/q_pie.c, q_fq_pie.c, q_dualpi2.c; Linux 6.18, the qdiscs of those names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pi2_fluid.laws.kernel.qdiscs import MOST_FLOWS, MOST_QUANTUM
from pi2_fluid.laws.kernel.units import PACKETS, told_to_tc
from pi2_fluid.laws.registry import aqm_class
from pi2_fluid.records.unit import Unit


@dataclass(frozen=True, kw_only=True)
class Number:
    """An option with a number, which tc shows always, but for what only some trees of it know.

    `base` is that in which tc reads a whole number, see `pi2_fluid.tc.numerals.read_whole`; a 0 is
    for tc what was not asked for, unless it `passes_zero` on to the kernel.
    """

    word: str
    key: str
    unit: Unit
    default: int
    everywhere: bool = True
    base: int = 0
    passes_zero: bool = False


@dataclass(frozen=True, kw_only=True)
class Switch:
    """An option that is off (0) or on (1).

    `words` and `values` are what tc prints for off and on, as text and as JSON: None where it
    prints nothing, and `NULL` for a key without a value.
    """

    word: str
    key: str
    words: tuple[str | None, str | None]
    values: tuple[Any, Any]
    default: int = 0


#: What `tc -j` prints for a key without a value, told apart from nothing at all.
NULL: Final = "null"

_HEADER: Final = 14  # bytes, of Ethernet, which count

#: The kind of law that the kernel runs in each kind of queue.
LAWS: Final = {"pie": "pie", "fq_pie": "pie", "dualpi2": "dualpi2"}

_FLOWS: Final = Unit(name="count", high=MOST_FLOWS)
_UP_TO_99: Final = Unit(name="count", high=99)  # by tc, though 100 % would be no other than any
_BYTES: Final = Unit(name="bytes")
_SIZE: Final = Unit(name="size")  # with a binary prefix
_QUANTUM: Final = Unit(name="size", high=MOST_QUANTUM)


def _number(
    law: str,
    word: str,
    key: str = "",
    *,
    everywhere: bool = True,
    base: int = 0,
    passes_zero: bool = False,
) -> Number:
    told = told_to_tc(aqm_class(law))[word]
    return Number(
        word=word,
        key=key or word,
        unit=told.unit,
        default=told.default,
        everywhere=everywhere,
        base=base,
        passes_zero=passes_zero,
    )


def _switch(
    law: str,
    word: str,
    key: str = "",
    words: tuple[str | None, str | None] | None = None,
    values: tuple[Any, Any] = (None, True),
) -> Switch:
    """Return a switch, by default one that tc prints only where it is on."""
    default = told_to_tc(aqm_class(law))[word].default
    return Switch(
        word=word, key=key or word, words=words or (None, word), values=values, default=default
    )


_LAW: Final = tuple(_number("pie", word) for word in ("target", "tupdate", "alpha", "beta"))
_FLAGS: Final = (
    _switch("pie", "ecn"),
    _switch("pie", "bytemode"),
    _switch("pie", "dq_rate_estimator"),
)

#: In the order in which tc prints them.
OPTIONS: Final[dict[str, tuple[Number | Switch, ...]]] = {
    "pie": (Number(word="limit", key="limit", unit=PACKETS, default=1000), *_LAW, *_FLAGS),
    "fq_pie": (
        Number(word="limit", key="limit", unit=PACKETS, default=10240),
        Number(word="flows", key="flows", unit=_FLOWS, default=1024),
        *_LAW,
        Number(word="quantum", key="quantum", unit=_QUANTUM, default=1514),
        Number(word="memory_limit", key="memory_limit", unit=_SIZE, default=32 << 20),
        Number(word="ecn_prob", key="ecn_prob", unit=_UP_TO_99, default=10),
        *_FLAGS,
    ),
    "dualpi2": (
        Number(word="limit", key="limit", unit=PACKETS, default=10_000, base=10),
        Number(
            word="memlimit",
            key="memory-limit",
            unit=_BYTES,
            default=30_280_000,
            everywhere=False,
            base=10,
        ),
        *(_number("dualpi2", word) for word in ("target", "tupdate")),
        *(_number("dualpi2", word, passes_zero=True) for word in ("alpha", "beta")),
        _number("dualpi2", "step_thresh", "step-thresh-us"),
        _number(
            "dualpi2", "min_qlen_step", "min-qlen-step", everywhere=False, base=10, passes_zero=True
        ),
        _number("dualpi2", "coupling_factor", "coupling", passes_zero=True),
        _switch(
            "dualpi2",
            "drop_on_overload",
            "drop-overload",
            words=("overflow", "drop_on_overload"),
            values=("overflow", "drop"),
        ),
        _switch(
            "dualpi2",
            "drop_enqueue",
            "drop-early",
            words=("drop_dequeue", "drop_enqueue"),
            values=("drop-dequeue", "drop-enqueue"),
        ),
        _number("dualpi2", "classic_protection", "c-protection", passes_zero=True),
        Switch(
            word="any_ect",
            key="ecn-mask",
            words=("l4s_ect", "any_ect"),
            values=("l4s-ect", "any-ect"),
        ),
        Switch(
            word="split_gso",
            key="split-gso",
            words=("no_split_gso", "split_gso"),
            values=(None, NULL),
            default=1,
        ),
    ),
}

#: The kinds of queue that are read here.
KINDS: Final = tuple(OPTIONS)


def defaults(kind: str, mtu: int) -> dict[str, int]:
    """Return what the kernel takes where nothing is asked, on a device of that MTU (bytes)."""
    units = {option.word: option.default for option in OPTIONS[kind]}
    if kind == "fq_pie":
        units["quantum"] = mtu + _HEADER
    elif kind == "dualpi2":
        units["memlimit"] = memory_of(units["limit"], mtu)
    return units


def memory_of(limit: int, mtu: int) -> int:
    """Return the memory (bytes) that dualpi2 takes for a limit (packets) if none is asked for."""
    return limit * 2 * (mtu + _HEADER)


def in_si(kind: str, units: dict[str, int]) -> dict[str, Any]:
    """Return options in SI: s, Hz, B, packets, fractions; switches as True and False."""
    values: dict[str, Any] = {}
    for option in OPTIONS[kind]:
        value = units[option.word]
        if isinstance(option, Switch):
            values[option.word] = bool(value)
        else:
            values[option.word] = option.unit.in_si(value)
    return values
