"""What a transient of the queue delay is judged by: its height, its length, and how it dies out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

#: Part of the largest excursion within which a delay has settled.
SETTLED: Final = 0.05
_KEPT: Final = 0.9  # part of the record by whose end it must have: the rest shows that it stays
# Parts of the largest excursion between which the equations are as good as linear, few modes are
# left, and the solver's own error (1e-10) does not show yet.
_TAIL: Final = (5e-3, 1e-5)
_MODES: Final = 3  # a pair that swings and one that does not, which may last equally long
_ROWS: Final = 4 * _MODES


class Transient(NamedTuple):
    """A delay error after a step."""

    peak: float
    """Largest excursion above the target (s), 0 if there is none."""
    trough: float
    """Largest excursion below it (s), as a positive number."""
    settling: float
    """Seconds until it stays within a band; inf if it does not in nine tenths of the record."""


class Decay(NamedTuple):
    """How an error dies out at last."""

    rate: float
    """1/s: minus the real part of the slowest mode. Negative of what grows."""
    frequency: float
    """rad/s; 0 if it does not swing, or if the error has not settled."""


def read_transient(error: FloatArray, step: float, band: float | None = None) -> Transient:
    """Return peak, trough and settling time of an error.

    Parameters
    ----------
    error : array (time,)
        Delay less target (s), from the step on.
    step : float
        Time between samples (s).
    band : float, optional
        Within what it has settled (s); None: 5 % of the largest excursion.

    Examples
    --------
    >>> t = np.arange(0.0, 10.0, 0.01)
    >>> found = read_transient(np.exp(-t), 0.01)
    >>> found.peak, found.trough, f"{found.settling:.2f}", f"{-math.log(0.05):.2f}"
    (1.0, 0.0, '3.00', '3.00')
    """
    error = np.asarray(error, dtype=float)
    size = np.abs(error)
    limit = SETTLED * float(size.max()) if band is None else band
    outside = np.flatnonzero(size > limit)
    last = int(outside[-1]) + 1 if outside.size else 0
    settling = step * last if last <= _KEPT * error.size else math.inf
    return Transient(max(0.0, float(error.max())), max(0.0, -float(error.min())), settling)


def read_decay(error: FloatArray, step: float, stride: int) -> Decay:
    """Return at which rate an error dies out, and its frequency.

    Parameters
    ----------
    error : array (time,)
        Delay less target (s), from the step on.
    step : float
        Time between samples (s).
    stride : int
        Samples from one value compared to the next: whole update intervals of a sampled
        controller, between which the delay is no exponential.

    Notes
    -----
    Prony's method: a sum of three modes obeys e(t + 3h) = a e(t + 2h) + b e(t + h) + c e(t), whose
    coefficients are found by least squares, each row relative to the size of the error there. The
    modes are the roots of z^3 = a z^2 + b z + c; of those that turn by less than a quarter in one
    stride, the slowest counts, since what alternates from stride to stride is rounding.

    An error that does not fall to 1e-5 of its largest excursion has no such stretch. Its rate is
    that of the largest excursions of the second and of the last quarter of the record.

    Source: R. de Prony, Journal de l'Ecole Polytechnique 1 (1795), in its least squares form.

    Examples
    --------
    >>> t = np.arange(0.0, 40.0, 0.01)
    >>> found = read_decay(np.exp(-0.5 * t) * np.cos(5.0 * t) + np.exp(-0.6 * t), 0.01, 10)
    >>> f"{found.rate:.6f} {found.frequency:.6f}"
    '0.500000 5.000000'
    >>> f"{read_decay(np.exp(0.1 * t) * np.cos(5.0 * t), 0.01, 10).rate:.2f}"
    '-0.10'
    """
    error = np.asarray(error, dtype=float)
    envelope = np.maximum.accumulate(np.abs(error)[::-1])[::-1]
    begin, end = (int(np.sum(envelope > part * envelope[0])) for part in _TAIL)
    rows = end - _MODES * stride - begin
    if end == error.size or rows < _ROWS:
        return Decay(_rate_of_quarters(error, step), 0.0)
    size = envelope[begin : begin + rows]
    *before, last = (
        error[begin + k * stride : begin + k * stride + rows] / size for k in range(_MODES + 1)
    )
    factors, *_ = np.linalg.lstsq(np.stack(before[::-1], axis=1), last, rcond=None)
    modes = np.roots([1.0, *(-factors)])
    modes = modes[modes.real > 0.0]
    if modes.size == 0:
        return Decay(_rate_of_quarters(error, step), 0.0)
    slowest = complex(modes[int(np.argmax(np.abs(modes)))])
    span = stride * step
    return Decay(-math.log(abs(slowest)) / span, abs(math.atan2(slowest.imag, slowest.real)) / span)


def _rate_of_quarters(error: FloatArray, step: float) -> float:
    _, second, _, last = (float(np.abs(part).max()) for part in np.array_split(error, 4))
    return 2.0 * math.log(second / last) / (step * error.size) if last > 0.0 else math.inf
