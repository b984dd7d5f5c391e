"""What every command does with the result of an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi2_fluid.errors import QuantityError

if TYPE_CHECKING:
    import xarray


def check_after(after: str, duration: float) -> None:
    """Refuse statistics that begin where the run is over, before it begins.

    Raises
    ------
    QuantityError
    """
    from pi2_fluid.units import validate_number

    begin = validate_number(after, "time", "after", closed=True)
    if begin >= duration:
        raise QuantityError(
            f"after = {begin:g} s leaves nothing of a scenario of {duration:g} s: give an earlier"
            " time."
        )


def write_and_report(
    wanted: Sequence[tuple[Path | None, Callable[[Path], None]]],
    report: Callable[[Sequence[Path]], None],
) -> None:
    """Write the files that are wanted, and report with the paths of those that are there.

    What was computed is printed whatever becomes of a file.
    """
    files: list[Path] = []
    try:
        for path, write in wanted:
            if path is not None:
                write(path)
                files.append(path)
    finally:
        report(files)


def file_names(
    output: Path | None, plot: Path | None, files: Sequence[Path]
) -> dict[str, str | None]:
    """Return as JSON has them those files that a command has written."""
    return {
        name: str(path) if path in files else None
        for name, path in (("output", output), ("plot", plot))
    }


def plain(variable: xarray.DataArray) -> Any:
    """Return a number, or an object of them by the labels of the first dim, and so on."""
    if variable.ndim == 0:
        return float(variable)
    labels = variable[variable.dims[0]].to_numpy()
    return {str(label): plain(part) for label, part in zip(labels, variable, strict=True)}
