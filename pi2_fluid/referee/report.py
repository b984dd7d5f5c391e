"""The comparison as Markdown: tables of the cells, of what misses, and of ns-3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pi2_fluid.referee.cells import CELLS, SEPARATE, Cell
from pi2_fluid.referee.judging import POOLED_LIMIT, Finding, Validation
from pi2_fluid.referee.ns3 import CAUSES, DELAY, DROPS, POINTS
from pi2_fluid.referee.references import linux
from pi2_fluid.referee.wording import allowed_text, error_text, name_of, value_text

#: Beyond this a z is no chance, of a hundred or two.
_FAR: Final = 3.0
#: Of a cell, by the kernel.
_USUAL_RUNS: Final = 3
_HEAD: Final = ("statistic", "simulated", "Linux", "error", "tight", "loose")


def markdown(validation: Validation) -> str:
    """Return verdict, tables and remarks of a validation of all cells."""
    parts = [
        "## Verdict",
        _verdict(validation),
        "## Outside the tight tolerance",
        _outside(validation.linux),
        "## More than chance",
        _surprising(validation.linux),
        "## What is known of the differences",
        _list(f"*{cell.title}* (`{cell.name}`): {cell.remark}" for cell in CELLS if cell.remark),
        "## Not judged",
        _not_judged(),
        "## Cell by cell",
        f"{_USUAL_RUNS} runs of Linux each, unless it says otherwise.",
        *(
            _cell(cell, [f for f in validation.linux if f.cell == cell.name])
            for cell in CELLS
            if cell.signal is None
        ),
        "### Response functions",
        _responses(validation.linux),
        "## Another simulator: ns-3",
        _ns3(validation.ns3),
    ]
    return "\n\n".join(parts) + "\n"


def _verdict(found: Validation) -> str:
    judged = [f for f in found.linux if f.judged]
    loose = [f for f in judged if f.loose is not None]
    inside = sum(f.loose_ok for f in loose)
    scores = sum(f.z is not None for f in judged)
    runs = f"{found.seeds} simulated runs of each cell"
    return (
        f"**{'Passed' if found.passed else 'Failed'}.** Of {len(loose)} statistics that are judged,"
        f" {inside} lie within the loose tolerance, and of all {len(judged)},"
        f" {sum(f.tight_ok for f in judged)} within the tight one; the root mean square of z over"
        f" the {scores} statistics that do not move in steps is {found.pooled:.2f}, the limit"
        f" {POOLED_LIMIT:g}; {runs}."
    )


def _outside(findings: Sequence[Finding]) -> str:
    missed = [f for f in findings if f.judged and not f.tight_ok]
    if not missed:
        return "Nothing that is judged."
    return _table(
        ("cell", "flows", *_HEAD), [(f"`{f.cell}`", f.group or "—", *_row(f)) for f in missed]
    )


def _surprising(findings: Sequence[Finding]) -> str:
    far = [f for f in findings if f.judged and f.z is not None and abs(f.z) > _FAR]
    text = (
        f"Where |z| exceeds {_FAR:g}, not chance alone makes simulator and kernel differ, however"
        " little. Each z takes the scatter of the simulator for that of the kernel."
    )
    rows = [(f"`{f.cell}`", f.group or "—", *_row(f)[:4], f"{f.z:+.1f}") for f in far]
    return f"{text}\n\n{_table(('cell', 'flows', *_HEAD[:4], 'z'), rows)}"


def _not_judged() -> str:
    shown: dict[str, list[str]] = {}
    for cell in CELLS:
        if cell.not_judged:
            shown.setdefault(cell.not_judged, []).append(f"*{cell.title}* (`{cell.name}`)")
    lines = [f"{', '.join(names)}: {why}" for why, names in shown.items()]
    lines += [f"*{name}*, measured but not simulated: {why}." for name, why in SEPARATE.items()]
    return _list(lines)


def _cell(cell: Cell, findings: Sequence[Finding]) -> str:
    runs = len(linux()[cell.name, cell.groups[0]]["utilization"])
    several = len(cell.groups) > 1
    head = f"### {cell.title}\n\n`{cell.name}`."
    if runs != _USUAL_RUNS:
        head += f" {runs} run{'s' if runs > 1 else ''}."
    if cell.median:
        head += " Medians."
    if cell.not_judged:
        head += " Not judged."
    rows = [((f.group or "—",) if several else ()) + _row(f) for f in findings]
    return f"{head}\n\n{_table((('flows',) if several else ()) + _HEAD, rows)}"


def _responses(findings: Sequence[Finding]) -> str:
    titles = {cell.name: cell.title for cell in CELLS}
    text = (
        "Four flows without a queue, RTT 20 ms; each packet is lost or marked with the same"
        " probability. The rows are the constants W √p of Reno and W p of DCTCP, in which the"
        " sampling error of p cancels. One run of Linux each. At 1 % marks the 500 Mbit/s link"
        " limits DCTCP."
    )
    rows = [(titles[f.cell], *_row(f)[1:]) for f in findings if f.statistic == "response"]
    return f"{text}\n\n{_table(('senders', *_HEAD[1:]), rows)}"


def _ns3(findings: Sequence[Finding]) -> str:
    text = (
        f"Tolerances: {100 * DELAY:g} % of the mean delay, {100 * POINTS:g} point of utilisation,"
        f" {100 * DROPS:g} % of the drops. A row that misses one, or hardly passes, is not judged"
        " and has its cause below. No row enters the verdict."
    )
    rows = []
    for name in dict.fromkeys(f.cell for f in findings):
        mine = {f.statistic: f for f in findings if f.cell == name}
        cells = [
            f"{value_text(s, f.measured)} / {value_text(s, f.reference)}"
            f" ({'' if f.tight_ok else '**'}{error_text(f)}{'' if f.tight_ok else '**'})"
            for s, f in mine.items()
        ]
        rows.append((f"`{name}`", *cells))
    head = ("row", "mean delay: here / ns-3", "utilisation", "dropped")
    causes: dict[str, list[str]] = {}
    for name, cause in CAUSES.items():
        causes.setdefault(cause, []).append(f"`{name}`")
    notes = _list(f"{', '.join(names)}: {cause}" for cause, names in causes.items())
    return f"{text}\n\n{_table(head, rows)}\n\n{notes}"


def _row(finding: Finding) -> tuple[str, ...]:
    error = error_text(finding)
    return (
        name_of(finding.statistic),
        value_text(finding.statistic, finding.measured),
        value_text(finding.statistic, finding.reference),
        error if finding.tight_ok else f"**{error}**",
        allowed_text(finding, finding.tight),
        allowed_text(finding, finding.loose),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"* {line}" for line in lines)
