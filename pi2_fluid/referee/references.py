"""What the packet simulator is held against: measured numbers, with where they come from."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

import numpy as np

_DATA: Final = files("pi2_fluid.referee") / "data"
LIVE_FILE: Final = "live.csv"
#: Columns that say how a row came about.
_ABOUT: Final = ("run", "release", "date")


class Peaks(NamedTuple):
    """What Linux did after one step."""

    at: float
    """When the load changed (s)."""
    heights: tuple[float, ...]
    """The highest mean backlog over 0.1 s, of each run, over the capacity (s)."""
    settling: tuple[float, float] | None
    """Shortest and longest settling time (s); None where it hardly leaves the target."""


def _rows(name: str) -> Iterator[dict[str, str]]:
    lines = (_DATA / name).read_text(encoding="utf-8").splitlines()
    return csv.DictReader(line for line in lines if not line.startswith("#"))


@cache
def linux() -> dict[tuple[str, str], dict[str, Any]]:
    """Return by cell and group of flows: an array over the runs of each statistic, in SI units."""
    return _by_group("linux.csv")


@cache
def live() -> dict[tuple[str, str], dict[str, Any]]:
    """Return the same of the cells that were measured by the engine `Linux` alone."""
    return _by_group(LIVE_FILE)


@cache
def live_source() -> str:
    """Return which kernel they were measured on, and when."""
    found = {f"Linux {row['release']}, {row['date']}" for row in _rows(LIVE_FILE)}
    return "; ".join(sorted(found))


def _by_group(file: str) -> dict[tuple[str, str], dict[str, Any]]:
    table: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in _rows(file):
        columns = table.setdefault((row.pop("cell"), row.pop("group")), {})
        for name in _ABOUT:
            row.pop(name, None)
        for name, text in row.items():
            columns.setdefault(name, []).append(float(text) if text else np.nan)
    return {key: {k: np.array(v) for k, v in row.items()} for key, row in table.items()}


@cache
def linux_steps() -> dict[str, Any]:
    """Return ``time`` (s, the middle of each 0.2 s) and the delay (s) of one run per cell."""
    rows = [{name: float(text) for name, text in row.items()} for row in _rows("linux_steps.csv")]
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    time = columns.pop("time") + 0.1
    return {"time": time, **{name: 1e-3 * values for name, values in columns.items()}}


@cache
def peaks() -> dict[str, tuple[Peaks, ...]]:
    """Return what Linux did after each step, by cell."""
    table: dict[str, tuple[Peaks, ...]] = {}
    for row in _rows("linux_peaks.csv"):
        heights = tuple(1e-3 * float(row[f"peak_{run}"]) for run in (1, 2, 3))
        settling = None
        if row["settling_from"]:
            settling = float(row["settling_from"]), float(row["settling_to"])
        mine = Peaks(float(row["step"]), heights, settling)
        table[row["cell"]] = (*table.get(row["cell"], ()), mine)
    return table


@cache
def ns3() -> dict[str, dict[str, str]]:
    """Return the rows of ns-3 by name."""
    return {row["name"]: row for row in _rows("ns3.csv")}
