"""Figures: `pi2-fluid figure`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import codes, completing
from pi2_fluid.apps.cli.declaring import Command
from pi2_fluid.apps.cli.options import option, read_whole
from pi2_fluid.apps.cli.output import JsonFlag, make_console, make_grid, print_json
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.progress import tell

if TYPE_CHECKING:
    from pi2_fluid.papers.claim import Verdict
    from pi2_fluid.papers.gallery import PaperFigure
    from pi2_fluid.papers.verdicts import Judged

_COLORS: Final[Mapping[Verdict, str]] = {
    "reproduced": "green",
    "depends": "yellow",
    "not_reproduced": "red",
}
#: Verdicts as they are read.
_WORDS: Final = {
    "reproduced": "reproduced",
    "depends": "only if",
    "not_reproduced": "not reproduced",
    None: "nothing to judge",
}
_Out = Annotated[Path, option("FOLDER", "Where to write; made if it is not there.")]


def figure(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            autocompletion=completing.figures,
            help="pi2:15, pie:10, thesis:4.2, ours:chains; a paper, as pie; or all. Without a name:"
            " list them.",
        ),
    ] = None,
    seeds: Annotated[
        str | None, option("NUMBER", "Runs of each scenario. Default: the figure's own, often 6.")
    ] = None,
    quick: Annotated[
        bool,
        option(
            None, "Draw with two seeds and fewer points: seconds, not minutes.", None, "--quick"
        ),
    ] = False,
    check: Annotated[
        bool,
        option(
            None,
            "Draw nothing; exit with 1 if a verdict is not the recorded one.",
            None,
            "--check",
        ),
    ] = False,
    settings: Annotated[
        list[str] | None,
        option(
            "NAME=VALUE",
            "Change something, as rtt=50ms, count=20, target=5ms or aqm.burst=0s; may be repeated."
            " Nothing is judged then.",
            None,
            "--set",
        ),
    ] = None,
    out: _Out = Path("figures"),
    as_json: JsonFlag = False,
) -> None:
    """List the papers' figures, or draw one and say what of it holds.

    Files are PNG, SVG, PDF and CSV. One figure is computed and judged; of several, those that are
    there already are kept. After Ctrl-C the same command goes on.
    """
    if not names:
        _list_figures(as_json)
        return
    from pi2_fluid.papers.registry import find_figures

    count = None if seeds is None else read_whole(seeds, "--seeds", "runs")
    chosen = find_figures(names)
    if len(chosen) > 1:
        if check or settings:
            raise QuantityError(
                f"{'--check' if check else '--set'} is about one figure, and {len(chosen)} are"
                " named: give one name."
            )
        _draw_all(chosen, out, as_json, seeds=count, quick=quick)
        return
    _draw_one(chosen[0], out, as_json, seeds=count, quick=quick, check=check, settings=settings)


def figures(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME ... | all]")] = None,
    out: _Out = Path("figures"),
    full: Annotated[bool, option(None, "As figure without --quick.", None, "--full")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Draw several figures: the old name of `figure`."""
    typer.echo(
        "warning: `figures` is now `figure`, which draws whole runs unless --quick is given; the"
        " next version knows `figure` alone.",
        err=True,
    )
    if not names:
        _list_figures(as_json)
    else:
        _draw_all(names, out, as_json, seeds=None, quick=not full)


def _draw_all(
    names: list[str], out: Path, as_json: bool, *, seeds: int | None, quick: bool
) -> None:
    from pi2_fluid.papers.figures import each_figure

    drawn, interrupted = [], False
    try:
        for one in each_figure(names, out, seeds=seeds, quick=quick, progress=tell):
            drawn.append(one)
            if not as_json:
                for path in one.files:
                    typer.echo(path)
    except KeyboardInterrupt:
        if not drawn:
            raise
        interrupted = True
    if as_json:
        records = [{"name": name, "files": [str(path) for path in files]} for name, files in drawn]
        print_json({"figures": records, "interrupted": interrupted})
    if interrupted:
        raise codes.BrokenOff(f"{len(drawn)} are done; the same command makes the others")


