"""CoDel: described here, run by packet-level simulations only."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pi2_fluid.errors import DomainError, UnsupportedError, show_value
from pi2_fluid.laws.packet_limits import require_single, require_time, require_whole_packets
from pi2_fluid.laws.packets_only import PacketsOnly
from pi2_fluid.records.record import Parameter, choice, quantity
from pi2_fluid.units import LONG_WAIT

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Line

_SHORTEST: Final = 1e-5  # s


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class CoDel(PacketsOnly):
    """Controlled delay: it drops faster and faster while the delay stays above a target.

    Parameters
    ----------
    target : float or str
        Delay (s) that a standing queue may have.
    interval : float or str
        Time (s) above the target before the first drop; the n-th next one comes after
        interval / sqrt(n).
    ecn : bool, default False
        Whether packets that can be marked are marked instead of dropped.
    arithmetic : {"real", "fixed"}
        "fixed" counts in the integers of Linux: time in units of 1.024 us, and 1/sqrt(n) by one
        Newton step for each n, which lets the second drop come after 0.5 interval, not 0.71.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a time is not above 0.
    UnsupportedError
        By every method: see below.

    Notes
    -----
    Its next step depends on when it dropped last, packet by packet, not on a state that a mean
    rate of packets could move: there is no honest fluid form. Every method raises
    `UnsupportedError`.

    Source: RFC 8289; Linux, codel_impl.h.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> one = pf.Scenario("5s", pf.Link("10Mbit/s"), pf.CoDel(), pf.Flows(pf.Reno(), 1, "50ms"))
    >>> runs = pf.packet.simulate(one, seeds=1)
    >>> print(f"{1e3 * pf.summarize(runs, after='2s').delay_mean.mean():.0f} ms")
    2 ms
    """

    discipline: ClassVar = "codel"
    packets_only: ClassVar = ("ecn", "arithmetic")

    target: Parameter = quantity("5ms", "time", usual=LONG_WAIT)
    interval: Parameter = quantity("100ms", "time", usual=LONG_WAIT)
    ecn: bool = choice(False, (True, False))
    arithmetic: str = choice("real", ("real", "fixed"))

    def packet_parameters(self, link: Line) -> dict[str, Any]:
        """Return what configures the queue discipline, named as in native/packet/queues/codel.c.

        Raises
        ------
        DomainError
            If packet_size is no whole number of bytes, the interval shorter than 10 us, or target
            or interval 1000 s or longer.
        UnsupportedError
            If a field holds an array.
        """
        require_single(self)
        require_whole_packets(link)
        if self.interval < _SHORTEST:
            raise DomainError(
                f"CoDel interval = {show_value(self.interval)} is shorter than 10 us, of which too"
                " few of the clock's units make one: give an interval of 10us or more."
            )
        require_time("CoDel target", self.target)
        require_time("CoDel interval", self.interval)
        return super().packet_parameters(link) | {
            "fixed": self.arithmetic == "fixed",
            "ce_threshold": math.inf,
            "ect1_alone": False,
        }

    def without_fluid(self) -> UnsupportedError:
        """Return why only packets run it."""
        return UnsupportedError(
            "CoDel decides packet by packet from the time since its last drop and has no honest"
            " fluid form, so neither fluid nor loop can run it: use a packet-level simulation."
        )
