"""Columns of numbers, and single ones, as callers give them: read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.network.schedule import NS
from pi2_fluid.units import plain_row, validate_quantity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pi2_fluid.values import FloatArray, IntArray, Quantity

#: s, of a packet in a queue.
LONGEST_DELAY: Final = 60.0
#: us, since the first event: 30 years.
LATEST: Final = 10**15
#: In a queue that is told byte by byte.
MOST_BYTES: Final = 10**9
#: The largest number of 32 bits, which kernels take for the probability 1.
FULL: Final = 2**32 - 1
_MOST_BACKLOG: Final = 2.0**40  # bytes


def read_numbers(
    value: Quantity, name: str, dimension: str, high: float, count: int | None = None
) -> FloatArray:
    """Return floats in [0, high]: a one-dimensional array or, of a given count, one for all."""
    array = np.asarray(
        validate_quantity(plain_row(value), dimension, name, high=high, closed=True), dtype=float
    )
    if count is not None:
        return spread(array, count, name)
    if array.ndim != 1:
        raise QuantityError(
            f"{name} has the shape {array.shape}: give a one-dimensional array, such as [0.01]."
        )
    return np.ascontiguousarray(array)


def read_delays(value: Quantity, name: str, count: int | None = None) -> IntArray:
    """Return delays in whole ns, of as many as `read_numbers` does."""
    seconds = read_numbers(value, name, "time", LONGEST_DELAY, count)
    return np.rint(seconds * NS).astype(np.int64)


def read_backlogs(value: Quantity, name: str, count: int) -> FloatArray:
    """Return what waits (bytes) in each of that many cases."""
    return read_numbers(value, name, "size", _MOST_BACKLOG, count)


def read_words(value: ArrayLike, name: str, bits: int) -> NDArray[np.uint64]:
    """Return unsigned integers of that many bits, which floats could not hold."""
    # NumPy would turn a list of numbers on both sides of 2^63 into floats.
    array = np.array(value, dtype=object) if isinstance(value, (list, tuple)) else np.asarray(value)
    whole = array.dtype.kind in "iu" or (
        array.dtype == object
        and all(type(item) is int or isinstance(item, np.integer) for item in array.flat)
    )
    if not whole or array.size == 0 or array.ndim > 1:
        raise QuantityError(
            f"{name} = {show_value(value)} is no one-dimensional array of whole numbers: give one,"
            " such as [0, 1]."
        )
    top = 2**bits - 1
    if int(array.min()) < 0 or int(array.max()) > top:
        worst = int(array.min()) if int(array.min()) < 0 else int(array.max())
        raise DomainError(
            f"{name} = {show_value(worst)} is outside [0, {top}]: give whole numbers of {bits}"
            " bits."
        )
    return np.atleast_1d(array).astype(np.uint64)


def read_row(
    values: ArrayLike, name: str, low: int, high: int, count: int | None = None
) -> IntArray:
    """Return whole numbers of a row, which may be empty, as int64."""
    array = as_array(values, name)
    wanted = f"give whole numbers from {low} to {high}"
    if array.size and array.dtype.kind not in "iuf":
        raise QuantityError(f"{name} = {show_value(values)} is no row of numbers: {wanted}.")
    if array.ndim != 1 or (count is not None and len(array) != count):
        length = "a row" if count is None else f"a row of {count}, as many as there are others"
        raise QuantityError(f"{name} has the shape {array.shape} instead of {length}: {wanted}.")
    bad = ~((array >= low) & (array <= high) & (array == np.floor(array)))
    if bad.any():
        raise DomainError(
            f"{name} = {array[bad][0].item()!r} is outside the whole numbers [{low}, {high}]:"
            f" {wanted}."
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def read_rolls(values: ArrayLike, name: str, count: int | None = None) -> NDArray[np.uint64]:
    """Return the draws of a row of random numbers of 32 bits, as `as_draws` does."""
    return as_draws(read_row(values, name, 0, FULL, count))


def read_columns(**given: tuple[Any, float, float, bool]) -> list[Any]:
    """Return columns of one length: each a value, its range, and whether it is whole numbers."""
    arrays = {name: _read_column(name, *rule) for name, rule in given.items()}
    lengths = {name: array.size for name, array in arrays.items() if array.ndim}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise QuantityError(f"The columns have different lengths, {told}: give as many of each.")
    n = max(lengths.values(), default=1)
    return [np.ascontiguousarray(np.broadcast_to(array, (n,))) for array in arrays.values()]


def _read_column(name: str, value: ArrayLike, low: float, high: float, whole: bool) -> NDArray[Any]:
    """Return a number or a column of them, checked."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.array(np.nan)
    if array.ndim > 1 or not np.all(np.isfinite(array)):
        raise QuantityError(
            f"{name} = {show_value(value)} is no number or one-dimensional array of finite numbers:"
            f" give some in [{low:g}, {high:g}]."
        )
    outside = array[(array < low) | (array > high)]
    if outside.size:
        raise DomainError(
            f"{name} = {outside.flat[0]:g} lies outside [{low:g}, {high:g}]: give numbers in there."
        )
    if not whole:
        return array
    broken = array[array != np.rint(array)]
    if broken.size:
        raise QuantityError(
            f"{name} = {broken.flat[0]:g} is not a whole number: give some in [{low:g}, {high:g}]."
        )
    return array.astype(np.int64)


def spread(value: ArrayLike, count: int, name: str) -> NDArray[Any]:
    """Return an array of that length, of as many values or of one for all."""
    array = np.atleast_1d(as_array(value, name))
    if array.ndim != 1 or array.size not in {1, count}:
        raise QuantityError(
            f"{name} has the shape {array.shape} where {count} values are needed: give as many as"
            " the other arrays have, or one."
        )
    return np.ascontiguousarray(np.broadcast_to(array, (count,)))


def as_array(value: ArrayLike, name: str) -> NDArray[Any]:
    """Return what NumPy makes of a value, unless its rows have different lengths."""
    try:
        return np.asarray(value)
    except ValueError:
        raise QuantityError(
            f"{name} = {show_value(value)} is no rectangular array: give a one-dimensional one."
        ) from None


def as_draws(words: NDArray[np.integer[Any]]) -> NDArray[np.uint64]:
    """Return draws, of 64 bits, whose upper halves are random numbers of 32 bits."""
    return words.astype(np.uint64) << np.uint64(32)
