"""What happens as the load vanishes: the limit p' -> 0 of a loop, and when it can be stable at all.

As p' -> 0 the windows grow without bound and their corner s_R falls to zero. What remains is

    L -> m (a + c sigma) e^{-sigma} / (sigma^2 (1 + sigma)),   sigma = sR, a = alpha R^2/T,
                                                              c = (beta + alpha/2) R,

with m = 2 sqrt(decrease) (Reno under PI2) or k per_mark (Scalable), which no longer depends on p':
that is why PI2's margins are flat. It is also where both margins are smallest (for Reno always, for
Scalable unless p' = 1 is worse), so these limits bound every load.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from pi2_fluid.errors import UnsupportedError, renamed
from pi2_fluid.laws.aqm import Aqm
from pi2_fluid.laws.gains import coupling_of, has_gains
from pi2_fluid.laws.sender import Sender
from pi2_fluid.loop.analytic import solve_margins
from pi2_fluid.loop.margins import Margins, known
from pi2_fluid.loop.searching import search_of
from pi2_fluid.loop.state_space import LinearClass, LinearController, LinearLoop
from pi2_fluid.loop.updates import UPDATES
from pi2_fluid.records.labels import align_labels, relabel
from pi2_fluid.records.record import declares, named_arrays
from pi2_fluid.units import (
    LONG_PATH,
    LONG_WAIT,
    broadcast_shape,
    validate_choice,
    validate_quantity,
)

if TYPE_CHECKING:
    from pi2_fluid.laws.aqms.pi_family import PiFamily
    from pi2_fluid.values import FloatArray, Number, Quantity, Real, Values

#: Probabilities at which a factor that vanishes with p is compared with sqrt(p).
_SMALL_P: Final = (2.0**-80, 2.0**-120)


@renamed(mode="update")
def rtt_limit(
    alpha: Quantity, beta: Quantity, update_interval: Quantity, update: str = "continuous"
) -> Values:
    """Return the round-trip time above which the loop is unstable at low load, whatever the gain.

    As p' -> 0 the loop's phase is -180 + atan(w/z_A) - atan(wR) - wR degrees: two integrators, with
    the controller's zero z_A as the only help. It starts at -180 and rises above only if
    1/z_A > 2R. So

        R < T (beta/alpha + 1/2) / 2          continuous
        R < T beta / (2 alpha)                sampled, and with the half-sample delay

    is necessary for any margin at low load, for Reno and Scalable alike. Scaling both gains does
    not help; lengthening T, or raising beta/alpha, does: the update interval is a tuning parameter.
    (Not sufficient: the gain must be small enough as well, see `low_load`.)

    Parameters
    ----------
    alpha, beta : float or array
        Gains in Hz.
    update_interval : float, array or str
        T in seconds.
    update : {"continuous", "delayed", "sampled"}

    Returns
    -------
    float or array
        Seconds.

    Raises
    ------
    QuantityError, DomainError
        If a number has another unit or is outside its range, or `update` is unknown.

    Examples
    --------
    >>> rtt_limit(0.3125, 3.125, "32ms"), rtt_limit(0.3125, 3.125, "32ms", "sampled")
    (0.168, 0.16)
    """
    validate_choice(update, UPDATES, "update")
    given = {"alpha": alpha, "beta": beta, "update_interval": update_interval}
    given, _, labels = align_labels(given, ())
    alpha, beta, update_interval = given.values()
    alpha = validate_quantity(alpha, "frequency", "alpha")
    beta = validate_quantity(beta, "frequency", "beta", closed=True)
    interval = validate_quantity(update_interval, "time", "update_interval", usual=LONG_WAIT)
    broadcast_shape({"alpha": alpha, "beta": beta, "update_interval": interval})
    return relabel(labels, _existence(alpha, beta, interval, update))


def _existence(alpha: Real, beta: Real, interval: Real, update: str) -> Real:
    half = 0.5 if update == "continuous" else 0.0
    return interval * (beta / alpha + half) / 2


@renamed(mode="update")
def low_load(sender: Sender, aqm: Aqm, rtt: Quantity, update: str = "continuous") -> Margins:
    """Return the margins in the limit of a very light load (few flows), p' -> 0.

    A regular point, computed without taking any limit numerically. For "continuous" and "delayed"
    the gain margin follows from the one zero v of atan v - atan(rv) + kv in closed form,
    K = v^2 sqrt(1 + v^2) / (m sqrt(a^2 + c^2 v^2)); "sampled" sums the exact aliases.

    The phase does not depend on the gain, so it decides also where the gain itself has no limit.
    Under plain PI, or PIE with a table, Reno's loop gain grows without bound as p -> 0: the gain
    margin is -inf. With PIE's ideal scaling sqrt(2p) Reno has a limit again, but Scalable's gain
    vanishes: its gain margin is inf, or -inf above `rtt_limit`, and its phase margin 0.

    Parameters
    ----------
    sender : Reno, CReno or Scalable
    aqm : Pi, Pie, Pi2, CoupledPi2, or DualPi2 (for Reno and CReno)
    rtt : float, array or str
        Round-trip time, queue included (s).
    update : {"continuous", "delayed", "sampled"}

    Raises
    ------
    UnsupportedError
        For other pairs, which have no closed form.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> worst = pf.loop.low_load(pf.Reno(), pf.Pi2(), "100ms")
    >>> print(f"{worst.gain_margin_db:.3f} dB, {worst.phase_margin_deg:.2f} deg")
    1.994 dB, 4.63 deg
    """
    validate_choice(update, UPDATES, "update")
    given, (sender, aqm), labels = align_labels({"rtt": rtt}, (sender, aqm))
    rtt = validate_quantity(given["rtt"], "time", "rtt", usual=LONG_PATH)
    broadcast_shape({"rtt": rtt, **named_arrays(aqm), **named_arrays(sender)})
    m, scale = _limit_gain(sender, aqm)
    assert has_gains(aqm)
    arrays = np.broadcast_arrays(m, aqm.alpha * scale, aqm.beta * scale, aqm.update_interval, rtt)
    m, alpha, beta, interval, rtt = (np.asarray(value, float) for value in arrays)
    no_limit = np.isinf(m).all() or not m.any()
    # The phase, and with it the phase crossover, is the same for every gain: take 1 for no limit.
    parameters = [np.ones_like(m) if no_limit else m, alpha, beta, interval, rtt]
    rows = _rows(parameters, update)
    if no_limit:
        instead = _vanishing if not m.any() else _unbounded
        rows = instead(rows, parameters, update)
    code = np.where(np.abs(rows[0]) < 1e-9, 0, np.sign(rows[0])).astype(int)[()]
    gm, pm, w_gc, w_pc, delay = (relabel(labels, row[()]) for row in rows)
    return Margins(
        gain_margin_db=gm,
        phase_margin_deg=pm,
        gain_crossover=w_gc,
        phase_crossover=w_pc,
        delay_margin=delay,
        update=update,
        _modulus=known(relabel(labels, np.zeros(rtt.shape)[()]))
        if no_limit
        else partial(_modulus, parameters, update, labels),
        _verdict=known(relabel(labels, code)),
    )


def _modulus(parameters: list[FloatArray], update: str, labels: object) -> Values:
    loop = _limit_loop(*parameters)
    found = search_of(loop, update).distances(np.ones(loop.shape, dtype=bool))
    return relabel(labels, found.reshape(loop.shape)[()])


def _rows(parameters: list[FloatArray], update: str) -> FloatArray:
    """(gain_margin_db, phase_margin_deg, w_gc, w_pc, delay_margin), each of the arrays' shape."""
    m, alpha, beta, interval, rtt = parameters
    if update == "sampled":
        return _sampled(*parameters)
    k = 1.0 + (interval / (2 * rtt) if update == "delayed" else 0.0)
    a, c = alpha * rtt**2 / interval, (beta + alpha / 2) * rtt
    gm, pm, w_gc, w_pc = solve_margins("reno", m, 0.0, a, c, rtt, k)
    return np.array([gm, pm, w_gc, w_pc, np.radians(pm) / w_gc])


