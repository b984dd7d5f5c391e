"""Saving: whatever is written to a path is there whole, or what was there before still is.

A file is written beside its place, under a name of its own, and takes the place by being renamed,
which the file system does at once. A full disk, an error or Ctrl-C leaves the old file as it was,
and nothing beside it. Every file of the package goes through here.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pi2_fluid.errors import WriteError

# Who has opened these goes on writing into them: a file of another inode would be another file.
_HANDED_DOWN: Final = (1, 2)
_BY_DESCRIPTOR: Final = ("/dev/fd/", "/proc/")
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


def save_text(path: str | Path, text: str) -> None:
    """Write text as UTF-8, its line ends as they are; otherwise as `save_bytes`."""
    save_bytes(path, text.encode())


def save_bytes(path: str | Path, data: bytes | memoryview) -> None:
    """Write a file whole, or not at all.

    Its permissions are those of the file that it replaces, or what the umask leaves. Where the path
    is a link, the file that it points to is replaced. What is no regular file (a pipe,
    ``/dev/null``), and what standard output or error already goes to, is written to as it is.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, OSError
        If there can be no file at that path, or it may not be written.
    WriteError
        If it could not be written to its end; what was there before still is.
    """
    path = Path(path)
    old = _find(path)
    if old is not None and not _is_replaceable(path, old):
        stream = path.open("wb")
        with _told(path, len(data), None), stream:
            stream.write(data)
        return
    place = _place_of(path, old)
    kept = "nothing is there" if old is None else "the file that was there is as it was"
    beside = _beside(place)
    try:
        try:
            file = beside.open("xb")
        except OSError as error:
            raise _about(path, error, len(data), kept) from error
        with _told(path, len(data), kept):
            with file:
                if old is not None:
                    beside.chmod(stat.S_IMODE(old.st_mode))
                file.write(data)
                file.flush()
                # Some file systems find out only now that they are full.
                os.fsync(file.fileno())
            beside.replace(place)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def save_folder(
    path: str | Path, files: Mapping[str, bytes], belongs: Callable[[Path], bool]
) -> None:
    """Write a folder whole, or not at all: its files by their paths in it.

    A folder cannot take the place of another at once: the old one is renamed first, and back if the
    new one cannot follow. If the process is killed between the two it is left beside, as
    ``.*.part``.

    Raises
    ------
    FileExistsError
        If something is there of which `belongs` is false: it might be anything, and is left alone.
    FileNotFoundError, PermissionError, NotADirectoryError, WriteError
        As `save_bytes`.
    """
    path = Path(path)
    old = _find(path)
    if old is not None and not belongs(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    place = _place_of(path, old)
    kept = "nothing is there" if old is None else "the folder that was there is as it was"
    beside, aside = _beside(place), _beside(place)
    try:
        with _told(path, None, kept):
            for name, data in files.items():
                (beside / name).parent.mkdir(parents=True, exist_ok=True)
                with (beside / name).open("wb") as file:
                    file.write(data)
            if old is not None:
                place.rename(aside)
            try:
                beside.rename(place)
            except BaseException:
                if old is not None:
                    aside.rename(place)
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        # If neither name is taken the old one could not be put back: it stays where it is.
        if place.exists():
            shutil.rmtree(aside, ignore_errors=True)


def require_writable(path: str | Path, *, folder: bool = False) -> None:
    """Raise now what saving a file, or a folder, would raise after a long run.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError
        As far as it can be known without writing: there is no folder to write into, the path is a
        folder where a file is wanted, or there is no permission.
    """
    path = Path(path)
    old = _find(path)
    if old is not None and stat.S_ISDIR(old.st_mode) and not folder:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if old is not None and not folder and not _is_replaceable(path, old):
        return
    above = _place_of(path, old).parent
    if not above.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    if not above.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path.parent))
    if not os.access(above, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path.parent))


def _find(path: Path) -> os.stat_result | None:
    """Return what is at a path, behind links, if anything is."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _is_replaceable(path: Path, found: os.stat_result) -> bool:
    if not stat.S_ISREG(found.st_mode):
        return False
    if str(path.absolute()).startswith(_BY_DESCRIPTOR):
        return False
    for descriptor in _HANDED_DOWN:
        with suppress(OSError):  # closed
            if os.path.samestat(os.fstat(descriptor), found):
                return False
    return True


def _place_of(path: Path, old: os.stat_result | None) -> Path:
    """Return the path behind links; a file that may not be written may not be replaced either."""
    place = Path(os.path.realpath(path))
    if old is not None and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return place


def _beside(place: Path) -> Path:
    # Short, whatever the name is: names have a longest length.
    return place.with_name(f".{os.urandom(8).hex()}.part")


@contextmanager
def _told(path: Path, size: int | None, kept: str | None) -> Iterator[None]:
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        raise _write_error(path, error, size, kept) from error


@contextmanager
def whole_or_told(path: Path) -> Iterator[None]:
    """Raise as WriteError of a path what others raise who write there, and may name no path.

    Raises
    ------
    WriteError
        If anything is not written.
    """
    with _told(path, None, "what was written before is there"):
        yield


def _about(path: Path, error: OSError, size: int, kept: str) -> OSError:
    """Return an error of opening as one of the path that was given."""
    if error.errno in _FULL:
        return _write_error(path, error, size, kept)
    return OSError(error.errno, error.strerror, str(path))


def _write_error(path: Path, error: OSError, size: int | None, kept: str | None) -> WriteError:
    why = error.strerror or str(error)
    needed = f" for its {size} bytes" if size is not None and error.errno in _FULL else ""
    remedy = "make room, or give another path" if error.errno in _FULL else "give another path"
    return WriteError(
        error.errno or errno.EIO,
        f"{path} is not written: {why[:1].lower()}{why[1:]}{needed}"
        f"{f', and {kept}' if kept else ''}: {remedy}.",
        str(path),
    )
