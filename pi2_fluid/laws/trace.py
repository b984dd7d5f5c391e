"""A law called with symbols: what it does with them is kept, operation by operation.

A symbol takes part in ``+ - * / **``, comparisons and what `pi2_fluid.ops` has, and writes down
each in its `Trace`. Where a law asks a symbol whether it is true (``if w > 10``), it is called once
more for the other answer, and `where` joins what came of both. `pi2_fluid.laws.tape` makes a tape
of a trace.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np

from pi2_fluid.errors import QuantityError, UnsupportedError, show_value

#: What an operation with a symbol takes on its other side.
Operand: TypeAlias = "Symbol | float"

#: What a law may do, with the number of its operands. The order is that of the codes in C.
OPERATIONS: Final = {
    "add": 2,
    "subtract": 2,
    "multiply": 2,
    "divide": 2,
    "negative": 1,
    "absolute": 1,
    "less": 2,
    "less_equal": 2,
    "equal": 2,
    "and": 2,
    "or": 2,
    "not": 1,
    "where": 3,
    "minimum": 2,
    "maximum": 2,
    "power": 2,
    "exp": 1,
    "expm1": 1,
    "log": 1,
    "log1p": 1,
    "sqrt": 1,
    "cbrt": 1,
}

_MOST_PATHS: Final = 256  # ways through the branches of one law; each is a call
_TRUTHS: Final = {"less", "less_equal", "equal", "and", "or", "not"}


class TraceError(UnsupportedError, TypeError):
    """What a law does cannot be written down as operations on numbers."""


class TextError(QuantityError):
    """A law gives text where a number is to be, so that nothing can run it."""


class Operation(NamedTuple):
    """One step of a trace."""

    code: str
    """Of `OPERATIONS`; or "input", or "constant"."""
    operands: tuple[int, ...] = ()
    """Numbers of earlier operations."""
    of: str = ""
    """The name of an input; a constant in hexadecimal, so that it is kept to the last bit."""


class Trace:
    """Operations in the order in which a law came to them, none of them twice."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._known: dict[Operation, Symbol] = {}
        self._answers: list[tuple[int, bool]] = []
        self._taken: list[tuple[int, bool]] = []

    def add(self, operation: Operation) -> Symbol:
        """Return the symbol of an operation, a known one if there is one."""
        symbol = self._known.get(operation)
        if symbol is None:
            symbol = self._known[operation] = Symbol(self, len(self.operations))
            self.operations.append(operation)
        return symbol

    def input(self, name: str) -> Symbol:
        """Return the symbol of what is given from outside."""
        return self.add(Operation("input", of=name))

    def constant(self, value: object) -> Symbol:
        """Return the symbol of a number.

        Raises
        ------
        TraceError
            If it is none.
        """
        if isinstance(value, Symbol):
            return value
        if isinstance(value, (str, bytes)):
            raise TextError(
                f"it computes with {show_value(value)}, which is text and no number: return and use"
                " numbers."
            )
        if not isinstance(value, (numbers.Real, np.bool_)):
            raise TraceError(
                f"a law computes with a {type(value).__name__}, which is no number: use numbers,"
                " + - * / ** and pi2_fluid.ops."
            )
        return self.add(Operation("constant", of=float(value).hex()))

    def apply(self, code: str, *operands: object) -> Symbol:
        """Return the symbol of one operation on symbols and numbers."""
        return self.add(Operation(code, tuple(self.constant(value).index for value in operands)))

    def value(self, index: int) -> float | None:
        """Return the number that an operation is, None if it is no constant."""
        operation = self.operations[index]
        return float.fromhex(operation.of) if operation.code == "constant" else None

    def decide(self, index: int) -> bool:
        """Return the answer to be followed on this path where a law branches."""
        for asked, answer in self._taken:
            if asked == index:
                return answer
        place = len(self._taken)
        if place == _MOST_PATHS:  # of a loop that asks again and again
            raise _too_many()
        answer = self._answers[place][1] if place < len(self._answers) else True
        self._taken.append((index, answer))
        return answer

    def explore(self, call: Callable[[], Sequence[object]]) -> list[Symbol]:
        """Return what a call gives, by all ways through its branches.

        Raises
        ------
        TraceError
            If there are too many, or if they give different numbers of results.
        """
        self._paths = 0
        return self._explore(call, [])

    def _explore(
        self, call: Callable[[], Sequence[object]], answers: list[tuple[int, bool]]
    ) -> list[Symbol]:
        self._paths += 1
        if self._paths > _MOST_PATHS:
            raise _too_many()
        self._answers, self._taken = answers, []
        results = [self.constant(value) for value in call()]
        taken = self._taken
        for depth in range(len(taken) - 1, len(answers) - 1, -1):
            others = self._explore(call, [*taken[:depth], (taken[depth][0], False)])
            if len(others) != len(results):
                raise TraceError(
                    f"a law returns {len(results)} numbers or {len(others)}, as it branches:"
                    " return as many on every way."
                )
            condition = Symbol(self, taken[depth][0])
            pairs = zip(results, others, strict=True)
            results = [where(condition, yes, no) for yes, no in pairs]
        return results


