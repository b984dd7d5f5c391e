"""Sweeps: `pi2-fluid sweep`, a file that says what to ask at which points, into a Zarr store."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Final

import typer

from pi2_fluid.apps.cli import codes
from pi2_fluid.apps.cli.declaring import TRAFFIC, Command
from pi2_fluid.apps.cli.files import check_path
from pi2_fluid.apps.cli.options import option
from pi2_fluid.apps.cli.output import JsonFlag, print_json
from pi2_fluid.apps.cli.specifications import read_specification
from pi2_fluid.progress import tell

_FILE: Final = """\
scenario = "pi2_fig11a_pi2"
[over]
aqm.alpha = [0.1, 0.2, 0.3125]
aqm.target = ["10ms", "20ms"]"""


def sweep(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="The question and the points, as TOML: see below."),
    ],
    store: Annotated[
        Path,
        option(
            "DIR",
            "Where the answers go, ending in .zarr. A sweep that was broken off there goes on.",
        ),
    ],
    workers: Annotated[
        int | None,
        option(
            "N",
            "Blocks of points side by side. Default: one for each core.",
            "Workers",
        ),
    ] = None,
    processes: Annotated[
        bool,
        option(
            None,
            "Use processes, not threads: faster for designs and short fluid runs.",
            "Workers",
            "--processes",
        ),
    ] = False,
    scheduler: Annotated[
        str | None,
        option(
            "ADDRESS",
            "Use the workers of a Dask cluster: the address that `dask scheduler` prints, as"
            " tcp://host:8786. Both sides need pip install pi2-fluid\\[cluster].",
            "Workers",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask one question at every point of a grid of parameters."""
    check_path(store, (".zarr",), "--store")
    given = read_specification(file)
    from pi2_fluid.sweeping.clusters import connected
    from pi2_fluid.sweeping.sweep import sweep as sweep_points

    with connected(scheduler) if scheduler is not None else nullcontext() as client:
        if client is not None:
            count = len(client.ncores())
            tell(f"{count or 'no'} worker{'s' * (count != 1)} at {scheduler}")
        try:
            answers = sweep_points(
                **given, store=store, client=client, workers=workers, processes=processes
            )
        except KeyboardInterrupt as interrupt:
            raise codes.BrokenOff(str(interrupt)) from None
    errors = answers["error"].to_numpy().ravel()
    failed = [str(one) for one in errors if one]
    if as_json:
        print_json(
            {
                "points": errors.size,
                "without_a_result": len(failed),
                "first_error": failed[0] if failed else None,
                "variables": [str(name) for name in answers.data_vars],
                "specification": answers.attrs["specification"],
                "store": str(store),
            }
        )
        return
    typer.echo(f"{errors.size} points, {len(failed)} with an error")
    if failed:
        typer.echo(f"the first: {failed[0]}")
    typer.echo(f"written: {store}")


COMMANDS: tuple[Command, ...] = (
    Command(
        sweep,
        panel=TRAFFIC,
        examples=(
            "pi2-fluid sweep gains.toml --store gains.zarr",
            "pi2-fluid sweep gains.toml --store gains.zarr --scheduler tcp://host:8786",
        ),
        file=_FILE,
        json={
            "points": "how many",
            "without_a_result": "how many of them",
            "first_error": "why the first of these has none, or null",
            "variables": "names in the store",
            "specification": "what was asked",
            "store": "where it is",
        },
        notes=(
            "The file asks one question:\n\n"
            "  scenario = a NAME of pi2-fluid scenarios, or a file: what comes of its run; [engine]"
            " has the engine's name and options, [summarize] after and until\n\n"
            "  network = NAME or file: the operating point\n\n"
            "  [loop] with arguments of Loop (sender, aqm, rtt, p_prime ...): margins\n\n"
            "  [tune] with arguments of tune (max_rtt, aqm ...): the design\n\n"
            "[over] has the points: names with lists of values, of which all combinations are"
            " asked. Names are those of TOML: aqm.alpha, link.capacity, flows.0.count. Several in"
            ' quotes vary together: "link.capacity, flows.0.count" = [["10Mbit/s", 5],'
            ' ["40Mbit/s", 20]].\n\n'
            "After Ctrl-C or a crash the same command goes on. A point without a result has NaN;"
            ' the variable error says why. In Python: xarray.open_zarr("gains.zarr",'
            " consolidated=False)."
        ),
    ),
)
