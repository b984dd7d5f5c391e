"""Replays: `pi2-fluid replay`, an update rule fed with recorded delays."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli.files import WRITERS, check_path
from pi2_fluid.apps.cli.options import option
from pi2_fluid.apps.cli.output import JsonFlag, print_json
from pi2_fluid.errors import QuantityError, show_value

if TYPE_CHECKING:
    import xarray

__all__ = ["COMMANDS", "replay"]

# Columns of a log, and what their text is read as.
_DIMENSIONS: Final = {"queue_delay": "time", "backlog": "size"}
_LINE: Final = "{:>6}  {:>16}  {:>12}  {:>12}"
_CHUNK: Final = 10_000  # lines printed at once
_COMMON: Final = (1e-9, 1e9)  # numbers that need no second look


def replay(
    log: Annotated[
        str,
        typer.Argument(
            metavar="FILE | -",
            help="A CSV file, or standard input: one row per update, with the column queue_delay"
            " (s, or with a unit: 12ms) and, if it is known, backlog (bytes). Or what tc -s qdisc"
            " show printed of one queue, once per update, from an idle queue (prob 0) on.",
        ),
    ],
    variant: Annotated[
        str | None,
        option(
            "NAME",
            "Whose update rule, which a log of tc says itself: of PIE linux6.18, linux4.14 or"
            " rfc8033-float, of PI2 pi2-2016-default or hpe-default-15ms, of DualPI2"
            " dp2-6.18-default, and others, which an unknown name lists.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "FILE",
            "Write the steps: .nc (netCDF4) or .zarr, with units; or .csv (SI units).",
            None,
            "-o",
            "--output",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Feed recorded queue delays to the update rule of a kernel, and print what it answers."""
    check_path(output, tuple(WRITERS), "--output")
    columns, law = _read_log(log)
    if variant is None and law is None:
        raise QuantityError(
            "--variant = None does not say whose update rule answers a CSV file: give one, such as"
            " linux6.18."
        )

    from pi2_fluid.packet import replay as replay_updates

    dataset = replay_updates(
        variant or law, queue_delay=columns["queue_delay"], backlog=columns.get("backlog")
    )
    if output is not None:
        WRITERS[output.suffix.lower()](_with_log(dataset, columns), output)
    if as_json:
        _print_json(variant, columns, dataset, output)
    else:
        _print_steps(columns, dataset)
        if output is not None:
            typer.echo(f"\nwritten: {output}")


def _print_json(
    variant: str | None, columns: dict[str, Any], dataset: xarray.Dataset, output: Path | None
) -> None:
    print_json(
        {
            "variant": variant,
            **{name: values.tolist() for name, values in columns.items()},
            **{name: dataset[name].to_numpy().tolist() for name in ("p", "controller", "state")},
            "output": None if output is None else str(output),
        }
    )


def _print_steps(columns: dict[str, Any], dataset: xarray.Dataset) -> None:
    """Print one line per update, as wide for all: logs may be long."""
    titles = ["step", "queue delay [ms]", "p [%]", "controller"]
    p, controller = dataset.p.to_numpy(), dataset.controller.to_numpy()
    values = [1e3 * columns["queue_delay"], 100.0 * p, controller]
    line = _LINE
    if "logged" in columns:
        titles.append("logged")
        values.append(columns["logged"])
        line += "  {:>12}"
    typer.echo(line.format(*titles))
    rows = zip(*(value.tolist() for value in values), strict=True)
    lines = (line.format(step, *(f"{value:.6g}" for value in row)) for step, row in enumerate(rows))
    for chunk in iter(lambda: list(islice(lines, _CHUNK)), []):
        typer.echo("\n".join(chunk))


def _with_log(dataset: xarray.Dataset, columns: dict[str, Any]) -> xarray.Dataset:
    """Return the steps behind what was read, so that a file shows both side by side."""
    units = {
        "queue_delay": ("s", "queue delay that was given"),
        "backlog": ("B", "bytes waiting"),
        "logged": ("1", "controller's variable as the kernel showed it"),
    }
    given = {
        name: ("step", values, dict(zip(("units", "long_name"), units[name], strict=True)))
        for name, values in columns.items()
    }
    return dataset.assign(given)[[*given, *dataset.data_vars]]


# The log


