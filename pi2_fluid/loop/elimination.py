"""Small systems of linear equations in JAX, of as many unknowns as a law has states."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

Traced: TypeAlias = Any


def solved(matrix: Traced, right: Traced) -> Traced:
    """Return x of matrix x = right, by elimination with the largest pivot of each column.

    As `jax.numpy.linalg.solve`, whose LAPACK can wait for itself for ever: in JAX 0.10.2 each of
    its calls occupies a thread of XLA's pool and waits there for others of that pool, which on two
    processors has two.

    Parameters
    ----------
    matrix : array, shape (n, n)
    right : array, shape (n,) or (n, m)

    Examples
    --------
    >>> import numpy as np
    >>> solved(np.array([[0.0, 2.0], [4.0, 1.0]]), np.array([2.0, 5.0])).tolist()
    [1.0, 1.0]
    """
    return _compiled()(matrix, right)


@cache
def _compiled() -> Any:
    """Return the elimination as one operation, so that JAX compiles it once for each shape."""
    import jax

    return jax.jit(_eliminated)


def _eliminated(matrix: Traced, right: Traced) -> Traced:
    from jax import numpy as jnp

    size, shape = matrix.shape[0], right.shape
    dtype = jnp.result_type(matrix, right)
    whole = [jnp.asarray(matrix, dtype), jnp.asarray(right, dtype).reshape(size, -1)]
    rows = jnp.concatenate(whole, axis=1)
    for k in range(size):
        largest = k + jnp.argmax(jnp.abs(rows[k:, k]))
        first, pivot = rows[k], rows[largest]
        rows = rows.at[largest].set(first).at[k].set(pivot)
        below = rows[k + 1 :] - rows[k + 1 :, k : k + 1] / pivot[k] * pivot
        rows = rows.at[k + 1 :].set(below)
    found: list[Any] = []
    for k in reversed(range(size)):
        known = sum((rows[k, k + 1 + j] * each for j, each in enumerate(found)), start=0.0)
        found.insert(0, (rows[k, size:] - known) / rows[k, k])
    return jnp.stack(found).reshape(shape)
