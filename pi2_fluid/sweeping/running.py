"""Blocks handed to workers: threads or processes of this machine, or whatever Dask has."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from importlib import import_module
from multiprocessing import get_context
from typing import Any, Final, Protocol
from uuid import uuid4

from pi2_fluid.errors import SolverError
from pi2_fluid.sweeping.blocks import Block, Work
from pi2_fluid.sweeping.outcomes import Rows
from pi2_fluid.sweeping.workers import begin

#: What is done with the rows of a block.
Keep = Callable[[Block, Rows], None]
_MOST_DEATHS: Final = 3
_IN_FLIGHT: Final = 8
_COUNT_EVERY: Final = 1.0  # s, after which a cluster may have other workers
_LOST: Final = (
    "the connection to the scheduler of the client is lost: look whether it runs, and call this"
    " again with a client of one that does; a store has what was done, and goes on."
)


class Promise(Protocol):
    """What Dask returns of a task, as far as it is used here."""

    key: str
    status: str

    def result(self) -> Rows:
        """Return what the task returned, or raise what it raised."""


class Client(Protocol):
    """A client of Dask, as far as it is used here."""

    status: str

    def submit(self, function: Callable[[], Rows], *, key: str) -> Promise:
        """Begin a task."""

    def run(self, function: Callable[[str], str], name: str, *, on_error: str) -> dict[str, object]:
        """Call a function on each worker, and return what came of it."""

    def ncores(self) -> dict[str, int]:
        """Return the threads of each worker."""

    def cancel(self, futures: list[Promise]) -> None:
        """Forget tasks."""


def run_local(
    work: Work, blocks: Iterable[Block], keep: Keep, workers: int, *, processes: bool
) -> None:
    """Run blocks side by side on this machine, and keep each as soon as it is there.

    Each worker is an executor of its own: a process that is killed takes one block with it, which
    the next one does again.

    Raises
    ------
    KeyboardInterrupt
        When blocks that had begun are kept.
    SolverError
        If one block kills three processes.
    """
    make = _process if processes else _thread
    waiting = deque(blocks)
    pool = [make() for _ in range(min(workers, len(waiting)))]
    free = deque(range(len(pool)))
    running: dict[Future[Rows], tuple[int, Block]] = {}
    deaths: Counter[int] = Counter()

    def collect(future: Future[Rows]) -> None:
        number, block = running.pop(future)
        try:
            rows = future.result()
        except BrokenExecutor:
            pool[number].shutdown(wait=False)
            pool[number] = make()
            waiting.appendleft(block)
            deaths[block.start] += 1
            if deaths[block.start] == _MOST_DEATHS:
                raise SolverError(
                    f"points {block.start} to {block.stop - 1} ended {_MOST_DEATHS} processes:"
                    " look whether there is enough memory."
                ) from None
        else:
            keep(block, rows)
        free.append(number)

    try:
        while waiting or running:
            while waiting and free:
                number, block = free.popleft(), waiting.popleft()
                running[pool[number].submit(work.task(block))] = number, block
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                collect(future)
    except KeyboardInterrupt:
        for future in wait(running).done:
            if not future.exception():
                keep(running[future][1], future.result())
        raise
    finally:
        for executor in pool:
            executor.shutdown(wait=False, cancel_futures=True)


def _thread() -> Executor:
    return ThreadPoolExecutor(1, "pi2_fluid.sweep")


def _process() -> Executor:
    context: Any = get_context("spawn")  # a fork of a process with threads may hang
    return ProcessPoolExecutor(1, context, begin)


def run_on(client: Client, work: Work, blocks: Iterable[Block], keep: Keep) -> None:
    """Run blocks on whatever a client of Dask schedules, and keep each as soon as it is there.

    Dask does the blocks of a worker again that is lost. The question goes along with each block:
    what is scattered once may be lost with the last worker that has it.

    Raises
    ------
    KeyboardInterrupt
        When blocks that are done are kept, and the others cancelled.
    SolverError
        If one block has ended several workers, as often as Dask allows, or the scheduler is gone.
    """
    distributed: Any = import_module("distributed")  # typed in part
    waiting = deque(blocks)
    running: dict[str, tuple[Promise, Block]] = {}
    finished = distributed.as_completed()
    most, counted = _IN_FLIGHT, -math.inf

    def submit() -> None:
        nonlocal most, counted
        if waiting and client.status != "running":
            raise SolverError(_LOST)
        if waiting and time.monotonic() - counted > _COUNT_EVERY:
            # Few at a time: each costs the scheduler memory and the client milliseconds.
            try:
                most = max(_IN_FLIGHT, 2 * sum(client.ncores().values()))
            except OSError:
                raise SolverError(_LOST) from None
            counted = time.monotonic()
        while waiting and len(running) < most:
            block = waiting.popleft()
            future = client.submit(work.task(block), key=f"sweep-{uuid4()}")
            running[future.key] = future, block
            finished.add(future)

    def collect(future: Promise) -> None:
        block = running.pop(future.key)[1]
        try:
            rows = future.result()
        except distributed.KilledWorker:
            raise SolverError(
                f"points {block.start} to {block.stop - 1} ended several workers: look whether"
                " they have enough memory."
            ) from None
        except (CancelledError, OSError):
            if future.status == "error":  # of the block itself
                raise
            raise SolverError(_LOST) from None
        keep(block, rows)

    try:
        submit()
        for future in finished:
            collect(future)
            submit()
    except KeyboardInterrupt:
        for future, _ in list(running.values()):
            if future.status == "finished":
                collect(future)
        raise
    finally:
        if client.status == "running":
            client.cancel([future for future, _ in running.values()])
