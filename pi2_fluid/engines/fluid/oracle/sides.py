"""Sides: the answers of a law's comparisons, held while a step is made.

Where a law compares, its slope may jump or have a kink. During a step every comparison keeps the
answer it had when the step began, so that the equations stay smooth; where an answer would change,
the step ends. A tape of the law has its comparisons by number, and what each looks at: a - b, where
it asks for a < b. Laws that compare nothing, and those that no tape can hold, are called as they
are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.laws.aqm import Aqm, Signal
from pi2_fluid.laws.seen import Seen
from pi2_fluid.laws.sender import Sender
from pi2_fluid.laws.tape import Tape
from pi2_fluid.laws.tapes import numbers_on_tape, tape_of

#: The answer of each comparison of a law, by its number; None: by the numbers that it compares.
Sides: TypeAlias = tuple[int, ...] | None


class Compared:
    """A function of a law that compares."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self._differences = tape.differences()
        self._codes = [tape.code(number) for number in range(tape.sides)]

    def __call__(self, values: Sequence[float], sides: Sides) -> list[float]:
        """Return its results."""
        return _results(self.tape, values, sides)

    def distances(self, values: Sequence[float], sides: Sides) -> list[float]:
        """Return how far each comparison is from another answer, positive on the side held.

        Two that are the same without staying so are on neither side.
        """
        assert sides is not None, "there is nothing to cross"
        found = zip(self._codes, self._differences(*values, sides=sides), sides, strict=True)
        return [
            (-abs(float(off)) if held else 1.0)
            if code == "equal"
            else (-float(off) if held else float(off))
            for code, off, held in found
        ]

    def sides(self, values: Sequence[float]) -> tuple[int, ...]:
        """Return the answers by the numbers."""
        found = []
        for code, value in zip(self._codes, self._differences(*values), strict=True):
            off = float(value)
            holds = off == 0.0 if code == "equal" else off <= 0.0 if code == _OR_SAME else off < 0.0
            found.append(1 if holds else 0)
        return tuple(found)


_OR_SAME = "less_equal"


class QueueCompared(Compared):
    """How a queue's controller moves and what packets see, whose comparisons are one."""

    def __init__(self, tape: Tape, states: int, *, flows: bool) -> None:
        super().__init__(tape)
        self._moves = tape.only(range(states))
        self._shows = tape.only(range(states, states + 2))
        self._flows = flows

    def values(self, state: Sequence[float], seen: Seen, d_queue_delay: float) -> list[float]:
        """Return what it is called with."""
        delay, *rest = seen
        delays = delay if isinstance(delay, tuple) else (delay,)
        return [*state, *delays, *rest, *([d_queue_delay] if self._flows else [])]

    def slopes(
        self, state: Sequence[float], seen: Seen, d_queue_delay: float, sides: Sides
    ) -> list[float]:
        """Return d(state)/dt."""
        return _results(self._moves, self.values(state, seen, d_queue_delay), sides)

    def signals(self, state: Sequence[float], seen: Seen, sides: Sides) -> Signal:
        """Return what packets see."""
        return Signal(*_results(self._shows, self.values(state, seen, 0.0), sides))


def _results(tape: Tape, values: Sequence[float], sides: Sides) -> list[float]:
    """Return what a tape gives: by the numbers where a side leads out of what has a value."""
    results = [float(value) for value in tape(*values, sides=sides)]
    if sides is not None and not math.isfinite(sum(results)):
        results = [float(value) for value in tape(*values)]
    return results


def compared_rate(sender: Sender) -> Compared | None:
    """Return the rate of a sender, None if it compares nothing."""
    tape = _tape(sender, "rate")
    return Compared(tape) if tape is not None else None


def compared_queue(law: Aqm, *, flows: bool) -> QueueCompared | None:
    """Return how a queue moves, by its flow or its drift, and what it signals; None as above."""
    tape = _tape(law, "flow and signals" if flows else "drift and signals")
    return QueueCompared(tape, len(law.initial()), flows=flows) if tape is not None else None


def _tape(law: Sender | Aqm, name: str) -> Tape | None:
    try:
        tape = tape_of(law, name)
    except UnsupportedError:
        return None
    return (
        tape.bound([float(value) for value in numbers_on_tape(law, tape)]) if tape.sides else None
    )
