"""Echo modes as a labelled Dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.results import Column, make_dataset

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import ComplexArray


def echo_dataset(
    modes: ComplexArray, numbers: Sequence[int], attrs: Mapping[str, str | float]
) -> xarray.Dataset:
    """Return echo modes over harmonics and classes; see `Loop.echo`.

    Parameters
    ----------
    modes : array, shape (harmonics, classes)
        In rad/s.
    numbers : sequence of int
        Of the classes.
    attrs : mapping
        Provenance.
    """
    dims = ("harmonic", "flow")
    variables = {
        "growth": Column(dims, modes.real, "1/s", "growth rate of the echo mode"),
        "frequency": Column(dims, modes.imag, "rad/s", "frequency of the echo mode"),
    }
    harmonics = np.arange(1, modes.shape[0] + 1)
    coords = {
        "harmonic": Column(("harmonic",), harmonics, "1", "harmonic of the round-trip time"),
        "flow": Column(("flow",), np.asarray(numbers), "1", "number of the class of flows"),
    }
    return make_dataset(variables, coords, attrs)
