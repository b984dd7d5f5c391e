"""Runs that figures share: each is made once, and several become a median and a range."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

import pi2_fluid as pf
from pi2_fluid.results.runs import uninterrupted

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import FloatArray

_TOLERANCE: Final = 1e-6


@cache
def packet_runs(scenario: pf.Scenario, seeds: int, step: float) -> xarray.Dataset:
    """Return the runs of a scenario packet by packet, in bins of `step` (s)."""
    return uninterrupted(pf.packet.simulate(scenario, seeds=seeds, bin=step))


@cache
def fluid_run(scenario: pf.Scenario, step: float) -> xarray.Dataset:
    """Return the trajectory of a scenario, two samples to a bin of `step` (s)."""
    return pf.fluid.simulate(scenario, sample=step / 2, tolerance=_TOLERANCE)


def spread(name: str, runs: FloatArray, unit: str = "", axis: int = 0) -> dict[str, FloatArray]:
    """Return median, smallest and largest of several runs, as columns.

    Examples
    --------
    >>> row = spread("delay", np.array([3.0, 1.0, 7.0]), "_s")
    >>> float(row["delay_s"]), float(row["delay_low_s"]), float(row["delay_high_s"])
    (3.0, 1.0, 7.0)
    """
    return {
        f"{name}{unit}": np.median(runs, axis=axis),
        f"{name}_low{unit}": np.min(runs, axis=axis),
        f"{name}_high{unit}": np.max(runs, axis=axis),
    }
