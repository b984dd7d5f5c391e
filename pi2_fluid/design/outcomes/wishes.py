"""What `tune` is asked for with traffic: its arguments read, completed and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pi2_fluid.design.asked import OBJECTIVES
from pi2_fluid.design.outcomes.lattice import Kind, read_kind
from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.laws.gains import has_gains
from pi2_fluid.laws.registry import AQMS, kind_of
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.network.traffic import Source, Traffic
from pi2_fluid.results.seeds import is_integer, seed_list
from pi2_fluid.tc.qdisc import Qdisc
from pi2_fluid.units import LONG_WAIT, validate_choice, validate_number

#: What all of the capacity is worth, in logarithms of delay.
VALUES: Final = {"delay": 2.0, "balanced": 5.0, "rate": 20.0}
FREE: Final = "free"
_FEWEST: Final = 4  # seeds, of which there is an interval
_USUAL: Final = "dualpi2"
assert not set(VALUES) & set(OBJECTIVES)


@dataclass(frozen=True)
class Wishes:
    """What is asked for: among which queues, for which traffic, against which, and how judged."""

    traffic: Traffic
    kind: Kind
    bases: tuple[Aqm, ...]
    """What each cell has now."""
    value: str
    loss: float
    """Part of the capacity."""
    floor_db: float
    free_target: bool
    free_interval: bool
    seeds: tuple[int, ...]
    seconds: float

    @property
    def base(self) -> Aqm | None:
        """The queue that all cells have now; None if they differ."""
        first = self.bases[0]
        return first if all(law == first for law in self.bases) else None


def read_wishes(
    traffic: Source | Sequence[Source] | Mapping[str, Scenario],
    aqm: object,
    *,
    k: object,
    hz: int | None,
    value: object,
    loss: object,
    floor_db: object,
    target: object,
    update_interval: object,
    seeds: object,
    seconds: object,
    base: object,
) -> Wishes:
    """Return what is asked for.

    Raises
    ------
    QuantityError, DomainError, ScenarioError, UnsupportedError
        If an argument cannot be read, or there is no such queue.
    """
    family = traffic if isinstance(traffic, Traffic) else Traffic(traffic)
    running = tuple(cell.scenario.aqm for cell in family.cells)
    validate_choice(value, tuple(VALUES), "value")
    kind = read_kind(_kind_of(running) if aqm is None else aqm, k, hz)
    free = {"target": target == FREE, "update_interval": update_interval == FREE}
    given = {
        name: validate_number(wish, "time", name, usual=LONG_WAIT)
        for name, wish in (("target", target), ("update_interval", update_interval))
        if wish is not None and not free[name]
    }
    if given:
        kind = replace(kind, default=kind.law(**given))
    if base is not None:
        bases: tuple[Aqm, ...] = (_read_base(base),) * len(running)
    elif not given and (aqm is None or all(type(law) is type(kind.default) for law in running)):
        bases = running
    else:
        bases = (kind.default,) * len(running)
    numbers = (
        validate_number(loss, "number", "loss", closed=True, high=100.0),
        validate_number(floor_db, "number", "floor_db", low=-math.inf, high=60.0),
        math.inf if seconds is None else validate_number(seconds, "time", "seconds"),
    )
    return Wishes(
        traffic=family,
        kind=kind,
        bases=tuple(_as_run(law, kind) for law in bases),
        value=str(value),
        loss=numbers[0] / 100.0,
        floor_db=numbers[1],
        free_target=free["target"],
        free_interval=free["update_interval"],
        seeds=_read_seeds(seeds),
        seconds=numbers[2],
    )


def _kind_of(own: tuple[Aqm, ...]) -> str | PiFamily:
    """Return what kind of queue to choose where none is named: that which all cells have."""
    first = own[0]
    if has_gains(first) and all(type(law) is type(first) for law in own):
        kind = kind_of(first)
        if kind is not None and AQMS[kind].design:
            return kind
        return first
    return _USUAL


def _as_run(law: Aqm, kind: Kind) -> Aqm:
    """Return a queue as the kernel runs it, if the kernel differs from it in its gains alone."""
    if kind.tc is None or type(law) is not type(kind.default):
        return law
    assert has_gains(law)
    try:
        made = kind.in_kernel(law)
    except DomainError:
        return law
    return made if replace(made, alpha=law.alpha, beta=law.beta) == law else law


def _read_base(base: object) -> Aqm:
    law = base.aqm if isinstance(base, Qdisc) else base
    if not isinstance(law, Aqm):
        raise QuantityError(
            f"base = {show_value(base)} is no queue: give what runs now, e.g. pf.DualPi2() or a"
            " queue that pf.qdisc.parse has read."
        )
    return law


def _read_seeds(seeds: object) -> tuple[int, ...]:
    listed = list(seeds) if isinstance(seeds, range) else seeds
    numbers = seed_list(listed)
    if len(numbers) < _FEWEST:
        count = show_value(seeds) if is_integer(seeds) else f"{len(numbers)} of them"
        raise DomainError(
            f"seeds = {count} tell no difference from chance: give {_FEWEST} or more, 24 as a rule."
        )
    return tuple(numbers)
