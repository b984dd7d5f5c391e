"""How many modes of a network's loop grow, and which are the slowest to fade."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from pi2_fluid.loop.matrix.delays import CharacteristicMatrix, closed_system
from pi2_fluid.loop.matrix.response import matrix_characteristic, matrix_degree
from pi2_fluid.loop.matrix.sampled import sampled_matrix
from pi2_fluid.loop.matrix.system import MatrixLoop
from pi2_fluid.loop.response import held_polynomials
from pi2_fluid.loop.roots import count_right, count_turns, resolved_roots
from pi2_fluid.loop.state_space import slowest_rate
from pi2_fluid.loop.tracking import base_grid

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray


def longest_delay(loop: MatrixLoop, update: str) -> float:
    """Return the longest round-trip time, with T/2 if the loop is "delayed" (s)."""
    extra = max(loop.intervals) / 2 if update == "delayed" else 0.0
    return float(np.max(loop.rtt)) + extra


def count_modes(loop: MatrixLoop, update: str, without: Collection[int] = ()) -> int:
    """Return how many modes grow, -1 on the boundary: zeros on the right of the determinant.

    Parameters
    ----------
    loop : MatrixLoop
    update : {"continuous", "delayed"}
    without : collection of int
        Links whose loops are open, as in `matrix_characteristic`.
    """
    longest = longest_delay(loop, update)
    half = update == "delayed"

    def curve(w: FloatArray) -> ComplexArray:
        scale = 1.0 / longest
        return matrix_characteristic(loop, 1j * w, scale, half_sample=half, without=without)

    return count_right(curve, matrix_degree(loop, without), longest, slowest_of(loop))


def count_sampled_modes(loop: MatrixLoop) -> int:
    """Return how many modes of a sampled loop grow, -1 on the boundary.

    Those of classes and queues, and what the denominators of the updates times det(I + L_d) count
    on the unit circle, as for one queue.
    """
    longest = longest_delay(loop, "sampled")
    open_loop = count_modes(loop, "continuous", without=range(len(loop.controllers)))
    if open_loop < 0:
        return open_loop
    nyquist = np.pi / loop.intervals[0]

    def curve(w: FloatArray) -> ComplexArray:
        values = sampled_matrix(loop, 1j * w)
        result: ComplexArray = np.linalg.det(np.eye(values.shape[-1]) + values)
        for controller in loop.controllers:
            result = result * held_polynomials(controller, 1j * w)[1]
        return result

    low = 1e-6 * min(slowest_of(loop), nyquist)
    turns = count_turns(curve, base_grid(low, nyquist, min(0.4 / longest, nyquist / 8)))
    return -1 if turns is None else open_loop + turns


def rightmost_modes(loop: MatrixLoop, update: str, n: int) -> ComplexArray:
    """Return the `n` rightmost zeros of det(I + L) (rad/s), each complex pair once.

    Guessed by collocation, found by Newton's method on the determinant, and checked against the
    count.
    """
    system = closed_system(loop, half_sample=update == "delayed")
    matrix = CharacteristicMatrix(system)

    def function(s: ComplexArray) -> ComplexArray:
        result: ComplexArray = np.linalg.det(matrix(s.ravel()))
        return result.reshape(s.shape)

    return resolved_roots(system, function, count_modes(loop, update), n)


def slowest_of(loop: MatrixLoop) -> float:
    """Return the slowest rate of classes and controllers (1/s)."""
    return float(slowest_rate(loop.classes, loop.controllers))
