"""The fast path: both margins of the loops (35)-(37) by two monotone scalar roots.

In v = wR the loop has only four parameters,

    L = m (a + j c v) e^{-jkv} / ( jv (1 + jv) (jv + mu h) ),     h = 1 + e^{-jv} or e^{-jv},

a = alpha R^2/T, c = (beta + alpha/2) R, mu = 1/W0, and k = 1, or 1 + T/(2R) with the half-sample
delay. For mu <= 0.7072 (Reno) or 0.5 (Scalable) and frozen RTT terms, |L| falls strictly with v, so
there is one gain crossover; and for k = 1 the continuous phase passes -180 degrees once in (0, pi).
Both are proved in docs/proofs.md (the first with the help of a computer); for k > 1 the second is
only tested, against the search for all crossovers. mu = 0, the limit of no load, is a regular
point.

The same source runs on NumPy and JAX: `xp` is the array namespace.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.ops import namespace
from pi2_fluid.records.labels import align_labels, relabel
from pi2_fluid.units import broadcast_shape, is_traced, validate_choice, validate_quantity

if TYPE_CHECKING:
    from types import ModuleType

    from numpy.typing import ArrayLike

    from pi2_fluid.values import FloatArray, Number, Quantity

#: A function that falls through zero: its value and its slope.
_Falling: TypeAlias = "Callable[[Number], tuple[Number, Number]]"
#: Such a function, where to start, and the bracket.
_Problem: TypeAlias = "tuple[_Falling, Number, Number, Number]"

#: Largest mu = 1/W0 for which the uniqueness of both crossovers is proved.
MU_LIMIT: Final = {"reno": 0.7072, "scalable": 0.5}
_PLANTS: Final = ("reno", "reno_p", "reno_p2", "scalable")
_ITERATIONS: Final = 60  # NumPy stops as soon as nothing moves, after about 6
_LONGEST_STEP: Final = 2.0  # in ln v, while no bracket is known
_BLOCK: Final = 8192  # points whose temporaries stay in the second-level cache
# A Newton step of relative size 1e-8 leaves an error of its square, below rounding.
_LAST_STEP: Final = 1e-8


def margins_of(
    kappa: Quantity,
    pole: Quantity,
    plant: str,
    alpha: Quantity,
    beta: Quantity,
    update_interval: Quantity,
    rtt: Quantity,
) -> tuple[Number, Number, Number, Number]:
    """Return gain margin (dB), phase margin (deg), gain and phase crossover (rad/s) of (35)-(37).

    A pure function: it works under `jax.jit`, `jax.vmap` and `jax.grad` (64-bit must be enabled
    there), and on floats and NumPy arrays, which broadcast.

    Parameters
    ----------
    kappa : float or array
        Elasticity -d ln W / dx: 1/(2p) for Reno under PI or PIE, 1/p' under PI2, 1/p for Scalable.
    pole : float or array
        s_R = sqrt(2) p'/R or s_S = p'/(2R), in rad/s.
    plant : {"reno", "scalable"}
        Which denominator: (32), (33) or (34). "reno_p" and "reno_p2" are taken as "reno".
    alpha, beta : float or array
        Gains on x in Hz (PIE's table factor included).
    update_interval, rtt : float or array
        Seconds.

    Returns
    -------
    tuple
        (gain_margin_db, phase_margin_deg, w_gc, w_pc). The phase margin is not wrapped.

    Raises
    ------
    DomainError
        If JAX arrays are in single precision, or mu = 1/W0 exceeds the proved range (values that
        JAX traces cannot be checked: keep p or p' at or below 1).
    QuantityError
        If an argument is no finite number in double precision, or `plant` is unknown.

    Examples
    --------
    >>> gm, pm, _, _ = margins_of(10.0, 2**0.5, "reno", 0.3125, 3.125, 0.032, 0.1)
    >>> print(f"{gm:.6f} dB, {pm:.5f} deg")
    4.704341 dB, 20.02926 deg
    """
    validate_choice(plant, _PLANTS, "plant")
    plant = "scalable" if plant == "scalable" else "reno"
    given = {
        "kappa": (kappa, "number"),
        "pole": (pole, "frequency"),
        "alpha": (alpha, "frequency"),
        "beta": (beta, "frequency"),
        "update_interval": (update_interval, "time"),
        "rtt": (rtt, "time"),
    }
    bare, _, labels = align_labels({name: value for name, (value, _) in given.items()}, ())
    values = {name: _checked(bare[name], name, kind) for name, (_, kind) in given.items()}
    broadcast_shape(values)
    kappa, pole, alpha, beta, interval, rtt = values.values()
    m = kappa * pole * rtt
    mu = pole * rtt / 2 if plant == "reno" else pole * rtt
    a = alpha * rtt**2 / interval
    c = (beta + alpha / 2) * rtt
    if not is_traced(mu) and np.any(np.asarray(mu) > MU_LIMIT[plant] * (1 + 1e-9)):
        raise DomainError(
            f"pole = {float(np.max(pole)):.4g} and rtt = {float(np.max(rtt)):.4g} give 1/W0 ="
            f" {float(np.max(mu)):.4g}, above {MU_LIMIT[plant]}, where the crossovers need not be"
            " unique: use Loop(...).margins(), which searches them all."
        )
    if namespace(*values.values()) is np:
        gm, pm, w_gc, w_pc = relabel(labels, tuple(solve_margins(plant, m, mu, a, c, rtt)))
        return gm, pm, w_gc, w_pc
    return _solve_jax(plant, m, mu, a, c, rtt)


def solve_margins(
    plant: str,
    m: ArrayLike,
    mu: ArrayLike,
    a: ArrayLike,
    c: ArrayLike,
    rtt: ArrayLike,
    k: ArrayLike = 1.0,
) -> FloatArray:
    """Return the rows gain_margin_db, phase_margin_deg, w_gc, w_pc; NumPy arrays, which broadcast.

    At mu = 0 with c/a <= 1 + k there is no phase crossover above zero frequency: the gain margin
    is -inf and w_pc 0, the limit for a vanishing load.
    """
    shape = np.broadcast_shapes(*(np.shape(value) for value in (m, mu, a, c, rtt, k)))
    flat = [
        np.ascontiguousarray(np.broadcast_to(np.asarray(value, float), shape)).ravel()
        for value in (m, mu, a, c, rtt, k)
    ]
    out = np.empty((4, flat[0].size))
    for start in range(0, flat[0].size, _BLOCK):
        block = slice(start, start + _BLOCK)
        m_, mu_, a_, c_, rtt_, k_ = (value[block] for value in flat)
        # Branches of `where` that are not taken may overflow or divide by zero.
        with np.errstate(all="ignore"):
            x = _run_numpy(*_gain_problem(np, plant, m_, mu_, a_, c_))
            v = _run_numpy(*_phase_problem(np, plant, mu_, c_ / a_, k_))
            out[:, block] = _finish(np, plant, m_, mu_, a_, c_, rtt_, k_, np.exp(x), v)
    return out.reshape((4, *shape))


def _gain_problem(
    xp: ModuleType, plant: str, m: Number, mu: Number, a: Number, c: Number
) -> _Problem:
    """ln|L|^2 over x = ln v, its slope, a start on its asymptotes, and the (unknown) bracket."""
    level = mu * (2.0 if plant == "reno" else 1.0)  # |mu h| at low frequency

    def function(x: Number) -> tuple[Number, Number]:
        v = xp.exp(x)
        u = v * v
        sine, cosine = xp.sin(v), xp.cos(v)
        square, d_square = _denominator(plant, mu, v, u, sine, cosine)
        a2, c2u = a * a, c * c * u
        value = xp.log(m * m * (a2 + c2u) / (u * (1 + u) * square))
        slope = 2 * c2u / (a2 + c2u) - 2 - 2 * u / (1 + u) - v * d_square / square
        return value, slope

    # Between its corners |L| is a product of powers of v; each branch's own crossover is explicit.
    tiny = 1e-300
    am, cm = a * m, c * m
    low = xp.minimum(
        xp.minimum(am / (level + tiny), xp.sqrt(am)),
        xp.minimum(xp.sqrt(am / (level + tiny)), xp.cbrt(am)),
    )
    high = xp.minimum(xp.minimum(cm, cm / (level + tiny)), xp.sqrt(cm))
    start = xp.maximum(low, xp.where(cm > level, high, 0.0))
    infinite = xp.full_like(am, xp.inf)
    return function, xp.log(start), -infinite, infinite


def _phase_problem(xp: ModuleType, plant: str, mu: Number, r: Number, k: Number) -> _Problem:
    """A smooth function of v that falls through 0 at the phase crossover; slope, start, bracket."""

    def function(v: Number) -> tuple[Number, Number]:
        ru = 1 + r * v * v
        t = (r - 1) * v / ru  # tan of atan(rv) - atan(v)
        dt = (r - 1) * (2 - ru) / (ru * ru)
        s, c = xp.sin(k * v), xp.cos(k * v)
        real, imag = c + t * s, t * c - s
        d_real, d_imag = k * imag + dt * s, dt * c - k * real
        sine, cosine = xp.sin(v), xp.cos(v)
        h_real = 1 + cosine if plant == "reno" else cosine
        # real part of (1 + jt) e^{-jkv} conj(jv + mu h): zero where the phase is -180 degrees
        value = real * mu * h_real + imag * (v - mu * sine)
        slope = d_real * mu * h_real - real * mu * sine + d_imag * (v - mu * sine)
        return value, slope + imag * (1 - mu * cosine)

    h0mu = mu * (2.0 if plant == "reno" else 1.0)
    # To second order in v^2, with tan x = x: a quadratic for the start.
    b = k + 1 - r - h0mu * r
    root = xp.sqrt(b * b + 4 * k * r * h0mu)
    u = xp.where(b > 0, 2 * h0mu / xp.where(b > 0, b + root, 1.0), (root - b) / (2 * k * r))
    top = xp.pi / k
    if plant == "scalable":
        top = xp.minimum(top, xp.pi / 2)
    top = xp.where(r < 1, xp.pi / (2 * k), top)
    return function, xp.minimum(xp.sqrt(u), 0.95 * top), xp.zeros_like(h0mu * k), top + 0 * h0mu


def _denominator(
    plant: str, mu: Number, v: Number, u: Number, sine: Number, cosine: Number
) -> tuple[Number, Number]:
    """|jv + mu h|^2 and its derivative with respect to v."""
    common = u - 2 * mu * v * sine
    slope = 2 * v - 2 * mu * (sine + v * cosine)
    if plant == "reno":
        return common + 2 * mu * mu * (1 + cosine), slope - 2 * mu * mu * sine
    return common + mu * mu, slope


def _step(
    xp: ModuleType, function: _Falling, x: Number, low: Number, high: Number
) -> tuple[Number, Number, Number]:
    """One safeguarded Newton step on a function that falls through zero; keeps the bracket."""
    value, slope = function(x)
    low = xp.where(value > 0, x, low)
    high = xp.where(value < 0, x, high)
    newton = x - xp.clip(value / slope, -_LONGEST_STEP, _LONGEST_STEP)
    # Outside the bracket, or with a slope of the wrong sign, halve the bracket instead.
    inside = (newton >= low) & (newton <= high) & (slope < 0)
    bounded = xp.isfinite(low) & xp.isfinite(high)
    middle = xp.where(bounded, (low + high) / 2, x + xp.sign(value) * _LONGEST_STEP)
    following = xp.where(inside, newton, middle)
    return xp.where(value == 0, x, following), low, high


def _run_numpy(function: _Falling, x: Number, low: Number, high: Number) -> Number:
    for _ in range(_ITERATIONS):
        previous = x
        x, low, high = _step(np, function, x, low, high)
        if np.all(np.abs(x - previous) <= _LAST_STEP * np.maximum(np.abs(x), 1e-6)):
            break
    return x


def _finish(
    xp: ModuleType,
    plant: str,
    m: Number,
    mu: Number,
    a: Number,
    c: Number,
    rtt: Number,
    k: Number,
    v_gc: Number,
    v_pc: Number,
) -> tuple[Number, Number, Number, Number]:
    r = c / a
    h_real = 1 + xp.cos(v_gc) if plant == "reno" else xp.cos(v_gc)
    lead = xp.arctan2((r - 1) * v_gc, 1 + r * v_gc * v_gc)
    lag = xp.arctan2(v_gc - mu * xp.sin(v_gc), mu * h_real)
    margin = xp.degrees(xp.pi / 2 + lead - k * v_gc - lag)
    safe = xp.where(v_pc > 0, v_pc, 1.0)
    u = safe * safe
    square, _ = _denominator(plant, mu, safe, u, xp.sin(safe), xp.cos(safe))
    gain = m * m * (a * a + c * c * u) / (u * (1 + u) * square)
    db = xp.where(v_pc > 0, -10 * xp.log10(gain), -xp.inf)
    return db, margin, v_gc / rtt, v_pc / rtt


def _solve_jax(
    plant: str, m: Number, mu: Number, a: Number, c: Number, rtt: Number
) -> tuple[Number, Number, Number, Number]:
    """The same under JAX: iterate without derivatives, then two Newton steps that carry them.

    A Newton step from the root has the implicit function's derivative; the second step makes the
    second derivative right as well.
    """
    import jax
    from jax import numpy as jnp

    given: Any = (m, mu, a, c, rtt)  # arrays of JAX, at least one of them
    m, mu, a, c, rtt = jnp.broadcast_arrays(*given)
    one = jnp.ones_like(m)

    def solve(problem: Callable[..., _Problem], *parameters: Number) -> jax.Array:
        fixed = [jax.lax.stop_gradient(value) for value in parameters]
        function, *start = problem(jnp, plant, *fixed)

        def body(_: object, state: tuple[Number, Number, Number]) -> tuple[Number, Number, Number]:
            return _step(jnp, function, *state)

        x, _, _ = jax.lax.fori_loop(0, _ITERATIONS, body, tuple(start))
        function = problem(jnp, plant, *parameters)[0]
        for _ in range(2):
            value, slope = function(x)
            x = x - value / slope
        result: jax.Array = x
        return result

    v_gc = jnp.exp(solve(_gain_problem, m, mu, a, c))
    v_pc = solve(_phase_problem, mu, c / a, one)
    return _finish(jnp, plant, m, mu, a, c, rtt, one, v_gc, v_pc)


def _checked(value: Quantity, name: str, dimension: str) -> Number:
    jax = sys.modules.get("jax")
    if isinstance(value, str):
        raise QuantityError(f"{name} = {show_value(value)} is text: give a number in SI units.")
    if jax is None or not isinstance(value, jax.Array):
        result: Number = validate_quantity(value, dimension, name, closed=name == "beta")
        return result
    if value.dtype != np.float64:
        raise DomainError(
            f"{name} = {value!s} is {value.dtype} under JAX, half of the digits: enable 64 bits,"
            " e.g. by `with jax.enable_x64(True):` around the call."
        )
    array: Number = value
    return array
