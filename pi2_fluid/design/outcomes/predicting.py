"""Which candidates are worth a race: by the noise of marks, by margins, and by the way back.

A prediction takes milliseconds where packets take seconds, and tells which integral gain is calm
at each proportional one. Rates that short flows cost are not in it: the list keeps some at every
beta, and packets decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np

from pi2_fluid.design.outcomes.lattice import GAINS
from pi2_fluid.design.outcomes.measures import BIN
from pi2_fluid.errors import DomainError, ScenarioError, SolverError, UnsupportedError, quietly
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.network.cells import Cell
from pi2_fluid.network.flows import Flows
from pi2_fluid.network.schedule import NS, flow_lives, mean_capacity

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Values

T = TypeVar("T")

#: Standard deviations from the mean to the 99th percentile of normal noise.
_HIGH: Final = 2.33
#: Time in which a queue that was emptied is back at its target (s): beta T/alpha.
_BACK: Final = 1.5


class Spot(NamedTuple):
    """Long flows that share a link for a while, and what it leaves them (bit/s)."""

    flows: tuple[Flows, ...]
    capacity: float
    packet_size: float

    def loop(self, law: PiFamily, clock: str = "acks") -> Loop:
        """Return the loop, whose gains may be arrays."""
        return Loop(
            self.flows,
            law,
            capacity=self.capacity,
            packet_size=self.packet_size,
            update="sampled",
            clock=clock,
        )

    def window(self, target: float) -> float:
        """Return the window (segments) with which all of them together fill the link."""
        rates = sum(float(f.count) / (float(f.base_rtt) + target) for f in self.flows)
        return self.capacity / (8.0 * self.packet_size * rates)


def spots_of(cell: Cell) -> list[Spot]:
    """Return the long flows of a cell while it is steady, then those after each event."""
    spans = [cell.steady, *cell.after] if cell.steady else list(cell.after)
    return [spot for _, end in spans if (spot := _spot_at(cell, end)) is not None]


def _spot_at(cell: Cell, end: float) -> Spot | None:
    scenario = cell.scenario
    at = end * NS - 1.0
    lives = flow_lives(scenario)
    there = lives.owner[(lives.start <= at) & (lives.stop > at)]
    counts = np.bincount(there, minlength=len(scenario.flows))
    left = float(mean_capacity(scenario, np.array([round(at), round(at) + 1]))[1])
    flows = []
    for flow, name, count in zip(scenario.flows, scenario.class_names, counts, strict=True):
        if flow.sender.constant_rate is not None:
            left -= float(flow.sender.constant_rate) * count
        elif name in cell.long_classes and count:
            flows.append(Flows(flow.sender, float(count), flow.base_rtt, name, ecn=flow.ecn))
    if not flows or left <= 0.0:
        return None
    return Spot(tuple(flows), left, float(scenario.packet_size))


def shortlist(
    cells: Sequence[Cell], lattice: Sequence[Sequence[PiFamily]], default: PiFamily
) -> list[PiFamily]:
    """Return the candidates of a lattice that promise most.

    At each beta those with the least predicted delay, with the least predicted noise of p', and
    with the default's alpha; of other targets and update intervals the first at every other beta.
    Left out is who returns to the target more slowly than in 1.5 s.
    """
    chosen: list[PiFamily] = []
    for place, laws in enumerate(lattice):
        fast = [law for law in laws if _time_back(law) <= _BACK]
        chosen += _calmest(cells, fast, default, thin=place > 0)
    return chosen


def least_margins(cells: Sequence[Cell], laws: Sequence[PiFamily]) -> FloatArray:
    """Return the least gain margin (dB) of each law by acknowledgements, inf where none is known.

    Of each cell the loop counts whose windows are largest.
    """
    least = np.full(len(laws), np.inf)
    for group in _alike(laws):
        law = _with_gains([laws[i] for i in group])
        target = float(law.target)
        for cell in cells:
            if spots := spots_of(cell):
                loop = partial(max(spots, key=lambda spot: spot.window(target)).loop, law)
                margins = unless_refused(partial(_gain_margin, loop))
                if margins is not None:
                    least[group] = np.minimum(least[group], margins)
    return least


def _calmest(
    cells: Sequence[Cell], laws: Sequence[PiFamily], default: PiFamily, *, thin: bool
) -> list[PiFamily]:
    if not laws:
        return []
    betas = np.array([float(law.beta) for law in laws])
    strength = np.array([float(law.alpha) for law in laws])
    delay, spread = _predicted(cells, _with_gains(laws), len(laws))
    longer = float(laws[0].update_interval) / float(default.update_interval)
    usual = longer * float(default.alpha)
    chosen: dict[int, None] = {}
    for beta in np.unique(betas)[:: 2 if thin else 1]:
        at = np.flatnonzero(betas == beta)
        picks = [at[np.argmin(delay[at])]]
        if not thin:
            picks.append(at[np.argmin(spread[at])])
            picks.append(at[np.argmin(np.abs(np.log(strength[at] / usual)))])
        chosen |= dict.fromkeys(int(i) for i in picks)
    return [laws[i] for i in chosen]


def _predicted(cells: Sequence[Cell], law: PiFamily, count: int) -> tuple[FloatArray, FloatArray]:
    """Return, for each of some gains, the mean log of the 99th percentile, and the largest rho."""
    target = float(law.target)
    delays, spreads = [np.zeros(count)], [np.zeros(count)]
    for cell in cells:
        if cell.steady is None or not (spots := spots_of(cell)):
            continue
        loop = unless_refused(partial(spots[0].loop, law))
        if loop is None:
            continue
        sd, rho = (unless_refused(ask) for ask in (partial(loop.delay_sd, BIN), loop.signal_spread))
        if sd is None or rho is None:
            continue
        sd, rho = (np.where(np.isnan(x), np.inf, x) for x in map(np.asarray, (sd, rho)))
        # Where noise is no longer small, the empty queue bounds it.
        wide = np.minimum(sd, 4.0 * target)
        delays.append(np.log(target + _HIGH * wide / np.sqrt(1.0 + (wide / target) ** 2)))
        spreads.append(rho)
    return np.mean(delays, axis=0), np.max(spreads, axis=0)


def unless_refused(ask: Callable[[], T]) -> T | None:
    """Return an answer; None where these senders and this queue have no such loop."""
    try:
        with quietly():
            return ask()
    except (DomainError, ScenarioError, SolverError, UnsupportedError):
        return None


def _gain_margin(loop: Callable[[], Loop]) -> Values:
    return loop().margins().gain_margin_db


def _alike(laws: Sequence[PiFamily]) -> Iterator[list[int]]:
    """Yield which laws differ in nothing but their gains: those alone are one law with arrays."""
    groups: dict[PiFamily, list[int]] = {}
    for i, law in enumerate(laws):
        groups.setdefault(replace(law, alpha=1.0, beta=1.0), []).append(i)
    yield from groups.values()


def _with_gains(laws: Sequence[PiFamily]) -> PiFamily:
    """Return the first of some laws with the gains of all, as arrays."""
    alpha, beta = (np.array([float(getattr(law, name)) for law in laws]) for name in GAINS)
    return replace(laws[0], alpha=alpha, beta=beta)


def _time_back(law: PiFamily) -> float:
    return float(law.beta) * float(law.update_interval) / float(law.alpha)
