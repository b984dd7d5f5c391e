"""TCP Reno's window law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number, sqrt
from pi2_fluid.records.record import Parameter, quantity

__all__ = ["Reno"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Reno(Sender):
    """TCP Reno: one segment more per round trip, a fraction `decrease` less per signal.

    dW/dt = 1/R(t) - decrease W(t) W(t-R) / R(t-R) p(t-R)

    Parameters
    ----------
    decrease : float, default 0.5
        Fraction of the window removed per signal, in (0, 1].

    Notes
    -----
    Source: PI2 paper (CoNEXT'16), equation (15); Misra, Gong, Towsley (SIGCOMM 2000).
    """

    kernel: ClassVar = "reno"
    congestion: ClassVar = "reno"
    plant: ClassVar = "reno"
    signal: ClassVar = "classic"
    reduction: ClassVar = "prr"
    decrease: Parameter = quantity(0.5, "number", high=1.0)

    def rate(
        self, x: Number, x_delayed: Number, signal_delayed: Number, rtt: Number, rtt_delayed: Number
    ) -> Number:
        """Return dW/dt in segments per second."""
        return 1.0 / rtt - self.decrease * x * x_delayed / rtt_delayed * signal_delayed

    def acked(self, x: Number, acks: Number, marks: Number, rtt: Number) -> tuple[Number, Number]:
        """Return 1/W per acknowledgement, and the fraction `decrease` of W per signal."""
        return acks / x, self.decrease * x * marks

    def at_rest(self, rtt: Number, p: Number) -> Number:
        """Return the window at rest: decrease W^2 p = 1, equation (19)."""
        return 1.0 / sqrt(self.decrease * p)

    def equilibrium(self, rtt: Number, rate: Number) -> Number:
        """Return the p at which the flow sends `rate` segments/s."""
        return 1.0 / (self.decrease * (rate * rtt) ** 2)
