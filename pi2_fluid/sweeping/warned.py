"""Warnings of workers: heard where they are given, and told once by who called."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Final, NamedTuple, Self, TextIO

from pi2_fluid.errors import warn_of
from pi2_fluid.sweeping.axes import Grid
from pi2_fluid.sweeping.questions.question import Piece

#: A warning by what it says, whatever the numbers in it are.
_Kind = tuple[type[Warning], str]
_NUMBER: Final = re.compile(r"\d[\d.]*(e[+-]?\d+)?")


class Note(NamedTuple):
    """How often something was said."""

    points: int
    first: int
    """The first point of which it was said."""
    text: str
    """What was said of it."""
    each: bool
    """Whether it was said of single points, and not of arrays of them, some of which it meant."""


class Heard:
    """What was said of points, by kind; those of a block are counted from its first."""

    def __init__(self) -> None:
        self.notes: dict[_Kind, Note] = {}
        self._said: list[tuple[type[Warning], str]] = []

    def hear(self, category: type[Warning], text: str) -> None:
        """Take note of a warning."""
        self._said.append((category, text))

    def of(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Yield pieces, and write down what is said until each is there."""
        for piece in pieces:
            where = piece[0]
            count = where.stop - where.start
            notes: dict[_Kind, Note] = {}
            for category, text in self._said:
                kind = category, _NUMBER.sub("0", text)
                notes.setdefault(kind, Note(count, where.start, text, count == 1))
            self.add(notes.items(), 0)
            self._said.clear()
            yield piece

    def add(self, notes: Iterable[tuple[_Kind, Note]], start: int) -> None:
        """Add what was said of the points from `start` on."""
        for kind, new in notes:
            note = new._replace(first=start + new.first)
            old = self.notes.get(kind, note._replace(points=0))
            first = min(old, note, key=lambda one: one.first)
            points = old.points + note.points
            self.notes[kind] = Note(points, first.first, first.text, old.each and note.each)


class Told(Heard):
    """What was said in a sweep, which is told when it ends, however that comes."""

    def __init__(self, grid: Grid) -> None:
        super().__init__()
        self._grid = grid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Warn of all that was said, once of each kind, with the number of points."""
        for (category, _), note in sorted(self.notes.items(), key=lambda item: item[1].first):
            first = self._grid.describe(note.first)
            if note.points == 1:
                where = f"at {first}"
            elif note.each:
                where = f"at {note.points} of {self._grid.size} points, the first {first}"
            else:
                where = f"at some of {note.points} points, from {first} on"
            warn_of(f"{where}: {note.text}", category)


_lock = threading.Lock()
_ears: dict[int, Heard] = {}  # by thread
_hooked = ExitStack()


@contextmanager
def listening() -> Iterator[Heard]:
    """Hear the warnings of this thread, which are then not shown.

    Python's own `warnings.catch_warnings` is of all threads, and leaves a mess where they overlap.
    """
    heard = Heard()
    thread = threading.get_ident()
    with _lock:
        if not _ears:
            _hook()
        _ears[thread] = heard
    try:
        yield heard
    finally:
        with _lock:
            del _ears[thread]
            if not _ears:
                _hooked.close()


def _hook() -> None:
    _hooked.enter_context(warnings.catch_warnings())
    # Not once for each place in the code; what is ignored there is not shown in the end, either.
    for category in (UserWarning, RuntimeWarning):
        warnings.simplefilter("always", category)
    usual = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        heard = _ears.get(threading.get_ident())
        if heard is None:
            usual(message, category, filename, lineno, file, line)
        else:
            heard.hear(category, str(message))

    warnings.showwarning = show
