"""Rows of a tape: one operation each, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pi2_fluid.laws.trace import OPERATIONS

#: Operations whose slope, or value, jumps where their operands are the same; of "absolute", where
#: its operand is 0. Each has a side: 1 where the first is less (less or equal, equal) or negative.
COMPARING: Final = ("less", "less_equal", "equal", "minimum", "maximum", "absolute")

#: Code, and three registers. A comparison has its number in the third, "absolute" in the second.
Row = tuple[int, int, int, int]

CODES: Final = {code: number for number, code in enumerate(OPERATIONS)}
NAMES: Final = tuple(OPERATIONS)
ARITY: Final = tuple(OPERATIONS.values())
#: The codes of `COMPARING`.
BRANCHED: Final = tuple(CODES[code] for code in COMPARING)


def operands_of(row: Row) -> tuple[int, ...]:
    """Return the registers that a row reads."""
    return row[1 : 1 + ARITY[row[0]]]


def make_row(code: int, operands: Sequence[int], *rest: int) -> Row:
    """Return a row, of a comparison with its number."""
    a, b, c, *_ = (*operands, *rest, 0, 0, 0)
    return code, a, b, c


def number_of(row: Row) -> int:
    """Return the number of a comparison, -1 if it has none."""
    return row[1 + ARITY[row[0]]] if row[0] in BRANCHED else -1
