"""Several queues under one traffic: which engine runs each, and what comes of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pi2_fluid.comparison.agreement.numbers import begin_of, round_step
from pi2_fluid.engines.engine import Engine
from pi2_fluid.engines.simulating import require_engine
from pi2_fluid.errors import QuantityError, ScenarioError, UnsupportedError, show_value
from pi2_fluid.laws.registry import name_of
from pi2_fluid.network.catalogue import find_scenario
from pi2_fluid.network.link import Link
from pi2_fluid.network.scenario import Scenario

if TYPE_CHECKING:
    import xarray

#: Of every queue, where nobody says how many.
USUAL_SEEDS: Final = 10
_PER_RTT: Final = 4.0  # rows in a round trip of the shortest path
_LONGEST_ROW: Final = 0.02  # s, so that the largest mean of a row is nearly that of packets


class QueueRun(NamedTuple):
    """What a queue made of the traffic."""

    label: str
    """What it is called beside the others."""
    scenario: Scenario
    engine: Engine
    result: xarray.Dataset


class QueueComparison(NamedTuple):
    """One traffic through several queues, with rows of the same length unless engines say more."""

    runs: tuple[QueueRun, ...]
    """The first is what the others are compared with."""
    after: float
    """Where statistics begin (s)."""
    left_out: tuple[str, ...] = ()
    """Queues that Ctrl-C came before."""

    @property
    def scenario(self) -> Scenario:
        """The first one, whose traffic is that of all."""
        return self.runs[0].scenario

    @property
    def interrupted(self) -> bool:
        """Whether some queue has not all of its seeds."""
        unfinished = any(bool(run.result.attrs["interrupted"]) for run in self.runs)
        return unfinished or bool(self.left_out)


def usual_engines(seeds: int | Sequence[int] = USUAL_SEEDS) -> tuple[Engine, ...]:
    """Return the engines that run queues: packets, and Linux what only the kernel has."""
    from pi2_fluid.engines.linux.linux import Linux
    from pi2_fluid.engines.packet.packets import Packets

    return Packets(seeds=seeds), Linux(seeds=seeds)


def run_queues(
    scenarios: Sequence[Scenario | str | Path],
    *engines: Engine,
    after: float | str | None = None,
    progress: Callable[[float, float], None] | None = None,
    labels: Sequence[str] = (),
) -> QueueComparison:
    """Run each scenario in the first engine that can, as `compare` describes it.

    Parameters
    ----------
    scenarios : sequence of Scenario, str or Path
        Two or more, of the same traffic.
    *engines : Engine
        Default: those of `usual_engines`.
    after, progress
        As in `compare`.
    labels : sequence of str
        What the queues are called. Default: the names of the scenarios, if each has another, or
        the queues' own.
    """
    described = [find_scenario(scenario) for scenario in scenarios]
    _require_one_traffic(described)
    called = list(labels) or _labels(described)
    chosen = engines or usual_engines()
    for engine in chosen:
        require_engine(engine)
    begin, step = begin_of(described[0], after), _step(described)
    each = [
        _first_able(chosen, scenario, label).with_rows(step)
        for scenario, label in zip(described, called, strict=True)
    ]  # refused before any has run
    runs: list[QueueRun] = []
    for k, (label, scenario, engine) in enumerate(zip(called, described, each, strict=True)):
        try:
            result = engine.run(scenario, _part(progress, k, len(each)))
        except KeyboardInterrupt:
            if not runs:
                raise
            return QueueComparison(tuple(runs), begin, tuple(called[k:]))
        runs.append(QueueRun(label, scenario, engine, result))
        if result.attrs["interrupted"]:
            return QueueComparison(tuple(runs), begin, tuple(called[k + 1 :]))
    return QueueComparison(tuple(runs), begin)


def _part(
    progress: Callable[[float, float], None] | None, place: int, count: int
) -> Callable[[float, float], None] | None:
    """Return what reports of one queue's run as a part of all."""
    if progress is None:
        return None

    def report(done: float, total: float) -> None:
        progress(place * total + done, count * total)

    return report


def _first_able(engines: Sequence[Engine], scenario: Scenario, label: str) -> Engine:
    """Return the first engine that can run a scenario."""
    if len(engines) == 1:
        engines[0].require(scenario)
        return engines[0]
    obstacles = []
    for engine in engines:
        obstacle = engine.obstacle(scenario)
        if not obstacle:
            return engine
        obstacles.append(f"in {engine.name}: {obstacle.rstrip('.')}")
    raise UnsupportedError(f"no engine runs {label}; {'; '.join(obstacles)}.")


def _labels(scenarios: Sequence[Scenario]) -> list[str]:
    names = [scenario.name for scenario in scenarios]
    if all(names) and len(set(names)) == len(names):
        return names
    laws = [[node.aqm for node in scenario.network.nodes] for scenario in scenarios]
    short = [" ".join(repr(law) if law.only_in else name_of(law) for law in each) for each in laws]
    full = [" ".join(map(repr, each)) for each in laws]
    labels = [
        whole if short.count(brief) > 1 else brief for brief, whole in zip(short, full, strict=True)
    ]
    if len(set(labels)) < len(labels):
        raise QuantityError(
            f"two scenarios have the queue {max(labels, key=labels.count)}, and no names to tell"
            ' them apart: give each a name, e.g. Scenario(..., name="short buffer").'
        )
    return labels


def _step(scenarios: Sequence[Scenario]) -> float:
    """Return the length of a row (s), which is the same for all."""
    first = scenarios[0]
    paths = [float(flow.base_rtt or 0.0) for flow in first.flows]
    shortest = min((path for path in paths if path > 0.0), default=_LONGEST_ROW)
    return round_step(min(shortest / _PER_RTT, _LONGEST_ROW), float(first.duration))


def _require_one_traffic(scenarios: Sequence[Scenario]) -> None:
    """Refuse scenarios that differ in more than their queues, and the buffers of these."""
    if len(scenarios) < 2:
        raise QuantityError(
            f"{len(scenarios)} scenarios leave nothing to compare: give two or more, each with"
            " another queue."
        )
    first = scenarios[0]
    for number, other in enumerate(scenarios[1:], 2):
        for what, part_of in _TRAFFIC.items():
            if part_of(other) != part_of(first):
                raise ScenarioError(
                    f"scenario {number} has {what} = {show_value(part_of(other))}, and the first"
                    f" {show_value(part_of(first))}: give both the same, so that only queues"
                    " differ."
                )


def _links(scenario: Scenario) -> tuple[tuple[str, Link], ...]:
    """Return the links without what belongs to the queue, and how they are emulated."""
    return tuple(
        (node.name, dataclasses.replace(node.link, buffer=1.0, kind="wire"))
        for node in scenario.network.nodes
    )


#: What all have alike, as messages call it.
_TRAFFIC: Final[dict[str, Callable[[Scenario], object]]] = {
    "duration": lambda scenario: float(scenario.duration),
    "links": _links,
    "flows": lambda scenario: scenario.flows,
    "changes": lambda scenario: scenario.changes,
}
