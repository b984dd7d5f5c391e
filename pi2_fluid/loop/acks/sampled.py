"""The exact loop of a queue that updates every T seconds, by acknowledgements.

What the rate clock expands at large s, delay by delay, has no such expansion here: 1/(1 - e) is as
large at one harmonic as at the next. The terms G(s_k)/s_k fall like k^-2 or k^-3, times something
that never settles. Its mean over k does, and the sum of mean/(s_k + 1/T)^2 is known,

    (1/T) sum over all k of 1/(s_k + 1/T)^2 = T q/(1 - q)^2,    q = e^{-1 - sT}.

What differs from the mean is summed up to |k| = K with weights that fall smoothly from 1 to 0,
which sums of oscillations forgive: `tests/loop/test_acks.py` compares with thousands of aliases.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.loop.acks.compiled import compiled_plants
from pi2_fluid.loop.acks.plant import AckLoop, delay_response
from pi2_fluid.loop.sampled import alias_sum, held_sums
from pi2_fluid.loop.state_space import once

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pi2_fluid.values import ComplexArray, FloatArray

ALIASES: Final = 48  # pairs
_BLOCK: Final = 2**16  # complex numbers evaluated at once


@alias_sum.register(AckLoop)
def alias_sum_of_acks(loop: AckLoop, s: ComplexArray, aliases: int | None) -> ComplexArray:
    """Return (1/T) sum over k of G(s_k)/s_k by acknowledgements."""
    sums = compiled_sums_of(loop) if aliases is None else compiled_sums(loop, aliases)
    if sums is None:
        return sum_all(loop, s, aliases)
    # A row of points for each loop: those axes come first along which the loops differ.
    shape = np.broadcast_shapes(s.shape, loop.shape)
    own = [axis - len(loop.shape) for axis, size in enumerate(loop.shape) if size > 1]
    first = list(range(len(own)))
    rows = np.moveaxis(np.broadcast_to(s, shape), own, first)
    flat = np.ascontiguousarray(rows.reshape(math.prod(loop.shape), -1), np.complex128)
    return np.moveaxis(sums.at(flat).reshape(rows.shape), first, own)


def compiled_sums(loop: AckLoop, aliases: int = ALIASES) -> _core.AckSums | None:
    """Return the compiled sums over so many pairs of aliases of each loop."""
    plants = compiled_plants(loop)
    if plants is None:
        return None
    _, whole, mean = alias_weights(aliases)
    T = np.broadcast_to(np.asarray(loop.controller.interval, float), loop.shape).ravel()
    return _core.AckSums(plants, interval=T.tolist(), whole=whole, mean=mean, echoing=loop.echoing)


@once
def compiled_sums_of(loop: AckLoop) -> _core.AckSums | None:
    """Return `compiled_sums` of loops over as many aliases as they need, made once."""
    return compiled_sums(loop)


def sum_all(loop: AckLoop, s: ComplexArray, aliases: int | None = None) -> ComplexArray:
    """Return (1/T) sum over k of G(s_k)/s_k, of any loops; the compiled sums give the same."""
    T = loop.controller.interval
    K = ALIASES if aliases is None else aliases
    k, whole, mean = alias_weights(K)
    shape = np.broadcast_shapes(s.shape, loop.shape)
    total: Any = 0.0
    level: Any = 0.0
    known: Any = 0.0
    block = max(1, _BLOCK // max(1, math.prod(shape)))
    for start in range(0, 2 * K, block):
        part = slice(start, start + block)
        column = (-1, *(1,) * len(shape))
        number = k[part].reshape(column)
        w, m = whole[part].reshape(column), mean[part].reshape(column)

        def late(delay: FloatArray, number: NDArray[np.int64] = number) -> ComplexArray:
            turns = number * (delay / T)  # of which whole ones change nothing but digits
            turned = np.exp(-2j * np.pi * (turns - np.round(turns)))
            result: ComplexArray = np.exp(-s * delay) * turned
            return result

        s_k = s + 2j * np.pi * number / T
        # Without their echoes in high aliases, which would fold onto frequencies of the loop.
        values = delay_response(loop, s_k, echoes=loop.echoing, shift=late) / s_k
        if not loop.echoing and start <= K < start + block:
            values[K - start] = delay_response(loop, s) / s
        inverse = s_k + 1.0 / T
        inverse *= inverse
        total = total + np.sum(w * values, axis=0)
        level = level + np.sum(m * values * inverse, axis=0)
        known = known + np.sum(w / inverse, axis=0)
    everywhere = T**2 * held_sums(0.0 * T, np.exp(-s * T))[0]
    result: ComplexArray = (total + level * (everywhere - known)) / T
    return result


@cache
def alias_weights(pairs: int) -> tuple[NDArray[np.int64], FloatArray, FloatArray]:
    """The aliases k, in pairs about pi/T, and their weights.

    At x = |k|/K in (0, 1): of the sum, 1 below 1/3; and of the mean, of sum 1.
    """
    k = np.arange(-pairs, pairs)
    x = np.abs(k + 0.5) / pairs
    y = np.clip((x - 1.0 / 3.0) / (2.0 / 3.0), 1e-9, 1.0 - 1e-9)
    rising, falling = np.exp(-1.0 / y), np.exp(-1.0 / (1.0 - y))
    down = falling / (rising + falling)
    bump = down * (1.0 - down)
    return k, down, bump / np.sum(bump)
