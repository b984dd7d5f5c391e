"""The exact loop of queues that update together every T seconds and hold their signals.

As of one queue (`pi2_fluid.loop.sampled`), L_d = (1 - y) (1/T) sum over k of G(s_k)/s_k times the
updates D(y) of the links, s_k = s + 2 pi j k/T, now with matrices: what each update sees are the
delays of all, sampled at one time. Where links tick at other intervals there is no such matrix.
A link with a price counts what arrives instead, so that its row of G is (1 - y)/(s_k T) times that
of the rate: what has arrived up to now, less what had up to the update before, is T times the mean
rate, in whose unit the row is, as that of the continuous loop.

At large s every entry of G/s is a sum of terms -N_i (f_i/s^2 + (c b)_i/s^3) dp_i/du_m e^{-s d}/C_l,
with f for what senders answer at once and the way from the controller to the source and on to the
queue as d, but for what other queues on the way change. Their sums are known, and only what is left
is summed, alias by alias.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import SolverError
from pi2_fluid.loop.matrix.response import plant_matrix
from pi2_fluid.loop.matrix.system import MatrixLoop
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
    delays, sizes = _leading_terms(loop, 1.0 / T)
    counts = ~loop.waits[list(loop.signals)]
    total: ComplexArray = np.zeros((s.size, *delays.shape[1:]), dtype=complex)
    block = max(1, _BLOCK // s.size)
    for start in range(-count - 1, count + 1, block):
        k = np.arange(start, min(start + block, count + 1))
        aliased = (s + 2j * np.pi * k[:, None] / T).ravel()
        rest = plant_matrix(loop, aliased) / aliased[:, None, None]
        rest[:, counts] /= aliased[:, None, None]
        rest -= _leading(aliased, delays, sizes, 1.0 / T)
        total += rest.reshape(k.size, *total.shape).sum(axis=0)
    y = np.exp(-s * T)
    total = total / T
    for size, sums, scale in zip(
        sizes, held_sums(delays[..., None] / T, y), (T, T**2 / 2), strict=False
    ):
        total += np.einsum("ilm,ilmn->nlm", size, sums) * scale
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


def _leading_terms(
    loop: MatrixLoop, rate: float
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """Delays, and coefficients in G/s of 1/(s + rate)^2 and its cube: (classes, links, links)."""
    signals = list(loop.signals)
    slope = np.array([float(np.sum(cls.c * cls.b)) for cls in loop.classes])
    there, crosses = loop.forward[:, signals], loop.crosses[:, signals]
    delays = (loop.rtt[:, None] - there)[:, None, :] + there[:, :, None]
    both = crosses[:, None, :] * crosses[:, :, None]
    ways = -loop.weight[:, signals][:, :, None] * loop.slopes[:, None, :] * both
    at_once = loop.feeds[:, None, None] * ways
    sizes = at_once, slope[:, None, None] * ways + 2.0 * rate * at_once
    return np.where(both > 0.0, delays, loop.rtt[:, None, None]), sizes


def _leading(
    s: ComplexArray, delays: FloatArray, sizes: tuple[FloatArray, FloatArray], rate: float
) -> ComplexArray:
    """Those terms in powers of 1/(s + rate)."""
    late, inverse = np.exp(-s * delays[..., None]), (1.0 / (s + rate))[:, None, None]
    square, cube = (np.einsum("ilm,ilmn->nlm", size, late) for size in sizes)
    result: ComplexArray = (square + cube * inverse) * inverse**2
    return result


def _alias_count(loop: MatrixLoop, T: float) -> int:
    rates = [1.0 / float(np.min(loop.rtt))]
    rates += [float(np.max(np.abs(cls.a0) + np.abs(cls.a1), initial=0.0)) for cls in loop.classes]
    return min(_MOST_ALIASES, max(_ALIASES, math.ceil(_REACH * max(rates) * T / (2 * np.pi))))
