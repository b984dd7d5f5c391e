"""Beyond which frequency no eigenvalue of L is large any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.loop.matrix.response import passed_on
from pi2_fluid.loop.matrix.system import MatrixLoop, most_passed
from pi2_fluid.loop.response import controller_polynomials
from pi2_fluid.loop.state_space import once

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_SAMPLES: Final = 2000
_BEYOND_SAMPLES: Final = 1.5


def response_bound(loop: MatrixLoop, w: float) -> FloatArray:
    """Return upper bounds of |L_lm(jv)| over all v >= w; infinite while w is too low for them.

    Entry by entry, with matrices of absolute values: X = s (I + F) - K, so that
    |X^-1| <= (I - G |K|/w)^-1 G/w with G >= |(I + F)^-1|; without s and w where nothing waits.
    """
    fastest, driven, coupled, at_once, passes = sizes_of(loop)
    rest = w - fastest
    if np.any(rest <= 0.0):
        return np.full((len(loop.signals),) * 2, np.inf)
    from_signal, from_delay = driven / rest + np.abs(loop.feeds), at_once + coupled / rest
    feedback = passes @ (loop.weight.T @ (from_delay[:, None] * loop.delayed))
    feedback[:, loop.waits] /= w
    if np.max(np.abs(np.linalg.eigvals(feedback))) >= 1.0:
        return np.full((len(loop.signals),) * 2, np.inf)
    drive = passes @ (loop.weight.T @ (from_signal[:, None] * np.abs(loop.slopes)))
    solved: Any = np.linalg.solve(np.eye(len(passes)) - feedback, drive)
    # s tau is solved for where a queue waits, and what arrives elsewhere.
    solved[loop.waits] /= w
    plant: FloatArray = loop.acted_on @ solved
    s = 1j * np.geomspace(w, 1e6 * w, 200)
    for column, controller in enumerate(loop.controllers):
        numerator, denominator = controller_polynomials(controller, s)
        plant[:, column] *= (
            1.05 * loop.units[column] * float(np.max(np.abs(numerator / denominator)))
        )
    return plant


class Sizes(NamedTuple):
    """Norms of the parts of each class, and how much queues may amplify."""

    fastest: FloatArray
    """Of A0 and A1 together (1/s)."""
    driven: FloatArray
    """Of c and b."""
    coupled: FloatArray
    """Of c, and of e0 and e1 together."""
    at_once: FloatArray
    """Of r."""
    passes: FloatArray
    """Of (I + F)^-1, (queues, queues)."""


@once
def sizes_of(loop: MatrixLoop) -> Sizes:
    """Return the norms of a loop's parts."""
    rows = []
    for cls in loop.classes:
        if cls.size == 1:  # whose norms are sizes, which NumPy's take ten times as long to say
            c = abs(float(cls.c))
            fastest = abs(float(cls.a0)) + abs(float(cls.a1))
            felt = abs(float(cls.e0)) + abs(float(cls.e1))
            rows.append((fastest, c * abs(float(cls.b)), c * felt, abs(float(cls.r))))
            continue
        fastest = sum(float(np.linalg.norm(np.atleast_2d(a), 2)) for a in (cls.a0, cls.a1))
        c, b, e0, e1, r = (
            float(np.linalg.norm(np.ravel(part))) for part in (cls.c, cls.b, cls.e0, cls.e1, cls.r)
        )
        rows.append((fastest, c * b, c * (e0 + e1), r))
    fastest, driven, coupled, at_once = np.array(rows).T
    return Sizes(fastest, driven, coupled, at_once, _passing_bound(loop))


def _passing_bound(loop: MatrixLoop) -> FloatArray:
    """Bounds of |(I + F)^-1|: the sum of powers of |F|, finite without a ring and mostly with one.

    Else the largest values on many frequencies, and half as much again.
    """
    most, queues = most_passed(loop), len(loop.capacity)
    if np.max(np.abs(np.linalg.eigvals(most))) < 0.9:
        return np.asarray(np.linalg.inv(np.eye(queues) - most), float)
    shortest = min(float(np.min(passing.delays)) for passing in loop.passings)
    s = 1j * np.linspace(0.0, 100.0 / shortest, _SAMPLES)
    largest: FloatArray = np.max(np.abs(np.linalg.inv(passed_on(loop, s))), axis=0)
    return _BEYOND_SAMPLES * largest
