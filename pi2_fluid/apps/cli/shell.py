"""The shell: the commands together, and how whatever happens in them ends."""

from __future__ import annotations

import errno
import functools
import gc
import inspect
import io
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from pi2_fluid.apps.cli import codes
from pi2_fluid.apps.cli.completing import words
from pi2_fluid.apps.cli.declaring import Command, Group
from pi2_fluid.apps.cli.output import make_console, make_grid
from pi2_fluid.apps.cli.straight import plain
from pi2_fluid.apps.cli.wording import spaced
from pi2_fluid.errors import (
    AssumptionWarning,
    BuildError,
    DomainError,
    QuantityError,
    ScenarioError,
    SolverError,
    UnsupportedError,
    WriteError,
)
from pi2_fluid.missing import what_to_install

_NOWHERE: Final = "standard output is closed: let it go to a file, a pipe or /dev/null."
_OBJECTS: Final = 10_000  # until Python looks for cycles among them
#: Options by the names that they once had.
_RENAMED: Final = {"--mode": "--update", "--controller": "--update"}
#: Options that a command has not, and what it has instead.
_INSTEAD: Final = {"--gain-margin": "--require 6dB asks for a gain margin"}

#: Which file each command is in, in the order in which help lists panels and commands
#: (groups of commands last).
ROOMS: Final = {
    "check": "checks",
    "tune": "designs",
    "margins": "loops",
    "simulate": "simulations",
    "compare": "comparisons",
    "sweep": "sweeps",
    "traffic": "families",
    "scenarios": "scenarios",
    "replay": "replays",
    "watch": "watching",
    "diagnose": "diagnosing",
    "figure": "gallery",
    "figures": "gallery",
    "claims": "claims",
    "validate": "validations",
    "schema": "scenarios",
    "linux": "kernels",
}
_BELOW: Final = (
    "COMMAND -h: options and examples. --install-completion: Tab completes words. Exit codes:"
    " docs/reference/exit_codes.md."
)


def main() -> None:
    """Run the command line and leave with its exit code."""
    if sys.stdout is None:
        sys.exit(_fail(_NOWHERE, codes.BAD_INPUT))
    if sys.stdin is None:
        sys.stdin = _Closed()
    # Nearly all that a command makes lives until it ends: looking for what does not after every
    # 700 objects, as Python does, takes a tenth of its time.
    gc.set_threshold(_OBJECTS)
    code = run(sys.argv[1:])
    if code == codes.PIPE_CLOSED:
        # What is left to write has no reader either.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


class _Closed(io.TextIOBase):
    """Standard input, where there is none."""

    def read(self, size: int | None = -1, /) -> str:
        """Refuse.

        Raises
        ------
        QuantityError
            Always.
        """
        raise QuantityError(
            "standard input is closed: give the name of a file, or text by a pipe, as in"
            " `tc qdisc show | pi2-fluid check -`."
        )

    readline = readlines = read  # type: ignore[assignment]


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; whatever fails is one sentence on stderr."""
    try:
        completed = words()
        with _warnings_as_lines():
            code = None if completed is not None else _run_plain(arguments)
            if code is None:
                app = app_for(arguments if completed is None else completed)
                code = app(list(arguments), prog_name="pi2-fluid", standalone_mode=False)
        # Some versions of the shell library turn an interrupt into this code, silently.
        return _interrupted() if code == codes.INTERRUPTED else int(code or 0)
    except codes.BrokenOff as interrupt:
        return _interrupted(str(interrupt))
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except (QuantityError, DomainError, ScenarioError, UnsupportedError) as error:
        return _fail(spaced(arguments) or str(error), codes.BAD_INPUT)
    except (SolverError, BuildError, WriteError) as error:
        return _fail(str(error), codes.FAILED)
    except OSError as error:
        where = error.filename or "the output"
        full = error.errno == errno.ENOSPC
        return _fail(
            f"cannot use {where}: {error.strerror or error}:"
            f" {'make room, or ' if full else ''}give another path.",
            codes.FAILED if full else codes.BAD_INPUT,
        )
    except SystemExit as leave:
        # The shell library leaves with 1, which is "unstable" here, where a pipe is closed early.
        closed = leave.code == 1 and words() is None
        return codes.PIPE_CLOSED if closed else int(leave.code or 0)
    except Exception as error:  # noqa: BLE001  the last door: everything else is our mistake
        return _interrupted() if _hides_an_interrupt(error) else _report(error, arguments)


def _hides_an_interrupt(error: BaseException | None) -> bool:
    """Return whether an import that Ctrl-C broke off says so in words of its own."""
    while isinstance(error, ImportError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


def _run_plain(arguments: Sequence[str]) -> int | None:
    """Run a command line that needs no help from the shell's library; None if it is another."""
    if not arguments or arguments[0] not in ROOMS:
        return None
    one = next((one for one in declared(arguments) if one.name == arguments[0]), None)
    given = plain(one, arguments[1:]) if isinstance(one, Command) else None
    if given is None:
        return None
    assert isinstance(one, Command)
    try:
        one.run(**given)
    except typer.Exit as leave:
        return leave.exit_code
    except OSError as error:
        if error.errno != errno.EPIPE:
            raise
        return codes.PIPE_CLOSED
    return 0


