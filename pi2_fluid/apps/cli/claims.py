"""What papers claim: `pi2-fluid claims`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from pi2_fluid.apps.cli import codes, completing
from pi2_fluid.apps.cli.declaring import Command
from pi2_fluid.apps.cli.options import option
from pi2_fluid.apps.cli.output import JsonFlag, make_console, print_json
from pi2_fluid.progress import tell

if TYPE_CHECKING:
    from pi2_fluid.papers.claim import Claim


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
    computed, interrupted = [], False
    try:
        for claim in each_claim(paper):
            computed.append(claim)
    except KeyboardInterrupt:
        if not computed:
            raise
        interrupted = True
    if as_json:
        print_json({"claims": [asdict(claim) for claim in computed], "interrupted": interrupted})
    else:
        _print_claims(computed)
    if interrupted:
        if not as_json:
            typer.echo("interrupted: the other claims are not computed")
        raise typer.Exit(codes.INTERRUPTED)


def _print_claims(computed: Sequence[Claim]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from pi2_fluid.papers.claim import count_verdicts

    colors = {"reproduced": "green", "not_reproduced": "red", "depends": "yellow"}
    table = Table(box=box.SIMPLE_HEAD, show_lines=True, pad_edge=False)
    table.add_column("verdict", no_wrap=True)
    table.add_column("claim", ratio=1)
    for claim in computed:
        verdict = claim.verdict.replace("_", " ")
        left = Text.assemble((verdict, colors[claim.verdict]), "\n", claim.id, style="bold")
        right = Text.assemble(
            (claim.text, "bold"),
            f" ({claim.source})\n",
            f"computed: {claim.computed}\n",
            (f"why: {claim.why}", "dim"),
        )
        table.add_row(left, right)
    console = make_console()
    console.print(table)
    console.print(f"{count_verdicts([one.verdict for one in computed], 'claim')}.")


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
