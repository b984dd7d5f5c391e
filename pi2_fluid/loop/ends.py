"""From which frequency to which a loop's curve has to be followed."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import SolverError
from pi2_fluid.loop import envelope
from pi2_fluid.loop.response import Asymptote, controller_polynomials, held_polynomials
from pi2_fluid.loop.state_space import AnyLoop, LinearController, LinearLoop
from pi2_fluid.loop.updates import highest_frequency, longest_delay

if TYPE_CHECKING:
    from pi2_fluid.values import Curve

_LOWEST: Final = 1e-25  # rad/s per rad/s of the loop's slowest scale: where the search gives up
_BELOW: Final = 100.0  # as far below the slowest corner the phase is its asymptote
_SETTLED: Final = 0.02  # rad
_LARGE: Final = 2.0
_COSTLY: Final = 1e4  # rad of the longest delay, from which on a better bound is looked for


def low_end(response: Curve, start: float, asymptote: Asymptote, slowest: float) -> float:
    """Return a frequency (rad/s) below which L keeps to its asymptote.

    With an integrator it is above 2 there in size, without on the side of 1 where it stays. A phase
    that is a full turn away looks the same: on the way to below the slowest corner it must be left
    nowhere.

    Parameters
    ----------
    response : callable
        L(jw).
    start : float
        The highest frequency (rad/s) that is asked for, times 100.
    asymptote : Asymptote
        Of one loop.
    slowest : float
        Its slowest corner (rad/s).
    """
    order, angle = int(asymptote.order), float(asymptote.angle)
    w, found = start / 100, np.inf
    while w > start * _LOWEST:
        value = response(np.array([w]))[0]
        size = abs(value)
        settled = abs(np.angle(value * np.exp(-1j * angle))) < _SETTLED
        if order == 0:  # no |L| = 1 below
            settled &= (size > 1.0) == (abs(float(asymptote.value)) > 1.0)
        else:
            settled &= size > _LARGE if order > 0 else size * _LARGE < 1.0
        found = (w if np.isinf(found) else found) if settled else np.inf
        if settled and w * _BELOW <= slowest:
            return found
        w /= 4.0
    raise SolverError(
        f"the loop's phase does not settle down to {w:.3g} rad/s, {1.0 / slowest:.3g} s being its"
        " slowest time constant: check the rates of its laws."
    )


def fading_end(loop: AnyLoop, update: str, level: float) -> float:
    """Return a frequency above which |L| < level for certain; pi/T if there is none below.

    Raises
    ------
    SolverError
        If it does not fall so far.
    """
    top = highest_frequency(loop, update)
    w, end = 1.0 / min(float(cls.rtt) for cls in loop.classes), np.inf
    for _ in range(200):
        if w >= top or _rough_bound(loop, update, w) < level:
            end = min(w, top)
            break
        w *= 1.5
    if (
        isinstance(loop, LinearLoop)
        and end * longest_delay(loop, update) > _COSTLY
        and np.isinf(top)
    ):
        end = min(end, envelope.quiet_from(loop, level))
    if np.isfinite(end):
        return end
    raise SolverError(
        f"the loop's gain does not fall below {level:.4g} at high frequency, but tends to"
        f" {high_limit(loop, update):.4g}, with which behind a delay modes grow without end: lower"
        " the gains, or check the laws."
    )


def gain_bound(loop: AnyLoop, update: str, w: float) -> float:
    """Return an upper bound of |L(jv)| over all v >= w (infinite while w is too low for it).

    For a sampled loop, over w <= v <= pi/T: a bound of |G(jx)| that falls at least like x^-2 makes
    the aliases add at most 2 (1 + 3^-3 + 5^-3 + ...) < 2.11 times the direct term. If it falls
    like x^-1, as with a lead, they add at most 2 (1 + 3^-2 + 5^-2 + ...) = pi^2/4 times.
    """
    found = _rough_bound(loop, update, w)
    if np.isinf(found) and update != "sampled" and isinstance(loop, LinearLoop):
        return envelope.loudest(loop, w)
    return found


def _rough_bound(loop: AnyLoop, update: str, w: float) -> float:
    """The same from norms of the laws' matrices alone; infinite below the fastest of these."""
    plant, falls = plant_bound(loop, w)
    if not np.isfinite(plant):
        return np.inf
    if update != "sampled":
        if not _fades(loop.controller):
            return np.inf
        numerator, denominator = controller_polynomials(
            loop.controller, 1j * np.geomspace(w, 1e6 * w, 200)
        )
        return 1.05 * float(np.max(np.abs(numerator / denominator))) * plant
    s = 1j * np.linspace(w, highest_frequency(loop, update), 200)
    T = float(loop.controller.interval)
    numerator, denominator = held_polynomials(loop.controller, s)
    held = 1.05 * float(np.max(np.abs(numerator / denominator * np.expm1(-s * T)))) / T
    aliases = 2.11 if falls == 2 else np.pi**2 / 4
    return held * (1.0 + aliases) * plant / w


def _fades(controller: LinearController) -> bool:
    """Whether it does not rise with s without end."""
    top, bottom, _ = controller.continuous_image
    return len(top) <= len(bottom)


def high_limit(loop: AnyLoop, update: str) -> float:
    """Return what |L| tends to at high frequency: 0, as a rule."""
    if update == "sampled" or not isinstance(loop, LinearLoop):
        return 0.0
    return envelope.limit_of(loop)


def far_end(loop: AnyLoop, update: str) -> float:
    """Return a frequency (rad/s) from which on L keeps to what it tends to; inf if not known."""
    if update == "sampled" or not isinstance(loop, LinearLoop):
        return np.inf
    return envelope.far_end(loop)


@singledispatch
def plant_bound(loop: AnyLoop, w: float) -> tuple[float, int]:
    """Return an upper bound of |G(jv)| over v >= w, and the power of 1/v with which it falls."""
    raise NotImplementedError(type(loop).__name__)


@plant_bound.register(LinearLoop)
def _of_rates(loop: LinearLoop, w: float) -> tuple[float, int]:
    falls = 2 if all(cls.lead is None for cls in loop.classes) else 1
    drive, feedback = 0.0, 0.0
    for cls in loop.classes:
        rest = w - float(np.linalg.norm(np.atleast_2d(cls.a0), 2))
        rest -= float(np.linalg.norm(np.atleast_2d(cls.a1), 2))
        if rest <= 0.0:
            return np.inf, falls
        gain = abs(float(cls.weight)) * float(np.linalg.norm(np.atleast_1d(cls.c))) / rest
        ahead = 0.0 if cls.lead is None else abs(float(cls.lead)) * w
        drive += gain * (1.0 + ahead) * float(np.linalg.norm(np.atleast_1d(cls.b)))
        coupling = np.linalg.norm(np.atleast_1d(cls.e0)) + np.linalg.norm(np.atleast_1d(cls.e1))
        feedback += abs(float(cls.weight * cls.r)) + gain * float(coupling)
    return (drive / (w - feedback) if w > feedback else np.inf), falls
