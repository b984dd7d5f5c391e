"""`Named`: the metaclass of what is made of named numbers; a wrong call is told what is right."""

from __future__ import annotations

import inspect
from abc import ABCMeta
from typing import TYPE_CHECKING, Any

from pi2_fluid.errors import UnsupportedError, suggest


class Named(ABCMeta):
    """Of classes whose objects are made by names: one that there is not is answered by the nearest.

    Examples
    --------
    >>> import pi2_fluid as pf
    >>> pf.Pi2(alfa=0.3)
    Traceback (most recent call last):
    pi2_fluid.errors.UnsupportedError: Pi2 has no 'alfa': give 'alpha'.
    """

    if not TYPE_CHECKING:  # who reads types reads those of __init__

        @property
        def __signature__(cls) -> inspect.Signature:
            """That of __init__, which `__call__` below would hide."""
            whole = inspect.signature(cls.__init__)
            return whole.replace(parameters=list(whole.parameters.values())[1:])

        def __call__(cls, *given: object, **named: object) -> object:
            """Make an object."""
            if (complete := getattr(cls, "complete_class", None)) is not None:
                complete()
            try:
                return super().__call__(*given, **named)
            except TypeError as error:
                if wrong := _wrong(cls, given, named):
                    raise UnsupportedError(wrong) from None
                raise error from None


def _wrong(cls: type, positional: tuple[Any, ...], named: dict[str, Any]) -> str:
    """Return what is wrong with a call, in a sentence; "" if it is not the call."""
    try:
        signature = inspect.signature(cls)
    except (TypeError, ValueError):
        return ""
    known = signature.parameters
    kinds = {one.kind for one in known.values()}
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        for name in named:
            if name not in known:
                if not known:
                    return f"{cls.__name__} has no {name!r}, nor any other: leave it out."
                return f"{cls.__name__} has no {name!r}: give {suggest(name, list(known))}."
    names = [one for one in known.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    placed = [one.name for one in names if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    if len(positional) > len(placed) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        order = f"{', '.join(placed)} in this order" if placed else "nothing without a name"
        rest = [one.name for one in names if one.name not in placed]
        more = f", and by name {', '.join(rest)}" if rest else ""
        return f"{cls.__name__} takes {order}{more}: give names, e.g. {(rest or placed)[-1]}=..."
    for name in placed[: len(positional)]:
        if name in named:
            return f"{cls.__name__} is given {name} twice: give it once."
    lacking = [one.name for one in names if one.default is inspect.Parameter.empty]
    missing = [name for name in lacking if name not in {*named, *placed[: len(positional)]}]
    return f"{cls.__name__} lacks {', '.join(missing)}: give it." if missing else ""
