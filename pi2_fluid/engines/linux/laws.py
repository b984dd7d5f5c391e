"""What runs a law in Linux: a qdisc with its options, or a congestion control, by name.

The two tables at the end say which laws Linux has. What a law's fields ask for and Linux does
otherwise is refused where it decides what the law does, and listed as not modelled elsewhere.

Source: Linux 7.2, include/uapi/linux/pkt_sched.h; net/sched/sch_pie.c, sch_dualpi2.c, sch_red.c,
sch_codel.c, sch_fq_codel.c, sch_fq_pie.c, sch_fifo.c.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pi2_fluid.engines.linux.messages import attribute, nest
from pi2_fluid.engines.linux.opaque import holds, options_of
from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.elsewhere import stands_for
from pi2_fluid.laws.kernel.gains import parts_behind
from pi2_fluid.laws.kernel.units import COUPLING, DUALPI2_GAIN, MICROSECONDS, PERCENT, unit_of
from pi2_fluid.laws.packet_limits import require_single
from pi2_fluid.laws.sender import Sender
from pi2_fluid.network.link import Link
from pi2_fluid.tc.kernel import FLOWS_PER_ROUND, timer_period

if TYPE_CHECKING:
    from pi2_fluid.laws.aqms.codel import CoDel
    from pi2_fluid.laws.aqms.dualpi2 import DualPi2
    from pi2_fluid.laws.aqms.fq_codel import FqCodel
    from pi2_fluid.laws.aqms.fq_pie import FqPie
    from pi2_fluid.laws.aqms.pi2 import Pi2
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.laws.aqms.pie import Pie
    from pi2_fluid.laws.aqms.qdisc import Qdisc
    from pi2_fluid.laws.aqms.red import Red
    from pi2_fluid.laws.aqms.taildrop import TailDrop

#: Ticks per second of the guest's kernel.
HZ: Final = 1000

_OPTIONS: Final = 2  # TCA_OPTIONS
_NEAR: Final = 0.01  # of a gain, that whole parts may miss it by
_CUT: Final = 1e-3  # us, that a time may be off by rounding
_MEMORY: Final = 2**31 - 1  # bytes of DualPI2's queues: the limit in packets comes first
_WORD: Final = 2**32 - 1
_RED_ECN, _RED_HARDDROP, _RED_NODROP, _RED_FLAGS = 1, 2, 8, 15
_MOST_SHIFT: Final = 31
_ECT1, _ECN_FIELD = 1, 3  # in the byte of the IP header that it shares with the class of traffic


class Told(NamedTuple):
    """A queue discipline as the kernel is told it."""

    kind: str
    """As the kernel calls it, which must have it."""
    options: bytes
    """Its TCA_OPTIONS, with their header."""
    not_modelled: tuple[str, ...] = ()
    """Fields of the law that ask for what Linux does otherwise."""
    holds_buffer: bool = True
    """Whether it holds as many packets as the link's buffer."""
    marks_anyway: bool = False
    """Whether it marks what can be marked, where the law drops."""


def qdisc_of(law: Aqm, link: Link) -> Told:
    """Return the qdisc that runs a law.

    Parameters
    ----------
    law : Aqm
        With single numbers, not arrays.
    link : Link
        Whose packets it queues, at most `buffer` of them, a whole number.

    Raises
    ------
    UnsupportedError
        If Linux has no such qdisc (a subclass is another law), or not with these fields.
    DomainError
        If a number is none of those that the kernel counts in.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.taildrop import TailDrop
    >>> queue = qdisc_of(TailDrop(), Link("10Mbit/s", buffer=100))
    >>> queue.kind, queue.options.hex()
    ('pfifo', '0800020064000000')
    """
    make = stands_for(law, _QUEUES, "qdisc in Linux")
    require_single(law)
    return make(law, link)


def congestion_of(sender: Sender) -> str:
    """Return the congestion control that runs a sender.

    Raises
    ------
    UnsupportedError
        If Linux has no such congestion control (a subclass is another law), or not with these
        fields.

    Examples
    --------
    >>> from pi2_fluid.laws.senders.cubic import Cubic
    >>> congestion_of(Cubic())
    'cubic'
    """
    return stands_for(sender, _SENDERS, "congestion control in Linux", also=" or Cbr")(sender)


