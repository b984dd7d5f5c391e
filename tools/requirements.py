"""Print what a group or an extra asks for, line by line: python tools/requirements.py NAME.

So that `make docs` after `make test` installs what it lacks, and does not build the package
again, and so that groups (PEP 735) work with the pip of Python 3.11, which does not know them.
With --build in the place of a name it is what the package is built with, which is then all that
there is to build it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

PROJECT: Final = Path(__file__).resolve().parents[1] / "pyproject.toml"


def read() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads(PROJECT.read_text(encoding="utf-8"))


def requirements(name: str) -> list[str]:
    """Return what a group or an extra asks for, with all that the groups and extras in it do."""
    declared = read()
    groups, extras = declared["dependency-groups"], declared["project"]["optional-dependencies"]
    own = re.compile(re.escape(declared["project"]["name"]) + r"\[(.+)\]")
    found: list[str] = []
    for line in groups[name] if name in groups else extras[name]:
        named = own.fullmatch(line) if isinstance(line, str) else None
        if named:
            parts = [part.strip() for part in named[1].split(",")]
        else:
            parts = [] if isinstance(line, str) else [line["include-group"]]
        found += [x for part in parts for x in requirements(part)] if parts else [line]
    return list(dict.fromkeys(found))


def build_requirements() -> list[str]:
    """Return what a build asks for, and the tools that its backend takes from the machine."""
    return [*read()["build-system"]["requires"], *requirements("compile")]


if __name__ == "__main__":
    asked = sys.argv[1]
    print("\n".join(build_requirements() if asked == "--build" else requirements(asked)))
