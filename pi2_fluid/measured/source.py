"""`Source`: a file or a text to be read, whole or line by line, compressed or not."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Final

from pi2_fluid.errors import QuantityError

__all__ = ["Source"]

#: Characters that a format is recognised by.
_HEAD: Final = 65_536
#: Characters of a text that is held as a whole at most; a day of one sample a second has fewer.
_MOST: Final = 1 << 29
_GZIP: Final = b"\x1f\x8b"


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

    def __init__(self, given: str | Path) -> None:
        self._path: Path | None = None
        self._given = ""
        if isinstance(given, Path) or _is_path(given):
            self._path = Path(given)
            if not self._path.exists():
                raise QuantityError(
                    f"there is no file {str(given)!r}: give the path of a measurement, or its text."
                )
        else:
            self._given = given
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
        return repr(self.name) if self._path else "the text"

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
        """What it says as one JSON value; None if it is none."""
        if self.head.lstrip()[:1] not in {"{", "["}:
            return None
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    def lines(self) -> Iterator[str]:
        """Yield its lines, one at a time: a file is never held as a whole."""
        with self._open() as file:
            while line := self._guarded(file.readline):
                yield line

    def _open(self) -> IO[str]:
        if self._path is None:
            return io.StringIO(self._given)
        with self._path.open("rb") as file:
            start = file.read(6)
        if start.startswith(_GZIP):
            return gzip.open(self._path, "rt", encoding="utf-8", errors="replace")
        if start == b"\xfd7zXZ\x00":
            return lzma.open(self._path, "rt", encoding="utf-8", errors="replace")
        return self._path.open(encoding="utf-8-sig", errors="replace")

    def _guarded(self, step: Any) -> str:
        try:
            return str(step())
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
            raise QuantityError(
                f"{self.said} is cut or damaged where it is compressed: copy it again."
            ) from error


def _is_path(given: str) -> bool:
    if "\n" in given.strip() or len(given) > 4096:
        return False
    return Path(given).exists() or ("\n" not in given and " " not in given.strip())
