"""Command lines that need no help from the shell's library, which takes 60 ms to read them.

What a command gets is the same. Whatever is not plain is left to the library: help, mistakes,
abbreviations, `--name=value`, and types that it converts.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, get_args

from pi2_fluid.apps.cli.declaring import Command

_TEXT: Final = (str, str | None)
#: What makes the library do more with a value than to pass it on; not all versions have all.
_CONVERTING: Final = ("callback", "parser", "envvar", "click_type", "default_factory")
_TEXTS: Final = (list[str], list[str] | None)


class _Taken(NamedTuple):
    """An argument of a command: its name in Python, and what it takes from the line."""

    name: str
    kind: str  # "flag", "text" or "texts"


def plain(command: Command, words: Sequence[str]) -> dict[str, Any] | None:
    """Return what a command is called with by the words behind its name; None if it is not plain.

    Parameters
    ----------
    command : Command
    words : sequence of str
        Behind the command's name.
    """
    options, places, defaults = _declared(command.run) or ({}, [], None)
    if defaults is None:
        return None
    given, left, rest = dict(defaults), list(places), list(words)
    while rest:
        word = rest.pop(0)
        if not _is_option(word):
            if not left:
                return None
            given[left.pop(0)] = word
            continue
        taken = options.get(word)
        if taken is None:
            return None
        if taken.kind == "flag":
            given[taken.name] = True
            continue
        if not rest or _is_option(rest[0]):
            return None
        value = rest.pop(0)
        if taken.kind == "texts":
            given[taken.name] = [*(given[taken.name] or ()), value]
        else:
            given[taken.name] = value
    return None if any(value is inspect.Parameter.empty for value in given.values()) else given


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-"


def _declared(
    run: Callable[..., None],
) -> tuple[Mapping[str, _Taken], Sequence[str], Mapping[str, Any]] | None:
    """Return options by their words, names of arguments by place, and defaults; None if strange."""
    options: dict[str, _Taken] = {}
    places: list[str] = []
    defaults: dict[str, Any] = {}
    for name, parameter in inspect.signature(run, eval_str=True).parameters.items():
        kind, info = (*get_args(parameter.annotation), None, None)[:2]
        if info is None or any(getattr(info, what, None) for what in _CONVERTING):
            return None
        defaults[name] = parameter.default
        if type(info).__name__ == "ArgumentInfo":
            if kind not in _TEXT:
                return None
            places.append(name)
            continue
        takes = "flag" if kind is bool else "text" if kind in _TEXT else "texts"
        if takes == "texts" and kind not in _TEXTS:
            return None
        # The first of its words is in the library's place of a default, which is the parameter's.
        named = [word for word in (info.default, *(info.param_decls or ())) if word is not ...]
        for word in named or [f"--{name.replace('_', '-')}"]:
            options[word] = _Taken(name, takes)
    return options, places, defaults
