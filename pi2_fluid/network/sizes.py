"""How large transfers are: `Fixed`, `Exponential`, `Pareto`, `Empirical`, in segments.

A segment is a full packet. What is drawn is rounded up to whole segments, and is 2^30 at most.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np

from pi2_fluid import _core
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.ops import Number
from pi2_fluid.records.record import OptionalParameter, Parameter, Record, quantities, quantity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pi2_fluid.values import FloatArray, IntArray

#: The largest transfer (segments).
_MOST: Final = float(_core.packet_limits()["MOST_TRANSFER"])
_MOST_SIZES: Final = _core.packet_limits()["MOST_SIZES"]


@dataclass(frozen=True, eq=False)
class Sizes(Record):
    """A distribution of sizes of transfers."""

    #: What it is called in TOML text, and in the kernel.
    kind: ClassVar[str]

    @property
    @abstractmethod
    def mean(self) -> float:
        """Mean size before it is rounded up (segments); inf if there is none."""

    @abstractmethod
    def numbers(self) -> list[float]:
        """Return what the kernel draws with."""

    @abstractmethod
    def _below(self, size: FloatArray) -> FloatArray:
        """Return with which probability a transfer has at most that size, which is >= 1."""

    def cdf(self, size: ArrayLike) -> FloatArray:
        """Return with which probability a transfer has at most `size` segments.

        Examples
        --------
        >>> Exponential(30).cdf([0, 1, 30]).round(3).tolist()
        [0.0, 0.033, 0.632]
        """
        asked = np.minimum(np.floor(np.asarray(size, dtype=float)), _MOST)
        found = self._below(np.maximum(asked, 1.0))
        return np.where(asked >= _MOST, 1.0, np.where(asked >= 1.0, found, 0.0))

    def sample(self, count: int, seed: int = 1) -> IntArray:
        """Return sizes (segments), drawn as packets draw them.

        Parameters
        ----------
        count : int
            How many.
        seed : int, default 1
            Which: the same seed draws the same sizes, on every machine.

        Raises
        ------
        QuantityError
            If `count` or `seed` is no whole number in range.

        Examples
        --------
        >>> Fixed(2.5).sample(3).tolist()
        [3, 3, 3]
        """
        try:
            return _core.packet_sizes(self.kind, self.numbers(), count, seed)
        except (TypeError, ValueError):
            raise QuantityError(
                f"count = {show_value(count)} and seed = {show_value(seed)} are no number of sizes"
                " up to 1e8 and no seed in [0, 2^64): give whole numbers, e.g. 1000 and 1."
            ) from None


@dataclass(frozen=True, eq=False)
class Fixed(Sizes):
    """All transfers are of one size.

    Parameters
    ----------
    size : float or str
        Segments, > 0.

    Raises
    ------
    QuantityError, DomainError
        If the size is no number of segments above 0.

    Examples
    --------
    >>> Fixed(30).mean
    30.0
    """

    kind: ClassVar[str] = "fixed"

    size: Parameter = quantity(None, "packets", high=_MOST)

    @property
    def mean(self) -> float:
        """The size (segments)."""
        return float(self.size)

    def numbers(self) -> list[float]:
        """Return the size."""
        return [float(self.size)]

    def _below(self, size: FloatArray) -> FloatArray:
        return np.where(size >= float(self.size), 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class Exponential(Sizes):
    """Exponentially distributed sizes.

    Parameters
    ----------
    mean : float or str
        Segments, > 0; rounded up, the mean is 1/(1 - exp(-1/mean)).

    Raises
    ------
    QuantityError, DomainError
        If the mean is no number of segments above 0.

    Examples
    --------
    >>> print(f"{Exponential(30).mean:.3f}")
    30.000
    """

    kind: ClassVar[str] = "exponential"

    mean: Parameter = quantity(None, "packets", high=_MOST)  # type: ignore[assignment]

    def numbers(self) -> list[float]:
        """Return the mean."""
        return [float(self.mean)]

    def _below(self, size: FloatArray) -> FloatArray:
        found: FloatArray = -np.expm1(-size / float(self.mean))
        return found


@dataclass(frozen=True, eq=False)
class Pareto(Sizes):
    """Sizes with a heavy tail: larger than s with probability (scale/s)^shape.

    With a shape of 1 or less and no cap there is no mean: how much is sent is decided by the few
    largest transfers, and is another story with every seed.

    Parameters
    ----------
    shape : float
        > 0; the smaller, the heavier the tail.
    scale : float or str
        The least size (segments).
    cap : float or str, optional
        The largest size (segments): what is drawn beyond it is cut down to it. None: 2^30.

    Raises
    ------
    QuantityError
        If the cap is below the scale.

    Examples
    --------
    >>> web = Pareto(1, 100)
    >>> web.mean, float(web.cdf(1000))
    (inf, 0.9)
    >>> round(Pareto(1.2, 10, cap=10_000).mean, 1)
    47.4
    """

    kind: ClassVar[str] = "pareto"

    shape: Parameter = quantity(None, "number")
    scale: Parameter = quantity(None, "packets", high=_MOST)
    cap: OptionalParameter = quantity(None, "packets", high=_MOST, optional=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cap is not None and np.any(self.cap < self.scale):
            raise QuantityError(
                f"Pareto cap = {show_value(self.cap)} is below scale = {show_value(self.scale)},"
                " the least size: raise cap, or leave it out."
            )

    @property
    def mean(self) -> float:
        """Mean size before it is rounded up (segments); inf for a shape of 1 without cap."""
        shape, scale = float(self.shape), float(self.scale)
        if self.cap is None:
            return scale * shape / (shape - 1.0) if shape > 1.0 else math.inf
        times = math.log(float(self.cap) / scale)  # of the integral of (scale/s)^shape
        bend = (1.0 - shape) * times
        return scale * (1.0 + (math.expm1(bend) / bend if bend else 1.0) * times)

    def numbers(self) -> list[float]:
        """Return shape, least and largest size."""
        return [float(self.shape), float(self.scale), float(self._largest)]

    @property
    def _largest(self) -> Number:
        return math.inf if self.cap is None else self.cap

    def _below(self, size: FloatArray) -> FloatArray:
        beyond = (float(self.scale) / size) ** float(self.shape)
        return np.where(size >= float(self._largest), 1.0, np.maximum(1.0 - beyond, 0.0))


@dataclass(frozen=True, eq=False)
class Empirical(Sizes):
    """Sizes drawn from a list, each as likely as the others.

    Parameters
    ----------
    sizes : sequence of float or str
        Segments, > 0; a size that is there twice is twice as likely.

    Raises
    ------
    QuantityError
        If there are none, or more than a million.

    Examples
    --------
    >>> measured = Empirical([1, 2, 2, 700])
    >>> measured.mean, measured.cdf([1, 2]).tolist()
    (176.25, [0.25, 0.75])
    """

    kind: ClassVar[str] = "empirical"

    sizes: tuple[Number, ...] = quantities("packets")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.sizes) <= _MOST_SIZES:
            raise QuantityError(
                f"Empirical sizes are {len(self.sizes)}, outside [1, {_MOST_SIZES}]: give as many"
                " as that, e.g. [1, 10, 100]."
            )

    @property
    def mean(self) -> float:
        """Mean size before it is rounded up (segments)."""
        return float(np.mean(self.numbers()))

    def numbers(self) -> list[float]:
        """Return the sizes."""
        return [float(size) for size in self.sizes]

    def _below(self, size: FloatArray) -> FloatArray:
        known = np.sort(self.numbers())
        return np.searchsorted(known, size, side="right") / known.size


#: All of them, by what they are called in text.
SIZES: Final[dict[str, type[Sizes]]] = {
    cls.kind: cls for cls in (Fixed, Exponential, Pareto, Empirical)
}
