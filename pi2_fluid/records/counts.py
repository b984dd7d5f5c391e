"""Counts: how many flows of which class, a mapping that is a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from pi2_fluid.errors import ScenarioError, show_value
from pi2_fluid.ops import Number
from pi2_fluid.records.pytrees import register_pytree
from pi2_fluid.units import validate_quantity

_EXAMPLE: Final = 'give e.g. {"reno": 15}'


class Counts(Mapping[str, Number]):
    """An immutable mapping from the name of a class to a number, sorted by name: of its flows.

    It compares and hashes by value, and is a JAX pytree whose leaves are the numbers.

    Parameters
    ----------
    counts : mapping of str to float
        Numbers of flows, >= 0.
    name : str
        What the mapping is called in messages.
    dimension, example : str
        What is counted, where it is not flows, and what is to be given then.

    Raises
    ------
    ScenarioError
        If it is no mapping from text.
    QuantityError, DomainError
        If a count is no number, or negative.

    Examples
    --------
    >>> Counts({"web": 15, "bulk": 2})
    {'bulk': 2.0, 'web': 15.0}
    """

    __slots__ = ("_counts",)
    _counts: dict[str, Number]

    def __init__(
        self,
        counts: Mapping[str, Any],
        name: str = "counts",
        dimension: str = "number",
        example: str = _EXAMPLE,
    ) -> None:
        if not isinstance(counts, Mapping):
            raise ScenarioError(f"{name} = {show_value(counts)} is no mapping: {example}.")
        for key in counts:
            if not isinstance(key, str):
                raise ScenarioError(
                    f"{name} has the key {show_value(key)}, which names no class: {example}."
                )
        self._counts = {}
        for key in sorted(counts):
            count = validate_quantity(counts[key], dimension, f"{name}[{key!r}]", closed=True)
            if isinstance(count, np.ndarray):
                count.flags.writeable = False  # a copy, frozen as the mapping is
            self._counts[key] = count

    def __getitem__(self, key: str) -> Number:
        return self._counts[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        return self.keys() == other.keys() and all(
            np.array_equal(self[key], other[key]) for key in self
        )

    def __hash__(self) -> int:
        # Adding 0 turns -0.0 into 0.0: they are equal, so must hash alike.
        numbers = (np.asarray(number, float) + 0.0 for number in self._counts.values())
        return hash((tuple(self._counts), *((n.shape, n.tobytes()) for n in numbers)))

    def __repr__(self) -> str:
        return repr(self._counts)

    def tree_flatten_with_keys(self) -> tuple[Any, tuple[str, ...]]:
        """Return the numbers with their keys, and the names."""
        from jax.tree_util import DictKey

        return [(DictKey(key), self[key]) for key in self], tuple(self)

    @classmethod
    def tree_unflatten(cls, names: tuple[str, ...], numbers: Iterable[Any]) -> Counts:
        """Return the mapping around any objects: JAX puts placeholders in the place of numbers."""
        made = object.__new__(cls)
        made._counts = dict(zip(names, numbers, strict=True))
        return made


register_pytree(Counts, Counts.tree_flatten_with_keys, Counts.tree_unflatten)
