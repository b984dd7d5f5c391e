"""Whose signals are the noise that is derived: lots of each packet, and what they cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError, show_value
from pi2_fluid.network.rest import has_ticks
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender
    from pi2_fluid.values import FloatArray, Quantity

#: What signals cut: windows that are equal, or as random signals leave them.
CUTS: Final = ("equal", "varied")


def cut_factor(sender: Sender, cuts: str) -> FloatArray:
    """Return by what the variance of cuts exceeds that of equal windows: 1 unless "varied"."""
    factor: Any = sender.cut_variance if cuts == "varied" else 1.0
    return np.asarray(factor, dtype=float)


def require_lots(aqm: Aqm, controller: FloatArray, *, alone: bool = True) -> None:
    """Refuse a queue that does not draw a lot for each packet by what it holds between updates.

    If not `alone`, among several links, also one that spreads its signals.

    Raises
    ------
    UnsupportedError
        Naming the law.
    """
    name = type(aqm).__name__
    if not has_ticks(aqm, controller) or aqm.acts_on != "queue":
        raise UnsupportedError(
            f"{name} does not draw lots here by a probability that it holds between updates,"
            " for which alone the noise of signals is derived: give a PI law, such as Pi2, or"
            " simulate."
        )
    if not aqm.signals_by_lot and not alone:
        raise UnsupportedError(
            f"{name} derandomize = True spreads its signals, whose noise is not derived among"
            " several links: give derandomize=False, which makes the delay vary more, or simulate."
        )


def window_of(bin: Quantity | None) -> float:
    """Return the length of a bin (s), 0 if there is none."""
    if bin is None:
        return 0.0
    given = validate_quantity(bin, "time", "bin", closed=True)
    if np.ndim(given):
        raise QuantityError(
            f"bin = {show_value(bin)} is an array: give one length, such as '20ms'."
        )
    return float(given)


def positive(w: ArrayLike) -> FloatArray:
    """Return frequencies (rad/s) that are all above 0."""
    at = np.asarray(w, dtype=float)
    if not np.all((at > 0.0) & np.isfinite(at)):
        raise DomainError(f"w = {show_value(w)} is not all positive and finite: give rad/s > 0.")
    return at
