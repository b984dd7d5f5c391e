"""Sources of kernels as they come: Debian's packages and tar archives.

A package is an archive of ``ar``: ``data.tar`` in it, of which one file is the source, again a tar
archive. All are read as streams, of bounded length and memory, and what a guest's kernel is not
made of is not written. Ubuntu's packages are packed by zstd, which dpkg-deb unpacks.
"""

from __future__ import annotations

import bz2
import contextlib
import io
import itertools
import lzma
import os
import re
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final, Protocol

from pi2_fluid.engines.linux.building.tars import (
    DamagedError,
    Member,
    Readable,
    Stream,
    members,
)
from pi2_fluid.engines.linux.building.trees import (
    Progress,
    built_in,
    is_needed,
    wrong_link,
    wrong_name,
)
from pi2_fluid.errors import BuildError, UnsupportedError, show_value

#: What an archive may unpack to, and what may be written of it, in bytes: Linux 7.2 has 1.6e9, of
#: which a guest's kernel needs a third.
MOST_UNPACKED: Final = 4_000_000_000
MOST_WRITTEN: Final = 2_000_000_000

_AR: Final = b"!<arch>\n"
_AR_HEADER: Final = 60
# ar(5): name, time, owner, group, mode, size, and an end.
_AR_FORM: Final = re.compile(rb"([ -~]{16})[ -~]{32}([0-9]{1,10}) *`\n")
_DATA: Final = re.compile(r"data\.tar(\.(xz|gz|bz2|zst))?")
_SOURCE: Final = re.compile(r"(\./)?usr/src/(linux-source-[^/]+/)?linux-source-[^/]+\.tar(\.\w+)?")
_MEMORY: Final = 200_000_000  # bytes of lzma, whose largest preset takes 65 MiB
_PIECE: Final = 1 << 18


def unpack(archive: Path, folder: Path, progress: Progress) -> None:
    """Write what is needed of a source into a folder, and nothing outside it.

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
        If it is neither of the two, packed by zstd where there is no dpkg-deb, or was built in.
    BuildError
        If it is damaged, too large, or has what a source has not: names or links that lead out of
        it, devices, the same name twice.
    """
    total = archive.stat().st_size
    try:
        with _opened(archive, lambda done: progress(min(done, total), total)) as stream:
            _unpack_from(members(_unpacked(stream)), archive, folder)
    except DamagedError as error:
        raise BuildError(
            f"{archive} cannot be unpacked ({error}): give a package linux-source-X.Y of Debian's"
            " or a tar archive of a kernel's source that is whole, or a folder."
        ) from error
    progress(total, total)


class _Part(Stream):
    """A part of a file from where it stands, that says how far it has been read."""

    def __init__(self, file: IO[bytes], size: int, told: Callable[[int], None]) -> None:
        super().__init__()
        self.file, self.left, self.told, self.done = file, size, told, 0

    def more(self, most: int) -> bytes:
        data = self.file.read(min(most, self.left))
        self.left -= len(data)
        self.done += len(data)
        self.told(self.done)
        return data


