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

from pi2_fluid.errors import SolverError
from pi2_fluid.loop.matrix.response import plant_matrix
from pi2_fluid.loop.matrix.system import MatrixLoop
from pi2_fluid.loop.matrix.ways import Pair
from pi2_fluid.loop.response import held_polynomials
from pi2_fluid.loop.sampled import held_sums

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

_ALIASES: Final = 32
_REACH: Final = 40.0
_MOST_ALIASES: Final = 4000
_BLOCK: Final = 2**14  # frequencies of aliases at once
_MOST_RESPONSES: Final = 1e6  # some ten seconds


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
    below = s.imag < 0.0
    if below.any():  # at the mirror image of s the mirror image
        mirrored = sampled_matrix(loop, np.where(below, np.conj(s), s), aliases)
        unmirrored: ComplexArray = np.where(below[:, None, None], np.conj(mirrored), mirrored)
        return unmirrored
    T = loop.intervals[0]
    count = _alias_count(loop, T) if aliases is None else aliases
    leading = _Leading.of(loop, 1.0 / T)
    counts = ~loop.waits[list(loop.signals)]
    links = len(loop.signals)
    total: ComplexArray = np.zeros((s.size, links, links), dtype=complex)
    block = max(1, _BLOCK // s.size)
    for start in range(-count - 1, count + 1, block):
        k = np.arange(start, min(start + block, count + 1))
        aliased = (s + 2j * np.pi * k[:, None] / T).ravel()
        rest = plant_matrix(loop, aliased) / aliased[:, None, None]
        rest[:, counts] /= aliased[:, None, None]
        rest -= leading.at(aliased)
        total += rest.reshape(k.size, *total.shape).sum(axis=0)
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
    for column, controller in enumerate(loop.controllers):
        numerator, denominator = held_polynomials(controller, s)
        total[:, :, column] *= (units[column] * numerator / denominator)[:, None]
    return total


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
        return cls(delays, (first, second), rate)

    def at(self, s: ComplexArray) -> ComplexArray:
        """Return their sum at each s, (n, links, links)."""
        late, inverse = np.exp(np.multiply.outer(-s, self.delays)), 1.0 / (s + self.rate)[:, None]
        square, cube = (late @ size for size in self.sizes)
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
