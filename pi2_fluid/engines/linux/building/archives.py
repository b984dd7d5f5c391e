"""Sources of kernels as they come: Debian's packages, tar archives, trees of files.

A package is an archive of ``ar``: ``data.tar`` in it, of which one file is the source, again a tar
archive. All are read as streams, and what a guest's kernel is not made of is not written. Ubuntu's
packages are packed by zstd, which tarfile reads from Python 3.14 on: these dpkg-deb unpacks.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import io
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from pi2_fluid.errors import BuildError, UnsupportedError, show_value

__all__ = ["copy_tree", "is_needed", "sha256_of_file", "sha256_of_tree", "unpack"]

#: The patterns of what is left out.
UNNEEDED: Final = Path(__file__).parents[1] / "guest" / "unneeded"

_AR: Final = b"!<arch>\n"
_AR_HEADER: Final = 60
_SOURCE: Final = re.compile(r"(\./)?usr/src/(linux-source-[^/]+/)?linux-source-[^/]+\.tar(\.\w+)?")
_ALWAYS: Final = re.compile(r"(Kconfig|Makefile|Kbuild)[^/]*")

Progress = Callable[[float, float], None]


def is_needed(path: str) -> bool:
    """Return whether a file of a source is needed, by its path in it.

    Examples
    --------
    >>> is_needed("net/sched/sch_pie.c"), is_needed("drivers/gpu/drm/drm_file.c")
    (True, False)
    >>> is_needed("drivers/gpu/drm/Kconfig"), is_needed("drivers/net/veth.c")
    (True, True)
    """
    if _ALWAYS.fullmatch(path.rpartition("/")[2]):
        return True
    fits = [stays for pattern, stays in _patterns() if pattern.match(path)]
    return not fits or fits[-1]


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], bool], ...]:
    lines = UNNEEDED.read_text(encoding="utf-8").splitlines()
    said = [line for line in lines if line and not line.startswith("#")]
    return tuple(
        (re.compile(fnmatch.translate(line.removeprefix("!"))), line.startswith("!"))
        for line in said
    )


def unpack(archive: Path, folder: Path, progress: Progress) -> None:
    """Write what is needed of a source into a folder.

    Parameters
    ----------
    archive : Path
        A package linux-source-X.Y of Debian's or Ubuntu's, or a tar archive of a source in one
        folder.
    folder : Path
        Is made.
    progress : callable
        Called as ``progress(done, total)``, in bytes of the archive.

    Raises
    ------
    UnsupportedError
        If it is neither of the two, or packed by zstd, and there is no dpkg-deb.
    BuildError
        If it is damaged.
    """
    total = archive.stat().st_size
    try:
        with (
            _opened(archive, lambda done: progress(min(done, total), total)) as stream,
            tarfile.open(fileobj=stream, mode="r|*") as outer,
        ):
            _unpack_from(outer, archive, folder)
    except (tarfile.ReadError, EOFError, lzma.LZMAError) as error:
        raise BuildError(
            f"{archive} cannot be unpacked ({error}): give a package linux-source-X.Y of Debian's"
            " or a tar archive of a kernel's source that is whole, or a folder."
        ) from error
    progress(total, total)


class _Stream(io.RawIOBase):
    """A part of a file from where it stands, that says how far it has been read."""

    def __init__(self, file: IO[bytes], size: int, told: Callable[[int], None]) -> None:
        super().__init__()
        self.file, self.left, self.told, self.done = file, size, told, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        data = self.file.read(min(len(view), self.left))
        view[: len(data)] = data
        self.left -= len(data)
        self.done += len(data)
        self.told(self.done)
        return len(data)


@contextlib.contextmanager
def _opened(archive: Path, told: Callable[[int], None]) -> Iterator[_Stream]:
    """Open the outermost tar archive; `told` is called with the bytes that were read of it."""
    with archive.open("rb") as file:
        if file.read(len(_AR)) != _AR:
            file.seek(0)
            yield _Stream(file, archive.stat().st_size, told)
            return
        name, size = _data_of_package(file)
        if not name.endswith(".zst"):
            yield _Stream(file, size, told)
            return
    program = shutil.which("dpkg-deb")
    if program is None:
        raise UnsupportedError(
            f"{archive} is packed by zstd, as Ubuntu's packages are, which dpkg-deb unpacks:"
            " install dpkg, or give a package linux-source-X.Y of Debian's."
        )
    # What is in it is packed already, so that this, too, is about as long as the archive.
    command = [program, "--fsys-tarfile", str(archive)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        if child.stdout is not None:
            yield _Stream(child.stdout, sys.maxsize, told)


def _data_of_package(file: IO[bytes]) -> tuple[str, int]:
    """Find data.tar, of a file that stands behind the magic bytes of ar: its name and size."""
    while len(header := file.read(_AR_HEADER)) == _AR_HEADER:
        name, size = header[:16].decode("ascii").strip().rstrip("/"), int(header[48:58])
        if name.startswith("data.tar"):
            return name, size
        file.seek(size + size % 2, os.SEEK_CUR)
    raise tarfile.ReadError("no data.tar in it")


def _unpack_from(outer: tarfile.TarFile, archive: Path, folder: Path) -> None:
    """Unpack the archive that a package holds, or the one that this is itself."""
    first = outer.next()
    if first is None:
        raise tarfile.ReadError("nothing in it")
    if first.name not in {".", "./", "./usr", "usr"}:
        _write_needed(outer, folder)
        return
    for member in outer:
        is_it = member.isfile() and _SOURCE.fullmatch(member.name)
        inner = outer.extractfile(member) if is_it else None
        if inner is not None:
            with tarfile.open(fileobj=inner, mode="r|*") as tree:
                _write_needed(tree, folder)
            return
    raise UnsupportedError(
        f"{archive} has no kernel's source in usr/src: give a package linux-source-X.Y of Debian's."
    )


def _write_needed(tree: tarfile.TarFile, folder: Path) -> None:
    # Older Pythons of a minor version have no filters; what Debian signed needs none.
    safe: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    folder.mkdir(parents=True)
    for member in tree:
        inside = PurePosixPath(member.name).parts[1:]
        if inside and not member.isdir() and is_needed("/".join(inside)):
            member.name = "/".join(inside)
            if member.islnk():
                member.linkname = "/".join(PurePosixPath(member.linkname).parts[1:])
            tree.extract(member, folder, **safe)


def files_of_tree(tree: Path) -> Iterator[str]:
    """Yield what is needed of a tree, by paths in it, in order."""
    for place, folders, files in os.walk(tree):
        folders[:] = sorted(name for name in folders if name != ".git")
        here = Path(place).relative_to(tree)
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        for name in sorted([*files, *links]):
            inside = (here / name).as_posix()
            if is_needed(inside):
                yield inside


def copy_tree(tree: Path, folder: Path, progress: Progress) -> None:
    """Copy what is needed of a source into a folder, which is made.

    Parameters
    ----------
    tree, folder : Path
    progress : callable
        Called as ``progress(done, total)``, in files.

    Raises
    ------
    UnsupportedError
        If somebody has built in the tree: make would take those files for its own.
    """
    for name in (".config", "include/config", "include/generated"):
        if (tree / name).exists():
            raise UnsupportedError(
                f"{tree} has been built in, as {name} is there: clean it by make mrproper, or give"
                " another source."
            )
    names = list(files_of_tree(tree))
    for i, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(tree / name, folder / name, follow_symlinks=False)
        progress(i + 1, len(names))


def sha256_of_file(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sha256_of_tree(tree: Path) -> str:
    """Return the SHA-256 over paths and contents of what is needed of a source.

    Raises
    ------
    UnsupportedError
        If it is no folder.
    """
    if not tree.is_dir():
        raise UnsupportedError(f"{show_value(str(tree))} is no folder: give a kernel's source.")
    whole = hashlib.sha256()
    for name in files_of_tree(tree):
        place = tree / name
        content = (
            str(place.readlink()).encode() if place.is_symlink() else sha256_of_file(place).encode()
        )
        whole.update(name.encode() + b"\0" + content + b"\0")
    return whole.hexdigest()
