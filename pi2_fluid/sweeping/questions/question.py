"""What is asked at each point, whatever it is."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pi2_fluid.sweeping.outcomes import Outcome, attempt

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What one point, or some that are asked together, came to: their places, and what they have.
Piece = tuple[slice, "tuple[Outcome, frozenset[str]] | Exception"]


class Question(ABC):
    """What is asked at each point; it goes to workers, and so holds values alone."""

    #: What is given, in a word.
    kind: ClassVar[str]
    #: The runs of each point, where they have seeds.
    seeds: tuple[int, ...] = ()

    @abstractmethod
    def dimension(self, name: str) -> str:
        """Return the dimension of a name that may vary, or refuse it."""

    @abstractmethod
    def ask(
        self, columns: Mapping[str, NDArray[Any]], seeds: Sequence[int], count: int
    ) -> Iterator[Piece]:
        """Yield what `count` points have.

        Parameters
        ----------
        columns : mapping of str to array
            Of each name the value at each point.
        seeds : sequence of int
            Of each point, where there are seeds.
        count : int
            How many points.
        """

    def bare(self) -> Question:
        """Return the question without what points bring along."""
        return self

    @abstractmethod
    def describe(self) -> dict[str, str]:
        """Return in words what is asked, but the axes."""

    @abstractmethod
    def parts(self) -> dict[str, object]:
        """Return what results follow from, but the axes, by the names of `sweep`'s arguments."""


class Pointwise(Question):
    """What is asked point by point."""

    @abstractmethod
    def at(self, values: Mapping[str, Any]) -> tuple[Outcome, frozenset[str]]:
        """Return what a point has."""

    def ask(
        self, columns: Mapping[str, NDArray[Any]], seeds: Sequence[int], count: int
    ) -> Iterator[Piece]:
        """Yield what each point has."""
        for place, values in enumerate(rows_of(columns)):
            yield slice(place, place + 1), attempt(functools.partial(self.at, values))


def rows_of(columns: Mapping[str, NDArray[Any]]) -> list[dict[str, Any]]:
    """Return what the names are at each point, as Python's own numbers and text."""
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]