def _unbounded(rows: FloatArray, parameters: list[FloatArray], update: str) -> FloatArray:
    """An infinite gain is crossed at infinite frequency, or in a sampled loop nowhere."""
    *_, interval, rtt = parameters
    infinite = np.full(rtt.shape, np.inf)
    if update == "sampled":
        return np.array([-infinite, infinite, infinite, rows[3], infinite])
    late = -rtt - (interval / 2 if update == "delayed" else 0.0)
    return np.array([-infinite, -infinite, infinite, rows[3], late])


def _vanishing(rows: FloatArray, parameters: list[FloatArray], update: str) -> FloatArray:
    """Phase margin and gain crossover vanish together, in the ratio of the phase's slope at 0."""
    _, alpha, beta, interval, rtt = parameters
    delay = 2.0 * (_existence(alpha, beta, interval, update) - rtt)
    zero = np.zeros(rtt.shape)
    return np.array([np.where(rows[3] > 0.0, np.inf, -np.inf), zero, zero, rows[3], delay])


def _limit_gain(sender: Sender, aqm: Aqm) -> tuple[Any, Any]:
    """Return m as p' -> 0, which may be 0 or inf, and the factor on alpha and beta there."""
    encoder = declares(aqm, "encoder")
    plant, law = declares(sender, "plant"), cast(Any, sender)
    if plant == "reno":
        m: Any = 2.0 * np.sqrt(law.increase * law.decrease)
        if encoder in ("square", "coupled"):
            return m, 1.0
        if encoder == "linear" and has_gains(aqm):
            return m * _linear_slope(aqm), 1.0
    one_queue = encoder in ("linear", "coupled") and aqm.bands == 1
    if plant == "scalable" and one_queue and has_gains(aqm):
        factor: Any = aqm.heard_factor(np.float64(0.0))
        vanishes = np.all(np.equal(factor, 0.0))
        return (law.per_mark * 0.0, 1.0) if vanishes else (law.per_mark * coupling_of(aqm), factor)
    raise _no_limit(type(sender).__name__, aqm)


