"""What came out of the whole runs: recorded with the package, and in the folder of a run.

A folder of figures keeps one JSON file per figure beside its pictures, with the key of what it was
made from: code, parameters, seeds. A figure whose key is still the same is not made again.
"""

from __future__ import annotations

import ast
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from pi2_fluid import _core
from pi2_fluid.papers.claim import count_verdicts
from pi2_fluid.papers.gallery import PaperFigure
from pi2_fluid.papers.registry import FIGURES, recipe_of
from pi2_fluid.papers.stated import stated
from pi2_fluid.papers.verdicts import Judged
from pi2_fluid.saving import save_text

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_RECORDED: Final = Path(__file__).with_name("recorded.json")
#: Rooms that no figure is computed by.
_ABOVE: Final = ("apps", "papers", "referee")


class Record(NamedTuple):
    """What one figure came to."""

    figure: str
    key: str
    """Of code, parameters and seeds; "" of what is recorded with the package."""
    seeds: int
    seconds: float
    """What it took, on the machine that made it."""
    digest: str
    """Of the plotted numbers and of `found`."""
    found: dict[str, list[float]]
    """What the statements are judged by, run by run, by their keys."""
    files: list[str]


def make_figure(figure: PaperFigure, folder: Path) -> Record:
    """Make a figure's files in a folder, unless they are there and nothing has changed."""
    key = key_of(figure)
    path = folder / f"{figure.stem}.json"
    there = read_record(path)
    if there and there.key == key and all((folder / name).is_file() for name in there.files):
        return there
    begin = time.perf_counter()
    files = figure.save(folder)
    seconds = time.perf_counter() - begin
    found = figure.found
    record = Record(
        figure.name, key, figure.seeds, round(seconds, 1), digest_of(files, found), found,
        [file.name for file in files],
    )  # fmt: skip
    # Last, so that a figure that was broken off is not taken for a finished one.
    save_text(path, json.dumps(record._asdict(), indent=1) + "\n")
    return record


def read_record(path: Path) -> Record | None:
    """Return the record in a file; None if there is none, or it is of another kind."""
    try:
        return Record(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def digest_of(files: list[Path], found: dict[str, list[float]]) -> str:
    """Return what stands for the numbers of a figure."""
    numbers = hashlib.sha256()
    for file in files:
        if file.suffix == ".csv":
            numbers.update(file.read_bytes())
    numbers.update(json.dumps({k: [f"{x:.12g}" for x in v] for k, v in found.items()}).encode())
    return numbers.hexdigest()[:16]


def key_of(figure: PaperFigure) -> str:
    """Return what changes when code, parameters or seeds of a figure do."""
    made = hashlib.sha256(_code_below().encode())
    for path in sorted(_sources_of(FIGURES[figure.name])):
        made.update(path.read_bytes())
    for name, scenario in figure.scenarios.items():
        made.update(f"{name}\n{scenario.to_toml()}".encode())
    said = [figure.name, figure.seeds, figure.quick, sorted(map(str, figure.settings.items()))]
    made.update(json.dumps(said).encode())
    return made.hexdigest()[:16]


@cache
def _code_below() -> str:
    """Of everything that papers stand on: the package below them, and what is compiled."""
    made = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        if path.relative_to(_PACKAGE).parts[0] not in _ABOVE:
            made.update(path.read_bytes())
    made.update(Path(_core.__file__).read_bytes())
    return made.hexdigest()


def _sources_of(module: str) -> set[Path]:
    """The files of a module of a paper and of those that it imports, and the tables beside them."""
    modules = _modules_of(module)
    folders = {path.parent for path in modules} - {_RECORDED.parent}
    return modules | {table for folder in folders for table in folder.glob("*.csv")}


def _modules_of(module: str) -> set[Path]:
    """The files of a module of a paper, and of all modules of papers that it imports."""
    found: set[Path] = set()
    waiting = [f"pi2_fluid.papers.{module}"]
    while waiting:
        path = _PACKAGE.parent.joinpath(*waiting.pop().split(".")).with_suffix(".py")
        if path in found or not path.is_file():
            continue
        found.add(path)
        waiting += _imports(path)
    return found


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pi2_fluid.papers"):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def _shipped() -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(_RECORDED.read_text(encoding="utf-8"))
    return whole


def forget() -> None:
    """Read the recorded results again when they are asked for: they were written anew."""
    _shipped.cache_clear()


def recorded(figure: str) -> Record | None:
    """Return what came out of a figure's whole run, as it is recorded with the package."""
    there = _shipped().get(figure)
    return Record(figure=figure, key="", **there) if there else None


def recorded_verdicts(figure: str) -> dict[str, Judged]:
    """Return the verdicts that follow from what is recorded; none if it is not."""
    record = recorded(figure)
    if record is None:
        return {}
    recipe = recipe_of(figure)
    return {
        row.key: recipe.judge(row, record.found[row.key])
        for row in stated(figure)
        if row.key in record.found
    }


def counted(figures: Sequence[str]) -> str:
    """Return how many figures there are, what is stated about them, and what came of it."""
    judged = [one for figure in figures for one in recorded_verdicts(figure).values()]
    verdicts = [one.verdict for one in judged]
    return f"{len(figures)} figures, {count_verdicts(verdicts, 'statement')}"