class _Unpacker(Protocol):
    """What lzma and bz2 have, and zlib nearly."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    def __init__(self) -> None:
        self.of = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)

    @property
    def eof(self) -> bool:
        return self.of.eof

    @property
    def needs_input(self) -> bool:
        return not self.of.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self.of.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self.of.decompress(self.of.unconsumed_tail + data, max_length)


_UNPACKERS: Final[dict[bytes, Callable[[], _Unpacker]]] = {
    b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY),
    b"BZh": bz2.BZ2Decompressor,
    b"\x1f\x8b": _Gzip,
}


class _Unpacked(Stream):
    """What is packed, unpacked: so much of it, and no more."""

    def __init__(self, packed: Readable, make: Callable[[], _Unpacker]) -> None:
        super().__init__()
        self.packed, self.make, self.unpacker = packed, make, make()
        self.left = MOST_UNPACKED

    def more(self, most: int) -> bytes:
        data = self._unpacked(most)
        self.left -= len(data)
        if self.left < 0:
            raise DamagedError(f"it unpacks to more than {MOST_UNPACKED} bytes")
        return data

    def _unpacked(self, most: int) -> bytes:
        while True:
            piece, needs_more = b"", self.unpacker.needs_input
            if self.unpacker.eof:  # one archive after the other
                piece = self.unpacker.unused_data or self.packed.read(_PIECE)
                if not piece.strip(b"\0"):  # padding
                    return b""
                self.unpacker = self.make()
            elif needs_more:
                piece = self.packed.read(_PIECE)
            try:
                data = self.unpacker.decompress(piece, most)
            except (lzma.LZMAError, zlib.error, OSError, ValueError) as error:
                raise DamagedError(str(error).strip(".").lower()) from error
            if data:
                return data
            if needs_more and not piece and not self.unpacker.eof:
                raise DamagedError("it breaks off")


def _unpacked(stream: Stream) -> Readable:
    """Return a stream as it is before it is packed."""
    packed = io.BufferedReader(stream, _PIECE)
    head = packed.peek(8)
    for magic, make in _UNPACKERS.items():
        if head.startswith(magic):
            return io.BufferedReader(_Unpacked(packed, make), _PIECE)
    return packed


@contextlib.contextmanager
def _opened(archive: Path, report: Callable[[int], None]) -> Iterator[_Part]:
    """Open the outermost tar archive; `report` is called with the bytes that were read of it."""
    with archive.open("rb") as file:
        if file.read(len(_AR)) != _AR:
            file.seek(0)
            yield _Part(file, archive.stat().st_size, report)
            return
        name, size = _data_of_package(file, archive.stat().st_size)
        if not name.endswith(".zst"):
            yield _Part(file, size, report)
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
            yield _Part(child.stdout, sys.maxsize, report)


def _data_of_package(file: IO[bytes], end: int) -> tuple[str, int]:
    """Find data.tar, of a file that stands behind the magic bytes of ar: its name and size."""
    while len(header := file.read(_AR_HEADER)) == _AR_HEADER:
        found = _AR_FORM.fullmatch(header)
        if found is None or file.tell() + int(found[2]) > end:
            raise DamagedError("a header of ar is none, or says more than there is")
        name, size = found[1].decode("ascii").strip().rstrip("/"), int(found[2])
        if _DATA.fullmatch(name):
            return name, size
        file.seek(size + size % 2, os.SEEK_CUR)
    raise DamagedError("no data.tar in it")


def _unpack_from(outer: Iterator[Member], archive: Path, folder: Path) -> None:
    """Unpack the archive that a package holds, or the one that this is itself."""
    first = next(outer, None)
    if first is None:
        raise DamagedError("nothing in it")
    if first.name not in {".", "./usr", "usr"}:
        _write_needed(itertools.chain([first], outer), archive, folder)
        return
    for member in outer:
        if member.kind == "file" and _SOURCE.fullmatch(member.name):
            _write_needed(members(_unpacked(member.content)), archive, folder)
            return
    raise UnsupportedError(
        f"{archive} has no kernel's source in usr/src: give a package linux-source-X.Y of Debian's."
    )


def _write_needed(tree: Iterator[Member], archive: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    written = _Written(folder)
    for member in tree:
        wrong = wrong_name(member.name)
        if member.kind in {"device", "pipe"}:
            wrong = f"{show_value(member.name)}, which is a {member.kind}"
        if wrong:
            raise DamagedError(f"it has {wrong}")
        inside = "/".join(PurePosixPath(member.name).parts[1:])
        if not inside or member.kind == "folder":
            continue
        if built_in(inside):
            raise UnsupportedError(
                f"{archive} is of a source that was built in, as {inside} is there: give another."
            )
        if is_needed(inside):
            written.add(inside, member)


class _Written:
    """What was written into a folder: each name once, and nothing below a file or link."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.size = folder, 0
        self.folders, self.files, self.links = {""}, set[str](), set[str]()

    def add(self, inside: str, member: Member) -> None:
        """Write a file or link by its path in the folder."""
        if inside in self.folders or inside in self.files or inside in self.links:
            raise DamagedError(f"it has {show_value(inside)} twice")
        self._make(inside.rpartition("/")[0])
        place = self.folder / inside
        if member.kind == "file":
            self._write(place, member)
            self.files.add(inside)
        elif member.kind == "link":
            if wrong := wrong_link(inside, member.target):
                raise DamagedError(f"it has {wrong}")
            place.symlink_to(member.target)
            self.links.add(inside)
        else:
            target = "/".join(PurePosixPath(member.target).parts[1:])
            if wrong_name(member.target) or target not in self.files:
                raise DamagedError(
                    f"it has {show_value(inside)}, the same file as {show_value(member.target)},"
                    " which is not in front of it"
                )
            place.hardlink_to(self.folder / target)
            self.files.add(inside)

    def _make(self, inside: str) -> None:
        if inside in self.folders:
            return
        if inside in self.files or inside in self.links:
            raise DamagedError(f"it has files below {show_value(inside)}, which is no folder")
        self._make(inside.rpartition("/")[0])
        (self.folder / inside).mkdir()
        self.folders.add(inside)

    def _write(self, place: Path, member: Member) -> None:
        self.size += member.size
        if self.size > MOST_WRITTEN:
            raise DamagedError(f"what is needed of it has more than {MOST_WRITTEN} bytes")
        with place.open("xb") as file:
            while left := member.content.left:
                file.write(member.content.read(min(left, _PIECE)))
        place.chmod(0o755 if member.executable else 0o644)
        when = min(member.time, int(time.time()))
        os.utime(place, (when, when))
