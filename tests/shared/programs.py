"""Code in a Python of its own: here, everything is long loaded."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def printed_by(code: str, *arguments: str, **more: Any) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **more,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
