"""How fast a queue delay swings, and how long it remembers: read off its autocorrelation.

A queue of packets is a loop that noise shakes without end. The autocorrelation of a loop under
white noise is that of its answer to one push, so a fluid that has been pushed and packets that
chance pushes can be read in the same way.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, FloatArray

# What of a correlation may be noise: 1 / sqrt(100), for a hundred independent swings.
_NOISE: Final = 0.1


class Oscillation(NamedTuple):
    """The dominant swing of a signal."""

    frequency: float
    """rad/s; 0 if there is no swing."""
    damping: float
    """Damping ratio: 0 of a limit cycle, 1 if there is no swing."""


#: What does not swing.
CALM: Final = Oscillation(0.0, 1.0)


def read_oscillation(signal: FloatArray, step: float, longest: float) -> Oscillation:
    """Return frequency and damping of a signal's dominant swing.

    Parameters
    ----------
    signal : array (time,) or (pushes, time)
        Its mean is taken off. Of a loop with several queues, what one of them answers to pushes of
        each: under noise at all of them autocorrelations add up.
    step : float
        Time between samples (s).
    longest : float
        Longest period that is looked for (s); at most half the signal's length.

    Notes
    -----
    The autocorrelation falls below 0 and comes back: the lag of its first maximum after that is the
    period, and the height h of the maximum what is left of a swing after one period. With d = -ln h
    the damping ratio is d / sqrt(d^2 + (2 pi)^2). A maximum below 0.1 may be noise: then the first
    minimum, half a period away, says the same with pi for 2 pi; and if that is no deeper than 0.1,
    nothing swings.

    Examples
    --------
    >>> t = np.arange(0.0, 60.0, 0.01)
    >>> cycle = read_oscillation(np.sin(5.0 * t), 0.01, 10.0)
    >>> round(cycle.frequency, 2), round(cycle.damping, 2)
    (5.0, 0.0)
    >>> decay = read_oscillation(np.exp(-0.5 * t) * np.cos(5.0 * t), 0.01, 10.0)
    >>> round(decay.frequency), round(decay.damping, 1)
    (5, 0.1)
    """
    correlation = _autocorrelation(signal)
    if correlation is None:
        return CALM
    correlation = correlation[: 1 + min(len(correlation) // 2, round(longest / step))]
    below = _first(correlation < 0.0, 0)
    back = _first(correlation > 0.0, below)
    end = _first(correlation < 0.0, back)
    found = _extreme(correlation, back, end)
    if found is not None and found[1] > _NOISE:
        return _oscillation(found, step, 2.0 * math.pi)
    found = _extreme(-correlation, below, back)
    if found is not None and found[1] > _NOISE:
        return _oscillation(found, step, math.pi)
    return CALM


def _autocorrelation(signal: FloatArray) -> FloatArray | None:
    """Return the correlation over the lag, 1 at lag 0; None if the signal is constant."""
    each = np.atleast_2d(np.asarray(signal, dtype=float))
    centred = each - each.mean(axis=1, keepdims=True)
    length = centred.shape[1]
    room = 1 << (2 * length - 1).bit_length()  # so that the ends do not meet
    power = np.sum(np.abs(np.fft.rfft(centred, room)) ** 2, axis=0)
    correlation = np.fft.irfft(power, room)[:length]
    # Rounding alone, of a signal that is constant, swings as it likes.
    return correlation / correlation[0] if correlation[0] > 1e-24 * length else None


def _first(where: BoolArray, begin: int) -> int:
    found = np.flatnonzero(where[begin:])
    return begin + int(found[0]) if found.size else len(where)


def _extreme(values: FloatArray, begin: int, end: int) -> tuple[float, float] | None:
    """Return place (samples) and height of the highest value of a stretch, between samples."""
    if begin >= end:
        return None
    k = begin + int(np.argmax(values[begin:end]))
    if k + 1 >= len(values):  # still rising where the stretch is cut off
        return None
    left, top, right = values[k - 1 : k + 2]
    bend = left - 2.0 * top + right
    shift = 0.5 * (left - right) / bend if bend < 0.0 else 0.0
    return float(k + shift), float(min(1.0, top - 0.25 * (left - right) * shift))


def _oscillation(found: tuple[float, float], step: float, angle: float) -> Oscillation:
    place, height = found
    lost = -math.log(height)
    return Oscillation(angle / (place * step), lost / math.hypot(lost, angle))
