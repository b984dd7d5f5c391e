"""The cycle of a loop beyond its margin: what a controller that cannot fall below 0 leaves of it.

The controller's variable x follows v, what alpha and beta make of the delay, until it meets 0. It
stays there while v falls on, and rises as soon as v does: x = v - min v so far. The stop at 0 lifts
x by so much in every cycle, and v drifts down by as much. For in a round trip a flow's window grows
by one segment and loses m = p/p0 of one, so that the mean of m over a cycle is 1. m is x^2 of a
Classic sender, x of a Scalable one, relative to rest. With v a sine of relative amplitude a, M the
first harmonic of m and k the power of x, the loop's gain at w is L N, N = M/(k a), and a cycle is
where L N = -1. docs/theory_limits.md, "Beyond the margin", derives it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pi2_fluid.values import Curve, FloatArray

_SAMPLES: Final = 512  # of a cycle
AMPLITUDES: Final = np.geomspace(0.03, 300.0, 200)
_FREQUENCIES: Final = 800
_LEAST: Final = 1e-12  # rad
_PERIOD: Final = 2.0 * np.pi


class Cycle(NamedTuple):
    """What `Loop.cycle` returns."""

    period: float
    """Time from one peak to the next (s); of a loop that settles how it rings."""
    amplitude: float
    """How far the queue delay goes up and down from its mean (s); 0 of a loop that settles."""
    below: float
    """How far that mean is below the target (s)."""


class _Balance(NamedTuple):
    """What sines of growing amplitude come to, as arrays."""

    gain: FloatArray
    """|N|, which falls."""
    lead: FloatArray
    """The phase of N (rad)."""
    drift: FloatArray
    """By how much of x at rest v falls in a cycle, and the stop at 0 lifts x."""


def reflected(amplitude: float, drift: float) -> FloatArray:
    """Return a cycle of a cosine that falls by `drift` in each, kept from falling below 0."""
    angle = _PERIOD * np.arange(2 * _SAMPLES) / _SAMPLES
    free = amplitude * np.cos(angle) - drift * angle / _PERIOD
    kept: FloatArray = (free - np.minimum.accumulate(free))[_SAMPLES:]
    return kept


@cache
def balance(power: int) -> _Balance:
    """Return what amplitudes of `AMPLITUDES` come to, of senders that hear x to that power."""
    from scipy.optimize import brentq

    cosine = reflected(1.0, 0.0) - 1.0
    kept, drifts = np.empty((len(AMPLITUDES), _SAMPLES)), np.zeros(len(AMPLITUDES))
    for k, amplitude in enumerate(AMPLITUDES):
        # Without a drift it is as high as makes the mean of m one, if it stays above 0 there.
        if np.mean((amplitude * (cosine + 1.0)) ** power) <= 1.0:
            offset = brentq(
                lambda c, a=amplitude: np.mean((c + a * cosine) ** power) - 1.0, amplitude, 2.0
            )
            kept[k] = offset + amplitude * cosine
            continue
        drifts[k] = brentq(
            lambda d, a=amplitude: np.mean(reflected(a, d) ** power) - 1.0, 0.0, _PERIOD * amplitude
        )
        kept[k] = reflected(amplitude, drifts[k])
    wave = np.exp(-1j * _PERIOD * np.arange(_SAMPLES) / _SAMPLES)
    harmonic = 2.0 * np.mean(kept**power * wave, axis=1)
    return _Balance(
        np.abs(harmonic) / (power * AMPLITUDES),
        np.where(drifts > 0.0, np.angle(harmonic), 0.0),
        drifts,
    )


def find_cycle(
    response: Curve, start: float, end: float, power: int, law: Curve, rest: float, integral: float
) -> Cycle:
    """Return the cycle of a loop that does not settle.

    Parameters
    ----------
    response : callable
        L(jw), over w (rad/s).
    start, end : float
        The phase crossover, at which L is below -1, and a frequency far above it.
    power : int
        2 of a Classic sender, 1 of a Scalable one.
    law : callable
        K(jw), from the delay to the controller's variable (1/s).
    rest : float
        The controller's variable at rest.
    integral : float
        By how much of that variable it changes in a second, for a second of delay (1/s^2).
    """
    balanced = balance(power)
    w = np.geomspace(start, end, _FREQUENCIES)
    values = response(w)
    wanted = np.log(np.abs(values))
    place = np.interp(wanted, -np.log(balanced.gain), np.log(AMPLITUDES))
    lead = np.interp(place, np.log(AMPLITUDES), balanced.lead)
    # L is half a turn late at the start, and later beyond it, as much as N leads in the end.
    spare = lead + np.angle(-values)
    spare[0] = lead[0]
    # At the end of a sampled loop's frequencies there is nothing beyond.
    last = max(int(np.argmax(spare < 0.0)), 1)
    part = spare[last - 1] / (spare[last - 1] - min(spare[last], -_LEAST))
    at = float(w[last - 1] * (w[last] / w[last - 1]) ** part)
    size = float(np.exp(place[last - 1] + part * (place[last] - place[last - 1])))
    drift = float(np.interp(size, AMPLITUDES, balanced.drift))
    period = _PERIOD / at
    swing = size * rest / float(np.abs(law(np.array(at))))
    return Cycle(period, swing, drift * rest / (integral * period))
