"""What trajectories of the fluid are, by other methods, and how far a solver is from it.

`tests/data/fluid_answers.json` has the answers, from `tests/shared/third_method.py` by
`tools/write_fluid_answers.py`; problems with an exact solution need none.
`tests/data/fluid_misses.csv` has the rows that are known to fail, with what was measured, an error
in units of tolerance x scale or an order, and the reason: who mends a solver takes them out.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from delay_problems import PROBLEMS

import pi2_fluid as pf
from pi2_fluid.network.scenario import read_scenario

DATA = Path(__file__).parents[1] / "data"
ANSWERS = DATA / "fluid_answers.json"
SCENARIOS = DATA / "fluid_scenarios.toml"
MISSES = DATA / "fluid_misses.csv"
ROWS = 20  # of each answer, evenly spread over the run
TOLERANCES = (1e-6, 1e-8, 1e-10)
MOST = 30.0  # times the tolerance times the largest value of a run
ORDER = "order"
LEAST_ORDER = 3.4


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


def scenarios():
    """The scenarios of tests/data/fluid_scenarios.toml, by name and update, as cases."""
    tables = tomllib.loads(SCENARIOS.read_text(encoding="utf-8"))
    return {
        f"{name}, {update}": Case(read_scenario(_whole(table)), update)
        for name, table in tables.items()
        for update in table.pop("updates", ("sampled", "continuous"))
    }


def _whole(table):
    """A table with what the head of the file says of all."""
    link = {"capacity": "10Mbit/s", "buffer": "40000 packets"} | table.get("link", {})
    first = {"initial_window": 1, "slow_start": False}
    flows = [({} if "rate" in each else first) | each for each in table["flows"]]
    return table | {"link": link, "flows": flows}


@cache
def cases():
    """All cases by name."""
    return problems() | scenarios()


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
    delay, window = (np.array(kept[key], dtype=float) for key in ("delay", "window"))
    return Answer(delay, window, kept["off"])


def error(answer, delay, window):
    """By how much delays and windows are off, in parts of the largest of the run.

    Delays below 1 ms count as if they were that long. Where nothing is known there is NaN.
    """
    worst = 0.0
    for right, found, least in ((answer.delay, delay, 1e-3), (answer.window, window, 0.0)):
        known = ~np.isnan(right).any(axis=0)
        scale = np.maximum(np.abs(right[:, known]).max(axis=0), least)
        parts = np.abs(found - right)[:, known] / scale
        worst = max(worst, float(parts.max(initial=0.0)))
    return worst


def by_tolerance(name, way, tolerance):
    """How far a way of solving a case is off, in units of tolerance x scale."""
    return _off(name, way, tolerance=tolerance) / tolerance


def by_steps(name, way):
    """The order at which a way's error falls where its step is halved twice.

    The first is a 20th of the shortest path, or half an update interval. Errors count as far as the
    answer is known.
    """
    case = cases()[name]
    first = min(float(flow.base_rtt) for flow in case.scenario.flows if flow.base_rtt > 0.0) / 20.0
    if case.update == "sampled":
        first = min(first, float(case.scenario.aqm.update_interval) / 2.0)
    before, after = (_off(name, way, step=first / part) for part in (1.0, 4.0))
    known = max(2.0 * answer(name, case).off, 1e-12)
    return math.inf if before <= 128.0 * known else math.log2(before / max(after, known)) / 2.0


def _off(name, way, **how):
    case = cases()[name]
    solve, engine = WAYS[way]
    delay, window = (
        np.asarray(found)[1:].reshape(ROWS, -1) for found in solve(case, _fluid(case, engine, how))
    )
    return error(answer(name, case), delay, window)


def _fluid(case, engine, how):
    return pf.Fluid(
        update=case.update, engine=engine, initial=case.initial,
        sample=float(case.scenario.duration) / ROWS, **how,
    )  # fmt: skip


def _over_one(case, fluid):
    found = pf.simulate(case.scenario, fluid)
    return found.queue_delay, found.window


def _through_another(case, fluid):
    """The same where all go on through a second node, in which nothing ever waits."""
    one = case.scenario
    nodes = [
        pf.Node("a", one.link, one.aqm),
        pf.Node("b", pf.Link("1Tbit/s", "1000 packets"), pf.TailDrop()),
    ]
    flows = [dataclasses.replace(each, route=("a", "b")) for each in one.flows]
    changes = [
        change if change.capacity is None else dataclasses.replace(change, link="a")
        for change in one.changes
    ]
    network = pf.Network(nodes, flows)
    found = pf.simulate(pf.Scenario(one.duration, network=network, changes=changes), fluid)
    return found.queue_delay.isel(link=0), found.window


#: How to solve: each with what solves a case, and by which engine.
WAYS = {
    "python": (_over_one, "python"),
    "c": (_over_one, "c"),
    "c through a second node": (_through_another, "c"),
}


def asked():
    """Yield every case with a way to solve it and a tolerance, or "order" in its place.

    The oracle takes its time over scenarios, and the other engines are held to it elsewhere.
    """
    for name, case in cases().items():
        if name in PROBLEMS:
            ways = dict.fromkeys(("python", "c"), TOLERANCES)
        else:
            ways = {"c": (*TOLERANCES, ORDER)}
            if case.scenario.aqm.bands == 1:
                ways["c through a second node"] = TOLERANCES[1:2]
            if case.update == "continuous":
                ways["python"] = TOLERANCES[:1]
        for way, wanted in ways.items():
            for each in wanted:
                yield name, way, each


def measured(name, way, wanted):
    """What was asked for, and whether it is good enough."""
    if wanted == ORDER:
        order = by_steps(name, way)
        return order, order >= LEAST_ORDER
    off = by_tolerance(name, way, wanted)
    return off, off <= MOST


@cache
def misses():
    """The known misses: from case, way and what was wanted to what was measured, and why."""
    with MISSES.open(encoding="utf-8", newline="") as file:
        return {
            (row["case"], row["way"], _read(row["wanted"])): (float(row["measured"]), row["why"])
            for row in csv.DictReader(file)
        }


def _read(wanted):
    return wanted if wanted == ORDER else float(wanted)
