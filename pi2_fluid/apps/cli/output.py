"""Output: JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["JsonFlag", "Line", "Progress", "make_console", "make_grid", "print_json", "tell"]

JsonFlag = Annotated[
    bool, typer.Option("--json", help="Print one JSON object, in SI units, instead of text.")
]
_PATIENCE: Final = 2.0  # s without a sign of life


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


def tell(line: str) -> None:
    """Say on stderr what is being done."""
    typer.echo(f"{line} ...", err=True)


class Line:
    """What is being done, on stderr.

    A terminal sees one line that changes and disappears; a file or pipe gets one line.
    """

    def __init__(self) -> None:
        self.shown = False

    def show(self, now: str, once: str) -> None:
        """Show what is done `now`; where lines stay, say `once` what the whole is."""
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{now} ...\x1b[K")
            sys.stderr.flush()
        elif not self.shown:
            tell(once)
        self.shown = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.shown and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Progress(Line):
    """How far a run is, once it has taken two seconds."""

    def __init__(self, what: str, unit: str = "s") -> None:
        super().__init__()
        self.what, self.unit = what, unit
        self.begun = time.monotonic()

    def __call__(self, done: float, total: float) -> None:
        """Take note that `done` of `total` are computed: seconds of a trajectory, or cases."""
        if time.monotonic() - self.begun >= _PATIENCE:
            whole = f"{total:g} {self.unit}"
            self.show(f"{self.what} {done:.0f} of {whole}", once=f"{self.what} {whole}")
