"""A sweep on a cluster of two workers, one of which is killed, and what Dask costs: `make cluster`.

Numbers of the second part are CPU seconds of each process by itself, so that they hold on a busy
machine, too. docs/scale.md says what follows for larger clusters.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest import mock

import numpy as np
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.sweeping.blocks import fitted, fly

SCENARIO: Final = pf.Scenario(
    "120s", pf.Link("10Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 5, "100ms"), name="make cluster"
)
OVER: Final = {
    "aqm.target": np.linspace(0.005, 0.03, 72),
    "aqm.alpha": [0.1, 0.2, 0.3125, 0.4],
}
SEEDS: Final = 8  # those of a point run together, and are reduced afterwards
TASKS: Final = 1000
LARGE: Final = 2**22  # bytes
WORKERS: Final = 1000


class Loss(NamedTuple):
    """What it cost that a worker was killed."""

    found: xr.Dataset
    """What the store has in the end."""
    same: bool
    """Whether its files are those that a sweep writes which nobody disturbed."""
    there: int
    """Points that were there when the worker was killed."""
    block: int
    """Points in a block."""
    twice: int
    """Points that were run and reduced twice."""
    seconds: tuple[float, float]
    """How long the cluster and the threads took."""


def lose_a_worker(
    client: Any, folder: Path, scenario: pf.Scenario, over: Mapping[Any, Any], seeds: int
) -> Loss:
    """Sweep on a cluster, kill one of its workers when a third is done, and sweep in threads."""
    log = folder / "log"
    log.mkdir()

    def reduce(run: xr.Dataset) -> xr.Dataset:
        answers = pf.summarize(run)
        with (log / str(os.getpid())).open("a") as file:
            file.write(".")
        return answers

    killed_at = 0.0

    def kill(done: float, total: float) -> None:
        nonlocal killed_at
        if not killed_at and done >= total / 3:
            killed_at = done
            # Later, amid a block, and while this process goes on.
            victim = next(iter(client.run(os.getpid).values()))
            threading.Timer(0.4, os.kill, (victim, signal.SIGKILL)).start()

    given = scenario, over, pf.Packets(seeds=seeds), reduce
    path, undisturbed = folder / "cluster.zarr", folder / "threads.zarr"
    begun = time.perf_counter()
    answers = pf.sweep(*given, store=path, client=client, progress=kill).load()
    between = time.perf_counter()
    runs = sum(len(file.read_text()) for file in log.iterdir())
    chunk = tuple(json.loads(answers.attrs["block_shape"]))
    # Blocks are as long as the first points suggest: the same ones, to compare files.
    with mock.patch("pi2_fluid.sweeping.sweep.chunk_shape", return_value=chunk):
        pf.sweep(*given, store=undisturbed, progress=False)
    seconds = between - begun, time.perf_counter() - between
    same = contents(path) == contents(undisturbed)
    twice = runs - answers.error.size
    return Loss(answers, same, int(killed_at), math.prod(chunk), twice, seconds)


def contents(folder: Path) -> dict[Path, bytes]:
    """Return all files in a store, without the time when it was made."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder): re.sub(rb'"created": "[^"]*"', b"", path.read_bytes())
        for path in files
    }


class Cost(NamedTuple):
    """CPU seconds of a block, in the processes that do not do the work."""

    client: float
    scheduler: float


def cost_of(client: Any, ask: Callable[..., xr.Dataset], tasks: int) -> Cost:
    """Return what a block costs, of a sweep in blocks of one point."""
    import psutil  # comes with Dask

    processes = [psutil.Process(), psutil.Process(client.run_on_scheduler(os.getpid))]

    def spent() -> list[float]:
        return [sum(process.cpu_times()[:2]) for process in processes]

    with point_by_point():
        ask(client=client)  # imports
        before = spent()
        ask(client=client)
        after = spent()
    return Cost(*(np.subtract(after, before) / tasks))


@contextlib.contextmanager
def point_by_point() -> Iterator[None]:
    """Make each point a block, and ask one beforehand."""
    with (
        mock.patch("pi2_fluid.sweeping.sweep.chunk_shape", lambda shape, *_: fitted(shape, 1)),
        mock.patch("pi2_fluid.sweeping.sweep.fly", functools.partial(fly, patience=0.0)),
    ):
        yield


