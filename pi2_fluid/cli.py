"""The shell's door: `pi2-fluid figures`, `pi2-fluid margins`, `pi2-fluid claims`.

Each command is one public function with the shell in front, and loads what it needs when it runs:
asking for help loads none of it. Numbers are taken as text and read by the library itself.

Exit codes: 0 stable or done, 1 unstable, 2 bad input, 3 undecided, 4 numerical failure or missing
package, 70 internal error, 130 interrupted.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from pi2_fluid.errors import (
    AssumptionWarning,
    DomainError,
    QuantityError,
    ScenarioError,
    SolverError,
    UnsupportedError,
)

__all__ = ["app", "main", "run"]

_STABLE, _UNSTABLE, _BAD_INPUT, _UNDECIDED, _FAILED = 0, 1, 2, 3, 4
_INTERNAL, _INTERRUPTED = 70, 130
_VERDICT_CODE: Final = {"stable": _STABLE, "unstable": _UNSTABLE, "undecided": _UNDECIDED}
_SENDERS: Final = {"reno": "Reno", "creno": "CReno", "scalable": "Scalable"}
_AQMS: Final = {"pi": "Pi", "pie": "Pie", "pi2": "Pi2", "coupled": "CoupledPi2"}
_CODES: Final = (
    "Exit codes: 0 stable or done, 1 unstable, 2 bad input, 3 undecided, 4 numerical failure or"
    " missing package, 70 internal error, 130 interrupted."
)

app = typer.Typer(
    name="pi2-fluid",
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
JsonFlag = Annotated[
    bool, typer.Option("--json", help="Print one JSON object, in SI units, instead of text.")
]


def main() -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; whatever fails is one sentence on stderr."""
    try:
        with _warnings_as_lines():
            code = app(list(arguments), prog_name="pi2-fluid", standalone_mode=False)
        return int(code or 0)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted.", _INTERRUPTED)
    except (QuantityError, DomainError, ScenarioError, UnsupportedError) as error:
        return _fail(str(error), _BAD_INPUT)
    except SolverError as error:
        return _fail(str(error), _FAILED)
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        return _fail(
            f"cannot use{where}: {error.strerror or error}: give another path.", _BAD_INPUT
        )
    except Exception as error:  # noqa: BLE001  the last door: everything else is our mistake
        return _report(error)


def _report(error: Exception) -> int:
    # The shell library's own complaints; where their classes live depends on its version.
    if hasattr(error, "format_message"):
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "pi2-fluid"
        return _fail(f"{error.format_message().rstrip('.')}: see {command} -h.", _BAD_INPUT)
    if isinstance(error, ImportError) and not (error.name or "pi2_fluid").startswith("pi2_fluid"):
        return _fail(f"the package {error.name} is missing: install it with pip.", _FAILED)
    if os.environ.get("PI2_FLUID_DEBUG") == "1":
        raise error
    return _fail(
        f"internal: {type(error).__name__}: {error} (please report it, with the command;"
        " PI2_FLUID_DEBUG=1 shows where).",
        _INTERNAL,
    )


def _fail(sentence: str, code: int) -> int:
    typer.echo("error: " + " ".join(sentence.split()), err=True)
    return code


@contextmanager
def _warnings_as_lines() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always", AssumptionWarning)
        usual = warnings.showwarning

        def show(message: Any, category: Any, *where: Any, **more: Any) -> None:
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


@app.callback(invoke_without_command=True, epilog=_CODES)
def start(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  handled by its callback
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Fluid models of TCP under active queue management: PI, PIE, PI2 and the coupled queue."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(_BAD_INPUT)


@app.command(
    epilog="Examples:\n\n"
    "pi2-fluid figures all\n\n"
    "pi2-fluid figures 4 7 --out /tmp/figures --json\n\n"
    "JSON: figures, a list of {name, files}."
)
def figures(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="4 5 7 | all", help="Numbers of figures in the PI2 paper; all if none."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where to write; made if it does not exist.")
    ] = Path("figures"),
    as_json: JsonFlag = False,
) -> None:
    """Draw figures of the PI2 paper as PNG, SVG and PDF, with their numbers as CSV."""
    from pi2_fluid.paper.figures import figures as draw_figures

    drawn = draw_figures(names or "all", out, progress=_progress)
    if as_json:
        records = [{"name": name, "files": [str(path) for path in files]} for name, files in drawn]
        _print_json({"figures": records})
        return
    for _, files in drawn:
        for path in files:
            typer.echo(path)


