"""Gain margins as ratios, under the name that dB had once: computed when read, and then told."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core.indexing import (
    ExplicitIndexer,
    IndexingSupport,
    LazilyIndexedArray,
    explicit_indexing_adapter,
)

from pi2_fluid.errors import warn_of
from pi2_fluid.values import FloatArray

_DB: Final = "_db"
_told: list[str] = []  # once in a process


def with_ratios(dataset: xr.Dataset) -> xr.Dataset:
    """Return a Dataset with a ratio ``NAME`` beside each ``NAME_db`` of a gain margin.

    The first that is read warns that it is no longer in dB.

    Examples
    --------
    >>> found = with_ratios(xr.Dataset({"gain_margin_db": ("rtt", [20.0, 40.0])}))
    >>> found.gain_margin.dims, found.gain_margin.attrs["units"]
    (('rtt',), '1')
    """
    ratios = {}
    for key, variable in dataset.variables.items():
        name = str(key).removesuffix(_DB)
        if name != key and name.endswith("gain_margin") and name not in dataset.variables:
            meant = variable.attrs.get("long_name", name)
            about = {"units": "1", "long_name": f"{meant}, as a ratio"}
            lazy = LazilyIndexedArray(_Ratio(name, variable))
            ratios[name] = xr.Variable(variable.dims, lazy, about)
    return dataset.assign(ratios)


class _Ratio(BackendArray):
    """10 ** (dB / 20) of a variable."""

    def __init__(self, name: str, decibels: xr.Variable) -> None:
        self._name = name
        self._decibels = decibels
        self.shape = decibels.shape
        self.dtype = np.dtype(float)

    def __getitem__(self, key: ExplicitIndexer) -> FloatArray:
        found: FloatArray = explicit_indexing_adapter(
            key, self.shape, IndexingSupport.BASIC, self._part
        )
        return found

    def _part(self, key: tuple[Any, ...]) -> FloatArray:
        if not _told:
            _told.append(self._name)
            warn_of(
                f"{self._name} of a Dataset is a ratio now, as that of Margins: write"
                f" {self._name}{_DB} for dB.",
                FutureWarning,
                past=("numpy", "xarray"),
            )
        with np.errstate(over="ignore"):
            return np.asarray(10.0 ** (np.asarray(self._decibels[key]) / 20.0))
