"""Loops: `pi2-fluid margins`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import completing
from pi2_fluid.apps.cli.declaring import JUDGE, Command
from pi2_fluid.apps.cli.margin_tables import BothClocks, find_margins, print_margins
from pi2_fluid.apps.cli.margins_over_time import margins_along_trace
from pi2_fluid.apps.cli.network_margins import margins_of_network
from pi2_fluid.apps.cli.options import option
from pi2_fluid.apps.cli.output import JsonFlag, make_console, print_json
from pi2_fluid.apps.cli.parameters import USUAL, declared, kinds_with
from pi2_fluid.apps.cli.places import DIMENSIONS, LINK, LOAD, loop_at, read_place, shown
from pi2_fluid.apps.cli.queues import NAMES_IN_HELP, PRESET_NAMES, read_aqm
from pi2_fluid.apps.cli.requiring import Require, code_of, read_required, to_dict
from pi2_fluid.apps.cli.wording import in_words_of_shell
from pi2_fluid.errors import QuantityError
from pi2_fluid.laws.registry import AQMS, SENDERS, sender_class

if TYPE_CHECKING:
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.laws.sender import Sender

_SENDERS: Final = kinds_with("loop", SENDERS)
_AQMS: Final = kinds_with("loop", AQMS)
#: What Python calls arguments of `Loop` and `Flows` -> what the shell does.
_OPTIONS: Final = {
    "flows": "--flows",
    "rate": "--rate",
    "path": "--path",
    "capacity": "--rate",
    "base_rtt": "--path",
    "update": "--update",
    "clock": "--clock",
    "bunch": "--bunch",
    "rtt_terms": "--rtt-terms",
    "p_prime": "--p-prime",
    "rtt": "--rtt",
}


def margins(
    context: typer.Context,
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE | NAME | -]",
            help="Instead of flows and a queue: a scenario or a network as TOML, or the name of a"
            " scenario.",
        ),
    ] = None,
    flows: Annotated[
        str | None,
        option("NUMBER", "How many flows share the link: 10.", "Flows and link"),
    ] = None,
    rate: Annotated[
        str | None,
        option("RATE", "The rate of the link: 20Mbit/s.", "Flows and link"),
    ] = None,
    path: Annotated[
        str | None,
        option("TIME", "Round-trip time of the path, without queue: 40ms.", "Flows and link"),
    ] = None,
    sender: Annotated[
        str,
        option(
            "NAME",
            f"Who sends: {', '.join(_SENDERS)}.",
            "Flows and link",
            complete=completing.one_of(*_SENDERS),
        ),
    ] = "reno",
    rtt: Annotated[
        str | None,
        option("TIME", "Round-trip time with the queue: 100ms.", "Instead, a load"),
    ] = None,
    p: Annotated[
        str | None,
        option(
            "NUMBER",
            "Probability that a packet is dropped or marked, in (0, 1].",
            "Instead, a load",
            "--p",
        ),
    ] = None,
    p_prime: Annotated[
        str | None,
        option(
            "NUMBER",
            declared(
                "",
                "Or its linear form p', in (0, 1]: sqrt(p) for {classic}; p itself for {scalable}.",
            ),
            "Instead, a load",
        ),
    ] = None,
    aqm: Annotated[
        str,
        option(
            "NAME",
            f"Which queue: {', '.join(_AQMS)}. {NAMES_IN_HELP}.",
            "Queue",
            complete=completing.one_of(*_AQMS, *PRESET_NAMES),
        ),
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
        str | None,
        option(
            "NAME",
            "sampled: the queue updates every T, as in a kernel; delayed: T taken as a delay of"
            " T/2; or continuous: no T, as in the papers. Default sampled, for laws without T"
            " continuous.",
            "Model",
        ),
    ] = None,
    rtt_terms: Annotated[
        str,
        option(
            "NAME",
            "frozen: constant round-trip times in the window law, as in the papers; or exact.",
            "Model",
        ),
    ] = "frozen",
    clock: Annotated[
        str | None,
        option(
            "NAME",
            "rate: senders pace their packets, as in the papers; or acks: they send when an"
            " acknowledgement arrives. Default both.",
            "Model",
        ),
    ] = None,
    bunch: Annotated[
        str,
        option(
            "NUMBER",
            "By acknowledgements: 0, the packets of a window are spread over a round trip; to 1,"
            " they travel in one burst.",
            "Model",
        ),
    ] = "0",
    along: Annotated[
        str | None,
        option(
            "FILE",
            "Instead of --rate: a capacity over time, as CSV of times and rates or a trace of"
            " mahimahi. Margins at each of its rates.",
            "Flows and link",
        ),
    ] = None,
    require: Require = None,
    as_json: JsonFlag = False,
) -> None:
    """Say how far a queue is from oscillating: gain and phase margin."""
    options = {
        "alpha": alpha,
        "beta": beta,
        "update_interval": update_interval,
        "target": target,
        "table": table,
        "k": k,
    }
    required = read_required(require)
    from pi2_fluid.units import validate_number

    bunched = float(validate_number(bunch, "number", "bunch", high=1.0, closed=True))
    model: dict[str, Any] = {"update": update, "clock": clock, "bunch": bunched}
    with in_words_of_shell(_OPTIONS):
        if along is not None:
            told = {"flows": flows, "path": path, "rate": rate, "rtt": rtt, "p": p}
            told |= {"p_prime": p_prime, "scenario": scenario, "bunch": bunch if bunched else None}
            told["rtt_terms"] = None if rtt_terms == "frozen" else rtt_terms
            who, queue = _read_sender(sender), _build_queue(aqm, options)
            worst = margins_along_trace(along, who, queue, told, model, required, as_json=as_json)
            raise typer.Exit(code_of(worst.verdict, worst.gain_margin_db, required))
        if scenario is not None:
            _require_none(context, scenario, (*LINK, *LOAD, "sender", "aqm", *options))
            clocks = margins_of_network(scenario, model, rtt_terms, required, as_json=as_json)
        else:
            who, queue = _read_sender(sender), _build_queue(aqm, options)
            places = {"flows": flows, "rate": rate, "path": path, "rtt": rtt, "p": p}
            place = read_place(places | {"p_prime": p_prime})
            make = partial(loop_at, who, queue, place, rtt_terms=rtt_terms)
            clocks = find_margins(make, **model)
            names = {"sender": sender, "aqm": aqm}
            numbers = {name: getattr(queue, name, None) for name in options}
            if as_json:
                inputs = names | numbers | _inputs(clocks, place, rtt_terms, bunched)
                asked = {"required": to_dict(clocks.least.gain_margin_db, required)}
                print_json({"inputs": inputs, **clocks.to_dict(), **asked})
            else:
                of = _describe(clocks, names, numbers, place)
                print_margins(make_console(), clocks, of, required)
    raise typer.Exit(code_of(clocks.verdict, clocks.least.gain_margin_db, required))


def _point(found: BothClocks) -> dict[str, float]:
    """Return the operating point of the only class."""
    point = found.first.operating_point
    values = {name: getattr(point, name) for name in ("rtt", "p", "p_prime", "window")}
    return {
        name: float(value[0] if isinstance(value, tuple) else value)
        for name, value in values.items()
    }


def _inputs(
    clocks: BothClocks, place: Mapping[str, str], rtt_terms: str, bunch: float
) -> dict[str, Any]:
    """Return what JSON says of the load and of the model (SI)."""
    from pi2_fluid.units import validate_number

    link: dict[str, float | None] = dict.fromkeys(DIMENSIONS)
    for name, dimension in DIMENSIONS.items():
        if name in place:
            link[name] = validate_number(place[name], dimension, name, closed=True)
    model = {"update": clocks.first.update, "rtt_terms": rtt_terms, "clocks": list(clocks.loops)}
    return link | _point(clocks) | model | {"bunch": bunch}


def _require_none(context: typer.Context, scenario: str, names: Iterable[str]) -> None:
    """Refuse options that say again, or otherwise, what a scenario has, defaults given, too."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise QuantityError(
                f"{shown(name)} is given beside {scenario}, which has its own: leave one of them"
                " out."
            )


