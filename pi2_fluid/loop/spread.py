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
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from pi2_fluid.loop.acks import AckLoop, class_delays, without_echoes
from pi2_fluid.loop.open_loop import controller_settles, settles_alone
from pi2_fluid.loop.response import (
    class_responses,
    controller_order,
    controller_polynomials,
    held_polynomials,
    leading_coefficient,
)
from pi2_fluid.loop.roots import turns_along
from pi2_fluid.loop.sampled import alias_sum
from pi2_fluid.loop.state_space import LinearController, LinearLoop, told_once

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, ComplexArray, FloatArray, IntArray

#: From places x, of chosen loops of a row, to what is integrated, rows of each class and of the
#: variable, and to a curve whose turns are the modes that grow; x is the axis before the loops.
_Terms: TypeAlias = "Callable[[FloatArray, IntArray], tuple[FloatArray, ComplexArray]]"

#: Of a variance: what halving a part of its range may change of it. The rule is of order 10, so
#: that what is left is a thousandth of that.
_TOLERANCE: Final = 1e-3
_NEGLIGIBLE: Final = 1e-4  # what the outermost part may be of it; those beyond fall by e and faster
_POINTS: Final = 5  # of a part
_HALVINGS: Final = 12
_MOST_PARTS: Final = 10  # added at either end
#: rad per round-trip time, between which the first parts lie.
_LOW: Final = 1e-3
_HIGH: Final = 1e2
#: rad per longest round-trip time, of parts where several may ring against one another in a narrow
#: range, at harmonics that lie close; and how many.
_APART: Final = 2.0
_HARMONICS: Final = 40
#: rad per shortest round-trip time, up to which images are summed: |G|^2 has fallen by 1e4 there.
_FAR: Final = 100.0
_FEWEST: Final = 6  # pairs of images
_MOST: Final = 200
#: Over a loop's reach: between these its echoes fade out, which only flows of the very same
#: round-trip time would have.
_FADE: Final = (0.6, 1.1)


class Spread(NamedTuple):
    """Variances of an array of loops; of one that does not settle they mean nothing."""

    delay: FloatArray
    """Of the queue delay (s^2), by the noise of each class, which is the first axis."""
    variable: FloatArray
    """Of the controller's variable."""
    growing: FloatArray
    """How many modes grow, of loops in which none does while they are open; NaN if not told."""


