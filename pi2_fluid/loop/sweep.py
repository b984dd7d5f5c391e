"""Margins over array axes, as a labelled Dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.loop.margins import Margins
from pi2_fluid.results import Column, make_dataset
from pi2_fluid.results.ratios import with_ratios

if TYPE_CHECKING:
    import xarray
    from numpy.typing import NDArray

    from pi2_fluid.values import Real

_UNITS: Final = {
    "rtt": ("s", "round-trip time, queue included"),
    "base_rtt": ("s", "round-trip time of the path"),
    "p": ("1", "signal probability"),
    "p_prime": ("1", "linear form of the signal probability"),
    "alpha": ("Hz", "integral gain"),
    "beta": ("Hz", "proportional gain"),
    "update_interval": ("s", "time between updates"),
    "target": ("s", "target queue delay"),
    "k": ("1", "coupling factor"),
    "step": ("s", "L4S delay above which all packets are marked"),
    "ramp": ("s", "width of the L4S ramp"),
    "c_protection": ("1", "part of the link kept for Classic packets"),
    "min": ("packets", "lower threshold of the average queue"),
    "max": ("packets", "upper threshold of the average queue"),
    "max_p": ("1", "probability at the upper threshold"),
    "weight": ("1", "weight of one packet in the average queue"),
    "decrease": ("1", "fraction of the window removed per signal"),
    "per_mark": ("segments", "segments removed per mark"),
    "count": ("flows", "number of flows"),
    "capacity": ("packets/s", "link capacity"),
}


def sweep_dataset(
    inputs: Mapping[str, Real],
    shape: tuple[int, ...],
    margins: Margins,
    attrs: Mapping[str, str | float],
    labels: xarray.DataArray | None = None,
) -> xarray.Dataset:
    """Return every margin of an array of loops as a Dataset; see `Loop.sweep`.

    Parameters
    ----------
    inputs : mapping of name to number or array
        What the loops were built from; each array broadcasts against `shape`.
    shape : tuple of int
        Of the array of loops.
    margins : Margins
        Of that shape.
    attrs : mapping
        Provenance.
    labels : xarray.DataArray, optional
        Whose dimensions and coordinates the axes have.
    """
    arrays = {name: np.asarray(value) for name, value in inputs.items() if np.size(value) > 1}
    rank = len(shape)
    aligned = {
        name: value.reshape((1,) * (rank - value.ndim) + value.shape)
        for name, value in arrays.items()
    }
    dims = _name_axes(aligned, shape)
    coords = {}
    if labels is not None:
        dims = tuple(str(dim) for dim in labels.dims)
        for key, one in labels.coords.items():
            about = one.attrs.get("units", ""), one.attrs.get("long_name", str(key))
            coords[str(key)] = Column(tuple(map(str, one.dims)), one.to_numpy(), *about)
    for name, value in aligned.items():
        along = _axes(value)
        elsewhere = name in dims and along != (dims.index(name),)
        label = f"{name}_value" if elsewhere or name in coords else name
        units, text = _UNITS.get(name.rstrip("0123456789_"), ("", name))
        squeezed = value.reshape([value.shape[axis] for axis in along])
        coords[label] = Column(tuple(dims[axis] for axis in along), squeezed, units, text)
    table = {
        "gain_margin_db": (margins.gain_margin_db, "dB", "gain margin"),
        "phase_margin": (margins.phase_margin_deg, "degree", "phase margin, not wrapped"),
        "gain_crossover": (margins.gain_crossover, "rad/s", "gain crossover frequency"),
        "phase_crossover": (margins.phase_crossover, "rad/s", "phase crossover frequency"),
        "delay_margin": (margins.delay_margin, "s", "delay margin"),
        "verdict_code": (margins.verdict_code, "1", "1 stable, -1 unstable, 0 undecided"),
    }
    variables = {
        name: Column(dims, value, units, text) for name, (value, units, text) in table.items()
    }
    return with_ratios(make_dataset(variables, coords, attrs))


def _axes(value: NDArray[Any]) -> tuple[int, ...]:
    """The axes along which an array varies."""
    return tuple(axis for axis, size in enumerate(value.shape) if size > 1)


def _name_axes(inputs: Mapping[str, NDArray[Any]], shape: tuple[int, ...]) -> tuple[str, ...]:
    names = []
    for axis in range(len(shape)):
        alone = [name for name, value in inputs.items() if _axes(value) == (axis,)]
        preferred = [name for name in ("rtt", "p_prime") if name in alone]
        names.append((preferred + alone + [f"axis_{axis}"])[0])
    return tuple(names)
