"""Output: JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

JsonFlag = Annotated[
    bool, typer.Option("--json", help="Print one JSON object in SI units, not text.")
]


def print_json(payload: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    typer.echo(json.dumps(_strict(payload), allow_nan=False, ensure_ascii=False, indent=2))


def _strict(value: object) -> object:
    """Replace what JSON has no literal for: infinities by their names, NaN by null."""
    if isinstance(value, Mapping):
        return {name: _strict(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(float(value)) if math.isinf(value) else float(value)
    return value


def make_console() -> Console:
    """Return a console that prints what it is given, without guessing at colours or markup."""
    from rich.console import Console

    return Console(highlight=False, markup=False)


def make_grid(*justify: Any) -> Table:
    """Return a table without lines, its columns justified as named."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    for side in justify:
        table.add_column(justify=side, overflow="fold")  # rather two lines than a number cut
    return table


def print_catalogue(
    what: str, names: Sequence[str], describe: Callable[[str], str], as_json: bool
) -> None:
    """Print the names of what comes with the package, and what each is, as text or as JSON."""
    records = [{"name": name, "description": describe(name)} for name in names]
    if as_json:
        print_json({what: records})
        return
    width = max(len(name) for name in names) + 2
    for record in records:
        typer.echo(f"{record['name']:<{width}}{record['description']}")
