"""`sweep`: one question at every point of a grid, as one labelled Dataset."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import numpy as np

from pi2_fluid.engines.engine import Engine
from pi2_fluid.errors import QuantityError, UnsupportedError, show_value
from pi2_fluid.progress import Progress
from pi2_fluid.results.dataset import Column, make_dataset
from pi2_fluid.results.ratios import with_ratios
from pi2_fluid.results.seeds import thread_count
from pi2_fluid.results.summary import summarize
from pi2_fluid.saving import require_writable
from pi2_fluid.sweeping.axes import Grid, read_axes
from pi2_fluid.sweeping.blocks import Block, Work, blocks_of, chunk_shape, fly
from pi2_fluid.sweeping.clusters import require_same_version
from pi2_fluid.sweeping.identity.identity import identity_of, specification_of
from pi2_fluid.sweeping.naming import final_names, layout_columns
from pi2_fluid.sweeping.outcomes import Layout, Rows
from pi2_fluid.sweeping.questions.choosing import question_of
from pi2_fluid.sweeping.questions.question import Question
from pi2_fluid.sweeping.running import Client, Keep, run_local, run_on
from pi2_fluid.sweeping.warned import Heard, Told
from pi2_fluid.units import validate_choice

if TYPE_CHECKING:
    import xarray

    from pi2_fluid.loop.matrix.network_loop import NetworkLoop
    from pi2_fluid.loop.transfer import Loop
    from pi2_fluid.network.network import Network
    from pi2_fluid.network.scenario import Scenario

_Report: TypeAlias = "Callable[[float, float], None]"
_INTERRUPTED: Final = "interrupted before it was computed."


def sweep(
    base: Scenario | Loop | NetworkLoop | Network | Callable[..., Any],
    over: Mapping[Any, Any],
    engine: Engine | None = None,
    reduce: Callable[[xarray.Dataset], xarray.Dataset] = summarize,
    *,
    store: str | Path | None = None,
    client: Client | None = None,
    resume: bool = True,
    on_error: str = "nan",
    progress: bool | Callable[[float, float], None] = True,
    workers: int | None = None,
    processes: bool = False,
    version: str | None = None,
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
    store : str or Path, optional
        Where to write a Zarr store, block by block (needs ``pip install pi2-fluid[files]``). What
        is returned then reads from it.
    client : dask.distributed.Client, optional
        Whose workers do the work (needs ``pip install pi2-fluid[cluster]``), of one thread each;
        the package must be there in the same version. Threads or processes of this machine by
        default.
    resume : bool
        Whether to go on with a store that is there, if it is of the same sweep.
    on_error : {"nan", "raise"}
        What a point without a result does: it has NaN, and its sentence in the variable ``error``;
        or the sweep ends with its error.
    progress : bool or callable
        Whether to show on standard error how far it is and how long it will take; or who is told,
        as ``progress(done, total)``, in points.
    workers : int, optional
        How many blocks go side by side on this machine. Default: as many as there are cores.
    processes : bool
        Workers are threads, which suits compiled code; or processes, which suits Python: `tune`,
        short fluid runs, laws of one's own. They import the calling program, which must be safe to
        import (``if __name__ == "__main__":``), and `reduce` must have a name there.
    version : str, optional
        What stands for your own code in what tells this sweep from others, instead of that code;
        give another one whenever you change it. By default the code counts itself: of `reduce`, of
        laws, and of all functions, classes and constants of yours that it uses.

    Returns
    -------
    xarray.Dataset
        With the dims of `over` (of zipped names the first), ``seed``, and those of the answers,
        with units; ``error`` (text) says why a point has no result, or in which numbers it has NaN,
        and is empty otherwise. What an answer has and an axis is called is renamed ``NAME_found``.
        ``attrs["specification"]`` is a hash of all that the answers follow from, and
        ``attrs["identity"]`` its parts as JSON; both are "" where something cannot be read, which a
        store refuses. ``attrs["instruction_sets"]`` names those of the workers.

        After Ctrl-C what was computed is there, the rest has an ``error``, and
        ``attrs["interrupted"]`` is 1. With a store it raises KeyboardInterrupt, which says how
        many points are in there; the same call goes on.

    Raises
    ------
    QuantityError, ScenarioError, UnsupportedError
        If an argument is not as it should be, the store is of another sweep, what is in there
        could not be told from other answers, or a worker of the client lacks this version of the
        package.
    QuantityError, DomainError, ScenarioError, UnsupportedError, SolverError
        With ``on_error="raise"`` of the first point met that has no result; else if none has.
    SolverError
        If a block ends several workers, or the scheduler of the client cannot be reached any more.
        A store has what was done, and the same call goes on.

    Warns
    -----
    AssumptionWarning
        Once, at the end, of what holds at some points: at how many, and at the first of them.

    Notes
    -----
    Points go to workers in blocks of about a second, by how long the first ones take. Results are
    the same to the last byte whatever the blocks, their order and the workers, on machines of one
    instruction set.

    What tells a sweep from others is compiled code, its constants, closures, defaults and what it
    names among globals, down through everything of yours; not lines, comments, docstrings and
    files. What is installed counts by its version where your code uses it. Compiled code can be
    compared within one Python alone (3.11, say), and a store says which it is of.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    >>> found = pf.sweep(loop, {"rtt": ["50ms", "100ms"], "aqm.alpha": [0.1, 0.3125]})
    >>> found.gain_margin_db.dims, f"{float(found.gain_margin_db[1, 1]):.2f} dB"
    (('rtt', 'aqm.alpha'), '4.70 dB')
    """
    validate_choice(on_error, ("nan", "raise"), "on_error")
    validate_choice(processes, (False, True), "processes")
    validate_choice(resume, (False, True), "resume")
    question = question_of(base, engine, reduce)
    grid = Grid(read_axes(over, question.dimension), question.seeds)
    raising = on_error == "raise"
    attrs = attributes(question, grid, version, is_needed=store is not None)
    with Told(grid) as heard, _shown(progress) as report:
        run = _Runner(*_workers(grid, client, workers, processes), heard, report)
        if store is not None:
            return _stored(question, grid, attrs, store, resume, raising, run)
        pilot = fly(question, grid, raising=raising)
        blocks = blocks_of(grid.shape, chunk_shape(grid.shape, pilot, run.workers))
        answers = Rows.blank(pilot.layout, grid.size)
        work = Work(question, grid, pilot.layout, raising, pilot.rows)
        left = np.ones(grid.size, dtype=bool)
        seen = set(pilot.rows.simd)

        def keep(block: Block, rows: Rows) -> None:
            start = block.stop - rows.size
            answers.write(start, rows)
            left[start : block.stop] = False
            seen.update(rows.simd)

        answers.write(0, pilot.rows)
        left[: pilot.rows.size] = False

        interrupted = False
        try:
            run(work, blocks, keep)
        except KeyboardInterrupt:
            interrupted = True
            answers.refuse(np.flatnonzero(left), _INTERRUPTED)
    attrs |= {"instruction_sets": ", ".join(sorted(seen)), "interrupted": int(interrupted)}
    return _dataset(grid, pilot.layout, answers, attrs)


