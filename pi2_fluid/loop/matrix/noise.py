"""How far chance drives the delays of a network's queues: the noise of signals, through its loop.

Each link signals each class's packets by coins of their own. Source j is the noise of one class's
signals at one link, of density S_j in the variable of that link's controller, g_j(w) its way to all
queue delays (`class_plants`), of which G(w) is the sum over classes. Where the model holds nothing,

    d = -(I + G H)^-1 g_j n_j,                                  u = H d.

Updates hold u for T. With y = e^{-sT}, D the updates, L the sampled loop and M_m = G(w_m) (1 - y)/
(s_m T) of the image w_m = w + 2 pi m/T,

    d(w_m) = -{ [m = k] g_j(w_k) - M_m D (I + L)^-1 g_j(w_k) } n_j(w_k),

of which the squares add up over k, m and j, as of one queue (`pi2_fluid.loop.spread`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pi2_fluid.loop.matrix.response import class_plants
from pi2_fluid.loop.matrix.sampled import sampled_matrix
from pi2_fluid.loop.matrix.system import MatrixLoop
from pi2_fluid.loop.noise_row import FAR, FEWEST, MOST
from pi2_fluid.loop.response import controller_polynomials, held_polynomials
from pi2_fluid.loop.spread import APART, HIGHEST, LOWEST, integrate_parts, with_harmonics

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray, IntArray

_BLOCK: Final = 2**18  # complex numbers of all images at once: 4 MiB an array


class NetworkSpread(NamedTuple):
    """Variances, by the noise of each class: the first axis."""

    delay: FloatArray
    """Of what is looked at (s^2): (classes, looks)."""
    variable: FloatArray
    """Of the controllers' variables: (classes, links that signal)."""


#: What is looked at, of the queue delays: from s, (n,), to (n, looks, queues).
Look = Callable[["ComplexArray"], "ComplexArray"]


