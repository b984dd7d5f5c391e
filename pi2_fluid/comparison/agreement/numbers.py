"""Numbers of a run, one for each seed, by name; and over which stretch and rows they are taken."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.errors import DomainError
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    import xarray

_LONGEST_START: Final = 20.0  # s
_START: Final = 0.2  # of the run
_SHORTEST_RUN: Final = 1e-6  # s
_MOST_SAMPLES: Final = 50_000  # of one seed
_SHORTEST, _LONGEST = 1e-3, 0.1  # s between samples


class Number(NamedTuple):
    """A number of a run."""

    units: str
    seeds: Any
    """Its value in each seed; one of an engine without."""
    link: str = ""
    """Of which of several links it is; empty of the only one, and of a class."""


def numbers_of(name: str, values: xarray.DataArray, dim: str) -> dict[str, Number]:
    """Return a variable of a summary as numbers: one, or one for each label of a dim it may have.

    Those of labels are called ``name.label``.
    """
    units = str(values.attrs["units"])
    if dim not in values.dims:
        return {name: Number(units, np.atleast_1d(values.to_numpy()))}
    return {
        f"{name}.{label}": Number(units, np.atleast_1d(values.sel({dim: label}).to_numpy()))
        for label in values[dim].to_numpy()
    }


def begin_of(scenario: Scenario, after: float | str | None) -> float:
    """Return when statistics begin (s): as asked, or when slow start is taken to be over.

    Raises
    ------
    QuantityError, DomainError
        If that leaves nothing, or the scenario is too short.
    """
    duration = float(scenario.duration)
    if duration < _SHORTEST_RUN:
        raise DomainError(
            f"Scenario duration = {duration:g} s is too short to compare anything in: give"
            f" {_SHORTEST_RUN:g} s or more."
        )
    if after is None:
        return min(_LONGEST_START, _START * duration)
    begin = float(validate_quantity(after, "time", "after", high=duration, closed=True))
    if begin == duration:
        raise DomainError(
            f"after = {begin:g} s leaves nothing of a scenario of {duration:g} s: give an earlier"
            " time."
        )
    return begin


def round_step(wanted: float, duration: float) -> float:
    """Return a round time between samples (s), `wanted` at most where that is not too many."""
    wanted = min(max(wanted, _SHORTEST), _LONGEST)
    wanted = max(wanted, duration / _MOST_SAMPLES)
    decade = 10.0 ** math.floor(math.log10(wanted))
    step = max(k * decade for k in (1.0, 2.0, 5.0) if k * decade <= wanted * (1.0 + 1e-9))
    return min(float(f"{step:.12g}"), duration / 2)
