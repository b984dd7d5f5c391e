"""Margins of loops of one queue, many at once."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from pi2_fluid.errors import UnsupportedError
from pi2_fluid.loop.margins import Margins
from pi2_fluid.loop.transfer import Loop
from pi2_fluid.sweeping.outcomes import Outcome, attempt, scalars
from pi2_fluid.sweeping.questions.arguments import dimension_in, replaced
from pi2_fluid.sweeping.questions.question import Piece, Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import FloatArray, Values

_NUMBERS: Final = {
    "rtt": "time",
    "p": "fraction",
    "p_prime": "fraction",
    "capacity": "rate",
    "packet_size": "size",
}
#: Larger arrays would fall out of the caches, and cost a tenth more.
_TOGETHER: Final = 2**16
_OPTIONS: Final = ("update", "rtt_terms", "transport", "clock", "bunch")


@dataclass(frozen=True)
class Loops(Question):
    """The arguments of a `Loop`, whose margins are asked for, of many at once."""

    arguments: Mapping[str, Any]
    options: Mapping[str, Any]

    kind: ClassVar[str] = "loop"

    @classmethod
    def of(cls, loop: Loop) -> Loops:
        """Return the question that a loop is built for."""
        if loop.shape:
            raise UnsupportedError(
                f"base is an array of loops of shape {loop.shape}: build it with single numbers,"
                " and give the others in over."
            )
        who = {"flows": loop.flows} if loop.flows else {"sender": loop.senders[0]}
        options = {name: getattr(loop, name) for name in _OPTIONS if hasattr(loop, name)}
        return cls({**who, "aqm": loop.aqm, **loop.numbers}, options)

    def dimension(self, name: str) -> str:
        """Return the dimension of a number, or of one of a law or of flows."""
        if name in _NUMBERS and (name in self.arguments or name in {"p", "p_prime"}):
            return _NUMBERS[name]
        return dimension_in(self.arguments, name, ("sender", "flows", "aqm"))

    def ask(
        self, columns: Mapping[str, NDArray[Any]], seeds: Sequence[int], count: int
    ) -> Iterator[Piece]:
        """Yield what points have, halving them while one of them is refused."""
        arrays = {name: column.astype(float, copy=False) for name, column in columns.items()}
        # What iterates until all of an array have converged depends on who else is in it.
        alone = "flows" in self.arguments or self.options["update"] == "delayed"
        step = 1 if alone else _TOGETHER
        waiting = [slice(place, min(place + step, count)) for place in range(0, count, step)][::-1]
        while waiting:
            where = waiting.pop()
            found = attempt(functools.partial(self._margins, arrays, where))
            if isinstance(found, Exception) and where.stop - where.start > 1:
                middle = (where.start + where.stop) // 2
                waiting += [slice(middle, where.stop), slice(where.start, middle)]
            else:
                yield where, found

    def _margins(self, arrays: Mapping[str, Any], where: slice) -> tuple[Outcome, frozenset[str]]:
        arguments = dict(self.arguments)
        for name, other in (("p", "p_prime"), ("p_prime", "p")):
            if name in arrays and other not in arrays:
                arguments.pop(other, None)
        for name, values in arrays.items():
            arguments = replaced(arguments, name, values[where])
        who = arguments.pop("sender", None) or arguments.pop("flows")
        margins = Loop(who, **arguments, **self.options).margins()
        return margins_of(margins, where.stop - where.start), frozenset()

    def describe(self) -> dict[str, str]:
        """Return the arguments."""
        return {"loop": repr({**self.arguments, **self.options})}

    def parts(self) -> dict[str, object]:
        """Return the arguments."""
        return {"base": {**self.arguments, **self.options}}


def margins_of(margins: Margins, count: int) -> Outcome:
    """Return the numbers of `count` loops."""

    def each(values: Values) -> FloatArray:
        return np.broadcast_to(np.asarray(values, dtype=float), (count,))

    return scalars(
        gain_margin_db=(each(margins.gain_margin_db), "dB", "gain margin"),
        phase_margin=(each(margins.phase_margin_deg), "degree", "phase margin, not wrapped"),
        gain_crossover=(each(margins.gain_crossover), "rad/s", "gain crossover frequency"),
        phase_crossover=(each(margins.phase_crossover), "rad/s", "phase crossover frequency"),
        delay_margin=(each(margins.delay_margin), "s", "delay margin"),
        verdict_code=(each(margins.verdict_code), "1", "1 stable, -1 unstable, 0 undecided"),
    )
