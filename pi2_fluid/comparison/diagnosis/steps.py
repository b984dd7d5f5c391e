"""Steps of a rate: where the mean of a series changes for good."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_LEAST: Final = 0.2  # of the larger level, that a step has
_CRITICAL: Final = 1.63  # of a Brownian bridge, which 1 % pass
_LARGE: Final = 0.3  # of the larger level
_SHORTEST: Final = 4  # values on either side


class Step(NamedTuple):
    """A change of the level."""

    place: int
    """The first value with the new level."""
    before: float
    after: float


def find_steps(values: FloatArray) -> list[Step]:
    """Return where the level of a series changes by a fifth or more, and stays.

    By binary segmentation: the largest of the cumulated sums of what is off the mean divides a
    series, if it is more than that of noise (1 %), and then its parts are asked.

    Source: E. S. Page, Continuous inspection schemes, Biometrika 41 (1954); A. Scott and M. Knott,
    Biometrics 30 (1974), for the segmentation.

    Examples
    --------
    >>> noise = 0.1 * np.random.default_rng(2).normal(size=60)
    >>> [step.place for step in find_steps(noise + np.repeat([10.0, 4.0, 9.0], 20))]
    [20, 40]
    >>> find_steps(noise + 10.0)
    []
    """
    row = np.asarray(values, dtype=float)
    # Large steps first, so that they do not count as noise of the others.
    noise = _noise(row, _divide(row, 0, 0.0, _LARGE))
    places = sorted(_divide(row, 0, noise, 0.5 * _LEAST))
    edges = [0, *places, row.size]
    levels = [float(np.median(row[low:high])) for low, high in pairwise(edges)]
    return [
        Step(place, before, after)
        for place, (before, after) in zip(places, pairwise(levels), strict=True)
        if abs(after - before) >= _LEAST * max(abs(before), abs(after))
    ]


def _noise(values: FloatArray, places: list[int]) -> float:
    """Return the spread of what is off the levels, as if it had no memory.

    The sum of a series that wanders grows faster than that of white noise.
    """
    edges = [0, *sorted(places), values.size]
    rest = np.concatenate([values[a:b] - values[a:b].mean() for a, b in pairwise(edges)])
    power = float(rest @ rest)
    if power <= 0.0:
        return 0.0
    memory = float(np.clip((rest[1:] @ rest[:-1]) / power, 0.0, 0.9))
    return float(rest.std() * np.sqrt((1.0 + memory) / (1.0 - memory)))


def _divide(values: FloatArray, offset: int, noise: float, least: float) -> list[int]:
    """Return where steps of `least` parts of the larger level divide a series."""
    count = values.size
    if count < 2 * _SHORTEST:
        return []
    sums = np.abs(np.cumsum(values - values.mean()))[_SHORTEST - 1 : count - _SHORTEST]
    place = _SHORTEST + int(np.argmax(sums))
    first, last = float(values[:place].mean()), float(values[place:].mean())
    small = abs(first - last) < least * max(abs(first), abs(last))
    if small or sums.max() <= _CRITICAL * noise * count**0.5:
        return []
    return [
        *_divide(values[:place], offset, noise, least),
        offset + place,
        *_divide(values[place:], offset + place, noise, least),
    ]
