"""Labels of xarray: arrays broadcast by the names of their dimensions, and results keep them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.model.record import named_arrays
from pi2_fluid.units import has_labels

if TYPE_CHECKING:
    import xarray

__all__ = ["align_labels", "relabel"]


def align_labels(
    named: Mapping[str, Any], laws: Iterable[Any]
) -> tuple[dict[str, Any], xarray.DataArray | None]:
    """Return labelled numbers as plain arrays that broadcast together, and their common labels.

    Parameters
    ----------
    named : mapping
        What the caller gave, by name; plain numbers and text are passed on.
    laws : iterable of Record
        Beside them; their arrays cannot be labelled.

    Returns
    -------
    plain : dict
    labels : xarray.DataArray or None
        Of the common shape, with every dimension and coordinate; None if nothing is labelled.

    Raises
    ------
    QuantityError
        If two have different coordinates along one dimension, or arrays without labels are among
        them.
    """
    given = {name: value for name, value in named.items() if has_labels(value)}
    if not given:
        return dict(named), None
    import xarray

    bare = [name for name, value in named.items() if name not in given and _is_array(value)]
    for law in laws:
        bare += named_arrays(law)
    if bare:
        raise QuantityError(
            f"{next(iter(given))} has dimensions with names and {bare[0]} is an array without: give"
            f" {bare[0]} as a number, or name the dimensions of none."
        )
    try:
        full = xarray.broadcast(*xarray.align(*given.values(), join="exact"))
    except ValueError:
        raise QuantityError(
            f"{' and '.join(given)} differ in the coordinates of a dimension that they share: give"
            " the same ones, e.g. by xarray.align."
        ) from None
    labels = xarray.zeros_like(full[0], dtype=float)
    for one in full[1:]:
        labels = labels.assign_coords(
            {n: c for n, c in one.coords.items() if n not in labels.coords}
        )
    labels.name, labels.attrs = None, {}
    plain = {
        name: value.expand_dims([dim for dim in labels.dims if dim not in value.dims])
        .transpose(*labels.dims)
        .to_numpy()
        for name, value in given.items()
    }
    return {**named, **plain}, labels


def relabel(labels: Any, values: Any) -> Any:
    """Return values with the names and coordinates of the dimensions along which they vary.

    Parameters
    ----------
    labels : xarray.DataArray or anything else
        As from `align_labels`; if it is no labelled array, values come back as they are.
    values : float, numpy.ndarray, or tuple of them
        Arrays have as many axes as the labels, of their lengths or 1.
    """
    if isinstance(values, tuple):
        return tuple(relabel(labels, value) for value in values)
    if not has_labels(labels) or np.ndim(values) == 0:
        return values
    values = np.asarray(values)
    sizes = zip(labels.dims, labels.shape, values.shape, strict=True)
    gone = {dim for dim, size, own in sizes if own != size}
    strange = [name for name, one in labels.coords.items() if gone & set(one.dims)]
    kept = labels.drop_vars(strange).isel(dict.fromkeys(gone, 0))
    return kept.copy(data=values.reshape(kept.shape))


def _is_array(value: Any) -> bool:
    return not isinstance(value, str) and np.ndim(value) > 0
