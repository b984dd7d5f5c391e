"""How a process begins that works for a sweep; imported before everything else there."""

from __future__ import annotations

import os
import signal


def begin() -> None:
    """Work in one thread, and leave Ctrl-C to the process that hands out the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ[f"{library}_NUM_THREADS"] = "1"
