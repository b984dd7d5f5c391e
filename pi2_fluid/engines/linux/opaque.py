"""Queue disciplines of the kernel's own as the kernel is told them: attributes by number.

Source: Linux 7.2, include/uapi/linux/pkt_sched.h; iproute2 7.3, tc/q_cake.c, q_sfq.c.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Final

from pi2_fluid.engines.linux.messages import attribute, nest
from pi2_fluid.laws.aqms.qdisc import Qdisc
from pi2_fluid.laws.kernel.qdiscs import told
from pi2_fluid.network.link import Link

_OPTIONS: Final = 2  # TCA_OPTIONS
#: The number of each option's attribute, and of that of the limit in packets, if there is one.
_NUMBERS: Final[dict[str, dict[str, int]]] = {
    "fq_codel": {
        "target": 1,
        "limit": 2,
        "interval": 3,
        "ecn": 4,
        "flows": 5,
        "quantum": 6,
        "ce_threshold": 7,
        "drop_batch": 8,
        "memory_limit": 9,
    },
    "fq_pie": {
        "limit": 1,
        "flows": 2,
        "target": 3,
        "tupdate": 4,
        "alpha": 5,
        "beta": 6,
        "quantum": 7,
        "memory_limit": 8,
        "ecn_prob": 9,
        "ecn": 10,
        "bytemode": 11,
        "dq_rate_estimator": 12,
    },
    "cake": {
        "bandwidth": 2,
        "diffserv": 3,
        "isolation": 5,
        "overhead": 6,
        "rtt": 7,
        "memlimit": 10,
        "wash": 13,
        "mpu": 14,
        "ingress": 15,
        "ack_filter": 16,
        "split_gso": 17,
    },
    "fq": {
        "limit": 1,
        "flow_limit": 2,
        "quantum": 3,
        "initial_quantum": 4,
        "pacing": 5,
        "maxrate": 7,
        "buckets": 8,
        "refill_delay": 9,
        "low_rate_threshold": 11,
        "ce_threshold": 12,
        "timer_slack": 13,
        "horizon": 14,
        "horizon_drop": 15,
    },
}
#: How those are packed that have other than 32 bits.
_PACKED: Final = {"bandwidth": "<Q", "overhead": "<i", "horizon_drop": "<B"}
_CAKE_TARGET, _TARGETS = 8, 20  # TCA_CAKE_TARGET, and how many of them tc takes for an rtt
_DEPTH, _FLOWS = 127, 128  # packets of a flow, and flows, that SFQ holds if it is told no other


def options_of(law: Qdisc, link: Link) -> bytes:
    """Return the options of a queue discipline, with their header.

    Parameters
    ----------
    law : Qdisc
        With its options.
    link : Link
        Whose packets it queues, at most `buffer` of them, a whole number.

    Examples
    --------
    >>> options_of(Qdisc("fq_codel", ecn=False), Link("10Mbit/s", buffer=1000)).hex()
    '14000280080004000000000008000200e8030000'
    """
    numbers = {word: told(law.name, word, value) for word, value in law.options}
    limit = int(link.buffer)
    if law.name == "sfq":
        return attribute(_OPTIONS, _sfq(numbers, limit))
    kinds = _NUMBERS[law.name]
    found = [
        attribute(kinds[word], struct.pack(_PACKED.get(word, "<I"), number))
        for word, number in numbers.items()
    ]
    if "limit" in kinds:
        found.append(attribute(kinds["limit"], limit))
    if "rtt" in numbers:
        found.append(attribute(_CAKE_TARGET, max(numbers["rtt"] // _TARGETS, 1)))
    return nest(_OPTIONS, *found)


def holds(law: Qdisc, link: Link) -> int | None:
    """Return how many packets a queue discipline holds at most; None: it counts bytes.

    Examples
    --------
    >>> holds(Qdisc("sfq", flows=4, depth=10), Link("10Mbit/s", buffer=1000))
    40
    """
    given = dict(law.options)
    if law.name == "sfq":
        most = int(given.get("depth", _DEPTH)) * int(given.get("flows", _FLOWS))
        return min(most, int(link.buffer))
    return int(link.buffer) if "limit" in _NUMBERS[law.name] else None


def _sfq(numbers: Mapping[str, int], limit: int) -> bytes:
    """Return a struct tc_sfq_qopt_v1, in which 0 leaves what the kernel takes."""
    quantum, perturb, divisor, flows, depth, headdrop = (
        numbers.get(word, 0)
        for word in ("quantum", "perturb", "divisor", "flows", "depth", "headdrop")
    )
    return struct.pack("<7I44x", quantum, perturb, limit, divisor, flows, depth, headdrop)
