"""What is said where another package is not installed: which, and what to do about it.

Few commands need all that this package can use, so that some of it may be left out. Nobody has to
look beforehand: whatever module of this package imports what is not there gets the sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from types import FrameType, ModuleType
from typing import Final

#: Who stands between an import and the finders.
_BETWEEN: Final = (
    "importlib._bootstrap",
    "_frozen_importlib",
    __name__,
    "pi2_fluid.records.pytrees",
)


def what_to_install(name: str) -> str:
    """Return the sentence.

    Examples
    --------
    >>> what_to_install("xarray")
    'the package xarray is missing: pip install xarray.'
    """
    return f"the package {name} is missing: pip install {name}."


def require(name: str) -> None:
    """Refuse now what would otherwise be known only after a long run.

    Raises
    ------
    ModuleNotFoundError
        If there is no such package.
    """
    if find_spec(name) is None:
        raise ModuleNotFoundError(what_to_install(name), name=name)


class MissingFinder:
    """Is asked last, and finds nothing: what comes to it, no other finder has found."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> None:
        """Refuse another package that this one imports.

        Who only asks whether there is one, or imports it elsewhere, is answered as by Python.

        Raises
        ------
        ModuleNotFoundError
            With the sentence.
        """
        if "." not in name and name != "pi2_fluid" and _who_imports().startswith("pi2_fluid"):
            raise ModuleNotFoundError(what_to_install(name), name=name)


def _who_imports() -> str:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if not name.startswith(_BETWEEN):
            return name
        frame = frame.f_back
    return ""
