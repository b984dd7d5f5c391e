"""What `tc` has shown, from the command line, from a file or from standard input."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.network.catalogue import scenario_names

_LONGEST_NAME: Final = 4096
_GIVE: Final = "give the output of `tc qdisc show`"
_SCENARIO: Final = re.compile(r"^\s*\[\[?(aqm|flows|link|nodes?|network)\b", re.MULTILINE)


def read_shown(argument: str) -> str:
    """Return the text that an argument stands for: itself, a file's, or that of standard input.

    Raises
    ------
    QuantityError
        If it is no text, or that of another listing.
    FileNotFoundError, IsADirectoryError
        If it looks like the name of a file, and there is none.
    """
    if argument == "-":
        return _as_shown(sys.stdin.read, "standard input")
    if (
        not argument.strip()
        or len(argument) > _LONGEST_NAME
        or "\n" in argument
        or not _is_text(argument)
    ):
        return _as_shown(lambda: argument, "the argument")
    path = Path(argument)
    if not path.exists() and " " not in argument and argument in scenario_names():
        raise _scenario_error(argument)
    if path.exists() or not _looks_shown(argument):
        return _as_shown(lambda: path.read_text(encoding="utf-8"), argument)
    return _as_shown(lambda: argument, "the argument")


def _looks_shown(text: str) -> bool:
    """Say whether a line is one of tc's rather than the name of a file."""
    return " " in text.strip() or text.lstrip()[:1] in {"[", "{"} or text.strip() == "qdisc"


def _is_text(given: str) -> bool:
    """Say whether there are neither zeros nor bytes that were none of UTF-8."""
    return not any(letter == "\0" or "\udc80" <= letter <= "\udcff" for letter in given)


def _scenario_error(name: str) -> QuantityError:
    shown = "-" if name == "standard input" else name
    return QuantityError(
        f"{name} is a scenario, and check reads what tc shows: `pi2-fluid margins {shown}` judges"
        " its queue."
    )


def _as_shown(read: Callable[[], str], name: str) -> str:
    try:
        text = read()
    except UnicodeDecodeError:
        text = "\0"
    if not _is_text(text):
        raise QuantityError(f"{name} is no text, but a capture or another binary file: {_GIVE}.")
    if not text.strip():
        raise QuantityError(f"{name} is empty: {_GIVE}.")
    if _SCENARIO.search(text) and not re.search(r"^\s*(tc )?qdisc ", text, re.MULTILINE):
        raise _scenario_error(name)
    first = text.split(maxsplit=1)[:1]
    if "qdisc" not in text and first in (["class"], ["filter"]):
        raise QuantityError(
            f"{name} has what `tc {first[0]} show` prints, which says nothing of queues: {_GIVE}."
        )
    return text
