"""What python-control asks of a loop: answered where it takes numbers, else told what to call."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pi2_fluid.errors import UnsupportedError, suggest, warn_of
from pi2_fluid.records.calls import Named

#: What to call in the place of a function of python-control, by how that begins.
_INSTEAD: Final = {
    "margin": "loop.margins()",
    "stability_margins": "loop.margins()",
    "bode": "loop.bode()",
    "nyquist": "loop.nyquist()",
    "root_locus": "loop.root_locus().plot()",
    "rlocus": "loop.root_locus().plot()",
    "pole": "loop.roots(5)",
    "damp": "loop.roots(5)",
    "frequency_response": "loop(1j * w)",
    "gangof4": "loop.sensitivity(w)",
}
_SYSTEM: Final = "python-control takes systems of its own: give it loop.to_control()"


class UnknownNameError(UnsupportedError, AttributeError):
    """An attribute that a loop has not."""


class ControlHints(metaclass=Named):
    """A loop, as python-control may be given one.

    As its own responses do, a loop unpacks to magnitude, phase (deg) and frequency (rad/s): with
    them `control.margin` answers. Its other functions look for what a loop has not, and are
    answered by what to call here.
    """

    def __iter__(self) -> Iterator[Any]:
        """Yield |L|, its phase (deg) and the frequencies (rad/s) on which a loop is followed.

        Raises
        ------
        UnsupportedError
            For arrays of loops and matrices, which are no three rows of numbers.
        """
        loop: Any = self
        name = type(self).__name__
        if getattr(loop, "shape", None) != ():
            raise UnsupportedError(
                f"{name} here is no single scalar loop, which has magnitude, phase and frequency:"
                " ask loop.margins()."
            )
        crossings = loop._crossings
        asked = _asked_for() or "loop.margins()"
        warn_of(
            f"{name} is unpacked to |L|, phase and frequency at {crossings.w.size} frequencies,"
            f" between which others interpolate: ask {asked} for exact numbers.",
            UserWarning,
            ("control",),
        )
        yield np.abs(crossings.values)
        yield np.degrees(np.unwrap(np.angle(crossings.values)))
        yield crossings.w

    def __len__(self) -> int:
        """Return 3, by which python-control knows magnitude, phase and frequency."""
        return 3

    def __bool__(self) -> bool:
        """Return True."""
        return True

    if not TYPE_CHECKING:  # who reads types is to see what there is not

        def __getattr__(self, name: str) -> object:
            """Refuse a name that there is not, with what to call or those that it may have been.

            Python asks here, too, where a property that there is raised AttributeError: asked
            again, it says itself what it has not found.
            """
            if any(name in vars(cls) for cls in type(self).__mro__):
                return object.__getattribute__(self, name)
            kind = type(self).__name__
            if name.startswith("_"):
                raise AttributeError(f"{kind} has no {name!r}")
            if (asked := _asked_for()) is not None:
                raise UnknownNameError(f"{_SYSTEM}{asked and f', or ask {asked}'}.")
            known = [known for known in dir(type(self)) if not known.startswith("_")]
            raise UnknownNameError(f"{kind} has no {name!r}: give {suggest(name, known, most=6)}.")


def _asked_for() -> str | None:
    """What to call in the place of the function of python-control that is running.

    "" if there is nothing, None if none is running.
    """
    frame: FrameType | None = sys._getframe(2)
    called = None
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] == "control":
            called = frame.f_code.co_name
        elif called is not None:
            break
        frame = frame.f_back
    if called is None:
        return None
    return next((new for old, new in _INSTEAD.items() if called.startswith(old)), "")
