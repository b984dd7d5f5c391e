"""What guests run is compiled once."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from refusals import refused

from pi2_fluid.engines.linux import guests
from pi2_fluid.engines.linux.guests import guest_program, seed_library
from pi2_fluid.errors import BuildError

CC = '#!/bin/sh\n[ "$1" = --version ] && exit\nwhile [ "$1" != -o ]; do shift; done\n'


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """A compiler that only counts."""

    def install(body: str = 'echo made >> "$2"'):
        (tmp_path / "bin").mkdir(exist_ok=True)
        sh = shutil.which("sh")
        path = tmp_path / "bin" / "cc"
        path.write_text(f"{CC.replace('/bin/sh', str(sh))}echo >> {tmp_path}/calls\n{body}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        return lambda: len((tmp_path / "calls").read_text())

    return install


def test_each_is_compiled_when_it_is_first_asked_for(compiler) -> None:
    calls = compiler()
    for _ in range(2):
        assert guest_program().read_text() == "made\n"
    assert calls() == 1
    assert seed_library() != guest_program()
    assert calls() == 2


def test_another_source_is_compiled_anew(compiler, tmp_path, monkeypatch) -> None:
    calls = compiler()
    first = guest_program()
    shutil.copytree(guests.SOURCES, tmp_path / "guest")
    monkeypatch.setattr(guests, "SOURCES", tmp_path / "guest")
    assert guest_program() == first
    with (tmp_path / "guest" / "init.c").open("a") as file:
        file.write("/* changed */\n")
    assert guest_program() != first
    assert calls() == 2


def test_no_compiler_is_said(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for make in (guest_program, seed_library):
        with refused(BuildError, "compiler of C", "apt-get install gcc libc6-dev"):
            make()


def test_what_does_not_compile_is_said_and_leaves_nothing(compiler, tmp_path) -> None:
    compiler("echo 'ld: error: cannot find -lc' >&2; exit 1")
    with refused(BuildError, "init", "ld: error: cannot find -lc", "libc6-dev"):
        guest_program()
    assert list((tmp_path / "cache" / "pi2-fluid" / "guests").iterdir()) == []


@pytest.mark.slow
def test_the_library_gives_numbers_by_the_seed() -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no compiler on this machine")
    # os.getrandom asks the kernel by itself, past the C library.
    code = "import ctypes; b = ctypes.create_string_buffer(8)\n"
    code += "ctypes.CDLL(None).getrandom(b, 8, 0); print(b.raw.hex())"

    def drawn(seed: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", code],
            env={"LD_PRELOAD": str(seed_library()), "PI2_SEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert drawn("1") == drawn("1") != drawn("2")