class _Runner(NamedTuple):
    """Who does the work, and who hears of it."""

    workers: int
    """How many blocks go side by side."""
    run: Callable[[Work, Sequence[Block], Keep], None]
    heard: Heard
    report: _Report

    def __call__(self, work: Work, blocks: Sequence[Block], keep: Keep) -> None:
        """Do what is not known yet, keep that, and tell how many points are there."""
        total = work.grid.size
        done = total - sum(block.stop - block.start for block in blocks)
        self.report(done, total)
        self.heard.add(work.first.warned, 0)

        def counted(block: Block, rows: Rows) -> None:
            nonlocal done
            self.heard.add(rows.warned, block.start)
            keep(block, rows)
            done += block.stop - block.start
            self.report(done, total)

        known = work.first.size
        for block in blocks:
            if block.stop <= known:
                counted(block, work.first.part(0, 0))
        self.run(work, [block for block in blocks if block.stop > known], counted)


def _workers(
    grid: Grid, client: object, workers: int | None, processes: bool
) -> tuple[int, Callable[[Work, Sequence[Block], Keep], None]]:
    """Return how many do the work, and who, by the arguments of `sweep`."""
    if client is None:
        count = thread_count(workers, grid.size, "workers")
        return count, partial(run_local, workers=count, processes=processes)
    distributed: Any = import_module("distributed")  # typed in part
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise QuantityError(
            f"client = {show_value(client)} is no client of dask.distributed that waits: give"
            " Client(), of a scheduler or a LocalCluster."
        )
    if workers is not None or processes:
        raise QuantityError(
            f"workers = {workers}, processes = {processes} are of this machine, and client brings"
            " workers of its own: leave them out."
        )
    found = cast("Client", client)
    require_same_version(found)
    return max(1, sum(found.ncores().values())), partial(run_on, found)


