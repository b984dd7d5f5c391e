"""The exact loop of queues that update together every T seconds, by acknowledgements.

As of one queue (`pi2_fluid.loop.acks.sampled`), entry by entry of the matrix: of G(s_k)/s_k the
mean over aliases is summed in closed form, and what differs from it with weights that fall
smoothly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.loop.acks.sampled import ALIASES, alias_weights
from pi2_fluid.loop.matrix.acks.response import plant_matrix
from pi2_fluid.loop.matrix.acks.system import AckMatrixLoop
from pi2_fluid.loop.matrix.network_matrices import close_with_updates, mirrored
from pi2_fluid.loop.sampled import held_sums

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray

_BLOCK: Final = 2**14  # frequencies of aliases at once


@mirrored
def sampled_matrix(loop: AckMatrixLoop, s: ComplexArray, aliases: int = ALIASES) -> ComplexArray:
    """Return L_d at z = e^{sT}, a matrix for each s.

    Parameters
    ----------
    loop : AckMatrixLoop
        All controllers tick at one interval.
    s : complex array, shape (n,)
    aliases : int
        Pairs of aliases summed.
    """
    T, count = loop.intervals[0], len(loop.signals)
    numbers, whole, mean = alias_weights(aliases)
    total, level = np.zeros((2, s.size, count, count), dtype=complex)
    known = np.zeros(s.size, dtype=complex)
    block = max(1, _BLOCK // max(1, s.size))
    for start in range(0, 2 * aliases, block):
        part = slice(start, start + block)
        k, w, m = (values[part, None] for values in (numbers, whole, mean))
        aliased = s + 2j * np.pi * k / T
        # Without echoes in high aliases, which would fold onto frequencies of the loop.
        plant = plant_matrix(loop, aliased.ravel(), echoes=False).reshape(
            *aliased.shape, count, count
        )
        own = np.flatnonzero(k[:, 0] == 0)
        if own.size and loop.echoing.any():
            plant[own[0]] = plant_matrix(loop, s)
        values = plant / aliased[..., None, None]
        square = (aliased + 1.0 / T) ** 2
        total += np.sum(w[..., None, None] * values, axis=0)
        level += np.sum((m * square)[..., None, None] * values, axis=0)
        known += np.sum(w / square, axis=0)
    everywhere = T**2 * held_sums(0.0 * T, np.exp(-s * T))[0]
    total += level * (everywhere - known)[:, None, None]
    total *= (-np.expm1(-s * T) / T)[:, None, None]
    return close_with_updates(loop, total, s, loop.units)
