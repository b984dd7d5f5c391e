"""Amplitudes of given sines in a series, beside a slow trend, by least squares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray


def amplitudes(t: FloatArray, values: FloatArray, omega: FloatArray, width: float) -> ComplexArray:
    """Return the complex amplitudes a, (frequencies, ...), of a sum of Re(a e^(j omega t)).

    Parameters
    ----------
    t : array (n,)
        Times (s); where `values` are means over an interval, its middle.
    values : array (n, ...)
        The series, one in each column. A quadratic trend is taken off together with the sines.
    omega : array (k,)
        rad/s, k of them at most about n/2.
    width : float
        Length (s) of the intervals that `values` are means over, 0: of instants. What a mean takes
        off a sine, sin(x)/x with x half of the angle, is put back.
    """
    x = (t - t.mean()) / (np.ptp(t) or 1.0)
    angles = np.outer(t, omega)
    columns = [np.vander(x, 3), np.cos(angles), -np.sin(angles)]
    found = np.linalg.lstsq(np.hstack(columns), values.reshape(len(t), -1), rcond=None)[0]
    count = len(omega)
    lost = np.sinc(omega * width / (2.0 * np.pi))[:, None]
    result: ComplexArray = (found[3 : 3 + count] + 1j * found[3 + count :]) / lost
    return result.reshape(count, *values.shape[1:])


def held(omega: FloatArray, interval: float) -> ComplexArray:
    """Return what it makes of a sine to hold its samples for an interval (s)."""
    half = 0.5 * omega * interval
    late: ComplexArray = np.exp(-1j * half)
    result: ComplexArray = np.sinc(half / np.pi) * late
    return result


def low_crest_phases(count: int) -> list[float]:
    """Return Schroeder's phases (rad) of so many sines, which keep the crest of their sum low."""
    return [-np.pi * k * (k - 1) / count for k in range(1, count + 1)]
