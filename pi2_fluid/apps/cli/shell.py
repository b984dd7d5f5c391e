"""The shell: the commands together, and how whatever happens in them ends."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import (
    checks,
    claims,
    codes,
    comparisons,
    designs,
    gallery,
    loops,
    replays,
    scenarios,
    simulations,
    sweeps,
    validations,
)
from pi2_fluid.errors import (
    AssumptionWarning,
    DomainError,
    QuantityError,
    ScenarioError,
    SolverError,
    UnsupportedError,
    WriteError,
)

__all__ = ["app", "main", "run"]

#: Options by the names that they once had.
_RENAMED: Final = {"--mode": "--update", "--controller": "--update"}

app = typer.Typer(
    name="pi2-fluid",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; whatever fails is one sentence on stderr."""
    try:
        with _warnings_as_lines():
            code = app(list(arguments), prog_name="pi2-fluid", standalone_mode=False)
        # Some versions of the shell library turn an interrupt into this code, silently.
        return _interrupted() if code == codes.INTERRUPTED else int(code or 0)
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()
    except (QuantityError, DomainError, ScenarioError, UnsupportedError) as error:
        return _fail(str(error), codes.BAD_INPUT)
    except (SolverError, WriteError) as error:
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
        return codes.PIPE_CLOSED if leave.code == 1 else int(leave.code or 0)
    except Exception as error:  # noqa: BLE001  the last door: everything else is our mistake
        return _report(error)


def _report(error: Exception) -> int:
    # The shell library's own complaints; where their classes live depends on its version.
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "pi2-fluid"
        option = getattr(error, "option_name", None)
        if option in _RENAMED:
            return _fail(
                f"{option} is now called {_RENAMED[option]}: see {command} -h.", codes.BAD_INPUT
            )
        return _fail(f"{error.format_message().rstrip('.')}: see {command} -h.", codes.BAD_INPUT)
    if isinstance(error, ImportError) and not (error.name or "pi2_fluid").startswith("pi2_fluid"):
        return _fail(f"the package {error.name} is missing: install it with pip.", codes.FAILED)
    if os.environ.get("PI2_FLUID_DEBUG") == "1":
        raise error
    return _fail(
        f"internal: {type(error).__name__}: {error} (please report it, with the command;"
        " PI2_FLUID_DEBUG=1 shows where).",
        codes.INTERNAL,
    )


def _interrupted() -> int:
    return _fail("interrupted.", codes.INTERRUPTED)


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


@app.callback(invoke_without_command=True, epilog=codes.EXPLAINED)
def start(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  handled by its callback
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """TCP under active queue management, as loops, fluids and packets: PI2, PIE, DualPI2 ..."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(codes.BAD_INPUT)


for _room in (
    loops,
    designs,
    checks,
    simulations,
    sweeps,
    comparisons,
    replays,
    scenarios,
    gallery,
    claims,
    validations,
):
    for _command, _epilog in _room.COMMANDS:
        app.command(epilog=_epilog)(_command)
