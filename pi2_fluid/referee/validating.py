"""`validate`: every cell simulated anew, held against what was measured, and drawn."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.referee import references
from pi2_fluid.referee.cells import CELLS, Cell
from pi2_fluid.referee.judging import Finding, Validation, judge
from pi2_fluid.referee.measuring import LINK, measure, run
from pi2_fluid.referee.ns3 import compare_ns3
from pi2_fluid.referee.report import markdown
from pi2_fluid.referee.steps import judge_steps
from pi2_fluid.saving import save_text

_MOST_SEEDS: Final = 10_000


def validate(
    out: str | Path | None = "figures",
    *,
    seeds: int = 20,
    threads: int | None = None,
    cells: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Validation:
    """Simulate every cell and compare it with the Linux kernel, and some with ns-3.

    Parameters
    ----------
    out : path or None, default "figures"
        Folder for the table (``validation.md``), the figures (PNG, SVG, PDF) and their numbers
        (CSV); made if it does not exist. None: nothing is written.
    seeds : int, default 20
        Runs of each cell, 2 at least: their scatter says how much means may differ by chance. From
        fewer than 10 it is not known well, so that z, and with it the verdict, depends on luck.
    threads : int, optional
        Runs side by side; as many as there are cores if not given. The numbers do not depend on it.
    cells : sequence of str, optional
        Names of cells, `CELLS`; all of them, and ns-3, if not given. Nothing is drawn of a choice.
    progress : callable, optional
        Called with one line of text before each cell.

    Returns
    -------
    Validation
        The findings; ``passed`` is the verdict. After Ctrl-C those of the cells that are finished,
        of which nothing is drawn.

    Raises
    ------
    QuantityError
        If a cell is unknown or there are fewer than two seeds; nothing is simulated then.
    OSError
        If the folder cannot be written to.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> found = pf.validate(None, seeds=2, cells=["reno_loss_3"])
    >>> [(f.statistic, f"{f.reference:.2f}", f.loose_ok) for f in found.linux]
    [('response', '1.22', True)]
    """
    chosen = chosen_cells(cells, seeds)
    folder = None if out is None or cells is not None else Path(out)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    say = progress or (lambda _: None)
    findings: list[Finding] = []
    stepped: dict[str, tuple[Any, Any]] = {}
    others: list[Finding] = []
    interrupted = False
    try:
        for cell in chosen:
            say(f"simulating {cell.name}")
            findings += _findings_of(cell, seeds, threads, stepped)
        if cells is None:
            for name, row in references.ns3().items():
                say(f"simulating {name} of ns-3")
                others += compare_ns3(name, row, seeds, threads)
    except KeyboardInterrupt:
        if not findings:
            raise
        interrupted = True
    found = Validation(tuple(findings), tuple(others), seeds, (), interrupted)
    if folder is None or interrupted:
        return found
    from pi2_fluid.referee.pictures import draw_overview, draw_steps  # matplotlib

    say("drawing")
    page = folder / "validation.md"
    save_text(page, markdown(found))
    files = [page, *draw_overview(findings, folder), *draw_steps(stepped, folder)]
    return dataclasses.replace(found, files=tuple(files))


def _findings_of(
    cell: Cell, seeds: int, threads: int | None, stepped: dict[str, tuple[Any, Any]]
) -> list[Finding]:
    """Simulate one cell and judge it; of one whose capacity steps, keep the delay, to be drawn."""
    runs = run(cell, seeds, threads)
    mine = judge(cell, measure(runs), references.linux())
    if cell.name in references.peaks():
        mine += judge_steps(cell, runs, references.peaks()[cell.name])
        stepped[cell.name] = runs.queue_delay.to_numpy(), runs.time.to_numpy()
    # What is said of the link comes first.
    return sorted(mine, key=lambda finding: finding.group != LINK)


def chosen_cells(names: Sequence[str] | None, seeds: object) -> list[Cell]:
    """Return the cells of these names, all for None, refusing too few or too many seeds.

    Raises
    ------
    QuantityError
        If a cell is unknown, or the runs of one have no scatter.
    """
    given: Any = seeds
    if type(given) is not int or not 2 <= given <= _MOST_SEEDS:
        raise QuantityError(
            f"seeds = {show_value(seeds)} is no number of runs from 2 to {_MOST_SEEDS}, which have"
            " a scatter: give one."
        )
    if names is None:
        return list(CELLS)
    known = {cell.name: cell for cell in CELLS}
    for name in names:
        if name not in known:
            raise QuantityError(f"cell {name!r} is unknown: give any of {', '.join(known)}.")
    return [known[name] for name in names]
