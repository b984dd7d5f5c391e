"""The nearest gains that tc has a line for, where it has none for those that were asked for.

PIE's gains are whole sixteenths of 1 Hz, so that on a long path even the smallest may be too large.
Then the largest part of the margins is looked for that some line leaves; where none is stable up to
the largest round-trip time, the longest one up to which a line leaves the margins asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pi2_fluid.design.binding import Binding
from pi2_fluid.design.gains import Asked
from pi2_fluid.design.solving import Task, find_line, has_line
from pi2_fluid.errors import DomainError
from pi2_fluid.laws.aqms.pi_family import PiFamily

_HALVINGS: Final = 6
_ROUNDS: Final = 6


def nearest_law(task: Task) -> PiFamily | None:
    """Return the law of the nearest line; None if tc has no such queue, or no stable line."""
    if task.steps is None:
        return None
    free = replace(task, fixed=False)
    law = _largest_margins(free)
    return _longest(free) if law is None else law


def _largest_margins(task: Task) -> PiFamily | None:
    """Return the law that leaves the largest part of the margins, None if none is stable."""
    plants, most = _corners(task), 1.0
    for _ in range(_ROUNDS):
        law, plants = _try(_with_margins(task, most), plants)
        if law is not None:
            return law
        low, high = 0.0, most
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            fits = has_line(_with_margins(task, middle), plants)
            low, high = (middle, high) if fits else (low, middle)
        if low == 0.0:
            return None
        most = low
    return None


def _longest(task: Task) -> PiFamily | None:
    """Return the law that leaves the margins up to the longest round-trip time, None if to none."""
    law, low, high = None, task.region.min_rtt, task.region.max_rtt
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        shorter = _up_to(task, middle)
        found, _ = _try(shorter, _corners(shorter))
        law, low, high = (law, low, middle) if found is None else (found, middle, high)
    return law


def _try(task: Task, plants: Binding) -> tuple[PiFamily | None, Binding]:
    try:
        return find_line(task, plants)
    except DomainError:
        return None, plants


def _corners(task: Task) -> Binding:
    return Binding(task.region.corners(task.template))


def _with_margins(task: Task, part: float) -> Task:
    asked = task.asked
    return replace(
        task, asked=Asked(part * asked.gain_db, part * asked.phase_deg, part * asked.modulus)
    )


def _up_to(task: Task, longest: float) -> Task:
    region = replace(task.region, max_rtt=longest)
    # Intervals are tried from this one upwards: as short beside the shorter paths.
    interval = task.interval * longest / task.region.max_rtt
    return replace(task, region=region, template=replace(task.template, update_interval=interval))
