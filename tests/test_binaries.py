"""What is read of a wheel's extension without running it: asked of the one that runs here."""

from __future__ import annotations

import os
import pickle
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import binaries
import pytest

from pi2_fluid import _core

HERE = Path(_core.__file__)
MACHINE = platform.machine().lower()
linux = pytest.mark.skipif(sys.platform != "linux", reason="asks what ELF and glibc say")


#: In a process of its own: what LIEF holds until the end of pytest it tells as leaked.
READ = """
import pathlib, pickle, sys
import binaries
sys.stdout.buffer.write(pickle.dumps(binaries.read(pathlib.Path(sys.argv[1]).read_bytes())))
"""


@pytest.fixture(scope="module")
def found():
    told = os.environ | {"PYTHONPATH": str(Path(binaries.__file__).parent)}
    done = subprocess.run([sys.executable, "-c", READ, HERE], env=told, capture_output=True)
    assert not done.returncode, done.stderr.decode()
    read = pickle.loads(done.stdout)
    assert isinstance(read, binaries.Extension)
    return read


@pytest.mark.slow
def test_what_runs_here_is_for_this_machine_and_begun_by_python(found):
    assert found.machine == MACHINE
    assert "PyInit__core" in found.given
    assert {"PyObject_GetAttr", "PyExc_ValueError"} <= found.wanted


@linux
@pytest.mark.slow
def test_what_a_loader_would_refuse_is_named(found):
    assert found.oldest >= (2, 14)
    said = binaries.wrong(found, "linux-mips", "mips", (2, 9), None)
    assert said[:2] == [
        f"it is for {MACHINE}, not mips",
        f"it asks for version {'.'.join(map(str, found.oldest))} of the system, not 2.9",
    ]
    libraries = {x.removeprefix("it loads ") for x in said[2:]}
    assert libraries <= set(found.libraries)
    assert not any(re.match(r"lib[cm]\.", name) for name in libraries)
    mac = binaries.wrong(found, "macosx-11.0-arm64", MACHINE, found.oldest, None)
    assert [x.removeprefix("it loads ") for x in mac] == list(found.libraries)


@pytest.mark.slow
def test_names_outside_the_stable_abi_are_named(found):
    stable = binaries.stable_names((3, 12))
    said = binaries.wrong(found, "linux-x", MACHINE, (9, 9), stable - {"PyObject_GetAttr"})
    assert "PyObject_GetAttr is not in the stable ABI" in said
    lost = binaries.Extension(MACHINE, (), (), found.wanted, frozenset())
    assert binaries.wrong(lost, "linux-x", MACHINE, (), None) == [
        "Python could not begin it: it has no PyInit__core"
    ]


def test_the_stable_abi_grows_with_pythons_versions():
    old, new = binaries.stable_names((3, 12)), binaries.stable_names((3, 13))
    assert old < new
    assert {"PyExc_ValueError", "PyObject_Vectorcall"} <= old
    assert "PyDict_GetItemRef" in new - old


def test_the_newest_version_is_by_numbers():
    assert binaries.versions(["GLIBC_2.9", "GLIBC_2.28", "GLIBCXX_3.4"], "GLIBC_") == (2, 28)
    assert binaries.versions(["GLIBC_PRIVATE"], "GLIBC_") == ()


def test_a_wheel_has_one_extension(tmp_path: Path):
    wheel = tmp_path / "one.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pi2_fluid/_core.pyi", "")
        archive.writestr("pi2_fluid/_core.abi3.so", b"it")
    assert binaries.extension(wheel) == b"it"
