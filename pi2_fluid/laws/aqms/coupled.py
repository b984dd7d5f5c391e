"""The coupled queue: one PI controller for Classic and Scalable traffic in one FIFO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from pi2_fluid.laws.aqm import Signal
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.kernel.units import AT_ENQUEUE, COUPLING
from pi2_fluid.ops import Number, minimum, sqrt, where
from pi2_fluid.records.record import Parameter, again, choice, quantity

# p' = p/k multiplied by k again may exceed p = 1 by a rounding error; that is not clamping.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False, kw_only=True)
class CoupledFamily(PiFamily):
    """The coupling itself: Classic packets see p'^2, Scalable packets min(k p', 1).

    Parameters
    ----------
    alpha, beta
        Gains on p' in Hz.
    target, update_interval
        As in `PiFamily`.
    k : float, default 2
        Coupling factor, > 0.

    Notes
    -----
    Source: PI2 paper (CoNEXT'16), section 5 and Figure 9; RFC 9332, section 2.1.
    """

    alpha: Parameter = again(PiFamily, "alpha", 0.3125)
    beta: Parameter = again(PiFamily, "beta", 3.125)
    k: Parameter = quantity(2.0, "number", tc="coupling_factor", kernel=COUPLING)

    @property
    def coupling(self) -> Number:
        """`k`."""
        return self.k

    def with_marks(self) -> Self:
        """Return the law as it is: Scalable packets are always marked."""
        return self

    def encode(self, u: Number) -> Signal:
        """Return (u^2, min(k u, 1))."""
        # Not `minimum`: its derivative at the tie k u = 1 would be half of the law's.
        linear = self.k * u
        return Signal(u * u, where(linear <= 1.0 + _ROUNDING, linear, 1.0))

    def decode(self, p: Number, signal: str) -> Number:
        """Return sqrt(p) for Classic packets, p / k for Scalable ones."""
        return sqrt(p) if signal == "classic" else p / self.k


@dataclass(frozen=True, eq=False, kw_only=True)
class CoupledPi2(CoupledFamily):
    """Coupled PI + PI2 in one queue: Classic packets see p'^2, Scalable packets min(k p', 1).

    Parameters
    ----------
    alpha, beta
        Gains on p' in Hz.
    target, update_interval, arithmetic, quirks, first_update
        As in `PiFamily`.
    k : float, default 2
        Coupling factor, > 0.
    variant : {"plain", "pi2-2016", "hpe"}
        As in `Pi2`: "plain" lets p' reach 1, the others keep it at or below 1/k, where Scalable
        packets are all marked.
    ecn, drop_at
        Whether Classic packets that can be marked are marked instead of dropped, and where packets
        are judged: for packets only; loops by acknowledgements read the latter. Scalable
        packets, of ECT(1) or CE, are always marked.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range, as alpha = 0 is: without it
        the delay never settles at its target.

    Notes
    -----
    Source: PI2 paper (CoNEXT'16), section 5 and Figure 9.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> signal = pf.CoupledPi2(k=2).encode(0.1)
    >>> print(f"Classic packets {signal.classic:.2f}, Scalable packets {signal.scalable:.2f}")
    Classic packets 0.01, Scalable packets 0.20
    """

    discipline: ClassVar = "coupled"
    encoder: ClassVar = "coupled"
    packets_only: ClassVar = (*CoupledFamily.packets_only, "ecn", "drop_at")

    variant: str = choice("plain", ("plain", "pi2-2016", "hpe"))
    ecn: bool = choice(False, (True, False))
    drop_at: str = choice("enqueue", ("enqueue", "dequeue"), tc="drop_enqueue", kernel=AT_ENQUEUE)

    @property
    def limit(self) -> Number:
        """The largest p': 1, or 1/k where the variant caps what Scalable packets see at 1."""
        return 1.0 if self.variant == "plain" else minimum(1.0, 1.0 / self.k)