def _read_sender(name: str) -> Sender:
    if name not in _SENDERS:
        raise QuantityError(f"--sender {name!r} is unknown: give one of {', '.join(_SENDERS)}.")
    return sender_class(name)()


def _build_queue(name: str, given: Mapping[str, str | None]) -> Aqm:
    made: Any = read_aqm(name, {key: text for key, text in given.items() if text is not None})
    if "table" in {field.name for field in fields(made)}:
        made = replace(made, table=made.gain_table)  # by its name, so that it is shown
    law: Aqm = made
    return law


def _describe(
    clocks: BothClocks, names: Mapping[str, str], own: Mapping[str, Any], place: Mapping[str, str]
) -> dict[str, str]:
    """Return rows that say who sends, through which queue, and at which load."""
    at, who = _point(clocks), names["sender"]
    has = [name for name in own if own[name] is not None]  # other queues have no alpha
    queue = [f"{name} {own[name]:g} Hz" for name in ("alpha", "beta") if name in has]
    times = {"update_interval": "T", "target": "target"}
    queue += [f"{word} {1e3 * own[name]:.6g} ms" for name, word in times.items() if name in has]
    queue += [f"{name} {own[name]}" for name in ("table", "k") if name in has]
    rtt, signalled = f"{1e3 * at['rtt']:.6g} ms", f"{100 * at['p']:.3g} % of the packets"
    if "rate" in place:
        flows = f"{place['flows']} {who} on {place['rate']}, path {place['path']}"
        load = f"p {at['p']:.3g}, p' {at['p_prime']:.3g}: {signalled} are dropped or marked"
    else:
        flows = f"{who}, round-trip time {rtt} with the queue"
        squared = sender_class(who).signal == "classic"
        both = {
            "p": f"p' {at['p_prime']:.3g}, " + ("its square root" if squared else "the same"),
            "p_prime": f"p {at['p']:.3g}, " + ("its square" if squared else "the same"),
        }
        name = "p" if "p" in place else "p_prime"
        sign = name.replace("_prime", "'")
        load = f"{shown(name)} {place[name]} is {sign} ({both[name]}): {signalled} are dropped"
        load += " or marked"
    return {
        "flows": flows,
        "queue": f"{names['aqm']}: {', '.join(queue)}",
        "load": load,
        "": f"windows of {at['window']:.4g} segments"
        + (f", round-trip time {rtt} with the queue" if "rate" in place else ""),
    }


