"""The plant by the ack clock as compiled code takes it: window laws as ratios of polynomials.

With A the growth by the state, c the cut by it, e0 the window among the states and P a reduction,
a window law is (s - A + P e0 c) x = (g - P e0 k) u. By Cramer's rule e0 x is linear in P above and
below: the polynomials of a class, over W,

    own = det + P c adj e0,    signal = e0 adj g + P [(e0 adj g c adj e0 - e0 adj e0 c adj g)/det
                                                      - k e0 adj e0],

det and adj being those of s - A. `pi2_fluid.loop.acks.plant` gives the same of arrays, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.loop.acks.plant import SMOOTHING, AckClass, AckLoop, delay_response
from pi2_fluid.loop.polynomials import resolvent
from pi2_fluid.loop.response import plant_response
from pi2_fluid.loop.state_space import once

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

__all__ = ["compiled_plant"]

_MOST_STATES: Final = 4


@plant_response.register(AckLoop)
def _of_acks(loop: AckLoop, s: ComplexArray) -> ComplexArray:
    plant = compiled_plant(loop)
    if plant is None:
        return delay_response(loop, s)
    at = np.asarray(s, dtype=np.complex128)
    return plant.at(at.ravel()).reshape(at.shape)


@once
def compiled_plant(loop: AckLoop) -> _core.AckPlant | None:
    """Return the compiled plant of one loop whose classes have few states each, made once.

    None where flows pause, or a cut is late, which it does not know.
    """
    unknown = any(
        cls.size > _MOST_STATES or cls.late or cls.pauses is not None for cls in loop.classes
    )
    if loop.shape or unknown:
        return None
    return _core.AckPlant(
        [_describe(cls) for cls in loop.classes],
        queue_delay=float(loop.queue_delay),
        bunch=loop.bunch,
        head=loop.measures == "head",
    )


def _describe(cls: AckClass) -> dict[str, Any]:
    """Numbers of a class by the names of `pi2_ack_class`."""
    falling, matrices = resolvent(cls.growth_by_state)
    det, adjugate = np.array(falling[::-1]), np.array(matrices[::-1])
    cut, window = cls.cut_by_state, float(cls.window)
    from_window = adjugate[:, :, 0]

    def answer(growth: FloatArray, now: FloatArray) -> tuple[list[float], list[float]]:
        from_growth = adjugate @ growth
        cross = np.convolve(from_growth[:, 0], from_window @ cut)
        cross -= np.convolve(from_window[:, 0], from_growth @ cut)
        reduced = -float(now) * from_window[:, 0]
        shared = _quotient(cross, det)
        reduced[: shared.size] += shared
        return from_growth[:, 0].tolist(), reduced.tolist()

    signal, signal_reduced = answer(cls.growth_by_signal, cls.cut_by_signal)
    acks, acks_reduced = [0.0], [0.0]
    if cls.follows_acks:
        acks, acks_reduced = answer(cls.growth_by_acks, cls.cut_by_acks)
    numbers = {name: float(getattr(cls, name)) for name in ("base_rtt", "rtt", "heard", "share")}
    return numbers | {
        "own": (window * det).tolist(),
        "own_reduced": (window * (from_window @ cut)).tolist(),
        "signal": signal,
        "signal_reduced": signal_reduced,
        "acks": acks,
        "acks_reduced": acks_reduced,
        "smoothing": SMOOTHING * numbers["rtt"],
        "waits": cls.waits,
        "reduces": cls.prr,
        "paced": cls.paced,
    }


def _quotient(dividend: FloatArray, divisor: FloatArray) -> FloatArray:
    """A polynomial over one that divides it, with leading coefficient 1; both rising."""
    rest = dividend.copy()
    degree = divisor.size - 1
    found = np.zeros(max(rest.size - degree, 0))
    for power in range(found.size - 1, -1, -1):
        found[power] = rest[power + degree]
        rest[power : power + degree + 1] -= found[power] * divisor
    return found
