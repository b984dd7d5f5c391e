"""Zeros between ends: as near as asked for, in few steps, of functions of every shape."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import elementwise

from pi2_fluid.loop.zeros import zero_between, zeros_between

FUNCTIONS = {
    "a line": (lambda x: 3.0 * x - 1.0, -5.0, 7.0, 1.0 / 3.0, 6),
    "a cubic": (lambda x: x**3 - 2.0 * x - 5.0, 0.0, 3.0, 2.0945514815423265, 12),
    "a phase": (lambda x: np.arctan(1e3 * (x - 0.1)), -3.0, 4.0, 0.1, 20),
    "downwards": (lambda x: 1.0 - np.exp(x - 30.0), 0.0, 700.0, 30.0, 25),
    "a flat one": (lambda x: (x - 0.3) ** 9, -1.0, 1.5, 0.3, 120),
    "a jump": (lambda x: np.where(x < 0.7, -1.0, 2.0), 0.0, 1.0, 0.7, 60),
    "at the middle": (lambda x: x, -1.0, 1.0, 0.0, 2),
}


@pytest.mark.parametrize(
    ("function", "low", "high", "zero", "most"), FUNCTIONS.values(), ids=FUNCTIONS
)
def test_a_zero_is_found_in_so_many_steps(function, low, high, zero, most) -> None:
    asked = []

    def counted(x, number):
        asked.append(x.size)
        assert np.all((low <= x) & (x <= high))
        return function(x)

    ends = np.array([[low], [high]])
    (found,) = zeros_between(counted, *ends, *function(ends), tolerance=1e-15)
    assert found == pytest.approx(zero, abs=4e-15 * (1.0 + abs(zero)))
    assert sum(asked) <= most


def test_many_at_once_are_those_of_each_and_of_scipy(rng) -> None:
    zero, slope = rng.uniform(-1.0, 1.0, 50), rng.uniform(-9.0, 9.0, 50)

    def function(x, number):
        return np.expm1(slope[number] * (x - zero[number]))

    low, high, every = np.full(50, -2.0), np.full(50, 3.0), np.arange(50)
    values = function(low, every), function(high, every)
    found = zeros_between(function, low, high, *values, tolerance=1e-15)
    np.testing.assert_allclose(found, zero, atol=1e-14)
    for number in (0, 17, 49):
        one = slice(number, number + 1)
        (alone,) = zeros_between(
            lambda x, _, number=number: function(x, number),
            low[one], high[one], values[0][one], values[1][one], tolerance=1e-15,
        )  # fmt: skip
        assert alone == found[number]
    tolerances = {"xatol": 1e-15, "xrtol": 1e-15}
    scipys = elementwise.find_root(function, (low, high), args=(every,), tolerances=tolerances)
    np.testing.assert_allclose(found, scipys.x, atol=1e-14)


def test_none_are_none() -> None:
    nothing = np.array([])
    assert zeros_between(lambda x, n: x, *4 * (nothing,), tolerance=1e-15) == []


def test_one_alone_is_found_as_among_many() -> None:
    function, low, high, zero, _ = FUNCTIONS["a cubic"]
    ends = np.array([[low], [high]])
    (found,) = zeros_between(lambda x, _: function(x), *ends, *function(ends), tolerance=1e-15)
    assert zero_between(function, low, high, tolerance=1e-15) == found
    assert zero_between(lambda x: x - low, low, high, tolerance=1e-15) == low
    assert zero_between(lambda x: x + 0.1, 0.0, high, tolerance=1e-15) == 0.0  # of one sign
    assert found == pytest.approx(zero)
