"""Findings: measured against reference, and the verdict over all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.referee.cells import Cell
from pi2_fluid.referee.measuring import LINK
from pi2_fluid.referee.tolerances import TOLERANCES, Tolerance

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

#: Most that the root mean square of z may be.
POOLED_LIMIT: Final = 2.0
# What belongs to the link: all groups have the same.
_OF_LINK: Final = ("utilization", "delay_sd", "controller")


@dataclass(frozen=True)
class Finding:
    """One statistic of one cell."""

    cell: str
    group: str
    """Of flows; "" for the link and its queue."""
    statistic: str
    measured: float
    """Of the simulator: mean over the runs, or their median."""
    reference: float
    tight: float
    """How far apart they may be, in the statistic's own unit."""
    loose: float | None
    """The same; None: not judged."""
    z: float | None
    """Difference over its standard deviation, by the scatter of the simulated runs. None: not
    pooled, because the statistic moves in steps, or one reference stands for several runs."""
    judged: bool = True
    relative: bool = True
    """Whether it is read as a part of the reference."""

    @property
    def error(self) -> float:
        """Measured less reference, as a part of the reference unless `relative` is false."""
        difference = self.measured - self.reference
        return difference / self.reference if self.relative and self.reference else difference

    @property
    def tight_ok(self) -> bool:
        """Whether it lies within the tight tolerance."""
        return abs(self.measured - self.reference) <= self.tight

    @property
    def loose_ok(self) -> bool:
        """Whether it lies within the loose tolerance, if there is one."""
        return self.loose is None or abs(self.measured - self.reference) <= self.loose


def judge(
    cell: Cell,
    measured: Mapping[str, Mapping[str, Any]],
    references: Mapping[Any, Any],
    *,
    own_scatter: bool = False,
) -> list[Finding]:
    """Return the findings of a cell.

    Parameters
    ----------
    cell : Cell
        With its tolerances.
    measured : mapping
        As from `measure`.
    references : mapping
        As from `references.linux`.
    own_scatter : bool
        Whether z takes the scatter of the references for theirs, and not that of the simulator.
    """
    findings = []
    said = set()
    for group in cell.groups:
        reference = references[cell.name, group]
        for statistic, tolerance in TOLERANCES[cell.family_of(group)].items():
            place = LINK if statistic in _OF_LINK else group
            if (place, statistic) in said:
                continue
            said.add((place, statistic))
            if statistic == "response":
                values, aims = _response(cell, measured[group]), _response(cell, reference)
            else:
                values, aims = measured[place][statistic], reference[statistic]
            finding = _finding(cell, place, statistic, values, aims, tolerance)
            if own_scatter and finding.z is not None:
                z = z_of_both(values, aims, finding.measured - finding.reference)
                finding = dataclasses.replace(finding, z=z)
            findings.append(finding)
    return findings


def _finding(
    cell: Cell,
    group: str,
    statistic: str,
    values: FloatArray,
    aims: FloatArray,
    tolerance: Tolerance,
) -> Finding:
    center = np.median if cell.median else np.mean
    measured, reference = float(center(values)), float(np.mean(aims))
    link = cell.scenario.link
    slot = 8.0 * float(link.packet_size) / float(link.capacity)
    scale = 1.0 if tolerance.absolute else abs(reference)
    tight = tolerance.tight * scale + tolerance.slots[0] * slot
    loose = None if tolerance.loose is None else tolerance.loose * scale + tolerance.slots[1] * slot
    return Finding(
        cell.name, group, statistic, measured, reference, tight, loose,
        z=None if any(tolerance.slots) else _z(values, aims, measured - reference),
        judged=not cell.not_judged, relative=not tolerance.absolute,
    )  # fmt: skip


def _response(cell: Cell, values: Mapping[str, Any]) -> FloatArray:
    """Return the constant of a response function: W sqrt(p) of Reno, W p of DCTCP.

    Among flows that asked for ECN some may go without, as their SYN was lost.
    """
    p = values["mark_fraction"] + values["drop_fraction"]
    result: FloatArray = values["window"] * (p if "dctcp" in cell.name else np.sqrt(p))
    return result


def _z(values: FloatArray, aims: FloatArray, difference: float) -> float | None:
    """Return the difference over its standard deviation."""
    if len(values) < 2:
        return None
    spread = float(np.std(values, ddof=1)) * np.sqrt(1 / len(values) + 1 / len(aims))
    return difference / spread if spread > 0.0 else None


def z_of_both(values: FloatArray, aims: FloatArray, difference: float) -> float | None:
    """Return the difference over its standard deviation, each side with its own scatter."""
    if min(len(values), len(aims)) < 2:
        return None
    spread = np.sqrt(sum(float(np.var(each, ddof=1)) / len(each) for each in (values, aims)))
    return float(difference / spread) if spread > 0.0 else None


def pooled(findings: Iterable[Finding]) -> float:
    """Return the root mean square of z over all that is judged and does not move in steps."""
    values = [finding.z for finding in findings if finding.judged and finding.z is not None]
    return float(np.sqrt(np.mean(np.square(values)))) if values else 0.0


@dataclass(frozen=True)
class LiveKernel:
    """A kernel that was measured anew."""

    release: str
    """Its own version."""
    seeds: int
    """Its runs of each cell."""
    findings: tuple[Finding, ...]
    """It against what was recorded."""


@dataclass(frozen=True)
class Validation:
    """What was found of all cells."""

    linux: tuple[Finding, ...]
    """One for each statistic of each cell."""
    ns3: tuple[Finding, ...]
    """The same against ns-3; beside the verdict."""
    seeds: int
    """Simulated runs of each cell."""
    files: tuple[Path, ...] = ()
    """What was written."""
    interrupted: bool = False
    """Whether Ctrl-C ended it: the findings are of the cells finished until then, no verdict."""
    live: LiveKernel | None = None
    """The kernel that `linux` is against; None: against what was recorded."""

    @property
    def pooled(self) -> float:
        """Root mean square of z over everything judged that does not move in steps."""
        return pooled(self.linux)

    @property
    def misses(self) -> tuple[Finding, ...]:
        """What is judged, and outside its loose tolerance."""
        return tuple(f for f in self.linux if f.judged and not f.loose_ok)

    @property
    def passed(self) -> bool:
        """Whether it is finished, all judged cells are within the loose tolerances, and z small."""
        return not self.interrupted and not self.misses and self.pooled < POOLED_LIMIT
