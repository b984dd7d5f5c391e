"""What changed last: the tree, an option, a rate of a class, or how much traffic there is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pi2_fluid.deployment.watching.rows import Row
from pi2_fluid.deployment.watching.tree import ordered
from pi2_fluid.deployment.watching.wording import rate_said
from pi2_fluid.tc.observing.following import Shown

#: What tc prints among options and counts in fact.
_COUNTED: Final = frozenset({"direct_packets_stat", "direct_packets", "refcnt", "memory_used"})
_TIMES: Final = frozenset({"target", "tupdate", "interval", "ce_threshold", "rtt", "lat"})
_RATES: Final = frozenset({"rate", "bandwidth", "ceil"})
_BITS: Final = 8.0
_AFTER: Final = 3  # outputs that a step must last
_BEFORE: Final = 5  # outputs that it is a step from
_LARGER: Final = 1.5  # times: less is how traffic is
_LEAST: Final = 2e4  # bit/s


class Change(NamedTuple):
    """When something changed (s, None where nothing says it), at which output, and what."""

    time: float | None
    output: int
    what: str


def last_of(changes: Sequence[Change]) -> Change | None:
    """Return the last change, with those of the same output; None of none.

    Examples
    --------
    >>> last_of([Change(1.0, 1, "a"), Change(2.0, 2, "b"), Change(2.0, 2, "c")])
    Change(time=2.0, output=2, what='b; c')
    """
    if not changes:
        return None
    last = changes[-1]
    return last._replace(what="; ".join(one.what for one in changes if one.output == last.output))


class Trees:
    """The tree of a device, to be told when it becomes another."""

    def __init__(self) -> None:
        self._known: dict[tuple[bool, str | None, str], tuple[str, dict[str, Any]]] | None = None

    def changes(self, shown: Sequence[Shown], *, classes: bool) -> list[str]:
        """Return what is other than before; `classes` says whether they were shown at all."""
        now = {one.place: (one.name, _options(one)) for _, one in ordered(shown)}
        before, self._known = self._known, now
        if before is None:
            return []
        if not classes:  # an output of queues alone says nothing of classes
            kept = {place: one for place, one in before.items() if place[0]}
            now |= kept
            self._known = now
        return list(_differences(before, now))


def _options(one: Shown) -> dict[str, Any]:
    options = {} if one.is_class else one.options()
    counted = {str(options.get(name)) for name in _COUNTED if name in options}
    # of words, which follow one another, what stands behind a counter begins with its value
    found = {
        name: value
        for name, value in options.items()
        if name not in _COUNTED and name not in counted and not name[:1].isdigit()
    }
    if one.is_class:
        rates = {"rate": one.assured, "ceil": one.rate}
        found |= {name: rate / _BITS for name, rate in rates.items() if rate is not None}
    return found


def _differences(
    before: Mapping[Any, tuple[str, dict[str, Any]]], now: Mapping[Any, tuple[str, dict[str, Any]]]
) -> Iterator[str]:
    gone = {place: one for place, one in before.items() if place not in now}
    for place, (name, options) in now.items():
        if place not in before:
            former = next((one for at, one in gone.items() if at[:2] == place[:2]), None)
            if former is not None and not place[0]:
                gone = {at: one for at, one in gone.items() if one is not former}
                yield f"{former[0]} was replaced by {name}"
            else:
                yield f"{name} is new"
            continue
        named, old = before[place]
        if named != name:
            yield f"{named} was replaced by {name}"
            continue
        for option in dict.fromkeys((*old, *options)):
            was, has = old.get(option), options.get(option)
            same = option == "ceil" and (was, has) == (old.get("rate"), options.get("rate"))
            if was != has and not same:
                yield f"{option} of {name} from {_said(option, was)} to {_said(option, has)}"
    for name, _ in gone.values():
        yield f"{name} is gone"


def _said(option: str, value: Any) -> str:
    if value is None:
        return "none"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and option in _TIMES:
        return f"{value / 1e3:g} ms"
    if number and option in _RATES:
        return rate_said(_BITS * value)
    return str(value)


class Steps:
    """Rates of a row, to be told when they step up or down and stay there."""

    def __init__(self) -> None:
        self._rates: dict[str, deque[tuple[float | None, int, float]]] = {}

    def changes(self, row: Row, time: float | None, output: int) -> list[Change]:
        """Return the steps that the last outputs show, at the time of the first that is other."""
        steps = []
        for way, rate in (("in", row.rate_in), ("out", row.rate_out)):
            if rate is None:
                continue
            past = self._rates.setdefault(way, deque(maxlen=_BEFORE + _AFTER))
            past.append((time, output, rate))
            rates = [each[2] for each in past]
            if len(rates) < _BEFORE + _AFTER:
                continue
            old, new = rates[:_BEFORE], rates[_BEFORE:]
            up = min(new) > max(_LARGER * max(old), max(old) + _LEAST)
            down = max(new) < min(min(old) / _LARGER, min(old) - _LEAST)
            if up or down:
                when, at, _ = past[_BEFORE]
                what = (
                    f"rate {way} of {row.name} from {rate_said(sorted(old)[_BEFORE // 2])}"
                    f" to {rate_said(sorted(new)[_AFTER // 2])}"
                )
                steps.append(Change(when, at, what))
                for _ in range(_BEFORE):
                    past.popleft()
        ways = [change.what.split()[1] for change in steps]
        return steps[1:] if ways == ["in", "out"] else steps
