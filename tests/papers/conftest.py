"""Drawn figures: a module of tests names its figures in MODULES, and columns of text in TEXT."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def drawn(request, tmp_path_factory) -> Any:
    """Draw a figure when it is first asked for, look at its picture, and return its files."""
    folder = tmp_path_factory.mktemp("figures")
    done: dict[str, list[Path]] = {}

    def draw(name: str) -> list[Path]:
        if name not in done:
            done[name] = request.module.MODULES[name].draw(folder)
            names = [name + suffix for suffix in (".png", ".svg", ".pdf", ".csv")]
            assert [path.name for path in done[name][:4]] == names
            png = done[name][0].read_bytes()
            assert png.startswith(b"\x89PNG")
            assert int.from_bytes(png[16:20]) >= 1400
        return done[name]

    return draw


@pytest.fixture(scope="module")
def table(request, drawn) -> Any:
    """Return the curves in a CSV, one mapping of columns each."""
    modules, words = request.module.MODULES, request.module.TEXT

    def read(stem: str) -> list[dict[str, Any]]:
        name = next(name for name in modules if stem.startswith(name))
        path = next(path for path in drawn(name) if path.name == f"{stem}.csv")
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        curves: dict[tuple[str, ...], list[dict[str, str]]] = {}
        for row in rows:
            curves.setdefault(tuple(row.get(word, "") for word in words), []).append(row)
        return [
            {
                key: mine[0][key] if key in words else np.array([float(row[key]) for row in mine])
                for key in mine[0]
            }
            for mine in curves.values()
        ]

    return read
