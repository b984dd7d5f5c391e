"""Bring tests/data/fluid_answers.json up to date: python tools/write_fluid_answers.py [CASE ...].

The answers of a third method (tests/shared/third_method.py) to the scenarios of
tests/data/fluid_scenarios.toml, and to the problems of tests/shared/delay_problems.py without an
exact one; of the named cases alone, or of all, which takes some seven minutes of CPU. With
``--misses``, and no case, tests/data/fluid_misses.csv alone: what solvers are asked and miss, as it
is measured now. A reason that was written beside one stays.
"""

from __future__ import annotations

import csv
import io
import json
import math
import sys
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "shared"))

import fluid_answers as answers  # noqa: E402
import third_method  # noqa: E402

from pi2_fluid.errors import SolverError, UnsupportedError  # noqa: E402
from pi2_fluid.saving import save_text  # noqa: E402

DIGITS = 14


def answer(case: answers.Case) -> dict[str, object]:
    """Return what the third method finds, and how far it may be off."""
    (delay, window), other = third_method.solve(
        case.scenario, case.update, case.times, case.initial
    )
    off = answers.error(answers.Answer(delay, window), *other)
    return {"off": float(f"{off:.1e}"), "delay": _short(delay), "window": _short(window)}


def _short(values: np.ndarray) -> list[list[float | None]]:
    return [
        [None if math.isnan(v) else float(f"{v:.{DIGITS}g}") for v in row]
        for row in values.tolist()
    ]


def write_answers(names: list[str]) -> None:
    """Write the answers, those of the named cases anew."""
    kept = json.loads(answers.ANSWERS.read_text()) if answers.ANSWERS.exists() else {}
    cases = answers.kept_cases()
    found = {}
    for name, case in cases.items():
        print(name, flush=True)
        found[name] = kept[name] if names and name not in names else answer(case)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    save_text(answers.ANSWERS, "{" + f"\n{lines}\n" + "}\n")


def write_misses() -> None:
    """Measure all ways of solving, and write which are not good enough."""
    known = answers.misses()
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["case", "way", "wanted", "measured", "why"])
    for name, way, wanted in answers.asked():
        try:
            value, enough = answers.measured(name, way, wanted)
        except UnsupportedError:
            continue
        except SolverError:
            value, enough = math.nan, False
        if not enough:
            why = known.get((name, way, wanted), (0.0, ""))[1]
            rows.writerow([name, way, wanted, f"{value:.2g}", why])
    save_text(answers.MISSES, text.getvalue())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    wanted = [name for name in sys.argv[1:] if name != "--misses"]
    if wanted or "--misses" not in sys.argv:
        write_answers(wanted)
    if "--misses" in sys.argv:
        write_misses()