# The queues


def _pie(law: Pie, link: Link) -> Told:
    """sch_pie, whose timer is late by a jiffy: it is asked for one that comes out as the law's."""
    for field, value in _PIE.items():
        _require_fixed(law, field, value)
    for field, usual in _PIE_OPEN.items():
        _require_fixed(law, field, usual, None)
    options = (
        attribute(1, _microseconds(law, "target")),
        attribute(2, int(link.buffer)),
        attribute(3, _pie_interval(law)),
        attribute(4, _gain(law, "alpha")),
        attribute(5, _gain(law, "beta")),
        attribute(6, int(law.ecn)),
        *([attribute(7, 1)] if law.bytemode else ()),  # as tc does
        attribute(8, int(law.rate_estimator)),
    )
    return Told("pie", nest(_OPTIONS, *options), _otherwise(law, first_update=0.5))


def _fq_pie(law: FqPie, link: Link) -> Told:
    """sch_fq_pie."""
    numbers = law.packet_parameters(link)
    limit = PERCENT.ask(float(law.mark_limit))
    if limit is None:
        raise DomainError(
            f"FqPie mark_limit = {show_value(law.mark_limit)} is no whole number of percent, which"
            " Linux counts in: give one of 0, 0.01, 0.02 ... 1."
        )
    if law.flows > FLOWS_PER_ROUND:
        raise UnsupportedError(
            f"FqPie flows = {show_value(law.flows)} is more than the {FLOWS_PER_ROUND} queues that"
            " Linux updates at once: give fewer, or use another engine, e.g. Packets()."
        )
    options = (
        attribute(1, int(link.buffer)),
        attribute(2, int(law.flows)),
        attribute(3, _microseconds(law, "target")),
        attribute(4, _pie_interval(law)),
        attribute(5, _gain(law, "alpha")),
        attribute(6, _gain(law, "beta")),
        attribute(7, int(numbers["quantum"])),
        attribute(9, limit),
        attribute(10, int(law.ecn)),
        *([attribute(11, 1)] if law.bytemode else ()),
        attribute(12, int(law.rate_estimator)),
    )
    return Told("fq_pie", nest(_OPTIONS, *options), _otherwise(law, first_update=0.5))


def _pie_interval(law: Pie | FqPie) -> int:
    """Return what to ask for (us) so that PIE updates as often as the law does."""
    wanted = float(law.update_interval) * HZ
    for count in range(1, math.ceil(wanted) + 1):
        if abs(timer_period(count) - wanted) <= _CUT:
            return count * 1_000_000 // HZ
    low = max((n for n in range(1, math.ceil(wanted) + 1) if timer_period(n) <= wanted), default=1)
    raise DomainError(
        f"{type(law).__name__} update_interval = {show_value(law.update_interval)} is none of the"
        f" times after which the timer of a kernel of {HZ} ticks per second fires: give another,"
        f" such as {timer_period(low) / HZ!r}."
    )


def _dualpi2(law: DualPi2, link: Link) -> Told:
    """sch_dualpi2."""
    _require_fixed(law, "variant", "linux6.18")
    _require_fixed(law, "ramp", None)
    step, protected = _microseconds(law, "step"), PERCENT.ask(float(law.c_protection))
    if protected is None:
        raise DomainError(
            f"DualPi2 c_protection = {show_value(law.c_protection)} is no whole number of percent,"
            " which Linux counts in: give one of 0, 0.01, 0.02 ... 1."
        )
    waiting = float(law.min_step_packets)
    if waiting != math.floor(waiting) or waiting > _WORD:
        raise DomainError(
            f"DualPi2 min_step_packets = {show_value(law.min_step_packets)} is no whole number of"
            " packets that Linux can count: give one, such as 2."
        )
    coupling = float(law.k)
    if coupling not in COUPLING.numbers:
        raise DomainError(
            f"DualPi2 k = {show_value(law.k)} is none of 1, 2 ... {COUPLING.high}, which Linux can"
            " couple by: give one of them."
        )
    options = (
        *_dual_controller(law, link),
        attribute(8, step),
        attribute(9, int(waiting)),
        attribute(10, bytes([int(coupling)])),
        attribute(11, bytes([law.drop_overload])),
        attribute(13, bytes([protected])),
    )
    first = float(law.update_interval)
    return Told("dualpi2", nest(_OPTIONS, *options), _otherwise(law, first_update=first))


