"""What a remedy has to leave, and which update intervals it keeps."""

from __future__ import annotations

from typing import Final

from pi2_fluid.design.gains import Asked

#: The margins that `tune` leaves if it is not asked for others.
ENOUGH: Final = Asked(6.0, 30.0)
#: Of the largest RTT: a T within is kept. Longer costs response, of shorter the alpha is so small
#: that its rounding does; RFC 9332 has T up to a third.
KEPT: Final = (1 / 12, 1 / 3)


def wanted() -> str:
    """Return `ENOUGH` as text.

    Examples
    --------
    >>> wanted()
    '6 dB and 30 deg'
    """
    return f"{ENOUGH.gain_db:g} dB and {ENOUGH.phase_deg:g} deg"
