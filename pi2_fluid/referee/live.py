"""The kernel's column, measured anew on the kernel at hand: the same cells, by the engine `Linux`.

What is measured of a cell is kept in a file at once, so that hours of it survive an interruption.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import pi2_fluid as pf
from pi2_fluid.engines.linux.kernels import find_kernel
from pi2_fluid.engines.linux.laws import Told
from pi2_fluid.engines.linux.messages import netem_lottery
from pi2_fluid.engines.linux.plan import make_plan
from pi2_fluid.referee.cells import Cell
from pi2_fluid.referee.measuring import LINK, measure
from pi2_fluid.referee.references import Peaks
from pi2_fluid.results.runs import uninterrupted
from pi2_fluid.results.seeds import seed_list
from pi2_fluid.results.steps import peak_of, settling_of
from pi2_fluid.saving import save_text

if TYPE_CHECKING:
    import xarray


class Live(NamedTuple):
    """What the kernel at hand does in a cell."""

    release: str
    """The kernel's own version."""
    seeds: tuple[int, ...]
    groups: dict[str, dict[str, Any]]
    """By group of flows each statistic as an array over the seeds, those of the link in each."""
    peaks: tuple[Peaks, ...]
    """After each step of the load, if there are any."""

    def references(self, cell: Cell) -> dict[tuple[str, str], dict[str, Any]]:
        """Return it as `references.linux` returns what was recorded."""
        return {(cell.name, group): values for group, values in self.groups.items()}

    def measured(self) -> dict[str, dict[str, Any]]:
        """Return it as `measure` returns what was simulated."""
        return {LINK: next(iter(self.groups.values())), **self.groups}


def in_guests(cell: Cell) -> Cell:
    """Return a cell as guests run it: acknowledgements are never late, and PSH is their program's.

    Examples
    --------
    >>> from pi2_fluid.referee.cells import CELLS
    >>> scenario = in_guests(CELLS[0]).scenario
    >>> scenario.link.ack_jitter, scenario.flows[0].push_every
    (0.0, None)
    """
    scenario = cell.scenario
    link = dataclasses.replace(scenario.link, ack_jitter=0)
    flows = tuple(dataclasses.replace(flow, push_every=None) for flow in scenario.flows)
    return dataclasses.replace(cell, scenario=dataclasses.replace(scenario, link=link, flows=flows))


def measure_live(
    cell: Cell,
    engine: pf.Linux,
    folder: Path | None = None,
    steps: tuple[Peaks, ...] = (),
    progress: Callable[[float, float], None] | None = None,
) -> Live:
    """Return what the kernel at hand does in a cell.

    Parameters
    ----------
    cell : Cell
        One that guests can run, without a reason in its `not_live`; they run it `in_guests`.
    engine : Linux
        With its seeds; its `bin` is the cell's.
    folder : Path, optional
        Where it is kept, and looked for: what was measured of the same scenario with the same
        seeds on the same kernel is not measured again.
    steps : tuple of Peaks
        When the load changes, if it does.
    progress : callable, optional
        As in `simulate`.
    """
    cell, set_engine = in_guests(cell), dataclasses.replace(engine, bin=cell.bin)
    kernel = find_kernel(set_engine.kernel)
    question = {
        "release": kernel.release,
        "seeds": seed_list(set_engine.seeds),
        "bin": cell.bin,
        "scenario": cell.scenario.to_toml(),
        "signal": cell.signal,
        "plan": make_plan(cell.scenario, 1),
        "steps": [step.at for step in steps],
        **set_engine.outside(),
    }
    path = None if folder is None else folder / f"{cell.name}-{_hash(question)}.json"
    if path is not None and path.is_file():
        return _live(json.loads(path.read_text(encoding="utf-8")))
    runs = uninterrupted(_run(cell, set_engine, progress))
    found = measure(runs)
    said = question | {
        "groups": {
            group: _listed(found[group] | found[LINK]) for group in cell.scenario.class_names
        },
        "peaks": _peaks(cell, runs, steps),
    }
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_text(path, json.dumps(said, indent=1))
    return _live(said)


def _run(
    cell: Cell, engine: pf.Linux, progress: Callable[[float, float], None] | None
) -> xarray.Dataset:
    """Run a cell; where each packet is lost or marked by chance, netem is the queue."""
    if cell.signal is None:
        return engine.run(cell.scenario, progress)
    marked = any(flow.ecn for flow in cell.scenario.flows)
    options = netem_lottery(int(cell.scenario.link.buffer), cell.signal, mark=marked)
    return engine.run_qdisc(cell.scenario, Told("netem", options), progress)


def _hash(asked: Mapping[str, Any]) -> str:
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:12]


def _listed(values: Mapping[str, Any]) -> dict[str, list[float]]:
    return {name: np.asarray(numbers).tolist() for name, numbers in values.items()}


def _peaks(cell: Cell, runs: xarray.Dataset, steps: Sequence[Peaks]) -> list[dict[str, Any]]:
    """Return how high the delay rises after each step, and how long each run takes to settle."""
    if not steps:
        return []
    starts = [step.at for step in steps]
    delay, time = runs.queue_delay.to_numpy(), runs.time.to_numpy()
    law: Any = cell.scenario.aqm
    target, found = float(law.target), []
    for step, end in zip(steps, [*starts[1:], float(time[-1])], strict=False):
        settled = [settling_of(one, time, step.at, end, target) for one in delay]
        heights = peak_of(delay, time, step.at, end).tolist()
        settling = None if step.settling is None else [min(settled), max(settled)]
        found.append({"at": step.at, "heights": heights, "settling": settling})
    return found


def _live(said: Mapping[str, Any]) -> Live:
    groups = {
        group: {name: np.array(numbers) for name, numbers in values.items()}
        for group, values in said["groups"].items()
    }
    peaks = tuple(
        Peaks(one["at"], tuple(one["heights"]), tuple(one["settling"]) if one["settling"] else None)
        for one in said["peaks"]
    )
    return Live(said["release"], tuple(said["seeds"]), groups, peaks)
