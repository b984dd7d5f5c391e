"""The words of tc for queues whose law is not read here, in so far as tc reads or refuses a line.

Source: iproute2 7.3, tc-codel(8), tc-fq_codel(8), tc-red(8), tc-cake(8); Linux 7.2, the qdiscs of
those names; `tools/tc_oracle.py` asks a tc.
"""

from __future__ import annotations

from typing import Final

from pi2_fluid.laws.kernel.qdiscs import MOST_FLOWS, MOST_QUANTUM
from pi2_fluid.records.unit import Unit
from pi2_fluid.tc.options import Number, Switch

_COUNT: Final = Unit(name="count")
_FLOWS: Final = Unit(name="count", high=MOST_FLOWS)
_QUANTUM: Final = Unit(name="count", high=MOST_QUANTUM)
_TIME: Final = Unit(name="time", per_si=1_000_000)
_THRESHOLD: Final = Unit(name="time", per_si=1_000_000, low=0, high=2**32 - 2)  # 2^32 - 1 is none
_SIZE: Final = Unit(name="size")
_SIZE_FROM_0: Final = Unit(name="size", low=0)
_RATE: Final = Unit(name="rate")
_LONG_RATE: Final = Unit(name="rate", high=2**64 - 1)
_PROBABILITY: Final = Unit(name="probability", per_si=2**32, high=2**33)  # see `red_as_shown`
_EVENT: Final = Unit(name="event", low=0)  # the number of a block of filters
_OVERHEAD: Final = Unit(name="count", low=-64, high=256)
_PAIR: Final = Unit(name="pair", low=0, high=2**16 - 1)  # a byte, and which of its bits count
_MPU: Final = Unit(name="count", high=256)


def _number(word: str, unit: Unit, *, base: int = 0) -> Number:
    return Number(word=word, key=word, unit=unit, default=0, base=base)


def _lone(*words: str) -> tuple[Switch, ...]:
    """Return words without a value."""
    return tuple(
        Switch(word=word, key=word, words=(None, word), values=(None, True)) for word in words
    )


_ECN: Final = Switch(word="ecn", key="ecn", words=("noecn", "ecn"), values=(None, True))
_TIMES: Final = (
    _number("target", _TIME),
    _number("interval", _TIME),
    _number("ce_threshold", _THRESHOLD),
)
#: The names that cake has for a round-trip time.
_ROUND_TRIPS: Final = (
    *("datacentre", "lan", "metro", "regional", "internet", "oceanic", "satellite"),
    "interplanetary",
)

#: Their options by kind, as `OPTIONS` has those of others.
FOREIGN: Final[dict[str, tuple[Number | Switch, ...]]] = {
    "codel": (_number("limit", _COUNT), *_TIMES, _ECN),
    "fq_codel": (
        _number("limit", _COUNT),
        _number("flows", _FLOWS),
        _number("quantum", _QUANTUM),
        *_TIMES,
        _number("memory_limit", _SIZE_FROM_0),
        _number("drop_batch", _COUNT),
        _number("ce_threshold_selector", _PAIR),
        _ECN,
    ),
    "red": (
        *(_number(word, _SIZE) for word in ("limit", "min", "max", "avpkt")),
        _number("burst", _COUNT),
        _number("probability", _PROBABILITY),
        _number("bandwidth", _RATE),
        _number("qevent", _EVENT, base=10),
        *_lone("ecn", "harddrop", "nodrop", "adaptive", "adaptative"),
    ),
    "cake": (
        _number("bandwidth", _LONG_RATE),
        _number("rtt", _TIME),
        _number("memlimit", _SIZE),
        _number("fwmark", _COUNT),
        _number("overhead", _OVERHEAD, base=10),
        _number("mpu", _MPU, base=10),
        *_lone("unlimited", "autorate-ingress", "ingress", "egress"),
        *_lone(*_ROUND_TRIPS),
        *_lone("besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"),
        *_lone("flowblind", "srchost", "dsthost", "hosts", "flows"),
        *_lone("dual-srchost", "dual-dsthost", "triple-isolate"),
        *_lone("nat", "nonat", "wash", "nowash", "split-gso", "no-split-gso"),
        *_lone("ack-filter", "ack-filter-aggressive", "no-ack-filter"),
        *_lone("ptm", "atm", "noatm", "raw", "conservative", "via-ethernet"),
        *_lone("pppoa-vcmux", "pppoa-llc", "pppoe-vcmux", "pppoe-llcsnap"),
        *_lone("bridged-vcmux", "bridged-llcsnap", "ipoa-vcmux", "ipoa-llcsnap"),
        *_lone("pppoe-ptm", "bridged-ptm", "ethernet", "ether-vlan", "docsis"),
    ),
}
#: Words of which tc takes one, and that once.
ONCE: Final[dict[str, frozenset[str]]] = {"cake": frozenset(_ROUND_TRIPS)}