def find_spread(
    loop: LinearLoop | AckLoop, update: str, density: Sequence[FloatArray], window: float
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

    Notes
    -----
    Gauss's rule over x, where w = e^x, or w = (2/T) arctan e^x of a sampled loop, all of which is
    even about pi/T: what is integrated fades exponentially at both ends. Parts are halved, of loops
    that may settle, until that changes no variance by more than 1e-3: a loop near its boundary
    rings in a range that is as narrow as it is near.
    """
    if isinstance(loop, AckLoop):
        loop = without_echoes(loop)
    row = _Row(loop, update, density, window)
    rtts = [cls.rtt for cls in loop.classes]
    low, high = _LOW / float(np.max(rtts)), _HIGH / float(np.min(rtts))
    terms, unit = row.flowing, 1.0
    if update == "sampled":
        terms, unit = row.sampled, 0.5 * float(np.min(loop.controller.interval))
        high = 1.0 / (_LOW * unit)
    ends = np.arange(math.log(low * unit), math.log(high * unit) + 1.0)
    if len({cls.rtt.tobytes() for cls in loop.classes}) > 1:
        ends = _with_harmonics(ends, unit * _APART / float(np.max(rtts)))
    found, growing = _integrate(terms, ends, row.size)
    variances = found.reshape(-1, *loop.shape)
    return Spread(variances[:-1], variances[-1], growing.reshape(loop.shape))


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


def _with_harmonics(ends: FloatArray, apart: float) -> FloatArray:
    """Return ends of parts that lie closer, as far as classes may ring against one another."""
    inner = np.log(apart * np.arange(1, _HARMONICS))
    return np.union1d(ends, inner[(inner > ends[0]) & (inner < ends[-1])])


def _integrate(terms: _Terms, ends: FloatArray, size: int) -> tuple[FloatArray, FloatArray]:
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
        wide &= ~(count > 0.0)
        on, parts = np.any(wide, axis=0), np.any(wide, axis=1)
        if not on.any():
            break
        done = (done + fine[:, ~parts].sum(axis=(1, 2)))[:, on]
        coarse = fine[:, parts][..., on].reshape(len(coarse), -1, np.count_nonzero(on))
        left, width = halves[parts].ravel(), np.repeat(width[parts] / 2, 2)
        chosen, curves = chosen[on], [curve[:, on] for curve in curves]
    return found, growing


class _Row:
    """An array of loops as a row, and what of it no gain changes."""

    def __init__(
        self,
        loop: LinearLoop | AckLoop,
        update: str,
        density: Sequence[FloatArray],
        window: float,
    ) -> None:
        self.size = math.prod(loop.shape)
        self.window = window
        self.half_sample = update == "delayed"
        self.noise = np.array([np.broadcast_to(one, loop.shape).ravel() for one in density]) / np.pi
        plants = told_once(loop)
        places = np.argwhere(np.ones(plants.shape)).T
        self.plants = replace(plants.element(tuple(places)), shape=(places.shape[1],))
        numbers = np.arange(places.shape[1]).reshape(plants.shape)
        self.plant = np.broadcast_to(numbers, loop.shape).ravel()
        self.controller, self.shape = loop.controller, loop.shape
        self.places = np.argwhere(np.ones(loop.shape))
        self.longest = np.max([np.atleast_1d(cls.rtt) for cls in self.plants.classes], axis=0)

    def of(self, chosen: IntArray) -> tuple[IntArray, LinearController, FloatArray]:
        """Return the numbers of the plants of chosen loops, their controllers and noise."""
        controller = self.controller.element(self.shape, tuple(self.places[chosen].T))
        return self.plant[chosen], controller, self.noise[:, None, chosen]

    def flowing(self, x: FloatArray, chosen: IntArray) -> tuple[FloatArray, ComplexArray]:
        """The terms where the variable moves all the time, late by T/2 or not; w = e^x."""
        plant, controller, noise = self.of(chosen)
        w = np.exp(x)[:, None]
        s = 1j * w
        each = self.responses(s)[..., plant]
        numerator, denominator = controller_polynomials(controller, s)
        law = numerator / denominator
        if self.half_sample:
            law = law * np.exp(-s * controller.interval / 2)
        back = 1.0 + law * each.sum(axis=0)
        driven = noise * np.abs(each / back) ** 2 * w
        variable = np.sum(driven, axis=0) * np.abs(law) ** 2
        unit = (s + 1.0 / self.longest[plant]) ** controller_order(controller)
        curve = denominator / (leading_coefficient(controller) * unit) * back
        return np.concatenate([driven * self.seen(w), variable[None]]), curve

    def sampled(self, x: FloatArray, chosen: IntArray) -> tuple[FloatArray, ComplexArray]:
        """The terms where it is held from update to update; w = (2/T) arctan e^x."""
        plants, T = self.plants, self.plants.controller.interval
        plant, controller, noise = self.of(chosen)
        x = x[:, None]
        s = 2j / T * np.arctan(np.exp(x))
        shortest = float(np.min([cls.rtt for cls in plants.classes]))
        turns = math.ceil(_FAR / shortest * float(np.max(T)) / (2.0 * np.pi))
        pairs = min(max(turns, _FEWEST), _MOST)
        images = s + 2j * np.pi * np.arange(-pairs, pairs)[:, None, None] / T
        total = alias_sum(plants, s, None)
        if isinstance(plants, AckLoop) and plants.dual:
            each, own = np.array(class_delays(plants, images, echoes=False)), self.responses(s)
            total = total + (own - np.array(class_delays(plants, s))).sum(axis=0) / (s * T)
            each[:, pairs] = own
        else:
            each = np.array(class_responses(plants, images))
        seen, over = self.seen(images.imag), each.sum(axis=0) / (images * T)
        sizes = np.abs(each) ** 2
        A, B = sizes.sum(axis=1)[..., plant], (sizes * seen).sum(axis=1)[..., plant]
        C = (sizes * seen * over.conj()).sum(axis=1)[..., plant]
        E = (np.abs(over) ** 2 * seen).sum(axis=0)[..., plant]
        s = s[:, plant]
        numerator, denominator = held_polynomials(controller, s)
        law = numerator / denominator
        held = -np.expm1(-s * controller.interval) * law
        back = 1.0 + held * total[..., plant]
        Q = held / back
        slope = 1.0 / (controller.interval * np.cosh(x))
        driven = noise * slope * (B - 2.0 * (Q.conj() * C).real + A * (E * np.abs(Q) ** 2))
        variable = np.sum(noise * A, axis=0) * slope * np.abs(law / back) ** 2
        return np.concatenate([driven, variable[None]]), denominator * back

    def responses(self, s: ComplexArray) -> ComplexArray:
        """Return `class_responses`, whose echoes fade out where the loop ends."""
        plants = self.plants
        found = np.array(class_responses(plants, s))
        if not (isinstance(plants, AckLoop) and plants.dual):
            return found
        low, high = _FADE
        x = np.clip((s.imag / plants.reach - low) / (high - low), 1e-2, 1.0 - 1e-2)
        kept = 1.0 / (1.0 + np.exp(1.0 / (1.0 - x) - 1.0 / x))
        without = np.array(class_delays(plants, s, echoes=False))
        result: ComplexArray = kept * found + (1.0 - kept) * without
        return result

    def seen(self, w: FloatArray) -> FloatArray:
        """What bins leave of the power at w."""
        result: FloatArray = np.sinc(w * self.window / (2.0 * np.pi)) ** 2
        return result
