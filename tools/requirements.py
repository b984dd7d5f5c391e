"""Print what an extra of pyproject.toml asks for, line by line: python tools/requirements.py EXTRA.

So that `make docs` after `make test` installs what it lacks, and does not build the package again.
With --build in the place of an extra it is what the package is built with, which is then all that
there is to build it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def requirements(extra: str) -> list[str]:
    """Return what an extra asks for, those that it names itself in place of their names."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    found: list[str] = []
    for line in project["optional-dependencies"][extra]:
        own = re.fullmatch(re.escape(project["name"]) + r"\[(.+)\]", line)
        names = own[1].split(",") if own else []
        found += [x for name in names for x in requirements(name.strip())] if own else [line]
    return found


def build_requirements() -> list[str]:
    """Return what a build asks for, and the tools that its backend takes from the machine."""
    declared = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    return [*declared["build-system"]["requires"], *requirements("compile")]


if __name__ == "__main__":
    asked = sys.argv[1]
    print("\n".join(build_requirements() if asked == "--build" else requirements(asked)))
