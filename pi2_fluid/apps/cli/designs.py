"""Queues that are to run: `pi2-fluid tune`, by margins or by what people feel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import codes, completing
from pi2_fluid.apps.cli.declaring import JUDGE, Command
from pi2_fluid.apps.cli.designed import draw_design, print_design, print_nearest
from pi2_fluid.apps.cli.engines import make_engines
from pi2_fluid.apps.cli.families import L4sShare, LongCounts, PathTimes, load_traffic
from pi2_fluid.apps.cli.files import PICTURES, check_path
from pi2_fluid.apps.cli.options import option, read_hz
from pi2_fluid.apps.cli.output import JsonFlag, print_json
from pi2_fluid.apps.cli.parameters import declared
from pi2_fluid.apps.cli.pasting import line_of, why_no_line
from pi2_fluid.apps.cli.queues import NAMES_IN_HELP, PRESET_NAMES, read_aqm
from pi2_fluid.apps.cli.recommended import recommend_at_shell
from pi2_fluid.apps.cli.requiring import read_margin
from pi2_fluid.apps.cli.senders import NAMES, read_flows, read_senders
from pi2_fluid.apps.cli.ways import is_by_traffic
from pi2_fluid.apps.cli.wording import for_shell, in_words_of_shell
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.laws.registry import DESIGNED
from pi2_fluid.progress import Progress

if TYPE_CHECKING:
    from pi2_fluid.design.design import Design

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


def tune(
    context: typer.Context,
    more: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE]...", help="More files for --traffic, as a shell makes them of *.toml."
        ),
    ] = None,
    traffic: Annotated[
        list[str] | None,
        option(
            "WORD|FILE",
            "Who sends: home, another word of `pi2-fluid traffic`, or files.",
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
            "How much delay 1 % of the rate is worth: delay, 2 %; balanced, 5 %; rate, 20 %.",
            "Traffic",
        ),
    ] = "balanced",
    loss: Annotated[
        str,
        option(
            "NUMBER",
            "Rule out settings that certainly lose more of the rate in any cell: in %.",
            "Traffic",
        ),
    ] = "1",
    floor: Annotated[
        str,
        option(
            "DB", "Least gain margin where windows are largest, by acknowledgements.", "Traffic"
        ),
    ] = "0dB",
    seeds: Annotated[
        str, option("NUMBER|LIST", "At most so many runs of each candidate and cell.", "Traffic")
    ] = "24",
    seconds: Annotated[
        str | None,
        option(
            "TIME",
            "Begin no more runs after this. Default: enough for the evidence.",
            "Traffic",
        ),
    ] = None,
    base: Annotated[
        str | None,
        option(
            "LINE",
            "What runs now, as tc shows it or is asked for it. Default: that of the scenarios, or"
            " of the kernel.",
            "Traffic",
        ),
    ] = None,
    confirm: Annotated[
        str | None,
        option("ENGINE", "Measure the answer by another engine, too: linux:seeds=8.", "Traffic"),
    ] = None,
    max_rtt: Annotated[
        str | None,
        option("TIME", "Largest round-trip time with the queue: 100ms.", "Region"),
    ] = None,
    max_base_rtt: Annotated[
        str | None,
        option("TIME", "Instead: that of the path alone: 80ms.", "Region"),
    ] = None,
    min_rtt: Annotated[
        str | None,
        option(
            "TIME",
            "The smallest, with the queue or of the path alone. Default: a twentieth, at most the"
            " target.",
            "Region",
        ),
    ] = None,
    sender: Annotated[
        str,
        option(
            "NAMES",
            f"Who sends, with commas: {', '.join(NAMES)}.",
            "Region",
            complete=completing.one_of(*NAMES),
        ),
    ] = "reno",
    rate: Annotated[
        str | None,
        option(
            "RATE",
            "Rate of the link: 10Mbit/s. Flows that are faster are left out. With traffic: of every"
            " cell.",
            "Region",
        ),
    ] = None,
    flows: Annotated[
        str | None,
        option(
            "NUMBER|FROM:TO",
            "How many flows share the link: 1:20. Default 1:, any number.",
            "Region",
        ),
    ] = None,
    max_window: Annotated[
        str | None,
        option("SEGMENTS", "Largest window of a flow. Default any.", "Region"),
    ] = None,
    load: Annotated[
        str | None,
        option("LOW,HIGH", "Instead: the range of p', the load: 0.01,1.", "Region"),
    ] = None,
    aqm: Annotated[
        str | None,
        option(
            "NAME",
            f"Which queue: {', '.join(DESIGNED)}. {NAMES_IN_HELP}; its target and T stay. Default"
            " pi2; with traffic dualpi2, or the scenarios' own.",
            "Queue",
            complete=completing.one_of(*DESIGNED, *PRESET_NAMES),
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
            "Time between updates, T. Default: a sixth of the largest round-trip time, longer"
            " where tc needs it. With traffic: the queue's own, or free to choose.",
            "Queue",
        ),
    ] = None,
    hz: Annotated[
        str,
        option(
            "NUMBER",
            "CONFIG_HZ of the kernel, for pie and fq_pie: 100, 250, 300 or 1000.",
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
                "Queue delay aimed at. Default {default}, at most a sixth of the largest round-trip"
                " time. With traffic: the queue's own, or free to choose.",
            ),
            "Queue",
        ),
    ] = None,
    gain_margin: Annotated[
        str, option("DB", "Gain margin to leave everywhere.", "Margins")
    ] = "6dB",
    phase_margin: Annotated[
        str, option("DEG", "Phase margin to leave everywhere.", "Margins")
    ] = "30deg",
    modulus_margin: Annotated[
        str, option("NUMBER", "Smallest |1 + L| to leave; 0: any.", "Margins")
    ] = "0",
    objective: Annotated[
        str,
        option(
            "NAME",
            "recovery: least delay above target times time after a change; bandwidth: fastest, for"
            " a tenth more of that; gain: the default gains times a factor.",
            "Margins",
        ),
    ] = "recovery",
    update: Annotated[
        str,
        option(
            "NAME",
            "sampled: updates every T, as in a kernel; delayed, by T/2; or continuous.",
            "Margins",
        ),
    ] = "sampled",
    verify: Annotated[
        str | None,
        option(
            "ENGINE",
            "Try changes of load and capacity at the corners, too: fluid, or packet (some twenty"
            " seconds for each sender).",
            "Output",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        option(
            "FILE",
            "Draw response against robustness, with traffic delay against rate: .png, .svg, .pdf.",
            "Output",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Find alpha, beta and T, and print the line for tc to paste.

    By traffic (--traffic, or --rate, --rtt and --long): candidates run packet
    by packet, and the answer may be to keep what runs.

    By margins (--max-rtt or --max-base-rtt): they hold at every round-trip time
    and load, with a proof, whatever that costs in delay.
    """
    check_path(plot, PICTURES, "--plot")
    queue: Any = read_aqm(aqm, {}) if aqm is not None and ":" in aqm else aqm
    if is_by_traffic(context):
        family = load_traffic([*(traffic or ()), *(more or ())], rate, rtt, long, l4s)
        wishes = {"aqm": queue, "k": k, "target": target, "update_interval": update_interval,
                  "value": value, "loss": loss, "seconds": seconds}  # fmt: skip
        recommend_at_shell(
            family,
            wishes,
            hz=read_hz(hz),
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
        "gain_margin_db": read_margin(gain_margin, "--gain-margin"),
        "phase_margin_deg": read_margin(phase_margin, "--phase-margin", "deg"),
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
                hz=read_hz(hz),
                max_base_rtt=max_base_rtt,
                min_rtt=min_rtt,
                senders=list(who.values()),
                aqm=queue or "pi2",
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
    why = _why_not(design)
    if as_json:
        data = design.to_dict()
        alternatives = data.pop("alternatives")
        tc = {
            "tc": line_of(design),
            "why_no_tc": why or None,
            "nearest": _near(design, interrupted),
        }
        print_json({"design": data, **tc, "alternatives": alternatives})
    else:
        print_design(design, who, aqm)
        if not interrupted and design.nearest is not None:
            print_nearest(design.nearest)
    if interrupted:
        if not as_json:
            typer.echo("interrupted: not verified")
        raise typer.Exit(codes.INTERRUPTED)
    if why:
        typer.echo(f"no line for tc: {why}", err=True)
        raise typer.Exit(codes.NO_LINE)


def _near(design: Design, interrupted: bool) -> dict[str, Any] | None:
    """Return what JSON says of the nearest design, if tc has no line for this one."""
    nearest = None if interrupted else design.nearest
    if nearest is None:
        return None
    names = ("alpha", "beta", "update_interval", "target", "rtt_limit", "settling_time")
    numbers = {name: getattr(nearest, name) for name in names}
    return {"tc": nearest.to_tc(), **numbers, "least": nearest.least._asdict()}


def _why_not(design: Design) -> str:
    return for_shell(why_no_line(design), _OPTIONS)


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
            "pi2-fluid tune --traffic *.toml --value rate --target free --confirm linux:seeds=8",
            "pi2-fluid tune --max-base-rtt 80ms --aqm dualpi2 --sender reno,scalable",
            "pi2-fluid tune --max-rtt 100ms --rate 20Mbit/s --flows 1:20 --verify fluid",
            "pi2-fluid tune --max-rtt 100ms --aqm fq_pie --hz 250",
        ),
        json={
            "design": "of margins: the fields of Design, SI units; margins and worst by rates,"
            " ack_margins and ack_worst by acknowledgements, least the smaller of each and its"
            " clock; a p_prime of 0 is the limit of no load",
            "tc": "of margins: the line that asks for it; null if there is none",
            "why_no_tc": "of margins: why there is no line; else null",
            "nearest": "of margins: where there is no line, the nearest one: tc, its gains (Hz) and"
            " times (s), and least; null if there is none",
            "alternatives": "of margins: a list, the design itself first; null where there is no"
            " such margin",
            "recommendation": "of traffic: the fields of Recommendation, SI units",
            "confirmation": "of traffic: what the engine of --confirm measured, or null",
        },
        notes=(
            "Exit codes: 0; 2, no gains have the margins; 5, tc has no line for such gains: the"
            " nearest one is shown, with what it leaves."
        ),
    ),
)
