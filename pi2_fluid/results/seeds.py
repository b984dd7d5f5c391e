"""Seeds of runs, and how many of them go side by side: as callers give them, checked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final, TypeGuard

import numpy as np

from pi2_fluid.errors import QuantityError, show_value

_MOST_SEED: Final = 2**63 - 1
_MOST_SEEDS: Final = 1_000_000


def seed_list(seeds: Any) -> list[int]:
    """Return the seeds: 1 to n for a number, or those of a sequence, in its order.

    Raises
    ------
    QuantityError
        If there is none, one twice, or one that is no integer in [0, 2^63).
    """
    if is_integer(seeds):
        if not 1 <= seeds <= _MOST_SEEDS:
            raise QuantityError(
                f"seeds = {show_value(seeds)} is no number of runs from 1 to {_MOST_SEEDS}: give"
                " one, or a list of seeds."
            )
        return list(range(1, int(seeds) + 1))
    listed = isinstance(seeds, (Sequence, np.ndarray)) and not isinstance(seeds, (str, bytes))
    if not listed or (isinstance(seeds, np.ndarray) and seeds.ndim != 1):
        raise QuantityError(
            f"seeds = {show_value(seeds)} are no seeds: give how many, or a list of integers."
        )
    numbers = list(seeds)
    if not numbers:
        raise QuantityError(f"seeds = {show_value(seeds)} is empty: give one seed at least.")
    for seed in numbers:
        if not is_integer(seed) or not 0 <= seed <= _MOST_SEED:
            raise QuantityError(
                f"seeds = {show_value(seeds)} holds {show_value(seed)}, which is no integer in"
                " [0, 2^63): give such seeds."
            )
    if len(set(numbers)) < len(numbers):
        raise QuantityError(
            f"seeds = {show_value(seeds)} holds a seed twice, whose runs would be the same: give"
            " each once."
        )
    return [int(seed) for seed in numbers]


def thread_count(threads: object, seeds: int, name: str = "threads") -> int:
    """Return how many threads work: as many as there are cores, or as given, but one a seed.

    Raises
    ------
    QuantityError
        If it is no integer of 1 or more.
    """
    if threads is None:
        return max(1, min(_cores(), seeds))
    if not is_integer(threads) or threads < 1:
        raise QuantityError(
            f"{name} = {show_value(threads)} is no number of {name}: give 1 or more, or None."
        )
    return min(int(threads), seeds)


def is_integer(value: object) -> TypeGuard[int | np.integer[Any]]:
    """Return whether this is a whole number, of Python or NumPy; a truth value is none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _cores() -> int:
    # Those that this process may use, where the system tells.
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
