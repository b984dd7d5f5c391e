"""`pi2-fluid diagnose`: what a file of delays and rates says of a queue."""

from __future__ import annotations

from typing import Annotated

import typer

from pi2_fluid.apps.cli import options
from pi2_fluid.apps.cli.declaring import MEASURE, Command
from pi2_fluid.apps.cli.output import JsonFlag, print_json


def diagnose(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="What Flent, iperf3, ping, irtt, tc or another tool measured, or a CSV file."
            " Several were recorded at the same time; - is standard input.",
        ),
    ],
    path: Annotated[
        str | None,
        options.option(
            "TIME", "Round-trip time without queue: 20ms. Default: what it says, or its least."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Say where a delay is, whether it oscillates, what changed.

    Each sentence has its evidence. What cannot be told says what to record.
    """
    from pi2_fluid.comparison.diagnosis.diagnosing import diagnose as ask
    from pi2_fluid.measured.joining import join

    measured = join(*("/dev/stdin" if file == "-" else file for file in files))
    found = ask(measured, base_rtt=path)
    warnings = str(measured.attrs["warnings"]).splitlines()
    if as_json:
        keys = ("kind", "told", "text", "evidence")
        rows = [{key: getattr(one, key) for key in keys} for one in found]
        print_json({"files": files, "warnings": warnings, "findings": rows})
        return
    for warning in warnings:
        typer.echo(f"{warning}\n")
    for place, one in enumerate(found):
        typer.echo(("\n" if place else "") + f"{one.text}\n  {one.evidence}")


COMMANDS: tuple[Command, ...] = (
    Command(
        diagnose,
        panel=MEASURE,
        examples=(
            "pi2-fluid diagnose run.flent.gz",
            "pi2-fluid diagnose ping.txt tc.log iperf3.json",
            "pi2-fluid diagnose log.csv --path 20ms --json",
        ),
        json={
            "files": "what was read",
            "warnings": "a list: what is odd about the numbers",
            "findings": "a list of {kind, told, text, evidence}; kind is where, queue, oscillation"
            " or capacity; told is false of what cannot be told",
        },
    ),
)
