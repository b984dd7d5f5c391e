"""Validation: `pi2-fluid validate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import codes
from pi2_fluid.apps.cli.declaring import Command
from pi2_fluid.apps.cli.options import option, read_seeds, read_whole
from pi2_fluid.apps.cli.output import JsonFlag, print_json
from pi2_fluid.errors import QuantityError
from pi2_fluid.progress import Line

if TYPE_CHECKING:
    from pi2_fluid.referee import Validation
    from pi2_fluid.referee.judging import Finding

_LINE: Final = "{:<22} {:>12} {:>12} {:>13}  {:<7} {}"


def validate(
    out: Annotated[Path, option("FOLDER", "Where to draw; made if it is not there.")] = Path(
        "figures"
    ),
    seeds: Annotated[
        str,
        option("NUMBER", "Runs of each cell, 2 or more. Below 10, z is often large by chance."),
    ] = "20",
    cell: Annotated[
        list[str] | None,
        option("NAME", "Only this cell; once for each. Nothing is drawn then.", show_default=False),
    ] = None,
    live: Annotated[
        bool,
        option(
            None,
            "Measure the kernel anew, in guests: a minute or two for most cells, hours for all."
            " Results are kept in --out; the next call goes on.",
            "Live",
            "--live",
        ),
    ] = False,
    kernel: Annotated[
        str | None,
        option("VERSION | FOLDER", "One that was built. Default: the newest.", "Live"),
    ] = None,
    live_seeds: Annotated[
        str | None,
        option("NUMBER | LIST", "Runs of each cell in guests. Default 10.", "Live"),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare packets with what the Linux kernel did, cell by cell."""
    wanted = read_whole(seeds, "--seeds", "runs", 2)
    if not live and (kernel is not None or live_seeds is not None):
        raise QuantityError(
            "--kernel and --live-seeds have no meaning without --live: add it, or leave them out."
        )
    with Line() as line:
        validation = _validate(out, wanted, cell, kernel, live_seeds, line, live=live)
    if as_json:
        records = {
            name: [_record(f) for f in findings]
            for name, findings in (("linux", validation.linux), ("ns3", validation.ns3))
        }
        print_json(
            {
                "passed": validation.passed,
                "interrupted": validation.interrupted,
                "pooled_z": validation.pooled,
                "seeds": validation.seeds,
                **records,
                "files": [str(path) for path in validation.files],
            }
        )
    else:
        kernel = "Linux" if validation.live is None else f"Linux {validation.live.release}"
        _print_findings(kernel, validation.linux)
        _print_findings("ns-3", validation.ns3)
        _print_verdict(validation)
    if validation.interrupted:
        raise typer.Exit(codes.INTERRUPTED)
    if not validation.passed:
        raise typer.Exit(codes.UNSTABLE)


def _validate(
    out: Path,
    seeds: int,
    cells: list[str] | None,
    kernel: str | None,
    live_seeds: str | None,
    line: Line,
    *,
    live: bool,
) -> Validation:
    from pi2_fluid.referee import validate as validate_all
    from pi2_fluid.referee import validate_live

    def say(what: str) -> None:
        line.show(what, once="simulating all cells" if not live else "measuring cells in guests")

    if not live:
        return validate_all(out, seeds=seeds, cells=cells, progress=say)
    from pi2_fluid.engines.linux.linux import Linux

    engine = Linux(seeds=read_seeds(live_seeds or "10"), kernel=kernel)
    return validate_live(engine, out, seeds=seeds, cells=cells, progress=say)


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


def _print_verdict(whole: Validation) -> None:
    judged = [finding for finding in whole.linux if finding.judged]
    loose = [finding for finding in judged if finding.loose is not None]
    tight_ok = sum(finding.tight_ok for finding in judged)
    loose_ok = sum(finding.loose_ok for finding in loose)
    typer.echo(
        f"\nLinux: {tight_ok} of {len(judged)} within the tight tolerance,"
        f" {loose_ok} of {len(loose)} within the loose one; root mean square of z"
        f" {whole.pooled:.2f} (limit 2);"
        f" {'interrupted' if whole.interrupted else 'passed' if whole.passed else 'FAILED'}."
    )
    for path in whole.files:
        typer.echo(path)


COMMANDS: tuple[Command, ...] = (
    Command(
        validate,
        examples=(
            "pi2-fluid validate --out /tmp/figures",
            "pi2-fluid validate --seeds 5 --json",
            "pi2-fluid validate --live --cell pie_5 --cell dual_40 --live-seeds 5",
        ),
        json={
            "passed": "what the exit code says",
            "interrupted": "by Ctrl-C",
            "pooled_z": "root mean square of z",
            "seeds": "runs of each cell",
            "linux": "a list of {cell, group, statistic, measured, reference, tight, loose, z,"
            " judged, relative, error, tight_ok, loose_ok}",
            "ns3": "the same of ns-3",
            "files": "what was drawn",
        },
        notes=(
            "A cell passes if it is within the loose tolerances and z is small. Numbers in brackets"
            " and those of ns-3 do not count. Exit code 1: a cell does not pass.\n\n"
            "After Ctrl-C what is finished is printed, nothing is written; exit code 130."
        ),
    ),
)
