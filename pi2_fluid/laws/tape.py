"""A law as a tape: a straight line of operations on registers, from which everything else follows.

A `Tape` is what a trace has kept of a function, without what no result needs. Registers hold its
inputs, its parameters (numbers of the law), its constants and, one for each row, what its
operations give. It can be evaluated on floats, NumPy and JAX arrays; its slopes are another tape;
and its comparisons are numbered, so that a solver can keep their answers ("sides") while it makes a
step, and see from their differences when one changes.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from pi2_fluid import ops
from pi2_fluid.laws.trace import OPERATIONS, Symbol, Trace, record, where
from pi2_fluid.values import Number

__all__ = ["COMPARING", "Row", "Tape", "make_tape"]

#: Operations whose slope, or value, jumps where their operands are the same; of "absolute", where
#: its operand is 0. Each has a side: 1 where the first is less (less or equal, equal) or negative.
COMPARING: Final = ("less", "less_equal", "equal", "minimum", "maximum", "absolute")

#: Code, and three registers. A comparison has its number in the third, "absolute" in the second.
Row = tuple[int, int, int, int]

_CODES: Final = {code: number for number, code in enumerate(OPERATIONS)}
_NAMES: Final = tuple(OPERATIONS)
_BRANCHED: Final = tuple(_CODES[code] for code in COMPARING)


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
        registers: list[Number] = [*values, *parameters, *self.constants]
        if len(registers) != self.first:
            raise TypeError(
                f"a tape of {len(self.inputs)} inputs and {len(self.parameters)} parameters was"
                f" given {len(values)} and {len(parameters)}"
            )
        with np.errstate(all="ignore"):  # both branches of `where` are evaluated
            for code, a, b, c in self.rows:
                operands = [registers[place] for place in (a, b, c)[: _ARITY[code]]]
                if sides is not None and code in _BRANCHED and _number((code, a, b, c)) >= 0:
                    side = bool(sides[_number((code, a, b, c))])
                    registers.append(_held(code, operands, side))
                else:
                    registers.append(_FUNCTIONS[code](*operands))
        return tuple(registers[place] for place in self.outputs)

    @property
    def first(self) -> int:
        """The register of the first row."""
        return len(self.inputs) + len(self.parameters) + len(self.constants)

    @cached_property
    def digest(self) -> str:
        """What the tape does, as a short text: the same of two tapes only if they do the same.

        Names are no part of it.
        """
        counts = (len(self.inputs), len(self.parameters), self.sides)
        constants = [value.hex() for value in self.constants]
        text = repr((counts, constants, self.rows, self.outputs))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @cached_property
    def reads(self) -> frozenset[str]:
        """The inputs and parameters that its results depend on."""
        names = (*self.inputs, *self.parameters)
        used = {place for row in self.rows for place in _operands(row)} | set(self.outputs)
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
        return {
            _number(row): place
            for place, row in enumerate(self.rows)
            if row[0] in _BRANCHED and _number(row) >= 0
        }

    def code(self, number: int) -> str:
        """Return what a comparison is, of `COMPARING`."""
        return _NAMES[self.rows[self.comparisons[number]][0]]

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
            results.append(first if _ARITY[code] == 1 else first - registers[b])
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
                operands = [registers[operand] for operand in _operands(row)]
                moves = [slopes[operand] for operand in _operands(row)]
                slopes.append(_slope(_NAMES[row[0]], operands, registers[place], moves, trace))
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
            registers.append(trace.apply(_NAMES[row[0]], *(registers[x] for x in _operands(row))))
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
                    waiting += _operands(self.rows[place - self.first])
        given = len(self.inputs) + len(self.parameters)
        kept = [*range(given), *sorted(place for place in needed if place >= given)]
        new = {place: number for number, place in enumerate(kept)}
        rows = []
        for place in kept:
            if place >= self.first:
                row = self.rows[place - self.first]
                arity = _ARITY[row[0]]
                rows.append(
                    _row(row[0], [new[operand] for operand in _operands(row)], *row[1 + arity :])
                )
        return replace(
            self,
            constants=tuple(
                self.constants[place - given] for place in kept if given <= place < self.first
            ),
            rows=tuple(rows),
            outputs=tuple(new[place] for place in outputs),
        )


def make_tape(
    function: Callable[..., object], inputs: Sequence[str], parameters: Sequence[str] = ()
) -> Tape:
    """Return the tape of a function that is called with numbers, inputs before parameters.

    Raises
    ------
    TraceError
        If it does what cannot be written down.
    """
    trace, results = record(function, [*inputs, *parameters])
    return _from_trace(trace, inputs, parameters, results, None)


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
        rows.append(_row(_CODES[code], [register[operand] for operand in operands], *number))
    whole = Tape(
        inputs=tuple(inputs),
        parameters=tuple(parameters),
        constants=tuple(float(trace.value(place) or 0.0) for place in constants),
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
        _row(row[0], _operands(row), new[_number(row)]) if row[0] in _BRANCHED else row
        for row in tape.rows
    ]
    return replace(tape, rows=tuple(rows), sides=len(new))


# What the operations do

_ARITY: Final = tuple(OPERATIONS.values())


def _divide(a: Number, b: Number) -> Number:
    try:
        return a / b
    except ZeroDivisionError:
        return np.divide(a, b)


def _power(a: Number, b: Number) -> Number:
    result: Number = ops.namespace(a, b).float_power(a, b)
    return result


def _both(a: Number, b: Number) -> Number:
    result: Number = ops.namespace(a, b).logical_and(a, b)
    return result


def _either(a: Number, b: Number) -> Number:
    result: Number = ops.namespace(a, b).logical_or(a, b)
    return result


def _not(a: Number) -> Number:
    result: Number = ops.namespace(a).logical_not(a)
    return result


_FUNCTIONS: Final[tuple[Callable[..., Number], ...]] = (
    operator.add,
    operator.sub,
    operator.mul,
    _divide,
    operator.neg,
    abs,
    operator.lt,
    operator.le,
    operator.eq,
    _both,
    _either,
    _not,
    ops.where,
    ops.minimum,
    ops.maximum,
    _power,
    ops.exp,
    ops.expm1,
    ops.log,
    ops.log1p,
    ops.sqrt,
    ops.cbrt,
)
assert len(_FUNCTIONS) == len(OPERATIONS)


def _operands(row: Row) -> tuple[int, ...]:
    return row[1 : 1 + _ARITY[row[0]]]


def _row(code: int, operands: Sequence[int], *rest: int) -> Row:
    a, b, c, *_ = (*operands, *rest, 0, 0, 0)
    return code, a, b, c


def _number(row: Row) -> int:
    """Return the number of a comparison, -1 if it has none."""
    return row[1 + _ARITY[row[0]]]


def _held(code: int, operands: Sequence[Number], side: bool) -> Number:
    """Return what a comparison gives whose answer is held."""
    name = _NAMES[code]
    if name == "absolute":
        return -operands[0] if side else operands[0]
    if name in {"minimum", "maximum"}:
        return operands[0 if side == (name == "minimum") else 1]
    return side


def _slope(
    code: str, x: Sequence[Symbol], y: Symbol, moves: Sequence[Symbol], trace: Trace
) -> Symbol:
    """Return how an operation's value y moves as its operands x do."""
    zero, unit = trace.constant(0.0), trace.constant(1.0)
    still = [move.index == zero.index for move in moves]

    def times(a: Symbol, b: Symbol) -> Symbol:
        if zero.index in {a.index, b.index}:
            return zero
        if a.index == unit.index:
            return b
        return a if b.index == unit.index else a * b

    def plus(a: Symbol, b: Symbol) -> Symbol:
        if a.index == zero.index:
            return b
        return a if b.index == zero.index else a + b

    def minus(a: Symbol, b: Symbol) -> Symbol:
        if b.index == zero.index:
            return a
        return -b if a.index == zero.index else a - b

    if all(still) or code in {"less", "less_equal", "equal", "and", "or", "not"}:
        return zero
    da = moves[0]
    if code == "where":
        return where(x[0], moves[1], moves[2])
    if code in {"minimum", "maximum"}:
        if moves[0].index == moves[1].index:
            return moves[0]
        first = x[0] < x[1] if code == "minimum" else x[1] < x[0]
        second = x[1] < x[0] if code == "minimum" else x[0] < x[1]
        mean = times(trace.constant(0.5), plus(moves[0], moves[1]))
        return where(first, moves[0], where(second, moves[1], mean))
    if code == "power":
        return _slope_of_power(x, y, moves, trace)
    rules: dict[str, Callable[[], Symbol]] = {
        "add": lambda: plus(da, moves[1]),
        "subtract": lambda: minus(da, moves[1]),
        "multiply": lambda: plus(times(da, x[1]), times(x[0], moves[1])),
        "divide": lambda: minus(da, times(y, moves[1])) / x[1],
        "negative": lambda: -da,
        "absolute": lambda: where(x[0] < 0.0, -da, where(x[0] == 0.0, zero, da)),
        "exp": lambda: times(y, da),
        "expm1": lambda: times(y + 1.0, da),
        "log": lambda: da / x[0],
        "log1p": lambda: da / (1.0 + x[0]),
        "sqrt": lambda: times(0.5 / y, da),
        "cbrt": lambda: times(1.0 / (3.0 * y * y), da),
    }
    return rules[code]()


def _slope_of_power(
    x: Sequence[Symbol], y: Symbol, moves: Sequence[Symbol], trace: Trace
) -> Symbol:
    base, power = x
    zero = trace.constant(0.0).index
    result = trace.constant(0.0)
    if moves[0].index != zero:
        value = trace.value(power.index)
        # A power of 0 is constant at 0 as well.
        less: Any = where(power == 0.0, 1.0, power - 1.0) if value is None else value - 1.0
        if value != 0.0:
            result = power * base ** (less if value is None else trace.constant(less)) * moves[0]
    if moves[1].index != zero:
        # 0 to any power is constant, but for the power 0.
        log_of_base = _log(where(base == 0.0, 1.0, base), trace)
        by_power = log_of_base * y * moves[1]
        result = by_power if result.index == zero else result + by_power
    return result


def _log(x: Symbol, trace: Trace) -> Symbol:
    return trace.apply("log", x)
