"""Outputs of tc as they come: of a device, of a file, or through standard input."""

from __future__ import annotations

import io
import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import TextIO

    from pi2_fluid.tc.observing.following import Follower, Output

#: Nothing came for so long (s): an output that tc printed at once has ended.
_PAUSE: Final = 0.2
_CHUNK: Final = 1 << 16
_DEVICES: Final = Path("/sys/class/net")


def is_file(given: str) -> bool:
    """Say whether a word is the path of a log, and not the name of a device."""
    if "/" in given:
        return True
    return Path(given).exists() and not (_DEVICES / given).exists()


def of_file(path: str, follower: Follower) -> Iterator[Output]:
    """Yield the outputs in a file, compressed or not, without holding more than one.

    Raises
    ------
    QuantityError
        If there is no such file, or nothing in it.
    """
    from pi2_fluid.measured.source import Source
    from pi2_fluid.tc.observing.following import follow

    yield from follow(Source(Path(path)).lines(), follower)


def of_stream(stream: TextIO, follower: Follower) -> Iterator[Output]:
    """Yield outputs as they come, each when nothing follows it for a while, or the next begins.

    One that has no time, and after which nothing came for a while, gets that of its arrival.
    """
    for line in arriving(stream):
        if line is not None:
            yield from follower.feed(line)
            continue
        for output in follower.pause():
            if output.time is None:
                output.time = time.time() - _PAUSE
            yield output
    yield from follower.end()


def arriving(stream: TextIO) -> Iterator[str | None]:
    """Yield lines as they come, and None once where nothing comes for a while."""
    try:
        number = stream.fileno()
    except (io.UnsupportedOperation, AttributeError, ValueError):
        yield from stream
        return
    if sys.platform == "win32":  # where only sockets can be waited for
        yield from stream
        return
    rest, paused = b"", True
    while True:
        if not paused and not select.select([number], [], [], _PAUSE)[0]:
            paused = True
            if rest.strip().endswith((b"]", b"}")):  # JSON need not end its line
                yield rest.decode(errors="replace")
                rest = b""
            yield None
        chunk = os.read(number, _CHUNK)
        if not chunk:
            break
        paused = False
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace") + "\n"
    if rest:
        yield rest.decode(errors="replace")
