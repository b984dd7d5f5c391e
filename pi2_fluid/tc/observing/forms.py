"""What form a text had, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pi2_fluid.tc.observing.observation import Observation

_NAMED = 5  # devices


def form_of(observations: Iterable[Observation]) -> str:
    """Return how many devices, instants, typed lines and configured queues were found.

    Examples
    --------
    >>> two = [Observation(dev="wan0"), Observation(dev="lan0"), Observation(dev="wan0")]
    >>> form_of([*two, Observation()])
    '2 devices (wan0, lan0), 2 instants of wan0, 1 output that names no device'
    """
    seen = list(observations)
    printed = Counter(one.where for one in seen if one.source == "printed" and one.dev is not None)
    nameless = sum(one.source == "printed" and one.dev is None for one in seen)
    typed = sum(len(one.blocks) for one in seen if one.source == "typed")
    configured = sum(len(one.blocks) for one in seen if one.source == "configuration")
    parts = []
    if printed:
        names = [named(*where) for where in printed]
        listed = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
        parts.append(f"{_count(len(names), 'device')} ({listed})")
        parts += [
            f"{count} instants of {named(*where)}"
            for where, count in list(printed.items())[:_NAMED]
            if count > 1
        ]
    if nameless:
        parts.append(f"{_count(nameless, 'output')} that name{'s' * (nameless == 1)} no device")
    if typed:
        parts.append(f"{_count(typed, 'line')} that ask{'s' * (typed == 1)} for a queue")
    if configured:
        parts.append(f"{_count(configured, 'queue')} of a configuration")
    return ", ".join(parts)


def is_plain(observations: Iterable[Observation]) -> bool:
    """Say whether all is one output that names its devices, or lines that were typed.

    Then its form says no more than its queues do.
    """
    seen = list(observations)
    apart = len({one.where for one in seen}) == len(seen)
    return apart and len({one.source for one in seen}) <= 1 and not any(one.told for one in seen)


def named(host: str | None, namespace: str | None, dev: str | None) -> str:
    """Return what to call a device."""
    where = [f"of {host}"] * (host is not None) + [f"in {namespace}"] * (namespace is not None)
    return " ".join([dev or "a device without a name", *where])


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'s' * (number != 1)}"
