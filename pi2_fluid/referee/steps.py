"""What a queue does when flows come and go: how high the delay rises, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.referee.cells import Cell
from pi2_fluid.referee.judging import Finding
from pi2_fluid.referee.references import Peaks
from pi2_fluid.results.steps import peak_of, settling_of

if TYPE_CHECKING:
    import xarray


_TIGHT, _LOOSE = 0.2, 0.4
#: PI2's first overshoot differs much from run to run: it depends on when the flows start.
_TIGHT_START: Final = 0.35
_FACTOR: Final = 2.0


def judge_steps(cell: Cell, runs: xarray.Dataset, reference: Sequence[Peaks]) -> list[Finding]:
    """Return the findings about peaks and settling times of a cell with steps."""
    delay, time = runs.queue_delay.to_numpy(), runs.time.to_numpy()
    ends = [*(step.at for step in reference[1:]), float(time[-1])]
    law: Any = cell.scenario.aqm
    target = float(law.target)
    findings = []
    for step, end in zip(reference, ends, strict=True):
        aim = float(np.mean(step.heights))
        height = float(peak_of(delay, time, step.at, end).mean())
        start = cell.name == "pi2_steps" and step.at == 0.0
        findings.append(
            Finding(
                cell.name, "", f"peak_{step.at:g}", height, aim,
                (_TIGHT_START if start else _TIGHT) * aim, _LOOSE * aim, z=None,
            )
        )  # fmt: skip
        if step.settling is not None:
            settled = [settling_of(one, time, step.at, end, target) for one in delay]
            findings.append(_settling(cell.name, step, float(np.median(settled))))
    return findings


def _settling(cell: str, step: Peaks, measured: float) -> Finding:
    """Compare with the nearest of what was measured: by a factor of 2 either way."""
    low, high = step.settling or (measured, measured)
    aim = min(max(measured, low), high)
    allowed = aim * (_FACTOR - 1.0) if measured > aim else aim * (1.0 - 1.0 / _FACTOR)
    return Finding(cell, "", f"settling_{step.at:g}", measured, aim, allowed, allowed, z=None)
