"""The plant by acknowledgements as compiled code takes it: window laws as ratios of polynomials.

With A the growth by the state, c the cut by it, e0 the window among the states and P a reduction,
a window law is (s - A + P e0 c) x = (g - P e0 k) u. By Cramer's rule e0 x is linear in P above and
below: the polynomials of a class, over W,

    own = det + P c adj e0,    signal = e0 adj g + P [(e0 adj g c adj e0 - e0 adj e0 c adj g)/det
                                                      - k e0 adj e0],

det and adj being those of s - A. `pi2_fluid.loop.acks.plant` has the same in NumPy, of any classes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from pi2_fluid import _core
from pi2_fluid.loop.acks.plant import SMOOTHING, AckClass, AckLoop, delay_response
from pi2_fluid.loop.polynomials import resolvent
from pi2_fluid.loop.response import plant_response
from pi2_fluid.loop.state_space import once

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

_MOST_STATES: Final = 4


class Whole(Protocol):
    """From an array and the lengths of its last axes to one with a row for each loop."""

    def __call__(self, value: FloatArray, *trailing: int) -> FloatArray:
        """Return it."""


@plant_response.register(AckLoop)
def _of_acks(loop: AckLoop, s: ComplexArray) -> ComplexArray:
    plants = None if loop.shape else compiled_plants(loop)
    if plants is None:
        return delay_response(loop, s)
    at = np.asarray(s, dtype=np.complex128)
    return plants[0].at(at.ravel()).reshape(at.shape)


@once
def compiled_plants(loop: AckLoop) -> list[_core.AckPlant] | None:
    """Return the compiled plants of loops whose classes have few states each, made once.

    In the order of the array. None where flows pause, or a cut is late, which they do not know.
    """
    if not all(known(cls) for cls in loop.classes):
        return None
    each = [_describe(cls, loop.shape) for cls in loop.classes]
    queue_delay = np.broadcast_to(loop.queue_delay, loop.shape).ravel().tolist()
    return [
        _core.AckPlant(
            [described[index] for described in each],
            queue_delay=queue_delay[index],
            bunch=loop.bunch,
            head=loop.measures == "head",
        )
        for index in range(math.prod(loop.shape))
    ]


def known(cls: AckClass) -> bool:
    """Return whether compiled code knows such a class."""
    return cls.size <= _MOST_STATES and not cls.late and cls.pauses is None


def _describe(cls: AckClass, shape: tuple[int, ...]) -> list[dict[str, Any]]:
    """Numbers of a class by the names of `pi2_ack_class`, of each loop of an array."""

    def whole(value: FloatArray, *trailing: int) -> FloatArray:
        return np.broadcast_to(value, shape + trailing).reshape(-1, *trailing)

    columns, alike = numbers_of(cls, whole), kind_of(cls)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) | alike for row in rows]


def kind_of(cls: AckClass) -> dict[str, bool]:
    """Return what all loops have in common of a class, by the names of `pi2_ack_class`."""
    return {"waits": cls.waits, "reduces": cls.prr, "paced": cls.paced}


def numbers_of(cls: AckClass, whole: Whole) -> dict[str, FloatArray]:
    """Return the numbers of a class by the names of `pi2_ack_class`, a row for each loop.

    Parameters
    ----------
    cls : AckClass
        Of four states at most.
    whole : callable
        From an array and the lengths of its last axes to one with a row for each loop.
    """
    columns = {name: whole(getattr(cls, name)) for name in ("base_rtt", "rtt", "heard", "share")}
    columns["smoothing"] = SMOOTHING * columns["rtt"]
    return columns | (_law_of_one_state(cls, whole) if cls.size == 1 else _law(cls, whole))


def _law_of_one_state(cls: AckClass, whole: Whole) -> dict[str, FloatArray]:
    """The same as `_law` of a window alone, which takes a tenth of the time."""
    window = whole(cls.window)[:, None]
    acks = acks_reduced = np.zeros_like(window)
    if cls.follows_acks:
        acks, acks_reduced = whole(cls.growth_by_acks, 1), -whole(cls.cut_by_acks)[:, None]
    own = -window * whole(cls.growth_by_state, 1, 1)[:, 0]
    return {
        "own": np.concatenate([own, window], axis=1),
        "own_reduced": window * whole(cls.cut_by_state, 1),
        "signal": whole(cls.growth_by_signal, 1),
        "signal_reduced": -whole(cls.cut_by_signal)[:, None],
        "acks": acks,
        "acks_reduced": acks_reduced,
    }


def _law(cls: AckClass, whole: Whole) -> dict[str, FloatArray]:
    """The polynomials of a window law, rising, by rows."""
    size = cls.size
    falling, matrices = resolvent(whole(cls.growth_by_state, size, size))
    det, adjugate = np.stack(falling[::-1], axis=-1), np.stack(matrices[::-1], axis=-3)
    cut, window = whole(cls.cut_by_state, size)[:, None, :], whole(cls.window)[:, None]
    from_window = adjugate[..., 0]
    window_cut = np.sum(from_window * cut, axis=-1)

    def answer(growth: FloatArray, now: FloatArray) -> tuple[FloatArray, FloatArray]:
        from_growth = np.sum(adjugate * whole(growth, size)[:, None, None, :], axis=-1)
        cross = _product(from_growth[..., 0], window_cut)
        cross -= _product(from_window[..., 0], np.sum(from_growth * cut, axis=-1))
        reduced = -whole(now)[:, None] * from_window[..., 0]
        shared = _quotient(cross, det)
        reduced[:, : shared.shape[-1]] += shared
        return from_growth[..., 0], reduced

    signal, signal_reduced = answer(cls.growth_by_signal, cls.cut_by_signal)
    acks = acks_reduced = np.zeros_like(window)
    if cls.follows_acks:
        acks, acks_reduced = answer(cls.growth_by_acks, cls.cut_by_acks)
    return {
        "own": window * det,
        "own_reduced": window * window_cut,
        "signal": signal,
        "signal_reduced": signal_reduced,
        "acks": acks,
        "acks_reduced": acks_reduced,
    }


def _product(one: FloatArray, other: FloatArray) -> FloatArray:
    """Of polynomials, row by row; both rising."""
    found = np.zeros((one.shape[0], one.shape[-1] + other.shape[-1] - 1))
    for power in range(one.shape[-1]):
        found[:, power : power + other.shape[-1]] += one[:, power, None] * other
    return found


def _quotient(dividend: FloatArray, divisor: FloatArray) -> FloatArray:
    """A polynomial over one that divides it, with leading coefficient 1; both rising, by rows."""
    rest = dividend.copy()
    degree = divisor.shape[-1] - 1
    found = np.zeros((rest.shape[0], max(rest.shape[-1] - degree, 0)))
    for power in range(found.shape[-1] - 1, -1, -1):
        found[:, power] = rest[:, power + degree]
        rest[:, power : power + degree + 1] -= found[:, power, None] * divisor
    return found
