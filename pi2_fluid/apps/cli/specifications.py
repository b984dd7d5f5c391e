"""What a sweep is asked, read from a file: one of four bases, and the names that vary."""

from __future__ import annotations

import dataclasses
import inspect
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.errors import QuantityError, ScenarioError, show_value, suggest

if TYPE_CHECKING:
    from pi2_fluid.design.design import Design
    from pi2_fluid.engines.engine import Engine
    from pi2_fluid.loop.matrix.network_loop import NetworkLoop
    from pi2_fluid.loop.transfer import Loop

_BASES: Final = ("scenario", "network", "loop", "tune")
_FILES: Final = ("scenario", "network")
#: What goes with a scenario alone.
_OF_RUNS: Final = ("engine", "summarize")
_KEYS: Final = (*_BASES, *_OF_RUNS, "over")
_WHO: Final = ("sender", "flows", "network")


def read_specification(file: Path) -> dict[str, Any]:
    """Return the arguments of `pi2_fluid.sweep` that a file describes.

    Raises
    ------
    OSError
        If the file, or one that it names, cannot be read.
    QuantityError, DomainError, ScenarioError, UnsupportedError
        Naming the file and the key.
    """
    tables = _tables(file)
    over = {_names(name): values for name, values in _flat(tables.get("over", {}))}
    (base,) = (name for name in _BASES if name in tables)
    if base == "tune":
        return {"base": _request(tables["tune"], file), "over": over}
    if base == "loop":
        return {"base": _loop(tables["loop"], file), "over": over}
    from pi2_fluid.network.catalogue import find_network, find_scenario

    if base == "network":
        return {"base": find_network(_beside(tables["network"], file)), "over": over}
    from pi2_fluid.results.summary import summarize

    options = tables.get("summarize", {})
    _check_keys(options, ("after", "until"), f"{file} [summarize]")
    return {
        "base": find_scenario(_beside(tables["scenario"], file)),
        "over": over,
        "engine": _engine(tables.get("engine", {}), file),
        "reduce": partial(summarize, **options) if options else summarize,
    }


def _tables(file: Path) -> dict[str, Any]:
    """Return what a file has, of which exactly one is a base."""
    from pi2_fluid.network.text import read_text

    name, text = read_text(file)
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also thousands of digits or brackets
        raise ScenarioError(f"{name} is no TOML: {error}: mend it.") from None
    _check_keys(tables, _KEYS, name)
    bases = [base for base in _BASES if base in tables]
    if len(bases) != 1:
        found = " and ".join(bases) if bases else f"none of {', '.join(_BASES)}"
        raise ScenarioError(f"{name} has {found}: give one of them, what is asked at each point.")
    for key, value in tables.items():
        if key in _FILES:
            if not isinstance(value, str):
                raise ScenarioError(
                    f"{name} has {key} = {show_value(value)}, which is no text: give the name of a"
                    f" file, or of a scenario."
                )
        elif not isinstance(value, dict):
            raise ScenarioError(
                f"{name} has {key} = {show_value(value)}, which is no table: write [{key}]."
            )
        if key in _OF_RUNS and bases != ["scenario"]:
            raise ScenarioError(
                f"{name} has {key} beside {bases[0]}, and only scenarios are run: leave it out."
            )
    return tables


def _beside(given: str, file: Path) -> str:
    """Return the path of a file beside another if it is there, else what was given."""
    path = file.parent / given
    return str(path) if path.is_file() else given


def _request(given: Mapping[str, Any], file: Path) -> Callable[..., Design]:
    """Return the request of a table, which has the arguments of `tune`."""
    from pi2_fluid.design.tuning import tune
    from pi2_fluid.network.text import located, read_laws

    # A queue that is a word is a kind, whose target and interval are found, too.
    laws = {key: value for key, value in given.items() if key != "aqm" or isinstance(value, dict)}
    with located(f"{file} [tune]"):
        return partial(tune, **{**given, **read_laws(laws)})


def _loop(table: Mapping[str, Any], file: Path) -> Loop | NetworkLoop:
    """Return the loop of a table, which has the arguments of `Loop` in the words of a scenario."""
    from pi2_fluid.loop.transfer import Loop
    from pi2_fluid.network.catalogue import find_network
    from pi2_fluid.network.text import located, read_laws

    place = f"{file} [loop]"
    build: Callable[..., Loop | NetworkLoop] = Loop
    known = [name for name in inspect.signature(Loop.__init__).parameters if name != "self"]
    _check_keys(table, (*_WHO, *known), place)
    who = [name for name in _WHO if name in table]
    if len(who) != 1:
        raise ScenarioError(
            f"{place} has {' and '.join(who) or 'nobody'} to send: give one of {', '.join(_WHO)}."
        )
    for key, value in table.items():
        if isinstance(value, (list, dict)) and key not in {"sender", "flows", "aqm"}:
            raise ScenarioError(
                f"{place} has {key} = {show_value(value)}: give one value, and those that vary in"
                " [over]."
            )
    with located(place):
        arguments = read_laws(table)
        sending: Any = arguments.pop(who[0])
        if who == ["network"]:
            sending = find_network(_beside(str(sending), file))
        return build(sending, **arguments)


def _engine(given: Mapping[str, Any], file: Path) -> Engine:
    from pi2_fluid.engines.simulating import ENGINES

    options = dict(given)
    name = options.pop("name", "fluid")
    if name not in ENGINES:
        raise QuantityError(
            f"{file} has engine.name = {show_value(name)}: give {suggest(name, list(ENGINES))}."
        )
    kind: Any = ENGINES[name]
    known = [field.name for field in dataclasses.fields(kind)]
    _check_keys(options, known, f"{file} [engine] {name}")
    engine: Engine = kind(**options)
    return engine


def _check_keys(table: Mapping[str, Any], known: Collection[str], place: str) -> None:
    for key in table:
        if key not in known:
            raise ScenarioError(
                f"{place} has {show_value(key)}, which is unknown: give {suggest(key, known)}."
            )


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield names and values: ``aqm.alpha = [...]`` is a table in a table to TOML."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _names(name: str) -> str | tuple[str, ...]:
    parts = tuple(part.strip() for part in name.split(","))
    return parts if len(parts) > 1 else parts[0]
