"""Own parameters of a figure: one thing changed, nothing copied."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import pi2_fluid as pf
from pi2_fluid.errors import DomainError, QuantityError, ScenarioError, show_value, suggest
from pi2_fluid.papers.recipe import Recipe
from pi2_fluid.papers.words import quantity_text
from pi2_fluid.records.paths import replace_path
from pi2_fluid.units import DIMENSIONS, parse_quantity

#: What can be set of every scenario by a short name, and where it is. Of flows it is set in every
#: class that reacts to signals; of the queue, where it has that parameter.
SHORT_NAMES: Final[Mapping[str, tuple[str, str]]] = {
    "rtt": ("flows", "base_rtt"),
    "count": ("flows", "count"),
    "initial_window": ("flows", "initial_window"),
    "capacity": ("link", "capacity"),
    "buffer": ("link", "buffer"),
    "packet_size": ("link", "packet_size"),
    "target": ("aqm", "target"),
    "alpha": ("aqm", "alpha"),
    "beta": ("aqm", "beta"),
    "update_interval": ("aqm", "update_interval"),
    "duration": ("", "duration"),
}

#: What a picture says first of what was set.
CHANGED: Final = "changed: "
#: What a number is that is given without a unit.
_DIMENSIONS: Final = {
    "rtt": "time",
    "target": "time",
    "update_interval": "time",
    "duration": "time",
    "capacity": "rate",
    "packet_size": "size",
    "buffer": "packets",
}
#: What a file's name can have everywhere.
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.,+_=-]")
_LONGEST: Final = 120  # characters of what a file's name says of settings

#: What is written without a unit; whatever has one is given with it.
_BARE: Final = ("count", "initial_window", "alpha", "beta")


def settings_of(recipe: Recipe, settings: Mapping[str, object]) -> dict[str, object]:
    """Return the recipe's own parameters with those that are given.

    Raises
    ------
    QuantityError
        If something is given that this figure does not have.
    """
    names = [*recipe.parameters, *_names(recipe)]
    for name in settings:
        if name in names or ("." in name and recipe.changeable is None and recipe.scenarios()):
            continue
        remedy = f"give {suggest(name, names)}" if names else "it has nothing that can be set"
        raise QuantityError(f"this figure has no setting {show_value(name)}: {remedy}.")
    return {name: settings.get(name, value) for name, value in recipe.parameters.items()}


def _names(recipe: Recipe) -> list[str]:
    if recipe.changeable is not None:
        return list(recipe.changeable)
    return list(SHORT_NAMES) if recipe.scenarios() else []


def refuse_idle(recipe: Recipe, given: Mapping[str, object]) -> None:
    """Refuse what would change nothing in any scenario of the figure.

    Raises
    ------
    QuantityError
        If no queue has the parameter, or no flow answers signals.
    """
    scenarios = recipe.scenarios().values() if given else ()
    for name in given:
        place, field = SHORT_NAMES.get(name, ("", ""))
        if place == "aqm" and not any(_has(scenario, field) for scenario in scenarios):
            raise QuantityError(f"none of this figure's queues has {name}: leave it out.")
        if place == "flows" and not any(
            flow.sender.signal for scenario in scenarios for flow in scenario.flows
        ):
            raise QuantityError(f"{name} is of flows that answer signals: this figure has none.")


def refuse_short(recipe: Recipe, scenarios: Mapping[str, pf.Scenario]) -> None:
    """Refuse runs that end before what the figure shows begins.

    Raises
    ------
    DomainError
        If a run is too short.
    """
    least = recipe.least_duration
    for duration in (float(scenario.duration) for scenario in scenarios.values()):
        if duration <= least:
            raise DomainError(
                f"duration = {quantity_text(duration, 'time')} ends before what this figure shows:"
                f" give more than {quantity_text(least, 'time')}."
            )


def changed_text(given: Mapping[str, object]) -> str:
    """Return what was set, as a picture says it; "" if nothing was.

    Examples
    --------
    >>> changed_text({"rtt": "30ms", "capacity": 2e7, "count": 5, "aqm.burst": "0.05s"})
    'changed: rtt 30 ms, capacity 20 Mbit/s, count 5, aqm.burst 50 ms'
    """
    said = ", ".join(f"{name} {_value_text(name, value)}" for name, value in given.items())
    return f"{CHANGED}{said}" if said else ""


def changed_stem(settings: Mapping[str, object]) -> str:
    """Return what was set, as the names of files end; "" if nothing was.

    No two settings have the same: what cannot stand in a name, or is too long for it, ends in what
    stands for all of it.

    Examples
    --------
    >>> changed_stem({"rtt": "30ms", "capacity": "20Mbit/s"})
    '-rtt=30ms-capacity=20Mbit'
    """
    values = {name: _value_text(name, value).replace("µ", "u") for name, value in settings.items()}
    said = "".join(
        f"-{name}={value.replace(' ', '').replace('bit/s', 'bit')}"
        for name, value in values.items()
    )
    safe = _UNSAFE.sub("_", said)[:_LONGEST]
    if safe == said:
        return said
    return f"{safe}-{hashlib.sha256(repr(values).encode()).hexdigest()[:8]}"


def _value_text(name: str, value: object) -> str:
    """Return a value with its unit, the same however it was given."""
    if isinstance(value, str):
        # A number alone is one, though frequencies may be given so, too.
        for dimension in ("number", *DIMENSIONS):
            try:
                return quantity_text(parse_quantity(value, dimension), dimension)
            except QuantityError:
                continue
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return quantity_text(float(value), _DIMENSIONS.get(name, "number"))
    return str(value)


def with_settings(scenario: pf.Scenario, settings: Mapping[str, object]) -> pf.Scenario:
    """Return a scenario with other values of what is named.

    Parameters
    ----------
    scenario : Scenario
        Of one link.
    settings : mapping of str to value
        Values, or text as in TOML files, by short names (rtt, capacity, target ...) or by the
        paths of TOML files (``"flows.0.count"``, ``"aqm.burst"``).

    Raises
    ------
    QuantityError, DomainError, ScenarioError
        As the scenario's own parts, if a value is none of theirs.

    Examples
    --------
    >>> scenario = with_settings(pf.named_scenario("pi2_fig11a_pi2"), {"rtt": "50ms"})
    >>> scenario.flows[0].base_rtt
    0.05
    """
    for name, value in settings.items():
        if name not in SHORT_NAMES:
            scenario = replace_path(scenario, name, _number(value))
            continue
        place, field = SHORT_NAMES[name]
        scenario = _WAYS[place](scenario, {field: _number(value) if name in _BARE else value})
    return scenario


def _number(value: object) -> object:
    """Text that is a bare number as that number."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _flows(scenario: pf.Scenario, change: dict[str, Any]) -> pf.Scenario:
    flows = [
        dataclasses.replace(flow, **change) if flow.sender.signal is not None else flow
        for flow in scenario.flows
    ]
    return dataclasses.replace(scenario, flows=tuple(flows))


def _aqm(scenario: pf.Scenario, change: dict[str, Any]) -> pf.Scenario:
    (name,) = change
    if not _has(scenario, name):
        return scenario  # of another kind than its neighbour's in the same figure
    return dataclasses.replace(scenario, aqm=dataclasses.replace(scenario.aqm, **change))


def _has(scenario: pf.Scenario, name: str) -> bool:
    return name in {field.name for field in dataclasses.fields(scenario.aqm) if field.init}


def _link(scenario: pf.Scenario, change: dict[str, Any]) -> pf.Scenario:
    if "capacity" in change and any(at.capacity is not None for at in scenario.changes):
        raise ScenarioError(
            "this scenario changes its capacity: name the stage, changes.0.capacity, too, in a"
            " scenario file of your own."
        )
    return dataclasses.replace(scenario, link=dataclasses.replace(scenario.link, **change))


def _whole(scenario: pf.Scenario, change: dict[str, Any]) -> pf.Scenario:
    return dataclasses.replace(scenario, **change)


_WAYS: Final[Mapping[str, Callable[[pf.Scenario, dict[str, Any]], pf.Scenario]]] = {
    "flows": _flows, "link": _link, "aqm": _aqm, "": _whole,
}  # fmt: skip
