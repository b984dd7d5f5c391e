"""Cases of a verification as a table, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.comparison.verification.fluid_case import COLUMNS as OF_FLUID
from pi2_fluid.comparison.verification.packet_case import COLUMNS as OF_RUNS
from pi2_fluid.results import Column, make_dataset

if TYPE_CHECKING:
    import xarray

#: How cases are read, as the attribute ``read_as`` has it: from one trajectory of the fluid for
#: each step, or from runs through all steps, with bounds for what chance does.
FLUID: Final = "fluid"
RUNS: Final = "runs"

_COLUMNS: Final = {FLUID: OF_FLUID, RUNS: OF_RUNS}
_COORDS: Final = {
    "case": ("1", "corner and step"),
    "sender": ("1", "who sends"),
    "rtt": ("s", "round-trip time, queue included"),
    "window": ("segments", "window of a flow"),
    "p_prime": ("1", "load of the sender"),
    "step": ("1", "what changes"),
}
_WORDS: Final = {"case", "sender", "step", "why"}


def rows_of(table: xarray.Dataset) -> list[dict[str, Any]]:
    """Return the cases of a table, each as a mapping of column to number or text."""
    names = [str(name) for name in (*table.coords, *table.data_vars)]
    columns = {name: table[name].to_numpy().tolist() for name in names}
    return [
        {name: column[index] for name, column in columns.items()}
        for index in range(table.sizes["case"])
    ]


def table_of(rows: Sequence[Mapping[str, Any]], attrs: Mapping[str, str]) -> xarray.Dataset:
    """Return the table of which `rows_of` gave the cases; `attrs` say how they were read."""

    def column(name: str, units: str, text: str) -> Column:
        values = [row[name] for row in rows]
        words = name in _WORDS
        return Column(("case",), np.array(values, dtype=object if words else None), units, text)

    coords, variables = (
        {name: column(name, units, text) for name, (units, text) in some.items()}
        for some in (_COORDS, _COLUMNS[attrs["read_as"]])
    )
    return make_dataset(variables, coords, dict(attrs))
