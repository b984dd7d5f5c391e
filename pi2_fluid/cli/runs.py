"""What a run was asked for at the shell, and what every engine does with its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi2_fluid.cli.files import WRITERS
from pi2_fluid.errors import QuantityError

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.model.scenario import Scenario

__all__ = ["Wanted", "file_names", "plain", "write_and_report"]


@dataclass(frozen=True)
class Wanted:
    """A scenario and its title, where statistics begin, the files to write, and whether as JSON."""

    scenario: Scenario
    title: str
    after: str
    plot: Path | None
    output: Path | None
    as_json: bool

    def check_after(self) -> None:
        """Refuse statistics that begin where the run is over, before it begins.

        Raises
        ------
        QuantityError
        """
        from pi2_fluid.units import validate_number

        begin, end = validate_number(self.after, "time", "after", closed=True), self.duration
        if begin >= end:
            raise QuantityError(
                f"after = {begin:g} s leaves nothing of a scenario of {end:g} s: give an earlier"
                " time."
            )

    @property
    def duration(self) -> float:
        """Seconds of the scenario."""
        return float(self.scenario.duration)

    def write(
        self,
        dataset: xarray.Dataset,
        summary: xarray.Dataset,
        report: Callable[[Sequence[Path]], None],
    ) -> None:
        """Write the files that are wanted and report, as `write_and_report`."""

        def draw(path: Path) -> None:
            from pi2_fluid.cli.drawing import draw_result

            shown = dataset.sel(time=slice(summary.attrs["after"], None))
            draw_result(shown, self.title, getattr(self.scenario.aqm, "target", None), path)

        writers: dict[Path, Callable[[Path], None]] = {}
        if self.output is not None:
            writers[self.output] = partial(WRITERS[self.output.suffix.lower()], dataset)
        if self.plot is not None:
            writers[self.plot] = draw
        write_and_report(writers, report)

    def names(self, files: Sequence[Path]) -> dict[str, str | None]:
        """Return the files as JSON has them."""
        return file_names(self.output, self.plot, files)


def write_and_report(
    writers: dict[Path, Callable[[Path], None]], report: Callable[[Sequence[Path]], None]
) -> None:
    """Write files, and report with the paths of those that are there, also if one cannot be.

    What was computed is printed whatever becomes of a file.
    """
    files: list[Path] = []
    try:
        for path, write in writers.items():
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


def plain(variable: Any) -> Any:
    """Return a number, or an object of them by the labels of the first dim, and so on."""
    if variable.ndim == 0:
        return float(variable)
    labels = variable[variable.dims[0]].to_numpy()
    return {str(label): plain(part) for label, part in zip(labels, variable, strict=True)}
