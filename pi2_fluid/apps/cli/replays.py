"""Replays: `pi2-fluid replay`, an update rule fed with recorded delays."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli.declaring import MEASURE, Command
from pi2_fluid.apps.cli.files import WRITERS, check_path
from pi2_fluid.apps.cli.logs import Log, read_logs
from pi2_fluid.apps.cli.options import option
from pi2_fluid.apps.cli.output import JsonFlag, print_json
from pi2_fluid.errors import QuantityError

if TYPE_CHECKING:
    import xarray

_LINE: Final = "{:>6}  {:>16}  {:>12}  {:>12}"
_CHUNK: Final = 10_000  # lines printed at once
_NAMED: Final = 5  # queues that a message names


def replay(
    log: Annotated[
        str,
        typer.Argument(
            metavar="FILE | -",
            help="A CSV file, or - for standard input: one row per update, with the column"
            " queue_delay (s, or with a unit: 12ms) and, if known, backlog (bytes). Or outputs of"
            " tc -s qdisc show, one per update; times, headers of watch and other queues may stand"
            " between.",
        ),
    ],
    variant: Annotated[
        str | None,
        option(
            "NAME",
            "Whose update rule; a log of tc says it itself. PIE: linux6.18, linux4.14,"
            " rfc8033-float. PI2: pi2-2016-default, hpe-default-15ms. DualPI2: dp2-6.18-default. A"
            " name that is unknown lists all.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option(
            "FILE",
            "Write the steps: .nc (netCDF4) or .zarr, with units; or .csv (SI units).",
            None,
            "-o",
            "--output",
        ),
    ] = None,
    dev: Annotated[
        str | None,
        option("NAME", "The device to replay, of several in a log of tc."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Feed recorded delays to a kernel's update rule, step by step."""
    check_path(output, tuple(WRITERS), "--output")
    logs, form = read_logs(log, dev)
    if len(logs) > 1 and (as_json or output is not None):
        names = ", ".join(one.name for one in logs[:_NAMED])
        raise QuantityError(
            f"the log has {len(logs)} queues ({names}), and --json and -o take one: choose a device"
            " by --dev, or give the log of one."
        )
    if form and not as_json:
        typer.echo(f"read: {form}")
    for one in logs:
        if form and not as_json:
            typer.echo(f"\n{one.name}")
        _replay_one(one, variant, output, as_json=as_json)


def _replay_one(log: Log, variant: str | None, output: Path | None, *, as_json: bool) -> None:
    """Replay one queue, and print or write what comes.

    Raises
    ------
    QuantityError
        If nothing says whose rule it is.
    """
    columns, rule = log.columns, variant or log.law
    if rule is None:
        raise QuantityError(
            "--variant is missing, and a CSV file does not say whose update rule it is: give one,"
            " such as linux6.18."
        )

    from pi2_fluid.packet import replay as replay_updates

    started = (
        {}
        if log.start == (0.0, 0.0)
        else {
            "controller_before": log.start[0],
            "delay_before": log.start[1],
        }
    )
    dataset = replay_updates(
        rule,
        queue_delay=columns["queue_delay"],
        backlog=columns.get("backlog"),
        **started,
    )
    if output is not None:
        WRITERS[output.suffix.lower()](_with_log(dataset, columns), output)
    if as_json:
        _print_json(variant, log, dataset, output)
    else:
        _print_steps(columns, dataset)
        for note in log.notes:
            typer.echo(note)
        if output is not None:
            typer.echo(f"\nwritten: {output}")


def _print_json(
    variant: str | None, one: Log, dataset: xarray.Dataset, output: Path | None
) -> None:
    print_json(
        {
            "variant": variant,
            **{name: values.tolist() for name, values in one.columns.items()},
            **{name: dataset[name].to_numpy().tolist() for name in ("p", "controller", "state")},
            "output": None if output is None else str(output),
            "notes": list(one.notes),
        }
    )


def _print_steps(columns: dict[str, Any], dataset: xarray.Dataset) -> None:
    """Print one line per update, as wide for all: logs may be long."""
    titles = ["step", "queue delay [ms]", "p [%]", "controller"]
    p, controller = dataset.p.to_numpy(), dataset.controller.to_numpy()
    values = [1e3 * columns["queue_delay"], 100.0 * p, controller]
    line = _LINE
    if "logged" in columns:
        titles.append("logged")
        values.append(columns["logged"])
        line += "  {:>12}"
    typer.echo(line.format(*titles))
    rows = zip(*(value.tolist() for value in values), strict=True)
    lines = (line.format(step, *(f"{value:.6g}" for value in row)) for step, row in enumerate(rows))
    for chunk in iter(lambda: list(islice(lines, _CHUNK)), []):
        typer.echo("\n".join(chunk))


def _with_log(dataset: xarray.Dataset, columns: dict[str, Any]) -> xarray.Dataset:
    """Return the steps behind what was read, so that a file shows both side by side."""
    units = {
        "queue_delay": ("s", "queue delay that was given"),
        "backlog": ("B", "bytes waiting"),
        "logged": ("1", "controller's variable as the kernel showed it"),
    }
    given = {
        name: ("step", values, dict(zip(("units", "long_name"), units[name], strict=True)))
        for name, values in columns.items()
    }
    return dataset.assign(given)[[*given, *dataset.data_vars]]


COMMANDS: tuple[Command, ...] = (
    Command(
        replay,
        panel=MEASURE,
        examples=(
            "pi2-fluid replay --variant linux6.18 delays.csv",
            "pi2-fluid replay --variant dp2-6.18-default - -o steps.csv < delays.csv",
            (
                "while sleep 0.016; do tc -s qdisc show dev eth0; done | head -n 5000 > tc.log;"
                " pi2-fluid replay tc.log"
            ),
        ),
        json={
            "variant": "whose rule",
            "queue_delay": "s, one entry per update",
            "backlog": "with a column backlog: bytes, one entry per update",
            "logged": "of a log of tc: the controller as it showed it, one entry per update",
            "p": "one entry per update",
            "controller": "one entry per update",
            "state": "the kernel's integers, one entry per update",
            "output": "the file written, or null",
            "notes": "what else to know",
        },
        notes=(
            "A log that begins in traffic is replayed from its first state. Several queues are"
            " replayed one after the other."
        ),
    ),
)
