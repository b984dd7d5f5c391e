"""What used to end in another library's words: one typed sentence with what to give instead."""

from __future__ import annotations

import dataclasses
import difflib
import errno
import functools
import importlib.util
import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pi2_fluid as pf
from pi2_fluid.apps.cli.shell import ROOMS
from pi2_fluid.engines.engine import Engine
from pi2_fluid.records.record import Record

LOOP = pf.Loop(pf.Reno(), pf.Pi2(), rtt="100ms", p_prime=0.1)
OVER = {"rtt": [0.05, 0.1]}
sweep = functools.partial(pf.sweep, progress=False, workers=1)


# --- misspelt names -------------------------------------------------------------------------


def made_by_names() -> list[type]:
    there = [getattr(pf, name) for name in pf.__all__]
    there += [getattr(pf.linux, name) for name in pf.linux.__all__]
    classes = {x for x in there if inspect.isclass(x) and issubclass(x, (Record, Engine))}
    return sorted((x for x in classes if not inspect.isabstract(x)), key=lambda x: x.__name__)


@pytest.mark.parametrize("cls", made_by_names())
def test_a_misspelt_name_is_answered_by_the_nearest(cls: type) -> None:
    """Each name with two letters exchanged, one left out, and one that is like none."""
    signature = inspect.signature(cls)
    if any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values()):
        return  # takes the words of tc, which it checks itself
    known = list(signature.parameters)
    needed = {n: None for n, one in signature.parameters.items() if one.default is one.empty}
    for name in known:
        wrong = {name[:1] + name[2:3] + name[1:2] + name[3:], name[:-1], "zzqx"} - {*known, ""}
        for word in wrong:
            with pytest.raises(pf.UnsupportedError) as told:
                cls(**needed | {word: 1})
            said = str(told.value)
            assert said.startswith(f"{cls.__name__} has no {word!r}: give ")
            if near := difflib.get_close_matches(word, known):
                assert repr(near[0]) in said
    with pytest.raises(TypeError):  # as Python says it, too
        cls(**needed | {"zzqx": 1})


def test_places_and_missing_names() -> None:
    with pytest.raises(pf.UnsupportedError, match="Pi2 takes nothing without a name, and by name"):
        pf.Pi2(0.3)  # type: ignore[misc]
    with pytest.raises(pf.UnsupportedError, match="Flows lacks sender: give it"):
        pf.Flows(base_rtt="20ms")  # type: ignore[call-arg]
    with pytest.raises(pf.UnsupportedError, match="is given sender twice"):
        pf.Flows(pf.Reno(), sender=pf.Reno())  # type: ignore[misc]

    class Broken(pf.Reno):
        def __post_init__(self) -> None:
            len(3)  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="has no len") as told:
        Broken()
    assert type(told.value) is TypeError


# --- loops in other hands -------------------------------------------------------------------


def test_a_loop_takes_text_for_times() -> None:
    assert LOOP.step("5s") == LOOP.step(5.0)
    np.testing.assert_array_equal(LOOP.step(["1s", "2s"]), LOOP.step([1.0, 2.0]))
    for wrong in ("5 parsecs", "5", float("nan"), [1.0, np.inf]):
        with pytest.raises(pf.QuantityError, match=r"^t = "):
            LOOP.step(wrong)  # type: ignore[arg-type]


def test_python_control_is_told_what_to_take() -> None:
    control = pytest.importorskip("control")
    for function in (control.poles, control.bode_plot, control.nyquist_plot):
        with pytest.raises(AttributeError, match=r"loop.to_control\(\), or ask loop\.\w+\("):
            function(LOOP)
    with pytest.warns(UserWarning, match=r"ask loop.margins\(\) for exact numbers"):
        np.testing.assert_allclose(control.margin(LOOP), list(LOOP.margins()), rtol=1e-4)
    network = pf.Loop(pf.named_scenario("parking_lot").network)
    with pytest.raises(pf.UnsupportedError, match=r"NetworkLoop has no 'margin': give .*'margins'"):
        network.margin()  # type: ignore[union-attr]
    assert not hasattr(LOOP, "nothing_of_the_kind")


# --- sweeps ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows", [[(0.1, 0.2), (0.1,)], [(0.1, [0.2, 0.3]), (0.1, 0.2)], [0.1, (0.1, 0.2)], ["ab", "cd"]]
)
def test_unequal_rows_are_refused(rows: Any) -> None:
    with pytest.raises(pf.QuantityError, match=r"aqm.alpha"):
        sweep(LOOP, {("rtt", "aqm.alpha"): rows})


def test_a_store_without_zarr(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = importlib.util.find_spec
    lacking = lambda name, *rest: None if name == "zarr" else found(name, *rest)  # noqa: E731
    monkeypatch.setattr("importlib.util.find_spec", lacking)
    with pytest.raises(pf.UnsupportedError, match=r"pip install pi2-fluid\[files\]"):
        sweep(LOOP, OVER, store=tmp_path / "x.zarr")


@pytest.mark.parametrize("race", [False, True])
def test_two_processes_begin_one_store(
    race: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("zarr")
    path = tmp_path / "x.zarr"
    from pi2_fluid.sweeping import store

    save = store.save_folder

    def begun_meanwhile(*given: Any, **how: Any) -> None:
        if race:  # between the look at the place and the renaming
            monkeypatch.setattr("pi2_fluid.saving._find", lambda _: None)
        (path / "zarr.json").parent.mkdir()
        (path / "zarr.json").write_text("{}")
        save(*given, **how)

    monkeypatch.setattr(store, "save_folder", begun_meanwhile)
    with pytest.raises(pf.QuantityError, match="begun by another process"):
        sweep(LOOP, OVER, store=path)
    assert [child.name for child in tmp_path.iterdir()] == ["x.zarr"]


def test_a_full_disk_under_a_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("zarr")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("pi2_fluid.sweeping.store.Store._write", full)
    with pytest.raises(pf.WriteError, match=r"x.zarr is not written: no space.*make room") as told:
        sweep(LOOP, OVER, store=tmp_path / "x.zarr")
    assert told.value.filename == str(tmp_path / "x.zarr")


# --- the shell ------------------------------------------------------------------------------


def shell(words: str, closed: str) -> subprocess.CompletedProcess[str]:
    """Run a command line with standard input or output closed, or full."""
    program = f"{sys.executable} -c 'from pi2_fluid.apps.cli import main; main()' {words}"
    return subprocess.run(
        ["sh", "-c", f"{program} {closed}"], capture_output=True, text=True, timeout=120
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", ROOMS)
def test_closed_and_full_output(command: str) -> None:
    done = shell(f"{command} --help", ">&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: standard output is closed: ")
    if not Path("/dev/full").exists():
        return
    done = shell(f"{command} --help", ">/dev/full")
    assert done.returncode == 4
    assert done.stderr.startswith("error: cannot use the output: No space left")


@pytest.mark.slow
@pytest.mark.parametrize("words", ["check - --hz 250", "replay -", "check", "schema"])
def test_closed_input(words: str) -> None:
    done = shell(words, "<&-")
    assert done.returncode in {0, 2}
    assert "internal" not in done.stderr
    if words.split()[1:2] == ["-"]:
        assert done.stderr.startswith("error: standard input is closed: ")
    assert done.stderr.count("\n") <= 1


def test_a_full_device_is_named() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    scenario = pf.Scenario("1s", pf.Link("4Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 2, "40ms"))
    for saved in (scenario, scenario.network):
        with pytest.raises(pf.WriteError, match=r"/dev/full is not written: no space"):
            saved.save("/dev/full")
    assert dataclasses.is_dataclass(scenario)
