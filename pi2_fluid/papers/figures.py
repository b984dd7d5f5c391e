"""Figures of the papers and of our own, drawn into a folder.

Every figure leaves the numbers behind it as CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from pi2_fluid.papers.gallery import figure as make
from pi2_fluid.papers.registry import FIGURES, file_name, find_figures

__all__ = ["Figure", "figures"]


class Figure(NamedTuple):
    """One drawn figure."""

    name: str
    """What its files are called."""
    files: tuple[Path, ...]
    """Pictures (PNG, SVG, PDF) and the plotted numbers (CSV)."""


def figures(
    names: str | int | Iterable[str | int] = "all",
    out: str | Path = "figures",
    *,
    seeds: int | None = None,
    quick: bool = True,
    progress: Callable[[str], None] | None = None,
) -> list[Figure]:
    """Draw figures into a folder.

    Parameters
    ----------
    names : "all", or one or several of these
        Paper and number, as "pi2:15", "pie:10", "thesis:4.2", "paganini:5"; a paper, "pie", for
        all of its figures; our own as "ours:chains" or "chains"; a figure of the PI2 paper by its
        number; any as its files are called: "pi2_fig07".
    out : path, default "figures"
        Folder for the files; made if it does not exist. Files of the same name are replaced.
    seeds : int, optional
        Runs of each scenario; by default two if `quick`, else each figure's own number.
    quick : bool, default True
        Few seeds and points: the pictures are the same to the eye, the verdicts are not decided
        by them.
    progress : callable, optional
        Called with one line of text before each figure.

    Returns
    -------
    list of Figure
        Records (name, files) in the order of `names`, each figure once.

    Raises
    ------
    QuantityError
        If a name is unknown; nothing is drawn then.
    OSError
        If the folder cannot be written to.

    Notes
    -----
    Source: PI2 paper (CoNEXT'16), PIE paper (HPSR'13), Paganini, Wang, Low and Doyle (2002), and
    the thesis on PI2 in ns-3.
    """
    chosen = find_figures(names)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name in chosen:
        if progress is not None:
            progress(f"drawing {file_name(name)}")
        module = import_module(f"pi2_fluid.papers.{FIGURES[name]}")
        if hasattr(module, "RECIPE"):
            files = make(name, seeds=seeds, quick=quick).save(folder)
        else:
            files = module.draw(folder)
        drawn.append(Figure(file_name(name), tuple(files)))
    return drawn
