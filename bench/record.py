"""Keep what a bench measured, so that `bench/compare.py` finds what has become worse.

    record("routes", [Row("C, tolerance 3e-07", 14.0, (7e-7,))], better="larger")

writes `build/bench/routes.json`, in place of what was there. A ratio compares two costs of one run,
since times of two runs are those of two machines, or of two hours of one: times faster than a peer
(larger is better), or parts of what something else costs (smaller is better). What has no peer is
compared with `yardstick()`, taken in turns with it. Errors are those that the bench prints beside.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import time
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pi2_fluid.saving import save_text

ROOT: Final = Path(__file__).resolve().parents[1]
RECORDED: Final = ROOT / "build" / "bench"
PACKAGES: Final = ("numpy", "scipy", "jax", "xarray", "control", "jitcdde", "ns3", "typer")

Better = Literal["larger", "smaller"]


class Row(NamedTuple):
    """One line of a table: its name, its ratio, and what errors there are."""

    name: str
    ratio: float
    errors: Sequence[float] = ()


def record(table: str, rows: Iterable[Row], better: Better, folder: Path = RECORDED) -> None:
    """Keep the rows of a table; which ratios are better is true of all of them."""
    kept = {row.name: {"ratio": short(row.ratio), "errors": short_all(row.errors)} for row in rows}
    told = {"table": table, "better": better, "conditions": conditions(), "rows": kept}
    folder.mkdir(parents=True, exist_ok=True)
    name = table.replace(" ", "_") + ".json"
    save_text(folder / name, json.dumps(told, indent=1) + "\n")


def short(number: float) -> float:
    """Return a number to four digits: more are noise, and differ every time."""
    return float(f"{number:.4g}")


def short_all(numbers: Sequence[float]) -> list[float]:
    """Return numbers to four digits each."""
    return [short(number) for number in numbers]


def conditions() -> dict[str, str]:
    """Say when, on which machine and with what something is measured."""
    found = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": first_line("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
        "machine": f"{processor()}, {os.cpu_count()} cores, {platform.system()}",
        "compiler": first_line(os.environ.get("CC", "cc"), "--version"),
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def processor() -> str:
    """Return the processor's name, as far as the system tells it."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor()} ({platform.machine()})"


def first_line(*command: str) -> str:
    """Return the first line that a command prints, or that it is not to be had."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.partition("\n")[0]


def yardstick() -> float:
    """Return the CPU seconds of a fixed task, half of it in Python and half in NumPy."""
    import numpy as np

    values: Any = np.linspace(0.0, 1.0, 150_000)
    begun = time.process_time()
    total = 0
    for number in range(150_000):
        total += number * number % 7
    np.sort(np.exp(1j * values).real * np.log1p(values))
    return time.process_time() - begun
