"""Stores of sweeps: whole after an interrupt and a second call, and of one sweep alone."""

from __future__ import annotations

import functools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.sweeping import blocks
from pi2_fluid.sweeping.store import Store

pytest.importorskip("zarr")

LOOP = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
OVER = {"rtt": [0.05, 0.1, 0.2], "p_prime": [0.1, 0.2, 2.0]}
sweep = functools.partial(pf.sweep, progress=False)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pi2_fluid.sweeping.sweep.chunk_shape", lambda shape, *_: blocks.fitted(shape, 2)
    )


def test_a_store_has_what_memory_has(tmp_path: Path) -> None:
    expected = sweep(LOOP, OVER)
    path = tmp_path / "x.zarr"
    found = sweep(LOOP, OVER, store=path)
    assert set(found.variables) == set(expected.variables)
    for name, variable in expected.variables.items():
        np.testing.assert_array_equal(found[name], variable)
        assert found[name].attrs == variable.attrs
    assert found.attrs["specification"] == expected.attrs["specification"]
    assert found.attrs["instruction_sets"] == expected.attrs["instruction_sets"]
    plain = xr.open_zarr(path, consolidated=False, chunks=None)
    assert plain.done.values.all()


@pytest.mark.slow
def test_runs_are_stored_with_their_labels(tmp_path: Path) -> None:
    scenario = pf.Scenario("1s", pf.Link("4Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"))
    over = {("aqm.target", "flows.0.count"): [(0.01, 1), (0.02, 2)]}
    given = scenario, over, pf.Packets(seeds=2)
    expected, found = sweep(*given), sweep(*given, store=tmp_path / "x.zarr").load()
    for name, variable in expected.variables.items():
        np.testing.assert_array_equal(found[name], variable)
        assert found[name].dims == variable.dims
    assert set(found.coords) == set(expected.coords)


def test_an_interrupted_sweep_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr"
    told: list[float] = []

    def interrupt(done: float, total: float) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pf.sweep(LOOP, OVER, store=path, progress=interrupt, workers=1)
    half = xr.open_zarr(path, consolidated=False, chunks=None).load()
    assert 0 < half.done.sum() < half.done.size
    assert (half.error == "not computed yet.").any()
    np.testing.assert_array_equal(half.error[0], sweep(LOOP, OVER).error[0])
    found = pf.sweep(LOOP, OVER, store=path, progress=lambda done, _: told.append(done))
    assert told[0] >= 3
    assert told[-1] == 9
    np.testing.assert_array_equal(found.gain_margin_db, sweep(LOOP, OVER).gain_margin_db)
    np.testing.assert_array_equal(found.error, sweep(LOOP, OVER).error)


def test_a_whole_store_is_read_without_work(tmp_path: Path, monkeypatch) -> None:
    sweep(LOOP, OVER, store=tmp_path / "x.zarr")
    monkeypatch.delattr("pi2_fluid.sweeping.sweep.fly")
    assert sweep(LOOP, OVER, store=tmp_path / "x.zarr").gain_margin_db.shape == (3, 3)


def test_another_sweep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr"
    sweep(LOOP, OVER, store=path)
    with pytest.raises(pf.QuantityError, match="another sweep"):
        sweep(LOOP, {"rtt": [0.1]}, store=path)
    with pytest.raises(pf.QuantityError, match="begins a new one"):
        sweep(LOOP, OVER, store=path, resume=False)


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(pf.QuantityError, match="no store of a sweep"):
        sweep(LOOP, OVER, store=tmp_path)
    with pytest.raises(FileNotFoundError):
        sweep(LOOP, OVER, store=tmp_path / "no" / "x.zarr")
    assert (tmp_path / "mine").read_text() == "x"


def test_chunks_without_a_sentence_are_read_as_those_that_zarr_writes(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr("pi2_fluid.sweeping.sweep.chunk_shape", lambda *_: (2, 3))  # and an edge
    over = OVER | {"p_prime": [0.1, 0.2, 0.3]}
    sweep(LOOP, over, store=tmp_path / "mine.zarr")
    plain = Store._write_errors

    def by_zarr(self: Store, *what: Any) -> None:
        self._silence = None
        plain(self, *what)

    monkeypatch.setattr(Store, "_write_errors", by_zarr)
    sweep(LOOP, over, store=tmp_path / "zarrs.zarr")
    chunks = {path.name for path in (tmp_path / "mine.zarr" / "error" / "c").iterdir()}
    assert chunks == {"0", "1"}
    for name in ("mine.zarr", "zarrs.zarr"):
        errors = xr.open_zarr(tmp_path / name, consolidated=False, chunks=None).error
        assert errors.shape == (3, 3)
        assert (errors == "").all()


@pytest.fixture
def another_set_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each block, and the first point, be computed by another instruction set."""
    sets = iter("abcdefghijklm")
    monkeypatch.setattr("pi2_fluid.sweeping.blocks._core", SimpleNamespace(simd=lambda: next(sets)))
    monkeypatch.setattr(
        "pi2_fluid.sweeping.sweep.fly",
        lambda *given, **how: blocks.fly(*given, **how | NO_PATIENCE),
    )


NO_PATIENCE = {"patience": 0.0}


@pytest.mark.usefixtures("another_set_each_time")
def test_instruction_sets_of_all_workers_are_told() -> None:
    assert sweep(LOOP, OVER, workers=1).attrs["instruction_sets"] == "a, b, c, d, e, f, g"


@pytest.mark.usefixtures("another_set_each_time")
def test_a_store_forgets_no_instruction_set(tmp_path: Path) -> None:
    """Not that of the first points, which share a block with others, nor those of other calls."""

    def interrupt(done: float, total: float) -> None:
        if done >= 4:
            raise KeyboardInterrupt

    path = tmp_path / "x.zarr"
    with pytest.raises(KeyboardInterrupt):
        pf.sweep(LOOP, OVER, progress=interrupt, workers=1, store=path)
    half = xr.open_zarr(path, consolidated=False, chunks=None).attrs["instruction_sets"].split(", ")
    assert half == list("abcd")[: len(half)]
    assert len(half) >= 2
    whole = sweep(LOOP, OVER, workers=1, store=path).attrs["instruction_sets"].split(", ")
    assert set(half) < set(whole)
    assert len(whole) > len(half) + 1
