"""What the papers state about their figures, read from a table beside each paper's modules."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal, get_args

#: How a paper says something, on which depends how far ours may be from it: see `verdicts`.
Wording = Literal[
    "number", "about", "share", "less", "more", "alike", "exact", "below", "above", "holds", "note"
]

_WORDINGS: Final[tuple[Wording, ...]] = get_args(Wording)
_COLUMNS: Final = ("figure", "key", "quantity", "value", "unit")
_PAPERS: Final = ("pi2", "pie", "paganini", "thesis")


@dataclass(frozen=True, kw_only=True)
class Stated:
    """One statement of a paper about one of its figures.

    Attributes
    ----------
    figure : str
        Paper and number, "pi2:15".
    key : str
        What it is called among those of its figure.
    quantity : str
        What is stated, in our words.
    value : str
        The number as printed; of a relation what it relates, in words.
    unit : str
        "" for a plain number.
    wording : str
        How it is said: number; about; share (of a distribution); less, more or alike (a ratio
        compared with 1); exact (a count or a setting); below or above (a bound); holds (a
        statement that is true or not); note (nothing that could be judged).
    """

    figure: str
    key: str
    quantity: str
    value: str
    unit: str
    wording: Wording

    @property
    def number(self) -> float:
        """The printed value as a number; of a ratio compared with 1, of what holds: 1."""
        return 1.0 if self.wording in ("less", "more", "alike", "holds") else float(self.value)


@cache
def stated(figure: str) -> tuple[Stated, ...]:
    """Return what is stated about a figure, in the order of the table; nothing for one of ours.

    Examples
    --------
    >>> row = stated("pie:6")[0]
    >>> row.key, row.value, row.unit, row.wording
    ('allowed', '0', 'packets', 'exact')
    """
    return tuple(row for row in _tables() if row.figure == figure)


@cache
def _tables() -> tuple[Stated, ...]:
    rows = []
    for paper in _PAPERS:
        path = Path(__file__).parent / paper / "stated.csv"
        with path.open(encoding="utf-8", newline="") as file:
            rows += [_read(row) for row in csv.DictReader(file)]
    return tuple(rows)


def _read(row: dict[str, str]) -> Stated:
    for wording in _WORDINGS:
        if row["wording"] == wording:
            return Stated(**{key: row[key] for key in _COLUMNS}, wording=wording)
    raise ValueError(f"{row['figure']} {row['key']}: no such wording as {row['wording']!r}.")
