"""CReno: Cubic in its Reno-friendly region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pi2_fluid.laws.senders.reno import Reno
from pi2_fluid.records.record import Parameter, quantity


@dataclass(frozen=True, eq=False, kw_only=True)
class CReno(Reno):
    """Linux's Cubic in its Reno mode: Reno's law with a smaller decrease.

    Parameters
    ----------
    decrease : float, default 0.3
        Fraction of the window *removed* per signal. Equation (17) of the PI2 paper prints 0.7,
        which is what Cubic *keeps*; with 0.7 removed the window would be smaller than Reno's,
        against the paper's own equation (7). Pass ``decrease=0.7`` for the equation as printed.
    growth : {"per_segment", "per_ack"}
        As in `Reno`.

    Raises
    ------
    QuantityError
        If a field is no number of its unit, or a word that it does not know.
    DomainError
        If a number is outside its range.

    Notes
    -----
    Source: PI2 paper (CoNEXT'16), equation (17), corrected.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> print(f"{pf.CReno().at_rest(rtt=0.1, p=0.01):.2f} segments")
    18.26 segments
    """

    congestion: ClassVar = "reno"
    plant: ClassVar = "reno"

    decrease: Parameter = quantity(0.3, "number", high=1.0)