@app.command(
    epilog="Examples:\n\n"
    "pi2-fluid margins --rtt 100ms --p-prime 0.1\n\n"
    "pi2-fluid margins --rtt 100ms --p-prime 0.001 --mode sampled\n\n"
    "pi2-fluid margins --aqm pie --update-interval 32ms --rtt 100ms --p 0.01 --json\n\n"
    "JSON: inputs (an object, SI units), gain_margin_db, phase_margin_deg, gain_crossover and"
    " phase_crossover (rad/s), delay_margin (s), modulus_margin, verdict. What is infinite, as a"
    ' margin without a crossover, is the text "inf" or "-inf".\n\n'
    "The exit code is the verdict: 0 stable, 1 unstable, 3 undecided."
)
def margins(
    rtt: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Round-trip time in the loop, queue included, with its unit: 100ms. Required.",
            rich_help_panel="Load",
        ),
    ] = None,
    p: Annotated[
        str | None,
        typer.Option(
            "--p",
            metavar="NUMBER",
            help="Probability that a packet is dropped or marked, in (0, 1].",
            rich_help_panel="Load",
        ),
    ] = None,
    p_prime: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Instead of --p its linear form, in (0, 1]: sqrt(p) for reno and creno, p for"
            " scalable.",
            rich_help_panel="Load",
        ),
    ] = None,
    sender: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Who sends: " + ", ".join(_SENDERS) + ".", rich_help_panel="Load"
        ),
    ] = "reno",
    aqm: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Which queue: " + ", ".join(_AQMS) + ".", rich_help_panel="Queue"
        ),
    ] = "pi2",
    alpha: Annotated[
        str | None,
        typer.Option(
            metavar="HZ",
            help="Integral gain per update, in Hz; for pie before its table."
            " Default 0.3125, for pi and pie 0.125.",
            rich_help_panel="Queue",
        ),
    ] = None,
    beta: Annotated[
        str | None,
        typer.Option(
            metavar="HZ",
            help="Proportional gain per update, in Hz. Default 3.125, for pi and pie 1.25.",
            rich_help_panel="Queue",
        ),
    ] = None,
    update_interval: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Time between updates. Default 32ms, for pie 15ms.",
            rich_help_panel="Queue",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Queue delay aimed at. Default 20ms, for pie 15ms.",
            rich_help_panel="Queue",
        ),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Only pie: rfc8033 (default), rfc8034, hpsr13, ietf_early, sqrt2p or none.",
            rich_help_panel="Queue",
        ),
    ] = None,
    k: Annotated[
        str | None,
        typer.Option(
            "--k",
            metavar="NUMBER",
            help="Only coupled: coupling factor, scalable packets see k p'. Default 2.",
            rich_help_panel="Queue",
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="continuous as in the papers, delayed by half an update interval, or exactly"
            " sampled.",
            rich_help_panel="Model",
        ),
    ] = "continuous",
    rtt_terms: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="frozen: constant round-trip time in the window law, as in the papers; or exact.",
            rich_help_panel="Model",
        ),
    ] = "frozen",
    as_json: JsonFlag = False,
) -> None:
    """Say how far a loop of senders and queue is from instability: gain, phase and delay margin."""
    given = {
        "alpha": alpha,
        "beta": beta,
        "update_interval": update_interval,
        "target": target,
        "table": table,
        "k": k,
    }
    who, queue = _named("sender", sender, _SENDERS)(), _build_queue(aqm, given)
    if rtt is None:
        raise QuantityError("--rtt is missing: give the round-trip time, e.g. --rtt 100ms.")
    if (p is None) == (p_prime is None):
        raise QuantityError(
            "the load is exactly one of --p and --p-prime: give e.g. --p-prime 0.1."
        )

    from pi2_fluid.loop.transfer import Loop

    loop = Loop(who, queue, rtt=rtt, p=p, p_prime=p_prime, mode=mode, rtt_terms=rtt_terms)
    point, result = loop.operating_point, loop.margins()
    inputs = {
        "sender": sender,
        "aqm": aqm,
        **{name: getattr(queue, name, None) for name in given},
        "rtt": point.rtt,
        "p": point.p,
        "p_prime": point.p_prime,
        "mode": mode,
        "rtt_terms": rtt_terms,
    }
    names = (
        "gain_margin_db",
        "phase_margin_deg",
        "gain_crossover",
        "phase_crossover",
        "delay_margin",
        "modulus_margin",
        "verdict",
    )
    values = {name: getattr(result, name) for name in names}
    if as_json:
        _print_json({"inputs": inputs, **values})
    else:
        _print_margins(inputs, values)
    raise typer.Exit(_VERDICT_CODE[result.verdict])


