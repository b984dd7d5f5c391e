"""The exact loop of queues that update together every T seconds and hold their signals.

As of one queue (`pi2_fluid.loop.sampled`), L_d = (1 - y) (1/T) sum over k of G(s_k)/s_k times the
updates D(y) of the links, s_k = s + 2 pi j k/T, now with matrices: what each update sees are the
delays of all, sampled at one time. Where links tick at other intervals there is no such matrix.
A link with a price counts what arrives instead, so that its row of G is (1 - y)/(s_k T) times that
of the rate: what has arrived up to now, less what had up to the update before, is T times the mean
rate, in whose unit the row is, as that of the continuous loop.

At large s every entry of G/s is a sum of terms -N_i (f_i/s^2 + (c b)_i/s^3) dp_i/du_m e^{-s d}/C_l,
with f for what senders answer at once and the way from the controller to the source and on to the
queue as d, but for what other queues on the way change; where a class takes the link from packets
that wait for a time T, (1 + s T) times as much. Their sums are known, and only what is left is
summed, alias by alias.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from pi2_fluid.errors import SolverError
from pi2_fluid.loop.matrix.network_matrices import close_with_updates, mirrored
from pi2_fluid.loop.matrix.response import plant_matrix
from pi2_fluid.loop.matrix.system import MatrixLoop
from pi2_fluid.loop.matrix.ways import Pair
from pi2_fluid.loop.sampled import held_sums
from pi2_fluid.loop.state_space import once

if TYPE_CHECKING:
    from pi2_fluid.values import BoolArray, ComplexArray, FloatArray, IntArray

_ALIASES: Final = 32
_REACH: Final = 40.0
_MOST_ALIASES: Final = 4000
_BLOCK: Final = 2**14  # frequencies of aliases at once
_MOST_RESPONSES: Final = 1e6  # some ten seconds
_NEAR_ALIASES: Final = np.array([-1, 0])  # whose frequencies are within pi/T of 0
_FIRST_DEGREES: Final = 32
_DOUBLINGS: Final = 3
_TAIL: Final = 3  # the last so many coefficients have to be next to nothing
_ROUNDING: Final = 1e-14


@mirrored
def sampled_matrix(loop: MatrixLoop, s: ComplexArray, aliases: int | None = None) -> ComplexArray:
    """Return L_d at z = e^{sT}, a matrix for each s.

    Parameters
    ----------
    loop : MatrixLoop
        All controllers tick at one interval.
    s : complex array, shape (n,)
    aliases : int, optional
        Pairs of aliases summed; enough for the fastest rate of the classes if not given.
    """
    T = loop.intervals[0]
    leading = leading_terms(loop)
    counts = counting_links(loop)
    smooth = far_aliases(loop) if aliases is None and _on_unit_circle(s, T) else None
    total: ComplexArray
    if smooth is None:
        count = _alias_count(loop, T) if aliases is None else aliases
        total = _sum_of_rests(loop, s, np.arange(-count - 1, count + 1))
    else:
        total = np.add(_sum_of_rests(loop, s, _NEAR_ALIASES), smooth.at(np.asarray(s.imag, float)))
    y = np.exp(-s * T)
    total = total / T
    for size, sums, scale in zip(
        leading.sizes, held_sums(leading.delays / T, y[:, None]), (T, T**2 / 2), strict=False
    ):
        total += (sums @ size).reshape(total.shape) * scale
    step = -np.expm1(-s * T)[:, None, None]
    total *= step
    total[:, counts] *= step / T
    units = np.where(counts, T, 1.0) * loop.units
    return close_with_updates(loop, total, s, units)


def _sum_of_rests(loop: MatrixLoop, s: ComplexArray, aliases: IntArray) -> ComplexArray:
    """Return the sum over some aliases of what G/s is beyond its leading terms."""
    links, leading, counts = len(loop.signals), leading_terms(loop), counting_links(loop)
    total: ComplexArray = np.zeros((s.size, links, links), dtype=complex)
    block = max(1, _BLOCK // s.size)
    for start in range(0, aliases.size, block):
        k = aliases[start : start + block]
        aliased = (s + 2j * np.pi * k[:, None] / loop.intervals[0]).ravel()
        rest = plant_matrix(loop, aliased) / aliased[:, None, None]
        rest[:, counts] /= aliased[:, None, None]
        rest -= leading.at(aliased)
        total += rest.reshape(k.size, *total.shape).sum(axis=0)
    return total


@once
def counting_links(loop: MatrixLoop) -> BoolArray:
    """Return which links that signal have no queue, and count what arrives."""
    waits: BoolArray = loop.waits[list(loop.signals)]
    return ~waits


def _on_unit_circle(s: ComplexArray, T: float) -> bool:
    return not s.real.any() and bool(np.all(s.imag <= np.pi / T))


class _Smooth(NamedTuple):
    """A polynomial through what a function is at Chebyshev's points: matrices over 0 to `end`."""

    end: float
    coefficients: ComplexArray
    """Of Chebyshev's polynomials: (degrees, rows, columns)."""

    def at(self, w: FloatArray) -> ComplexArray:
        """Return the matrices at each w, (n, rows, columns)."""
        degrees, *shape = self.coefficients.shape
        values = chebvander(2.0 * w / self.end - 1.0, degrees - 1)
        flat: ComplexArray = values @ self.coefficients.reshape(degrees, -1)
        return flat.reshape(w.size, *shape)


