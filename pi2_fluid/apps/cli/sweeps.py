"""Sweeps: `pi2-fluid sweep`, a file that says what to ask at which points, into a Zarr store."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli.files import check_path
from pi2_fluid.apps.cli.options import option
from pi2_fluid.apps.cli.output import JsonFlag, print_json
from pi2_fluid.errors import QuantityError, ScenarioError, show_value, suggest

if TYPE_CHECKING:
    from pi2_fluid.engines.engine import Engine

__all__ = ["COMMANDS", "sweep"]

_KEYS: Final = ("scenario", "tune", "engine", "summarize", "over")


def sweep(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="What to ask at which points, as TOML; see below."),
    ],
    store: Annotated[
        Path,
        option("DIR", "The Zarr store, ending in .zarr. One that is there is gone on with."),
    ],
    workers: Annotated[
        int | None,
        option("N", "How many blocks go side by side. Default: as many as there are cores."),
    ] = None,
    processes: Annotated[
        bool, typer.Option("--processes", help="Work in processes, which suits designs.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Ask one question at every point of a grid, and write the answers into a Zarr store."""
    check_path(store, (".zarr",), "--store")
    given = _read(file)
    from pi2_fluid.sweeping.sweep import sweep as sweep_points

    found = sweep_points(
        **_arguments(given, file), store=store, workers=workers, processes=processes
    )
    errors = found["error"].to_numpy().ravel()
    failed = [str(one) for one in errors if one]
    if as_json:
        print_json(
            {
                "points": errors.size,
                "without_a_result": len(failed),
                "first_error": failed[0] if failed else None,
                "variables": [str(name) for name in found.data_vars],
                "specification": found.attrs["specification"],
                "store": str(store),
            }
        )
        return
    typer.echo(f"{errors.size} points, {len(failed)} with an error")
    if failed:
        typer.echo(f"the first: {failed[0]}")
    typer.echo(f"written: {store}")


def _read(file: Path) -> dict[str, Any]:
    """Return the tables of a file."""
    from pi2_fluid.network.text import read_text

    name, text = read_text(file)
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{name} is no TOML: {error}: mend it.") from None
    for key in given:
        if key not in _KEYS:
            raise ScenarioError(
                f"{name} has {show_value(key)}, which no sweep has: give {suggest(key, _KEYS)}."
            )
    if ("scenario" in given) == ("tune" in given):
        raise ScenarioError(
            f"{name} has {'both' if 'tune' in given else 'neither'} of scenario and tune: give"
            " one, what to run or what to design."
        )
    for key in ("tune", "engine", "summarize", "over"):
        if not isinstance(given.get(key, {}), dict):
            raise ScenarioError(
                f"{name} has {key} = {show_value(given[key])}, which is no table: write [{key}]."
            )
    return given


def _arguments(given: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return the arguments of `pi2_fluid.sweep`."""
    from pi2_fluid.network.catalogue import find_scenario
    from pi2_fluid.results.summary import summarize

    over = {_names(name): values for name, values in _flat(given.get("over", {}))}
    if "tune" in given:
        from pi2_fluid.design.tuning import tune

        if "engine" in given or "summarize" in given:
            raise ScenarioError(f"{file} has engine or summarize beside tune: leave them out.")
        return {"base": partial(tune, **given["tune"]), "over": over}
    beside = file.parent / str(given["scenario"])
    options = given.get("summarize", {})
    for name in options:
        if name not in {"after", "until"}:
            raise ScenarioError(
                f"{file} has summarize.{name}, which is no option: give after or until."
            )
    return {
        "base": find_scenario(beside if beside.is_file() else str(given["scenario"])),
        "over": over,
        "engine": _engine(given.get("engine", {}), file),
        "reduce": partial(summarize, **options) if options else summarize,
    }


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
    for key in options:
        if key not in known:
            raise QuantityError(
                f"{file} has engine.{key}, which {name} has not: give {suggest(key, known)}."
            )
    engine: Engine = kind(**options)
    return engine


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


COMMANDS: tuple[tuple[Any, str], ...] = (
    (
        sweep,
        (
            "In FILE: scenario, a name or a file beside it; [over], names and lists of values"
            ' (aqm.alpha = [0.1, 0.2]; "link.capacity, flows.0.count" = [["10Mbit/s", 5]] is'
            " zipped); [engine], its name, fluid, packet or ns3, and options (seeds = 5);"
            " [summarize], after and until. Or [tune] with arguments of tune in the place of"
            " scenario.\n\n"
            "Examples:\n\n"
            "pi2-fluid sweep gains.toml --store gains.zarr\n\n"
            "After Ctrl-C or a crash the same command goes on.\n\n"
            "JSON: points, without_a_result, first_error, variables, specification, store."
        ),
    ),
)
