"""The kernels between which Linux's PIE changed, and what each of them runs.

Source: Linux, net/sched/sch_pie.c and kernel/time/timer.c: PIE is there since 3.14; since 4.8 a
timer fires a jiffy late; 5.1 has the table of RFC 8033, in 64 bits; since 5.5 the rate of departure
is estimated only if asked for, and the statistics show it only then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.tc import kernel

_VERSION: Final = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?:[.\-+_].*)?")


@dataclass(frozen=True)
class Generation:
    """Kernels that run PIE alike.

    Parameters
    ----------
    name : str
        Their versions in words.
    since : (int, int)
        The first.
    variant : {"linux4.14", "linux6.18"}
        That of `Pie`.
    late : bool
        Whether timers fire a jiffy late.
    estimates : bool
        Whether the rate of departure is always estimated.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> pf.qdisc.install(pf.Pie(), "pie").kernel.name
    '5.5 and newer'
    """

    name: str
    since: tuple[int, int]
    variant: str
    late: bool
    estimates: bool

    def period(self, count: int) -> int:
        """Return how many jiffies pass between updates that are asked for `count` apart."""
        return kernel.timer_period(count) if self.late else count

    def __str__(self) -> str:
        return self.name


#: From old to new.
GENERATIONS: Final = (
    Generation("3.14 to 4.7", (3, 14), "linux4.14", late=False, estimates=True),
    Generation("4.8 to 5.0", (4, 8), "linux4.14", late=True, estimates=True),
    Generation("5.1 to 5.4", (5, 1), "linux6.18", late=True, estimates=True),
    Generation("5.5 and newer", (5, 5), "linux6.18", late=True, estimates=False),
)
NEWEST: Final = GENERATIONS[-1]
#: Those whose statistics show a rate of departure that was not asked for.
OLDER: Final = tuple(one for one in GENERATIONS if one.estimates)


def generation_of(version: object) -> Generation:
    """Return the generation of a kernel, from its version as ``uname -r`` prints it.

    Raises
    ------
    QuantityError
        If it is no version.
    DomainError
        If that kernel has no PIE.

    Examples
    --------
    >>> print(generation_of("4.19.0-26-amd64"), "|", generation_of("6.18"))
    4.8 to 5.0 | 5.5 and newer
    """
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if match is None:
        raise QuantityError(
            f"kernel = {show_value(version)} is no version: give what `uname -r` prints, as '5.15'."
        )
    number = int(match[1]), int(match[2])
    known = [one for one in GENERATIONS if one.since <= number]
    if not known:
        raise DomainError(
            f"kernel = {show_value(version)} has no PIE, which Linux has since 3.14: give the"
            " version of the kernel that the queue runs on."
        )
    return known[-1]