def _stored(
    question: Question,
    grid: Grid,
    attrs: Mapping[str, str | float],
    path: str | Path,
    resume: bool,
    raising: bool,
    run: _Runner,
) -> xarray.Dataset:
    """Return the store at a path, with what it lacked."""
    if importlib.util.find_spec("zarr") is None:
        raise UnsupportedError(
            f"store = {show_value(str(path))} needs the package zarr, which is not installed: pip"
            " install pi2-fluid[files], or leave store out."
        )
    from pi2_fluid.sweeping.store import create_store, find_store

    store = find_store(path, grid, str(attrs["identity"]), resume=resume)
    if store is None:
        require_writable(path, folder=True)
    missing = None if store is None else store.missing()
    if store is None or missing:
        # What a store lacks is asked in the blocks that it has.
        patience = {} if store is None else {"patience": 0.0}
        pilot = fly(question, grid, raising=raising, **patience)
        if store is None:
            chunk = chunk_shape(grid.shape, pilot, run.workers)
            store = create_store(path, grid, pilot.layout, chunk, attrs)
        names = final_names(grid, pilot.layout)
        work = Work(question, grid, pilot.layout, raising, pilot.rows)
        blocks = store.missing()

        def keep(block: Block, rows: Rows) -> None:
            store.write(block, work.whole(block, rows), names)

        try:
            run(work, blocks, keep)
        except KeyboardInterrupt:
            left = sum(block.stop - block.start for block in store.missing())
            raise KeyboardInterrupt(
                f"{grid.size - left} of {grid.size} points are in {path}; do the same again for"
                " the others"
            ) from None
    return store.dataset()


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


def attributes(
    question: Question, grid: Grid, version: object = None, *, is_needed: bool = True
) -> dict[str, str | float]:
    """Return what a sweep was asked, and its hash, which may be missing unless it is needed."""
    if not (version is None or (isinstance(version, str) and version)):
        raise QuantityError(f"version = {show_value(version)} is no text: give one, such as '1'.")
    axes = [
        (axis.names, [list(values) for values in axis.values], axis.units) for axis in grid.axes
    ]
    try:
        parts = {**question.parts(), "over": (axes, grid.seeds)}
        identity = identity_of(parts, version)
    except QuantityError:
        if is_needed:
            raise
        identity = None
    said = {
        "identity": json.dumps(identity) if identity else "",
        "specification": specification_of(identity) if identity else "",
    }
    return {"schema": "sweep", "base": question.kind, **question.describe(), **said}


def _dataset(
    grid: Grid, layout: Layout, rows: Rows, attrs: Mapping[str, str | float]
) -> xarray.Dataset:
    names, shaped = final_names(grid, layout), layout_columns(grid, layout)
    coords = grid.coords() | {names[name]: label for name, label in layout.labels.items()}
    variables: dict[str, Column] = {}
    for name, slot in layout.slots.items():
        dims, shape, *about = shaped[names[name]]
        column = Column(dims, rows.values[name].reshape(shape), *about)
        (coords if slot.is_coordinate else variables)[names[name]] = column
    sentences = rows.sentences().reshape(grid.shape)
    variables["error"] = Column(
        grid.dims, sentences, "1", "why there is no result, if there is none"
    )
    return with_ratios(make_dataset(variables, coords, attrs))