def small(**given: Any) -> xr.Dataset:
    """Ask margins, of one point in each block."""
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    return pf.sweep(loop, {"rtt": np.linspace(0.05, 0.2, TASKS)}, progress=False, **given)


def large(tasks: int, **given: Any) -> xr.Dataset:
    """Ask for four megabytes that cannot be compressed at each point."""

    def reduce(run: xr.Dataset) -> xr.Dataset:
        noise = np.random.default_rng(int(1e9 * run.queue_delay.max())).random(LARGE // 8)
        return xr.Dataset({"noise": ("place", noise)})

    scenario = pf.Scenario("1s", pf.Link("4Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"))
    over = {"aqm.target": np.linspace(0.01, 0.02, tasks)}
    return pf.sweep(scenario, over, reduce=reduce, progress=False, **given)


def stored(ask: Callable[..., xr.Dataset]) -> Callable[..., xr.Dataset]:
    """Return the same question, whose answers go into a store, which is thrown away."""

    def asked(**given: Any) -> xr.Dataset:
        with tempfile.TemporaryDirectory() as folder:
            return ask(store=Path(folder) / "x.zarr", **given)

    return asked


@contextlib.contextmanager
def processes_of_their_own() -> Iterator[Any]:
    """Start a scheduler and two workers, each a process, unlike in a LocalCluster."""
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    given = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with SubprocessCluster(**given, silence_logs=50) as cluster, Client(cluster) as client:
        yield client


def print_loss() -> None:
    """Print what the death of a worker cost, and leave with an error if it cost a result."""
    from distributed import Client, LocalCluster

    workers = 2
    given = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(**given, silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        loss = lose_a_worker(client, Path(folder), SCENARIO, OVER, SEEDS)
    missing, points = int((loss.found.error != "").sum()), loss.found.error.size
    print(f"{points} points in blocks of {loss.block}, on {workers} workers")
    print(f"  one killed when {loss.there} points were there; {loss.twice} points were run twice")
    print(f"  {missing} points without a result")
    print(f"  the store is {'' if loss.same else 'NOT '}what threads write, to the last byte")
    print("  {:.0f} s, threads {:.0f} s".format(*loss.seconds))
    if missing or not loss.same or loss.twice > workers * loss.block:
        raise SystemExit("a worker that was killed cost more than a block for each worker")


def print_costs() -> None:
    """Print what blocks cost beside the work, and from where on a large cluster would wait."""
    few = 100
    rows: Sequence[tuple[str, Callable[..., xr.Dataset], int]] = (
        ("margins of a loop", small, TASKS),
        ("the same, into a store", stored(small), TASKS),
        ("4 MiB", functools.partial(large, few), few),
        ("the same, into a store", stored(functools.partial(large, few)), few),
    )
    print(f"\nCPU ms of a block, beside the work{'':14}client  scheduler")
    costs = []
    with processes_of_their_own() as client:
        for name, ask, tasks in rows:
            cost = cost_of(client, ask, tasks)
            costs.append(cost)
            shown = [f"{1e3 * part:.2f}" for part in cost]
            print(f"  {name:44}{shown[0]:>8}{shown[1]:>11}", flush=True)
    bare, kept, _, much = costs
    slowest = max(kept.client, bare.scheduler)
    megabytes = LARGE / 2**20 / max(much.client, much.scheduler)
    print("\nby calculation, not measured, one core each:")
    print(f"  the scheduler hands out {1 / bare.scheduler:.0f} blocks/s,")
    print(f"  the client takes {1 / bare.client:.0f} blocks/s, or writes {1 / kept.client:.0f},")
    print(f"  or {megabytes:.0f} MiB/s of blocks of 4 MiB;")
    print(f"  of {WORKERS} workers some wait if blocks are shorter than")
    print(f"  {WORKERS * bare.scheduler:.1f} s, with a store {WORKERS * slowest:.1f} s")


if __name__ == "__main__":
    print_loss()
    print_costs()