COMMANDS: tuple[Command, ...] = (
    Command(
        margins,
        panel=JUDGE,
        examples=(
            "pi2-fluid margins --flows 10 --rate 20Mbit/s --path 40ms",
            "pi2-fluid margins --flows 4 --rate 20Mbit/s --path 30ms --aqm docsis_pie",
            "pi2-fluid margins --flows 4 --rate 20Mbit/s --path 80ms --require 6dB",
            "pi2-fluid margins network.toml",
            "pi2-fluid margins --flows 4 --path 40ms --along lte.csv",
            "pi2-fluid margins --rtt 100ms --p-prime 0.1 --update continuous --clock rate",
            "pi2-fluid margins --aqm pie --update-interval 32ms --rtt 100ms --p 0.01 --json",
        ),
        json={
            "inputs": "what was asked, SI units; p, p', the window and the model that was used",
            "verdict": "stable, unstable or undecided: the worse of both clocks",
            "least": "the smaller gain margin (dB) and phase margin (deg), and the clock of each",
            "margins": "by rates",
            "margins.gain_margin_db": "dB",
            "margins.lower_gain_margin_db": "dB that the gain may fall by; of an unstable loop,"
            " must rise by",
            "margins.phase_margin_deg": "degrees",
            "margins.gain_crossover": "rad/s",
            "margins.phase_crossover": "rad/s",
            "margins.oscillation_period": "s, 2 pi over phase_crossover; null where the gain is"
            " more than 3 dB too large",
            "margins.delay_margin": "s",
            "margins.modulus_margin": "the smallest |1 + L|",
            "margins.verdict": "stable, unstable or undecided",
            "margins.remark": "on the gain, mostly nothing",
            "margins.delay_sd": "s, of the delay in means over 20 ms by chance alone; by link of a"
            " network; null where that is not derived, or the flows are not given",
            "margins.signal_spread": "standard deviation of the controller's variable by chance,"
            " over its rest",
            "ack_margins": "the same by acknowledgements; null if there is no such loop",
            "why_no_acks": "why there is none, or null",
            "along": "of --along, by rate and by acks: min_gain_margin_db, its at (s) and capacity"
            " (bit/s), median_gain_margin_db, min_phase_margin_deg; part_below (of the time at"
            " rest, below least_db) and part_at_rest",
            "required": "null without --require: gain_margin_db, least_db, and whether it is kept",
            "bottlenecks": "of a scenario or network: nodes that are full",
            "uniform": "of a scenario or network: whether margins are of all queues together",
            "each": "of a scenario or network: margins of each bottleneck while the others stay as"
            " they are",
            "classes": "of a scenario or network: its classes of flows where they settle",
            "caution": "of a scenario or network: what the loop leaves out that may decide, or"
            " nothing",
        },
        notes=(
            "The exit code is 0 if stable by both clocks, 1 if unstable or if less margin is left"
            " than --require, 3 if undecided."
        ),
    ),
)
