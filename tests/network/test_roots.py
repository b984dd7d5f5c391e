"""The root finder of rests, beside SciPy's, which has another method of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq, elementwise

from pi2_fluid.network.roots import root_between

FUNCTIONS = {
    "line": lambda x: 3.0 - 2.0 * x,
    "cube": lambda x: -((x - 1.0) ** 3),  # flat where it is 0
    "step": lambda x: math.copysign(1.0, 0.7 - x),
    "steep": lambda x: math.exp(40.0 * (1.2 - x)) - 1.0,
    "late": lambda x: 1.0 if x < 4.9999 else -1e-9,
    "zero at 0": lambda x: -(x**5),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_finds_what_scipy_finds(name: str) -> None:
    """Where a function is flat or jumps, each to where its own values change their sign."""
    function = FUNCTIONS[name]
    found = root_between(function, -1.0, 5.0)
    assert found is not None
    assert function(found - 1e-5) > 0.0 > function(found + 1e-5)
    if name in {"line", "steep", "step"}:
        assert found == pytest.approx(brentq(function, -1.0, 5.0, xtol=1e-15), rel=4e-16)


def test_it_asks_about_as_often_as_the_same_method_of_scipy() -> None:
    calls: list[float] = []

    def steep(x: float) -> float:
        calls.append(x)
        return math.exp(40.0 * (1.2 - x)) - 1.0

    root_between(steep, -1.0, 5.0)
    theirs = elementwise.find_root(lambda x: np.exp(40.0 * (1.2 - x)) - 1.0, (-1.0, 5.0))
    assert len(calls) <= int(theirs.nfev) + 1


@pytest.mark.parametrize(
    "function",
    [
        lambda _: 1.0,
        lambda _: -1.0,
        lambda _: math.nan,
        lambda _: -math.inf,
        lambda x: x * math.nan,
    ],
)
def test_none_is_none(function) -> None:
    assert root_between(function, -1.0, 5.0) is None


def test_an_end_may_be_infinite_or_the_root() -> None:
    """Of thinned traffic nothing is left at p = 1, of which the logarithm is infinite."""
    end = root_between(lambda x: math.log1p(-x) + 0.5 if x < 1.0 else -math.inf, 0.0, 1.0)
    assert end == pytest.approx(1.0 - math.exp(-0.5), rel=1e-15)
    assert root_between(lambda x: x, 0.0, 1.0) == 0.0
    assert root_between(lambda x: 1.0 - x, 0.0, 1.0) == 1.0


def test_values_so_small_that_their_product_is_none_count() -> None:
    assert root_between(lambda x: 1e-200 * (0.25 - x), 0.0, 1.0) == pytest.approx(0.25, rel=1e-15)
