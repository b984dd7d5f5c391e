"""The closed loop L/(1 + L): its step response, by inversion of its transform; its bandwidth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import SolverError
from pi2_fluid.loop.crossovers import Crossings
from pi2_fluid.loop.expansion import Echo, Series, collect, expansion_of, multiply, recentre
from pi2_fluid.loop.response import held_polynomials, integrators
from pi2_fluid.loop.roots import rightmost_roots
from pi2_fluid.loop.sampled import sampled_response
from pi2_fluid.loop.state_space import AnyLoop, LinearController, LinearLoop
from pi2_fluid.loop.updates import respond
from pi2_fluid.loop.zeros import zero_between

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

_DECADES: Final = 9.0  # the wrap-around of the periodic inversion is damped to 1e-9
_REACH: Final = 400.0  # highest frequency, in 1/R: what is cut off is of the order of 1e-8
_MOST_TERMS: Final = 400_000
_MOST_UPDATES: Final = 1_000_000
_MOST_CIRCLES: Final = 20
_FEWEST: Final = 256  # updates: a circle of less is too coarse for its turns to be counted
_FIRST: Final = 0.25  # radius of the first circle that is tried, as a part of the damping
_WIDER: Final = 2.0  # of each further one; wider than need be lets rounding show
_BLOCK: Final = 2**21
_KINK: Final = 3  # order in 1/s up to which kinks are taken out of the transform
_STILL: Final = 1e-8  # of a frequency that is low already
_HALF_POWER: Final = 10.0 ** (-3.0 / 20.0)  # 3 dB, as python-control's bandwidth


def step_response(loop: AnyLoop, update: str, t: FloatArray) -> FloatArray:
    """Return the response of L/(1 + L) to a unit step at time 0.

    Parameters
    ----------
    loop : AnyLoop
        A scalar loop; not sampled, one by the rate clock.
    update : {"continuous", "delayed", "sampled"}
    t : array
        Times in seconds; 0 is returned for t <= 0.

    Raises
    ------
    SolverError
        If the times reach too far for the loop's delay, or it grows too fast to be followed.
    """
    if t.size == 0 or float(np.max(t)) <= 0.0:
        return np.zeros(t.shape)
    if update == "sampled":
        interval = float(loop.controller.interval)
        index = np.floor(np.maximum(t, 0.0) / interval * (1.0 + 1e-12)).astype(int)
        samples = sampled_step(loop, int(np.max(index)))
        if samples.size <= np.max(index):
            raise SolverError(
                f"t reaches {float(np.max(t)):.3g} s, where this loop has grown beyond all numbers:"
                " ask for shorter times."
            )
        return np.where(t >= 0.0, samples[index], 0.0)
    assert isinstance(loop, LinearLoop)
    horizon = 2.0 * float(np.max(t))
    growth = max(0.0, float(rightmost_roots(loop, update, 1)[0].real))
    shift = growth + _DECADES * np.log(10.0) / (2 * horizon)
    shortest = min(float(cls.rtt) for cls in loop.classes)
    terms = int(np.ceil(_REACH / shortest * horizon / np.pi))
    if terms > _MOST_TERMS or shift * horizon > 200.0:
        raise SolverError(
            f"t reaches {float(np.max(t)):.3g} s, too far for a loop with a round trip of"
            f" {shortest:.3g} s and growth rate {growth:.3g}/s: ask for shorter times."
        )
    s = shift + 1j * np.pi * np.arange(terms) / horizon
    value = respond(loop, s, update)
    # The first kinks, one delay or two after the step, in closed form: they decay as 1/s^3 only.
    smooth = 1.0 / shortest
    kinks = [recentre(echo, smooth, _KINK) for echo in _kinks(loop, update)]
    transform = value / (1.0 + value) / s
    for delay, orders in kinks:
        for order, gain in orders.items():
            transform = transform - gain * np.exp(-s * delay) / (s + smooth) ** order
    transform[0] /= 2
    out = np.zeros(t.shape)
    flat, result = t.ravel(), out.ravel()
    per_block = max(1, _BLOCK // terms)
    for start in range(0, flat.size, per_block):
        part = flat[start : start + per_block]
        phase = np.exp(1j * np.outer(part, s.imag))
        result[start : start + per_block] = (phase @ transform).real
    out = result.reshape(t.shape) * np.exp(shift * t) / horizon
    for delay, orders in kinks:
        late = np.maximum(t - delay, 0.0)
        for order, gain in orders.items():
            power = late ** (order - 1) / math.factorial(order - 1)
            out = out + gain * power * np.exp(-smooth * late)
    return np.where(t > 0.0, out, 0.0)


def find_bandwidth(loop: AnyLoop, update: str, crossings: Crossings) -> float:
    """Return the frequency (rad/s) at which |L/(1 + L)| first falls 3 dB below its value at 0.

    That value is 1 with an integrator in the loop. inf if it never does.

    Parameters
    ----------
    loop : LinearLoop
        A scalar loop.
    update : {"continuous", "delayed", "sampled"}
    crossings : Crossings
        The followed curve on which the frequency is bracketed.
    """
    level = _HALF_POWER
    if integrators(loop) == 0:
        still = respond(loop, _STILL * 1j * crossings.w[0], update)
        level *= float(abs(still / (1.0 + still)))

    def drop(log_w: float) -> float:
        value = respond(loop, 1j * np.exp(log_w), update)
        return float(abs(value / (1.0 + value)) - level)

    below = np.flatnonzero(np.abs(crossings.values / (1.0 + crossings.values)) < level)
    if below.size == 0:
        return np.inf
    first = int(below[0])
    if first == 0:
        return float(crossings.w[0])
    left, right = np.log(crossings.w[first - 1]), np.log(crossings.w[first])
    return float(np.exp(zero_between(drop, float(left), float(right), tolerance=1e-14)))


def _kinks(loop: LinearLoop, update: str) -> list[Echo]:
    """The terms of L/(1 + L)/s at large s up to 1/s^3: those of L/s and of -L^2/s."""
    control: Series = {(k, ()): value for k, value in enumerate(_at_infinity(loop.controller))}
    open_loop = multiply(control, expansion_of(loop), _KINK - 1)
    twice = {key: -value for key, value in multiply(open_loop, open_loop, _KINK - 1).items()}
    late = float(loop.controller.interval) / 2 if update == "delayed" else 0.0
    return collect(open_loop, loop, late, up=1) + collect(twice, loop, 2 * late, up=1)


def _at_infinity(controller: LinearController) -> list[float]:
    """The first coefficients of the controller in powers of 1/s, by long division."""
    numerator, denominator, unit = controller.continuous_image
    degree = len(denominator) - 1
    top, bottom = (
        [float(value * unit**power) for power, value in enumerate(side)]
        for side in (numerator, denominator)
    )
    top += [0.0] * (degree + 1 - len(top))
    found: list[float] = []
    for k in range(_KINK):
        rest = top[degree - k] if k <= degree else 0.0
        for j, value in enumerate(found):
            rest -= value * bottom[degree - k + j] if k - j <= degree else 0.0
        found.append(rest / bottom[degree])
    return found


def sampled_step(
    loop: AnyLoop, updates: int, *, aliases: int | None = None, farthest: float = math.inf
) -> FloatArray:
    """Return the unit step response of L_d/(1 + L_d) at updates 0, 1, ..., `updates`.

    Its z-transform is inverted along a circle outside all modes, whose wrap-around is damped away;
    along half of it, as the other half is its mirror image.

    Parameters
    ----------
    loop : LinearLoop
        A scalar loop whose controller ticks.
    updates : int
    aliases : int, optional
        As in `sampled_response`.
    farthest : float
        What grows beyond this, in absolute value, is not followed any further: the array ends with
        the update before.

    Raises
    ------
    SolverError
        If the loop grows too fast, or there are more than a million updates.
    """
    interval = float(loop.controller.interval)
    if updates > _MOST_UPDATES:
        raise SolverError(
            f"t reaches {interval * updates:.3g} s, {updates} updates of the queue, more than"
            f" {_MOST_UPDATES}: ask for shorter times."
        )
    half = max(_FEWEST, updates + 1)
    angle = 1j * np.pi * np.arange(half + 1) / half
    damping = _DECADES * math.log(10.0) / (2 * half)
    # No mode lies outside the circle that is found; from there on out the inversion is damped.
    radius = damping + _radius_of_modes(loop, angle, aliases, _FIRST * damping)
    s = (radius + angle) / interval
    value = sampled_response(loop, s, aliases)
    transform = value / (1.0 + value) / -np.expm1(-s * interval)
    damped = np.fft.irfft(transform)[: updates + 1]
    with np.errstate(over="ignore", invalid="ignore"):  # what is lost is cut off below
        response = damped * np.exp(radius * np.arange(updates + 1))
    lost = np.flatnonzero(~(np.isfinite(response) & (np.abs(response) <= farthest)))
    result: FloatArray = response[: lost[0]] if lost.size else response
    return result


def _radius_of_modes(
    loop: AnyLoop, angle: ComplexArray, aliases: int | None, radius: float
) -> float:
    """The log-radius of a circle with all modes inside."""
    interval = float(loop.controller.interval)
    for _ in range(_MOST_CIRCLES):
        s = (radius + angle) / interval
        # Modes outside the circle make the controller's denominator times 1 + L_d turn on it.
        curve = held_polynomials(loop.controller, s)[1] * (1.0 + sampled_response(loop, s, aliases))
        if round(float(np.sum(np.angle(curve[1:] / curve[:-1]))) / np.pi) == 0:
            return radius
        radius = _WIDER * radius
    raise SolverError("the loop grows too fast for its step response: lower its gains.")
