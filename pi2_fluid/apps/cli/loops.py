"""Loops: `pi2-fluid margins`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import codes
from pi2_fluid.apps.cli.declaring import JUDGE, Command
from pi2_fluid.apps.cli.margin_tables import margin_table, said_of
from pi2_fluid.apps.cli.network_margins import margins_of_network
from pi2_fluid.apps.cli.options import option
from pi2_fluid.apps.cli.output import JsonFlag, make_console, print_json
from pi2_fluid.apps.cli.parameters import USUAL, declared, kinds_with, owners
from pi2_fluid.errors import (
    AssumptionWarning,
    DomainError,
    QuantityError,
    SolverError,
    UnsupportedError,
)
from pi2_fluid.laws.registry import AQMS, SENDERS, aqm_class, sender_class

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender

__all__ = ["COMMANDS", "margins"]

_SENDERS: Final = kinds_with("loop", SENDERS)
_AQMS: Final = kinds_with("loop", AQMS)
_BOTH: Final = ("gain_margin_db", "phase_margin_deg", "verdict")  # said of both clocks


def margins(
    context: typer.Context,
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE | NAME | -]",
            help="A scenario or a network as TOML, or the name of a scenario: its flows and queues"
            " in place of --sender, --aqm, --rtt and what is theirs.",
        ),
    ] = None,
    rtt: Annotated[
        str | None,
        option("TIME", "Round-trip time, queue included, with its unit: 100ms. Required.", "Load"),
    ] = None,
    p: Annotated[
        str | None,
        option(
            "NUMBER", "Probability that a packet is dropped or marked, in (0, 1].", "Load", "--p"
        ),
    ] = None,
    p_prime: Annotated[
        str | None,
        option(
            "NUMBER",
            declared(
                "",
                "Instead of --p its linear form, in (0, 1]: sqrt(p) for {classic}, p for"
                " {scalable}.",
            ),
            "Load",
        ),
    ] = None,
    sender: Annotated[
        str,
        option("NAME", "Who sends: " + ", ".join(_SENDERS) + ".", "Load"),
    ] = "reno",
    aqm: Annotated[
        str,
        option("NAME", "Which queue: " + ", ".join(_AQMS) + ".", "Queue"),
    ] = USUAL,
    alpha: Annotated[
        str | None,
        option(
            "HZ",
            declared(
                "alpha",
                "Integral gain per update, in {unit}; for pie before its table. Default {default}.",
            ),
            "Queue",
        ),
    ] = None,
    beta: Annotated[
        str | None,
        option(
            "HZ",
            declared(
                "beta", "Proportional gain per update, in {unit}, {range}. Default {default}."
            ),
            "Queue",
        ),
    ] = None,
    update_interval: Annotated[
        str | None,
        option(
            "TIME",
            declared("update_interval", "Time between updates, {range}. Default {default}."),
            "Queue",
        ),
    ] = None,
    target: Annotated[
        str | None,
        option(
            "TIME", declared("target", "Queue delay aimed at, {range}. Default {default}."), "Queue"
        ),
    ] = None,
    table: Annotated[
        str | None,
        option(
            "NAME",
            declared("table", "Only {only}: {choices}. Default that of Linux, {default}."),
            "Queue",
        ),
    ] = None,
    k: Annotated[
        str | None,
        option(
            "NUMBER",
            declared(
                "k",
                "Only {only}: coupling factor, {range}; scalable packets see k p'. Default"
                " {default}.",
            ),
            "Queue",
            "--k",
        ),
    ] = None,
    update: Annotated[
        str,
        option(
            "NAME",
            "continuous as in the papers, delayed by half an update interval, or exactly sampled.",
            "Model",
        ),
    ] = "continuous",
    rtt_terms: Annotated[
        str,
        option(
            "NAME",
            "frozen: constant round-trip time in the window law, as in the papers; or exact.",
            "Model",
        ),
    ] = "frozen",
    clock: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="rate: senders send a window per round-trip time, as in the papers; or acks: a"
            " packet per acknowledgement, as real senders that do not pace.",
            rich_help_panel="Model",
        ),
    ] = "rate",
    bunch: Annotated[
        str,
        typer.Option(
            metavar="NUMBER",
            help="Only with --clock acks: from 0, packets of a window are spread over a round trip,"
            " to 1, they travel in one burst.",
            rich_help_panel="Model",
        ),
    ] = "0",
    as_json: JsonFlag = False,
) -> None:
    """Say how far a queue is from oscillating: gain and phase margin."""
    given = {
        "alpha": alpha,
        "beta": beta,
        "update_interval": update_interval,
        "target": target,
        "table": table,
        "k": k,
    }
    model: dict[str, Any] = {"update": update, "rtt_terms": rtt_terms, "clock": clock}
    from pi2_fluid.units import validate_number

    bunched = validate_number(bunch, "number", "bunch", high=1.0, closed=True)
    if scenario is not None:
        _require_none(context, scenario, ("rtt", "p", "p_prime", "sender", "aqm", *given))
        verdict = margins_of_network(scenario, model | {"bunch": bunched}, as_json=as_json)
        raise typer.Exit(codes.OF_VERDICT[verdict])
    _require_known("sender", sender, _SENDERS)
    who, queue = sender_class(sender)(), _build_queue(aqm, given)
    if rtt is None:
        raise QuantityError("--rtt is missing: give the round-trip time, e.g. --rtt 100ms.")
    if (p is None) == (p_prime is None):
        raise QuantityError(
            "the load is exactly one of --p and --p-prime: give e.g. --p-prime 0.1."
        )

    from pi2_fluid.loop.transfer import Loop

    loop = Loop(who, queue, rtt=rtt, p=p, p_prime=p_prime, bunch=bunched, **model)
    point, result = loop.operating_point, loop.margins()
    inputs = {
        "sender": sender,
        "aqm": aqm,
        **{name: getattr(queue, name, None) for name in given},
        "rtt": point.rtt,
        "p": point.p,
        "p_prime": point.p_prime,
        **model,
        "bunch": loop.bunch,
    }
    values = said_of(result)
    other = _by_the_other_clock(who, queue, {"rtt": rtt, "p": p, "p_prime": p_prime, **model})
    if as_json:
        print_json({"inputs": inputs, **values, "other_clock": other})
    else:
        _print_margins(inputs, values, other)
    raise typer.Exit(codes.OF_VERDICT[str(result.verdict)])


def _by_the_other_clock(who: Sender, queue: Aqm, where: dict[str, Any]) -> dict[str, Any]:
    """Return what the loop has by the other clock, or why there is no such loop."""
    from pi2_fluid.loop.transfer import Loop

    clock = "acks" if where["clock"] == "rate" else "rate"
    # What is assumed was said of the loop that was asked for.
    with warnings.catch_warnings(action="ignore", category=AssumptionWarning):
        try:
            found = Loop(who, queue, **(where | {"clock": clock})).margins()
        except (DomainError, SolverError, UnsupportedError) as error:
            return {"clock": clock, **dict.fromkeys(_BOTH), "why_not": str(error)}
    return {"clock": clock, **{name: getattr(found, name) for name in _BOTH}, "why_not": None}


def _require_none(context: typer.Context, scenario: str, names: Iterable[str]) -> None:
    """Refuse options that say again, or otherwise, what a scenario has, defaults given, too."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise QuantityError(
                f"--{name.replace('_', '-')} is given beside {scenario}, which has its own: leave"
                " one of them out."
            )