class NetworkNoise:
    """A network's loop and the noise of its signals.

    Parameters
    ----------
    loop : MatrixLoop
        All whose controllers act have queues, and tick.
    update : {"continuous", "delayed", "sampled"}
    density : numpy.ndarray, shape (classes, links that signal)
        Of the noise that each class hears from each link, in the variable of its controller
        (squared, s).
    look : callable
    window : float
        The bins over which is averaged what is looked at (s); 0: none.
    """

    def __init__(
        self,
        loop: MatrixLoop,
        update: str,
        density: FloatArray,
        look: Look,
        window: float = 0.0,
    ) -> None:
        self.loop, self.update, self.look, self.window = loop, update, look, window
        self.density = density / np.pi
        self.longest, self.shortest = float(np.max(loop.rtt)), float(np.min(loop.rtt))
        self.looks = look(np.array([1j / self.longest])).shape[1]

    def spread(self) -> NetworkSpread:
        """Return the variances; they mean nothing of a loop that does not settle."""
        low, high = LOWEST / self.longest, HIGHEST / self.shortest
        if self.update == "sampled":
            unit = 0.5 * self.loop.intervals[0]
            high = 1.0 / (LOWEST * unit)
        else:
            unit = 1.0
        ends = np.arange(math.log(low * unit), math.log(high * unit) + 1.0)
        if self.longest > self.shortest:
            ends = with_harmonics(ends, unit * APART / self.longest)
        found, _ = integrate_parts(self._terms, ends, 1)
        classes, links = self.density.shape
        rows = found[:-1, 0].reshape(classes, self.looks + links)
        return NetworkSpread(rows[:, : self.looks], rows[:, self.looks :])

    def delay_density(self, w: FloatArray) -> FloatArray:
        """Return what adds up over w > 0 to the variance: (classes, looks, n), s^2 per rad/s."""
        if self.update == "sampled":
            parts = [self._held_at(place) for place in np.atleast_1d(w)]
            return np.stack(parts, axis=-1)
        return self._flowing(1j * np.asarray(w, dtype=float))[:, : self.looks]

    def _terms(self, x: FloatArray, chosen: IntArray) -> tuple[FloatArray, ComplexArray]:
        """Rows of each class and look, and variable; the last their sum. A curve without turns."""
        if self.update == "sampled":
            interval = self.loop.intervals[0]
            s = 2j / interval * np.arctan(np.exp(x))
            block = max(1, _BLOCK // (self._pairs() * 2 * self.loop.crosses.size * self.looks))
            parts = [self._held(s[n : n + block]) for n in range(0, len(s), block)]
            rows, scale = np.concatenate(parts, axis=-1), 1.0 / (interval * np.cosh(x))
        else:
            s = 1j * np.exp(x)
            rows, scale = self._flowing(s), s.imag
        rows = (rows * scale).reshape(-1, len(x), 1)
        last = rows.reshape(self.density.shape[0], -1, len(x), 1)[:, self.looks :].sum(axis=(0, 1))
        curve: ComplexArray = np.ones((len(x), len(chosen)), dtype=complex)
        return np.concatenate([rows, last[None]]), curve

    def _flowing(self, s: ComplexArray) -> FloatArray:
        """Where variables move all the time: (classes, looks and links, n)."""
        each = class_plants(self.loop, s)
        law = np.stack(
            [_quotient(controller_polynomials(one, s)) for one in self.loop.controllers], axis=-1
        )
        if self.update == "delayed":
            law *= np.exp(-s[:, None] * np.array(self.loop.intervals) / 2)
        driven, u = _closed(each, law, list(self.loop.signals))
        seen = np.einsum("nrq,nqij->nrij", self.look(s), driven)
        squares = np.abs(seen) ** 2 * self.seen_in_bins(s)[:, None, None, None]
        return self._summed(squares, np.abs(u) ** 2)

    def _summed(self, looks: FloatArray, variables: FloatArray) -> FloatArray:
        """Squares times densities, over the links at which a class is signalled."""
        both = np.concatenate([looks, variables], axis=1)
        result: FloatArray = np.einsum("nrij,ij->irn", both, self.density)
        return result

    def _held(self, s: ComplexArray) -> FloatArray:
        """Where they are held, of all images: (classes, looks and links, n)."""
        each, images = self._images(s, np.arange(-self._pairs(), self._pairs() + 1))
        answer, back = self._answer(s, each, images)
        looked = self.look(images.ravel()).reshape(*images.shape, self.looks, -1)
        bins = self.seen_in_bins(images)
        g = np.einsum("knrq,knqij->knrij", looked, each)
        M = np.einsum("knrq,knql->knrl", looked, answer)
        own = np.einsum("knrij,kn->nrij", np.abs(g) ** 2, bins)
        cross = np.einsum("knrij,kn,knrl,knlij->nrij", g.conj(), bins, M, back, optimize=True)
        gram = np.einsum("knrl,kn,knrm->nrlm", M.conj(), bins, M, optimize=True)
        both = np.einsum("knlij,nrlm,knmij->nrij", back.conj(), gram, back, optimize=True)
        variables = (np.abs(back) ** 2).sum(axis=0)
        return self._summed(own - 2.0 * cross.real + both.real, variables)

    def _held_at(self, w: float) -> FloatArray:
        """The same at one frequency, whichever image it is: (classes, looks)."""
        interval = self.loop.intervals[0]
        place = round(w * interval / (2.0 * np.pi))
        pairs = max(self._pairs(), abs(place))
        base = w - 2.0 * np.pi * place / interval
        base = base if base != 0.0 else 1e-9 / interval
        each, images = self._images(np.array([1j * base]), np.arange(-pairs, pairs + 1))
        answer, back = self._answer(np.array([1j * base]), each, images)
        at = place + pairs
        looked = self.look(images[at])
        g = np.einsum("nrq,nqij->nrij", looked, each[at])
        M = np.einsum("nrq,nql->nrl", looked, answer[at])
        cross = g.conj() * np.einsum("nrl,nlij->nrij", M, back[at])
        both = (np.abs(np.einsum("nrl,knlij->knrij", M, back)) ** 2).sum(axis=0)
        found = np.abs(g) ** 2 - 2.0 * cross.real + both
        return self._summed(found, found[:, :0])[..., 0]

    def _images(self, s: ComplexArray, k: IntArray) -> tuple[ComplexArray, ComplexArray]:
        """What `class_plants` says of all images of s, and these: (images, n)."""
        images = s + 2j * np.pi * k[:, None] / self.loop.intervals[0]
        each = class_plants(self.loop, images.ravel())
        return each.reshape(*images.shape, *each.shape[1:]), images

    def _answer(
        self, s: ComplexArray, each: ComplexArray, images: ComplexArray
    ) -> tuple[ComplexArray, ComplexArray]:
        """M of every image, and D (I + L)^-1 g_j of every source."""
        interval, signals = self.loop.intervals[0], list(self.loop.signals)
        held = -np.expm1(-s * interval) / interval
        answer = each.sum(axis=3) * (held / images)[:, :, None, None]
        loop = sampled_matrix(self.loop, s) + np.eye(len(signals))
        laws = [_quotient(held_polynomials(one, s)) for one in self.loop.controllers]
        closed = np.stack(laws, axis=-1)[..., None] * np.linalg.inv(loop)
        back = np.einsum("nlm,knmij->knlij", closed, each[:, :, signals])
        return answer, back

    def _pairs(self) -> int:
        turns = math.ceil(FAR / self.shortest * self.loop.intervals[0] / (2.0 * np.pi))
        return min(max(turns, FEWEST), MOST)

    def seen_in_bins(self, s: ComplexArray) -> FloatArray:
        """What bins leave of the power at s."""
        result: FloatArray = np.sinc(s.imag * self.window / (2.0 * np.pi)) ** 2
        return result


def _quotient(both: tuple[ComplexArray, ComplexArray]) -> ComplexArray:
    return both[0] / both[1]


def _closed(
    each: ComplexArray, law: ComplexArray, signals: list[int]
) -> tuple[ComplexArray, ComplexArray]:
    """Minus the delays and variables, (n, ..., classes, links), that each source alone makes."""
    G = each.sum(axis=2)
    around = G[:, signals] * law[:, None] + np.eye(len(signals))
    at_links = np.einsum("nlm,nmij->nlij", np.linalg.inv(around), each[:, signals])
    u = law[:, :, None, None] * at_links
    driven: ComplexArray = each - np.einsum("nql,nlij->nqij", G, u)
    return driven, u
