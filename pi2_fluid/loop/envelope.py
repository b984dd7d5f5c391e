"""How large a loop by the rate clock is at most, whatever its delays turn.

Every e^{-sR} is taken for any number on the unit circle. Of one class whose state does not answer
to itself or to the queue a round trip ago that is |L| itself; what is bounded falls without the
turns of the loop, so that a few frequencies for each decade show it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from pi2_fluid.ascending import ascending
from pi2_fluid.loop.corners import corners_of, landmarks_of
from pi2_fluid.loop.response import controller_polynomials
from pi2_fluid.loop.state_space import LinearClass, LinearLoop, once

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_PER_DECADE: Final = 24
_BEYOND: Final = 100.0  # times the fastest corner: from there on every part is its power of s
_LIMIT: Final = 1e9  # times that: where what does not fade is what it tends to
_TENDS: Final = 1e-6  # of the bound before
_BETWEEN: Final = 1.05  # of neighbours, between them


class _Table(NamedTuple):
    """Bounds over frequency, made once for a loop."""

    w: FloatArray
    """Frequencies (rad/s), rising."""
    largest: FloatArray
    """The largest bound from each of them on."""
    far: float
    """From there on every part of the loop is a power of s (rad/s)."""
    limit: float
    """What |L| tends to at high frequency: 0, as a rule."""


def loudest(loop: LinearLoop, w: float) -> float:
    """Return a bound of |L| over all frequencies from one on (rad/s), of a continuous loop."""
    table = _table(loop)
    at = float(_bound(loop, np.array([w]))[0])
    if w >= table.far:
        return max(at, table.limit)
    after = table.largest[min(int(np.searchsorted(table.w, w)), table.w.size - 1)]
    return _BETWEEN * max(at, float(after))


def quiet_from(loop: LinearLoop, level: float) -> float:
    """Return a frequency (rad/s) from which |L| is below a level; inf if there is none."""
    table = _table(loop)
    below = _BETWEEN * table.largest < level
    if below.any():
        return float(table.w[np.argmax(below)])
    if table.limit >= level:
        return np.inf
    beyond = table.far * np.geomspace(1.0, _LIMIT, 200)
    return float(beyond[np.argmax(_bound(loop, beyond) < level)])


def limit_of(loop: LinearLoop) -> float:
    """Return what |L| tends to at high frequency: 0, as a rule."""
    return _table(loop).limit


def far_end(loop: LinearLoop) -> float:
    """Return a frequency (rad/s) from which on every part of a loop is a power of s."""
    return _table(loop).far


@once
def _table(loop: LinearLoop) -> _Table:
    sizes = np.abs(corners_of(loop))
    rates = [1.0 / float(cls.rtt) for cls in loop.classes]
    slowest = min(rates)
    for cls in loop.classes:
        rates += [float(np.linalg.norm(np.atleast_2d(part), 2)) for part in (cls.a0, cls.a1)]
        rates.append(abs(float(cls.weight * cls.r)))
    near = sizes[(sizes > 0.0) & (sizes < _LIMIT * max(rates))]
    far = _BEYOND * max(*rates, float(np.max(near, initial=0.0)))
    low = min(slowest, float(np.min(near, initial=np.inf)))
    points = int(_PER_DECADE * np.log10(far / low)) + 2
    w = ascending(np.geomspace(low, far, points), landmarks_of(loop, far))
    here, there = _bound(loop, far * np.array([1.0, _LIMIT])).tolist()
    largest = np.maximum.accumulate(np.append(_bound(loop, w), here)[::-1])[::-1]
    return _Table(w, largest[:-1], far, there if there > _TENDS * here else 0.0)


def _bound(loop: LinearLoop, v: FloatArray) -> FloatArray:
    """An upper bound of |L(jv)| at each frequency; infinite where none is known."""
    s = 1j * v
    drive, feedback = np.zeros(v.shape), np.zeros(v.shape)
    for cls in loop.classes:
        from_u, from_delay = _answers(cls, v)
        ahead = 1.0 if cls.lead is None else np.abs(1.0 + cls.lead * s)
        drive = drive + np.abs(cls.weight) * ahead * from_u
        feedback = feedback + np.abs(cls.weight) * from_delay
    queue = np.abs(s - sum(cls.weight * cls.r for cls in loop.classes)) - feedback
    numerator, denominator = controller_polynomials(loop.controller, s)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Any = np.where(queue > 0.0, drive / queue, np.inf)
        found = found * np.abs(numerator / denominator)
    result: FloatArray = np.where(np.isnan(found), np.inf, found)
    return result


def _answers(cls: LinearClass, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of |c Phi b| and |c Phi (e0 + e1 e)|, Phi = (s - A0 - A1 e)^-1, |e| = 1."""
    if cls.size == 1:
        rest = np.abs(1j * v - cls.a0) - np.abs(cls.a1)
        with np.errstate(divide="ignore"):
            free: Any = np.where(rest > 0.0, 1.0 / rest, np.inf)
        # What does not drive the state, or is not driven by it, adds nothing however large that is.
        by_u, by_delay = (
            float(np.abs(cls.c) * part) for part in (np.abs(cls.b), np.abs(cls.e0) + np.abs(cls.e1))
        )
        nothing = np.zeros(v.shape)
        return free * by_u if by_u else nothing, free * by_delay if by_delay else nothing
    n = cls.size
    drives = np.stack([cls.b, cls.e0, cls.e1], axis=-1).astype(complex)
    own = 1j * v[:, None, None] * np.eye(n) - cls.a0
    now = np.linalg.solve(own, np.broadcast_to(drives, (v.size, n, 3)))
    direct: FloatArray = np.abs(np.einsum("i,kij->kj", cls.c, now))
    if np.any(cls.a1):  # (I - Phi0 A1 e)^-1 = 1 + Phi0 A1 e (I - Phi0 A1 e)^-1
        late = np.linalg.solve(own, np.broadcast_to(cls.a1.astype(complex), own.shape))
        again = np.abs(late)
        known = np.max(np.abs(np.linalg.eigvals(again)), axis=-1) < 1.0
        again[~known] = 0.0
        returned = np.linalg.solve(np.eye(n) - again, np.abs(now))
        more = np.einsum("kj,kjm->km", np.abs(np.einsum("i,kij->kj", cls.c, late)), returned)
        direct = np.where(known[:, None], direct + more, np.inf)
    return direct[:, 0], direct[:, 1] + direct[:, 2]
