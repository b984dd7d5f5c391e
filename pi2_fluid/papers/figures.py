"""Figures of the papers and of our own, drawn into a folder.

Every figure leaves the numbers behind it as CSV, and a record of what it was made from: what has
not changed since is not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pi2_fluid.papers.gallery import figure as make
from pi2_fluid.papers.record import make_figure, recorded
from pi2_fluid.papers.registry import file_name, find_figures


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

    A figure that is there already, made by the same code from the same parameters and seeds, is
    left as it is.

    Parameters
    ----------
    names : "all", or one or several of these
        Paper and number, as "pi2:15", "pie:10", "thesis:4.2", "paganini:5"; a paper, "pie", for
        all of its figures; our own as "ours:chains" or "chains"; the number alone where one paper
        has it; any as its files are called: "pi2_fig07".
    out : path, default "figures"
        Folder for the files; made if it does not exist. Files of the same name are replaced.
    seeds : int, optional
        Runs of each scenario; by default two if `quick`, else each figure's own number.
    quick : bool, default True
        Few seeds, and of what has very many points fewer: the pictures are much the same, but what
        the papers state is decided by whole runs.
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

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = figures("pi2:table1", folder)
    ...     print(made[0].name, sorted({path.suffix for path in made[0].files}))
    pi2_table1 ['.csv']
    """
    return list(each_figure(names, out, seeds=seeds, quick=quick, progress=progress))


def each_figure(
    names: str | int | Iterable[str | int],
    out: str | Path,
    *,
    seeds: int | None = None,
    quick: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Iterator[Figure]:
    """Yield what `figures` returns, one by one as they are made."""
    chosen = find_figures(names)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    for place, name in enumerate(chosen, 1):
        if progress is not None:
            progress(f"{name} ({place} of {len(chosen)}{_left(chosen[place - 1 :], quick)})")
        record = make_figure(make(name, seeds=seeds, quick=quick), folder)
        yield Figure(file_name(name), tuple(folder / file for file in record.files))


def _left(waiting: list[str], quick: bool) -> str:
    """Return about how long whole runs of what waits took when they were recorded, in words."""
    seconds = sum(there.seconds for name in waiting if (there := recorded(name)))
    return "" if quick or seconds < 60.0 else f", about {seconds / 60.0:.0f} min if all is made"
