"""What a queue does when flows come and go: how high the delay rises, and how long it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.referee.cells import Cell
from pi2_fluid.referee.judging import Finding
from pi2_fluid.referee.references import Peaks

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.values import FloatArray

__all__ = ["judge_steps", "peak_of", "settling_of"]

_HALF: Final = 0.5  # of the target: how far from it counts as settled
_MEAN, _STAY = 1.0, 3.0  # s
_TIGHT, _LOOSE = 0.2, 0.4
#: PI2's first overshoot differs much from run to run: it depends on when the flows start.
_TIGHT_START: Final = 0.35
_FACTOR: Final = 2.0


def peak_of(delay: FloatArray, time: FloatArray, begin: float, end: float) -> FloatArray:
    """Return the highest delay between two instants, of each run (the first dim)."""
    result: FloatArray = delay[:, (time > begin) & (time <= end)].max(axis=1)
    return result


def settling_of(
    delay: FloatArray, time: FloatArray, begin: float, end: float, target: float
) -> float:
    """Return when (s after `begin`) the mean over 1 s has come to stay near the target for 3 s.

    Parameters
    ----------
    delay, time : array
        Of one run, in even steps; the end of each bin.
    begin, end : float
        The stretch; its length is returned if the delay does not settle within it.
    """
    step = float(time[1] - time[0])
    inside = (time > begin + step / 2) & (time <= end + step / 2)
    width = round(_MEAN / step)
    means = np.convolve(delay[inside], np.full(width, 1.0 / width), "valid")
    near = np.abs(means - target) <= _HALF * target
    need = round(_STAY / step)
    stays = np.convolve(near, np.ones(need), "valid") >= need - 0.5
    return float(np.argmax(stays)) * step if stays.any() else end - begin


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
