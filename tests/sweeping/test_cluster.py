"""Sweeps on the workers of Dask: the same results, also where a worker is killed."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.sweeping import blocks

if TYPE_CHECKING:
    from distributed import Client

SHORT = pf.Scenario("1s", pf.Link("4Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"))
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
    monkeypatch.setattr(
        "pi2_fluid.sweeping.sweep.chunk_shape", lambda shape, *_: blocks.fitted(shape, 2)
    )


def test_a_killed_worker_changes_nothing(client: Client, tmp_path: Path) -> None:
    deadly, here = tmp_path / "deadly", os.getpid()
    deadly.touch()

    def reduce(run: xr.Dataset) -> xr.Dataset:
        if os.getpid() != here and deadly.exists():
            deadly.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return pf.summarize(run)

    over = {"aqm.target": [0.01, 0.02, 0.03], "flows.0.count": [1, 2]}
    given = SHORT, over, pf.Packets(seeds=2), reduce
    found = sweep(*given, client=client, store=tmp_path / "x.zarr").load()
    assert not deadly.exists()
    expected = sweep(*given)
    for name, variable in expected.data_vars.items():
        assert found[name].to_numpy().tobytes() == variable.to_numpy().tobytes() or name == "error"
    assert (found.error == "").all()


def test_errors_come_back_with_their_type(client: Client) -> None:
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    over = {"p_prime": [0.1, 0.2, 0.3, 2.0]}
    found = sweep(loop, over, client=client)
    assert found.error.values.tolist()[:3] == [""] * 3
    assert "p_prime = 2" in found.error.values.tolist()[3]


@pytest.mark.parametrize(
    ("given", "words"), [({"client": 1}, "no client"), ({"workers": 2}, "brings workers")]
)
def test_what_goes_not_together_is_refused(client: Client, given, words: str) -> None:
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    with pytest.raises(pf.QuantityError, match=words):
        sweep(loop, {"rtt": [0.1]}, **{"client": client, **given})
