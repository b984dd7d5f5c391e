"""Packets, the kernel at hand and what was recorded of another one, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pi2_fluid.referee.cells import CELLS
from pi2_fluid.referee.judging import Finding, LiveKernel, pooled
from pi2_fluid.referee.wording import error_text, name_of, value_text

#: Beyond this a z is no chance, of a few hundred.
_FAR: Final = 3.0
_HEAD: Final = ("cell", "flows", "statistic", "packets", "kernel", "error", "z", "recorded", "z")


def live_markdown(findings: Sequence[Finding], kernel: LiveKernel, seeds: int) -> str:
    """Return what a live validation found: verdict, what is far apart, and every statistic.

    Parameters
    ----------
    findings : sequence of Finding
        Packets against the kernel.
    kernel : LiveKernel
        And against what was recorded.
    seeds : int
        Simulated runs of each cell.
    """
    everything = _table(findings, _recorded(kernel))
    return "\n\n".join([live_summary(findings, kernel, seeds), "Everything:", everything]) + "\n"


def live_summary(findings: Sequence[Finding], kernel: LiveKernel, seeds: int) -> str:
    """Return its verdict, and what is far apart; the arguments are those of `live_markdown`."""
    recorded = _recorded(kernel)
    cells = dict.fromkeys(f.cell for f in findings)
    judged = [f for f in findings if f.judged]
    far = [f for f in judged if f.z is not None and abs(f.z) > _FAR]
    scores = [f.z for f in kernel.findings if f.judged and f.z is not None]
    verdict = (
        f"Linux {kernel.release}, {kernel.seeds} runs of each of {len(cells)} cells in guests,"
        f" {seeds} of packets. Of {len(judged)} statistics that are judged,"
        f" {sum(f.loose_ok for f in judged)} lie within the loose tolerance and"
        f" {sum(f.tight_ok for f in judged)} within the tight one; the root mean square of z, with"
        f" the scatter of both sides, is {pooled(findings):.2f} between packets and this kernel,"
        f" and {_rms(scores):.2f} between this kernel and what was recorded."
    )
    parts = [
        verdict,
        f"Left out: {_left_out()}.",
        f"Beyond |z| = {_FAR:g} not chance alone makes packets and kernel differ:",
        _table(far, recorded) if far else "nothing.",
    ]
    return "\n\n".join(parts)


def _recorded(kernel: LiveKernel) -> dict[tuple[str, str, str], Finding]:
    return {(f.cell, f.group, f.statistic): f for f in kernel.findings}


def _left_out() -> str:
    reasons: dict[str, list[str]] = {}
    for cell in CELLS:
        if cell.not_live:
            reasons.setdefault(cell.not_live, []).append(f"`{cell.name}`")
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in reasons.items())


def _rms(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if values else 0.0


def _table(findings: Sequence[Finding], recorded: dict[tuple[str, str, str], Finding]) -> str:
    rows = [_HEAD, tuple("---" for _ in _HEAD), *(_row(f, recorded) for f in findings)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(finding: Finding, recorded: dict[tuple[str, str, str], Finding]) -> tuple[str, ...]:
    then = recorded.get((finding.cell, finding.group, finding.statistic))
    error = error_text(finding)
    return (
        f"`{finding.cell}`",
        finding.group or "—",
        name_of(finding.statistic),
        value_text(finding.statistic, finding.measured),
        value_text(finding.statistic, finding.reference),
        error if finding.tight_ok else f"**{error}**",
        _score(finding.z),
        "—" if then is None else value_text(then.statistic, then.reference),
        "—" if then is None else _score(then.z),
    )


def _score(z: float | None) -> str:
    return "—" if z is None else f"{z:+.1f}"
