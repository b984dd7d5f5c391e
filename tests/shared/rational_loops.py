"""Rational loops with a delay, as anybody might have one, in the form that the package's are in."""

from __future__ import annotations

from typing import Any

import numpy as np

from pi2_fluid.loop.margins import SearchedMargins
from pi2_fluid.loop.searching import search_of
from pi2_fluid.loop.state_space import LinearClass, LinearController, LinearLoop

_ONE = np.ones(())
_NONE = np.zeros(())


def rational_loop(numerator: Any, denominator: Any, delay: float, pole: float = 1.0) -> LinearLoop:
    """L(s) = numerator/denominator e^{-s delay}, coefficients in falling powers, in the controller.

    Before a plant of 1/(s + pole), which is taken back there: a class of one state with a lead.
    """
    cls = LinearClass(
        a0=-pole * _ONE, a1=_NONE, b=-_ONE, e0=_NONE, e1=_NONE, c=_ONE, r=-pole * _ONE,
        weight=_ONE, rtt=delay * _ONE, size=1, lead=_ONE / pole,
    )  # fmt: skip
    top = pole * np.polymul(numerator, [1.0, pole])
    rising = [
        tuple(np.asarray(value, float) for value in np.flip(side)) for side in (top, denominator)
    ]
    return LinearLoop((cls,), LinearController(rising[0], rising[1], None), ())


def held_loop(A: Any, b: Any, c: Any, pole: float, delay: float, interval: float) -> LinearLoop:
    """c (s - A)^-1 b e^{-s delay}/(s + pole), held for an interval; of several states."""
    n = len(b)
    none = np.zeros(n)
    cls = LinearClass(
        a0=np.array(A, float), a1=np.zeros((n, n)), b=-np.array(b, float), e0=none, e1=none,
        c=np.array(c, float), r=-pole * _ONE, weight=_ONE, rtt=delay * _ONE, size=n,
    )  # fmt: skip
    return LinearLoop((cls,), LinearController((_ONE,), (_ONE,), interval * _ONE), ())


def margins_of(loop: LinearLoop, update: str = "continuous") -> SearchedMargins:
    """Return what the search says, compiled where it can be."""
    search, this = search_of(loop, update), np.array(True)
    found = SearchedMargins(*search.margins(this).ravel().tolist())
    count = float(search.counts(this)[0])
    assert np.isnan(found.unstable) or found.unstable == count
    return found._replace(unstable=count)


def distance_of(loop: LinearLoop, update: str = "continuous") -> float:
    """Return the smallest |1 + L|."""
    return float(search_of(loop, update).distances(np.array(True))[0])
