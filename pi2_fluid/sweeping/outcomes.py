"""What comes of points: labelled numbers, or why there are none; and blocks of them as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np
import xarray as xr

from pi2_fluid.errors import (
    DomainError,
    QuantityError,
    ScenarioError,
    SolverError,
    UnsupportedError,
    show_value,
)
from pi2_fluid.results.dataset import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray

#: What says in one sentence why a point has no result. Anything else is a mistake in the code.
ERRORS: Final = (QuantityError, DomainError, ScenarioError, UnsupportedError, SolverError)
T = TypeVar("T")


class Outcome(NamedTuple):
    """What points have: numbers with the points in front of their dims, and labels of all."""

    values: Mapping[str, Column]
    labels: Mapping[str, Column]


class Slot(NamedTuple):
    """Where numbers go: the dims and the shape of what one point has, and what it is."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    units: str
    long_name: str
    is_coordinate: bool


class Layout(NamedTuple):
    """What every point of a sweep has: that of the first with a result."""

    slots: dict[str, Slot]
    labels: dict[str, Column]

    @classmethod
    def of(cls, outcome: Outcome, coordinates: frozenset[str]) -> Layout:
        """Return the layout of an outcome; `coordinates` are the names that count as such."""
        slots = {
            name: Slot(
                column.dims, column.values.shape[1:], *column[2:], is_coordinate=name in coordinates
            )
            for name, column in outcome.values.items()
        }
        return cls(slots, dict(outcome.labels))

    def refusal(self, outcome: Outcome) -> str:
        """Return in a sentence how an outcome differs; "" if it does not."""
        for name in dict.fromkeys([*self.slots, *outcome.values]):
            column, slot = outcome.values.get(name), self.slots.get(name)
            if column is None or slot is None:
                return f"the result {'has' if slot is None else 'lacks'} {name}, {_UNLIKE}."
            if column.dims != slot.dims or column.values.shape[1:] != slot.shape:
                return (
                    f"{name} has the shape {column.values.shape[1:]}, not {slot.shape}, {_UNLIKE}."
                )
        for name, label in self.labels.items():
            other = outcome.labels.get(name)
            if other is None or not np.array_equal(other.values, label.values):
                return f"the result has other {name}, {_UNLIKE}."
        return ""


_UNLIKE: Final = "unlike that of the first point: reduce results to what all points have"


class Rows(NamedTuple):
    """What some points have, as plain arrays, and why others have nothing."""

    values: dict[str, FloatArray]
    size: int
    errors: dict[int, str]
    """The sentences of those that have one, by place: hardly ever is there any."""
    simd: frozenset[str]
    """The instruction sets by which they were computed."""
    warned: tuple[Any, ...] = ()
    """What was said of them, as `pi2_fluid.sweeping.warned` has it."""

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Return the rows of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        values = {
            name: np.concatenate([part.values[name] for part in parts]) for name in parts[0].values
        }
        size, errors, simd = 0, dict[int, str](), frozenset[str]()
        for part in parts:
            errors |= {size + place: sentence for place, sentence in part.errors.items()}
            size += part.size
            simd |= part.simd
        return cls(values, size, errors, simd)

    @classmethod
    def blank(cls, layout: Layout, count: int, *simd: str) -> Rows:
        """Return rows whose numbers are to be written: they may be anything."""
        values = {name: np.empty((count, *slot.shape)) for name, slot in layout.slots.items()}
        return cls(values, count, {}, frozenset(simd))

    def part(self, start: int, stop: int) -> Rows:
        """Return some of them."""
        start, stop = min(start, self.size), min(stop, self.size)
        values = {name: column[start:stop] for name, column in self.values.items()}
        errors = {
            place - start: sentence
            for place, sentence in self.errors.items()
            if start <= place < stop
        }
        return Rows(values, stop - start, errors, self.simd)

    def write(self, start: int, rows: Rows) -> None:
        """Write what others have, from a place on."""
        for name, values in rows.values.items():
            self.values[name][start : start + rows.size] = values
        self.errors.update((start + place, sentence) for place, sentence in rows.errors.items())

    def refuse(self, where: slice | NDArray[np.intp], sentence: str) -> None:
        """Write that points have nothing, and why."""
        for values in self.values.values():
            values[where] = np.nan
        self.errors.update(dict.fromkeys(np.arange(self.size)[where].tolist(), sentence))

    def remark(self) -> None:
        """Say of numbers that are none, and have no other sentence, that they are."""
        missing: dict[int, list[str]] = {}
        for name, values in self.values.items():
            lost = np.isnan(values)
            if lost.any():
                for place in np.flatnonzero(lost.reshape(len(values), -1).any(axis=1)).tolist():
                    missing.setdefault(place, []).append(name)
        for place, names in missing.items():
            self.errors.setdefault(place, f"the result has NaN in {', '.join(names)}.")

    def sentences(self) -> NDArray[np.object_]:
        """Return the sentence of each, "" if there is none."""
        found = np.full(self.size, "", dtype=object)
        for place, sentence in self.errors.items():
            found[place] = sentence
        return found


def attempt(function: Callable[[], T]) -> T | Exception:
    """Return what a function does, or which of `ERRORS` it raises."""
    try:
        return function()
    except ERRORS as error:
        return error


def outcome_of(result: object, along: str | None = None) -> tuple[Outcome, frozenset[str]]:
    """Return a Dataset as the outcome of one point, and which of its values are coordinates.

    Coordinates that are whole numbers or words are labels, the same at all points, and so are
    those of dims; others (how many flows a class has) are numbers of each point.

    Parameters
    ----------
    result : xarray.Dataset
        What a point has, or several.
    along : str, optional
        The dim of the points, where there are several.

    Raises
    ------
    QuantityError
        If it is no Dataset, or a variable of it has no numbers.
    """
    if not isinstance(result, xr.Dataset):
        raise QuantityError(
            f"reduce returned {show_value(result)}, which is no Dataset: return one, e.g. as"
            " summarize does."
        )
    values: dict[str, Column] = {}
    labels: dict[str, Column] = {}
    sizes = dict(result.sizes)  # xarray puts both together anew whenever they are asked for
    coordinates = set(map(str, result.coords))
    count = 1 if along is None else sizes[along]
    for key, variable in result.variables.items():
        name, array = str(key), variable.values  # `to_numpy` takes thirty times as long
        dims = tuple(map(str, variable.dims))
        about = variable.attrs.get("units", "1"), variable.attrs.get("long_name", name)
        if name == along:
            continue
        if name in coordinates and (key in sizes or array.dtype.kind != "f"):
            labels[name] = Column(dims, array, *about)
        elif array.dtype.kind in "biuf":
            if along is None:
                array = array[None]
            elif along in dims:
                array = np.moveaxis(array, dims.index(along), 0)
                dims = tuple(dim for dim in dims if dim != along)
            else:
                array = np.broadcast_to(array, (count, *array.shape))
            values[name] = Column(dims, np.asarray(array, dtype=float), *about)
        else:
            raise QuantityError(
                f"reduce returned {name} of the type {array.dtype}, which is no number: leave it"
                " out, or return a number."
            )
    return Outcome(values, labels), frozenset(coordinates & values.keys())


def scalars(**found: tuple[Any, str, str]) -> Outcome:
    """Return numbers of points, each an array over them, with unit and long name."""
    return Outcome(
        {name: Column((), np.asarray(x, float), *about) for name, (x, *about) in found.items()}, {}
    )