def _require_known(option: str, name: str, known: tuple[str, ...]) -> None:
    if name not in known:
        raise QuantityError(f"--{option} {name!r} is unknown: give one of {', '.join(known)}.")


def _build_queue(name: str, given: Mapping[str, str | None]) -> Aqm:
    _require_known("aqm", name, _AQMS)
    cls = aqm_class(name)
    has = {field.name for field in fields(cls)}
    chosen = {key: value for key, value in given.items() if value is not None}
    for key in chosen:
        if key not in has:
            owner = owners(key, _AQMS)[0]
            raise QuantityError(
                f"--{key} does not apply to --aqm {name}: leave it out, or use --aqm {owner}."
            )
    made: Any = cls(**chosen)
    if "table" in has:
        made = replace(made, table=made.gain_table)  # by its name, so that it is shown
    law: Aqm = made
    return law


def _print_margins(
    inputs: Mapping[str, Any], values: Mapping[str, Any], other: Mapping[str, Any]
) -> None:
    console = make_console()
    queue = [f"alpha {inputs['alpha']:g} Hz", f"beta {inputs['beta']:g} Hz"]
    queue += [f"{name} {inputs[name]}" for name in ("table", "k") if inputs[name] is not None]
    queue += [f"T {1e3 * inputs['update_interval']:.6g} ms"]
    clock = "" if inputs["clock"] == "rate" else f", clock of acks, bunch {inputs['bunch']:g}"
    console.print(f"{inputs['sender']} under {inputs['aqm']}: {', '.join(queue)}")
    console.print(
        f"rtt {1e3 * inputs['rtt']:.6g} ms, p {inputs['p']:.6g}, p' {inputs['p_prime']:.6g};"
        f" {inputs['update']}, rtt terms {inputs['rtt_terms']}{clock}\n"
    )
    table = margin_table(values, inputs["update"], "|1 + L|")
    name = "by acks" if other["clock"] == "acks" else "by rates"
    if other["why_not"] is None:
        margins = f"dB, {other['phase_margin_deg']:.4g} deg: {other['verdict']}"
        table.add_row(name, f"{other['gain_margin_db']:.4g}", margins)
    console.print(table)
    if other["why_not"] is not None:
        console.print(f"{name}: {other['why_not']}")


