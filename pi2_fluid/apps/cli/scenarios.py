"""Scenarios: `pi2-fluid scenarios`, and what a command means by the name of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pi2_fluid.apps.cli import completing
from pi2_fluid.apps.cli.declaring import TRAFFIC, Command
from pi2_fluid.apps.cli.output import JsonFlag, print_catalogue, print_json

if TYPE_CHECKING:
    from pi2_fluid.network.scenario import Scenario

#: The scenario of a command.
ScenarioArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE | NAME | -",
        autocompletion=completing.scenarios,
        help="A scenario: a TOML file, - for standard input, or the name of one that comes with the"
        " package (pi2-fluid scenarios lists them).",
    ),
]


def scenarios(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Print this one as TOML. Without a name: list all.",
            autocompletion=completing.scenarios,
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the experiments that come with the package, or print one."""
    from pi2_fluid.network.catalogue import describe_scenario, named_text, scenario_names

    if name is not None:
        text = named_text(name)
        if as_json:
            print_json({"name": name, "description": describe_scenario(name), "toml": text})
        else:
            typer.echo(text, nl=False)
        return
    print_catalogue("scenarios", scenario_names(), describe_scenario, as_json)


def schema() -> None:
    """Print the JSON Schema of scenarios, for editors."""
    from pi2_fluid.network.catalogue import schema_text

    typer.echo(schema_text(), nl=False)


def load_scenario(source: str) -> tuple[Scenario, str]:
    """Return the scenario in a file, on standard input ("-") or of that name; and what it is.

    Raises
    ------
    OSError, QuantityError, DomainError, ScenarioError
        As `find_scenario`.
    """
    from pi2_fluid.network.catalogue import describe_scenario, find_scenario, scenario_names

    scenario = find_scenario(source)
    if source in scenario_names() and not Path(source).exists():
        return scenario, describe_scenario(source)
    return scenario, scenario.name or ("standard input" if source == "-" else source)


COMMANDS: tuple[Command, ...] = (
    Command(
        scenarios,
        panel=TRAFFIC,
        examples=("pi2-fluid scenarios", "pi2-fluid scenarios pi2_fig11a_pie > mine.toml"),
        json={
            "scenarios": "without NAME: a list of {name, description}",
            "name": "with NAME",
            "description": "with NAME: one sentence",
            "toml": "with NAME: its text",
        },
    ),
    Command(
        schema,
        examples=("pi2-fluid schema > scenario.schema.json",),
        notes=(
            "Editors with taplo, as VS Code with Even Better TOML, complete and check a scenario"
            " whose first line is #:schema ./scenario.schema.json."
        ),
    ),
)
