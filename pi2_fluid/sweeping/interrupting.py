"""Ctrl-C while a store is at work: it is heard when that is done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def later() -> Iterator[None]:
    """Hear Ctrl-C at the end of what is inside.

    Zarr reads and writes in a thread of its own. If the one that waits for it is interrupted, that
    thread goes on, fails when the interpreter ends, and says so at length.

    Raises
    ------
    KeyboardInterrupt
        At the end, if Ctrl-C came meanwhile, unless the program does something else then.
    """
    if threading.current_thread() is not threading.main_thread():  # others hear no signals
        yield
        return
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual):
        yield
        return
    heard: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if heard:
        usual(*heard[0])
