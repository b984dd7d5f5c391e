"""`Unit`: what others count a parameter in, where that is whole numbers; a field declares it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

_ROUNDING: Final = 1e-9  # of a number that is a whole one but for binary fractions


@dataclass(frozen=True, kw_only=True)
class Unit:
    """Whole numbers that stand for a parameter.

    Parameters
    ----------
    name : str
        What tc prints such numbers as, see `pi2_fluid.tc.numbers`.
    per_si : int
        How many of them are one in SI.
    low, high : int
        The least and the most that tc and kernel take.
    """

    name: str
    per_si: int = 1
    low: int = 1
    high: int = 2**32 - 1

    @property
    def numbers(self) -> range:
        """Those that tc and kernel take."""
        return range(self.low, self.high + 1)

    def ask(self, value: float) -> int | None:
        """Return the number to ask for where a law has this value; None if there is none."""
        exact = self.per_si * value
        whole = round(exact)
        return whole if abs(exact - whole) <= _ROUNDING * max(1.0, exact) else None

    def nearest(self, value: float) -> int:
        """Return the number nearest to a value: what a kernel takes by itself."""
        return round(self.per_si * value)

    def act(self, asked: int) -> Any:
        """Return the value (SI) that the kernel acts with."""
        return asked / self.per_si

    def tell(self, asked: int) -> int:
        """Return the number that the kernel tells tc."""
        return asked

    def in_si(self, number: float) -> float:
        """Return such a number in SI, whole where the unit is that of SI."""
        return int(number) if self.per_si == 1 else number / self.per_si
