"""Errors in the words of the shell: what Python calls by keywords, a shell calls by options."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pi2_fluid.errors import DomainError, QuantityError, UnsupportedError


def for_shell(text: str, options: Mapping[str, str]) -> str:
    """Return a sentence with keywords and their values as options.

    Parameters
    ----------
    text : str
    options : mapping
        Of each keyword that has one, its option.

    Examples
    --------
    >>> for_shell('try update_interval="44ms", or a max_window.',
    ...     {"update_interval": "--update-interval", "max_window": "--max-window"})
    'try --update-interval 44ms, or a --max-window.'
    >>> for_shell("load=(0.01, 1.0)", {"load": "--load"})
    '--load 0.01,1.0'
    >>> for_shell("flows = (3, None) need a rate.", {"flows": "--flows"})
    '--flows 3: need a rate.'
    """

    def option(found: re.Match[str]) -> str:
        value = re.sub(r"[\s()\"']", "", found[3] or found[4])
        if options[found[1]] == "--flows":  # the fewest and the most, None: as many as fit
            few, _, most = value.partition(",")
            value = few if most in ("", few) else f"{few}:{most.removesuffix('None')}"
        return f"{options[found[1]]} {value}"

    names = "|".join(sorted(options, key=len, reverse=True))
    text = re.sub(
        rf"\b({names})( ?= ?)(?:(\"[^\"]*\"|'[^']*'|\([^)]*\))|([^\s,;:]*[^\s,;:.]))", option, text
    )
    words = "|".join(name for name in sorted(options, key=len, reverse=True) if "_" in name)
    if not words:
        return text
    return re.sub(rf"(?<![\w-])({words})\b", lambda found: options[found[1]], text)


def spaced(arguments: Sequence[str]) -> str:
    """Return what to write instead of a number and a unit that are two words; "" if none are.

    Examples
    --------
    >>> spaced(["tune", "--max-rtt", "100", "ms"])
    '100 ms is two words to a shell: write 100ms.'
    """
    from pi2_fluid.units import DIMENSIONS, spellings

    units = {unit for dimension in DIMENSIONS for unit in spellings(dimension) if unit}
    for number, unit in itertools.pairwise(arguments):
        if unit in units and re.fullmatch(r"[0-9]*\.?[0-9]+", number):
            return f"{number} {unit} is two words to a shell: write {number}{unit}."
    return ""


@contextmanager
def in_words_of_shell(options: Mapping[str, str]) -> Iterator[None]:
    """Let errors leave in the words of the shell."""
    try:
        yield
    except (QuantityError, DomainError, UnsupportedError) as error:
        raise type(error)(for_shell(str(error), options)) from error
