"""Variation: one scenario in which some numbers are arrays, one value for each run of a batch."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import numpy as np

from pi2_fluid.errors import DomainError, QuantityError, ScenarioError, show_value, suggest
from pi2_fluid.network.checks import check_changes, check_times
from pi2_fluid.network.scenario import Scenario
from pi2_fluid.records.counts import Counts
from pi2_fluid.records.record import Record, map_leaves
from pi2_fluid.units import validate_quantity

if TYPE_CHECKING:
    from pi2_fluid.values import Number, Real

R = TypeVar("R", bound=Record)

_UNITS: Final = {
    "time": "s",
    "rate": "bit/s",
    "size": "B",
    "packets": "packets",
    "frequency": "Hz",
    "number": "1",
}
# What decides when things happen, so that each run's schedule must be looked at.
_TIMES: Final = frozenset({"duration", "start", "stop", "start_jitter", "initial_window", "at"})


class Axis(NamedTuple):
    """What one key of `over` varies."""

    values: Real
    """SI, one for each run."""
    units: str


class Variation(NamedTuple):
    """A scenario whose records hold arrays of `runs` values where they are varied."""

    scenario: Any
    """Of the shape of a `Scenario`, but not one: a Scenario is a single run."""
    runs: int
    axes: dict[str, Axis]


def vary(scenario: Scenario, over: Mapping[str, Any]) -> Variation:
    """Return `scenario` with the numbers at the paths `over` replaced by arrays.

    Every record is made anew, so that each run's numbers are checked as those of a single scenario
    are; the schedules are checked run by run.

    Parameters
    ----------
    scenario : Scenario
        What the runs have in common.
    over : mapping of str to number, text or sequence
        Paths such as "aqm.alpha", "link.capacity", "flows.0.count", "flows.reno.base_rtt",
        "flows.0.sender.decrease", "changes.1.counts.reno", "duration".

    Raises
    ------
    ScenarioError
        If a path is no number of the scenario, or a run contradicts itself.
    QuantityError, DomainError
        If values are no numbers, not one for each run, or out of range.
    """
    require_mapping(over)
    varied: Any = scenario
    axes: dict[str, Axis] = {}
    first: dict[tuple[str, ...], str] = {}
    for key, value in over.items():
        if not isinstance(key, str):
            raise ScenarioError(
                f'over has the key {show_value(key)}, which is no path: give e.g. "aqm.alpha".'
            )
        path = key.split(".")
        varied, axis = _put(varied, path, key, value)
        axes[key] = axis
        if path[0] == "flows" and path[1] in scenario.class_names:
            path[1] = str(scenario.class_names.index(path[1]))
        if first.setdefault(tuple(path), key) != key:
            raise ScenarioError(
                f"over[{key!r}] and over[{first[tuple(path)]!r}] are the same number: give one."
            )
    runs = _count_runs(axes)
    filled = {
        key: Axis(np.broadcast_to(axis.values, (runs,)), axis.units) for key, axis in axes.items()
    }
    if any(_TIMES & set(key.split(".")) for key in over):
        _check_schedules(varied, runs)
    return Variation(varied, runs, filled)


def require_mapping(over: object) -> None:
    """Refuse what names no numbers to vary.

    Raises
    ------
    ScenarioError
        If it is no mapping.
    """
    if not isinstance(over, Mapping):
        raise ScenarioError(
            f"over = {show_value(over)} is no mapping: give e.g."
            ' {"aqm.alpha": numpy.linspace(0.1, 1.0, 100)}.'
        )


def _count_runs(axes: Mapping[str, Axis]) -> int:
    sizes = {key: np.size(axis.values) for key, axis in axes.items() if np.ndim(axis.values)}
    if len(set(sizes.values())) > 1:
        (first, size), (other, another) = _two_that_differ(sizes)
        raise QuantityError(
            f"over[{first!r}] asks for {size} runs and over[{other!r}] for {another}: give each one"
            " value for every run, or a single number."
        )
    return max(sizes.values(), default=1)


def _two_that_differ(sizes: Mapping[str, int]) -> tuple[tuple[str, int], tuple[str, int]]:
    items = list(sizes.items())
    return items[0], next(item for item in items if item[1] != items[0][1])


def _put(record: Any, path: Sequence[str], key: str, value: Any) -> tuple[Any, Axis]:
    """Return the record with the number at `path` replaced, and what was put there."""
    head, rest = path[0], path[1:]
    fields = {
        field.metadata.get("key", field.name): field
        for field in dataclasses.fields(record)
        if field.init
    }
    if head not in fields:
        raise _unknown(key, head, fields)
    name = fields[head].name
    now, metadata = getattr(record, name), fields[head].metadata
    if isinstance(record, Scenario) and name in {"flows", "changes"}:
        place, rest = _find(record, name, rest, key)
        inner, axis = _put(now[place], rest, key, value)
        return _with(record, name, (*now[:place], inner, *now[place + 1 :])), axis
    if name == "counts" and "quantity" not in metadata:
        inner, axis = _put_count(now, rest, key, value)
        return dataclasses.replace(record, counts=inner), axis
    if isinstance(now, Record) and rest:
        inner, axis = _put(now, rest, key, value)
        return _with(record, name, inner), axis
    plain = {"dimension": "number"} if isinstance(now, float) else None  # of a law of one's own
    rule = metadata.get("quantity", plain)
    if rule is None or rest:
        raise ScenarioError(
            f"over[{key!r}] is no number of the scenario: vary numbers only, and make one batch for"
            " each of the others."
        )
    numbers, units = _read(value, key, rule["dimension"])
    if isinstance(record, Scenario):
        numbers = validate_quantity(numbers, name=f"Scenario {name}", **rule)
        return _with(record, name, numbers), Axis(numbers, units)
    made = _remake(record, name, numbers)
    return made, Axis(getattr(made, name), units)


def _unknown(key: str, head: str, known: Iterable[str]) -> ScenarioError:
    return ScenarioError(
        f"over[{key!r}] leads nowhere, for there is no {head!r}: give {suggest(head, list(known))}."
    )


def _find(
    scenario: Scenario, name: str, path: Sequence[str], key: str
) -> tuple[int, Sequence[str]]:
    """Return which class of flows or change a path means, and what is left of the path."""
    items = getattr(scenario, name)
    if len(path) < 2:
        raise ScenarioError(
            f"over[{key!r}] is no number of the scenario: give e.g."
            f' "{name}.0.{"count" if name == "flows" else "capacity"}".'
        )
    labels = [str(place) for place in range(len(items))]
    names = list(scenario.class_names) if name == "flows" else []
    if path[0] in names:
        return names.index(path[0]), path[1:]
    if path[0] in labels:
        return int(path[0]), path[1:]
    raise _unknown(key, path[0], labels + names)


def _put_count(
    counts: Mapping[str, Number] | None, path: Sequence[str], key: str, value: object
) -> tuple[Counts, Axis]:
    if counts is None or len(path) != 1 or path[0] not in counts:
        raise ScenarioError(
            f"over[{key!r}] is no count that the change sets: give the name of a class in it."
        )
    numbers, units = _read(value, key, "number")
    return Counts({**counts, path[0]: numbers}), Axis(numbers, units)


def _read(value: Any, key: str, dimension: str) -> tuple[Real, str]:
    """Return one number or a one-dimensional array of them; text has its unit."""
    name = f"over[{key!r}]"
    if isinstance(value, (list, tuple)) and any(isinstance(item, str) for item in value):
        value = [_number(item, name, dimension) for item in value]
    elif not isinstance(value, str) and np.ndim(value) > 1:
        raise QuantityError(
            f"{name} has the shape {np.shape(value)}: give one number, or a one-dimensional array"
            " with one for each run."
        )
    low = -np.inf  # the record knows the range
    numbers = validate_quantity(value, dimension, name, low=low, closed=True)
    return numbers, _UNITS[dimension]


def _number(item: object, name: str, dimension: str) -> float:
    return float(validate_quantity(item, dimension, name, low=-np.inf, closed=True))


def _with(record: R, name: str, value: object) -> R:
    """Return a copy with another field; a Scenario would refuse arrays, and is not checked here."""
    if not isinstance(record, Scenario):
        return dataclasses.replace(record, **{name: value})
    made = copy.copy(record)
    object.__setattr__(made, name, value)
    return made


def _remake(record: R, name: str, numbers: Real) -> R:
    try:
        return dataclasses.replace(record, **{name: numbers})
    except (QuantityError, DomainError, ScenarioError):
        raise
    except ValueError:
        # A law of one's own that checks a single number: one after the other, then.
        for number in np.ravel(numbers):
            dataclasses.replace(record, **{name: float(number)})
        made = copy.copy(record)
        object.__setattr__(made, name, numbers)
        return made


def _check_schedules(varied: Scenario, runs: int) -> None:
    for run in range(runs):
        single = _single(varied, run)
        try:
            check_times(single)
            check_changes(single)
        except (ScenarioError, QuantityError, DomainError) as error:
            raise type(error)(f"In run {run}, {error}") from None


def _single(varied: Scenario, run: int) -> Scenario:
    result: Scenario = map_leaves(lambda leaf, _: leaf[run] if np.ndim(leaf) else leaf, varied)
    return result
