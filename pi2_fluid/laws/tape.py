"""A law as a tape: a straight line of operations on registers, from which everything else follows.

A `Tape` is what a trace has kept of a function, without what no result needs. Registers hold its
inputs, its parameters (numbers of the law), its constants and, one for each row, what its
operations give. It can be evaluated on floats, NumPy and JAX arrays; its slopes are another tape;
and its comparisons are numbered, so that a solver can keep their answers ("sides") while it makes a
step, and see from their differences when one changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pi2_fluid.laws.evaluation import python_function
from pi2_fluid.laws.rows import (
    ARITY,
    BRANCHED,
    CODES,
    COMPARING,
    NAMES,
    Row,
    make_row,
    number_of,
    operands_of,
)
from pi2_fluid.laws.slopes import slope_of
from pi2_fluid.laws.trace import Symbol, Trace, record
from pi2_fluid.values import Number


@dataclass(frozen=True, eq=False)
class Tape:
    """A function of numbers as a straight line of operations.

    Examples
    --------
    >>> tape = make_tape(lambda w, p: 1.0 - 0.5 * w * p, ["w", "p"])
    >>> tape(10.0, 0.1)
    (0.5,)
    >>> tape.slopes(["w", "p"])(10.0, 0.1)
    (-0.05, -5.0)
    """

    inputs: tuple[str, ...]
    """Names of what changes from call to call."""
    parameters: tuple[str, ...]
    """Names of the law's numbers."""
    constants: tuple[float, ...]
    rows: tuple[Row, ...]
    outputs: tuple[int, ...]
    """Registers of the results."""
    sides: int
    """How many comparisons are numbered, of this tape and of those that share its numbers."""

    def __call__(
        self,
        *values: Number,
        parameters: Sequence[Number] = (),
        sides: Sequence[int] | None = None,
    ) -> tuple[Number, ...]:
        """Return the results.

        Parameters
        ----------
        *values
            One float or array for each input.
        parameters
            One for each parameter.
        sides : sequence of int, optional
            The answer of each comparison, by its number, where it is not to be found by numbers.
        """
        if len(values) != len(self.inputs) or len(parameters) != len(self.parameters):
            raise TypeError(
                f"a tape of {len(self.inputs)} inputs and {len(self.parameters)} parameters was"
                f" given {len(values)} and {len(parameters)}"
            )
        with np.errstate(all="ignore"):  # both branches of `where` are evaluated
            if sides is None:
                return self._function(*values, *parameters)
            return self._held(sides, *values, *parameters)

    @cached_property
    def _function(self) -> Callable[..., tuple[Number, ...]]:
        return self._made(held=False)

    @cached_property
    def _held(self) -> Callable[..., tuple[Number, ...]]:
        return self._made(held=True)

    def _made(self, *, held: bool) -> Callable[..., tuple[Number, ...]]:
        given = len(self.inputs) + len(self.parameters)
        return python_function(given, self.constants, self.rows, self.outputs, held=held)

    @property
    def first(self) -> int:
        """The register of the first row."""
        return len(self.inputs) + len(self.parameters) + len(self.constants)

    @cached_property
    def digest(self) -> str:
        """What the tape does, as a short text: the same of two tapes only if they do the same.

        Names are no part of it.
        """
        import hashlib  # OpenSSL, which most commands do without

        counts = (len(self.inputs), len(self.parameters), self.sides)
        constants = [value.hex() for value in self.constants]
        text = repr((counts, constants, self.rows, self.outputs))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def reads(self) -> frozenset[str]:
        """The inputs and parameters that its results depend on."""
        names = (*self.inputs, *self.parameters)
        used = {place for row in self.rows for place in operands_of(row)} | set(self.outputs)
        return frozenset(name for place, name in enumerate(names) if place in used)

    def depends(self, output: int, on: Iterable[str]) -> bool:
        """Return whether a result depends on any of these inputs or parameters."""
        return not self.only([output]).reads.isdisjoint(on)

    def only(self, outputs: Sequence[int]) -> Tape:
        """Return the tape of some of its results, with the same comparisons by the same numbers."""
        return self._compact([self.outputs[which] for which in outputs])

    @cached_property
    def comparisons(self) -> dict[int, int]:
        """The row of each comparison, by its number."""
        return {number_of(row): place for place, row in enumerate(self.rows) if number_of(row) >= 0}

    def code(self, number: int) -> str:
        """Return what a comparison is, of `COMPARING`."""
        return NAMES[self.rows[self.comparisons[number]][0]]

    def differences(self) -> Tape:
        """Return the tape of what each comparison looks at: a - b; a itself, where it is |a|.

        In the order of their numbers; 0 for those of tapes that share its numbers.
        """
        trace, registers = self._replay()
        results = []
        for number in range(self.sides):
            place = self.comparisons.get(number)
            if place is None:
                results.append(trace.constant(0.0))
                continue
            code, a, b, _ = self.rows[place]
            first = registers[a]
            results.append(first if ARITY[code] == 1 else first - registers[b])
        tape = _from_trace(trace, self.inputs, self.parameters, results, self._numbers(registers))
        return replace(tape, sides=self.sides)

    def slopes(self, over: Sequence[str]) -> Tape:
        """Return the tape of the slopes over some inputs and parameters.

        By the rules of differentiation (forward accumulation; Griewank and Walther, "Evaluating
        Derivatives", 2008, section 3.1). Where two values are the same, `minimum` and `maximum`
        have the mean of both slopes, and ``abs`` has the slope 0 at 0.

        Returns
        -------
        Tape
            Its results: of each of `over`, the slope of each result of this tape.
        """
        trace, registers = self._replay()
        results = []
        names = (*self.inputs, *self.parameters)
        for name in over:
            seed = names.index(name)
            slopes = [trace.constant(1.0 if place == seed else 0.0) for place in range(self.first)]
            for place, row in enumerate(self.rows, self.first):
                operands = [registers[operand] for operand in operands_of(row)]
                moves = [slopes[operand] for operand in operands_of(row)]
                slopes.append(slope_of(NAMES[row[0]], operands, registers[place], moves, trace))
            results += [slopes[place] for place in self.outputs]
        return _from_trace(trace, self.inputs, self.parameters, results, {})

    def bound(self, parameters: Sequence[float]) -> Tape:
        """Return the tape with its parameters as constants."""
        if len(parameters) != len(self.parameters):
            raise TypeError(f"{len(self.parameters)} parameters are bound, not {len(parameters)}")
        numbers = (*(float(value) for value in parameters), *self.constants)
        return replace(self, parameters=(), constants=numbers)

    def _replay(self) -> tuple[Trace, list[Symbol]]:
        """Return the trace that makes this tape, and the symbol of each register."""
        trace = Trace()
        registers = [trace.input(name) for name in (*self.inputs, *self.parameters)]
        registers += [trace.constant(value) for value in self.constants]
        for row in self.rows:
            registers.append(trace.apply(NAMES[row[0]], *(registers[x] for x in operands_of(row))))
        return trace, registers

    def _numbers(self, registers: Sequence[Symbol]) -> dict[int, int]:
        """The number of each comparison by its operation in a trace that replays this tape."""
        return {
            registers[self.first + place].index: number
            for number, place in self.comparisons.items()
        }

    def _compact(self, outputs: Sequence[int]) -> Tape:
        """Return the tape of what is in some registers, without what they do not need."""
        needed, waiting = set(), list(outputs)
        while waiting:
            place = waiting.pop()
            if place not in needed:
                needed.add(place)
                if place >= self.first:
                    waiting += operands_of(self.rows[place - self.first])
        inputs = len(self.inputs) + len(self.parameters)
        registers = [*range(inputs), *sorted(place for place in needed if place >= inputs)]
        new = {place: number for number, place in enumerate(registers)}
        rows = []
        for place in registers:
            if place >= self.first:
                row = self.rows[place - self.first]
                arity = ARITY[row[0]]
                rows.append(
                    make_row(
                        row[0], [new[operand] for operand in operands_of(row)], *row[1 + arity :]
                    )
                )
        return replace(
            self,
            constants=tuple(
                self.constants[place - inputs]
                for place in registers
                if inputs <= place < self.first
            ),
            rows=tuple(rows),
            outputs=tuple(new[place] for place in outputs),
        )


