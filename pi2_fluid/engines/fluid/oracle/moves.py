"""How a queue's law moves between its ticks, and what laws read."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Final, TypeAlias

from pi2_fluid.engines.fluid.oracle.equations import is_bounded
from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.tapes import tape_of
from pi2_fluid.ops import Number

_RATES: Final = {"arrival_rate", "overflow"}

#: The right-hand side of a law: from what is its own, what is seen and the growth of the delay.
Move: TypeAlias = Callable[[Aqm, tuple[float, ...], Seen, float], Sequence[Number]]


def hold(aqm: Aqm, state: tuple[float, ...], seen: Seen, rise: float) -> Sequence[Number]:
    """Return that it does not move."""
    del aqm, seen, rise
    return (0.0,) * len(state)


def _drift(aqm: Aqm, state: tuple[float, ...], seen: Seen, rise: float) -> Sequence[Number]:
    del rise
    return aqm.drift(state, seen)


def flow(aqm: Aqm, state: tuple[float, ...], seen: Seen, rise: float) -> Sequence[Number]:
    """Return how it moves by its flow."""
    return aqm.flow(state, seen, rise)


def move_of(aqm: Aqm, update: str) -> Move:
    """Return how a law moves between its ticks, or without any."""
    if aqm.update_interval is None:
        return flow if is_bounded(aqm) else _drift
    if update == "continuous":
        return flow
    return _drift if type(aqm).drift is not Aqm.drift else hold


def shows_queue(aqm: Aqm) -> bool:
    """Return whether what packets see depends on the queue, not on the controller alone."""
    return _shows(aqm, {*_RATES, "queue_delay", "classic_delay", "l4s_delay", "queue", "capacity"})


def shows_rates(aqm: Aqm) -> bool:
    """Return whether what packets see depends on what arrives."""
    return _shows(aqm, _RATES)


def _shows(aqm: Aqm, names: Set[str]) -> bool:
    try:
        return not tape_of(aqm, "signals").reads.isdisjoint(names)
    except UnsupportedError:
        return True


def recalls(sender: Sender, state: int) -> bool:
    """Return whether a sender's slopes depend on a state of one round trip ago; the first may."""
    try:
        reads = tape_of(sender, "rate").reads
    except UnsupportedError:
        return True
    return state == 0 or f"{sender.states[state]}_delayed" in reads