def _read_log(path: str) -> tuple[dict[str, Any], Any]:
    """Return the columns of a log, in SI units, and the law if the log says which it is.

    Raises
    ------
    OSError
        If the file cannot be read.
    QuantityError
        If there is no such column, no row, or something in it that is no number.
    """
    name = "standard input" if path == "-" else path
    try:
        text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8-sig")
        if text.lstrip().startswith(("qdisc ", "deleted qdisc ", "[", "{")):
            return _read_snapshots(text, name)
        return _read_rows(io.StringIO(text, newline=""), name), None
    except (UnicodeDecodeError, csv.Error):
        raise QuantityError(f"{name} is no CSV text: give a file with a header line.") from None


def _read_snapshots(text: str, name: str) -> tuple[dict[str, Any], Any]:
    """Return what tc showed of one queue again and again, and its law in the kernel's integers."""
    import dataclasses

    import numpy as np

    from pi2_fluid.tc import parse

    shown = parse(text)
    places = {(queue.dev, queue.handle) for queue in shown}
    if len(places) > 1:
        raise QuantityError(
            f"{name} shows {len(places)} queues of these kinds: give the snapshots of one,"
            " tc -s qdisc show dev eth0."
        )
    counters = [queue.statistics or {} for queue in shown]
    delays = [
        [counter[key] for key in ("delay", "delay_c", "delay_l") if key in counter]
        for counter in counters
    ]
    if not all(delays) or not all("prob" in counter for counter in counters):
        raise QuantityError(
            f"{name} has a snapshot without prob and delay, which pie and dualpi2 show with -s:"
            " give the output of tc -s qdisc show."
        )
    columns = {
        "queue_delay": np.array([float(max(each)) for each in delays]),
        "backlog": np.array([float(counter.get("backlog", 0.0)) for counter in counters]),
        "logged": np.array([float(counter["prob"]) for counter in counters]),
    }
    return columns, dataclasses.replace(shown[0].aqm, arithmetic="fixed")


def _read_rows(file: Iterable[str] | io.TextIOBase, name: str) -> dict[str, Any]:
    import numpy as np

    reader = csv.DictReader(file, skipinitialspace=True)
    header = [title.strip() for title in reader.fieldnames or ()]
    reader.fieldnames = header
    if "queue_delay" not in header:
        other = f" but {show_value(', '.join(header))}" if any(header) else ""
        raise QuantityError(
            f"{name} has no column queue_delay{other}: give one, in seconds or with a unit, in a"
            " text whose columns are separated by commas."
        )
    wanted = [column for column in _DIMENSIONS if column in header]
    for column in wanted:
        if header.count(column) > 1:
            raise QuantityError(f"{name} has the column {column} twice: give it once.")
    found: dict[str, list[float]] = {column: [] for column in wanted}
    for row in reader:
        if any(row.get(None) or ()):  # such as of decimal commas, which would be read as columns
            raise QuantityError(
                f"{name} line {reader.line_num} has more than {len(header)}"
                f" field{'s' * (len(header) > 1)}, one for each column: give numbers with a decimal"
                " point, such as 0.012."
            )
        for column in wanted:
            place = f"{name} line {reader.line_num} {column}"
            found[column].append(_number(row[column], _DIMENSIONS[column], place))
    if not found["queue_delay"]:
        raise QuantityError(f"{name} has no rows: give one for each update.")
    return {column: np.array(values) for column, values in found.items()}


def _number(text: str | None, dimension: str, place: str) -> float:
    from pi2_fluid.units import validate_quantity

    if text is None:
        raise QuantityError(f"{place} is missing: fill the row.")
    value: float | str = text
    try:
        number = float(text)  # a bare number is in SI units
    except ValueError:
        pass
    else:
        if _COMMON[0] <= number <= _COMMON[1]:
            return number
        value = number
    try:
        return float(validate_quantity(value, dimension, place, closed=True))
    except QuantityError as error:
        if text.strip():
            raise
        raise QuantityError(f"{place} = {show_value(text)} is empty: fill it.") from error


COMMANDS: tuple[tuple[Any, str], ...] = (
    (
        replay,
        (
            "Examples:\n\n"
            "pi2-fluid replay --variant linux6.18 delays.csv\n\n"
            "pi2-fluid replay --variant dp2-6.18-default - -o steps.csv < delays.csv\n\n"
            "while sleep 0.016; do tc -s qdisc show dev eth0; done | head -n 5000 > tc.log;"
            " pi2-fluid replay tc.log\n\n"
            "JSON: variant, queue_delay (s), backlog (bytes, if given), logged (of tc), p,"
            " controller, state (the kernel's integers), output: lists of one entry per update."
        ),
    ),
)
