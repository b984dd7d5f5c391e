"""Window laws as the congestion controls that run packet by packet."""

from __future__ import annotations

import math
from typing import Any, Final

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.model.sender import Sender

__all__ = ["congestion_of"]

_MOST_GAIN_BITS: Final = 10


def congestion_of(sender: Sender) -> tuple[str, list[float]]:
    """Return the congestion control of the kernel that a sender is, and its parameters.

    Parameters
    ----------
    sender : Sender
        Reno, TimeoutReno, CReno, Scalable, Dctcp or Cubic.

    Returns
    -------
    name : str
        "reno", "scalable", "dctcp" or "cubic".
    parameters : list of float
        reno: decrease. scalable: per_mark. dctcp: gain, whether in Linux's integers. cubic: whether
        it counts acknowledgements as before Linux 4.0, c, decrease, whether HyStart is on, whether
        it is never slower than Reno (always).

    Raises
    ------
    UnsupportedError
        For any other law, of which no congestion control is known; for a gain that is no power of
        two where Linux's integers are asked for.

    Examples
    --------
    >>> from pi2_fluid.model.senders.creno import CReno
    >>> congestion_of(CReno())
    ('reno', [0.3])
    """
    law: Any = sender
    # A subclass is another law, even where it inherits the name.
    match vars(type(law)).get("kernel"):
        case "reno" | "timeoutreno":
            return "reno", [float(law.decrease)]
        case "scalable":
            return "scalable", [float(law.per_mark)]
        case "dctcp":
            return "dctcp", [_gain(law), float(law.variant == "linux")]
        case "cubic":
            old = float(law.variant == "linux3.18")
            return "cubic", [old, float(law.c), float(law.decrease), float(law.hystart), 1.0]
    raise UnsupportedError(
        f"{type(law).__name__} is a window law without a congestion control for packets: use Reno,"
        " CReno, Cubic, Dctcp or Scalable, or fluid.simulate, which takes any law."
    )


def _gain(law: Any) -> float:
    """Return DCTCP's gain, which Linux's integers have as a shift."""
    gain = float(law.gain)
    bits = -math.log2(gain)
    if law.variant == "linux" and (bits != round(bits) or bits > _MOST_GAIN_BITS):
        raise UnsupportedError(
            f"Dctcp gain = {gain:g} is none that Linux has, 1, 1/2, 1/4 ... 1/1024, in packets:"
            ' give one of these, or variant="rfc8257".'
        )
    return gain
