"""TCP Reno with retransmission timeouts, where windows are small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number, sqrt
from pi2_fluid.records.record import Parameter, quantity
from pi2_fluid.units import LONG_PATH

_State: TypeAlias = tuple[Number, Number]


@dataclass(frozen=True, eq=False, kw_only=True)
class TimeoutReno(Sender):
    """TCP Reno whose losses cost timeouts, during which a part of the flows does not send.

    With H = W(t-R)/R(t-R) p(t-R) losses per second of a flow that sends, and f(p) = 1 + p + 2 p^2
    + 4 p^3 + 8 p^4 + 16 p^5 + 32 p^6,

        dW/dt = 1/R(t) - decrease W(t) H
        da/dt = (1 - a) (1 - p(t-R)) / ((R(t) + min_rto) f(p(t-R))) - a H p(t-R)

    W is the mean window of the flows that send, `a` their part of all; the others wait for their
    retransmission timer. A flow sends a W/R, of which 1 - p enters the queue.

    Parameters
    ----------
    decrease : float, default 0.5
        Fraction of the window removed per signal, in (0, 1].
    min_rto : float or str, default "200ms"
        What the retransmission timer waits beyond the round-trip time (s): at least that in Linux.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    *Where it comes from.* A loss is repaired within a round trip, as RACK and tail loss probes do
    at any window, unless what is sent again is lost too, which has the probability p: then the
    timer runs out. It doubles, up to six times, for as long as the one segment sent at its end is
    lost, which makes (R + min_rto) f(p) / (1 - p) on the mean (Padhye). At rest

        W = 1/sqrt(decrease p),  a = 1 / (1 + p^2 W/R (R + min_rto) f(p) / (1 - p)),

    and there is such a rest at any load, as the rate goes to 0 with p to 1. Nothing is fitted.

    *What for.* Where windows fall below two segments, and all signals are drops: traffic that is
    marked has no timeouts. For 50 to 400 flows on 10 Mbit/s at 20 to 100 ms, where the loss is 16
    to 49 %, that of packets, as Linux's TCP sends them, is met within 15 % (see docs/fluid.md);
    `Reno`'s law asks for two to three times as much, or finds no rest. Where windows are large the
    two laws are one. In packets, it is Reno.

    Source: Padhye, Firoiu, Towsley, Kurose (SIGCOMM 1998), section II.B; RFC 6298; RFC 8985.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> crowd = pf.Flows(pf.TimeoutReno(), 100, "50ms")
    >>> rest = pf.equilibrium(crowd, pf.Pi2(), "10Mbit/s")
    >>> print(f"p = {rest.p[0]:.3f}, {rest.window[0]:.2f} segments")
    p = 0.297, 2.60 segments
    """

    congestion: ClassVar = "reno"
    signal: ClassVar = "classic"
    states: ClassVar = ("window", "sending")
    smallest_window: ClassVar = 0.0
    decrease: Parameter = quantity(0.5, "number", high=1.0)
    min_rto: Parameter = quantity("200ms", "time", usual=LONG_PATH)

    @property
    def thinned(self) -> bool:
        """True: what is dropped of it does not enter the queue."""
        return True

    def rate(
        self,
        x: _State,
        x_delayed: _State,
        signal_delayed: Number,
        rtt: Number,
        rtt_delayed: Number,
    ) -> tuple[Number, Number]:
        """Return d(W, a)/dt per second."""
        window, sending = x
        losses = x_delayed[0] / rtt_delayed * signal_delayed
        back = (1.0 - signal_delayed) / ((rtt + self.min_rto) * _backoff(signal_delayed))
        return (
            1.0 / rtt - self.decrease * window * losses,
            (1.0 - sending) * back - sending * losses * signal_delayed,
        )

    def packet_parameters(self) -> dict[str, Any]:
        """Return the decrease: in packets, timeouts come of themselves."""
        return {"decrease": self.decrease, "per_ack": False}

    def sending_rate(self, x: _State, rtt: Number) -> Number:
        """Return a W/R, the mean of all flows."""
        return x[1] * x[0] / rtt

    def initial(self, window: Number) -> tuple[Number, Number]:
        """Return (window, 1): no flow waits."""
        return (window, 1.0)

    def at_rest(self, rtt: Number, p: Number) -> tuple[Number, Number]:
        """Return (W, a) at rest."""
        window = 1.0 / sqrt(self.decrease * p)
        back = (1.0 - p) / ((rtt + self.min_rto) * _backoff(p))
        return (window, back / (back + p * p * window / rtt))


def _backoff(p: Number) -> Number:
    """Return the mean length of a series of timeouts that double, in units of the first.

    Times 1/(1 - p).
    """
    return 1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))))