def _report(error: Exception, arguments: Sequence[str]) -> int:
    # The shell library's own complaints; where their classes live depends on its version.
    if hasattr(error, "format_message"):
        if message := spaced(arguments):
            return _fail(message, codes.BAD_INPUT)
        context = getattr(error, "ctx", None)
        command = context.command_path if context else _command_in(arguments)
        option = getattr(error, "option_name", None)
        if option in _RENAMED:
            return _fail(
                f"{option} is now called {_RENAMED[option]}: see {command} -h.", codes.BAD_INPUT
            )
        instead = f"{_INSTEAD[option]}; " if option in _INSTEAD else ""
        message = error.format_message().rstrip(".")
        return _fail(f"{message}: {instead}see {command} -h.", codes.BAD_INPUT)
    if isinstance(error, ImportError) and not (error.name or "pi2_fluid").startswith("pi2_fluid"):
        return _fail(what_to_install(str(error.name)), codes.FAILED)
    if os.environ.get("PI2_FLUID_DEBUG") == "1":
        raise error
    return _fail(
        f"internal: {type(error).__name__}: {error} (please report it, with the command;"
        " PI2_FLUID_DEBUG=1 shows where).",
        codes.INTERNAL,
    )


def _command_in(arguments: Sequence[str]) -> str:
    """Return the command of a line that was not read as far as its options."""
    first = arguments[0] if arguments else ""
    return f"pi2-fluid {first}" if first in ROOMS else "pi2-fluid"


def _interrupted(kept: str = "") -> int:
    """Say so, and in a clause what is kept and how to go on, if anything is."""
    return _fail(f"interrupted{': ' if kept else ''}{kept.removesuffix('.')}.", codes.INTERRUPTED)


def _fail(sentence: str, code: int) -> int:
    typer.echo("error: " + " ".join(sentence.split()), err=True)
    return code


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    with warnings.catch_warnings(action="always", category=AssumptionWarning):
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, AssumptionWarning):
                typer.echo(f"warning: {message}", err=True)
            else:
                usual(message, category, *where, **more)

        warnings.showwarning = show
        yield


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"pi2-fluid {version('pi2-fluid')}")
        raise typer.Exit


def _start(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  handled by its callback
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Judge, set and try queues that keep delay low: PIE, PI2, DualPI2, RED, CoDel."""
    _show_commands(context)


def _show_commands(context: typer.Context) -> None:
    """Without a command there is help."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(codes.BAD_INPUT)


def declared(arguments: Sequence[str]) -> list[Command | Group]:
    """Return what the file of the command that comes first declares, or all files if none does."""
    asked = [ROOMS[word] for word in arguments[:1] if word in ROOMS]
    there: list[Command | Group] = []
    for room in asked or dict.fromkeys(ROOMS.values()):
        there += import_module(f"pi2_fluid.apps.cli.{room}").COMMANDS
    return sorted(there, key=lambda one: list(ROOMS).index(one.name))


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the shell with the file of the command that comes first, with all where none does."""
    app = typer.Typer(
        name="pi2-fluid",
        cls=_FirstScreen,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback(invoke_without_command=True, epilog=_BELOW)(_start)
    for one in declared(arguments):
        if isinstance(one, Command):
            _add(app, one, one.panel)
            continue
        group = typer.Typer(help=one.help)
        group.callback(invoke_without_command=True)(_show_commands)
        for command in one.commands:
            _add(group, command, None)
        app.add_typer(group, name=one.name, rich_help_panel=one.panel)
    return app


class _FirstScreen(TyperGroup):
    """The commands by panels, and nothing that can be said in a line below them."""

    def format_help(self, ctx: typer.Context, *more: object) -> None:  # type: ignore[override]
        """Print them without the shell's own options."""
        for option in self.get_params(ctx):
            option.hidden = True  # type: ignore[attr-defined]  # all of them are options
        super().format_help(ctx, *more)  # type: ignore[arg-type]


def _add(app: typer.Typer, command: Command, panel: str | None) -> None:
    declare = app.command(
        help=command.help,
        epilog=command.epilog,
        rich_help_panel=panel,
        hidden=command.hidden,
    )
    declare(_explaining_json(command) if command.json else command.run)


def _explaining_json(command: Command) -> Callable[..., None]:
    """Return what a command does, with an option more: what `--json` prints."""

    def explain(wanted: bool) -> None:
        if wanted:
            grid = make_grid("left", "left")
            for key, text in command.json.items():
                grid.add_row(key, text)
            make_console().print(grid)
            typer.echo('\nNumbers are in SI units; infinite ones are the text "inf".')
            raise typer.Exit

    @functools.wraps(command.run)
    def run_it(*, help_json: bool = False, **given: object) -> None:
        del help_json  # its callback has answered
        command.run(**given)

    wanted = typer.Option(
        "--help-json", callback=explain, is_eager=True, help="Say what this object has."
    )
    own = inspect.signature(command.run, eval_str=True)
    more = inspect.Parameter(
        "help_json",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, wanted],
    )
    run_it.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[*own.parameters.values(), more]
    )
    return run_it