def _pi2(law: Pi2, link: Link) -> Told:
    """sch_dualpi2 with nothing in L: PI2, coupled by 1, so that there is no overload below p' = 1.

    It always marks what can be marked.
    """
    _require_fixed(law, "variant", "plain")
    options = (
        *_dual_controller(law, link),
        attribute(10, b"\x01"),
        attribute(11, b"\x01"),
    )
    first = float(law.update_interval)
    told = Told("dualpi2", nest(_OPTIONS, *options), _otherwise(law, first_update=first))
    return told._replace(marks_anyway=not law.ecn)


def _dual_controller(law: DualPi2 | Pi2, link: Link) -> tuple[bytes, ...]:
    return (
        attribute(1, int(link.buffer)),
        attribute(2, _MEMORY),
        attribute(3, _microseconds(law, "target")),
        attribute(4, _microseconds(law, "update_interval")),
        attribute(5, _gain(law, "alpha")),
        attribute(6, _gain(law, "beta")),
        attribute(12, bytes([law.drop_at == "enqueue"])),
    )


def _codel(law: CoDel, link: Link) -> Told:
    """sch_codel."""
    options = (
        attribute(1, _microseconds(law, "target")),
        attribute(2, int(link.buffer)),
        attribute(3, _microseconds(law, "interval")),
        attribute(4, int(law.ecn)),
    )
    return Told("codel", nest(_OPTIONS, *options), _otherwise(law))


def _fq_codel(law: FqCodel, link: Link) -> Told:
    """sch_fq_codel."""
    numbers = law.packet_parameters(link)
    options = [
        attribute(1, _microseconds(law, "target")),
        attribute(2, int(link.buffer)),
        attribute(3, _microseconds(law, "interval")),
        attribute(4, int(law.ecn)),
        attribute(5, int(law.flows)),
        attribute(6, int(numbers["quantum"])),
        attribute(8, int(law.drop_batch)),
        attribute(9, int(law.memory_limit)),
    ]
    if law.ce_threshold is not None:
        options.append(attribute(7, _microseconds(law, "ce_threshold")))
    if law.ce_threshold_selector == "ect1":
        options += [attribute(10, bytes([_ECT1])), attribute(11, bytes([_ECN_FIELD]))]
    return Told("fq_codel", nest(_OPTIONS, *options), _otherwise(law))


def _red(law: Red, link: Link) -> Told:
    """sch_red, in bytes; without a table of decays, since a token bucket never lets it idle."""
    for field, value in _RED.items():
        _require_fixed(law, field, value)
    size = float(link.packet_size)
    low, high, most = (round(float(n) * size) for n in (law.min, law.max, link.buffer))
    shift = -math.log2(float(law.weight))
    if shift != round(shift) or shift > _MOST_SHIFT:
        raise DomainError(
            f"Red weight = {show_value(law.weight)} is none of 1, 1/2, 1/4 ... 2**-31, which"
            " Linux averages by: give one of them, such as 2**-9."
        )
    if high.bit_length() + round(shift) > _MOST_SHIFT or most > _WORD:
        raise DomainError(
            f"Red max = {show_value(law.max)} packets, averaged by weight ="
            f" {float(law.weight):g} in front of that buffer, is beyond the 31 bits that Linux"
            " counts bytes in: give smaller ones, or a larger weight."
        )
    # Plog is for kernels that are not told max_p.
    words = _RED_ECN * law.ecn | _RED_HARDDROP * law.harddrop | _RED_NODROP * law.nodrop
    flags = struct.pack("<2I", words, _RED_FLAGS)
    numbers = struct.pack("<3I4B", most, low, high, round(shift), _MOST_SHIFT, 0, 0)
    chance = min(int(float(law.max_p) * 2**32), _WORD)
    options = (
        attribute(1, numbers),
        attribute(2, bytes(256)),
        attribute(3, chance),
        attribute(4, flags),
    )
    return Told("red", nest(_OPTIONS, *options), _otherwise(law))


