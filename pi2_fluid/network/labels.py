"""Numbers of a network that get the names of links and flows only where somebody asks for them.

xarray takes a tenth of a millisecond to label an array: longer than what is done with most of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

if TYPE_CHECKING:
    import xarray


class Labels:
    """The names along each dimension.

    Parameters
    ----------
    names : mapping
        From a dimension to the names along it.
    """

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self._names = names
        # Arrays over the same dimensions share what these are made of.
        self._made: dict[tuple[str, ...], xarray.DataArray] = {}

    def label(self, values: np.ndarray[Any, Any], dims: tuple[str, ...]) -> xarray.DataArray:
        """Return an array over so many dimensions with their names."""
        import xarray

        if dims not in self._made:
            self._made[dims] = xarray.DataArray(
                values, {dim: self._names[dim] for dim in dims}, dims
            )
        return self._made[dims].copy(deep=False, data=values)


class Unlabelled(NamedTuple):
    """An array, and what labels it."""

    values: np.ndarray[Any, Any]
    labels: Labels


class _Labelled:
    """A field of a dataclass that takes an array without labels, and has them when it is read."""

    def __init__(self, dims: tuple[str, ...]) -> None:
        self.dims = dims

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: object | None, kind: type) -> xarray.DataArray:
        if owner is None:  # a dataclass asks for a default: there is none
            raise AttributeError(self._name)
        value = vars(owner)[self._name]
        if isinstance(value, Unlabelled):
            value = vars(owner)[self._name] = value.labels.label(value.values, self.dims)
        return cast("xarray.DataArray", value)

    def __set__(self, owner: object, value: object) -> None:
        vars(owner)[self._name] = value


def labelled(*dims: str) -> xarray.DataArray:
    """Return a field of a dataclass with these dimensions, that may be given as `Unlabelled`."""
    return cast("xarray.DataArray", _Labelled(dims))


def without_labels(owner: object, name: str) -> np.ndarray[Any, Any]:
    """Return the array of such a field, however it was given."""
    value = vars(owner)[name]
    if isinstance(value, Unlabelled):
        return value.values
    dims = vars(type(owner))[name].dims
    result: np.ndarray[Any, Any] = value.transpose(*dims).to_numpy()
    return result
