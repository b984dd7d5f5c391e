"""PI2: a linear PI controller, its output squared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pi2_fluid.laws.aqm import Signal
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.kernel.units import AT_ENQUEUE
from pi2_fluid.ops import Number, sqrt
from pi2_fluid.records.record import Parameter, again, choice
from pi2_fluid.units import validate_quantity


@dataclass(frozen=True, eq=False, kw_only=True)
class Pi2(PiFamily):
    """PI2: the controller's variable is p'; every packet sees p = p'^2.

    Parameters
    ----------
    alpha, beta
        Gains on p' in Hz.
    target, update_interval, arithmetic, quirks, first_update
        As in `PiFamily`.
    variant : {"plain", "pi2-2016", "hpe", "ns3"}
        "plain" lets p' reach 1. The paper's own code (2016) and HPE's queue keep Classic p at or
        below 25 %, i.e. p' at or below 0.5. In packets, "plain" acts on the time that the packet
        at the head has waited, as Linux's DualPI2 does; "pi2-2016" on the backlog over the rate at
        which packets leave, and its p' decays while the queue is idle; "ns3", the thesis's, does
        as that one does, without its limit and in real numbers.
    ecn, drop_at
        Whether packets that can be marked are marked instead of dropped, and where they are
        judged: for packets only; loops by acknowledgements read the latter.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range, as alpha = 0 is: without it
        the delay never settles at its target.

    Notes
    -----
    Source: PI2 paper (CoNEXT'16), sections 4 and 5, equation (36); thesis on PI2 in ns-3,
    Appendix C.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> queue = pf.Pi2(target="15ms", update_interval="16ms", alpha="0.16Hz", beta="3.2Hz")
    >>> print(f"{queue.encode(0.1).classic:.4f}, {queue.decode(0.01, 'classic'):.4f}")
    0.0100, 0.1000
    """

    discipline: ClassVar = "pi2"
    encoder: ClassVar = "square"
    packets_only: ClassVar = (*PiFamily.packets_only, "ecn", "drop_at")

    alpha: Parameter = again(PiFamily, "alpha", 0.3125)
    beta: Parameter = again(PiFamily, "beta", 3.125)
    variant: str = choice("plain", ("plain", "pi2-2016", "hpe", "ns3"))
    ecn: bool = choice(False, (True, False))
    drop_at: str = choice("enqueue", ("enqueue", "dequeue"), tc="drop_enqueue", kernel=AT_ENQUEUE)

    def encode(self, u: Number) -> Signal:
        """Return (u^2, u^2)."""
        return Signal(u * u, u * u)

    def decode(self, p: Number, signal: str) -> Number:
        """Return p' = sqrt(p)."""
        return sqrt(p)

    @property
    def limit(self) -> Number:
        """The largest p': 1, or 0.5 where the variant caps Classic p at 25 %."""
        return 1.0 if self.variant in ("plain", "ns3") else 0.5

    @classmethod
    def from_tc2016(cls, alpha: Number = 10, beta: Number = 100, **fields: Any) -> Pi2:
        """Return the queue that the paper's `tc` line configures.

        Parameters
        ----------
        alpha, beta : float
            As given to the 2016 `tc`: sixteenths of Hz, acting on the Scalable probability
            p_s = 2 p', so that the gains on p' are half of them.
        **fields
            The other fields of `Pi2`.

        Notes
        -----
        Source: PI2 paper (CoNEXT'16), Table 1.

        Examples
        --------
        >>> Pi2.from_tc2016().alpha, Pi2.from_tc2016().beta
        (0.3125, 3.125)
        """
        alpha = validate_quantity(alpha, "number", "alpha")
        beta = validate_quantity(beta, "number", "beta", closed=True)
        return cls(alpha=alpha / 32.0, beta=beta / 32.0, variant="pi2-2016", **fields)
