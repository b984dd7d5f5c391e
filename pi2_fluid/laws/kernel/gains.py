"""DualPI2's gains as the kernel keeps them: integers, of which tc is told multiples of 1/256 Hz.

Source: Linux 6.18, net/sched/sch_dualpi2.c; iproute2, tc/q_dualpi2.c.
"""

from __future__ import annotations

import math
import struct
from typing import Final

#: What the gains are counted in between tc and the kernel.
PARTS_PER_HERTZ: Final = 256

_NS: Final = 1_000_000_000
_FULL: Final = 2**32 - 1  # p' = 1
_GRANULARITY: Final = 64  # gains are in 1/64 of the units of p' per ns


def scale_gain(parts: int) -> int:
    """Return the gain that DualPI2 keeps of `parts` 1/256 Hz, cut off.

    Examples
    --------
    >>> scale_gain(41), scale_gain(819)
    (44, 879)
    """
    return (parts * _FULL >> 2) // _NS


def single(value: float) -> float:
    """Return a number in single precision, which tc reads gains in."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


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
