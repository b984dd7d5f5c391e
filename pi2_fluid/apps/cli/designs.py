"""Queues that are to run: `pi2-fluid tune`, by margins or by what people feel."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import codes, completing
from pi2_fluid.apps.cli.declaring import JUDGE, Command
from pi2_fluid.apps.cli.designed import draw_design, print_design
from pi2_fluid.apps.cli.engines import make_engines
from pi2_fluid.apps.cli.families import L4sShare, LongCounts, PathTimes, load_traffic
from pi2_fluid.apps.cli.files import PICTURES, check_path
from pi2_fluid.apps.cli.options import option
from pi2_fluid.apps.cli.output import JsonFlag, Progress, print_json
from pi2_fluid.apps.cli.parameters import declared
from pi2_fluid.apps.cli.pasting import line_of, why_no_line
from pi2_fluid.apps.cli.recommended import recommend_at_shell
from pi2_fluid.apps.cli.senders import NAMES, read_flows, read_senders
from pi2_fluid.apps.cli.wording import for_shell, in_words_of_shell
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.laws.registry import DESIGNED

if TYPE_CHECKING:
    from pi2_fluid.design.design import Design

__all__ = ["COMMANDS", "tune"]

#: What Python's `tune` calls its arguments -> what the shell does.
_OPTIONS: Final = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("max_rtt", "max_base_rtt", "min_rtt", "max_window", "load", "aqm", "k", "hz", "target"),
        *("update_interval", "modulus_margin", "objective", "update", "verify", "rate", "flows"),
    )
} | {
    "gain_margin_db": "--gain-margin",
    "phase_margin_deg": "--phase-margin",
    "senders": "--sender",
}
#: Options that say who sends; those that go with them; and those that go with a largest RTT.
_WHO: Final = ("traffic", "rtt", "long", "l4s")
_BESIDE_WHO: Final = ("more", "value", "loss", "floor", "seeds", "seconds", "base", "confirm")
_OF_MARGINS: Final = (
    *("max_rtt", "max_base_rtt", "min_rtt", "sender", "flows", "max_window", "load", "objective"),
    *("gain_margin", "phase_margin", "modulus_margin", "update", "verify"),
)


def tune(
    context: typer.Context,
    more: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...", help="More files of --traffic, as a shell makes of *.toml."
        ),
    ] = None,
    traffic: Annotated[
        list[str] | None,
        option(
            "WORD|FILE",
            "Who sends: home, another word of `pi2-fluid traffic`, a family's file, or scenarios.",
            "Traffic",
            "--traffic",
            complete=completing.traffic,
        ),
    ] = None,
    rtt: PathTimes = None,
    long: LongCounts = None,
    l4s: L4sShare = None,
    value: Annotated[
        str,
        option(
            "NAME",
            "What a hundredth of the rate is worth: delay, 2 % of the delay; balanced, 5 %; rate,"
            " 20 %.",
            "Traffic",
        ),
    ] = "balanced",
    loss: Annotated[
        str,
        option(
            "NUMBER",
            "Hundredths of the rate: what certainly loses more in any cell is out.",
            "Traffic",
        ),
    ] = "1",
    floor: Annotated[
        str,
        option(
            "DB", "The least gain margin where windows are largest, by acknowledgements.", "Traffic"
        ),
    ] = "0dB",
    seeds: Annotated[
        str, option("NUMBER|LIST", "The most runs of each candidate and cell.", "Traffic")
    ] = "24",
    seconds: Annotated[
        str | None,
        option("TIME", "After which no more runs begin. Default as the evidence needs.", "Traffic"),
    ] = None,
    base: Annotated[
        str | None,
        option(
            "LINE",
            "What runs now, as tc is asked for it or shows it. Default what scenarios have, else"
            " the queue's defaults.",
            "Traffic",
        ),
    ] = None,
    confirm: Annotated[
        str | None,
        option("ENGINE", "Also measure the answer by another engine: linux:seeds=8.", "Traffic"),
    ] = None,
    max_rtt: Annotated[
        str | None,
        option("TIME", "Largest round-trip time, the target delay included: 100ms.", "Region"),
    ] = None,
    max_base_rtt: Annotated[
        str | None,
        option("TIME", "Instead, the largest round-trip time of the path alone: 80ms.", "Region"),
    ] = None,
    min_rtt: Annotated[
        str | None,
        option(
            "TIME",
            "The smallest, of the same kind. Default a twentieth, or the target if that is less.",
            "Region",
        ),
    ] = None,
    sender: Annotated[
        str,
        option("NAMES", f"Who sends, with commas: {', '.join(NAMES)}.", "Region"),
    ] = "reno",
    rate: Annotated[
        str | None,
        option(
            "RATE",
            "Of the link, as 10Mbit/s: for the loads of flows that fit on it; of every cell of"
            " traffic.",
            "Region",
        ),
    ] = None,
    flows: Annotated[
        str | None,
        option(
            "NUMBER|FROM:TO",
            "How many flows share the link of that rate, as 1:20. Default 1:.",
            "Region",
        ),
    ] = None,
    max_window: Annotated[
        str | None,
        option("SEGMENTS", "The largest window of one flow. Default any.", "Region"),
    ] = None,
    load: Annotated[
        str | None,
        option("LOW,HIGH", "Instead, the range of p', the load of each sender: 0.01,1.", "Region"),
    ] = None,
    aqm: Annotated[
        str | None,
        option(
            "NAME",
            f"Which queue: {', '.join(DESIGNED)}. Default pi2; for a word of traffic dualpi2, for"
            " scenarios theirs.",
            "Queue",
        ),
    ] = None,
    k: Annotated[
        str | None,
        option(
            "NUMBER",
            declared("k", "Coupling factor of {only}, {range}. Default {default}."),
            "Queue",
            "--k",
        ),
    ] = None,
    update_interval: Annotated[
        str | None,
        option(
            "TIME",
            "Time between updates. Default a sixth of the largest RTT, or longer where tc takes no"
            " gains for that; for pie and fq_pie what the kernel's timer holds. Of traffic the"
            " queue's own; free: to be chosen.",
            "Queue",
        ),
    ] = None,
    hz: Annotated[
        str,
        option(
            "NUMBER",
            "The kernel's CONFIG_HZ, for pie and fq_pie: 100, 250, 300 or 1000.",
            "Queue",
            "--hz",
        ),
    ] = "1000",
    target: Annotated[
        str | None,
        option(
            "TIME",
            declared(
                "target",
                "Queue delay aimed at. Default {default} (fq_pie as pie), or a sixth of the largest"
                " RTT, whichever is less. Of traffic the queue's own; free: to be chosen.",
            ),
            "Queue",
        ),
    ] = None,
    gain_margin: Annotated[
        str, option("DB", "Gain margin to be left everywhere.", "Margins")
    ] = "6",
    phase_margin: Annotated[
        str, option("DEG", "Phase margin to be left everywhere.", "Margins")
    ] = "30",
    modulus_margin: Annotated[
        str, option("NUMBER", "Smallest |1 + L| to be left, 0: any.", "Margins")
    ] = "0",
    objective: Annotated[
        str,
        option(
            "NAME",
            "recovery: least delay above target, summed over time, after a change of load;"
            " bandwidth: fastest, for a tenth more of that; gain: the queue's default gains times"
            " a factor.",
            "Margins",
        ),
    ] = "recovery",
    update: Annotated[
        str,
        option(
            "NAME",
            "sampled: updates every T, as in a kernel; delayed: by half of T; or continuous.",
            "Margins",
        ),
    ] = "sampled",
    verify: Annotated[
        str | None,
        option(
            "ENGINE",
            "Also try steps of load and capacity at the corners of the region: fluid, packet (some"
            " twenty seconds for each sender) or packet:seeds=5.",
            "Output",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        option(
            "FILE",
            "Draw response against robustness, of traffic delay against rate: .png, .svg or .pdf.",
            "Output",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find alpha, beta and T, and print the line for tc to paste.

    With --traffic, or the rate, round-trip times and numbers of long flows of a link, candidates
    are run packet by packet, and the answer may be to keep what runs. With a largest round-trip
    time gains keep margins at every RTT and load, with a proof, whatever that costs.
    """
    check_path(plot, PICTURES, "--plot")
    if _is_by_traffic(context):
        family = load_traffic([*(traffic or ()), *(more or ())], rate, rtt, long, l4s)
        wishes = {"aqm": aqm, "k": k, "target": target, "update_interval": update_interval,
                  "value": value, "loss": loss, "seconds": seconds}  # fmt: skip
        recommend_at_shell(
            family,
            wishes,
            hz=_read_hz(hz),
            floor=floor,
            seeds=seeds,
            base=base,
            confirm=confirm,
            plot=plot,
            as_json=as_json,
        )
        return
    who = read_senders(sender)
    verifier = None if verify is None else make_engines([verify], {}, "--verify")[0]

    from pi2_fluid.design.tuning import VerificationInterrupted
    from pi2_fluid.design.tuning import tune as find

    arguments: dict[str, Any] = {
        "gain_margin_db": gain_margin,
        "phase_margin_deg": phase_margin,
        "modulus_margin": modulus_margin,
        "rate": rate,
        "flows": read_flows(flows),
        "max_window": max_window,
        "load": None if load is None else _read_pair(load),
        "k": k,
    }
    interrupted = False
    with Progress("verifying", "cases") as progress, in_words_of_shell(_OPTIONS):
        try:
            design = find(
                max_rtt,
                hz=_read_hz(hz),
                max_base_rtt=max_base_rtt,
                min_rtt=min_rtt,
                senders=list(who.values()),
                aqm=aqm or "pi2",
                update_interval=update_interval,
                target=target,
                update=update,
                objective=objective,
                verify=verifier,
                progress=progress,
                **arguments,
            )
        except VerificationInterrupted as interruption:
            design, interrupted = interruption.design, True
    if plot is not None:
        draw_design(design, plot)
    if as_json:
        data = design.to_dict()
        alternatives = data.pop("alternatives")
        tc = {"tc": line_of(design), "why_no_tc": _why_not(design) or None}
        print_json({"design": data, **tc, "alternatives": alternatives})
    else:
        print_design(design, who)
    if interrupted:
        if not as_json:
            typer.echo("interrupted: not verified")
        raise typer.Exit(codes.INTERRUPTED)
    if why := _why_not(design):
        typer.echo(f"no line for tc: {why}", err=True)
        raise typer.Exit(codes.NO_LINE)