def make_tape(
    function: Callable[..., object], inputs: Sequence[str], parameters: Sequence[str] = ()
) -> Tape:
    """Return the tape of a function that is called with numbers, inputs before parameters.

    Names that were there before, as where a state is called like what a law is told, get a stroke.

    Raises
    ------
    TraceError
        If it does what cannot be written down.
    """
    names: list[str] = []
    for name in (*inputs, *parameters):
        while name in names:
            name += "'"  # noqa: PLW2901
        names.append(name)
    trace, results = record(function, names)
    return _from_trace(trace, names[: len(inputs)], names[len(inputs) :], results, None)


def _from_trace(
    trace: Trace,
    inputs: Sequence[str],
    parameters: Sequence[str],
    results: Sequence[Symbol],
    numbers: dict[int, int] | None,
) -> Tape:
    """Return the tape of a trace; its comparisons get new numbers where none are given."""
    given = [*inputs, *parameters]
    constants = [place for place, (code, *_) in enumerate(trace.operations) if code == "constant"]
    register = {trace.input(name).index: place for place, name in enumerate(given)}
    register |= {place: len(given) + number for number, place in enumerate(constants)}
    new = numbers is None
    numbers = {} if numbers is None else numbers
    rows: list[Row] = []
    for place, (code, operands, _) in enumerate(trace.operations):
        if code in {"input", "constant"}:
            continue
        register[place] = len(given) + len(constants) + len(rows)
        if code in COMPARING and new:
            numbers[place] = len(numbers)
        number = [numbers.get(place, -1)] if code in COMPARING else []
        rows.append(make_row(CODES[code], [register[operand] for operand in operands], *number))
    whole = Tape(
        inputs=tuple(inputs),
        parameters=tuple(parameters),
        constants=tuple(float.fromhex(trace.operations[place].of) for place in constants),
        rows=tuple(rows),
        outputs=(),
        sides=len(numbers),
    )
    tape = whole._compact([register[symbol.index] for symbol in results])
    return _renumbered(tape) if new else tape


def _renumbered(tape: Tape) -> Tape:
    """Return a tape whose comparisons are numbered without gaps: those that results need."""
    new = {number: place for place, number in enumerate(sorted(tape.comparisons))}
    rows = [
        make_row(row[0], operands_of(row), new[number_of(row)]) if row[0] in BRANCHED else row
        for row in tape.rows
    ]
    return replace(tape, rows=tuple(rows), sides=len(new))