@once
def far_aliases(loop: MatrixLoop) -> _Smooth | None:
    """Return the sum over all aliases but the two next to 0, on 0 < w <= pi/T.

    Their poles are as far from there and farther as this is long, so that some thirty points find
    the sum to rounding, and two more for each radian that the longest delay turns it by. None where
    that is not enough.
    """
    T = loop.intervals[0]
    count = _alias_count(loop, T)
    k = np.arange(-count - 1, count + 1)
    far = k[(k < _NEAR_ALIASES[0]) | (k > _NEAR_ALIASES[-1])]
    end, turns = np.pi / T, np.pi / T * float(np.max(loop.rtt))
    degrees = _FIRST_DEGREES + 2 * math.ceil(turns)
    for _ in range(_DOUBLINGS):
        angle = np.pi * (np.arange(degrees) + 0.5) / degrees
        there = _sum_of_rests(loop, 0.5j * end * (1.0 + np.cos(angle)), far)
        shape = np.cos(np.multiply.outer(np.arange(degrees), angle)) * (2.0 / degrees)
        shape[0] *= 0.5
        coefficients = (shape @ there.reshape(degrees, -1)).reshape(there.shape)
        sizes = np.max(np.abs(coefficients), axis=(1, 2))
        if np.max(sizes[-_TAIL:]) < _ROUNDING * np.max(sizes):
            needed = 1 + int(np.flatnonzero(sizes > _ROUNDING * np.max(sizes))[-1])
            return _Smooth(end, coefficients[:needed])
        degrees *= 2
    return None


@once
def leading_terms(loop: MatrixLoop) -> _Leading:
    """Return what G/s is at large s."""
    return _Leading.of(loop, 1.0 / loop.intervals[0])


def require_followable(loop: MatrixLoop) -> None:
    """Refuse a loop that would take minutes to be followed up to pi/T.

    Raises
    ------
    SolverError
        If its frequencies times their aliases are too many.
    """
    T, longest = loop.intervals[0], float(np.max(loop.rtt))
    points = max(8.0, math.pi / T * longest / 0.4)
    responses = points * 2 * _alias_count(loop, T)
    if responses > _MOST_RESPONSES:
        raise SolverError(
            f"round-trip times from {float(np.min(loop.rtt)):.3g} to {longest:.3g} s take"
            f" {responses:.2g} responses of the exactly sampled loop, above {_MOST_RESPONSES:.0e}:"
            ' use update="delayed", or leave the shortest or the longest path out.'
        )


