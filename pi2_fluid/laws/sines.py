"""A mean with sines around it: a signal that is given over time, and that text can hold."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, show_value
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import Number, Quantity

_NUMBER: Final = r"[+-]?\d+\.?\d*(?:[eE][+-]?\d+)?"
_TERM: Final = re.compile(rf"({_NUMBER}) sin\(({_NUMBER}) t(?: \+ ({_NUMBER}))?\)")
_TEXT: Final = re.compile(rf"({_NUMBER})((?: \+ {_NUMBER} sin\({_NUMBER} t(?: \+ {_NUMBER})?\))*)")


@dataclass(frozen=True)
class Sines:
    """mean + sum of amplitude_i sin(frequency_i t + phase_i), with t in seconds.

    Parameters
    ----------
    mean : float
        At least 0; at 0 they are a change of something else, to which they are added.
    amplitudes : sequence of float
        Of each sine, above 0; all together at most `mean`, unless that is 0.
    frequencies : sequence of float
        rad/s; no two of them the same.
    phases : sequence of float, optional
        rad; all 0 by default.

    Raises
    ------
    QuantityError, DomainError
        If there are not as many of each, or a number is out of range.

    Examples
    --------
    >>> given = Sines(0.02, [0.001, 0.002], [2.0, 5.0])
    >>> str(given)
    '0.02 + 0.001 sin(2.0 t + 0.0) + 0.002 sin(5.0 t + 0.0)'
    >>> float(given(0.0)), Sines.parse(str(given)) == given
    (0.02, True)
    """

    mean: float
    amplitudes: tuple[float, ...]
    frequencies: tuple[float, ...]
    phases: tuple[float, ...]

    def __init__(
        self,
        mean: Quantity,
        amplitudes: Sequence[float],
        frequencies: Sequence[float],
        phases: Sequence[float] | None = None,
    ) -> None:
        strengths = _row(amplitudes, "number", "amplitudes")
        omega = _row(frequencies, "number", "frequencies")
        angles = (0.0,) * len(omega) if phases is None else _row(phases, "", "phases")
        if not len(strengths) == len(omega) == len(angles):
            raise QuantityError(
                f"Sines has {len(strengths)} amplitudes, {len(omega)} frequencies and"
                f" {len(angles)} phases: give as many of each."
            )
        if len(set(omega)) < len(omega):
            raise QuantityError(
                f"Sines frequencies = {show_value(omega)} has one of them twice: give each once."
            )
        middle = float(validate_quantity(mean, "number", "Sines mean", closed=True))
        if middle > 0.0 and sum(strengths) > middle * (1.0 + 1e-12):
            raise DomainError(
                f"Sines amplitudes = {show_value(strengths)} are together above the mean,"
                f" {middle:g}, so that it would fall below 0: give smaller ones."
            )
        for name, value in zip(
            ("mean", "amplitudes", "frequencies", "phases"),
            (middle, strengths, omega, angles),
            strict=True,
        ):
            object.__setattr__(self, name, value)

    @property
    def highest(self) -> float:
        """What it never exceeds: the mean and all amplitudes."""
        return self.mean + sum(self.amplitudes)

    @property
    def lowest(self) -> float:
        """What it never falls below: the mean less all amplitudes."""
        return self.mean - sum(self.amplitudes)

    def __call__(self, t: Number) -> Number:
        """Return the value at time `t` (s), a number or an array."""
        terms = zip(self.amplitudes, self.frequencies, self.phases, strict=True)
        return self.mean + sum((a * np.sin(w * t + angle) for a, w, angle in terms), 0.0 * t)

    def __str__(self) -> str:
        terms = zip(self.amplitudes, self.frequencies, self.phases, strict=True)
        return " + ".join(
            [f"{self.mean!r}", *(f"{a!r} sin({w!r} t + {angle!r})" for a, w, angle in terms)]
        )

    @classmethod
    def parse(cls, text: str) -> Sines:
        """Return the sines that a text like that of `str` describes.

        Raises
        ------
        QuantityError, DomainError
            If it is another text, or a number is out of range.
        """
        found = _TEXT.fullmatch(text)
        if found is None:
            raise QuantityError(
                f"{show_value(text)} is no sum of sines: give text such as"
                ' "0.02 + 0.001 sin(2 t)", with rad/s before t and a phase after it, if any.'
            )
        terms = [tuple(float(part or 0.0) for part in term) for term in _TERM.findall(found[2])]
        amplitudes, frequencies, phases = zip(*terms, strict=True) if terms else ((), (), ())
        return cls(float(found[1]), amplitudes, frequencies, phases)


def _row(values: object, dimension: str, name: str) -> tuple[float, ...]:
    """Return numbers: above 0, unless they have no dimension to be checked by."""
    what = f"Sines {name}"
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise QuantityError(
            f"{what} = {show_value(values)} is no sequence: give a list of numbers."
        )
    if dimension:
        return tuple(float(validate_quantity(value, dimension, what)) for value in values)
    for value in values:
        if not isinstance(value, (int, float, np.number)) or not math.isfinite(value):
            raise QuantityError(f"{what} has {show_value(value)}, no angle: give numbers, in rad.")
    return tuple(float(value) for value in values)
