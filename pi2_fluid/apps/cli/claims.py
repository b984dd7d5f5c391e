"""What papers claim: `pi2-fluid claims`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from pi2_fluid.apps.cli import codes, completing
from pi2_fluid.apps.cli.declaring import Command
from pi2_fluid.apps.cli.options import option
from pi2_fluid.apps.cli.output import JsonFlag, make_console, print_json, tell

__all__ = ["COMMANDS", "claims"]


def claims(
    paper: Annotated[
        str | None,
        option("NAME", "Only one paper: pi2, pie, paganini or thesis.", complete=completing.papers),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compute what the papers claim, and say which claims hold."""
    from pi2_fluid.papers.claims import each_claim

    tell("computing the claims")
    records, interrupted = [], False
    try:
        for claim in each_claim(paper):
            records.append(asdict(claim))
    except KeyboardInterrupt:
        if not records:
            raise
        interrupted = True
    if as_json:
        print_json({"claims": records, "interrupted": interrupted})
    else:
        _print_claims(records)
    if interrupted:
        if not as_json:
            typer.echo("interrupted: the other claims are not computed")
        raise typer.Exit(codes.INTERRUPTED)


def _print_claims(records: Sequence[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    colors = {"reproduced": "green", "not_reproduced": "red", "depends": "yellow"}
    table = Table(box=box.SIMPLE_HEAD, show_lines=True, pad_edge=False)
    table.add_column("verdict", no_wrap=True)
    table.add_column("claim", ratio=1)
    count: dict[str, int] = {}
    for record in records:
        verdict = record["verdict"].replace("_", " ")
        count[verdict] = count.get(verdict, 0) + 1
        left = Text.assemble((verdict, colors[record["verdict"]]), "\n", record["id"], style="bold")
        right = Text.assemble(
            (record["text"], "bold"),
            f" ({record['source']})\n",
            f"computed: {record['computed']}\n",
            (f"why: {record['why']}", "dim"),
        )
        table.add_row(left, right)
    console = make_console()
    console.print(table)
    console.print(", ".join(f"{number} {verdict}" for verdict, number in count.items()))


COMMANDS: tuple[Command, ...] = (
    Command(
        claims,
        examples=("pi2-fluid claims --paper pi2", "pi2-fluid claims --json"),
        json={
            "claims": "a list of {id, source, text, computed, verdict, why}; verdict is reproduced,"
            " not_reproduced or depends",
            "interrupted": "by Ctrl-C: the list is then what was computed",
        },
    ),
)