COMMANDS: tuple[Command, ...] = (
    Command(
        margins,
        panel=JUDGE,
        examples=(
            "pi2-fluid margins --rtt 100ms --p-prime 0.1",
            "pi2-fluid margins --rtt 100ms --p-prime 0.001 --update sampled",
            "pi2-fluid margins --rtt 100ms --p-prime 0.001 --update sampled --clock acks",
            "pi2-fluid margins network.toml --update sampled",
            "pi2-fluid margins --aqm pie --update-interval 32ms --rtt 100ms --p 0.01 --json",
        ),
        json={
            "inputs": "what was asked, SI units",
            "gain_margin_db": "dB",
            "lower_gain_margin_db": "dB that the gain may fall by; of an unstable loop, must rise"
            " by",
            "phase_margin_deg": "degrees",
            "gain_crossover": "rad/s",
            "phase_crossover": "rad/s",
            "oscillation_period": "s, 2 pi over phase_crossover",
            "delay_margin": "s",
            "modulus_margin": "smallest |1 + L|",
            "verdict": "stable, unstable or undecided",
            "remark": "on the gain, mostly nothing",
            "other_clock": "of one loop: the clock that was not asked for: clock, gain_margin_db,"
            " phase_margin_deg and verdict, null if there is no such loop, and why_not",
            "bottlenecks": "of a scenario or network: nodes that are full",
            "uniform": "of a scenario or network: what all margins are of",
            "each": "of a scenario or network: margins of each bottleneck while the others stay as"
            " they are",
            "classes": "of a scenario or network: its classes of flows where they settle",
            "caution": "of a scenario or network: what the loop leaves out that may decide, or"
            " nothing",
        },
        notes=(
            "The exit code is the verdict by the clock asked for: 0 stable, 1 unstable, 3 "
            "undecided."
        ),
    ),
)
