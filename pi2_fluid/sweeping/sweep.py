"""`sweep`: one question at every point of a grid, as one labelled Dataset."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.engines.engine import Engine
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.progress import Progress
from pi2_fluid.results.dataset import Column, make_dataset
from pi2_fluid.results.seeds import thread_count
from pi2_fluid.results.summary import summarize
from pi2_fluid.sweeping.axes import Grid, read_axes
from pi2_fluid.sweeping.blocks import Block, Work, blocks_of, chunk_shape, fly
from pi2_fluid.sweeping.outcomes import Layout, Rows
from pi2_fluid.sweeping.questions import Question, question_of
from pi2_fluid.sweeping.running import run_local
from pi2_fluid.units import validate_choice

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.loop.matrix.network_loop import NetworkLoop
    from pi2_fluid.loop.transfer import Loop
    from pi2_fluid.network.network import Network
    from pi2_fluid.network.scenario import Scenario

__all__ = ["sweep"]

_INTERRUPTED: Final = "interrupted before it was computed."


def sweep(
    base: Scenario | Loop | NetworkLoop | Network | Callable[..., Any],
    over: Mapping[Any, Any],
    engine: Engine | None = None,
    reduce: Callable[[xarray.Dataset], xarray.Dataset] = summarize,
    *,
    on_error: str = "nan",
    progress: bool | Callable[[float, float], None] = True,
    workers: int | None = None,
    processes: bool = False,
) -> xarray.Dataset:
    """Ask one question at every point of a grid, side by side, and return all answers together.

    Parameters
    ----------
    base : Scenario, Loop, NetworkLoop, Network, or request to tune
        What varies, and so what is asked: of a scenario what `reduce` makes of its run; of a loop
        its margins; of a network where it rests; of `tune`, or ``functools.partial(tune, ...)``,
        the design. Loops are built once, with single numbers.
    over : mapping
        Names and their values, which make a product; a tuple of names with rows of values is
        zipped, one dimension of the result. Names are those of TOML, such as ``"aqm.alpha"``,
        ``"link.capacity"``, ``"flows.0.base_rtt"`` or, of several nodes,
        ``"network.nodes.a.link.capacity"``; of a loop the arguments that it was given (``"rtt"``,
        ``"p_prime"``, ``"capacity"``) and numbers in its laws (``"aqm.alpha"``,
        ``"sender.decrease"``, ``"flows.0.count"``); of a request the arguments of `tune`, words
        (``"aqm"``) too. Values are numbers in SI units or text with a unit.
    engine : Engine, optional
        Of a scenario; `Fluid` by default. The seeds of `Packets` are the dimension ``seed``, and
        the same at each point.
    reduce : callable
        Of a scenario: from the result of a run, of packets of one seed (its dim ``seed`` has one
        entry), to a Dataset of numbers with the same dims at all points. Give it options by
        ``functools.partial(summarize, after="20s")``.
    on_error : {"nan", "raise"}
        What a point without a result does: it has NaN, and its sentence in the variable ``error``;
        or the sweep ends with its error.
    progress : bool or callable
        Whether to show on standard error how far it is and how long it will take; or who is told,
        as ``progress(done, total)``, in points.
    workers : int, optional
        How many blocks go side by side. Default: as many as there are cores.
    processes : bool
        Workers are threads, which suits compiled code; or processes, which suits Python: `tune`,
        short fluid runs, laws of one's own. They import the calling program, which must be safe to
        import (``if __name__ == "__main__":``), and `reduce` must have a name there.

    Returns
    -------
    xarray.Dataset
        With the dims of `over` (of zipped names the first), ``seed``, and those of the answers,
        with units; ``error`` (text) says why a point has no result, or in which numbers it has NaN,
        and is empty otherwise. What an answer has and an axis is called is renamed ``NAME_found``.
        ``attrs["specification"]`` is a hash of base, engine, function, axes and version,
        ``attrs["instruction_sets"]`` names those of the workers.

        After Ctrl-C what was computed is there, the rest has an ``error``, and
        ``attrs["interrupted"]`` is 1.

    Raises
    ------
    QuantityError, ScenarioError, UnsupportedError
        If an argument is not as it should be.
    QuantityError, DomainError, ScenarioError, UnsupportedError, SolverError
        With ``on_error="raise"`` of the first point met that has no result; else if none has.

    Notes
    -----
    Points go to workers in blocks of about a second, by how long the first ones take. Results are
    the same to the last byte whatever the blocks, their order and the workers, on machines of one
    instruction set.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    >>> found = pf.sweep(loop, {"rtt": ["50ms", "100ms"], "aqm.alpha": [0.1, 0.3125]})
    >>> found.gain_margin.dims, f"{float(found.gain_margin[1, 1]):.2f} dB"
    (('rtt', 'aqm.alpha'), '4.70 dB')
    """
    validate_choice(on_error, ("nan", "raise"), "on_error")
    validate_choice(processes, (False, True), "processes")
    question = question_of(base, engine, reduce)
    grid = Grid(read_axes(over, question.dimension), question.seeds)
    count = thread_count(workers, grid.size)
    raising = on_error == "raise"
    pilot = fly(question, grid, raising=raising)
    blocks = blocks_of(grid.shape, chunk_shape(grid.shape, pilot, count))
    work = Work(question, grid, pilot.layout, raising)
    found = Rows.empty(pilot.layout, grid.size, "")
    found.errors[:] = [_INTERRUPTED] * grid.size
    seen: set[str] = set()
    interrupted = False
    with _shown(progress) as report:
        done = 0

        def keep(block: Block, rows: Rows) -> None:
            nonlocal done
            for name, values in rows.values.items():
                found.values[name][block.start : block.stop] = values
            found.errors[block.start : block.stop] = rows.errors
            seen.add(rows.simd)
            done += block.stop - block.start
            report(done, grid.size)

        report(0, grid.size)
        try:
            run_local(work, blocks, keep, count, processes=processes)
        except KeyboardInterrupt:
            interrupted = True
    attrs = attributes(question, grid) | {
        "instruction_sets": ", ".join(sorted(seen)),
        "interrupted": int(interrupted),
    }
    return _dataset(grid, pilot.layout, found, attrs)


def _shown(
    progress: object,
) -> AbstractContextManager[Callable[[float, float], None]]:
    """Return who is told how far it is, as a context."""
    if progress is True:
        return Progress("swept", "points", estimate=True)
    if progress is not False and not callable(progress):
        raise QuantityError(
            f"progress = {show_value(progress)} is neither yes or no nor a function: give True,"
            " False, or one called with done and total."
        )
    return nullcontext(progress or _silent)


def _silent(done: float, total: float) -> None:
    """Tell nobody."""


def attributes(question: Question, grid: Grid) -> dict[str, str | float]:
    """Return what a sweep was asked, and its hash."""
    about = question.describe()
    text = json.dumps(
        {
            **about,
            "base": question.kind,
            "version": version("pi2-fluid"),
            "axes": [(axis.names, axis.values, axis.units) for axis in grid.axes],
            "seeds": grid.seeds,
        },
        sort_keys=True,
    )
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"schema": "sweep", "base": question.kind, **about, "specification": digest}


def _dataset(
    grid: Grid, layout: Layout, rows: Rows, attrs: Mapping[str, str | float]
) -> xarray.Dataset:
    names = final_names(grid, layout)
    variables: dict[str, Column] = {}
    coords = grid.coords()
    for name, slot in layout.slots.items():
        column = Column(
            (*grid.dims, *slot.dims),
            rows.values[name].reshape(*grid.shape, *slot.shape),
            slot.units,
            slot.long_name,
        )
        (coords if slot.is_coordinate else variables)[names[name]] = column
    coords |= {names[name]: column for name, column in layout.labels.items()}
    sentences = np.array(rows.errors, dtype=object).reshape(grid.shape)
    variables["error"] = Column(
        grid.dims, sentences, "1", "why there is no result, if there is none"
    )
    return make_dataset(variables, coords, attrs)


def final_names(grid: Grid, layout: Layout) -> dict[str, str]:
    """Return what everything that was found is called beside the axes."""
    taken = {*grid.names, *grid.dims, "error"}
    return {
        name: f"{name}_found" if name in taken else name for name in (*layout.slots, *layout.labels)
    }
