"""What a run was asked for at the shell, and what every engine does with its result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi2_fluid.cli.files import WRITERS

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.model.scenario import Scenario

__all__ = ["Wanted", "file_names", "plain"]


@dataclass(frozen=True)
class Wanted:
    """A scenario and its title, where statistics begin, the files to write, and whether as JSON."""

    scenario: Scenario
    title: str
    after: str
    plot: Path | None
    output: Path | None
    as_json: bool

    def write(self, dataset: xarray.Dataset, summary: xarray.Dataset) -> list[Path]:
        """Write the files that are wanted, and return their paths."""
        if self.output is not None:
            WRITERS[self.output.suffix.lower()](dataset, self.output)
        if self.plot is not None:
            from pi2_fluid.cli.drawing import draw_result

            shown = dataset.sel(time=slice(summary.attrs["after"], None))
            draw_result(shown, self.title, getattr(self.scenario.aqm, "target", None), self.plot)
        return [path for path in (self.output, self.plot) if path is not None]

    def names(self) -> dict[str, str | None]:
        """Return the files as JSON has them."""
        return file_names(self.output, self.plot)


def file_names(output: Path | None, plot: Path | None) -> dict[str, str | None]:
    """Return the files that a command has written as JSON has them."""
    return {
        "output": None if output is None else str(output),
        "plot": None if plot is None else str(plot),
    }


def plain(variable: Any) -> Any:
    """Return a number, or an object of them by the labels of the first dim, and so on."""
    if variable.ndim == 0:
        return float(variable)
    labels = variable[variable.dims[0]].to_numpy()
    return {str(label): plain(part) for label, part in zip(labels, variable, strict=True)}
