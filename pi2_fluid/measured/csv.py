"""CSV files of one's own: a column of times, and columns named by what they are.

A header says what each column is, of which flow, and its unit::

    time (s),throughput cubic (Mbit/s),delay ping (ms)
    0.0,12.1,20.5
    0.1,12.4,
    0.2,12.2,lost
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.measured.dataset import VARIABLES, Measurement
from pi2_fluid.measured.fields import number
from pi2_fluid.measured.source import Source
from pi2_fluid.units import parse_quantity

_CELL: Final = re.compile(
    r"^(?P<name>[a-z_0-9]+)[\s:]*(?P<label>.*?)\s*(?:[(\[](?P<unit>[^)\]]*)[)\]])?$"
)
#: What units of a variable are read as; others have no unit that is asked for.
_DIMENSIONS: Final = {"s": "time", "bit/s": "rate"}
_TIMES: Final = ("time", "unix", "t")
_UNIX: Final = 1e9  # s, September 2001: what begins later counts from 1970
_LOST: Final = ("lost", "nan", "-nan", "inf", "timeout", "*")
#: A cell that is longer is no number, and no name of a column.
_LONGEST: Final = 200


class _Column(NamedTuple):
    variable: str
    label: str
    unit: float


def recognises(source: Source) -> bool:
    """Say whether the first line names a time and something of `VARIABLES`."""
    first = _first(source.head.splitlines())
    header = _cells(first, _split(first))
    names = [(_CELL.match(cell) or {"name": ""})["name"] for cell in header]
    return any(name in _TIMES for name in names) and any(name in VARIABLES for name in names)


def _first(lines: list[str]) -> str:
    return next((line for line in lines if line.strip() and not line.startswith("#")), "")


def _split(header: str) -> str:
    """Return what stands between cells; where it is no comma, a comma may be the decimal sign."""
    return next((sign for sign in ",;\t" if sign in header), ",")


def _cells(line: str, split: str) -> list[str]:
    return [cell.strip().strip('"')[:_LONGEST] for cell in line.split(split)]


def measurement(source: Source) -> Measurement:
    """Return the columns; an empty cell is no sample, and "lost" or "nan" is a lost probe.

    Between semicolons or tabs a comma is the decimal sign.

    Times above 1e9 s count from 1970.

    Raises
    ------
    QuantityError
        If the header has no time, a name that is no variable, or no unit; or there are no rows.
    """
    lines = (line for line in source.lines() if line.strip() and not line.startswith("#"))
    first = next(lines, "")
    split = _split(first)
    header = _cells(first, split)
    columns = [_column(cell, source) for cell in header]
    clock = next((index for index, each in enumerate(columns) if each.variable == "time"), None)
    if clock is None or len(columns) < 2:
        raise QuantityError(
            f"{source.said} has no header with a time and what was measured: begin it with a line"
            ' such as "time (s),throughput cubic (Mbit/s)".'
        )
    samples: list[tuple[list[float], list[float]]] = [([], []) for _ in columns]
    odd = 0
    for line in lines:
        row = _cells(line, split)
        if split != ",":
            row = [cell.replace(",", ".") for cell in row]
        time = columns[clock].unit * (number(row[clock]) if clock < len(row) else math.nan)
        if not math.isfinite(time) or len(row) > len(columns):
            odd += 1
            continue
        for column, cell, (times, values) in zip(columns, row, samples, strict=False):
            if cell and column.variable != "time":
                times.append(time)
                values.append(column.unit * (math.nan if cell.lower() in _LOST else number(cell)))
    dated = [times[0] for times, _ in samples if times]
    read = Measurement("csv", clock="unix" if dated and min(dated) > _UNIX else "relative")
    for column, (times, values) in zip(columns, samples, strict=True):
        if times:
            read.add(column.variable, column.label, times, values)
    if odd:
        read.warn(f"{odd} lines have no time, or more cells than the header, and are left out.")
    if read.empty:
        why = f": {read.warnings[0]}" if read.warnings else "."
        raise QuantityError(f"{source.said} has a header, and no row with a time and a number{why}")
    return read


def _column(cell: str, source: Source) -> _Column:
    """Return what a cell of the header says."""
    match = _CELL.match(cell)
    name = match["name"] if match else ""
    if match is None or (name not in _TIMES and name not in VARIABLES):
        raise QuantityError(
            f"{source.said} has a column {show_value(cell)}, which is nothing that is known: name"
            f" it time, or one of {', '.join(VARIABLES)}."
        )
    units = "s" if name in _TIMES else VARIABLES[name].units
    scale = 1.0
    if units in _DIMENSIONS and (match["unit"] or name not in _TIMES):
        try:
            scale = parse_quantity(f"1{match['unit'] or ''}", _DIMENSIONS[units], name)
        except (QuantityError, DomainError):
            example = "ms" if units == "s" else "Mbit/s"
            raise QuantityError(
                f"{source.said} has a column {show_value(cell)} without a unit of a"
                f" {_DIMENSIONS[units]}: write it behind the name, such as {name} ({example})."
            ) from None
    if name in _TIMES:
        return _Column("time", "", scale)
    return _Column(name, match["label"] or name, scale)