def _is_by_traffic(context: typer.Context) -> bool:
    """Say which of the two ways is asked for, and refuse options of the other."""
    given = [
        name
        for name in context.params
        if (source := context.get_parameter_source(name)) and source.name == "COMMANDLINE"
    ]
    if by_traffic := any(name in _WHO for name in given):
        _refuse(given, _OF_MARGINS, "goes with a largest round-trip time, not with traffic")
    else:
        if not {"max_rtt", "max_base_rtt"} & set(given):
            raise QuantityError(
                "say who sends, as --traffic home or --rate 20Mbit/s --rtt 10ms..80ms --long 1:4,"
                " for what people feel; or, for margins, give --max-rtt, with the queue's delay, or"
                " --max-base-rtt, without it."
            )
        _refuse(given, _BESIDE_WHO, "goes with traffic, which is not given")
    return by_traffic


def _refuse(given: Collection[str], others: Collection[str], why: str) -> None:
    for name in given:
        if name in others:
            shown = "a file" if name == "more" else f"--{name.replace('_', '-')}"
            raise QuantityError(f"{shown} {why}: leave it out.")


def _why_not(design: Design) -> str:
    return for_shell(why_no_line(design), _OPTIONS)


def _read_hz(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise QuantityError(
            f"--hz {show_value(text)} is no whole number: give the kernel's CONFIG_HZ, as 250."
        )
    return int(text)


def _read_pair(text: str) -> tuple[str, str]:
    low, comma, high = text.partition(",")
    if not comma:
        raise QuantityError(
            f"--load {show_value(text)} is no pair: give the smallest and the largest p', as"
            " 0.01,1."
        )
    return low.strip(), high.strip()


COMMANDS: tuple[Command, ...] = (
    Command(
        tune,
        panel=JUDGE,
        examples=(
            "pi2-fluid tune --traffic home",
            "pi2-fluid tune --rate 20Mbit/s --rtt 10ms..80ms --long 1:4",
            "pi2-fluid tune --traffic my_scenarios/*.toml --value rate --loss 0.5 --target free",
            "pi2-fluid tune --traffic office --confirm linux:seeds=8 --plot front.png",
            "pi2-fluid tune --max-rtt 100ms",
            "pi2-fluid tune --max-base-rtt 80ms --aqm dualpi2 --sender reno,scalable",
            "pi2-fluid tune --max-rtt 50ms --phase-margin 45 --plot designs.png --json",
            "pi2-fluid tune --max-rtt 100ms --verify fluid",
            "pi2-fluid tune --max-rtt 100ms --aqm dualpi2 --rate 20Mbit/s --flows 1:20",
            "pi2-fluid tune --max-rtt 100ms --aqm fq_pie --hz 250",
        ),
        json={
            "design": "of margins: the fields of Design, SI units; margins and worst by rates,"
            " ack_margins and ack_worst by acknowledgements, least the smaller of each and its"
            " clock; a p_prime of 0 is the limit of no load",
            "tc": "of margins: the line that asks for it; null if there is none",
            "why_no_tc": "of margins: why there is no line; else null",
            "alternatives": "of margins: a list, the design itself first; null where there is no"
            " such margin",
            "recommendation": "of traffic: the fields of Recommendation, SI units",
            "confirmation": "of traffic: what the engine of --confirm measured, or null",
        },
        notes=(
            "The exit code is 0; 2 if the margins cannot be had; 5 if they can, but tc has no"
            " line for the gains, with the reason on standard error."
        ),
    ),
)
