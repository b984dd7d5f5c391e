"""`Source`: a file or a text to be read, whole or line by line, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final, cast

from pi2_fluid.errors import QuantityError, show_value

#: Characters that a format is recognised by.
_HEAD: Final = 65_536
#: Characters of a text that is held as a whole at most; a day of one sample a second has fewer.
_MOST: Final = 1 << 29


class Source:
    r"""A file, or a text, that holds a measurement.

    Parameters
    ----------
    given : str or Path
        The text itself if it has more than one line or is no file that there is; else its path.

    Raises
    ------
    QuantityError
        If it is empty, or a path of a file that there is not.
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> source = Source("a b\nc d\n")
    >>> source.name, source.head[:3], [line.strip() for line in source.lines()]
    ('', 'a b', ['a b', 'c d'])
    """

    def __init__(self, origin: str | Path) -> None:
        self._path: Path | None = None
        self._given = ""
        self._piped: bytes | None = None
        if isinstance(origin, Path) or _is_path(origin):
            self._path = Path(origin)
            if not self._path.exists():
                raise QuantityError(
                    f"there is no file {show_value(str(origin))}: give the path of a measurement,"
                    " or its text."
                )
            if self._path.is_dir():
                raise QuantityError(
                    f"{self.said} is a folder: give one of the files that a tool has written there."
                )
            if not self._path.is_file():
                self._piped = self._read_once(self._path)
        else:
            self._given = origin
        if not self.head.strip():
            raise QuantityError(f"{self.said} is empty: give what a tool has written.")

    @property
    def name(self) -> str:
        """The name of the file, without folders; "" of a text."""
        return self._path.name if self._path else ""

    @property
    def path(self) -> Path | None:
        """The file; None of a text."""
        return self._path

    @property
    def said(self) -> str:
        """How messages call it."""
        if self._path is None:
            return "the text"
        return repr(self.name if self._piped is None else str(self._path))

    @cached_property
    def head(self) -> str:
        """Its first characters."""
        with self._open() as file:
            return self._guarded(lambda: file.read(_HEAD))

    @cached_property
    def text(self) -> str:
        """All of it.

        Raises
        ------
        QuantityError
            If it is too long to be held, or cut where it is compressed.
        """
        with self._open() as file:
            text = self._guarded(lambda: file.read(_MOST + 1))
        if len(text) > _MOST:
            raise QuantityError(f"{self.said} has more than {_MOST} characters: give a part of it.")
        return text

    @cached_property
    def json(self) -> Any:
        """What it says as one JSON value; None if it is none, as where each line is one."""
        if self.head.lstrip()[:1] not in {"{", "["} or self._is_json_by_lines:
            return None
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def _is_json_by_lines(self) -> bool:
        """Whether its first line is a whole value: then the text is not read for its JSON."""
        first, _, more = self.head.lstrip().partition("\n")
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            return False
        return bool(more.strip())

    def lines(self) -> Iterator[str]:
        """Yield its lines, one at a time: a file is never held as a whole."""
        with self._open() as file:
            while line := self._guarded(file.readline):
                yield line

    def _read_once(self, path: Path) -> bytes:
        """Return what comes through a pipe, which cannot be opened again."""
        with path.open("rb") as file:
            piped = file.read(_MOST + 1)
        if len(piped) > _MOST:
            raise QuantityError(f"{path} has more than {_MOST} bytes: give a part of it.")
        return piped

    def _open(self) -> IO[str]:
        if self._path is None:
            return io.StringIO(self._given)
        raw = self._path.open("rb") if self._piped is None else io.BytesIO(self._piped)
        start = raw.read(6)
        raw.seek(0)
        for mark, opened in _COMPRESSED.items():
            if start.startswith(mark):
                raw.close()
                given = self._path if self._piped is None else io.BytesIO(self._piped)
                return cast(IO[str], opened(given, "rt", encoding="utf-8-sig", errors="replace"))
        encoding = "utf-16" if start.startswith(_UTF_16) else "utf-8-sig"
        return io.TextIOWrapper(raw, encoding=encoding, errors="replace")

    def _guarded(self, step: Callable[[], str]) -> str:
        try:
            return step()
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise self.cut("where it is compressed") from error
        except OSError as error:
            if error.errno is not None:
                raise
            raise self.cut("where it is compressed") from error  # as bz2 says it

    def cut(self, where: str) -> QuantityError:
        """Return the error of a file that ends, or breaks, at some place."""
        return QuantityError(f"{self.said} is cut or damaged {where}: copy or measure it again.")


#: How texts begin that PowerShell of Windows writes with ``>``.
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
#: How compressed files begin, and what opens them.
_COMPRESSED: Final[dict[bytes, Callable[..., object]]] = {
    b"\x1f\x8b": gzip.open,
    b"\xfd7zXZ\x00": lzma.open,
    b"BZh": bz2.open,
}


def _is_path(given: str) -> bool:
    line = given.strip()
    if not line or "\n" in line or len(line) > 4096 or line[:1] in {"{", "["}:
        return False
    try:
        return Path(given).exists() or " " not in line
    except (OSError, ValueError):  # a name that is too long, or has a zero byte
        return False
