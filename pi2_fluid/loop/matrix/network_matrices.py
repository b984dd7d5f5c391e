"""What loops of networks by either clock have in common: controllers behind a plant of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np

from pi2_fluid.loop.response import controller_polynomials, held_polynomials
from pi2_fluid.loop.state_space import Keeping, LinearController

if TYPE_CHECKING:
    from pi2_fluid.values import ComplexArray, FloatArray

_L = TypeVar("_L", bound="NetworkMatrices")
_P = ParamSpec("_P")


class _Class(Protocol):
    @property
    def rtt(self) -> FloatArray:
        """Round-trip time, queues included (s)."""


@dataclass(frozen=True, eq=False)
class NetworkMatrices(Keeping):
    """A network linearised at rest, by whatever clock.

    Attributes
    ----------
    controllers : tuple of LinearController
        Of each link that signals.
    """

    if TYPE_CHECKING:

        @property
        def classes(self) -> Sequence[_Class]:
            """Those that move."""

        @property
        def controllers(self) -> tuple[LinearController, ...]:
            """Of each link that signals."""

    @cached_property
    def rtt(self) -> FloatArray:
        """Round-trip time of each class, queues included (s)."""
        return np.array([float(cls.rtt) for cls in self.classes])

    @cached_property
    def intervals(self) -> list[float]:
        """Time between updates of each link that signals (s); inf without updates."""
        every = [controller.interval for controller in self.controllers]
        return [np.inf if interval is None else float(interval) for interval in every]

    @cached_property
    def units(self) -> FloatArray:
        """What each controller acts on, per unknown of its link: seconds, as a rule."""
        return np.ones(len(self.controllers))


def control(
    loop: NetworkMatrices, number: int, s: ComplexArray, *, half_sample: bool
) -> tuple[ComplexArray, ComplexArray]:
    """Return numerator and denominator of H, from the unknown of a link to its variable."""
    numerator, denominator = controller_polynomials(loop.controllers[number], s)
    if half_sample:
        numerator = numerator * np.exp(-s * loop.intervals[number] / 2)
    return loop.units[number] * numerator, denominator


def close_with_controllers(
    loop: NetworkMatrices, plant: ComplexArray, s: ComplexArray, *, half_sample: bool
) -> ComplexArray:
    """Return L(s), so that det(I + L) = 0 is the characteristic equation, in place of the plant.

    Parameters
    ----------
    loop : NetworkMatrices
    plant : complex array, shape (n, links, links)
        From the controllers' variables to minus what they look at.
    s : complex array, shape (n,)
        rad/s, not 0.
    half_sample : bool
        Multiply each column by e^{-sT/2}, the mean delay of a signal held for T.
    """
    for column in range(len(loop.controllers)):
        numerator, denominator = control(loop, column, s, half_sample=half_sample)
        plant[:, :, column] *= (numerator / denominator)[:, None]
    return plant


def close_with_updates(
    loop: NetworkMatrices, sums: ComplexArray, s: ComplexArray, units: FloatArray
) -> ComplexArray:
    """Return L_d at z = e^{sT} in place of the plant's sums over aliases.

    Parameters
    ----------
    loop, s
        As for `close_with_controllers`.
    sums : complex array, shape (n, links, links)
    units : shape (links,)
        What each update sees, per unknown of its link.
    """
    for column, controller in enumerate(loop.controllers):
        numerator, denominator = held_polynomials(controller, s)
        sums[:, :, column] *= (units[column] * numerator / denominator)[:, None]
    return sums


def mirrored(
    function: Callable[Concatenate[_L, ComplexArray, _P], ComplexArray],
) -> Callable[Concatenate[_L, ComplexArray, _P], ComplexArray]:
    """Let a function know s above the real axis alone: below it are the mirror images."""

    @wraps(function)
    def answer(loop: _L, s: ComplexArray, /, *args: _P.args, **options: _P.kwargs) -> ComplexArray:
        below = s.imag < 0.0
        if not below.any():
            return function(loop, s, *args, **options)
        values = function(loop, np.where(below, np.conj(s), s), *args, **options)
        result: ComplexArray = np.where(below[:, None, None], np.conj(values), values)
        return result

    return answer
