"""The equations of one stage as matrices, and how they are written down term by term.

With z what has slopes and w what follows at once, both at an instant and before it,

    dz/dt = a + A z + B w + sum of E_k v(t - d_k),
    w     = c + L z + N w + sum of F_k v(t - d_k),          v = (z, w),

where N leads from no w back to itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray

_NONE: Final = 1e-12  # s: a delay that is none
_SAME: Final = 1e-13  # s, between delays that are one
_CHAIN: Final = 6  # how often weights are handed on: as far as kinks matter


class Writer:
    """Equations in the making: rows of z first, then those of w.

    Parameters
    ----------
    states, outputs : int
        How many numbers z and w have.
    """

    def __init__(self, states: int, outputs: int) -> None:
        self.states, self.size = states, states + outputs
        self.constant = np.zeros(self.size)
        self.at_once = np.zeros((self.size, self.size))
        self.late: dict[float, FloatArray] = {}

    def add(self, row: int, column: int, factor: float, delay: float = 0.0) -> None:
        """Add a number, so long ago (s), times a factor."""
        self.matrix(delay)[row, column] += factor

    def matrix(self, delay: float) -> FloatArray:
        """Return the matrix of what is read so long ago."""
        if delay <= _NONE:
            return self.at_once
        for known, matrix in self.late.items():
            if abs(known - delay) <= _SAME:
                return matrix
        return self.late.setdefault(delay, np.zeros((self.size, self.size)))


class Equations:
    """The equations of one stage, solved for w.

    Parameters
    ----------
    written : Writer
        What they are made of.
    sizes : array, shape (states,)
        By which an error of each state is divided to make it relative.
    """

    def __init__(self, written: Writer, sizes: FloatArray) -> None:
        n, size = written.states, written.size
        self.states, self.sizes, self._written = n, sizes, written
        self.delays = np.array(list(written.late), float)
        late = list(written.late.values()) or [np.zeros((size, size))]
        if not written.late:
            self.delays = np.array([1.0])
        self.late = np.stack(late)
        #: Which delay and which number each column of `reads` is of.
        used = np.any(self.late != 0.0, axis=1)
        self.columns = np.flatnonzero(used.ravel())
        self._solve(written.at_once, written.constant)
        self.weights = self._weights()

    def _solve(self, at_once: FloatArray, constant: FloatArray) -> None:
        n, size = self.states, len(constant)
        follows = np.linalg.inv(np.eye(size - n) - at_once[n:, n:])
        #: From what is added to w by itself to slopes and w.
        self.pushes = np.concatenate([at_once[:n, n:] @ follows, follows]).T.copy()
        self.by_state = follows @ at_once[n:, :n]
        self.outputs = follows @ constant[n:]
        onto = at_once[:n, n:]
        self.motion = at_once[:n, :n] + onto @ self.by_state
        self.drift = constant[:n] + onto @ self.outputs
        flat = self.late.transpose(1, 0, 2).reshape(size, -1)[:, self.columns]
        w = follows @ flat[n:]
        #: From all that is read to slopes and outputs.
        self.reads = np.concatenate([flat[:n] + onto @ w, w]).T.copy()
        #: The same delay by delay, of jumps in what is read.
        late_w = follows @ self.late[:, n:]
        self.images = np.concatenate([self.late[:, :n] + onto @ late_w, late_w], axis=1)

    def at_rest(self, z: FloatArray) -> FloatArray:
        """Return w where it has been as it is for ever."""
        n, at_once = self.states, self._written.at_once
        total = at_once[n:] + (self.late[:, n:].sum(axis=0))
        matrix = np.eye(len(total)) - total[:, n:]
        result: FloatArray = np.linalg.solve(matrix, self._written.constant[n:] + total[:, :n] @ z)
        return result

    def scale(self, z: FloatArray) -> float:
        """Return by how much more than in `sizes` an error may be, where a state has outgrown them.

        What grows without bound takes all others along.
        """
        return max(1.0, float((np.abs(z) / self.sizes).max(initial=0.0)))

    def _weights(self) -> FloatArray:
        """Return of each number how much a jump of it moves states in a second, over their size."""
        n = self.states
        onto = self._written.at_once[:n, n:] / self.sizes[:, None]
        found: FloatArray = np.zeros(self._written.size)
        found[n:] = np.abs(onto).max(axis=0, initial=0.0)
        slopes: FloatArray = np.abs(self.late[:, :n] / self.sizes[:, None])
        found = np.maximum(found, slopes.max(axis=(0, 1), initial=0.0))
        for _ in range(_CHAIN):
            ahead = np.abs(self._written.at_once[n:]) * found[n:, None]
            later = np.abs(self.late[:, n:]) * found[n:, None]
            found = np.maximum(found, ahead.max(axis=0, initial=0.0))
            found = np.maximum(found, later.max(axis=(0, 1), initial=0.0))
        return found
