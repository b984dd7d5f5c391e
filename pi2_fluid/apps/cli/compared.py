"""What `pi2-fluid compare` is to compare; what it has compared, and how it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pi2_fluid.apps.cli.engines import make_engines

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.engines.engine import Engine


class Wanted(NamedTuple):
    """What to compare, as the shell has it."""

    files: Sequence[str]
    aqm: Sequence[str]
    traffic: Mapping[str, str | None]
    """What describes it without a file, by what Python calls it; None: not given."""
    engine: Sequence[str]
    shared: Mapping[str, Any]
    """Options of all engines that have them."""
    after: str | None

    def engines(self, usual: Sequence[str], seeds: str | None = None) -> list[Engine]:
        """Return the engines, the usual ones if none is named, and then with so many seeds."""
        if self.engine or self.shared["seeds"] is not None:
            seeds = self.shared["seeds"]
        return make_engines(self.engine or usual, {**self.shared, "seeds": seeds})


class Compared(NamedTuple):
    """What was compared, and how it is told."""

    table: xarray.Dataset
    interrupted: bool
    as_json: Callable[[], dict[str, Any]]
    show: Callable[[], None]
    draw: Callable[[Path], None]