def _linear_slope(aqm: PiFamily) -> Number:
    """Return the factor on the gains over 2 p' as p' -> 0, which turns dp'/p' into dp."""
    if np.all(np.greater(aqm.heard_factor(np.float64(0.0)), 0.0)):
        return np.inf
    slopes: list[Number] = [aqm.heard_factor(np.float64(p)) / (2.0 * np.sqrt(p)) for p in _SMALL_P]
    if not np.allclose(slopes[0], slopes[1], rtol=1e-9, atol=0.0):
        raise _no_limit("Reno", aqm)
    return slopes[0]


def _no_limit(sender: str, aqm: Aqm) -> UnsupportedError:
    return UnsupportedError(
        f"{sender} under {type(aqm).__name__} has no closed-form limit: use Loop(...).margins() at"
        " a small load, e.g. p_prime=1e-6, instead."
    )


def _sampled(
    m: FloatArray, alpha: FloatArray, beta: FloatArray, interval: FloatArray, rtt: FloatArray
) -> FloatArray:
    """(gain_margin_db, phase_margin_deg, w_gc, w_pc, delay_margin) of sampled loops."""
    loop = _limit_loop(m, alpha, beta, interval, rtt)
    every = np.ones(loop.shape, dtype=bool)
    rows = search_of(loop, "sampled").margins(every)[:5].reshape(5, *loop.shape)
    # From there on the phase starts below -180 degrees: its crossover is the limit of frequency 0.
    below = rtt >= _existence(alpha, beta, interval, "sampled")
    rows[0], rows[3] = np.where(below, -np.inf, rows[0]), np.where(below, 0.0, rows[3])
    return rows


def _limit_loop(
    m: FloatArray, alpha: FloatArray, beta: FloatArray, interval: FloatArray, rtt: FloatArray
) -> LinearLoop:
    """The loops with windows that only integrate: s x = -(m/R) u e, s d = x - d/R."""
    zero, one = np.zeros(rtt.shape), np.ones(rtt.shape)
    cls = LinearClass(
        a0=zero, a1=zero, b=-m / rtt, e0=zero, e1=zero, c=one, r=-one / rtt,
        weight=one, rtt=rtt, size=1,
    )  # fmt: skip
    controller = LinearController((alpha + beta, -beta), (one, -one), interval)
    return LinearLoop((cls,), controller, rtt.shape)
