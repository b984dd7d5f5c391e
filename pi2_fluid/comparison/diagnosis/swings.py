"""Does a delay oscillate, or is it noise with a memory? A test against noise of the same memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.comparison.agreement.oscillation import read_oscillation

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

LEAST_SAMPLES: Final = 60  # below, nothing is told from noise
_SURROGATES: Final = 199  # with the series itself 200, so that chances come in half per cents
_CHANCE: Final = 0.01
_LIGHT: Final = 0.15  # damping ratio, up to which it is called an oscillation in any case
_MOST_DAMPED: Final = 0.3  # up to which it may be one with noise on it
_GOES_ON: Final = 0.5  # of the correlation after one period, after two: noise is in both alike
_AROUND: Final = 0.15  # of two periods, within which the correlation is looked for
_PERIODS: Final = 5.0  # that the longest period fits into the series
_MOST: Final = 4096  # samples
_MEMORY: Final = 0.999


class Swing(NamedTuple):
    """An oscillation that noise would hardly make."""

    period: float
    """s."""
    amplitude: float
    """Of the sine, in the unit of the values."""
    damping: float
    """Damping ratio."""
    chance: float
    """In which part of series of noise something as clear was found."""


def find_swing(values: FloatArray, step: float) -> Swing | None:
    """Return the oscillation of a series; None if noise of the same memory makes such a one.

    Parameters
    ----------
    values : array (time,)
        Evenly spaced; without NaN.
    step : float
        Between them (s).

    Notes
    -----
    What is read is the damping ratio of `read_oscillation`, from the autocorrelation. The same is
    read of 199 series of noise, which have the variance and the memory of this one: a process of
    first order with white noise on it, by the autocorrelations at one and two samples. An
    oscillation is named if one of these at most is as lightly damped, and the damping is 0.15 at
    most; or 0.3, where half of the correlation after one period is left after two: so it is of a
    steady oscillation with noise on it. The noise is drawn from a fixed seed: the same series has
    the same answer.

    Examples
    --------
    >>> t = np.arange(0.0, 60.0, 0.1)
    >>> noise = np.random.default_rng(1).normal(size=t.size)
    >>> swing = find_swing(noise + 1.5 * np.sin(2.0 * np.pi * t / 3.0), 0.1)
    >>> round(swing.period, 1), round(swing.amplitude, 1)
    (3.0, 1.5)
    >>> find_swing(noise, 0.1) is None
    True
    """
    if values.size < LEAST_SAMPLES:
        return None
    series = np.asarray(values[-_MOST:], dtype=float)
    series = series - np.polyval(
        np.polyfit(np.arange(series.size), series, 1), np.arange(series.size)
    )
    spread = float(series.std())
    if spread <= 1e-9 * max(1e-6, float(np.abs(values).max())):
        return None
    longest = series.size * step / _PERIODS
    fitted = read_oscillation(series, step, longest)
    if fitted.frequency <= 0.0 or fitted.damping > _MOST_DAMPED:
        return None
    if fitted.damping > _LIGHT and not _goes_on(series, 2.0 * math.pi / fitted.frequency / step):
        return None
    clear = sum(
        read_oscillation(noise, step, longest).damping <= fitted.damping
        for noise in _surrogates(series)
    )
    chance = (1 + clear) / (1 + _SURROGATES)
    if chance > _CHANCE:
        return None
    # What is left after one period, as the autocorrelation has it, is what of the variance swings.
    lost = 2.0 * math.pi * fitted.damping / math.sqrt(max(1e-12, 1.0 - fitted.damping**2))
    amplitude = spread * math.sqrt(2.0 * math.exp(-lost))
    return Swing(2.0 * math.pi / fitted.frequency, amplitude, fitted.damping, chance)


def _goes_on(values: FloatArray, period: float) -> bool:
    """Say whether two periods (samples) away the correlation is half of that one period away."""

    def correlation(lag: int) -> float:
        ahead, behind = values[lag:], values[:-lag]
        return float(ahead @ behind) / max(
            1e-300, float(np.sqrt((ahead @ ahead) * (behind @ behind)))
        )

    once = correlation(max(1, round(period)))
    low, high = (round(2.0 * period * (1.0 + part)) for part in (-_AROUND, _AROUND))
    lags = range(max(1, low), min(high, values.size // 2) + 1)
    twice = max(map(correlation, lags), default=0.0)  # of a period that is too long, nothing
    return twice > _GOES_ON * once > 0.0


def _surrogates(values: FloatArray) -> FloatArray:
    """Return series of noise with the variance and the memory of another one, a row each."""
    centred = values - values.mean()
    power = float(centred @ centred)
    first, second = (float(centred[lag:] @ centred[:-lag]) / power for lag in (1, 2))
    memory, slow_part = 0.0, 0.0
    if first > 0.0:
        memory = min(max(second / first, 0.0), _MEMORY)
        slow_part = min(1.0, first / memory) if memory > 0.0 else 0.0
    chance = np.random.default_rng(20_261_128)
    drive = chance.normal(size=(_SURROGATES, values.size)) * math.sqrt(1.0 - memory**2)
    drive[:, 0] /= math.sqrt(1.0 - memory**2)
    slow = np.empty_like(drive)
    slow[:, 0] = drive[:, 0]
    for k in range(1, values.size):
        slow[:, k] = memory * slow[:, k - 1] + drive[:, k]
    white = chance.normal(size=drive.shape)
    return math.sqrt(slow_part) * slow + math.sqrt(1.0 - slow_part) * white
