"""Progress: what is being done, on standard error."""

from __future__ import annotations

import math
import sys
import time
from types import TracebackType
from typing import Final, Self

_PATIENCE: Final = 2.0  # s without a sign of life


def tell(line: str) -> None:
    """Say on stderr what is being done."""
    sys.stderr.write(f"{line} ...\n")
    sys.stderr.flush()


class Line:
    """What is being done, on stderr.

    A terminal sees one line that changes and disappears; a file or pipe gets one line, or one every
    so many seconds.
    """

    def __init__(self) -> None:
        self.shown = False
        self._told = 0.0

    def show(self, now: str, once: str, every: float = math.inf) -> None:
        """Show what is done `now`; where lines stay, say `once` what the whole is.

        There `now` follows `every` so many seconds.
        """
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{now} ...\x1b[K")
            sys.stderr.flush()
        elif not self.shown or time.monotonic() - self._told >= every:
            tell(now if self.shown else once)
            self._told = time.monotonic()
        self.shown = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.shown and sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Progress(Line):
    """How far a run is, once it has taken two seconds.

    Parameters
    ----------
    what : str
        What is done: "simulated".
    unit : str
        What it is counted in.
    estimate : bool
        Whether to say how long it will take, by how long it has taken.
    """

    def __init__(self, what: str, unit: str = "s", *, estimate: bool = False) -> None:
        super().__init__()
        self.what, self.unit, self.estimate = what, unit, estimate
        self.begun = time.monotonic()
        self._first: float | None = None

    def __call__(self, done: float, total: float) -> None:
        """Take note that `done` of `total` are computed: seconds of a trajectory, or cases."""
        passed = time.monotonic() - self.begun
        if self._first is None:
            self._first = done  # what a former run has left behind says nothing of this one
        if passed >= _PATIENCE:
            left = ""
            if self.estimate and done > self._first:
                left = f", {span(passed * (total - done) / (done - self._first))} left"
            whole = f"{total:g} {self.unit}"
            self.show(f"{self.what} {done:.0f} of {whole}{left}", once=f"{self.what} {whole}{left}")


def span(seconds: float) -> str:
    """Return a length of time in words.

    Examples
    --------
    >>> span(42.0), span(600.0), span(7800.0)
    ('about 42 s', 'about 10 min', 'about 2 h 10 min')
    """
    minutes = round(seconds / 60.0)
    if seconds < 100.0:
        return f"about {seconds:.0f} s"
    return (
        f"about {minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"about {minutes} min"
    )
