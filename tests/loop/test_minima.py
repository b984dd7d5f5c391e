"""Minima between ends: the same points as SciPy's bounded search, of functions of every shape."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import minimize_scalar

from pi2_fluid.loop.minima import smallest_between

FUNCTIONS = {
    "a parabola": lambda x, a, b: (x - a) ** 2 + b,
    "a kink": lambda x, a, b: abs(x - a) + 0.3 * b * x,
    "two slopes": lambda x, a, b: max(x - a, 2.0 * (b - x)),
    "many minima": lambda x, a, b: math.cos(5.0 * a * x + b),
    "at an end": lambda x, a, b: math.exp(x) + 3.0 * abs(a) * x,
    "flat": lambda x, a, b: 1.0,
    "a flat minimum": lambda x, a, b: (x - a) ** 8,
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_the_steps_are_those_of_scipy(function, rng) -> None:
    for _ in range(20):
        a, b, *ends = rng.uniform(-3.0, 3.0, 4).tolist()
        low, high = sorted(ends)
        asked = []

        def counted(x, a=a, b=b, asked=asked):
            asked.append(x)
            return function(x, a, b)

        x, value = smallest_between(counted, low, high, tolerance=1e-12)
        found = minimize_scalar(
            lambda x, a=a, b=b: function(x, a, b),
            bounds=(low, high), method="bounded", options={"xatol": 1e-12},
        )  # fmt: skip
        assert (x, value, len(asked)) == (found.x, found.fun, found.nfev)
        assert all(low < point < high for point in asked)
