"""Kernels for guests at the shell: what is built, what there is, and how it ends."""

from __future__ import annotations

import errno
import json
import time
from pathlib import Path

import pytest
from shell import answered, assert_bad_input, printed

from pi2_fluid.apps.cli import run
from pi2_fluid.engines.linux.building import builder
from pi2_fluid.engines.linux.building.configuration import FRAGMENT
from pi2_fluid.engines.linux.kernels import find_kernel, kernels_folder
from pi2_fluid.errors import BuildError, WriteError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("PI2_FLUID_KERNEL", raising=False)


@pytest.fixture
def folder() -> Path:
    place = kernels_folder() / "7.2.13-abc"
    place.mkdir(parents=True)
    (place / "uml").write_bytes(b"x" * 5_000_000)
    (place / "config").write_text(FRAGMENT.read_text())
    manifest = {
        "release": "7.2.13",
        "configuration": "00",
        "source": {"name": "x.deb", "sha256": "11", "signature": "checked by gpgv"},
        "without": ["TCP_CONG_PRAGUE"],
        "compiler": "gcc 12",
        "built": "2026-01-01T00:00:00+00:00",
        "wall_seconds": 300.0,
    }
    (place / "manifest.json").write_text(json.dumps(manifest))
    return place


@pytest.fixture
def building(monkeypatch):
    """What a build is asked for, and what it does instead."""
    asked = []

    def install(does):
        def build(*given, told, **more):
            asked.append((*given, more))
            return does(told)

        monkeypatch.setattr(builder, "build_kernel", build)
        return asked

    return install


def test_info_says_what_a_kernel_has(capsys, folder) -> None:
    text = printed(capsys, ["linux", "info"])
    assert text.startswith("Linux 7.2.13\n")
    for said in (
        "dualpi2",
        "bbr",
        "TCP_CONG_PRAGUE",
        "x.deb",
        "checked by gpgv",
        "5.0 MB",
        "300 s",
    ):
        assert said in text


def test_info_as_json(capsys, folder) -> None:
    (kernel,) = answered(capsys, ["linux", "info", "--json"])["kernels"]
    assert kernel["release"] == "7.2.13"
    assert kernel["folder"] == str(folder)
    assert kernel["bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    assert "dualpi2" in kernel["qdiscs"]
    assert kernel["manifest"]["compiler"] == "gcc 12"


def test_info_where_there_is_none(capsys, tmp_path) -> None:
    said = f"there is no kernel in {tmp_path}/pi2-fluid/kernels: build one by pi2-fluid linux build"
    assert_bad_input(capsys, ["linux", "info"], said)
    assert answered(capsys, ["linux", "info", "--json"]) == {"kernels": []}


def test_build_hands_its_options_on_and_says_how_far_it_is(
    capsys, folder, building, monkeypatch
) -> None:
    def work(told):
        told("reading http://x", 0, 0, "")
        told("fetching", 1, 164, "MB")
        told("fetching", 164, 164, "MB")
        for minutes in (0, 0.9, 1.1, 1.2, 9):
            monkeypatch.setattr(time, "monotonic", lambda at=60.0 * minutes: 1e6 + at)
            told("compiling", 100 * minutes + 1, 0, "files")
        return find_kernel()

    asked = building(work)
    words = ["linux", "build", "--version", "7.2", "--mirror", "http://x", "-j", "3"]
    assert run([*words, "--keep-source", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["release"] == "7.2.13"
    assert err == (
        "reading http://x ...\nfetching 164 MB ...\n"
        "compiling, seven minutes of one core or so ...\n"
        "compiling, 111 files in 66 s ...\ncompiling, 901 files in 540 s ...\n"
    )
    more = {"mirror": "http://x", "jobs": 3, "keep_source": True, "unchecked": False}
    assert asked == [("7.2", None, more)]
    assert run([*words, "--unchecked"]) == 0
    assert asked[1][2]["unchecked"]


@pytest.mark.parametrize("error", [BuildError("no gcc."), WriteError(errno.ENOSPC, "no room.", "")])
def test_what_the_machine_lacks_is_another_code_than_what_was_typed(
    capsys, error, building
) -> None:
    def fail(told):
        raise error

    building(fail)
    assert run(["linux", "build"]) == 4
    assert capsys.readouterr().err == f"error: {error}\n"


def test_ctrl_c_says_that_nothing_is_lost(capsys, building) -> None:
    def stop(told):
        raise KeyboardInterrupt

    building(stop)
    assert run(["linux", "build"]) == 130
    assert "the same command goes on" in capsys.readouterr().err


def test_bad_options_are_refused(capsys) -> None:
    assert_bad_input(capsys, ["linux", "build", "--jobs", "none"], "--jobs 'none'", "1 or more")
    assert_bad_input(capsys, ["linux", "sell"], "sell", "pi2-fluid linux -h")


def test_without_a_command_there_is_help(capsys) -> None:
    assert run(["linux"]) == 2
    out = capsys.readouterr().out
    assert "build" in out
    assert "info" in out
