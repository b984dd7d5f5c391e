"""What kernels did, as it is recorded in tests/data."""

from __future__ import annotations

import csv
from functools import cache
from itertools import groupby
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"


def lines_of(name: str) -> list[str]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


@cache
def rows_of(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(lines_of(name)))


def runs_of(name: str, *keys: str) -> dict[str, list[dict[str, str]]]:
    """Rows that follow each other with the same values of these columns."""
    groups = groupby(rows_of(name), key=lambda row: tuple(row[key] for key in keys))
    return {"/".join(key): list(rows) for key, rows in groups}
