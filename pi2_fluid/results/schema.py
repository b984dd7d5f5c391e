"""What kinds of results there are, and what of each is called what: declared with every result."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

import numpy as np

from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.results.settling import changes_text

if TYPE_CHECKING:
    import xarray as xr


class Schema(NamedTuple):
    """A kind of result. All have the variables of `shared_variables` over ``time``."""

    name: str
    """As the attribute ``schema`` of a result has it."""
    binned: bool
    """Whether a row is a mean over a bin, which ends at its ``time``; a sample at it otherwise."""
    waited: str
    """The variable with the time that packets spend in their queue (s)."""
    signal: str
    """The variable with the probability by which the queue's law signals a class."""


#: One run, sampled at instants: the state just then.
TRAJECTORY: Final = Schema("trajectory", binned=False, waited="queue_delay", signal="p")
#: Runs of several seeds, counted packet by packet: means over bins, histograms over blocks.
RUNS: Final = Schema("runs", binned=True, waited="sojourn", signal="p_aqm")
_SCHEMAS: Final = {schema.name: schema for schema in (TRAJECTORY, RUNS)}


def schema_of(dataset: object) -> Schema:
    """Return which kind of result a Dataset says that it is.

    Raises
    ------
    QuantityError
        If it says nothing of the kind.
    """
    said = dataset.attrs.get("schema") if _is_dataset(dataset) else None
    if said not in _SCHEMAS:
        raise QuantityError(
            f"dataset = {show_value(dataset)} is no result of an engine: give a Dataset as"
            " simulate returns it, with its attributes."
        )
    return _SCHEMAS[said]


def _is_dataset(value: object) -> TypeGuard[xr.Dataset]:
    xarray = sys.modules.get("xarray")  # whoever has a Dataset has loaded it
    return xarray is not None and isinstance(value, xarray.Dataset)


def row_length(dataset: xr.Dataset) -> float:
    """Return the time between two rows of a result (s), of bins that of the longest."""
    if schema_of(dataset).binned:
        return float(dataset["bin"].max())
    return float(np.median(np.diff(dataset["time"].to_numpy())))


def provenance(
    scenario: Scenario,
    engine: str,
    schema: Schema,
    not_modelled: list[str],
    *,
    interrupted: bool = False,
) -> dict[str, str | float]:
    """Return the attributes that every result has.

    Parameters
    ----------
    scenario : Scenario
        What was run.
    engine : str
        The name of the engine.
    schema : Schema
        What kind of result it is.
    not_modelled : list of str
        What of a scenario this engine cannot feel.
    interrupted : bool
        Whether more was asked for.
    """
    return {
        "engine": engine,
        "schema": schema.name,
        "scenario": scenario_text(scenario),
        "not_modelled": ", ".join(not_modelled),
        "interrupted": int(interrupted),
        "changes": changes_text(scenario),
    }


def scenario_text(scenario: Scenario) -> str:
    """Return a scenario as TOML, or as Python writes it if it has laws of one's own."""
    try:
        return scenario.to_toml()
    except UnsupportedError:  # laws of one's own have no name in a file
        return repr(scenario)