def _draw_one(
    name: str,
    out: Path,
    as_json: bool,
    *,
    seeds: int | None,
    quick: bool,
    check: bool,
    settings: list[str] | None,
) -> None:
    import pi2_fluid as pf

    drawn = pf.figure(
        name, seeds=seeds, quick=quick, settings=dict(map(_read_setting, settings or []))
    )
    if check and drawn.settings:
        raise QuantityError("--check asks about the paper's own figure: leave out --set.")
    runs = "" if drawn.seeds == 1 else f" with {drawn.seeds} seeds"
    tell(f"computing {drawn.name}{runs}")
    begin = time.monotonic()
    verdicts = drawn.verdicts
    other = _other_verdicts(drawn) if check else []
    files = [] if check else drawn.save(out)
    if as_json:
        print_json(_as_record(drawn, verdicts, files, other, time.monotonic() - begin))
    else:
        _print_figure(drawn, verdicts)
        for line in [*map(str, files), *other]:
            typer.echo(line)
    if other:
        raise typer.Exit(codes.UNSTABLE)


def _list_figures(as_json: bool) -> None:
    from pi2_fluid.papers.claim import count_verdicts
    from pi2_fluid.papers.record import counted, recorded, recorded_verdicts
    from pi2_fluid.papers.registry import FIGURES, file_name, recipe_of

    rows: list[dict[str, Any]] = []
    for name in FIGURES:
        paper, _, number = name.partition(":")
        recipe, record, verdicts = recipe_of(name), recorded(name), recorded_verdicts(name)
        kinds = [one.verdict for one in verdicts.values()]
        rows.append(
            {
                "figure": name,
                "paper": paper,
                "number": number,
                "file": file_name(name),
                "kind": recipe.kind,
                "seconds": record.seconds if record else None,
                "verdict": count_verdicts(kinds),
                **{kind: kinds.count(kind) for kind in _COLORS},
                "notes": kinds.count(None),
                "caption": recipe.caption,
            }
        )
    if as_json:
        print_json({"figures": rows})
        return
    _print_list(rows, counted(list(FIGURES)))


def _print_list(rows: list[dict[str, Any]], total: str) -> None:
    from rich.table import Table

    table = Table.grid(padding=(0, 1), expand=True)
    wide = (max(len(row["figure"]) for row in rows), max(len(row["kind"]) for row in rows))
    for width in wide:
        table.add_column(no_wrap=True, min_width=width)
    for _ in range(4):
        table.add_column(no_wrap=True, min_width=3, justify="right")
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_row("figure", "from", "s", "yes", "if", "no", "what it shows", style="bold")
    for row in rows:
        seconds = "" if row["seconds"] is None else f"{row['seconds']:.0f}"
        counts = [str(row[verdict] or "") for verdict in _COLORS]
        table.add_row(row["figure"], row["kind"], seconds, *counts, row["caption"])
    console = make_console()
    console.print(table)
    console.print(
        f"\n{total}.\nyes: reproduced; if: only under an assumption of ours; no: not reproduced;"
        " s: seconds of a whole run."
    )


def _read_setting(text: str) -> tuple[str, str]:
    name, is_there, value = text.partition("=")
    if not (name and is_there and value):
        raise QuantityError(f"--set {show_value(text)} sets nothing: give rtt=50ms, name=value.")
    return name.strip(), value.strip()


def _other_verdicts(made: PaperFigure) -> list[str]:
    """Return a line for each verdict that is not the recorded one."""
    from pi2_fluid.papers.record import recorded_verdicts

    there = recorded_verdicts(made.name)
    return [
        f"{key}: {_WORDS[one.verdict]}, recorded is"
        f" {_WORDS[there[key].verdict] if key in there else 'nothing'}"
        for key, one in made.verdicts.items()
        if key not in there or there[key].verdict != one.verdict
    ]


