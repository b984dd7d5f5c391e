"""Sweeps on the workers of Dask: found by an address, the same results where one is killed."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import xarray as xr
from cluster import contents

import pi2_fluid as pf
from pi2_fluid.apps.cli import codes, run
from pi2_fluid.progress import Progress
from pi2_fluid.sweeping import blocks, clusters

if TYPE_CHECKING:
    from distributed import Client

SHORT = pf.Scenario("1s", pf.Link("4Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"))
LOOP = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
SPEC = """
[loop]
sender = "reno"
aqm = "pi2"
rtt = "100ms"
p_prime = 0.1
[over]
p_prime = [0.1, 0.2, 0.3, 0.4]
"""
sweep = functools.partial(pf.sweep, progress=False)

# Dask's own threads and sockets end after it has said that they have.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("cluster"),  # one cluster for all of them
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    distributed = pytest.importorskip("distributed")
    # Any free port: another cluster may run on this machine.
    given = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**given) as cluster, distributed.Client(cluster) as one:
        yield one


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask one point here, and leave the others to the cluster, two by two."""
    monkeypatch.setattr("pi2_fluid.sweeping.sweep.fly", functools.partial(blocks.fly, patience=0.0))
    monkeypatch.setattr(
        "pi2_fluid.sweeping.sweep.chunk_shape", lambda shape, *_: blocks.fitted(shape, 2)
    )


def test_a_killed_worker_costs_its_block_alone(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pi2_fluid.sweeping.sweep.chunk_shape", lambda shape, *_: blocks.fitted(shape, 1)
    )
    deadly, log, counted = tmp_path / "deadly", tmp_path / "log", tmp_path / "kept"
    deadly.touch()
    log.mkdir()
    here = os.getpid()

    def reduce(run: xr.Dataset) -> xr.Dataset:
        mine = log / str(os.getpid())
        if os.getpid() == here:
            return pf.summarize(run)
        if deadly.exists() and mine.exists() and mine.stat().st_size >= 2:
            # When all that is done is collected, so that only the block at hand can be lost.
            while counted.stat().st_size < 1 + sum(file.stat().st_size for file in log.iterdir()):
                time.sleep(0.01)
            time.sleep(0.1)
            with contextlib.suppress(FileNotFoundError):  # the other one is dead already
                deadly.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        with mine.open("a") as file:
            file.write(".")
        return pf.summarize(run)

    def keep(done: float, total: float) -> None:
        counted.write_text("." * round(done))

    over = {"aqm.target": [0.01, 0.02, 0.03], "flows.0.count": [1, 2]}
    given = SHORT, over, pf.Packets(seeds=2), reduce
    found = pf.sweep(*given, client=client, store=tmp_path / "x.zarr", progress=keep)
    assert not deadly.exists()
    assert (found.error == "").all()
    runs = sum(file.stat().st_size for file in log.iterdir())
    # One is run here, and what the victim was at counts once; what was collected last is perhaps
    # not forgotten yet by the scheduler, and done again.
    assert runs - 11 in {0, 1}
    sweep(*given, store=tmp_path / "y.zarr")
    assert contents(tmp_path / "x.zarr") == contents(tmp_path / "y.zarr")


