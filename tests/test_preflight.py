"""tools/preflight.sh names each thing that a machine lacks, on machines made for the purpose."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "tools" / "preflight.sh"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Machine:
    """A PATH of its own, with just the commands put there."""

    root: Path

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def shadow(self) -> Path:
        """Modules that its Python finds before the standard library's."""
        return self.root / "shadow"

    def command(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def module(self, name: str, source: str) -> None:
        (self.shadow / f"{name}.py").write_text(source, encoding="utf-8")

    def remove(self, name: str) -> None:
        (self.bin / name).unlink()

    def preflight(self, **environment: str) -> tuple[int, list[str]]:
        """Run the script; return its exit status and the lines it printed."""
        temporary = self.root / "tmp"
        temporary.mkdir(exist_ok=True)
        done = subprocess.run(
            [shutil.which("sh") or "/bin/sh", str(SCRIPT)],
            env={"PATH": str(self.bin), "TMPDIR": str(temporary), **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout == ""
        assert not list(temporary.iterdir()), "scratch files left behind"
        return done.returncode, done.stderr.splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine on which nothing is lacking."""
    machine = Machine(tmp_path)
    machine.bin.mkdir()
    machine.shadow.mkdir()
    for name in ("cat", "mktemp", "rm"):
        found = shutil.which(name)
        assert found
        (machine.bin / name).symlink_to(found)
    for name in ("cc", "c++", "make"):
        machine.command(name, "exit 0")
    machine.command("python3", f'PYTHONPATH="{machine.shadow}" exec "{sys.executable}" "$@"')
    (tmp_path / "Python.h").touch()
    machine.module("venv", "")
    machine.module("ensurepip", "")
    machine.module("sysconfig", f"def get_path(name):\n    return {str(tmp_path)!r}\n")
    return machine


def test_a_complete_machine_passes_in_silence(machine: Machine) -> None:
    assert machine.preflight() == (0, [])


#: What a machine may lack, and how that comes about.
LACKS: dict[str, Callable[[Machine], None]] = {
    "python": lambda machine: machine.remove("python3"),
    "new python": lambda machine: machine.command("python3", "echo 3.10"),
    "venv": lambda machine: machine.module("venv", "raise ImportError"),
    # As Debian does it: the module venv is there, what it needs is not.
    "ensurepip": lambda machine: machine.module("ensurepip", "raise ImportError"),
    "headers": lambda machine: (machine.root / "Python.h").unlink(),
    "c": lambda machine: machine.remove("cc"),
    # A compiler without the C library's headers is there and fails.
    "working c": lambda machine: machine.command("cc", "exit 1"),
    "c++": lambda machine: machine.remove("c++"),
    "working c++": lambda machine: machine.command("c++", "exit 1"),
    "make": lambda machine: machine.remove("make"),
}


@pytest.mark.parametrize(
    ("lack", "name", "packages"),
    [
        ("venv", "venv", [f"python{VERSION}-venv", "python3-pip", "brew install python"]),
        ("ensurepip", "ensurepip", [f"python{VERSION}-venv"]),
        ("headers", "Python.h", [f"python{VERSION}-dev", "python3-devel"]),
        ("c", "C compiler", ["apt install gcc", "dnf install gcc", "xcode-select"]),
        ("working c", "C compiler", ["apt install gcc"]),
        ("c++", "C++ compiler", ["apt install g++", "dnf install gcc-c++", "xcode-select"]),
        ("working c++", "C++ compiler", ["apt install g++"]),
        ("make", "make", ["apt install make", "dnf install make", "xcode-select"]),
    ],
)
def test_a_lacking_thing_is_named_in_one_line(machine, lack, name, packages) -> None:
    LACKS[lack](machine)
    status, lines = machine.preflight()
    assert status == 1
    assert len(lines) == 1
    assert name in lines[0]
    for package in packages:
        assert package in lines[0]


@pytest.mark.parametrize("lack", ["python", "new python"])
def test_without_a_python_its_parts_are_named_too(machine, lack) -> None:
    LACKS[lack](machine)
    status, lines = machine.preflight()
    assert status == 1
    assert len(lines) == 3
    for line, name, package in zip(
        lines,
        ["Python 3.11 or newer", "venv", "Python.h"],
        ["apt install python3;", "apt install python3-venv;", "apt install python3-dev;"],
        strict=True,
    ):
        assert name in line
        assert package in line


def test_an_old_python_is_told_its_version(machine: Machine) -> None:
    LACKS["new python"](machine)
    assert "3.10" in machine.preflight()[1][0]


@pytest.mark.parametrize("version", ["2.7", "3.9", "4.0"])
def test_other_pythons_are_refused(machine: Machine, version: str) -> None:
    machine.command("python3", f"echo {version}")
    assert machine.preflight()[0] == 1


@pytest.mark.parametrize("version", ["3.11", "3.14", "3.20"])
def test_versions_are_compared_as_numbers(machine: Machine, version: str) -> None:
    machine.command(
        "python3",
        f'case "$2" in *version_info*) echo {version};; *sysconfig*) echo "{machine.root}";; esac',
    )
    assert machine.preflight() == (0, [])


@pytest.mark.parametrize(
    ("lacks", "names"),
    [
        (["python"], ["Python 3.11", "venv", "Python.h"]),
        (["ensurepip", "headers"], ["ensurepip", "Python.h"]),
    ],
)
def test_everything_lacking_is_named_at_once(machine: Machine, lacks, names) -> None:
    for lack in (*lacks, "c", "c++", "make"):
        LACKS[lack](machine)
    status, lines = machine.preflight()
    assert status == 1
    for line, name in zip(lines, [*names, "C compiler", "C++ compiler", "make "], strict=True):
        assert name in line


def test_python_cc_and_cxx_are_honoured(machine: Machine) -> None:
    (machine.bin / "python3").rename(machine.bin / "python3.99")
    (machine.bin / "cc").rename(machine.bin / "other-cc")
    (machine.bin / "c++").rename(machine.bin / "other-c++")
    chosen = {"PYTHON": "python3.99", "CC": "other-cc -m64", "CXX": "other-c++"}
    assert machine.preflight(**chosen) == (0, [])
    assert len(machine.preflight()[1]) == 5


@pytest.mark.parametrize(("cc", "cxx"), [("gcc", "g++"), ("clang", "clang++")])
def test_a_compiler_under_its_own_name_will_do(machine: Machine, cc: str, cxx: str) -> None:
    (machine.bin / "cc").rename(machine.bin / cc)
    (machine.bin / "c++").rename(machine.bin / cxx)
    assert machine.preflight() == (0, [])


@pytest.mark.slow
def test_the_compilers_are_asked_to_build_a_program(machine: Machine) -> None:
    real = {name: shutil.which(name) for name in ("cc", "c++")}
    if not all(real.values()):
        pytest.skip("no compilers on this machine")
    for name, found in real.items():
        machine.command(name, f'PATH="$REAL_PATH" exec "{found}" "$@"')
    assert machine.preflight(REAL_PATH=os.environ["PATH"]) == (0, [])
