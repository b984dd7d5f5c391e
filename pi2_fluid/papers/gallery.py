"""One figure of a paper: its scenarios, its numbers, what the paper states, and the picture."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import pi2_fluid as pf
from pi2_fluid.errors import AssumptionWarning, QuantityError, show_value
from pi2_fluid.missing import require
from pi2_fluid.papers.claim import count_verdicts
from pi2_fluid.papers.recipe import QUICK, Case, Measured, Recipe, Rows
from pi2_fluid.papers.registry import file_name, find_figure, page_title, recipe_of
from pi2_fluid.papers.settings import (
    CHANGED,
    changed_stem,
    changed_text,
    refuse_idle,
    refuse_short,
    settings_of,
    with_settings,
)
from pi2_fluid.papers.stated import Stated, stated
from pi2_fluid.papers.tables import to_dataset
from pi2_fluid.papers.verdicts import Judged
from pi2_fluid.papers.words import seeds_text
from pi2_fluid.plot import page_style, save_picture, write_caption, write_corner, write_numbers

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

_SUFFIXES = (".png", ".svg", ".pdf")


def figure(
    paper: str | int,
    number: str | int | None = None,
    *,
    seeds: int | None = None,
    quick: bool = False,
    settings: Mapping[str, object] | None = None,
) -> PaperFigure:
    """Return a figure of a paper, drawn again, with what the paper states about it.

    Nothing is computed before it is asked for, and nothing twice.

    Parameters
    ----------
    paper : str or int
        "pi2", "pie", "paganini", "thesis", or "ours"; or all at once, ``"pi2:15"``.
    number : int or str, optional
        Of the figure in that paper: 15, "4.2".
    seeds : int, optional
        Runs of each scenario, at least 1; the figure's own number if not given.
    quick : bool, default False
        With two seeds, and of what has very many points fewer.
    settings : mapping of str to value, optional
        What to change: of scenarios by short names ("rtt", "capacity", "count", "target" ...) or by
        the paths of their TOML files ("aqm.burst"), of loops by the figure's `parameters`. What the
        paper states says nothing about a figure that was changed, and is not judged; its corner and
        the names of its files say what was.

    Raises
    ------
    QuantityError
        If there is no such figure or setting, or `seeds` is no whole number above 0.
    DomainError, ScenarioError
        If a setting cannot be.

    Notes
    -----
    Source: PI2 paper (CoNEXT'16), PIE paper (HPSR'13), Paganini, Wang, Low and Doyle (2002), and
    the thesis on PI2 in ns-3.

    Examples
    --------
    >>> made = figure("pie", 14)
    >>> for key, row in made.verdicts.items():
    ...     print(key, row.stated.value, row.stated.unit, row.verdict)
    margin_100ms 29.5 deg depends
    margin_50ms 105.0 deg not_reproduced
    """
    name = find_figure(paper if number is None else f"{paper}:{number}")
    return PaperFigure(name, seeds=seeds, quick=quick, settings=settings)


class PaperFigure:
    """A figure of a paper, as `figure` returns it.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> made = pf.figure("pi2", 5)
    >>> made.verdict
    '2 only under an assumption of ours'
    """

    def __init__(
        self,
        name: str,
        *,
        seeds: int | None = None,
        quick: bool = False,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        self.name = name
        self.recipe: Recipe = recipe_of(name)
        self.quick = quick
        self.settings: dict[str, object] = dict(settings or {})
        own = settings_of(self.recipe, self.settings)
        usual = min(QUICK, self.recipe.seeds) if quick else self.recipe.seeds
        count = usual if seeds is None else _whole(seeds)
        changes = {key: value for key, value in self.settings.items() if key not in own}
        refuse_idle(self.recipe, changes)
        scenarios = {
            key: with_settings(scenario, changes)
            for key, scenario in self.recipe.scenarios().items()
        }
        refuse_short(self.recipe, scenarios)
        self._case = Case(scenarios, count, own, quick, bool(self.settings))

    def __reduce__(self) -> tuple[Callable[..., PaperFigure], tuple[str], dict[str, object]]:
        # By what it is made from, and what was computed already; of recipes not all can be pickled.
        return PaperFigure, (self.name,), {**vars(self), "recipe": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state | {"recipe": self.recipe})

    def __repr__(self) -> str:
        said = f", {self.changed}" if self.changed else ""
        return f"<figure {self.name}: {self.caption} ({seeds_text(self.seeds)}{said})>"

    @property
    def caption(self) -> str:
        """What it shows, without the numbers of the paper's set-up if something was set."""
        return self.recipe.title if self.settings else self.recipe.caption

    @property
    def changed(self) -> str:
        """What was set, as it stands in the corner, "changed: rtt 30 ms"; "" if nothing was."""
        return changed_text(self.settings)

    @property
    def fewer(self) -> str:
        """What is drawn with fewer runs, as it stands in the corner, "2 seeds of 6"; else ""."""
        if self.seeds >= self.recipe.seeds:
            return ""
        return f"{seeds_text(self.seeds)} of {self.recipe.seeds}"

    @property
    def stem(self) -> str:
        """What its files are called, with what was set: "pi2_fig14-rtt=30ms"."""
        return file_name(self.name) + changed_stem(self.settings)

    @property
    def decisions(self) -> tuple[str, ...]:
        """What the paper does not say, and we chose; of another set-up nothing is said."""
        return () if self.settings else tuple(self.recipe.decisions)

    @property
    def causes(self) -> list[str]:
        """By what it came so, each cause once; nothing if something was set."""
        return [] if self.settings else self.recipe.causes(self.verdicts.values())

    @property
    def scenarios(self) -> Mapping[str, pf.Scenario]:
        """The scenarios by name, with what was set; none of a loop's figure."""
        return self._case.scenarios

    @property
    def seeds(self) -> int:
        """Runs of each scenario."""
        return self._case.seeds

    @cached_property
    def measured(self) -> Measured:
        """Plotted numbers and what the statements are judged by, computed on first use."""
        # The papers' own settings go where the models' assumptions end, and the figures are about
        # that; who sets something else is told.
        with warnings.catch_warnings():
            if not self.settings:
                warnings.simplefilter("ignore", AssumptionWarning)
            return self.recipe.measure(self._case)

    @property
    def numbers(self) -> xarray.Dataset:
        """The plotted numbers: a variable per column of the CSV files, with units."""
        return to_dataset(self._tables)

    @property
    def _tables(self) -> Mapping[str, Rows]:
        """The plotted numbers; where something was set, with a column that says it."""
        if not self.settings:
            return self.measured.tables
        said = {"changed": self.changed.removeprefix(CHANGED)}
        return {
            table: [{**row, **said} for row in rows] for table, rows in self.measured.tables.items()
        }

    @property
    def truth(self) -> tuple[Stated, ...]:
        """What the paper states about the figure; nothing if something was set."""
        return () if self.settings else stated(self.name)

    @property
    def found(self) -> dict[str, list[float]]:
        """What the statements are judged by, run by run, by their keys."""
        return {
            row.key: np.atleast_1d(np.asarray(self.measured.found[row.key], dtype=float)).tolist()
            for row in self.truth
        }

    @property
    def verdicts(self) -> dict[str, Judged]:
        """What the paper states beside what came out, by the statement's key."""
        return {row.key: self.recipe.judge(row, self.measured.found[row.key]) for row in self.truth}

    @property
    def verdict(self) -> str:
        """How many statements came out how, in words."""
        if self.settings:
            return "changed: not judged"
        return count_verdicts([one.verdict for one in self.verdicts.values()])

    def draw(self, ax: Axes | None = None, page: str = "") -> FigureBase:
        """Draw one page of the figure, and return what it was drawn into.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Made by `subplots` or `add_subplot`; the whole page takes its place. A figure of its own
            if not given, with title and small print.
        page : str
            Which page, of `recipe.pages`: "" is the paper's.

        Raises
        ------
        QuantityError
            If there is no such page, or the axes have no place in a grid.
        """
        if page not in self.recipe.pages:
            pages = ", ".join(map(repr, self.recipe.pages)) or "none"
            raise QuantityError(f"{self.name} has no page {show_value(page)}: it has {pages}.")
        if ax is None:
            return self._draw_page(page)
        place = ax.get_subplotspec()
        if place is None:
            raise QuantityError("these axes have no place in a grid: make them by plt.subplots().")
        holder = ax.figure.add_subfigure(place)
        ax.remove()
        self.recipe.pages[page].draw(holder, self.measured, self._case)
        if self.changed or self.fewer:
            write_corner(holder, "\n".join(filter(None, (self.changed, self.fewer))))
        return holder

    def _draw_page(self, page: str) -> Figure:
        from matplotlib.figure import Figure

        made = self.recipe.pages[page]
        drawn = Figure(figsize=made.size)
        caption = made.draw(drawn, self.measured, self._case)
        corner = [] if self.name.startswith("ours:") else [page_title(self.name)]
        title = caption.message
        if self.settings:
            corner.append(self.changed)
            title = made.shows or self.recipe.title
        if self.fewer:
            corner.append(self.fewer)
        write_caption(drawn, title, caption.setting, caption.note.strip(), "\n".join(corner))
        return drawn

    def save(self, folder: str | Path = "figures") -> list[Path]:
        """Write every page as PNG, SVG and PDF, and the plotted numbers as CSV.

        Parameters
        ----------
        folder : path
            Made if it does not exist; files of the same name are replaced. What was set is part of
            the name.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        OSError
            If the folder cannot be written to.
        """
        require("matplotlib")
        out = Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        files = []
        for page in self.recipe.pages:
            with page_style():
                drawn = self._draw_page(page)
                files += [
                    save_picture(drawn, self._path(out, page, end), self.changed)
                    for end in _SUFFIXES
                ]
        for table, rows in self._tables.items():
            files.append(write_numbers(self._path(out, table, ".csv"), rows))
        return files

    def _path(self, out: Path, part: str, suffix: str) -> Path:
        whole = f"{file_name(self.name)}{'_' if part else ''}{part}"
        return out / f"{whole}{changed_stem(self.settings)}{suffix}"


def _whole(seeds: object) -> int:
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise QuantityError(f"seeds = {show_value(seeds)} is no number of runs: give 1, 2, 3 ...")
    return seeds
