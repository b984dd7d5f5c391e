"""Delays counted in buckets: quantiles and moments of histograms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pi2_fluid.values import FloatArray, IntArray

# Wider ones are interpolated in; these hold whole microseconds, of which 0 is the delay of a packet
# that met no queue.
_EXACT: Final = 1.5e-6
_HISTOGRAMS: Final = 100  # of a class, at most
_ALL_HISTOGRAMS: Final = 5_000


def bins_per_histogram(bins: int, classes: int) -> int:
    """Return how many bins of time share a histogram of delays, so that there are not too many.

    Examples
    --------
    >>> bins_per_histogram(1000, 2), bins_per_histogram(1000, 500)
    (10, 100)
    """
    return -(-bins // min(_HISTOGRAMS, max(1, _ALL_HISTOGRAMS // classes)))


def delay_quantiles(
    counts: IntArray, lower: FloatArray, upper: FloatArray, levels: ArrayLike
) -> FloatArray:
    """Return quantiles of the delays that were counted, 0 where there are none.

    Parameters
    ----------
    counts : array (..., buckets)
        How many delays fell into each bucket.
    lower, upper : array (buckets,)
        Its edges (s).
    levels : array (levels,)
        In (0, 1).

    Returns
    -------
    array (..., levels)
        Seconds: interpolated linearly within a bucket, but the lower edge of one of 1 us.

    Examples
    --------
    >>> import numpy as np
    >>> edges = np.array([0.0, 1e-6, 65e-6, 66.6e-6])
    >>> found = delay_quantiles(np.array([1, 0, 4]), edges[:-1], edges[1:], [0.1, 0.6])
    >>> [f"{1e6 * delay:.1f} us" for delay in found]
    ['0.0 us', '65.8 us']
    """
    counts, levels = np.asarray(counts), np.asarray(levels, dtype=float)
    width = np.where(upper - lower < _EXACT, 0.0, upper - lower)
    found = np.zeros((*counts.shape[:-1], levels.size))
    for index in np.ndindex(counts.shape[:-1]):
        below = np.cumsum(counts[index], dtype=float)
        if below.size == 0 or below[-1] == 0.0:
            continue
        rank = levels * below[-1]
        bucket = np.searchsorted(below, rank)
        inside = counts[index][bucket]
        part = (rank - (below[bucket] - inside)) / inside
        found[index] = lower[bucket] + width[bucket] * part
    return found


def delay_sd(counts: IntArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the standard deviation (s) of delays that are spread evenly over their buckets.

    As for `delay_quantiles`; the result has the shape of `counts` without its last dim.
    """
    width = np.where(upper - lower < _EXACT, 0.0, upper - lower)
    middle = lower + 0.5 * width
    total = np.maximum(np.sum(counts, axis=-1, dtype=float), 1.0)
    mean = counts @ middle / total
    square = np.sum(counts * (middle - mean[..., None]) ** 2, axis=-1) / total
    result: FloatArray = np.sqrt(square + counts @ (width**2 / 12.0) / total)
    return result


def mean_of(total: NDArray[Any], count: NDArray[Any]) -> FloatArray:
    """Return total / count, 0 where nothing was counted."""
    return np.where(count > 0, total / np.where(count > 0, count, 1), 0.0)


def used_buckets(delays: NDArray[Any]) -> int:
    """Return how many buckets there are up to the last that holds anything, one at least."""
    held = np.flatnonzero(delays.any(axis=tuple(range(delays.ndim - 1))))
    return int(held[-1]) + 1 if held.size else 1
