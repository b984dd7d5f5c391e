"""Margins over array axes, as a labelled Dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.result import Column, make_dataset

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.loop.transfer import Loop

__all__ = ["sweep_dataset"]

_UNITS: Final = {
    "rtt": ("s", "round-trip time in the loop"),
    "p": ("1", "signal probability"),
    "p_prime": ("1", "linear form of the signal probability"),
    "alpha": ("Hz", "integral gain"),
    "beta": ("Hz", "proportional gain"),
    "update_interval": ("s", "time between updates"),
    "target": ("s", "target queue delay"),
}


def sweep_dataset(loop: Loop) -> xarray.Dataset:
    """Return every margin of an array of loops as a Dataset; see `Loop.sweep`."""
    inputs = _inputs(loop)
    dims = _name_axes(inputs, loop.shape)
    margins = loop.margins()
    coords = {}
    for name, value in inputs.items():
        along = tuple(axis for axis, size in enumerate(value.shape) if size > 1)
        label = f"{name}_value" if name in dims and along != (dims.index(name),) else name
        units, text = _UNITS.get(name, ("", name))
        squeezed = value.reshape([value.shape[axis] for axis in along])
        coords[label] = Column(tuple(dims[axis] for axis in along), squeezed, units, text)
    table = {
        "gain_margin": (margins.gain_margin_db, "dB", "gain margin"),
        "phase_margin": (margins.phase_margin_deg, "degree", "phase margin, not wrapped"),
        "gain_crossover": (margins.gain_crossover, "rad/s", "gain crossover frequency"),
        "phase_crossover": (margins.phase_crossover, "rad/s", "phase crossover frequency"),
        "delay_margin": (margins.delay_margin, "s", "delay margin"),
        "verdict_code": (margins.verdict_code, "1", "1 stable, -1 unstable, 0 undecided"),
    }
    variables = {
        name: Column(dims, value, units, text) for name, (value, units, text) in table.items()
    }
    attrs = {
        "engine": "loop",
        "mode": loop.mode,
        "rtt_terms": loop.rtt_terms,
        "senders": ", ".join(type(sender).__name__ for sender in loop.senders),
        "aqm": type(loop.aqm).__name__,
    }
    return make_dataset(variables, coords, attrs)


def _inputs(loop: Loop) -> dict[str, Any]:
    """Every array that the loop was built from, aligned with the loop's axes."""
    point = loop.operating_point
    found: dict[str, Any] = {}
    if not loop.flows:
        found |= {"rtt": point.rtt, "p_prime": point.p_prime, "p": point.p}
    for index, flow in enumerate(loop.flows):
        for name in ("count", "base_rtt"):
            found[f"{name}_{index}"] = getattr(flow, name)
    if loop.flows:
        found["packets_per_second"] = loop._packets
    for record in (loop.aqm, *loop.senders):
        found |= {name: v for name, v in vars(record).items() if isinstance(v, np.ndarray)}
    rank = len(loop.shape)
    arrays = {name: np.asarray(value) for name, value in found.items()}
    return {
        name: value.reshape((1,) * (rank - value.ndim) + value.shape)
        for name, value in arrays.items()
        if value.size > 1
    }


def _name_axes(inputs: dict[str, Any], shape: tuple[int, ...]) -> tuple[str, ...]:
    names = []
    for axis in range(len(shape)):
        alone = [
            name
            for name, value in inputs.items()
            if [index for index, size in enumerate(value.shape) if size > 1] == [axis]
        ]
        preferred = [name for name in ("rtt", "p_prime") if name in alone]
        names.append((preferred + alone + [f"axis_{axis}"])[0])
    return tuple(names)
