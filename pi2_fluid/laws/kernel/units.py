"""What a kernel and tc count the parameters of laws in: a field declares it as ``kernel=``.

tc passes on whole numbers, the kernel makes of them what it computes with, and tells tc what is
left of that. What depends on more than the number (PIE's timer, on the kernel's ticks) is in
`pi2_fluid.tc`.

Source: Linux 6.18, net/sched/sch_pie.c, sch_dualpi2.c; iproute2 7.3, tc/q_pie.c, q_dualpi2.c.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from pi2_fluid.laws.kernel.gains import (
    PARTS_PER_HERTZ,
    gain_in_hertz,
    parts_behind,
    scale_gain,
    single,
    unscale_gain,
)
from pi2_fluid.records.record import default_of
from pi2_fluid.records.unit import Unit

_TICK: Final = 64  # ns, of PIE's clock
_FORGIVEN: Final = 1e-3  # us that a binary number may fall short of the decimal one
_LARGEST_READ: Final = float(2**24)  # Hz: beyond all that a kernel takes


class _Time(Unit):
    """Microseconds, cut off by tc."""

    def ask(self, value: float) -> int:
        return math.floor(value * self.per_si + _FORGIVEN)


class _PieTarget(_Time):
    """Microseconds of which the kernel keeps ticks of 64 ns, cut off both ways."""

    def act(self, asked: int) -> float:
        return self._ticks(asked) * _TICK / 1e9

    def tell(self, asked: int) -> int:
        return self._ticks(asked) * _TICK // 1000

    def _ticks(self, asked: int) -> int:
        return asked * 1000 // _TICK


class _PieGain(Unit):
    """Parts of 1 Hz, the nearest."""

    def ask(self, value: float) -> int:
        return self.nearest(value)


class _DualPi2Gain(Unit):
    """Parts of 1 Hz, which tc cuts off in single precision, and the kernel once more."""

    def ask(self, value: float) -> int:
        # Of a gain that a kernel runs with, the parts that make it.
        behind = parts_behind(value)
        return self.cut(value) if behind is None else behind

    def cut(self, value: float) -> int:
        """Return what tc makes of a gain that it reads."""
        return int(single(min(value, _LARGEST_READ)) * self.per_si)

    def act(self, asked: int) -> float:
        return gain_in_hertz(scale_gain(asked))

    def tell(self, asked: int) -> int:
        return unscale_gain(scale_gain(asked))


@dataclass(frozen=True, kw_only=True)
class Switched(Unit):
    """1 for one value of a choice, 0 for the other."""

    name: str = "switch"
    low: int = 0
    high: int = 1
    off: Any = False
    on: Any = True

    def ask(self, value: Any) -> int:
        """Return 1 if it is on."""
        return int(value == self.on)

    def nearest(self, value: Any) -> int:
        """Return 1 if it is on."""
        return self.ask(value)

    def act(self, asked: int) -> Any:
        """Return the value that stands for it."""
        return self.on if asked else self.off


#: DualPI2 keeps times in 32 bits of ns, PIE in all that tc can tell it.
MICROSECONDS: Final = _Time(name="time", per_si=1_000_000, high=2**32 // 1000 - 1)
PIE_INTERVAL: Final = _Time(name="time", per_si=1_000_000)
PIE_TARGET: Final = _PieTarget(name="time", per_si=1_000_000)
PIE_GAIN: Final = _PieGain(name="sixteenths", per_si=16, high=32)
DUALPI2_GAIN: Final = _DualPi2Gain(name="hertz", per_si=PARTS_PER_HERTZ, high=2**31 - 1)
COUPLING: Final = Unit(name="count", high=255)
PACKETS: Final = Unit(name="packets", low=0)
PERCENT: Final = Unit(name="percent", per_si=100, low=0, high=100)
SWITCH: Final = Switched()
AT_ENQUEUE: Final = Switched(off="dequeue", on="enqueue")


class Told(NamedTuple):
    """A parameter that tc has a word for."""

    name: str
    unit: Unit
    default: int
    """What the kernel takes where nothing is asked: the law's own default."""


def told_to_tc(law: Any) -> dict[str, Told]:
    """Return the parameters of a law, or of a class of laws, that tc has words for, by these.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.pie import Pie
    >>> told_to_tc(Pie)["tupdate"].name
    'update_interval'
    """
    return _told(law if isinstance(law, type) else type(law))


@cache
def _told(cls: Any) -> dict[str, Told]:
    found = {}
    for field in dataclasses.fields(cls):
        if (word := field.metadata.get("tc")) is not None:
            unit = field.metadata["kernel"]
            found[word] = Told(field.name, unit, unit.nearest(default_of(field)))
    return found


def unit_of(law: Any, name: str) -> Any:
    """Return what a kernel counts a parameter of a law in.

    Examples
    --------
    >>> from pi2_fluid.laws.aqms.pie import Pie
    >>> unit_of(Pie, "alpha").per_si
    16
    """
    return next(f.metadata["kernel"] for f in dataclasses.fields(law) if f.name == name)
