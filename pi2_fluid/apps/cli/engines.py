"""Engines as the shell names them: `fluid`, `packet`, or `fluid:linear,update=continuous`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.apps.cli.options import read_seeds, read_whole
from pi2_fluid.errors import QuantityError, show_value

if TYPE_CHECKING:
    from pi2_fluid.engines.engine import Engine

#: How an option is read, if not as the text that it is.
_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "host": lambda text: {"true": True, "false": False}.get(text, text),
    "linear": lambda text: {"true": True, "false": False}.get(text, text),
    "seeds": lambda text: read_seeds(text.replace("+", ",")),
    "threads": lambda text: read_whole(text, "--threads", "threads"),
    "trace": lambda text: read_whole(text, "trace", "events"),
}
#: What has no form at the shell.
_UNREAD: Final = ("initial",)


def make_engines(
    names: Sequence[str], shared: Mapping[str, Any], option: str = "--engine"
) -> list[Engine]:
    """Return engines as they are called at the shell.

    Parameters
    ----------
    names : sequence of str
        Each the name of an engine; behind a colon options of its own, with commas between. Seeds
        that are listed there have + between them.
    shared : mapping
        Options that were given to all engines that have them; None is not given.
    option : str
        What they are given with.

    Raises
    ------
    QuantityError, DomainError
        If an engine or an option is not known, or none of the engines has an option.
    """
    from pi2_fluid.engines.simulating import ENGINES
    from pi2_fluid.units import validate_choice

    settings = {name: value for name, value in shared.items() if value is not None}
    engines, used = [], set()
    for text in names:
        name, _, own = text.partition(":")
        validate_choice(name, tuple(ENGINES), option)
        kind = ENGINES[name]
        known = _options_of(kind)
        options = {key: value for key, value in settings.items() if key in known}
        used |= set(options)
        for part in filter(None, own.split(",")):
            key, _, value = part.partition("=")
            if key not in known:
                raise QuantityError(
                    f"{option} {show_value(text)} has no option {key}: give any of"
                    f" {', '.join(known)}."
                )
            options[key] = value or "true"
        engines.append(kind(**{key: _read(key, value) for key, value in options.items()}))
    for key in settings:
        if key not in used:
            able = [name for name, kind in ENGINES.items() if key in _options_of(kind)]
            raise QuantityError(
                f"--{key} has no meaning for --engine {' and '.join(names)}: leave it out, or use"
                f" --engine {' or '.join(able)}."
            )
    return engines


def _options_of(kind: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if field.name not in _UNREAD]


def _read(key: str, value: object) -> object:
    return _READERS.get(key, str)(value) if isinstance(value, str) else value
