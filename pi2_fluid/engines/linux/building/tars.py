"""Tar archives read as streams: member by member, with no more in memory than a block of each.

By POSIX (pax interchange format, ustar) and what GNU tar adds: long names and long numbers. Of what
an archive may say, a source needs files, folders and links, and the rest is refused. `tarfile`
would read more, and reads what an archive claims to have at once, however much that is.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from pi2_fluid.errors import show_value

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: Linux 7.2 has some 95,000.
MOST_MEMBERS: Final = 1_000_000

_BLOCK: Final = 512
_MOST_EXTENSION: Final = 1 << 20  # bytes of what is said of one member in front of it
_KINDS: Final = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "hard link",
    b"2": "link",
    b"3": "device",
    b"4": "device",
    b"5": "folder",
    b"6": "pipe",
}
_RECORD: Final = re.compile(rb"([1-9][0-9]{0,6}) ([^=\n]+)=")


class DamagedError(Exception):
    """An archive that cannot be read: why, in words."""


class Readable(Protocol):
    """What can be read from."""

    def read(self, size: int, /) -> bytes:
        """Return so many bytes, or what is left if that is less."""


class Member(NamedTuple):
    """A member of an archive."""

    name: str
    kind: str
    """"file", "folder", "link", "hard link", "device" or "pipe"."""
    size: int
    """Bytes of its content, of files alone."""
    executable: bool
    time: int
    """When it was changed (s since 1970)."""
    target: str
    """Of links."""
    content: _Content


class Stream(io.RawIOBase):
    """What is read by asking for more, in pieces."""

    def more(self, most: int) -> bytes:
        """Return up to so many bytes; none at the end."""
        raise NotImplementedError

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill a buffer as far as there is something at once, and return how far."""
        view = memoryview(buffer)
        data = self.more(len(view))
        view[: len(data)] = data
        return len(data)


class _Content(Stream):
    """The content of a member, as far as it has not been read."""

    def __init__(self, stream: Readable, size: int) -> None:
        super().__init__()
        self.stream, self.left = stream, size

    def more(self, most: int) -> bytes:
        data = _exactly(self.stream, min(most, self.left))
        self.left -= len(data)
        return data


def members(stream: Readable) -> Iterator[Member]:
    """Yield the members of an archive; the content of each can be read until the next.

    Parameters
    ----------
    stream : Readable
        The archive without compression. It is read as far as to its last member.

    Raises
    ------
    DamagedError
        If it breaks off, or is none.
    """
    before: dict[str, str] = {}
    for _ in range(MOST_MEMBERS):
        block = _exactly(stream, _BLOCK)
        if block == bytes(_BLOCK):
            return
        _require_sum(block)
        kind, size = block[156:157], _number(block[124:136])
        if kind in b"xgLK":
            if size > _MOST_EXTENSION:
                raise DamagedError(f"{size} bytes are said of one member")
            before |= _extension(kind, _exactly(stream, _padded(size))[:size])
            continue
        member = _member(block, stream, before)
        before = {}
        yield member
        _skip(stream, member.content.left + _padded(member.size) - member.size)
    raise DamagedError(f"it has more than {MOST_MEMBERS} members")


def _member(block: bytes, stream: Readable, before: dict[str, str]) -> Member:
    """Return what a header says, and what was said in front of it."""
    name = _text(block[:100])
    if block[257:263] == b"ustar\0" and block[345:346] != b"\0":
        name = f"{_text(block[345:500])}/{name}"
    name = before.get("path", name)
    kind = _KINDS.get(block[156:157], "")
    if not kind or any(key.startswith("GNU.sparse") for key in before):
        raise DamagedError(f"{show_value(name)} is of a kind that no source has")
    if kind == "file" and name.endswith("/"):
        kind = "folder"  # as before there was POSIX
    size = 0
    if kind == "file":
        size = _decimal(before["size"]) if "size" in before else _number(block[124:136])
    return Member(
        name.rstrip("/"),
        kind,
        size,
        bool(_number(block[100:108]) & 0o100),
        _number(block[136:148]),
        before.get("linkpath", _text(block[157:257])),
        _Content(stream, size),
    )


def _extension(kind: bytes, data: bytes) -> dict[str, str]:
    """Return what is said of the member that follows."""
    if kind == b"L":
        return {"path": _text(data)}
    if kind == b"K":
        return {"linkpath": _text(data)}
    said, at = {}, 0
    while at < len(data):
        found = _RECORD.match(data, at)
        end = at + int(found[1]) if found else 0
        if found is None or not found.end() < end <= len(data) or data[end - 1 : end] != b"\n":
            raise DamagedError("what is said of a member is no text of pax")
        said[found[2].decode("utf-8", "replace")] = _decoded(data[found.end() : end - 1])
        at = end
    # Of all that follow, as a commit's name is: nothing that is needed.
    return {} if kind == b"g" else said


def _require_sum(block: bytes) -> None:
    told = _number(block[148:156])
    if told != sum(block[:148]) + sum(block[156:]) + 8 * ord(" "):
        raise DamagedError("a header has not the sum that it says")


def _number(field: bytes) -> int:
    """Return a number of a header: octal digits, or, as GNU tar has it, binary."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if not re.fullmatch(rb"[0-7]*", digits):
        raise DamagedError(f"a header has {show_value(field)} for a number")
    return int(digits or b"0", 8)


def _decimal(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII):
        raise DamagedError(f"a size is {show_value(text)}")
    return int(text)


def _text(field: bytes) -> str:
    return _decoded(field.partition(b"\0")[0])


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _exactly(stream: Readable, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise DamagedError("it breaks off")
    return data


def _skip(stream: Readable, size: int) -> None:
    while size > 0:
        size -= len(_exactly(stream, min(size, 1 << 18)))
