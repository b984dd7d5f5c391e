"""Rules of differentiation: how what an operation gives moves as its operands move.

Forward accumulation (Griewank and Walther, "Evaluating Derivatives", 2008, section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pi2_fluid.laws.trace import Symbol, Trace, where


def slope_of(
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
