"""Where code comes from: who calls, or something installed, which a version stands for."""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


class Origin(NamedTuple):
    """Something installed, by name and version."""

    name: str
    version: str


#: Python's own library: what it is called is all that counts.
PYTHON: Final = Origin("Python", "")


def origin_of(module: str) -> Origin | None:
    """Return what a module is installed by; None if it is somebody's own, whose code may change.

    Own is what lies in no folder of installed packages, as one that is installed to be edited does
    not, and what has no version.
    """
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return PYTHON
    if top == "pi2_fluid":
        return _installed("pi2-fluid")
    return _installed(top) if any(_INSTALLED & set(Path(p).parts) for p in _files(top)) else None


def _files(top: str) -> list[str]:
    """Return where a module lies; nowhere if it is of a session."""
    there = sys.modules.get(top)
    try:
        spec = find_spec(top) if there is None else getattr(there, "__spec__", None)
    except (ImportError, ValueError):
        spec = None
    named = getattr(there, "__file__", None) or (spec and spec.origin)
    return [named] if named else list((spec and spec.submodule_search_locations) or ())


@cache
def _installed(top: str) -> Origin | None:
    names = [top]
    try:
        version(top)
    except PackageNotFoundError:  # called otherwise than what it installs
        names = packages_distributions().get(top, [])
    return Origin(names[0], version(names[0])) if names else None


def is_named(value: object, module: str, name: str) -> bool:
    """Return whether a module has a value under a dotted name, as what is defined there is."""
    there: object = sys.modules.get(module)
    for part in name.split("."):
        there = getattr(there, part, None)
        if there is None:
            return False
    return there is value
