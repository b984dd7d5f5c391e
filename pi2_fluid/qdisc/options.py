"""The options of each kind of queue: their words in tc, their keys in ``tc -j``, their defaults.

Values are whole numbers in the units that tc and the kernel exchange; `FACTORS` has what each is
in SI. The defaults are the kernel's.

Source: iproute2 7.3, tc/q_pie.c, q_fq_pie.c, q_dualpi2.c; Linux 6.18, the qdiscs of those names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pi2_fluid.model.kernel_gains import PARTS_PER_HERTZ

__all__ = ["FACTORS", "KINDS", "LARGEST_PIE", "OPTIONS", "Number", "Switch", "defaults", "in_si"]

#: SI unit per unit, for those that are not whole in SI.
FACTORS: Final[dict[str, int]] = {
    "time": 1_000_000,  # microseconds
    "sixteenths": 16,  # of 1 Hz
    "hertz": PARTS_PER_HERTZ,
    "percent": 100,
}


@dataclass(frozen=True, kw_only=True)
class Number:
    """An option with a number, which tc shows always, but for what only some trees of it know."""

    word: str
    key: str
    unit: str
    default: int
    everywhere: bool = True


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


#: The most sixteenths of 1 Hz that tc takes for a gain of PIE.
LARGEST_PIE: Final = 32

#: What `tc -j` prints for a key without a value, told apart from nothing at all.
NULL: Final = "null"

_LAW: Final = (
    Number(word="target", key="target", unit="time", default=15_000),
    Number(word="tupdate", key="tupdate", unit="time", default=15_000),
    Number(word="alpha", key="alpha", unit="sixteenths", default=2),
    Number(word="beta", key="beta", unit="sixteenths", default=20),
)
_FLAGS: Final = tuple(
    Switch(word=word, key=word, words=(None, word), values=(None, True))
    for word in ("ecn", "bytemode", "dq_rate_estimator")
)

#: In the order in which tc prints them.
OPTIONS: Final[dict[str, tuple[Number | Switch, ...]]] = {
    "pie": (Number(word="limit", key="limit", unit="packets", default=1000), *_LAW, *_FLAGS),
    "fq_pie": (
        Number(word="limit", key="limit", unit="packets", default=10240),
        Number(word="flows", key="flows", unit="count", default=1024),
        *_LAW,
        Number(word="quantum", key="quantum", unit="size", default=1514),
        Number(word="memory_limit", key="memory_limit", unit="size", default=32 << 20),
        Number(word="ecn_prob", key="ecn_prob", unit="count", default=10),
        *_FLAGS,
    ),
    "dualpi2": (
        Number(word="limit", key="limit", unit="packets", default=10_000),
        Number(
            word="memlimit", key="memory-limit", unit="bytes", default=30_280_000, everywhere=False
        ),
        Number(word="target", key="target", unit="time", default=15_000),
        Number(word="tupdate", key="tupdate", unit="time", default=16_000),
        Number(word="alpha", key="alpha", unit="hertz", default=41),
        Number(word="beta", key="beta", unit="hertz", default=819),
        Number(word="step_thresh", key="step-thresh-us", unit="time", default=1000),
        Number(
            word="min_qlen_step", key="min-qlen-step", unit="packets", default=0, everywhere=False
        ),
        Number(word="coupling_factor", key="coupling", unit="count", default=2),
        Switch(
            word="drop_on_overload",
            key="drop-overload",
            words=("overflow", "drop_on_overload"),
            values=("overflow", "drop"),
            default=1,
        ),
        Switch(
            word="drop_enqueue",
            key="drop-early",
            words=("drop_dequeue", "drop_enqueue"),
            values=("drop-dequeue", "drop-enqueue"),
        ),
        Number(word="classic_protection", key="c-protection", unit="percent", default=10),
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
    frame = mtu + 14  # Ethernet's header counts
    if kind == "fq_pie":
        units["quantum"] = frame
    elif kind == "dualpi2":
        units["memlimit"] = units["limit"] * 2 * frame
    return units


def in_si(kind: str, units: dict[str, int]) -> dict[str, Any]:
    """Return options in SI: s, Hz, B, packets, fractions; switches as True and False."""
    values: dict[str, Any] = {}
    for option in OPTIONS[kind]:
        value = units[option.word]
        if isinstance(option, Switch):
            values[option.word] = bool(value)
        else:
            factor = FACTORS.get(option.unit)
            values[option.word] = value if factor is None else value / factor
    return values
