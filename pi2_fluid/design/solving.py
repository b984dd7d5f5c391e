"""The gains that a task of `tune` asks for: the optimum over the loops that bind."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pi2_fluid.design.asked import LONGEST_INTERVAL, Spans, make_template, read_queue
from pi2_fluid.design.binding import Binding
from pi2_fluid.design.bounds import bound_by, is_bound
from pi2_fluid.design.by_acks import worst_by_acks
from pi2_fluid.design.gains import (
    Asked,
    Loops,
    largest_alpha,
    largest_beta,
    largest_factor,
    make_ceiling,
)
from pi2_fluid.design.guarantees.guarantee import Guarantee, guarantee
from pi2_fluid.design.linear_plants import NO_LOAD, LinearPlants
from pi2_fluid.design.plants import Plants
from pi2_fluid.design.region import Region, Worst, worst_margins
from pi2_fluid.design.stepping import Gains, Steps, first_that_keeps, steps_of
from pi2_fluid.design.trying import largest_that_holds
from pi2_fluid.errors import DomainError
from pi2_fluid.laws.aqms.pi_family import PiFamily
from pi2_fluid.loop.margins import Margins

_DIGITS: Final = 5  # of alpha and beta: alpha is rounded down, in favour of the margins
_KEPT: Final = 0.9  # of the largest integral gain, where the bandwidth is maximised
_ROUNDS: Final = 8


@dataclass(frozen=True)
class Task:
    """What is asked: the region, the queue without its gains, margins, and what tc can ask for.

    `fixed` if the queue's update interval is one that was given.
    """

    region: Region
    template: PiFamily
    asked: Asked
    update: str
    objective: str
    steps: Steps | None
    fixed: bool

    @property
    def interval(self) -> float:
        """The update interval given, or the default (s)."""
        return float(self.template.update_interval)

    def intervals(self) -> list[float]:
        """Those (s) that may be tried in its place, rising."""
        assert self.steps is not None
        longest = min(self.region.max_rtt, LONGEST_INTERVAL * self.region.min_rtt)
        found = self.steps.intervals(self.interval, max(longest, self.interval))
        return found[:1] if self.fixed else found

    def runs(self, law: PiFamily) -> bool:
        """Whether tc has a line for a law."""
        if self.steps is None:
            return False
        return _in_whole_steps(self, law) if self.steps.whole else self.steps.keeps(law)


def find_law(
    region: Region,
    aqm: str | PiFamily,
    asked: Asked,
    update: str,
    *,
    target: float,
    update_interval: float | None,
    in_steps: bool = True,
) -> PiFamily:
    """Return the queue that `tune` finds for a region, where nobody asks what else is true of it.

    Of a kernel of 1000 ticks per second, in the steps that its tc can ask for if `in_steps`.

    Raises
    ------
    DomainError
        As `tune`.
    """
    queue = read_queue(aqm, None)
    spans = Spans(region.max_rtt, region.min_rtt, target)
    template = make_template(queue, spans, update_interval, "recovery")
    steps = steps_of(template, queue.tc, 1000) if in_steps else None
    fixed = update_interval is not None
    return solve(Task(region, template, asked, update, "recovery", steps, fixed))[0]


def solve(task: Task) -> tuple[PiFamily, Guarantee]:
    """Return the optimum, and what its margins by rates rest on.

    Over the curves that bound one loop each; where these do not lead to gains within the margins,
    or to gains with more than was asked for, by gains that are tried in the region.

    Raises
    ------
    DomainError
        If no gains leave the margins.
    """
    plants = Binding(task.region.corners(task.template))
    law = _with(task, task.interval, (float(task.template.alpha), float(task.template.beta)))
    for _ in range(_ROUNDS):
        try:
            law, worst, more = _binding(task, plants)
        except DomainError as error:
            if not np.any(plants.rates.kappa > 0.0):
                raise
            return _tried(task, law, error)  # a curve is one side of what such a loop allows
        if worst is None:
            return _tried(task, law)
        proof = guarantee(task.region, law, worst, task.update)
        if _shortfall(proof.worst.margins, task.asked) <= 0.0:
            return (law, proof) if _binds(task, law, proof.worst) else _tried(task, law)
        plants = more.and_by_rates(proof.worst.plants)  # the proof has found a loop with less
    return _tried(task, law)


def find_line(task: Task, plants: Binding) -> tuple[PiFamily | None, Binding]:
    """Return the law of a line of tc that leaves the margins, and the loops that bind.

    With None where there is none: over these loops, which are more then, or at all.
    """
    if not has_line(task, plants):
        return None, plants
    law, worst, plants = _binding(task, plants)
    return (law if worst is not None and task.runs(law) else None), plants


def has_line(task: Task, plants: Binding) -> bool:
    """Whether tc has a line for the best gains over some loops."""
    try:
        return task.runs(_choose(task, plants)[0])
    except DomainError:
        return False


def _binds(task: Task, law: PiFamily, worst: Worst) -> bool:
    """Say whether a margin is as small as was asked for, or something else bounds the gains."""
    if task.objective != "recovery" or _in_whole_steps(task, law):
        return True  # beta, the ratio of the gains, or the steps bind
    return is_bound(task.asked, _by_clock(task, law, worst))


def _by_clock(task: Task, law: PiFamily, worst: Worst) -> dict[str, Margins]:
    """Return the smallest margins in the region by rates, and by acknowledgements if there are."""
    acks = worst_by_acks(task.region, law, task.update).worst
    return {"rate": worst.margins} | ({} if acks is None else {"acks": acks.margins})


def bound_of(task: Task, law: PiFamily, worst: Worst) -> str:
    """Return what keeps the gains of a law from being larger, as `bound_by` says it."""

    def more(alpha: float, beta: float) -> dict[str, Margins]:
        gains = alpha * float(law.alpha), beta * float(law.beta)
        other = _with(task, float(law.update_interval), gains)
        return _by_clock(task, other, worst_margins(task.region, other, task.update))

    whole = _in_whole_steps(task, law)
    return bound_by(task.asked, _by_clock(task, law, worst), more, whole=whole)


def _in_whole_steps(task: Task, law: PiFamily) -> bool:
    if task.steps is None or not task.steps.whole:
        return False
    parts = float(law.alpha) / task.steps.smallest
    return abs(parts - round(parts)) < 1e-9 * parts


def _tried(task: Task, law: PiFamily, why: DomainError | None = None) -> tuple[PiFamily, Guarantee]:
    """The largest alpha that holds in the whole region, from gains near it on.

    Raises
    ------
    DomainError
        If there is none: `why`, if curves have said something.
    """
    interval = float(law.update_interval)

    def holds(alpha: float, beta: float) -> bool:
        one = _with(task, interval, (_round_down(alpha), float(f"{beta:.{_DIGITS}g}")))
        worst = worst_margins(task.region, one, task.update)
        if _shortfall(worst.margins, task.asked) > 0.0:
            return False
        acks = worst_by_acks(task.region, one, task.update).worst
        return acks is None or _shortfall(acks.margins, task.asked) <= 0.0

    found = largest_that_holds(holds, float(law.alpha), float(law.beta))
    if found is None:
        raise why or _out_of_reach(task)
    alpha, beta = _round_down(found[0]), float(f"{found[1]:.{_DIGITS}g}")
    law = _with(task, interval, (alpha, beta))
    proof = guarantee(task.region, law, worst_margins(task.region, law, task.update), task.update)
    if _shortfall(proof.worst.margins, task.asked) > 0.0:
        raise _out_of_reach(task)
    return law, proof


def _binding(task: Task, plants: Binding) -> tuple[PiFamily, Worst | None, Binding]:
    """The optimum over the loops that bind, found by adding those that turn out worse.

    First by rates. What then falls short by acknowledgements, on their grid, binds as well. With no
    worst margins after some rounds that did not lead there.
    """
    for _ in range(_ROUNDS):
        queue, whole = _choose(task, plants)
        for _ in range(3):
            worst = worst_margins(task.region, queue, task.update)
            short = _shortfall(worst.margins, task.asked)
            by_acks = None
            if short <= 0.0:
                by_acks = worst_by_acks(task.region, queue, task.update).worst
                if by_acks is None:
                    return queue, worst, plants
                short = _shortfall(by_acks.margins, task.asked)
            if short <= 0.0:
                return queue, worst, plants
            if short > 1e-3 or whole:
                break
            queue = replace(
                queue, alpha=_round_down(float(queue.alpha) * (1.0 - 1e-4))
            )  # beta's rounding
        if by_acks is None:
            plants = plants.and_by_rates(worst.plants)
        else:
            plants = plants.and_by_acks(by_acks.plants)
    return queue, None, plants


def _choose(task: Task, plants: Binding) -> tuple[PiFamily, bool]:
    """Return the queue with its best gains, and whether these are whole steps of PIE.

    Where tc cannot ask for them at the default update interval, at the first one at which it can.
    """
    steps = task.steps
    gains = None
    if steps is not None and steps.whole:
        gains = first_that_keeps(
            task.intervals(),
            lambda interval: _whole(task, plants, interval),
            lambda interval: _most(task, plants, interval, steps.largest) >= steps.smallest,
        )
        if gains is not None:
            return _with(task, *gains), True
    best = _with(task, task.interval, _best(task, plants, task.interval))
    if steps is None or steps.whole or task.fixed or steps.keeps(best):
        return best, False
    gains = first_that_keeps(
        task.intervals(),
        lambda interval: _kept(task, plants, interval),
        lambda interval: _most(task, plants, interval, steps.largest) >= steps.smallest,
    )
    return (best if gains is None else _with(task, *gains)), False


def _with(task: Task, interval: float, gains: tuple[float, float]) -> PiFamily:
    return replace(task.template, update_interval=interval, alpha=gains[0], beta=gains[1])


def _whole(task: Task, plants: Binding, interval: float) -> Gains:
    """Return gains in whole steps of PIE at an update interval."""
    assert task.steps is not None
    ceiling, _, _ = make_ceiling(plants, task.asked, interval, task.update)
    return None if ceiling is None else task.steps.gains(ceiling, task.objective, task.template)


def _kept(task: Task, plants: Binding, interval: float) -> Gains:
    """Return the best gains at an update interval, if DualPI2 runs most of them."""
    assert task.steps is not None
    gains = _best(task, plants, interval)
    return gains if task.steps.keeps(_with(task, interval, gains)) else None


def _most(task: Task, plants: Binding, interval: float, beta: float) -> float:
    """Return the largest alpha (Hz) at an update interval, with a beta of at most `beta` (Hz)."""
    ceiling, highest, _ = make_ceiling(plants, task.asked, interval, task.update)
    return 0.0 if ceiling is None else largest_alpha(ceiling, min(highest, beta))[0]


def _out_of_reach(task: Task) -> DomainError:
    return DomainError(
        f"no gains were found that leave {_words(task.asked)} up to a round-trip time of"
        f" {task.region.max_rtt:g} s by both clocks: ask for less, or bound the windows by"
        " max_window."
    )


def _best(task: Task, plants: Binding, interval: float) -> tuple[float, float]:
    """Return the best gains at an update interval, in five digits."""
    required, update, objective = task.asked, task.update, task.objective
    ceiling, highest, binding = make_ceiling(plants, required, interval, update)
    if ceiling is None:
        raise _infeasible(task, plants.take(binding), interval)
    alpha, beta = largest_alpha(ceiling, highest)
    if alpha <= 0.0:
        raise _infeasible(task, plants.take(0), interval, plants)
    if objective == "bandwidth":
        alpha *= _KEPT
        beta = largest_beta(ceiling, highest, alpha, beta)
    if objective == "gain":
        alpha, beta = float(task.template.alpha), float(task.template.beta)
        factor = largest_factor(ceiling, highest, alpha, beta)
        if factor <= 0.0:
            raise DomainError(
                f"no multiple of alpha = {alpha:g} Hz and beta = {beta:g} Hz with update_interval ="
                f" {interval:g} s leaves {_words(required)} up to a round-trip time of"
                f" {task.region.max_rtt:g} s: give a longer update_interval, smaller margins, or"
                ' objective="recovery".'
            )
        alpha, beta = factor * alpha, factor * beta
    beta = _round_down(beta) if objective != "recovery" else float(f"{beta:.{_DIGITS}g}")
    # On the flank of the ceiling the rounded beta allows another alpha; it is rounded down.
    alpha = min(alpha, float(ceiling(np.array([beta]))[0]))
    if alpha <= 0.0:
        raise _out_of_reach(task)
    return _round_down(alpha), beta


def _shortfall(found: Margins, asked: Asked) -> float:
    return max(
        asked.gain_db - float(found.gain_margin_db),
        asked.phase_deg - float(found.phase_margin_deg),
        asked.modulus - float(found.modulus_margin),
    )


def _round_down(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - _DIGITS)
    return float(f"{math.floor(value / unit * (1.0 + 1e-12)) * unit:.{_DIGITS}g}")


def _infeasible(
    task: Task, plant: Plants | LinearPlants, interval: float, plants: Loops | None = None
) -> DomainError:
    """Find the condition that cannot be had even alone, and say what would help.

    Of one loop; or of several, with which there is no alpha, told of the first of them.
    """
    asked = task.asked
    alone = {
        f"phase_margin_deg = {asked.phase_deg:g}": Asked(0.0, asked.phase_deg),
        f"gain_margin_db = {asked.gain_db:g}": Asked(asked.gain_db, 0.0),
        f"modulus_margin = {asked.modulus:g}": Asked(0.0, 0.0, asked.modulus),
    }
    binding = _words(asked)
    for words, one in alone.items():
        ceiling, highest, _ = make_ceiling(plants or plant, one, interval, task.update)
        if ceiling is None or largest_alpha(ceiling, highest)[0] <= 0.0:
            binding = words
            break
    who = type(task.region.senders[int(plant.sender[0])]).__name__
    clock = " by acknowledgements" if plant.clock == "acks" else ""
    load = float(plant.p_prime[0])
    none = load <= (NO_LOAD if plant.numeric else 0.0)
    where = "no load (windows without bound)" if none else f"p' = {load:.3g}"
    return DomainError(
        f"{binding} cannot be had{clock} with any gains for {who} at a round-trip time of"
        f" {float(plant.rtt[0]):g} s and {where}: ask for less, or bound the windows by"
        " max_window."
    )


def _words(asked: Asked) -> str:
    words = f"{asked.gain_db:g} dB and {asked.phase_deg:g} deg"
    return words + (f" and |1 + L| of {asked.modulus:g}" if asked.modulus > 0.0 else "")