class _Leading(NamedTuple):
    """What G/s is at large s: terms of so much e^{-s delay} over (s + rate)^2 and its cube."""

    delays: FloatArray
    """Of each term (s)."""
    sizes: tuple[FloatArray, FloatArray]
    """Over the square and over the cube: (terms, links * links), each term in one entry."""
    rate: float
    each: FloatArray
    """Delays of terms, every one once (s)."""
    together: tuple[FloatArray, FloatArray]
    """What the sizes of terms with this delay are in all: (delays, links * links)."""

    @classmethod
    def of(cls, loop: MatrixLoop, rate: float) -> Self:
        """Return those of a loop, in powers of 1/(s + rate)."""
        links, terms = len(loop.signals), list(_terms(loop))
        places = np.zeros((len(terms), links * links))
        places[range(len(terms)), [row * links + column for row, column, *_ in terms]] = 1.0
        delays, squares, cubes = np.array([term[2:] for term in terms], float).reshape(-1, 3).T
        # 1/s^2 = 1/(s + rate)^2 + 2 rate/(s + rate)^3 + ...
        sizes = squares, cubes + 2.0 * rate * squares
        first, second = (size[:, None] * places for size in sizes)
        each, which = np.unique(delays, return_inverse=True)
        alike = (which == np.arange(each.size)[:, None]).astype(float)
        return cls(delays, (first, second), rate, each, (alike @ first, alike @ second))

    def at(self, s: ComplexArray) -> ComplexArray:
        """Return their sum at each s, (n, links, links)."""
        late, inverse = np.exp(np.multiply.outer(-s, self.each)), 1.0 / (s + self.rate)[:, None]
        square, cube = (late @ size for size in self.together)
        links = round(self.sizes[0].shape[1] ** 0.5)
        result: ComplexArray = (square + cube * inverse) * inverse**2
        return result.reshape(s.size, links, links)


def _terms(loop: MatrixLoop) -> Iterator[tuple[int, int, float, float, float]]:
    """Yield each way from a controller to a class and on to a link: both links, its delay, sizes.

    These are of 1/s^2 and 1/s^3 in G/s. Those that take the link from packets that wait move their
    delay at once, by the time T that they wait at rest: (1 + s T) times as much.
    """
    ahead = {pair.waits: pair for pair in loop.pairs}
    for row, queue in enumerate(loop.signals):
        pair = ahead.get(queue)
        for k, cls in enumerate(loop.classes):
            direct, beside = (
                loop.crosses[k, queue],
                0.0 if pair is None else loop.crosses[k, pair.served],
            )
            if not direct and not beside:
                continue
            lead = pair.delay if pair is not None and beside else 0.0
            there, feed = float(loop.forward[k, queue]), float(loop.feeds[k])
            slope = _row_times(cls.c, cls.b)
            for column, delay, size in _heard_of(loop, k, queue):
                later = _row_times(cls.c, _matrix_times(cls.a0, cls.b))
                yield (
                    row,
                    column,
                    there + delay,
                    size * (feed + lead * slope),
                    size * (slope + lead * later),
                )
                if lead:
                    late = _row_times(cls.c, _matrix_times(cls.a1, cls.b))
                    yield row, column, there + delay + float(cls.rtt), 0.0, size * lead * late
        if pair is not None:
            yield from _waiting_before(loop, row, pair)


def _waiting_before(
    loop: MatrixLoop, row: int, pair: Pair
) -> Iterator[tuple[int, int, float, float, float]]:
    """Yield what moves such a delay at once through a queue in which they have waited before."""
    for passing in loop.passings:
        if passing.at != pair.served:
            continue
        for k in np.flatnonzero(loop.crosses[:, passing.before]).tolist():
            cls, there = loop.classes[k], float(loop.forward[k, passing.before])
            slope = _row_times(cls.c, cls.b)
            for column, delay, size in _heard_of(loop, k, passing.before):
                for share, after in zip(
                    passing.shares.tolist(), passing.delays.tolist(), strict=True
                ):
                    yield (
                        row,
                        column,
                        there + delay + after,
                        -size * pair.delay * share * slope,
                        0.0,
                    )


def _heard_of(loop: MatrixLoop, k: int, queue: int) -> Iterator[tuple[int, float, float]]:
    """Yield what a class hears of each controller and brings to a queue: how late, how much."""
    for column, source in enumerate(loop.signals):
        if loop.slopes[k, column] != 0.0:
            back = float(loop.rtt[k] - loop.forward[k, source])
            weight = float(loop.classes[k].weight) / float(loop.capacity[queue])
            yield column, back, -weight * float(loop.slopes[k, column])


def _row_times(c: FloatArray, b: FloatArray) -> float:
    return float(np.sum(c * b))


def _matrix_times(a: FloatArray, b: FloatArray) -> FloatArray:
    """A b, of one state or several."""
    result: FloatArray = a @ b if np.ndim(b) else a * b
    return result


def _alias_count(loop: MatrixLoop, T: float) -> int:
    rates = [1.0 / float(np.min(loop.rtt))]
    rates += [float(np.max(np.abs(cls.a0) + np.abs(cls.a1), initial=0.0)) for cls in loop.classes]
    return min(_MOST_ALIASES, max(_ALIASES, math.ceil(_REACH * max(rates) * T / (2 * np.pi))))
