"""Disk margins: how far gain and phase of a loop may change at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.loop.crossovers import Crossings, smallest_on_curve
from pi2_fluid.units import validate_number

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, Curve, FloatArray


class DiskMargin(NamedTuple):
    """What `Loop.disk_margin` returns."""

    alpha: float
    """The size of the disk."""
    gain_margin_db: float
    """By how much (dB) the gain may rise or fall, with the phase as it is; the smaller of both."""
    phase_margin_deg: float
    """By how much (degrees) the phase may change either way, with the gain as it is."""
    w: float
    """The frequency (rad/s) of the disk that the curve touches."""


def require_stable(unstable: int) -> None:
    """Refuse a loop of which modes grow, or that is on its boundary.

    Raises
    ------
    UnsupportedError
        If this count is not 0.
    """
    if unstable != 0:
        raise UnsupportedError(
            "this loop is not stable, and a disk margin is of a stable loop: lower the gains."
        )


def disk_margin(response: Curve, crossings: Crossings, skew: float, update: str) -> DiskMargin:
    """Return the disk margin of a stable scalar loop; see `Loop.disk_margin`.

    Parameters
    ----------
    response : callable
        L(jw).
    crossings : Crossings
        Found on it.
    skew : float
        As there.
    update : {"continuous", "delayed", "sampled"}
        L goes to 0 at high frequency unless it is sampled.
    """
    skew = validate_number(skew, "number", "skew", low=-math.inf, closed=True)
    half = (skew - 1.0) / 2.0

    def size(value: ComplexArray) -> FloatArray:
        return abs((1.0 + value) / (1.0 + half * (1.0 + value)))

    alpha, w = smallest_on_curve(response, crossings, size)
    ends = [(alpha, w)]
    if update != "sampled" and skew > -1.0:
        ends.append((2.0 / (1.0 + skew), math.inf))  # L has faded
    alpha, w = min(ends)
    below, above = 1.0 + alpha * half, 1.0 - alpha * (1.0 + skew) / 2.0
    low, high = below / (1.0 + alpha * (1.0 + skew) / 2.0), math.inf
    if above > 0.0:
        high = (1.0 - alpha * half) / above
    gain = min(1.0 / low if low > 0.0 else math.inf, high)
    cosine = low if math.isinf(high) else (1.0 + low * high) / (low + high)
    phase = math.degrees(math.acos(cosine)) if cosine > -1.0 else math.inf
    return DiskMargin(alpha, 20.0 * math.log10(gain), phase, w)
