"""Sorted numbers without repetitions: `numpy.unique` would load masked arrays for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.values import FloatArray


def ascending(*several: ArrayLike) -> FloatArray:
    """Return all numbers of some arrays, rising, each once; none of them is NaN."""
    found = np.sort(np.concatenate([np.asarray(one, float).ravel() for one in several]))
    kept = np.ones(found.shape, dtype=bool)
    kept[1:] = found[1:] != found[:-1]
    result: FloatArray = found[kept]
    return result
