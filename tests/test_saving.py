"""Files: whole or as they were, whatever happens while they are written."""

from __future__ import annotations

import ast
import errno
import io
import os
import pickle
import re
import resource
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import pytest
import xarray

import pi2_fluid as pf
import pi2_fluid.apps.cli.files as cli_files
from pi2_fluid.apps.cli import run
from pi2_fluid.plot import page_style, save_picture, write_numbers
from pi2_fluid.saving import require_writable, save_bytes, save_folder, save_text

if TYPE_CHECKING:
    from collections.abc import Iterator

TOP = Path(__file__).resolve().parents[1]
OLD = b"what was there before"

SMALL = pf.Scenario(
    "2s", pf.Link("10Mbit/s"), pf.Pi2(), pf.Flows(pf.Reno(), 5, "50ms", name="flows"), name="small"
)
BIG = b"x" * 100_000


@pytest.fixture(scope="module")
def result() -> xarray.Dataset:
    return pf.fluid.simulate(SMALL)


def draw(path: Path, _: Any = None) -> None:
    from matplotlib.figure import Figure

    with page_style():
        figure = Figure(figsize=(3.0, 2.0))
        figure.subplots().plot(np.sin(np.arange(500.0)))
        save_picture(figure, path)


def number_rows(path: Path, _: Any = None) -> None:
    write_numbers(path, [{"x": np.arange(500.0), "name": "curve"}])


def toml(path: Path, _: Any = None) -> None:
    SMALL.save(path)


#: Every way in which the package writes one file: its name, and how.
FORMATS = {
    "x.nc": lambda path, data: cli_files.write_netcdf(data, path),
    "x.csv": lambda path, data: cli_files.WRITERS[".csv"](data, path),
    "table.csv": lambda path, data: cli_files.write_table(data[["queue_delay"]], path),
    "numbers.csv": number_rows,
    "x.png": draw,
    "x.svg": draw,
    "x.pdf": draw,
    "x.toml": toml,
    "x.txt": lambda path, _: save_text(path, "text\n"),
}
every_format = pytest.mark.parametrize("name", FORMATS)


