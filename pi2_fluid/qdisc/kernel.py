"""The integers of the kernel and of tc: jiffies and the timer wheel, ticks, gains.

Times that pass between tc and the kernel are whole microseconds (us), gains are multiples of 1/16
Hz (PIE) or of 1/256 Hz (DualPI2).

Source: Linux 6.18, kernel/time/timer.c, net/sched/sch_pie.c, sch_fq_pie.c, sch_dualpi2.c; iproute2,
tc/q_dualpi2.c and lib/utils.c.
"""

from __future__ import annotations

import math
import struct
from typing import Final

__all__ = [
    "FLOWS_PER_ROUND",
    "PARTS_PER_HERTZ",
    "gain_in_hertz",
    "jiffies",
    "jiffies_to_us",
    "parts_behind",
    "scale_gain",
    "single",
    "ticks",
    "ticks_to_us",
    "time_text",
    "timer_period",
    "unscale_gain",
]

_US: Final = 1_000_000
_NS: Final = 1_000_000_000
_FULL: Final = 2**32 - 1  # p' = 1
_TICK: Final = 64  # ns, of PIE's clock
_GRANULARITY: Final = 64  # DualPI2's gains are in 1/64 of the units of p' per ns
_WHEEL: Final = (63, 8)  # slots ahead that a level of the timer wheel reaches, ratio of the levels

#: What DualPI2's gains are counted in between tc and the kernel.
PARTS_PER_HERTZ: Final = 256

#: How many queues of fq_pie are updated at once; the rest waits for the next jiffy.
FLOWS_PER_ROUND: Final = 2048


def jiffies(us: int, hz: int) -> int:
    """Return a time in jiffies, rounded up.

    Examples
    --------
    >>> jiffies(30000, 250), jiffies(15000, 1000)
    (8, 15)
    """
    return -(-us * hz // _US)


def jiffies_to_us(count: int, hz: int) -> int:
    """Return jiffies as the microseconds that tc is told."""
    return count * _US // hz


def timer_period(count: int) -> int:
    """Return how many jiffies pass between two expiries of a timer that re-arms itself for `count`.

    The wheel rounds up to the next slot, even from one: one jiffy more up to 63, above that the
    next multiple of 8, then of 64 and so on. Since 4.8; older kernels fire after `count`.

    Examples
    --------
    >>> [timer_period(count) for count in (15, 32, 63, 100, 600)]
    [16, 33, 64, 104, 640]
    """
    reach, ratio = _WHEEL
    slot = 1
    while count > reach * slot:
        slot *= ratio
    return (count // slot + 1) * slot


def ticks(us: int) -> int:
    """Return a time in PIE's ticks of 64 ns, cut off."""
    return us * 1000 // _TICK


def ticks_to_us(count: int) -> int:
    """Return ticks as the microseconds that tc is told, cut off."""
    return count * _TICK // 1000


def scale_gain(parts: int) -> int:
    """Return the gain that DualPI2 keeps of `parts` 1/256 Hz, cut off.

    Examples
    --------
    >>> scale_gain(41), scale_gain(819)
    (44, 879)
    """
    return (parts * _FULL >> 2) // _NS


def unscale_gain(gain: int) -> int:
    """Return what DualPI2 tells tc of a gain, in 1/256 Hz, cut off again: one below what was asked.

    Examples
    --------
    >>> unscale_gain(scale_gain(41)), unscale_gain(scale_gain(819))
    (40, 818)
    """
    return gain * _NS * 4 // _FULL


def gain_in_hertz(gain: int) -> float:
    """Return the gain with which DualPI2 acts.

    Examples
    --------
    >>> round(gain_in_hertz(scale_gain(80)), 4)  # 0.3125 Hz
    0.3092
    """
    return gain * _NS / (_GRANULARITY * _FULL)


def parts_behind(hertz: float) -> int | None:
    """Return of how many 1/256 Hz DualPI2 keeps this gain, to nine digits; None if of none.

    It is the inverse of `gain_in_hertz(scale_gain(parts))`: a unit of the kernel's is less than
    1/256 Hz, so that each number of parts has a gain of its own, less than one of them below it.

    Examples
    --------
    >>> parts_behind(gain_in_hertz(scale_gain(41))), parts_behind(41 / 256)
    (41, None)
    """
    parts = math.ceil(hertz * PARTS_PER_HERTZ)
    return parts if math.isclose(gain_in_hertz(scale_gain(parts)), hertz, rel_tol=1e-9) else None


def single(value: float) -> float:
    """Return a number in single precision, which tc reads gains in."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def time_text(us: int) -> str:
    """Return a time as tc prints it, to three digits.

    Examples
    --------
    >>> time_text(15000), time_text(16666), time_text(999), time_text(1500000)
    ('15ms', '16.7ms', '999us', '1.5s')
    """
    if us >= _US:
        return f"{us / _US:.3g}s"
    if us >= 1000:
        return f"{us / 1000:.3g}ms"
    return f"{us}us"
