"""Warnings of workers come once, to who called, and say at how many points."""

from __future__ import annotations

import functools
import threading
import warnings

import pytest
import xarray as xr

import pi2_fluid as pf
from pi2_fluid.sweeping import blocks, warned

SHORT = pf.Scenario("1s", pf.Link("4Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"))
sweep = functools.partial(pf.sweep, progress=False)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pi2_fluid.sweeping.sweep.chunk_shape", lambda shape, *_: blocks.fitted(shape, 2)
    )
    monkeypatch.setattr("pi2_fluid.sweeping.sweep.fly", functools.partial(blocks.fly, patience=0))


def loud(run: xr.Dataset) -> xr.Dataset:
    last = float(run.time[-1])
    if last > 0.7:
        warnings.warn(f"it lasts {last:.3f} s", pf.AssumptionWarning, stacklevel=1)
        warnings.warn("again and again", RuntimeWarning, stacklevel=1)
    return xr.Dataset({"last": last})


@pytest.mark.parametrize(
    "given", [{"workers": 3}, pytest.param({"processes": True}, marks=pytest.mark.slow)]
)
def test_each_kind_is_told_once(given) -> None:
    usual = warnings.filters[:], warnings.showwarning
    times = [0.5, 0.8, 0.9, 0.6, 1.0, 0.7, 1.1]
    with pytest.warns() as told:
        found = sweep(SHORT, {"duration": times}, reduce=loud, **given)
    assert (found.error == "").all()
    assert [(one.category, str(one.message)) for one in told] == [
        (pf.AssumptionWarning, "at 4 of 7 points, the first duration = 0.8: it lasts 0.800 s"),
        (RuntimeWarning, "at 4 of 7 points, the first duration = 0.8: again and again"),
    ]
    assert {one.filename for one in told} == {__file__}
    assert (warnings.filters, warnings.showwarning) == usual


def test_one_point_is_named() -> None:
    with pytest.warns() as told:
        sweep(SHORT, {"duration": [0.5, 0.8]}, reduce=loud)
    assert [str(one.message) for one in told][1:] == ["at duration = 0.8: again and again"]


def test_arrays_are_told_as_such() -> None:
    loop = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
    words = r"^at some of 2 points, from p_prime = 0\.1 on: the window is 1\.41"
    with pytest.warns(pf.AssumptionWarning, match=words):
        sweep(loop, {"p_prime": [0.01, 0.02, 0.1, 1.0]})


def test_what_is_ignored_stays_so(capfd) -> None:
    with warnings.catch_warnings(action="ignore"):
        sweep(SHORT, {"duration": [0.8, 0.9, 1.0]}, reduce=loud)
    assert not capfd.readouterr().err


def test_threads_hear_their_own_warnings_alone() -> None:
    both = threading.Barrier(2)
    heard: dict[str, list[str]] = {}

    def work(name: str) -> None:
        with warned.listening() as ear:
            both.wait()
            warnings.warn(name, UserWarning, stacklevel=1)
            list(ear.of([(slice(0, 1), ValueError())]))
            heard[name] = [note.text for note in ear.notes.values()]
            both.wait()

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    with pytest.warns(UserWarning, match="not of a worker"):
        warnings.warn("not of a worker", UserWarning, stacklevel=1)
    for thread in threads:
        thread.join()
    assert heard == {"a": ["a"], "b": ["b"]}
