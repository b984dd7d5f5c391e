"""The axes of a sweep: names and values, as products and zipped, and the points that they span."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.results.dataset import Column
from pi2_fluid.units import si_unit, validate_number, validate_quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import IntArray

#: The dimension of what is a word, and no number.
TEXT = "text"
#: The dim of runs.
SEED = "seed"


class Axis(NamedTuple):
    """What varies together: one name, or several that are zipped."""

    names: tuple[str, ...]
    values: tuple[NDArray[Any], ...]
    """Of each name, numbers in SI units or text (objects), as many as of the others."""
    units: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many points it has."""
        return len(self.values[0])


@dataclass(frozen=True)
class Grid:
    """The points of a sweep, in order: the last axis runs fastest, and seeds behind all axes."""

    axes: tuple[Axis, ...]
    seeds: tuple[int, ...] = ()

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of what is found: each axis is called by its first name."""
        return (*(axis.names[0] for axis in self.axes), *((SEED,) if self.seeds else ()))

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that varies."""
        return tuple(name for axis in self.axes for name in axis.names)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many points each dim has."""
        return (*(axis.size for axis in self.axes), *((len(self.seeds),) if self.seeds else ()))

    @property
    def size(self) -> int:
        """How many points there are."""
        return prod(self.shape)

    def part(self, region: Sequence[slice]) -> Grid:
        """Return the points of a box, one slice along each dim."""
        axes = tuple(
            axis._replace(values=tuple(values[along] for values in axis.values))
            for axis, along in zip(self.axes, region[: len(self.axes)], strict=True)
        )
        return Grid(axes, self.seeds[region[-1]] if self.seeds else ())

    def columns(self, points: IntArray) -> dict[str, NDArray[Any]]:
        """Return what each name is at some points, given by their number."""
        if points.size == self.size and points.size and points[0] == 0:  # all of them, in order
            return self._all()
        places = np.unravel_index(points, self.shape)
        return {
            name: values[along]
            for axis, along in zip(self.axes, places[: len(self.axes)], strict=True)
            for name, values in zip(axis.names, axis.values, strict=True)
        }

    def _all(self) -> dict[str, NDArray[Any]]:
        """The same of all points, at a fraction of the cost."""
        found = {}
        for place, axis in enumerate(self.axes):
            along = (-1, *(1,) * (len(self.shape) - place - 1))
            for name, values in zip(axis.names, axis.values, strict=True):
                found[name] = np.broadcast_to(values.reshape(along), self.shape).ravel()
        return found

    def seeds_at(self, points: IntArray) -> list[int]:
        """Return the seed of each point."""
        return [self.seeds[place] for place in np.unravel_index(points, self.shape)[-1]]

    def coords(self) -> dict[str, Column]:
        """Return the coordinates of what is found."""
        found = {
            name: Column((axis.names[0],), values, units or "1", f"{name} of the sweep")
            for axis in self.axes
            for name, values, units in zip(axis.names, axis.values, axis.units, strict=True)
        }
        if self.seeds:
            found[SEED] = Column((SEED,), np.array(self.seeds), "1", "seed of the run")
        return found

    def describe(self, point: int) -> str:
        """Return where a point is, in words."""
        at = {name: values[0] for name, values in self.columns(np.array([point])).items()}
        if self.seeds:
            at[SEED] = self.seeds_at(np.array([point]))[0]
        return ", ".join(
            f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in at.items()
        )


def read_axes(over: object, dimension: Callable[[str], str]) -> tuple[Axis, ...]:
    """Return the axes that a caller describes.

    Parameters
    ----------
    over : mapping
        Of a name to its values, or of a tuple of names to rows, with a value for each.
    dimension : callable
        Returns the dimension of a name, or `TEXT`, and refuses unknown ones.

    Raises
    ------
    QuantityError
        If it is something else, has no values or a name twice, or a value cannot be read.
    ScenarioError
        Of unknown names.
    """
    if not isinstance(over, Mapping) or not over:
        raise QuantityError(
            f"over = {show_value(over)} says nothing to vary: give names and values, e.g."
            ' {"aqm.alpha": [0.1, 0.2]}.'
        )
    axes = tuple(_axis(key, given, dimension) for key, given in over.items())
    names = [name for axis in axes for name in axis.names]
    for name in names:
        if names.count(name) > 1:
            raise QuantityError(f"over varies {show_value(name)} twice: give each name once.")
    return axes


def _axis(key: object, given: object, dimension: Callable[[str], str]) -> Axis:
    names = key if isinstance(key, tuple) else (key,)
    if not names or not all(isinstance(name, str) for name in names):
        raise QuantityError(
            f"over has {show_value(key)} for a name: give text, or a tuple of names to zip."
        )
    rows = _listed(given, names)
    if not isinstance(key, tuple):
        columns: list[tuple[Any, ...]] = [tuple(rows)]
    else:
        for row in rows:
            if not _is_row(row) or len(row) != len(names):
                raise QuantityError(
                    f"over zips {', '.join(names)}, and has the row {show_value(row)}: give each"
                    f" row {len(names)} values."
                )
        columns = list(zip(*rows, strict=True))
    dimensions = [dimension(name) for name in names]
    values = tuple(map(_values, columns, dimensions, names))
    units = tuple("" if kind == TEXT else si_unit(kind) for kind in dimensions)
    return Axis(names, values, units)


def _listed(given: object, names: Sequence[str]) -> list[Any]:
    rows: list[Any] = list(given) if _is_row(given) else []
    if not rows:
        raise QuantityError(
            f"over has {show_value(given)} for {', '.join(names)}: give a list of values, one at"
            " least."
        )
    return rows


def _is_row(given: object) -> TypeGuard[Sequence[Any]]:
    if isinstance(given, np.ndarray):
        return given.ndim > 0
    return isinstance(given, Sequence) and not isinstance(given, (str, bytes))


def _values(values: tuple[Any, ...], kind: str, name: str) -> NDArray[Any]:
    if kind != TEXT:
        # Which values a field allows it says itself, point by point. Plain numbers, of which there
        # may be many, are read together, but where one is wrong and has to be named.
        if all(isinstance(one, float) for one in values) and np.isfinite(values).all():
            numbers = np.array(values, dtype=float)
            return np.atleast_1d(validate_quantity(numbers, kind, name, low=-np.inf, closed=True))
        return np.array(
            [validate_number(one, kind, name, low=-np.inf, closed=True) for one in values]
        )
    for one in values:
        if not isinstance(one, str):
            raise QuantityError(
                f"over has {name} = {show_value(one)}, which is no text: give text."
            )
    return np.array(values, dtype=object)
