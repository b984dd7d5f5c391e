"""TCP Reno's window law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number, sqrt
from pi2_fluid.records.record import Parameter, choice, numbers_of, quantity

#: Segments per round trip; receivers acknowledge every second one.
_INCREASE: Final = {"per_segment": 1.0, "per_ack": 0.5}


@dataclass(frozen=True, eq=False, kw_only=True)
class Reno(Sender):
    """TCP Reno: one segment more per round trip, a fraction `decrease` less per signal.

    dW/dt = increase/R(t) - decrease W(t) W(t-R) / R(t-R) p(t-R)

    Parameters
    ----------
    decrease : float, default 0.5
        Fraction of the window removed per signal, in (0, 1].
    growth : {"per_segment", "per_ack"}
        Whether each acknowledged segment adds 1/W, as in Linux since 4.0, or each acknowledgement,
        whatever it is for, as in Linux before, in ns-3's TcpNewReno and the older standard.
        Receivers acknowledge every second segment (delayed acknowledgements), so that the latter is
        an increase of 1/2 segment per round trip, and windows 1/sqrt(2) as large at the same p.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    *Growth per acknowledgement* is what packets do with those that come: of flows with
    ``delayed_ack=False``, or where receivers acknowledge at once, as they do after a hole, it is
    growth per segment. Loops and trajectories take every second one for granted, as
    `Cubic(variant="linux3.18")` does. In slow start packets grow by a half per round trip then, and
    the fluid by a whole, as of any sender.

    Source: PI2 paper (CoNEXT'16), equation (15); Misra, Gong, Towsley (SIGCOMM 2000). Growth: RFC
    3465, section 2, per segment; RFC 5681, section 3.1, per acknowledgement.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> print(f"{pf.Reno().at_rest(rtt=0.1, p=0.01):.2f} segments")
    14.14 segments
    >>> pf.Reno().rate(20.0, 20.0, 0.01, 0.1, 0.1)
    -10.0
    """

    congestion: ClassVar = "reno"
    plant: ClassVar = "reno"
    signal: ClassVar = "classic"
    reduction: ClassVar = "prr"
    decrease: Parameter = quantity(0.5, "number", high=1.0)
    growth: str = choice("per_segment", tuple(_INCREASE))

    @property
    def increase(self) -> float:
        """Segments by which the window grows in a round trip."""
        return _INCREASE[self.growth]

    @property
    def cut_variance(self) -> Number:
        """2/(2 - decrease): the larger of several windows is signalled more, and cut by more."""
        return 2.0 / (2.0 - self.decrease)

    def rate(
        self, x: Number, x_delayed: Number, signal_delayed: Number, rtt: Number, rtt_delayed: Number
    ) -> Number:
        """Return dW/dt in segments per second."""
        return self.increase / rtt - self.decrease * x * x_delayed / rtt_delayed * signal_delayed

    def acked(self, x: Number, acks: Number, marks: Number, rtt: Number) -> tuple[Number, Number]:
        """Return increase/W per acknowledged segment, and `decrease` of W per signal."""
        return self.increase * acks / x, self.decrease * x * marks

    def at_rest(self, rtt: Number, p: Number) -> Number:
        """Return the window at rest: decrease W^2 p = increase, equation (19)."""
        return 1.0 / sqrt(self.decrease / self.increase * p)

    def equilibrium(self, rtt: Number, rate: Number) -> Number:
        """Return the p at which the flow sends `rate` segments/s."""
        return self.increase / (self.decrease * (rate * rtt) ** 2)

    def packet_parameters(self) -> dict[str, Any]:
        """Return the decrease, and whether acknowledgements are counted instead of segments."""
        per_ack = self.growth == "per_ack"
        return numbers_of(self, without=("growth",)) | {"per_ack": per_ack}
