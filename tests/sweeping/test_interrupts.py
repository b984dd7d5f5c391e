"""Ctrl-C, as a signal to a process whose threads sweep: what is done is kept."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path

import pytest
import xarray as xr
from programs import printed_by

import pi2_fluid as pf
from pi2_fluid.sweeping.interrupting import later

pytest.importorskip("zarr")

SWEEP = """
import functools, itertools, json, os, signal, sys, threading, time

import pi2_fluid as pf
from pi2_fluid.sweeping import blocks, sweep as room
from pi2_fluid.sweeping.questions.runs import Runs

room.fly = functools.partial(blocks.fly, patience=0.0)
room.chunk_shape = lambda shape, *_: blocks.fitted(shape, 2)
plain = Runs._run
path = sys.argv[1] + "/"


def interrupted_at(place, workers=2, **given):
    count, heard = itertools.count(), threading.Event()

    def hear(*received):
        heard.set()
        signal.default_int_handler(*received)

    signal.signal(signal.SIGINT, hear)

    def run(*these):
        if next(count) == place:
            os.kill(os.getpid(), signal.SIGINT)
            heard.wait(60.0)  # on a busy machine the first thread may be late
            time.sleep(0.5)  # in which it says so to the others
        return plain(*these)

    Runs._run = run
    return pf.sweep(SCENARIO, OVER, workers=workers, progress=False, **given)


found = interrupted_at(4)
said = {"errors": found.error.values.tolist(), "interrupted": found.attrs["interrupted"]}
# At the first points one thread: another could have done some by then.
for name, place, workers in (("early", 0, 1), ("late", 4, 2)):
    try:
        interrupted_at(place, workers, store=path + name)
    except KeyboardInterrupt:
        said[name] = os.path.exists(path + name)
try:
    interrupted_at(0, 1)
except KeyboardInterrupt:
    said["first"] = True
print(json.dumps(said))
"""
GIVEN = """
import pi2_fluid as pf

SCENARIO = pf.Scenario("1s", pf.Link("4Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"))
OVER = {"aqm.target": [0.01 + 0.0001 * number for number in range(60)]}
"""


@pytest.mark.slow
def test_a_signal_leaves_what_is_done(tmp_path: Path) -> None:
    said = json.loads(printed_by(GIVEN + SWEEP, str(tmp_path)))
    # In the first points nothing is there yet, neither to return nor to store.
    assert said["first"]
    assert said["early"] is False
    # Threads finish the blocks that they are at, and begin no other: how many are done by the
    # time that the first thread has heard the signal is the machine's.
    done = [not error for error in said["errors"]]
    assert said["interrupted"] == 1
    assert done[0]
    assert 5 <= sum(done) < 60
    assert {error for error in said["errors"] if error} == {"interrupted before it was computed."}
    assert said["late"] is True
    half = xr.open_zarr(tmp_path / "late", consolidated=False, chunks=None).load()
    assert 0 < half.done.sum() < half.done.size
    given: dict = {}
    exec(GIVEN, given)
    expected = pf.sweep(given["SCENARIO"], given["OVER"], progress=False)
    found = pf.sweep(given["SCENARIO"], given["OVER"], progress=False, store=tmp_path / "late")
    kept = (half.error == "").to_numpy()
    assert 4 <= kept.sum() < 60
    for name, variable in expected.data_vars.items():
        assert found[name].to_numpy().tolist() == variable.to_numpy().tolist()
        if name != "error":
            assert found[name].to_numpy().tobytes() == variable.to_numpy().tobytes()
            assert half[name].to_numpy()[kept].tobytes() == variable.to_numpy()[kept].tobytes()


def test_ctrl_c_waits_until_a_store_is_done() -> None:
    # Who runs in the background may have been told to ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    usual, done = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with later():
            signal.raise_signal(signal.SIGINT)
            done.append("whole")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["whole"]
    assert signal.getsignal(signal.SIGINT) is usual
    other = threading.Thread(target=work_elsewhere, args=(done,))
    other.start()
    other.join()
    assert done == ["whole", "elsewhere"]
    signal.signal(signal.SIGINT, before)


def work_elsewhere(done: list[str]) -> None:
    """Other threads hear no signals, and may set no handlers."""
    with later():
        done.append("elsewhere")
