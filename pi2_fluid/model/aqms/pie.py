"""PIE: the PI controller with gains scaled by a table of its own output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pi2_fluid.model.aqm import Signal
from pi2_fluid.model.aqms.pi_family import PiFamily
from pi2_fluid.model.record import choice, quantity
from pi2_fluid.ops import Number, sqrt, where

__all__ = ["TABLES", "Pie"]

_EXTENDED: Final = (
    (1e-6, 1 / 2048),
    (1e-5, 1 / 512),
    (1e-4, 1 / 128),
    (1e-3, 1 / 32),
    (1e-2, 1 / 8),
    (1e-1, 1 / 2),
)
#: (edge, factor on alpha and beta below that edge), first match wins; 1 above all edges.
TABLES: Final[dict[str, tuple[tuple[float, float], ...]]] = {
    # RFC 8033 section 4.2, and Linux since 5.1
    "rfc8033": _EXTENDED,
    # DOCSIS cable modems: the steps go on upwards, too
    "rfc8034": (*_EXTENDED, (1.0, 2.0), (10.0, 8.0)),
    # PIE paper (HPSR'13), and Linux 3.14 to 5.0
    "hpsr13": ((1e-2, 1 / 8), (1e-1, 1 / 2)),
    # The first IETF drafts stopped at 0.1 %
    "ietf_early": ((1e-3, 1 / 32), (1e-2, 1 / 8), (1e-1, 1 / 2)),
    "none": (),
}
_VARIANT_TABLE: Final = {
    "linux6.18": "rfc8033",
    "linux4.14": "hpsr13",
    "rfc8033": "rfc8033",
    "hpsr13": "hpsr13",
}
# A p this close (relative) to an edge counts as on it, hence not below it: powers of ten computed
# by 10.0**x or logspace may come out one rounding below the decade, a jump of 12 dB.
_SNAP: Final = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class Pie(PiFamily):
    """PIE: every packet sees p = u, and alpha, beta are multiplied by tune(p).

    Parameters
    ----------
    alpha, beta
        The base gains in Hz, before the table.
    target, update_interval
        As in `PiFamily`.
    table : {"rfc8033", "rfc8034", "hpsr13", "ietf_early", "sqrt2p", "none"}, optional
        The scaling of both gains: a step table, or the curve sqrt(2p) that the tables approximate
        (PI2 paper, Figure 5). None takes the variant's.
    variant : {"linux6.18", "linux4.14", "rfc8033", "hpsr13"}
        Whose table is meant if `table` is None.

    Source: PIE paper (HPSR'13), section IV; RFC 8033, section 4.2; PI2 paper, Figure 5.
    """

    target: Number = quantity("15ms", "time")
    update_interval: Number = quantity("15ms", "time")
    table: str | None = choice(None, (None, *TABLES, "sqrt2p"))
    variant: str = choice("linux6.18", tuple(_VARIANT_TABLE))

    def tune(self, u: Number) -> Number:
        """Return the factor on alpha and beta at probability `u`.

        Examples
        --------
        >>> [float(Pie().tune(p)) for p in (0.005, 0.01, 0.2)]
        [0.125, 0.5, 1.0]
        """
        name = self.table or _VARIANT_TABLE[self.variant]
        if name == "sqrt2p":
            return sqrt(2.0 * u)
        factor: Number = 1.0
        for edge, below in reversed(TABLES[name]):
            factor = where(u < edge * (1.0 - _SNAP), below, factor)
        return factor

    def encode(self, u: Number) -> Signal:
        """Return (u, u)."""
        return Signal(u, u)

    def decode(self, p: Number, signal: str) -> Number:
        """Return p."""
        return p
