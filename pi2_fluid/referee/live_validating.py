"""`validate_live`: every cell simulated and measured anew, on the kernel at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pi2_fluid as pf
from pi2_fluid.engines.linux.kernels import find_kernel
from pi2_fluid.errors import UnsupportedError, show_value
from pi2_fluid.referee import references
from pi2_fluid.referee.cells import Cell
from pi2_fluid.referee.judging import Finding, LiveKernel, Validation, judge
from pi2_fluid.referee.live import Live, in_guests, measure_live
from pi2_fluid.referee.live_report import live_markdown
from pi2_fluid.referee.measuring import measure, run
from pi2_fluid.referee.steps import judge_steps
from pi2_fluid.referee.validating import chosen_cells
from pi2_fluid.saving import save_text


def validate_live(
    engine: pf.Linux,
    out: str | Path,
    *,
    seeds: int = 20,
    cells: Sequence[str] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Validation:
    """Measure the kernel's column anew, cell by cell, and hold packets and the old column to it.

    Parameters
    ----------
    engine : Linux
        The kernel, with its seeds, two at least.
    out : path
        Folder for the table, ``live.md``, and for what is measured of each cell, which is kept at
        once: the next call with the same seeds and kernel goes on. Made if it does not exist.
    seeds : int, default 20
        Simulated runs of each cell.
    cells : sequence of str, optional
        Names of cells; all that guests can run, if not given.
    progress : callable, optional
        Called with one line of text before each cell, and while it is measured.

    Returns
    -------
    Validation
        ``linux`` holds packets against this kernel, each z with the scatter of both sides;
        ``live`` this kernel against what was recorded. After Ctrl-C those of the cells that are
        finished.

    Raises
    ------
    QuantityError
        If a cell is unknown, or there are fewer than two seeds.
    UnsupportedError, SolverError
        If there is no kernel, a cell is asked for that guests cannot run, or one ends before its
        run.
    """
    chosen = chosen_cells(cells, seeds)
    if cells is None:
        chosen = [cell for cell in chosen if not cell.not_live]
    for cell in chosen:
        if cell.not_live:
            raise UnsupportedError(
                f"cell {show_value(cell.name)} cannot be measured anew, as {cell.not_live}: leave"
                " it out."
            )
    kernel = find_kernel(engine.kernel)
    say = progress or (lambda _: None)
    folder = Path(out)
    findings: list[Finding] = []
    against: list[Finding] = []
    interrupted, runs = False, 0
    try:
        for cell in chosen:
            found = _measure(cell, engine, folder, say)
            runs = len(found.seeds)
            findings += _packets_against(cell, found, seeds)
            against += judge(cell, found.measured(), references.linux(), own_scatter=True)
    except KeyboardInterrupt:
        if not findings:
            raise
        interrupted = True
    live = LiveKernel(kernel.release, runs, tuple(against))
    made = Validation(tuple(findings), (), seeds, (), interrupted, live)
    save_text(folder / "live.md", live_markdown(made.linux, live, seeds))
    return made


def _measure(cell: Cell, engine: pf.Linux, folder: Path, say: Callable[[str], None]) -> Live:
    def tell(done: float, total: float) -> None:
        say(f"measuring {cell.name}: {done:.0f} of {total:.0f} s")

    steps = references.peaks().get(cell.name, ())
    return measure_live(cell, engine, folder / "live", steps, tell)


def _packets_against(cell: Cell, found: Live, seeds: int) -> list[Finding]:
    cell = in_guests(cell)
    simulated = run(cell, seeds, None)
    mine = judge(cell, measure(simulated), found.references(cell), own_scatter=True)
    return mine + (judge_steps(cell, simulated, found.peaks) if found.peaks else [])
