"""Scenarios: `pi2-fluid scenarios`, and what a command means by the name of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pi2_fluid.cli.output import JsonFlag, print_json
from pi2_fluid.errors import QuantityError

if TYPE_CHECKING:
    from pi2_fluid.model.scenario import Scenario

__all__ = ["COMMANDS", "ScenarioArgument", "load_scenario", "scenarios"]

#: The scenario of a command.
ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE | NAME | -",
        help="A scenario as TOML: a file, standard input, or, where no such file exists, the name"
        " of one that comes with the package (see pi2-fluid scenarios).",
    ),
]


def scenarios(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Print this one as TOML; without a name, list all."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the experiments of the papers that come with the package, or print one."""
    from pi2_fluid.model.catalogue import describe_scenario, named_text, scenario_names

    if name is not None:
        text = named_text(name)
        if as_json:
            print_json({"name": name, "description": describe_scenario(name), "toml": text})
        else:
            typer.echo(text, nl=False)
        return
    found = [{"name": name, "description": describe_scenario(name)} for name in scenario_names()]
    if as_json:
        print_json({"scenarios": found})
        return
    width = max(len(record["name"]) for record in found) + 2
    for record in found:
        typer.echo(f"{record['name']:<{width}}{record['description']}")


def load_scenario(given: str) -> tuple[Scenario, str]:
    """Return the scenario in a file, on standard input ("-") or of that name; and what it is.

    Raises
    ------
    QuantityError
        If there is neither a file nor a scenario of that name.
    OSError, QuantityError, DomainError, ScenarioError
        As `Scenario.load`.
    """
    from pi2_fluid.model.catalogue import describe_scenario, named_scenario, scenario_names
    from pi2_fluid.model.scenario import Scenario

    if given == "-" or Path(given).exists():
        scenario = Scenario.load(given)
        return scenario, scenario.name or ("standard input" if given == "-" else given)
    if given in scenario_names():
        return named_scenario(given), describe_scenario(given)
    if "/" in given or "." in given:
        Scenario.load(given)  # says that there is no such file
    try:
        return named_scenario(given), given
    except QuantityError as error:
        raise QuantityError(f"{given} is no file, and {error}") from None


COMMANDS: tuple[tuple[Any, str], ...] = (
    (
        scenarios,
        (
            "Examples:\n\n"
            "pi2-fluid scenarios\n\n"
            "pi2-fluid scenarios pi2_fig11a_pie > mine.toml\n\n"
            "JSON: scenarios, a list of {name, description}; with NAME: name, description, toml."
        ),
    ),
)
