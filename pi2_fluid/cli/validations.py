"""Validation: `pi2-fluid validate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from pi2_fluid.cli import codes
from pi2_fluid.cli.output import JsonFlag, make_console, print_json, tell

__all__ = ["COMMANDS", "validate"]


def validate(
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where to draw; made if it does not exist.")
    ] = Path("figures"),
    seeds: Annotated[
        int, typer.Option(metavar="N", min=2, help="Runs of each cell, 2 or more.")
    ] = 20,
    as_json: JsonFlag = False,
) -> None:
    """Simulate packets and compare them with what the Linux kernel did, cell by cell."""
    from pi2_fluid.paper.validation import validate as validate_all

    with _Line() as line:
        found = validate_all(out, seeds=seeds, progress=line)
    if as_json:
        records = {
            name: [_record(f) for f in findings]
            for name, findings in (("linux", found.linux), ("ns3", found.ns3))
        }
        print_json(
            {
                "passed": found.passed,
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
    if not found.passed:
        raise typer.Exit(codes.UNSTABLE)


class _Line:
    """What is being done, on stderr: one line that changes on a terminal, else the first only."""

    def __init__(self) -> None:
        self.shown = False

    def __call__(self, text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{text} ...\x1b[K")
            sys.stderr.flush()
        elif not self.shown:
            tell("simulating all cells")
        self.shown = True

    def __enter__(self) -> _Line:
        return self

    def __exit__(self, *failure: object) -> None:
        if self.shown and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _record(finding: Any) -> dict[str, Any]:
    return asdict(finding) | {
        "error": finding.error,
        "tight_ok": finding.tight_ok,
        "loose_ok": finding.loose_ok,
    }


def _print_findings(where: str, findings: Sequence[Any]) -> None:
    from rich import box
    from rich.table import Table

    from pi2_fluid.paper.validation.wording import error_text, name_of, value_text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, justify in (
        ("cell", "left"), ("flows", "left"), ("statistic", "left"), ("simulated", "right"),
        (where, "right"), ("error", "right"), ("tight", "left"), ("loose", "left"),
    ):  # fmt: skip
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    before = None
    for finding in findings:
        cell = (finding.cell, finding.group)
        loose = "ok" if finding.loose_ok else "outside"
        table.add_row(
            "" if before and before[0] == cell[0] else cell[0],
            "" if before == cell else finding.group,
            name_of(finding.statistic),
            value_text(finding.statistic, finding.measured),
            value_text(finding.statistic, finding.reference),
            error_text(finding),
            "ok" if finding.tight_ok else "outside",
            "—" if finding.loose is None else loose if finding.judged else f"({loose})",
        )
        before = cell
    make_console().print(table)


def _print_verdict(found: Any) -> None:
    judged = [finding for finding in found.linux if finding.judged]
    loose = [finding for finding in judged if finding.loose is not None]
    tight_ok = sum(finding.tight_ok for finding in judged)
    loose_ok = sum(finding.loose_ok for finding in loose)
    make_console().print(
        f"Linux: {tight_ok} of {len(judged)} within the tight tolerance, {loose_ok} of {len(loose)}"
        f" within the loose one; root mean square of z {found.pooled:.2f} (limit 2);"
        f" {'passed' if found.passed else 'FAILED'}."
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
            "The loose tolerances and z decide, and only over Linux; brackets: shown, not judged."
            " Exit code 1 if a cell is outside.\n\n"
            "JSON: passed, pooled_z, seeds, linux and ns3 (lists of {cell, group, statistic,"
            " measured, reference, tight, loose, z, judged, relative, error, tight_ok, loose_ok}),"
            " files."
        ),
    ),
)
