"""The jiffies of the kernel and its timer wheel, and how tc prints times.

Times that pass between tc and the kernel are whole microseconds (us). What a kernel makes of the
numbers of a law is in `model.kernel_units`.

Source: Linux 6.18, kernel/time/timer.c, net/sched/sch_fq_pie.c; iproute2, lib/utils.c.
"""

from __future__ import annotations

from typing import Final

_US: Final = 1_000_000
_WHEEL: Final = (63, 8)  # slots ahead that a level of the timer wheel reaches, ratio of the levels

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
