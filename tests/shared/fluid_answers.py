"""What trajectories of the fluid are, by other methods, and how far a solver is from it.

`tests/data/fluid_answers.json` has the answers, from `tests/shared/third_method.py` by
`tools/write_fluid_answers.py`; problems with an exact solution need none.
`tests/data/fluid_misses.csv` has the rows that are known to fail, with the error that was measured
(in units of tolerance x scale) and the reason: who mends a solver takes them out.
"""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from delay_problems import PROBLEMS

import pi2_fluid as pf
from pi2_fluid.engines.fluid.fluid import _run_python
from pi2_fluid.engines.fluid.routes.compiled import run_compiled

DATA = Path(__file__).parents[1] / "data"
ANSWERS = DATA / "fluid_answers.json"
MISSES = DATA / "fluid_misses.csv"
ROWS = 20  # of each answer, evenly spread over the run
TOLERANCES = (1e-6, 1e-8, 1e-10)
MOST = 30.0  # times the tolerance times the largest value of a run


class Case(NamedTuple):
    """A scenario, how it begins and how its queue updates."""

    scenario: pf.Scenario
    update: str = "sampled"
    initial: dict | None = None

    @property
    def times(self):
        """When answers are given (s)."""
        return np.arange(1, ROWS + 1) * (float(self.scenario.duration) / ROWS)


class Answer(NamedTuple):
    """Queue delays (s) and windows at the times of a case, and how far they may be off."""

    delay: np.ndarray
    window: np.ndarray
    off: float = 0.0
    """A part of the largest value."""


def problems():
    """The problems of the literature, as cases."""
    return {
        name: Case(problem.scenario, initial=problem.initial) for name, problem in PROBLEMS.items()
    }


def cases():
    """All cases by name."""
    return problems()


def kept_cases():
    """The cases of which an answer is kept: those without an exact one."""
    return {
        name: case
        for name, case in cases().items()
        if name not in PROBLEMS or PROBLEMS[name].exact is None
    }


@cache
def _kept():
    return json.loads(ANSWERS.read_text(encoding="utf-8"))


def answer(name, case):
    """What is right of a case."""
    problem = PROBLEMS.get(name)
    if problem is not None and problem.exact is not None:
        window = np.array([[problem.exact(t)] for t in case.times])
        return Answer(np.full_like(window, np.nan), window)
    kept = _kept()[name]
    return Answer(np.array(kept["delay"]), np.array(kept["window"]), kept["off"])


def error(answer, delay, window):
    """By how much delays and windows are off, in parts of the largest of the run.

    Delays below 1 ms count as if they were that long. Delays of problems are known where they move.
    """
    worst = 0.0
    for right, found, least in ((answer.delay, delay, 1e-3), (answer.window, window, 0.0)):
        if not np.all(np.isnan(right)):
            scale = np.maximum(np.abs(right).max(axis=0), least)
            worst = max(worst, float((np.abs(found - right) / scale).max()))
    return worst


def miss(name, case, way, tolerance):
    """How far a way of solving a case is off, in units of tolerance x scale."""
    found = WAYS[way](case, tolerance)
    delay, window = (
        np.asarray(values)[1:].reshape(ROWS, -1) for values in (found.queue_delay, found.window)
    )
    return error(answer(name, case), delay, window) / tolerance


def _how(engine, case, tolerance):
    return pf.Fluid(
        update=case.update, engine=engine, tolerance=tolerance, initial=case.initial,
        sample=float(case.scenario.duration) / ROWS,
    )  # fmt: skip


def _by(engine):
    def run(case, tolerance):
        return pf.simulate(case.scenario, _how(engine, case, tolerance))

    return run


def _over_routes(engine):
    """By the solver of several links, of which there is one."""

    def run(case, tolerance):
        how, scenario = _how(engine, case, tolerance), case.scenario.as_run
        times, accuracy = how._times(scenario), how._accuracy(scenario)
        task = how._prepare_routes(scenario, times, accuracy)
        cohorts = task.cohorts
        if not task.compiled:
            return cohorts.merge(_run_python(task, case.update, None))
        solved = cohorts.scenario, case.update, accuracy, times, cohorts.beginning
        return cohorts.merge(run_compiled(*solved))

    return run


WAYS = {
    "python": _by("python"),
    "c": _by("c"),
    "python over routes": _over_routes("python"),
    "c over routes": _over_routes("c"),
}


@cache
def misses():
    """The known misses: from case, way and tolerance to the error and its reason."""
    with MISSES.open(encoding="utf-8", newline="") as file:
        return {
            (row["case"], row["way"], float(row["tolerance"])): (float(row["error"]), row["why"])
            for row in csv.DictReader(file)
        }