def record(function: Callable[..., object], names: Sequence[str]) -> tuple[Trace, list[Symbol]]:
    """Call a function once with symbols of these names.

    Parameters
    ----------
    function : callable
        Returns a number, or a tuple of numbers and of tuples of them.
    names : sequence of str
        One for each argument.

    Returns
    -------
    trace : Trace
        What it did.
    results : list of Symbol
        What it returned, without the nesting.

    Raises
    ------
    TraceError
        If it does what cannot be written down.

    Examples
    --------
    >>> trace, (slope,) = record(lambda w, p: 1.0 - 0.5 * w * p, ["w", "p"])
    >>> [operation.code for operation in trace.operations]
    ['input', 'input', 'constant', 'multiply', 'multiply', 'constant', 'subtract']
    """
    trace = Trace()
    symbols = [trace.input(name) for name in names]
    return trace, trace.explore(lambda: flat(function(*symbols)))


def _too_many() -> TraceError:
    return TraceError(f"a law branches in more than {_MOST_PATHS} ways: use pi2_fluid.ops.where.")


def flat(value: object) -> list[object]:
    """Return the numbers of nested tuples and lists, in their order."""
    if isinstance(value, (tuple, list)):
        return [number for part in value for number in flat(part)]
    return [value]


class Symbol:
    """A number that is not known yet."""

    __slots__ = ("index", "trace")

    #: Where `pi2_fluid.ops` finds its functions for such numbers.
    library: ClassVar = sys.modules[__name__]

    def __init__(self, trace: Trace, index: int) -> None:
        self.trace, self.index = trace, index

    def __repr__(self) -> str:
        operation = self.trace.operations[self.index]
        return f"<{operation.of or operation.code} {self.index}>"

    def __hash__(self) -> int:
        return hash((id(self.trace), self.index))

    def __bool__(self) -> bool:
        if self.trace.operations[self.index].code in _TRUTHS:
            return self.trace.decide(self.index)
        return not self.trace.decide(self.trace.apply("equal", self, 0.0).index)

    def _no_number(self, *_: object) -> NoReturn:
        raise TraceError(
            "a law asks for the value of a number that it is to compute with, as float() and math"
            " do: use + - * / ** and pi2_fluid.ops."
        )

    __float__ = __int__ = __index__ = __complex__ = __array__ = _no_number
    __iter__ = __len__ = __round__ = __floor__ = __ceil__ = __trunc__ = _no_number

    def _with(self, code: str, other: object, *, swapped: bool = False) -> Symbol:
        if not isinstance(other, (Symbol, numbers.Real, np.bool_)):
            return NotImplemented  # type: ignore[no-any-return]  # so that Python tries the other
        return self.trace.apply(code, *((other, self) if swapped else (self, other)))

    def __add__(self, other: Operand) -> Symbol:
        return self._with("add", other)

    def __radd__(self, other: Operand) -> Symbol:
        return self._with("add", other, swapped=True)

    def __sub__(self, other: Operand) -> Symbol:
        return self._with("subtract", other)

    def __rsub__(self, other: Operand) -> Symbol:
        return self._with("subtract", other, swapped=True)

    def __mul__(self, other: Operand) -> Symbol:
        return self._with("multiply", other)

    def __rmul__(self, other: Operand) -> Symbol:
        return self._with("multiply", other, swapped=True)

    def __truediv__(self, other: Operand) -> Symbol:
        return self._with("divide", other)

    def __rtruediv__(self, other: Operand) -> Symbol:
        return self._with("divide", other, swapped=True)

    def __pow__(self, other: Operand) -> Symbol:
        if isinstance(other, (float, int)) and other == 2:
            return self * self  # what a power of two is to the last bit
        return self._with("power", other)

    def __rpow__(self, other: Operand) -> Symbol:
        return self._with("power", other, swapped=True)

    def __neg__(self) -> Symbol:
        return self.trace.apply("negative", self)

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return self.trace.apply("absolute", self)

    def __lt__(self, other: Operand) -> Symbol:
        return self._with("less", other)

    def __le__(self, other: Operand) -> Symbol:
        return self._with("less_equal", other)

    def __gt__(self, other: Operand) -> Symbol:
        return self._with("less", other, swapped=True)

    def __ge__(self, other: Operand) -> Symbol:
        return self._with("less_equal", other, swapped=True)

    def __eq__(self, other: object) -> Symbol:  # type: ignore[override]
        return self._with("equal", other)

    def __ne__(self, other: object) -> Symbol:  # type: ignore[override]
        return ~self._with("equal", other)

    def __and__(self, other: Operand) -> Symbol:
        return self._with("and", other)

    def __or__(self, other: Operand) -> Symbol:
        return self._with("or", other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Symbol:
        return self.trace.apply("not", self)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *operands: object, **options: object
    ) -> Symbol:
        code = _UFUNCS.get(ufunc.__name__)
        if code is None or method != "__call__" or options:
            return NotImplemented  # type: ignore[no-any-return]
        swapped = {"greater", "greater_equal"}
        return self.trace.apply(code, *(operands[::-1] if ufunc.__name__ in swapped else operands))

    def __array_function__(
        self,
        function: Callable[..., object],
        types: object,
        args: Sequence[object],
        options: dict[str, object],
    ) -> Symbol:
        if function is np.where and len(args) == 3 and not options:
            return where(*args)
        if function is np.clip and len(args) == 3 and not options:
            return minimum(maximum(args[0], args[1]), args[2])
        return NotImplemented  # type: ignore[no-any-return]


