"""Cubic's window law, averaged over the epochs between two signals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from pi2_fluid.laws.sender import Sender
from pi2_fluid.ops import Number, cbrt, sqrt, where
from pi2_fluid.records.record import Parameter, choice, quantity

_State: TypeAlias = tuple[Number, Number, Number, Number]

# Segments per round trip by which the Reno-friendly estimate grows. Linux adds one for every 15/8
# windows acknowledged (integers for 3 (1 - beta)/(1 + beta) = 0.529); before 4.0 it counted
# acknowledgements, of which delayed ones are half as many.
_INCREASE: Final = {"linux": 8 / 15, "linux3.18": 4 / 15}


@dataclass(frozen=True, eq=False, kw_only=True)
class Cubic(Sender):
    """TCP Cubic: a cubic of the time since the last signal, but never slower than Reno.

    With H = W(t-R)/R(t-R) p(t-R) signals per second, b = `decrease`, K = cbrt(b w_max / c), and a
    the growth of the Reno-friendly estimate in segments per round trip,

        dW/dt     = max(c (3 (s - K)^2 + v), a / R(t)) - b W / (1 - b/2) H
        dw_max/dt = (W / (1 - b/2) - w_max) H
        ds/dt     = 1 - s H
        dv/dt     = (s^2 - v) H

    W is the mean window of the flows, w_max that at their last signal, s and v the mean and the
    variance of the time since then (s, s^2), were signals independent of it.

    Parameters
    ----------
    variant : {"linux", "linux3.18"}
        a = 8/15 (Linux since 4.0), or 4/15: the Linux 3.18 of the PI2 paper, which counted
        acknowledgements, with delayed ones.
    c : float, default 0.4
        Coefficient of the cubic (segments/s^3).
    decrease : float, default 0.3
        Fraction of the window removed per signal, in (0, 1].
    hystart : bool, default True
        Whether slow start ends early on growing delay; packets only.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    *Where it comes from.* Time t after its signal, a flow has the window w_max + c (t - K)^3, which
    grows by 3 c (t - K)^2. The mean of that over flows is 3 c ((s - K)^2 + V), with s and V the
    mean and the variance of t. Signals that come independently of t make V = v. But the longer ago
    the last one, the larger the window, and the sooner the next: t varies less. V = v/3 is the part
    with which, at rest, growth and signals balance at s = K, as they do where signals are periodic.
    A window that rises linearly from (1 - b) w_max to w_max has the mean (1 - b/2) w_max, and loses
    b w_max at the signal. (Periodic signals themselves would leave a law without a pull to rest: an
    epoch gains what the next signal takes up to (s - K)^3, which has no slope at s = K.)

    After a step of p, the mean window of simulated flows with independent signals and fast
    convergence is followed within 9 % of the step's size (rms over 60 s, p near 1e-4 and 1e-5).

    *At rest* s = K, or the friendly estimate is the faster one. The larger of two windows counts:

        W = (c (1 - b/2)/b)^(1/4) (R/p)^(3/4)    = 1.032 (R/p)^(3/4)
        W = sqrt(a (1 - b/2)/(b p))              = 1.229 / sqrt(p), a = 8/15

    The second is exactly that of additive increase and multiplicative decrease under periodic
    signals. The first is 2.1 % below their (c (1 - b/4)/b)^(1/4), since the true mean of a cubic
    epoch is (1 - b/4) w_max. Linux's code, under periodic signals, has windows 8 to 14 % above
    the first (it aims one round trip ahead, and converges fast), up to 23 % (3.18: 34 %) where the
    two come near each other, since there one epoch has parts of both; and 0 to 10 % below the
    second, more for windows below some 60 segments, where it computes in integers. Under
    independent signals its windows are the same within 5 %, well inside the cubic region.

    Source: RFC 9438, sections 4.2, 4.3 and 4.6; the states w_max and s are those of Vardoyan,
    Hollot, Towsley (arXiv:1801.02741), the averages are derived here.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> rest = pf.equilibrium_of(pf.Cubic(), pf.Pi2(), rtt="100ms", p=1e-4)
    >>> print(f"{rest.window:.0f} segments")
    183 segments
    """

    congestion: ClassVar = "cubic"
    plant: ClassVar = "cubic"
    signal: ClassVar = "classic"
    reduction: ClassVar = "prr"
    packets_only: ClassVar = ("hystart",)
    states: ClassVar = ("window", "w_max", "epoch", "variance")
    variant: str = choice("linux", tuple(_INCREASE))
    c: Parameter = quantity(0.4, "number")
    decrease: Parameter = quantity(0.3, "number", high=1.0)
    hystart: bool = choice(True, (True, False))

    @property
    def increase(self) -> float:
        """Segments per round trip by which the Reno-friendly estimate grows."""
        return _INCREASE[self.variant]

    def packet_parameters(self) -> dict[str, Any]:
        """Return the fields, whether it is that before Linux 4.0, and that it is Reno-friendly."""
        return super().packet_parameters() | {"old": self.variant == "linux3.18", "friendly": True}

    @property
    def _mean(self) -> Number:
        """The mean of a linear epoch, in parts of w_max."""
        return 1.0 - self.decrease / 2.0

    def _growth(self, x: _State, rtt: Number) -> tuple[Number, Number]:
        """Segments per second gained: by the cubic, by the Reno-friendly estimate."""
        _, w_max, epoch, variance = x
        late = epoch - cbrt(self.decrease * w_max / self.c)
        return self.c * (3.0 * late * late + variance), self.increase / rtt

    def rate(
        self,
        x: _State,
        x_delayed: _State,
        signal_delayed: Number,
        rtt: Number,
        rtt_delayed: Number,
    ) -> tuple[Number, Number, Number, Number]:
        """Return d(W, w_max, s, v)/dt: segments/s, segments/s, 1, s."""
        signals = x_delayed[0] / rtt_delayed * signal_delayed
        (growth, peak, time, spread), cut = self._moves(x, signals, *self._growth(x, rtt))
        return (growth - cut, peak, time, spread)

    def acked(
        self, x: _State, acks: Number, marks: Number, rtt: Number
    ) -> tuple[tuple[Number, Number, Number, Number], Number]:
        """Return the cubic's growth in time, or Reno's per acknowledgement, and the cuts."""
        cubic, _ = self._growth(x, rtt)
        return self._moves(x, marks, cubic, self.increase * acks / x[0])

    def _moves(
        self, x: _State, signals: Number, cubic: Number, friendly: Number
    ) -> tuple[tuple[Number, Number, Number, Number], Number]:
        """The change of every state under signals per second, and apart from it the cut of W."""
        window, w_max, epoch, variance = x
        peak = window / self._mean
        changes = (
            where(cubic > friendly, cubic, friendly),
            (peak - w_max) * signals,
            1.0 - epoch * signals,
            (epoch * epoch - variance) * signals,
        )
        return changes, self.decrease * peak * signals

    def initial(self, window: Number) -> tuple[Number, Number, Number, Number]:
        """Return the beginning of an epoch whose mean window is `window`."""
        return (window, window / self._mean, 0.0, 0.0)

    def leave_slow_start(self, x: _State) -> tuple[Number, Number, Number, Number]:
        """Return the beginning of the first epoch, at the window reached."""
        return self.initial(x[0])

    def at_rest(self, rtt: Number, p: Number) -> tuple[Number, Number, Number, Number]:
        """Return (W, w_max, s, v) at rest.

        The larger of both windows rules: if the friendly estimate's is the larger one, then s < K
        and the cubic grows more slowly than the estimate, and the other way round.
        """
        cubic = (self.c * self._mean / self.decrease) ** 0.25 * (rtt / p) ** 0.75
        friendly = sqrt(self.increase * self._mean / (self.decrease * p)) + 0.0 * rtt
        window = where(cubic > friendly, cubic, friendly)
        epoch = rtt / (window * p)
        return (window, window / self._mean, epoch, epoch * epoch)

    def turning_point(self, rtt: Number) -> Number:
        """Return the p below which the cubic rules at rest, and above which Reno's estimate does.

        Examples
        --------
        >>> print(f"{Cubic().turning_point(0.1):.2g}")
        0.0005
        """
        both = self.c * self._mean / self.decrease
        return both * (self.decrease / (self.increase * self._mean)) ** 2 * rtt**3

    def equilibrium(self, rtt: Number, rate: Number) -> Number:
        """Return the p at which the flow sends `rate` segments/s."""
        window = rate * rtt
        cubic = rtt * cbrt(self.c * self._mean / (self.decrease * window**4))
        friendly = self.increase * self._mean / (self.decrease * window**2)
        return where(cubic > friendly, cubic, friendly)
