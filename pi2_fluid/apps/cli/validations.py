"""Validation: `pi2-fluid validate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import codes
from pi2_fluid.apps.cli.options import option, read_whole
from pi2_fluid.apps.cli.output import JsonFlag, Line, print_json

if TYPE_CHECKING:
    from pi2_fluid.referee import Validation
    from pi2_fluid.referee.judging import Finding

__all__ = ["COMMANDS", "validate"]

_LINE: Final = "{:<22} {:>12} {:>12} {:>13}  {:<7} {}"


def validate(
    out: Annotated[Path, option("FOLDER", "Where to draw; made if it does not exist.")] = Path(
        "figures"
    ),
    seeds: Annotated[
        str,
        option("NUMBER", "Runs of each cell, 2 or more; with fewer than 10, z is large by chance."),
    ] = "20",
    as_json: JsonFlag = False,
) -> None:
    """Simulate packets and compare them with what the Linux kernel did, cell by cell."""
    from pi2_fluid.referee import validate as validate_all

    wanted = read_whole(seeds, "--seeds", "runs", 2)
    with Line() as line:
        found = validate_all(
            out, seeds=wanted, progress=lambda cell: line.show(cell, once="simulating all cells")
        )
    if as_json:
        records = {
            name: [_record(f) for f in findings]
            for name, findings in (("linux", found.linux), ("ns3", found.ns3))
        }
        print_json(
            {
                "passed": found.passed,
                "interrupted": found.interrupted,
                "pooled_z": found.pooled,
                "seeds": found.seeds,
                **records,
                "files": [str(path) for path in found.files],
            }
        )
    else:
        _print_findings("Linux", found.linux)
        _print_findings("ns-3", found.ns3)
        _print_verdict(found)
    if found.interrupted:
        raise typer.Exit(codes.INTERRUPTED)
    if not found.passed:
        raise typer.Exit(codes.UNSTABLE)


def _record(finding: Finding) -> dict[str, Any]:
    return asdict(finding) | {
        "error": finding.error,
        "tight_ok": finding.tight_ok,
        "loose_ok": finding.loose_ok,
    }


def _print_findings(where: str, findings: Sequence[Any]) -> None:
    from pi2_fluid.referee.wording import error_text, name_of, value_text

    head = _LINE.format("", "simulated", where, "error", "tight", "loose").rstrip()
    before = None
    for finding in findings:
        place = (finding.cell, finding.group)
        if place != before:
            name = f"{finding.cell}, {finding.group}" if finding.group else finding.cell
            typer.echo(f"\n{name}{head[len(name) :]}")
            before = place
        loose = "ok" if finding.loose_ok else "outside"
        typer.echo(
            _LINE.format(
                f"  {name_of(finding.statistic)}",
                value_text(finding.statistic, finding.measured),
                value_text(finding.statistic, finding.reference),
                error_text(finding),
                "ok" if finding.tight_ok else "outside",
                "—" if finding.loose is None else loose if finding.judged else f"({loose})",
            ).rstrip()
        )


def _print_verdict(found: Validation) -> None:
    judged = [finding for finding in found.linux if finding.judged]
    loose = [finding for finding in judged if finding.loose is not None]
    tight_ok = sum(finding.tight_ok for finding in judged)
    loose_ok = sum(finding.loose_ok for finding in loose)
    typer.echo(
        f"\nLinux: {tight_ok} of {len(judged)} within the tight tolerance,"
        f" {loose_ok} of {len(loose)} within the loose one; root mean square of z"
        f" {found.pooled:.2f} (limit 2);"
        f" {'interrupted' if found.interrupted else 'passed' if found.passed else 'FAILED'}."
    )
    for path in found.files:
        typer.echo(path)


COMMANDS: tuple[tuple[Any, str], ...] = (
    (
        validate,
        (
            "Examples:\n\n"
            "pi2-fluid validate --out /tmp/figures\n\n"
            "pi2-fluid validate --seeds 5 --json\n\n"
            "The loose tolerances and z decide, and only over Linux; in brackets: not judged."
            " Exit code 1 if a cell is outside.\n\n"
            "After Ctrl-C what is finished is printed, and nothing written; exit code 130.\n\n"
            "JSON: passed, interrupted, pooled_z, seeds, linux and ns3 (lists of {cell, group,"
            " statistic, measured, reference, tight, loose, z, judged, relative, error, tight_ok,"
            " loose_ok}), files."
        ),
    ),
)
