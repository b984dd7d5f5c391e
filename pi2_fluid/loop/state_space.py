"""The linearised loop as matrices: classes of flows, the controller, and both together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import numpy as np

from pi2_fluid.loop.polynomials import in_steps, polynomial_roots, tustin_image

if TYPE_CHECKING:
    from pi2_fluid.values import FloatArray, Real

_ROUNDED: Final = 1e-12  # of the largest of a class

L = TypeVar("L", bound="Keeping")
A = TypeVar("A", bound="AnyLoop")
T = TypeVar("T")


class _AnyClass(Protocol):
    @property
    def rtt(self) -> FloatArray:
        """Round-trip time, queue included (s)."""


class AnyLoop(Protocol):
    """A linearised loop by whatever clock: a plant of flows and a queue, and its controller.

    What is asked of the plant dispatches on the kind of loop: `plant_response`, `gain_bound`,
    `slowest_corner`, `landmarks_of`, `alias_sum`, `count_unstable` and `rightmost_roots`.
    """

    @property
    def classes(self) -> tuple[_AnyClass, ...]:
        """The classes that move."""

    @property
    def controller(self) -> LinearController:
        """From the delay it acts on to its variable."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the array of loops."""

    @property
    def reach(self) -> float:
        """The frequency (rad/s) at which the loop ends; inf, as a rule."""

    def element(self, index: tuple[Any, ...]) -> AnyLoop:
        """Return the scalar loop at one index of the array."""


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
        Round-trip time, queue included (s).
    size : int
        n.
    lead : shape (...), or None
        Seconds: the rate acts on the queue delay not as weight * y but as weight * (y + lead y'),
        because it takes the link from the queue. Such a class does not feel that delay: e0, e1 and
        r are 0.
    """

    a0: FloatArray
    a1: FloatArray
    b: FloatArray
    e0: FloatArray
    e1: FloatArray
    c: FloatArray
    r: FloatArray
    weight: FloatArray
    rtt: FloatArray
    size: int
    lead: FloatArray | None = None


@dataclass(frozen=True)
class LinearController:
    """The queue's controller as a ratio of polynomials, coefficients in rising order.

    Attributes
    ----------
    numerator, denominator : tuple of numpy.ndarray, shape (...)
        u / d = sum(numerator[j] y^j) / sum(denominator[j] y^j), in y = z^-1 for a law that updates
        every `interval`, in y = s for one that acts on every packet.
    interval : shape (...), or None
        Time between updates (s), None if the law acts on every packet.
    flowing : pair of such tuples, or None
        Of a law with updates whose continuous form is another than their bilinear image: numerator
        and denominator in powers of s.
    """

    numerator: tuple[FloatArray, ...]
    denominator: tuple[FloatArray, ...]
    interval: Any
    flowing: tuple[tuple[FloatArray, ...], tuple[FloatArray, ...]] | None = None

    @cached_property
    def continuous_image(self) -> tuple[list[FloatArray], list[FloatArray], Real]:
        """The coefficients of both polynomials in rising powers of x = s unit, and the unit (s).

        The unit is T/2, or 1 of a polynomial in s.
        """
        own = (self.numerator, self.denominator) if self.interval is None else self.flowing
        if own is not None:
            return list(own[0]), list(own[1]), 1.0
        top, bottom = tustin_image(self.numerator, self.denominator)
        return top, bottom, self.interval / 2

    def element(self, shape: tuple[int, ...], index: tuple[int, ...]) -> LinearController:
        """Return the controller of one loop of an array of that shape."""

        def pick(values: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
            return tuple(element_of(value, shape, index) for value in values)

        interval = None if self.interval is None else element_of(self.interval, shape, index)
        flowing = None if self.flowing is None else (pick(self.flowing[0]), pick(self.flowing[1]))
        return LinearController(pick(self.numerator), pick(self.denominator), interval, flowing)

    @cached_property
    def rates(self) -> FloatArray:
        """Moduli of its poles (rad/s), the first axis; none of a law with updates alone."""
        if self.interval is not None and self.flowing is None:
            return np.zeros(0)
        _, bottom, _ = self.continuous_image
        result: FloatArray = np.abs(polynomial_roots(bottom))
        return result

    @cached_property
    def in_steps(self) -> tuple[list[FloatArray], list[FloatArray]]:
        """The coefficients of both polynomials in rising powers of 1 - y."""
        top, bottom = in_steps(self.numerator, self.denominator)
        return top, bottom


@dataclass(frozen=True)
class Keeping:
    """A dataclass with which `once` keeps answers, which stay behind where it is copied or sent."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class LinearLoop(Keeping):
    """A linearised loop: its classes, its controller, and the array shape of its parameters."""

    classes: tuple[LinearClass, ...]
    controller: LinearController
    shape: tuple[int, ...]

    @property
    def reach(self) -> float:
        """All frequencies."""
        return np.inf

    def element(self, index: tuple[int, ...]) -> LinearLoop:
        """Return the scalar loop at one index of the array."""

        def pick_class(cls: LinearClass) -> LinearClass:
            arrays = {name: value for name, value in vars(cls).items() if name != "size"}
            trailing = {"a0": 2, "a1": 2} | dict.fromkeys(("b", "c", "e0", "e1"), 1)
            picked: dict[str, Any] = {
                name: element_of(value, self.shape, index, (cls.size > 1) * trailing.get(name, 0))
                for name, value in arrays.items()
                if value is not None
            }
            return replace(cls, **picked)

        classes = tuple(pick_class(cls) for cls in self.classes)
        return LinearLoop(classes, self.controller.element(self.shape, index), ())


def slowest_rate(
    classes: Iterable[LinearClass], controllers: Iterable[LinearController]
) -> FloatArray:
    """Return the slowest rate (1/s) in matrices of classes and controllers, but for what stands."""
    rates: list[FloatArray] = []
    for cls in classes:
        own = np.abs(cls.a0 + cls.a1)
        # What stands but for rounding has no rate.
        axes = (-2, -1) if cls.size > 1 else ()
        largest = np.max(np.abs(cls.a0) + np.abs(cls.a1), axis=axes, keepdims=True, initial=0.0)
        own = np.where(own > _ROUNDED * largest, own, 0.0)
        rates.append(1.0 / np.asarray(cls.rtt))
        rates += (
            [own] if cls.size == 1 else [own[..., i, j] for i, j in np.ndindex(cls.size, cls.size)]
        )
    for controller in controllers:
        rates += list(controller.rates)
    moving = [np.where(rate == 0.0, np.inf, rate) for rate in rates]
    slowest: FloatArray = np.min(np.broadcast_arrays(*moving), axis=0)
    return slowest


def element_of(
    value: FloatArray, shape: tuple[int, ...], index: tuple[int, ...], trailing: int = 0
) -> FloatArray:
    """Return what an array holds of one loop of many; its last axes, if any, are the loop's own."""
    value = np.asarray(value)
    full = np.broadcast_to(value, shape + value.shape[value.ndim - trailing :])
    result: FloatArray = full[index]
    return result


def once(function: Callable[[L], T]) -> Callable[[L], T]:
    """Let what a function says of a loop be kept with that loop, like a cached property of it."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def answer(loop: L) -> T:
        kept = vars(loop)
        if name not in kept:
            kept[name] = function(loop)
        return kept[name]  # type: ignore[no-any-return]

    return answer


def told_once(loop: A) -> A:
    """Return senders and queue of an array of loops, each axis of length 1 along which all agree.

    An array of gains has one plant, and what is asked of that alone need not be asked for each
    gain. The controller that comes with it is the first one's.
    """
    found: A = _without_repeats(loop)  # type: ignore[type-var]
    return found


@once
def _without_repeats(loop: L) -> L:
    array: Any = loop
    interval, own = array.controller.interval, array.shape
    numbers = list(_numbers_in(loop))
    numbers += [] if interval is None else [np.broadcast_to(interval, own)]
    alike = [
        all(bool(np.all(value == value.take([0], axis=axis))) for value in numbers)
        for axis in range(len(own))
    ]
    if not any(alike):
        return loop
    index = tuple(slice(0, 1) if same else slice(None) for same in alike)
    shape = tuple(1 if same else size for same, size in zip(alike, own, strict=True))
    result: L = replace(array.element(index), shape=shape)
    return result


def _numbers_in(record: object) -> Iterable[FloatArray]:
    """The arrays of a loop's classes and of itself, whose first axes are the loop's."""
    for name, value in vars(record).items():
        if isinstance(value, np.ndarray):
            yield value
        elif name == "pauses" and value is not None:
            yield from _numbers_in(value)
        elif name == "classes":
            for cls in value:
                yield from _numbers_in(cls)
