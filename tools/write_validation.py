"""Bring docs/validation.md and its pictures up to date: python tools/write_validation.py.

With --live the kernel is measured anew before, in guests, which takes hours: the cells of which
nothing else was recorded, into pi2_fluid/referee/data/live.csv, and the others, for the page alone.
What is measured is kept in --out, and the next call goes on.
"""

from __future__ import annotations

import argparse
import csv
import io
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pi2_fluid as pf
from pi2_fluid.referee import Validation, references, validate, validate_live
from pi2_fluid.referee.cells import CELLS
from pi2_fluid.referee.live import Live, measure_live
from pi2_fluid.referee.live_cells import LIVE_CELLS
from pi2_fluid.referee.live_report import live_summary
from pi2_fluid.referee.report import markdown
from pi2_fluid.referee.side_by_side import Beside, compare_live, side_by_side_markdown
from pi2_fluid.saving import save_bytes, save_text

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "validation.md"
CELLS_FILE = ROOT / "pi2_fluid" / "referee" / "data" / references.LIVE_FILE
ABOUT = """\
# LIVE_CELLS in guests of the engine Linux, by python tools/write_validation.py --live.
# One row per run and group of flows; SI units; taken by measuring.measure, as of simulated packets.
"""


def page_with(text: str, found: Validation) -> str:
    """Return the page with its findings replaced."""
    return _between(text, "findings", markdown(found))


def page_beside(text: str, found: Sequence[Beside]) -> str:
    """Return the page with its tables of fluid, packets and kernel replaced."""
    return _between(text, "beside", side_by_side_markdown(found))


def page_live(text: str, found: Validation) -> str:
    """Return the page with what it says of the cells on the kernel at hand replaced."""
    assert found.live is not None
    summary = live_summary(found.linux, found.live, found.seeds)
    return _between(text, "live", summary + "\n")


def _between(text: str, name: str, new: str) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"the page has no {begin} ... {end}: put both lines where they go.")
    return f"{before}{begin}\n\n{new}\n{end}{after}"


def csv_of(found: Sequence[tuple[str, Live]], date: str) -> str:
    """Return what was measured of cells, by name, as live.csv has it."""
    file = io.StringIO()
    file.write(ABOUT)
    writer = csv.writer(file, lineterminator="\n")
    names: list[str] = []
    for cell, live in found:
        for group, values in live.groups.items():
            if not names:
                names = list(values)
                writer.writerow(["cell", "group", "run", "release", "date", *names])
            for run, seed in enumerate(live.seeds):
                numbers = [f"{values[name][run]:.6g}" for name in names]
                writer.writerow([cell, group, seed, live.release, date, *numbers])
    return file.getvalue()


def measure_anew(engine: pf.Linux, out: Path, cells: Sequence[str]) -> None:
    """Measure the kernel, and write what it does into live.csv and the page."""
    measured = [
        (cell.name, measure_live(cell, engine, out / "live", progress=_say(cell.name)))
        for cell in LIVE_CELLS
    ]
    save_text(CELLS_FILE, csv_of(measured, f"{datetime.now(UTC):%Y-%m-%d}"))
    found = validate_live(engine, out, cells=cells, progress=print)
    if found.interrupted:
        raise KeyboardInterrupt
    save_text(PAGE, page_live(PAGE.read_text(encoding="utf-8"), found))


def _say(name: str) -> Callable[[float, float], None]:
    return lambda done, total: print(f"measuring {name}: {done:.0f} of {total:.0f} s")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", action="store_true")
    parser.add_argument("--kernel", help="version or folder")
    parser.add_argument("--seeds", type=int, default=10, help="of each cell in guests")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "live")
    parser.add_argument("--cell", action="append", help="only these of the recorded ones")
    given = parser.parse_args()
    if given.live:
        able = [cell.name for cell in CELLS if not cell.not_live]
        measure_anew(
            pf.Linux(seeds=given.seeds, kernel=given.kernel), given.out, given.cell or able
        )
    with tempfile.TemporaryDirectory() as folder:
        found = validate(folder, progress=print)
        if found.interrupted:
            raise KeyboardInterrupt
        for path in found.files:
            if path.suffix == ".png":
                save_bytes(DOCS / "images" / path.name, path.read_bytes())
    text = page_with(PAGE.read_text(encoding="utf-8"), found)
    save_text(PAGE, page_beside(text, compare_live(progress=print)))


if __name__ == "__main__":
    main()
