"""Where kernels and guests are kept once they are made, and how two makers wait for one another."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder of all that is made once: pi2-fluid in $XDG_CACHE_HOME, or in ~/.cache.

    It need not exist.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    # By the XDG specification a relative path is to be ignored.
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "pi2-fluid"


@contextmanager
def locked(folder: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Let one process at a time work in a folder, which is made; call `waiting` before waiting."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # which gives the lock back