@app.command(
    epilog="Examples:\n\n"
    "pi2-fluid claims --paper pi2\n\n"
    "pi2-fluid claims --json\n\n"
    "JSON: claims, a list of {id, source, text, computed, verdict, why}; verdict is reproduced,"
    " not_reproduced or depends."
)
def claims(
    paper: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only one paper: pi2, pie, paganini or thesis."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compute what the papers claim, and say which claims hold."""
    from pi2_fluid.paper.claims import claims as compute_claims

    _progress("computing the claims")
    records = [asdict(claim) for claim in compute_claims(paper)]
    if as_json:
        _print_json({"claims": records})
    else:
        _print_claims(records)


def _named(option: str, name: str, known: Mapping[str, str]) -> Any:
    if name not in known:
        raise QuantityError(f"--{option} {name!r} is unknown: give one of {', '.join(known)}.")
    import pi2_fluid

    return getattr(pi2_fluid, known[name])


def _build_queue(name: str, given: Mapping[str, str | None]) -> Any:
    cls = _named("aqm", name, _AQMS)
    has = {field.name for field in fields(cls)}
    for option, value in given.items():
        if value is not None and option not in has:
            owner = next(
                kind for kind, takes in (("pie", "table"), ("coupled", "k")) if takes == option
            )
            raise QuantityError(
                f"--{option} does not apply to --aqm {name}: leave it out, or use --aqm {owner}."
            )
    chosen = {option: value for option, value in given.items() if value is not None}
    if "table" in has:
        chosen.setdefault("table", "rfc8033")  # by its name, so that it is shown
    return cls(**chosen)


def _progress(line: str) -> None:
    typer.echo(f"{line} ...", err=True)


def _print_json(payload: Mapping[str, Any]) -> None:
    typer.echo(json.dumps(_strict(payload), allow_nan=False, ensure_ascii=False, indent=2))


def _strict(value: Any) -> Any:
    """Replace what JSON has no literal for: infinities, by their names."""
    if isinstance(value, Mapping):
        return {name: _strict(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    if isinstance(value, float):
        return str(float(value)) if math.isinf(value) else float(value)
    return value


def _print_margins(inputs: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    queue = [f"alpha {inputs['alpha']:g} Hz", f"beta {inputs['beta']:g} Hz"]
    queue += [f"{name} {inputs[name]}" for name in ("table", "k") if inputs[name] is not None]
    queue += [f"T {1e3 * inputs['update_interval']:.6g} ms"]
    console.print(f"{inputs['sender']} under {inputs['aqm']}: {', '.join(queue)}")
    console.print(
        f"rtt {1e3 * inputs['rtt']:.6g} ms, p {inputs['p']:.6g}, p' {inputs['p_prime']:.6g};"
        f" {inputs['mode']}, rtt terms {inputs['rtt_terms']}\n"
    )
    table = Table.grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    at_phase, at_gain = (
        f"at {values[name]:.4g} rad/s" for name in ("phase_crossover", "gain_crossover")
    )
    for name, value, unit in (
        ("gain margin", values["gain_margin_db"], f"dB   {at_phase}"),
        ("phase margin", values["phase_margin_deg"], f"deg  {at_gain}"),
        ("delay margin", 1e3 * values["delay_margin"], "ms"),
        ("modulus margin", values["modulus_margin"], "     smallest |1 + L|"),
    ):
        table.add_row(name, f"{value:.4g}", unit)
    table.add_row("verdict", values["verdict"], "")
    console.print(table)


def _print_claims(records: Sequence[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    colors = {"reproduced": "green", "not_reproduced": "red", "depends": "yellow"}
    table = Table(box=box.SIMPLE_HEAD, show_lines=True, pad_edge=False)
    table.add_column("verdict", no_wrap=True)
    table.add_column("claim", ratio=1)
    count: dict[str, int] = {}
    for record in records:
        verdict = record["verdict"].replace("_", " ")
        count[verdict] = count.get(verdict, 0) + 1
        left = Text.assemble((verdict, colors[record["verdict"]]), "\n", record["id"], style="bold")
        right = Text.assemble(
            (record["text"], "bold"),
            f" ({record['source']})\n",
            f"computed: {record['computed']}\n",
            (f"why: {record['why']}", "dim"),
        )
        table.add_row(left, right)
    console = Console(highlight=False, markup=False)
    console.print(table)
    console.print(", ".join(f"{number} {verdict}" for verdict, number in count.items()))
