"""How far chance drives the queue delay: the noise of signals through the closed loop.

Each packet of a class is signalled by a coin of its own. What senders hear is the probability and
beside it white noise, of density S_i in the controller's variable. That is held for T: a noise at w
has images at all w_k = w + 2 pi k/T. With y = e^{-sT}, G_i senders and queue from what class i
hears, G = SUM G_i, D the update and L the sampled loop (`pi2_fluid.loop.sampled`),

    d(w_m) = -G_i(w_k) n_i(w_k) { [m = k] - l_m/(1 + L) },      l_m = D (1 - y) G(w_m)/(s_m T).

The mean of d^2 over time and chance, d seen through bins (b = sinc^2), is 1/pi times

    SUM S_i INTEGRAL over 0..pi/T of { B - 2 Re[Q* C] + A E |Q|^2 } dw,      Q = D (1 - y)/(1 + L),
    A = SUM |G_i|^2,   B = SUM |G_i|^2 b,   C = SUM |G_i|^2 b (G/s)*/T,   E = SUM |G/s|^2 b/T^2,

sums over k that no gain changes: of an array of gains each costs a few products. Where the model
holds nothing it is |G_i/(1 + L)|^2 b over all w. docs/theory_limits.md derives it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from pi2_fluid.loop.acks import AckLoop, without_echoes
from pi2_fluid.loop.noise_row import Row
from pi2_fluid.loop.open_loop import controller_settles, settles_alone
from pi2_fluid.loop.roots import turns_along
from pi2_fluid.loop.state_space import LinearLoop, told_once

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, ComplexArray, FloatArray, IntArray

#: From places x, of chosen loops of a row, to what is integrated, rows of each class and of the
#: variable, and to a curve whose turns are the modes that grow; x is the axis before the loops.
Terms: TypeAlias = "Callable[[FloatArray, IntArray], tuple[FloatArray, ComplexArray]]"

#: Of a variance: what halving a part of its range may change of it. The rule is of order 10, so
#: that what is left is a thousandth of that.
_TOLERANCE: Final = 1e-3
_NEGLIGIBLE: Final = 1e-4  # what the outermost part may be of it; those beyond fall by e and faster
_POINTS: Final = 5  # of a part
#: Enough to part x down to rounding: a loop rings in a range that is as narrow as it is near its
#: boundary.
_HALVINGS: Final = 44
#: Of a part's length: a mode is not narrow there whose distance from the axis is more than that.
_NARROW: Final = 1.0
_MOST_PARTS: Final = 10  # added at either end
#: rad per round-trip time, between which the first parts lie.
LOWEST: Final = 1e-3
HIGHEST: Final = 1e2
#: rad per longest round-trip time, of parts where several may ring against one another in a narrow
#: range, at harmonics that lie close; and how many.
APART: Final = 2.0
_HARMONICS: Final = 40


class Spread(NamedTuple):
    """Variances of an array of loops; of one that does not settle they mean nothing."""

    delay: FloatArray
    """Of the queue delay (s^2), by the noise of each class, which is the first axis."""
    variable: FloatArray
    """Of the controller's variable."""
    growing: FloatArray
    """How many modes grow, of loops in which none does while they are open; NaN if not told."""


def find_spread(
    loop: LinearLoop | AckLoop,
    update: str,
    density: Sequence[FloatArray],
    window: float,
    together: FloatArray | None = None,
) -> Spread:
    """Return what white noise in what each class hears does to an array of loops.

    Parameters
    ----------
    loop : LinearLoop or AckLoop
        Its controller ticks.
    update : {"continuous", "delayed", "sampled"}
    density : sequence of numpy.ndarray
        Of each of the loop's classes: the noise, in the controller's variable (squared, s).
    window : float
        The bins over which the delay is averaged (s); 0: none.
    together : numpy.ndarray, optional
        Of noise that all classes hear alike, below 0 where what they hear is anticorrelated. Its
        share is the last row of the variances.

    Notes
    -----
    Gauss's rule over x, where w = e^x, or w = (2/T) arctan e^x of a sampled loop, all of which is
    even about pi/T: what is integrated fades exponentially at both ends. Parts are halved, of loops
    that may settle, until that changes no variance by more than 1e-3, and none has a mode beside it
    that is nearer than the part is long. Its tails alone do not tell of a ring that is narrow
    enough: they are the smaller, the narrower it is.
    """
    if isinstance(loop, AckLoop):
        loop = without_echoes(loop)
    row = Row(loop, update, density, window, together)
    rtts = [cls.rtt for cls in loop.classes]
    low, high = LOWEST / float(np.max(rtts)), HIGHEST / float(np.min(rtts))
    terms, unit = row.flowing, 1.0
    if update == "sampled":
        terms, unit = row.sampled, 0.5 * float(np.min(loop.controller.interval))
        high = 1.0 / (LOWEST * unit)
    ends = np.arange(math.log(low * unit), math.log(high * unit) + 1.0)
    if len({cls.rtt.tobytes() for cls in loop.classes}) > 1:
        ends = with_harmonics(ends, unit * APART / float(np.max(rtts)))
    found, growing = integrate_parts(terms, ends, row.size)
    variances = found.reshape(-1, *loop.shape)
    return Spread(variances[:-1], variances[-1], growing.reshape(loop.shape))


