"""The scalable window law: half a segment less per mark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number
from pi2_fluid.records.record import Parameter, quantity


@dataclass(frozen=True, eq=False, kw_only=True)
class Scalable(Sender):
    """A scalable congestion control: `per_mark` segments less for every mark.

    dW/dt = 1/R(t) - per_mark W(t-R) / R(t-R) p(t-R)

    With 0.5 it is what DCTCP does on average under independent marks: the number of marks per
    round trip is 2 at rest, whatever the rate.

    Parameters
    ----------
    per_mark : float, default 0.5
        Segments removed from the window per marked acknowledgement, in (0, inf).

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    Source: PI2 paper (CoNEXT'16), equation (22).

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> print(f"{pf.equilibrium_of(pf.Scalable(), pf.Pi(), rtt='50ms', p=0.1).window:.1f} segments")
    20.0 segments
    """

    congestion: ClassVar = "scalable"
    plant: ClassVar = "scalable"
    signal: ClassVar = "scalable"
    per_mark: Parameter = quantity(0.5, "number")

    def rate(
        self,
        x: Number,
        x_delayed: Number,
        signal_delayed: Number,
        rtt: Number,
        rtt_delayed: Number,
    ) -> Number:
        """Return dW/dt in segments per second."""
        return 1.0 / rtt - self.per_mark * x_delayed / rtt_delayed * signal_delayed

    def acked(self, x: Number, acks: Number, marks: Number, rtt: Number) -> tuple[Number, Number]:
        """Return 1/W per acknowledgement, and `per_mark` per mark."""
        return acks / x, self.per_mark * marks

    def at_rest(self, rtt: Number, p: Number) -> Number:
        """Return the window at rest: per_mark W p = 1, equation (23)."""
        return 1.0 / (self.per_mark * p)

    def equilibrium(self, rtt: Number, rate: Number) -> Number:
        """Return the p at which the flow sends `rate` segments/s."""
        return 1.0 / (self.per_mark * rate * rtt)
