"""Bring pi2_fluid/_core.pyi up to date with the binding: python tools/write_stub.py.

nanobind writes it from the types of the binding, which has the sentences; here it is laid out as
all else.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from nanobind.stubgen import StubGen

from pi2_fluid import _core
from pi2_fluid.saving import save_text

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "pi2_fluid" / "_core.pyi"


def stub() -> str:
    """Return the stub of the extension as it is built."""
    generator = StubGen(_core, include_docstrings=False)
    generator.put(_core)
    text = f"# Written by tools/write_stub.py from the binding.\n{generator.get()}"
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return done.stdout


if __name__ == "__main__":
    save_text(STUB, stub())