def find_density(
    loop: LinearLoop | AckLoop,
    update: str,
    density: Sequence[FloatArray],
    w: FloatArray,
    together: FloatArray | None = None,
) -> FloatArray:
    """Return what adds up over w > 0 to the variance of the delay, s^2 per rad/s.

    Parameters
    ----------
    loop, update, density, together
        As of `find_spread`.
    w : numpy.ndarray, shape (n,)
        rad/s, above 0; also above pi/T.

    Returns
    -------
    numpy.ndarray, shape (classes, *loop.shape, n)
    """
    if isinstance(loop, AckLoop):
        loop = without_echoes(loop)
    row = Row(loop, update, density, 0.0, together)
    chosen = np.arange(row.size)
    if update == "sampled":
        parts = [row.held_at(place, chosen) for place in w]
        found = np.stack(parts, axis=-1)
    else:
        rows, _ = row.flowing(np.log(w), chosen)
        found = np.moveaxis(rows[:-1] / w[:, None], 1, -1)
    return found.reshape(-1, *loop.shape, w.size)


def may_grow_alone(loop: LinearLoop | AckLoop) -> BoolArray:
    """Return of which of an array of loops it is not known that nothing grows while they are open.

    What is asked of senders and queue is asked once where they are alike.
    """
    if isinstance(loop, LinearLoop):
        return ~settles_alone(loop)
    plants = told_once(loop)
    known = np.ones(plants.shape, dtype=bool)
    for index in np.ndindex(plants.shape):
        known[index] = bool(settles_alone(plants.element(index)))
    settles: BoolArray = np.broadcast_to(known & controller_settles(loop.controller), loop.shape)
    return ~settles


def with_harmonics(ends: FloatArray, apart: float) -> FloatArray:
    """Return ends of parts that lie closer, as far as classes may ring against one another."""
    inner = np.log(apart * np.arange(1, _HARMONICS))
    return np.union1d(ends, inner[(inner > ends[0]) & (inner < ends[-1])])


def integrate_parts(terms: Terms, ends: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Return the integrals over all x of a row of loops, and how many modes of each grow."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    xs: list[FloatArray] = []
    curves: list[ComplexArray] = []
    chosen = np.arange(size)

    def integrals(left: FloatArray, width: FloatArray) -> FloatArray:
        """Of parts that begin there: rows, parts, loops."""
        x = left[:, None] + 0.5 * width[:, None] * (nodes + 1.0)
        rows, curve = terms(x.ravel(), chosen)
        xs.append(x.ravel())
        curves.append(curve)
        parts = rows.reshape(len(rows), *x.shape, len(chosen))
        found: FloatArray = np.einsum("rpnl,pn->rpl", parts, 0.5 * width[:, None] * weights)
        return found

    left, width = ends[:-1], np.diff(ends)
    coarse = integrals(left, width)
    for outermost, onward in ((0, -1.0), (-1, 1.0)):
        beyond = ends[outermost] + min(onward, 0.0)
        for _ in range(_MOST_PARTS):
            if np.all(coarse[:, outermost] <= _NEGLIGIBLE * coarse.sum(axis=1)):
                break
            place = 0 if onward < 0.0 else len(left)
            left, width = np.insert(left, place, beyond), np.insert(width, place, 1.0)
            added = integrals(left[[outermost]], width[[outermost]])
            coarse = np.insert(coarse, place, added[:, 0], axis=1)
            beyond += onward
    found, growing = np.zeros((len(coarse), size)), np.full(size, np.nan)
    done = np.zeros((len(coarse), size))
    for _ in range(_HALVINGS):
        halves, widths = np.stack([left, left + width / 2], axis=-1), np.repeat(width / 2, 2)
        fine = integrals(halves.ravel(), widths).reshape(len(coarse), len(left), 2, -1)
        moved = np.abs(fine.sum(axis=2) - coarse)
        total = done + fine.sum(axis=(1, 2))
        count = turns_along(np.concatenate(curves)[np.argsort(np.concatenate(xs))])
        found[:, chosen], growing[chosen] = total, count
        wide = moved[:-1].sum(axis=0) > _TOLERANCE * total[:-1].sum(axis=0)
        wide |= moved[-1] > _TOLERANCE * total[-1]
        wide |= _beside_a_mode(xs[-1], curves[-1]).reshape(len(left), 2, -1).any(axis=1)
        wide &= ~(count > 0.0)
        on, parts = np.any(wide, axis=0), np.any(wide, axis=1)
        if not on.any():
            break
        done = (done + fine[:, ~parts].sum(axis=(1, 2)))[:, on]
        coarse = fine[:, parts][..., on].reshape(len(coarse), -1, np.count_nonzero(on))
        left, width = halves[parts].ravel(), np.repeat(width[parts] / 2, 2)
        chosen, curves = chosen[on], [curve[:, on] for curve in curves]
    return found, growing


def _beside_a_mode(x: FloatArray, curve: ComplexArray) -> BoolArray:
    """Of parts and loops: whether a mode lies beside a part, nearer to the axis than it is long.

    Where the line through two neighbours on the curve, which is analytic in x, is 0.
    """
    x = x.reshape(-1, _POINTS)
    curve = curve.reshape(*x.shape, -1)
    step, long = np.diff(x)[..., None], np.ptp(x, axis=1)[:, None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        root = -step * curve[:, :-1] / np.diff(curve, axis=1)  # from the first of the two
        near = np.abs(root - 0.5 * step) < step  # so that one between two parts is seen by both
    found: BoolArray = np.any(near & (np.abs(root.imag) < _NARROW * long), axis=1)
    return found