def test_a_scheduler_that_dies_leaves_what_is_done(client: Client, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    place = tmp_path / "scheduler"
    about = {"cls": "distributed.Scheduler", "opts": {"scheduler_file": str(place)}}
    about["opts"] |= {"dashboard": False, "host": "127.0.0.1"}
    words = [sys.executable, "-m", "dask", "spec", "--spec", json.dumps(about)]
    path, progress = tmp_path / "x.zarr", []
    over = {"p_prime": [0.1 + 0.01 * step for step in range(40)]}

    def kill(done: float, total: float) -> None:
        progress.append(done)
        if len(progress) == 4:
            process.kill()
            process.wait()

    async def work(address: str) -> object:
        return await distributed.Worker(address, nthreads=1, dashboard_address=":0")

    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        while not place.exists() or not place.read_text().endswith("}"):
            time.sleep(0.02)
        address = json.loads(place.read_text())["address"]
        with distributed.Client(address, timeout=20.0) as other:
            other.sync(work, address)
            with pytest.raises(pf.SolverError, match="connection to the scheduler"):
                pf.sweep(LOOP, over, client=other, store=path, progress=kill)
    half = xr.open_zarr(path, consolidated=False, chunks=None).load()
    assert progress[-1] <= (half.error == "").sum() < 40
    sweep(LOOP, over, client=client, store=path)
    sweep(LOOP, over, store=tmp_path / "y.zarr")
    assert contents(path) == contents(tmp_path / "y.zarr")


def test_errors_come_back_with_their_type(client: Client) -> None:
    over = {"p_prime": [0.1, 0.2, 0.3, 2.0]}
    found = sweep(LOOP, over, client=client)
    assert found.error.values.tolist()[:3] == [""] * 3
    assert "p_prime = 2" in found.error.values.tolist()[3]


def test_the_shell_finds_a_cluster_by_its_address(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.setattr("pi2_fluid.progress._PATIENCE", 0.0)
    (tmp_path / "spec.toml").write_text(SPEC)
    words = ["sweep", str(tmp_path / "spec.toml"), "--store", str(tmp_path / "x.zarr")]
    address = client.scheduler.address
    assert run([*words, "--scheduler", address]) == 0
    out, err = capsys.readouterr()
    assert "4 points, 0 with an error" in out
    assert f"2 workers at {address} ..." in err
    assert "swept 4 points" in err
    expected = sweep(LOOP, {"p_prime": [0.1, 0.2, 0.3, 0.4]})
    found = xr.open_zarr(tmp_path / "x.zarr", consolidated=False, chunks=None)
    assert found.gain_margin_db.to_numpy().tobytes() == expected.gain_margin_db.to_numpy().tobytes()
    assert run([*words, "--scheduler", address, "--workers", "2"]) == 2
    assert "leave them out" in capsys.readouterr().err


def test_an_interrupt_at_the_shell_keeps_what_is_done(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    class Interrupted(Progress):
        def __call__(self, done: float, total: float) -> None:
            if done == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr("pi2_fluid.sweeping.sweep.Progress", Interrupted)
    (tmp_path / "spec.toml").write_text(SPEC)
    path = tmp_path / "x.zarr"
    words = ["sweep", str(tmp_path / "spec.toml"), "--store", str(path)]
    words += ["--scheduler", client.scheduler.address]
    assert run(words) == codes.INTERRUPTED
    last = capsys.readouterr().err.splitlines()[-1]
    said = rf"error: interrupted: (\d+) of \d+ points are in {path}; do the same again for the"
    done = re.fullmatch(rf"{said} others\.", last)
    assert done is not None
    assert int(done[1]) >= 1
    assert xr.open_zarr(path, consolidated=False, chunks=None).done.values.sum() >= 1
    monkeypatch.setattr("pi2_fluid.sweeping.sweep.Progress", Progress)
    assert run(words) == 0
    assert xr.open_zarr(path, consolidated=False, chunks=None).done.values.all()


def test_a_worker_is_no_scheduler(client: Client) -> None:
    worker = next(iter(client.ncores()))
    with (
        pytest.raises(pf.QuantityError, match="is a worker of Dask"),
        clusters.connected(worker),
    ):
        pass


@pytest.mark.parametrize(
    ("address", "words"),
    [
        *(
            (address, "is no address")
            for address in ("host", "tcp://", "ftp://h:1", "h:1/x", "h:x")
        ),
        ("tcp://127.0.0.1:99999", "is no address"),
        ("tcp://127.0.0.1:9", "does not answer within 0.2 s"),
    ],
)
def test_addresses_where_nobody_is(address: str, words: str, monkeypatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(clusters, "_SECONDS", 0.2)
    with pytest.raises(pf.QuantityError, match=words), clusters.connected(address):
        pass


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ("0.0.1", "has pi2-fluid 0.0.1, and here is"),
        (PackageNotFoundError("x"), "has no pi2-fluid"),
    ],
)
def test_workers_with_another_version_are_refused(found: object, words: str) -> None:
    class Asked:
        def run(self, *_: object, on_error: str) -> dict[str, object]:
            return {"tcp://a:1": OSError("gone"), "tcp://b:2": found}

    with pytest.raises(pf.UnsupportedError, match=f"tcp://b:2 {words}"):
        clusters.require_same_version(Asked())


@pytest.mark.parametrize(
    ("given", "words"), [({"client": 1}, "no client"), ({"workers": 2}, "brings workers")]
)
def test_what_goes_not_together_is_refused(client: Client, given, words: str) -> None:
    with pytest.raises(pf.QuantityError, match=words):
        sweep(LOOP, {"rtt": [0.1]}, **{"client": client, **given})
