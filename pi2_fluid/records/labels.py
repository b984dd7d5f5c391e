"""Labels of xarray: arrays broadcast by the names of their dimensions, and results keep them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from pi2_fluid.errors import QuantityError
from pi2_fluid.records.record import Record, map_leaves, named_arrays
from pi2_fluid.units import has_labels

if TYPE_CHECKING:
    from collections.abc import Hashable

    import xarray
    from numpy.typing import ArrayLike, NDArray

    from pi2_fluid.values import Complex

V = TypeVar("V")


def align_labels(
    named: Mapping[str, Any], laws: Iterable[Any]
) -> tuple[dict[str, Any], tuple[Any, ...], xarray.DataArray | None]:
    """Return labelled numbers as plain arrays that broadcast together, and their common labels.

    Parameters
    ----------
    named : mapping
        What the caller gave, by name; plain numbers and text are passed on.
    laws : iterable of Record
        Beside them, whose numbers may be labelled as well.

    Returns
    -------
    plain : dict
    laws : tuple
        With plain arrays.
    labels : xarray.DataArray or None
        Of the common shape, with every dimension and coordinate; None if nothing is labelled.

    Raises
    ------
    QuantityError
        If two have different coordinates along one dimension, or arrays without labels are among
        them.
    """
    laws = tuple(laws)
    numbers = [*named.items(), *(item for law in laws for item in named_arrays(law).items())]
    labelled = [(name, value) for name, value in numbers if has_labels(value)]
    if not labelled:
        return dict(named), laws, None
    import xarray

    for name, value in numbers:
        if _is_array(value) and not has_labels(value):
            raise QuantityError(
                f"{labelled[0][0]} has dimensions with names and {name} is an array without: give"
                f" {name} as a number, or name the dimensions of both or of none."
            )
    try:
        full = xarray.broadcast(*xarray.align(*(value for _, value in labelled), join="exact"))
    except ValueError:
        raise QuantityError(
            f"{' and '.join(name for name, _ in labelled)} differ in the coordinates of a dimension"
            " that they share: give the same ones, e.g. by xarray.align."
        ) from None
    labels = xarray.zeros_like(full[0], dtype=float)
    for one in full[1:]:
        labels = labels.assign_coords(
            {n: c for n, c in one.coords.items() if n not in labels.coords}
        )
    labels.name, labels.attrs = None, {}

    def plain(value: object) -> object:
        return _spread(value, labels.dims) if has_labels(value) else value

    return (
        {name: plain(value) for name, value in named.items()},
        tuple(
            map_leaves(lambda leaf, _: plain(leaf), law) if isinstance(law, Record) else law
            for law in laws
        ),
        labels,
    )


def line_up(
    name: str,
    value: Complex | xarray.DataArray,
    labels: xarray.DataArray | None,
    shape: tuple[int, ...],
) -> tuple[Any, xarray.DataArray | None]:
    """Return a number asked about as a plain array beside results of `shape`, and their labels.

    Parameters
    ----------
    name : str
        Of the argument.
    value : float, array or xarray.DataArray
    labels : xarray.DataArray or None
        Of what is asked, of `shape`.
    shape : tuple of int

    Returns
    -------
    plain : array
        If anything is labelled, with an axis for each dimension of `labels`, of its length or 1,
        and behind them those that `value` alone has; else as given.
    labels : xarray.DataArray or None
        Of the answer, with these dimensions.

    Raises
    ------
    QuantityError
        If one of the two is an array without names and the other has them, or their coordinates
        differ.
    """
    if not has_labels(value):
        if labels is not None and _is_array(value):
            raise QuantityError(
                f"{name} is an array without names, and the dimensions of the loops have some"
                f" ({', '.join(map(str, labels.dims))}): give {name} as an xarray.DataArray."
            )
        return (value if labels is None else np.reshape(value, (1,) * labels.ndim)), labels
    if labels is None and shape:
        raise QuantityError(
            f"{name} has dimensions with names ({', '.join(map(str, value.dims))}), and the loops"
            f" are an array of shape {shape} without: give {name} without names, by .to_numpy(), or"
            " the loops their numbers as xarray.DataArrays."
        )
    own = {} if labels is None else {"the loop": labels}
    _, _, full = align_labels({**own, name: value}, ())
    assert full is not None
    return _spread(value, full.dims), full


@overload
def relabel(labels: object, values: tuple[V, ...]) -> tuple[V | xarray.DataArray, ...]: ...
@overload
def relabel(labels: object, values: V) -> V | xarray.DataArray: ...
def relabel(labels: object, values: Any) -> Any:
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


def _spread(value: xarray.DataArray, dims: Iterable[Hashable]) -> NDArray[Any]:
    """The numbers of a labelled array with an axis for each of `dims`, of length 1 if it is new."""
    missing = [dim for dim in dims if dim not in value.dims]
    return value.expand_dims(missing).transpose(*dims).to_numpy()


def _is_array(value: ArrayLike) -> bool:
    return not isinstance(value, str) and np.ndim(value) > 0