def _as_record(
    drawn: PaperFigure,
    verdicts: Mapping[str, Judged],
    files: list[Path],
    other: list[str],
    seconds: float,
) -> dict[str, Any]:
    from pi2_fluid.papers.verdicts import tolerance_text

    return {
        "figure": drawn.name,
        "caption": drawn.caption,
        "changed": drawn.changed,
        "seeds": drawn.seeds,
        "quick": drawn.quick,
        "settings": {key: str(value) for key, value in drawn.settings.items()},
        "verdicts": [
            {
                "key": key,
                "quantity": one.stated.quantity,
                "stated": one.stated.value,
                "unit": one.stated.unit,
                "wording": one.stated.wording,
                "tolerance": tolerance_text(one.stated),
                "found": list(one.found),
                "verdict": one.verdict,
                "condition": one.condition,
                "why": one.why,
            }
            for key, one in verdicts.items()
        ],
        "causes": drawn.causes,
        "decisions": list(drawn.decisions),
        "differ": other,
        "seconds": round(seconds, 2),
        "files": [str(path) for path in files],
    }


def _print_figure(drawn: PaperFigure, verdicts: Mapping[str, Judged]) -> None:
    from rich.text import Text

    from pi2_fluid.papers.verdicts import found_text, stated_text

    console = make_console()
    console.print(Text(f"{drawn.name}: {drawn.caption}", style="bold"))
    if drawn.changed:
        console.print(
            Text(f"{drawn.changed}. Not judged: what the paper states is about its own set-up.")
        )
    grid = make_grid("left", "left", "left", "left")
    if verdicts:
        grid.add_row("", "stated", "here", "verdict", style="bold")
    for one in verdicts.values():
        verdict = Text(_WORDS[one.verdict], style=_COLORS[one.verdict] if one.verdict else "")
        if one.condition:
            verdict.append(f" {one.condition}")
        grid.add_row(one.stated.quantity, stated_text(one.stated), found_text(one), verdict)
    console.print(grid)
    for line in [*drawn.causes, *drawn.decisions]:
        console.print(Text(line, style="dim"))


#: What of one figure, of several and of their list is printed.
_JSON: Final = {
    "figures": "without a name: a list of {figure, paper, number, file, kind, seconds,"
    " verdict, reproduced, depends, not_reproduced, notes, caption}; of several figures: a"
    " list of {name, files}",
    "interrupted": "of several figures: by Ctrl-C",
    "figure": "of one figure: its name",
    "caption": "of one figure: one sentence",
    "changed": "of one figure: what --set changed",
    "seeds": "of one figure: runs of each scenario",
    "quick": "of one figure",
    "settings": "of one figure: those of --set",
    "verdicts": "of one figure: a list of {key, quantity, stated, unit, wording, tolerance,"
    " found, verdict, condition, why}",
    "causes": "of one figure: why a statement does not hold",
    "decisions": "of one figure: what the paper leaves open, and we chose",
    "differ": "of one figure: verdicts that are not the recorded ones (--check)",
    "seconds": "of one figure: how long it took",
    "files": "of one figure: pictures and numbers",
}
COMMANDS: tuple[Command, ...] = (
    Command(
        figure,
        examples=(
            "pi2-fluid figure",
            "pi2-fluid figure pi2:15",
            "pi2-fluid figure pi2:7 --set rtt=50ms --out /tmp/figures",
            "pi2-fluid figure pie:10 --seeds 20 --check",
            "pi2-fluid figure pie thesis:4.2 --quick --out /tmp/figures --json",
            "pi2-fluid figure all --quick",
        ),
        json=_JSON,
        notes=("Exit code 1: --check found another verdict than is recorded."),
    ),
    Command(figures, examples=("pi2-fluid figure all --quick",), json=_JSON, hidden=True),
)