#: What NumPy calls what a trace has.
_UFUNCS: Final = {
    **{code: code for code in OPERATIONS if code not in {"where", "and", "or", "not"}},
    "logical_and": "and",
    "logical_or": "or",
    "logical_not": "not",
    "bitwise_and": "and",
    "bitwise_or": "or",
    "invert": "not",
    "true_divide": "divide",
    "greater": "less",
    "greater_equal": "less_equal",
    "float_power": "power",
}


def _trace_of(*values: object) -> Trace:
    return next(value.trace for value in values if isinstance(value, Symbol))


def where(condition: object, if_true: object, if_false: object) -> Symbol:
    """Elementwise choice."""
    trace = _trace_of(condition, if_true, if_false)
    yes, no = trace.constant(if_true), trace.constant(if_false)
    return yes if yes.index == no.index else trace.apply("where", condition, yes, no)


def minimum(a: object, b: object) -> Symbol:
    """Elementwise smaller value."""
    return _trace_of(a, b).apply("minimum", a, b)


def maximum(a: object, b: object) -> Symbol:
    """Elementwise larger value."""
    return _trace_of(a, b).apply("maximum", a, b)


def _elementary(code: str) -> Callable[[Symbol], Symbol]:
    def apply(x: Symbol) -> Symbol:
        return x.trace.apply(code, x)

    return apply


exp, expm1, log = _elementary("exp"), _elementary("expm1"), _elementary("log")
log1p, sqrt, cbrt = _elementary("log1p"), _elementary("sqrt"), _elementary("cbrt")
