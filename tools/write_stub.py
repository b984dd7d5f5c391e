"""Bring pi2_fluid/_core.pyi up to date with the binding: python tools/write_stub.py.

nanobind writes it from the types and the sentences of the binding; here it is laid out as all else.
"""

from __future__ import annotations

import re
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
    generator = StubGen(_core)
    generator.put(_core)
    # A sentence begins where it is opened.
    text = "# Written by tools/write_stub.py from the binding.\n" + re.sub(
        r'(:\n +""")\n +', r"\1", generator.get()
    )
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
