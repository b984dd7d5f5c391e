"""The linearised loop as matrices: classes of flows, the controller, and both together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["LinearClass", "LinearController", "LinearLoop"]


@dataclass(frozen=True)
class LinearClass:
    """One class of flows, linearised. With n > 1 states, trailing axes hold the n states.

    Attributes
    ----------
    a0, a1 : numpy.ndarray, shape (..., n, n), or (...) if n = 1
        Response of dx/dt to the state now and one round trip ago (1/s).
    b : shape (..., n) or (...)
        Response to the controller's variable one round trip ago.
    e0, e1 : shape (..., n) or (...)
        Response to the queue delay now and one round trip ago; 0 if frozen.
    c : shape (..., n) or (...)
        Response of the sending rate to the state.
    r : shape (...)
        Response of the sending rate to the queue delay.
    weight : shape (...)
        Flows per unit of capacity: their count / (packets per second).
    rtt : shape (...)
        Round-trip time in the loop (s).
    """

    a0: Any
    a1: Any
    b: Any
    e0: Any
    e1: Any
    c: Any
    r: Any
    weight: Any
    rtt: Any
    size: int


@dataclass(frozen=True)
class LinearController:
    """The queue's update as a ratio of polynomials in y = z^-1, coefficients in rising order.

    Attributes
    ----------
    numerator, denominator : tuple of numpy.ndarray, shape (...)
        u(z) / d(z) = sum(numerator[j] y^j) / sum(denominator[j] y^j).
    interval : shape (...)
        Time between updates (s).
    """

    numerator: tuple[Any, ...]
    denominator: tuple[Any, ...]
    interval: Any


@dataclass(frozen=True)
class LinearLoop:
    """A linearised loop: its classes, its controller, and the array shape of its parameters."""

    classes: tuple[LinearClass, ...]
    controller: LinearController
    shape: tuple[int, ...]

    def element(self, index: tuple[int, ...]) -> LinearLoop:
        """Return the scalar loop at one index of the array."""

        def pick(value: Any, trailing: int = 0) -> Any:
            value = np.asarray(value)
            full = np.broadcast_to(value, self.shape + value.shape[value.ndim - trailing :])
            return full[index]

        def pick_class(cls: LinearClass) -> LinearClass:
            vector = 0 if cls.size == 1 else 1
            matrix = 2 * vector
            return replace(
                cls,
                a0=pick(cls.a0, matrix),
                a1=pick(cls.a1, matrix),
                b=pick(cls.b, vector),
                e0=pick(cls.e0, vector),
                e1=pick(cls.e1, vector),
                c=pick(cls.c, vector),
                r=pick(cls.r),
                weight=pick(cls.weight),
                rtt=pick(cls.rtt),
            )

        controller = LinearController(
            tuple(pick(value) for value in self.controller.numerator),
            tuple(pick(value) for value in self.controller.denominator),
            pick(self.controller.interval),
        )
        return LinearLoop(tuple(pick_class(cls) for cls in self.classes), controller, ())
