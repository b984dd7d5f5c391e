"""What others ask of a loop that it has not: python-control, which takes systems of its own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from pi2_fluid.errors import UnsupportedError, suggest

__all__ = ["NoSystem", "UnknownNameError"]

_REMEDY = (
    "python-control takes systems of its own: ask loop.margins() or loop.bode(), or give it"
    " loop.to_control()"
)


class UnknownNameError(UnsupportedError, AttributeError):
    """An attribute that a loop has not."""


class NoSystem:
    """A loop, as python-control may be given one."""

    def __iter__(self) -> NoReturn:
        """Refuse: a loop is one, and no magnitude, phase and frequency.

        Raises
        ------
        UnsupportedError
            Always.
        """
        raise UnsupportedError(f"{type(self).__name__} is no sequence, and {_REMEDY}.")

    __len__ = __iter__  # which `control.margin` asks for first

    def __bool__(self) -> bool:
        """Return True, whatever has no length."""
        return True

    if not TYPE_CHECKING:  # who reads types is to see what there is not

        def __getattr__(self, name: str) -> NoReturn:
            """Refuse a name that there is not, with those that it may have been."""
            known = [known for known in dir(type(self)) if not known.startswith("_")]
            said = f"{type(self).__name__} has no {name!r}"
            if name.startswith("_"):
                raise AttributeError(said)
            said = f"{said}: give {suggest(name, known, most=6)}"
            raise UnknownNameError(
                f"{said}; {_REMEDY}." if "control" in sys.modules else f"{said}."
            )
