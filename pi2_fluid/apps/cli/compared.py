"""What `pi2-fluid compare` has compared, and how it is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import xarray


class Compared(NamedTuple):
    """What was compared, and how it is told."""

    table: xarray.Dataset
    interrupted: bool
    as_json: Callable[[], dict[str, Any]]
    show: Callable[[], None]
    draw: Callable[[Path], None]