def _taildrop(law: TailDrop, link: Link) -> Told:
    """sch_fifo, in packets."""
    del law
    return Told("pfifo", attribute(_OPTIONS, int(link.buffer)))


def _own(law: Qdisc, link: Link) -> Told:
    """One of the kernel's own."""
    filled = holds(law, link) == int(link.buffer)
    return Told(law.name, options_of(law, link), holds_buffer=filled)


# What the kernel counts in


def _gain(law: PiFamily | FqPie, field: str) -> int:
    """Return a gain in the kernel's parts of 1 Hz: those behind it, or the nearest."""
    value, unit = float(getattr(law, field)), unit_of(law, field)
    behind = parts_behind(value) if unit is DUALPI2_GAIN else None
    parts = int(unit.nearest(value)) if behind is None else behind
    if behind is None and abs(parts / unit.per_si - value) > _NEAR * value:
        parts = 0
    if parts not in unit.numbers:
        near = max(unit.low, min(int(unit.nearest(value)), unit.high))
        raise DomainError(
            f"{type(law).__name__} {field} = {value!r} is off the kernel's grid of 1/{unit.per_si}"
            f" Hz: give a multiple of that, such as {near / unit.per_si!r}."
        )
    return parts


def _microseconds(law: Aqm, field: str) -> int:
    value = float(getattr(law, field))
    exact = MICROSECONDS.per_si * value
    if abs(exact - round(exact)) > _CUT or round(exact) not in MICROSECONDS.numbers:
        raise DomainError(
            f"{type(law).__name__} {field} = {value!r} is no whole number of microseconds up to"
            ' 4.29 s, which the kernel is told: give one, such as "15ms".'
        )
    return round(exact)


def _fixed(name: str, **fields: object) -> Callable[[Sender], str]:
    """Return what names a congestion control, of a sender with these numbers."""

    def control(sender: Sender) -> str:
        for field, value in fields.items():
            _require_fixed(sender, field, value)
        return name

    return control


def _require_fixed(law: Aqm | Sender, field: str, *known: object) -> None:
    value = getattr(law, field)
    if value not in known:
        raise UnsupportedError(
            f"{type(law).__name__} {field} = {show_value(value)} is not in Linux: give {field} ="
            f" {show_value(known[0])}, or use another engine, e.g. Packets()."
        )


def _otherwise(law: Aqm, first_update: float | None = None) -> tuple[str, ...]:
    """Return which fields for packets ask for what the kernel does not do."""
    found = {
        "arithmetic": getattr(law, "arithmetic", "fixed") != "fixed",
        "quirks": not getattr(law, "quirks", True),
        "first_update": getattr(law, "first_update", None) not in (None, first_update),
    }
    return tuple(name for name, differs in found.items() if differs)


_PIE: Final[dict[str, object]] = {
    "variant": "linux6.18",
    "gain_table": "rfc8033",
    "caps": True,
    "boosts": True,
    "idle_decay": 1.0 - 1.0 / 64.0,
    "mark_limit": 0.1,
    "drop_at": "enqueue",
}
#: Of these None asks for the variant's.
_PIE_OPEN: Final[dict[str, object]] = {"burst": 0.15, "half_target": True, "derandomize": True}
_RED: Final[dict[str, object]] = {
    "gentle": False,
    "adaptive": False,
    "idle_decay": False,
    "spacing": "uniform",
}
_QUEUES: Final[dict[str, Callable[[Any, Link], Told]]] = {
    "pie": _pie,
    "pi2": _pi2,
    "dualpi2": _dualpi2,
    "red": _red,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "fq_pie": _fq_pie,
    "taildrop": _taildrop,
    "qdisc": _own,
}
_SENDERS: Final[dict[str, Callable[[Any], str]]] = {
    "reno": _fixed("reno", decrease=0.5, growth="per_segment"),
    "cubic": _fixed("cubic", variant="linux", c=0.4, decrease=0.3, hystart=True),
    "prague": _fixed("prague", gain=1 / 16, target_rtt=0.025),  # in the tree of the L4S team
    "dctcp": _fixed("dctcp", gain=1 / 16, variant="linux"),
    "congestion": lambda sender: sender.control,
}