def here(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- nothing is lost --------------------------------------------------------------------------


@contextmanager
def _broken(where: str, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let writing fail: half-way through the bytes, when they go to the disk, or at the end."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    class Half(io.BufferedWriter):
        def write(self, data: Any) -> int:
            super().write(memoryview(data)[: len(data) // 2])
            self.flush()
            raise error

    with monkeypatch.context() as patch:
        if where == "open":
            patch.setattr(Path, "open", fail)
        elif where == "write":
            patch.setattr(Path, "open", lambda self, mode: Half(io.FileIO(self, mode[:1])))
        else:
            patch.setattr(*{"sync": (os, "fsync"), "rename": (Path, "replace")}[where], fail)
        yield


@pytest.mark.parametrize("there", [True, False], ids=["old", "new"])
@pytest.mark.parametrize("where", ["open", "write", "sync", "rename"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_an_error_leaves_what_was_there(tmp_path, monkeypatch, there, where, number) -> None:
    path = tmp_path / "x"
    if there:
        path.write_bytes(OLD)
    with (
        _broken(where, OSError(number, os.strerror(number)), monkeypatch),
        pytest.raises(OSError) as caught,  # noqa: PT011  its number is looked at below
    ):
        save_bytes(path, BIG)
    assert here(tmp_path) == (["x"] if there else [])
    assert not there or path.read_bytes() == OLD
    assert caught.value.errno == number
    assert caught.value.filename == str(path)
    if where != "open" or number == errno.ENOSPC:
        assert isinstance(caught.value, pf.WriteError)
        said = str(caught.value)
        assert said.startswith(f"{path} is not written: ")
        assert ("the file that was there is as it was" if there else "nothing is there") in said
        assert said.endswith("give another path.")
        assert ("make room" in said) == (number == errno.ENOSPC)


@pytest.mark.parametrize("where", ["write", "sync", "rename"])
def test_an_interrupt_leaves_no_litter(tmp_path, monkeypatch, where) -> None:
    path = tmp_path / "x"
    path.write_bytes(OLD)
    with _broken(where, KeyboardInterrupt(), monkeypatch), pytest.raises(KeyboardInterrupt):
        save_bytes(path, BIG)
    assert here(tmp_path) == ["x"]
    assert path.read_bytes() == OLD


@pytest.mark.slow
@every_format
def test_a_limit_of_the_system_leaves_what_was_there(tmp_path, result, name) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, limits[1]))
    try:
        with pytest.raises(pf.WriteError, match="file too large, and the file that was there"):
            FORMATS[name](path, result)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert here(tmp_path) == [name]
    assert path.read_bytes() == b"old"


FULL_DISK = """
import os, sys
from pathlib import Path
from pi2_fluid.apps.cli import run

scenario, folder = sys.argv[1], Path(sys.argv[2])
options = {name: "-o" if name < "x.p" else "--plot" for name in sys.argv[3:]}
options["x.zarr"] = "-o"
old = {name: folder / name for name in options}
old["x.zarr"].mkdir()
old["x.zarr"] /= ".zgroup"
for path in old.values():
    path.write_text("old")
with (folder / "fill").open("wb") as file:
    file.write(bytes(os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize))
for name, option in options.items():
    code = run(["simulate", scenario, option, str(folder / name)])
    print("RESULT", name, code, old[name].read_text())
print("RESULT", len(list(folder.iterdir())))
"""


@pytest.mark.slow
def test_a_disk_that_is_really_full(tmp_path) -> None:
    """64 kB of memory as a disk, which holds the old files and none of the new ones."""
    mount = 'mount -t tmpfs -o size=64k tmpfs "$0" && exec "$@"'
    inside = ["unshare", "-rm", "sh", "-c", mount, str(tmp_path)]
    if shutil.which("unshare") is None or subprocess.run([*inside, "true"]).returncode != 0:
        pytest.skip("this user may not mount anything here, or there is no unshare")
    SMALL.save(tmp_path.with_suffix(".toml"))
    names = ["x.nc", "x.csv", "x.png", "x.zarr"]
    done = subprocess.run(
        [*inside, sys.executable, "-c", FULL_DISK, tmp_path.with_suffix(".toml"), tmp_path, *names],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    # A failure, and nothing there besides the old ones and what fills the disk.
    assert said == [*(f"RESULT {name} 4 old" for name in names), "RESULT 5"]
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    for name, error in zip(names, errors, strict=True):
        kept = "folder" if "zarr" in name else "file"
        size = "" if "zarr" in name else r" for its \d+ bytes"
        assert re.fullmatch(
            rf"error: {tmp_path}/{name} is not written: no space left on device{size},"
            rf" and the {kept} that was there is as it was: make room, or give another path\.",
            error,
        )
    assert "Traceback" not in done.stderr


def test_the_error_can_be_pickled() -> None:
    error = pf.WriteError(errno.ENOSPC, "x is not written.", "x")
    back = pickle.loads(pickle.dumps(error))
    assert (str(back), back.errno, back.filename) == ("x is not written.", errno.ENOSPC, "x")


# --- folders ----------------------------------------------------------------------------------


def store(path: Path, data: xarray.Dataset) -> None:
    cli_files.WRITERS[".zarr"](data, path)


def read_store(path: Path) -> xarray.Dataset:
    return xarray.open_zarr(path).load()


@pytest.mark.slow
def test_results_of_both_engines_are_the_same_in_a_store(tmp_path, result) -> None:
    packets = pf.packet.simulate(SMALL, seeds=2)
    for data in (result, packets):
        store(tmp_path / "x.zarr", data)
        assert read_store(tmp_path / "x.zarr").identical(data)
        assert here(tmp_path) == ["x.zarr"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize(
    ("there", "fails"),
    # A new store is renamed but once.
    [(True, 1), (True, 2), (True, "write"), (False, 1), (False, "write")],
)
def test_an_error_leaves_the_store_that_was_there(
    tmp_path, monkeypatch, result, there, fails, error
) -> None:
    path = tmp_path / "x.zarr"
    if there:
        store(path, result)
    count, rename = 0, Path.rename

    def break_one(self: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if count == fails:
            raise error
        return rename(self, target)

    def broken(self: Path, mode: str) -> IO[bytes]:
        self.touch()
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", break_one)
        if fails == "write":
            patch.setattr(Path, "open", broken)
        wrapped = pf.WriteError if isinstance(error, OSError) else KeyboardInterrupt
        with pytest.raises(wrapped):
            store(path, result.isel(time=slice(3)))
    assert here(tmp_path) == (["x.zarr"] if there else [])
    assert not there or read_store(path).identical(result)


def test_a_folder_that_is_no_store_is_left_alone(tmp_path, capsys) -> None:
    mine = tmp_path / "mine.zarr"
    mine.mkdir()
    (mine / "thesis.tex").touch()
    SMALL.save(tmp_path / "small.toml")
    assert run(["simulate", str(tmp_path / "small.toml"), "-o", str(mine)]) == 2
    assert capsys.readouterr().err == f"error: cannot use {mine}: File exists: give another path.\n"
    assert here(mine) == ["thesis.tex"]


def test_a_folder_saved_over_a_link_leaves_the_link(tmp_path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    save_folder(tmp_path / "link", {"below/x": b"new"}, belongs=lambda _: True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real" / "below" / "x").read_bytes() == b"new"
    assert here(tmp_path) == ["link", "real"]


# --- what may be at a path --------------------------------------------------------------------


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_what_the_umask_leaves(tmp_path, mask, mode) -> None:
    before = os.umask(mask)
    try:
        save_bytes(tmp_path / "x", b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o7777 == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_replaced_file_keeps_its_permissions(tmp_path, mode) -> None:
    path = tmp_path / "x"
    path.write_bytes(OLD)
    path.chmod(mode)
    save_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o7777 == mode


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_one(tmp_path, there) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "x"
    if there:
        target.write_bytes(OLD)
    link = tmp_path / "link"
    link.symlink_to(Path("real") / "x")
    save_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert here(tmp_path / "real") == ["x"]


def test_a_long_name_is_no_obstacle(tmp_path) -> None:
    path = tmp_path / ("x" * 255)
    save_bytes(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("size", [0, 3, 200_000])
def test_a_pipe_stays_one(tmp_path, size) -> None:
    pipe = tmp_path / "x.nc"
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    save_bytes(pipe, b"x" * size)
    reader.join(10.0)
    assert found == [b"x" * size]
    assert pipe.is_fifo()


def test_a_device_stays_one(tmp_path) -> None:
    for name in ("null", "full"):
        (tmp_path / name).symlink_to(f"/dev/{name}")
    save_bytes(tmp_path / "null", b"new")
    if Path("/dev/full").is_char_device():
        with pytest.raises(pf.WriteError, match=r"no space left .* 3 bytes: make room") as caught:
            save_bytes(tmp_path / "full", b"new")
        assert "there" not in str(caught.value)
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("path", ["/dev/stdout", "/dev/stderr", "/dev/fd/1"])
@pytest.mark.parametrize("to", ["pipe", "file"])
def test_a_stream_goes_on_after_it_was_saved_to(tmp_path, path, to) -> None:
    """A shell that appends to the file has it open, and would go on writing to another one."""
    stream = "stderr" if "err" in path else "stdout"
    code = (
        "import sys; from pi2_fluid.saving import save_text;"
        f"save_text({path!r}, 'saved\\n'); print('after', file=sys.{stream})"
    )
    out = tmp_path / "out"
    with out.open("a+b") as file:
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            **{stream: file if to == "file" else subprocess.PIPE},
        )
        assert to == "pipe" or out.read_bytes() == b"saved\nafter\n"
    assert here(tmp_path) == ["out"]


def test_process_substitution() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    code = "import sys; from pi2_fluid.saving import save_text; save_text(sys.argv[1], 'saved')"
    done = subprocess.run(
        [bash, "-c", f'"{sys.executable}" -c "{code}" >(cat)'], capture_output=True, check=True
    )
    assert done.stdout == b"saved"


def test_what_cannot_be_written_is_refused_by_name(tmp_path) -> None:
    (tmp_path / "file").touch()
    for path, kind in {
        tmp_path / "none" / "x": FileNotFoundError,
        tmp_path / "file" / "x": NotADirectoryError,
        tmp_path: IsADirectoryError,
    }.items():
        with pytest.raises(kind) as caught:
            save_bytes(path, b"new")
        assert caught.value.filename == str(path)
        with pytest.raises(kind):
            require_writable(path)
    require_writable(tmp_path / "file")
    require_writable(tmp_path / "new")
    require_writable("/dev/null")
    assert here(tmp_path) == ["file"]


def test_a_protected_file_is_left_alone(tmp_path, monkeypatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(OLD)
    path.chmod(0o444)
    if os.geteuid() == 0:  # who may do anything: ask as somebody else would
        monkeypatch.setattr(os, "access", lambda at, mode: Path(at) != path)
    for save in (lambda: save_bytes(path, b"new"), lambda: require_writable(path)):
        with pytest.raises(PermissionError) as caught:
            save()
        assert caught.value.filename == str(path)
    assert path.read_bytes() == OLD
    assert here(tmp_path) == ["x"]


# --- one way to write -------------------------------------------------------------------------

# What writes to a path by itself, and the modules that may call it, if any may.
WRITES: dict[str, set[str]] = {
    "write_text": set(),
    "write_bytes": set(),
    "to_netcdf": set(),
    "tofile": set(),
    "copyfile": set(),
    "savez": set(),
    "dump": set(),
    "to_zarr": {"pi2_fluid/apps/cli/files.py", "pi2_fluid/sweeping/store.py"},  # in memory
    "to_csv": {"pi2_fluid/apps/cli/files.py"},  # as text
    "savefig": {"pi2_fluid/plot/page.py"},  # into memory
    "open": {
        "pi2_fluid/saving.py",
        "pi2_fluid/engines/linux/building/archives.py",  # into a tree that is renamed when whole
        "pi2_fluid/engines/linux/building/fetching.py",  # goes on with what came, and renames it
    },
}

# What these write is made anew each time: in build/, and in a folder that is deleted with the run.
SCRATCH = {
    "tools/browser.py",
    "tools/cluster.py",
    "tools/mutate.py",
    "tools/record_netlink.py",
    "tools/try_wheel.py",
    "tools/wheels.py",
    "pi2_fluid/engines/ns3/child.py",
    "pi2_fluid/engines/linux/boot.py",
    "pi2_fluid/engines/ns3/process.py",
}


def writing_calls(source: str) -> list[tuple[int, str]]:
    """Return (line, name) of each call that could write a file."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func).rpartition(".")[2]
        modes = [a.value for a in node.args if isinstance(a, ast.Constant)]
        modes += [
            k.value.value
            for k in node.keywords
            if k.arg == "mode" and isinstance(k.value, ast.Constant)
        ]
        reads = name == "open" and not any(set(str(mode)) & set("wax+") for mode in modes)
        if name in WRITES and not reads:
            found.append((node.lineno, name))
    return found


@pytest.mark.slow
def test_every_file_is_saved_in_one_way() -> None:
    for folder in ("pi2_fluid", "tools", "bench"):
        for path in sorted((TOP / folder).rglob("*.py")):
            where = path.relative_to(TOP).as_posix()
            if where in SCRATCH:
                continue
            for line, name in writing_calls(path.read_text(encoding="utf-8")):
                assert where in WRITES[name], f"{where}:{line} writes with {name}: use saving.py"


@pytest.mark.parametrize(
    "source",
    ["open(x, 'w')", "x.open('ab')", "x.open(mode='r+')", "a.write_text(b)", "f.savefig('x.png')"],
)
def test_another_way_is_seen(source) -> None:
    assert len(writing_calls(source)) == 1


@pytest.mark.parametrize("source", ["open(x)", "x.open('rb')", "x.open(encoding='utf-8')"])
def test_reading_is_another_matter(source) -> None:
    assert writing_calls(source) == []
