"""A tape as a Python function, which is made once from its rows and then called."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from pi2_fluid import ops
from pi2_fluid.laws.rows import NAMES, Row, number_of, operands_of
from pi2_fluid.values import Number


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


#: What Python has for an operation, and what is called for the others.
_OPERATORS: Final = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "negative": "-{}",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "equal": "{} == {}",
}
_FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "divide": _divide,
    "absolute": abs,
    "and": _both,
    "or": _either,
    "not": _not,
    "where": ops.where,
    "minimum": ops.minimum,
    "maximum": ops.maximum,
    "power": _power,
    "exp": ops.exp,
    "expm1": ops.expm1,
    "log": ops.log,
    "log1p": ops.log1p,
    "sqrt": ops.sqrt,
    "cbrt": ops.cbrt,
}
#: What a comparison gives whose answer is held. Of `minimum`, its first operand if that is less.
_HELD: Final = {
    "minimum": "{0} if sides[{2}] else {1}",
    "maximum": "{1} if sides[{2}] else {0}",
    "absolute": "-{0} if sides[{1}] else {0}",
}
_NAMES_IN_SOURCE: Final = {f"_{code}": function for code, function in _FUNCTIONS.items()}


def python_function(
    argument_count: int,
    constants: Sequence[float],
    rows: Sequence[Row],
    outputs: Sequence[int],
    *,
    held: bool,
) -> Callable[..., tuple[Number, ...]]:
    """Return a function of as many numbers as are given, for floats and arrays of every kind.

    A row becomes a line of source, so that a call costs little more than its operations.

    Parameters
    ----------
    argument_count : int
        How many registers are arguments.
    constants, rows, outputs : sequence
        Of the tape.
    held : bool
        Whether the function first takes the side of each comparison.
    """
    registers = [f"x{place}" for place in range(argument_count)]
    arguments = ", ".join(["sides", *registers] if held else registers)
    registers += [repr(value) if value >= 0.0 else f"({value!r})" for value in constants]
    lines = [f"def line({arguments}):"]
    for row in rows:
        code, operands = NAMES[row[0]], [registers[place] for place in operands_of(row)]
        name = f"r{len(registers)}"
        lines.append(f"    {name} = {_expression(code, operands, number_of(row) if held else -1)}")
        registers.append(name)
    lines.append(f"    return ({''.join(f'{registers[place]}, ' for place in outputs)})")
    names: dict[str, Any] = {**_NAMES_IN_SOURCE, "inf": math.inf, "nan": math.nan}
    exec("\n".join(lines), names)
    function: Callable[..., tuple[Number, ...]] = names["line"]
    return function


def _expression(code: str, operands: Sequence[str], side: int) -> str:
    if side >= 0:
        return _HELD.get(code, "bool(sides[{2}])").format(*operands, side)
    if code in _OPERATORS:
        return _OPERATORS[code].format(*operands)
    return f"_{code}({', '.join(operands)})"
