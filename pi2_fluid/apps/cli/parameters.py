"""Options that are parameters of laws: what --help says of them is what the laws declare."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Final

from pi2_fluid.apps.cli.declared import PARAMETERS, SIGNALS
from pi2_fluid.laws.registry import Entry, aqm_class

#: The queue that a command is about if nothing else is said.
USUAL: Final = "pi2"


def declared(parameter: str, text: str) -> str:
    """Return a help text with its places filled in, for an option that is a parameter of queues.

    Parameters
    ----------
    parameter : str
        Its name; "" for an option that is none.
    text : str
        With ``{only}`` for the queues that have it, and ``{unit}``, ``{choices}``, ``{range}`` and
        ``{default}`` for what they declare; ``{classic}`` and ``{scalable}`` for the senders of
        either kind.

    Examples
    --------
    >>> declared("update_interval", "Time between updates. Default {default}.")
    'Time between updates. Default 32ms, for pie 15ms, for dualpi2 16ms.'
    """
    return text.format(**PARAMETERS.get(parameter, {}), **SIGNALS)


def kinds_with(power: str, kinds: dict[str, Entry]) -> tuple[str, ...]:
    """Return the kinds of senders or queues that have a "loop", or that a "design" knows.

    Examples
    --------
    >>> from pi2_fluid.laws.registry import SENDERS
    >>> kinds_with("design", SENDERS)
    ('reno', 'creno', 'scalable', 'cubic')
    """
    return tuple(kind for kind, entry in kinds.items() if getattr(entry, power))


def owners(parameter: str, kinds: Iterable[str]) -> list[str]:
    """Return the queues among `kinds` that have a parameter.

    Examples
    --------
    >>> owners("k", ["pie", "coupled", "dualpi2"])
    ['coupled', 'dualpi2']
    """
    return [
        kind
        for kind in kinds
        if parameter in {field.name for field in dataclasses.fields(aqm_class(kind))}
    ]
