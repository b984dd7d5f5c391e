"""Queues that run: `pi2-fluid check`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import codes, completing
from pi2_fluid.apps.cli.betterment import find_better, print_better, to_dict
from pi2_fluid.apps.cli.checked import print_checked
from pi2_fluid.apps.cli.declaring import JUDGE, Command
from pi2_fluid.apps.cli.families import load_traffic
from pi2_fluid.apps.cli.options import option, read_hz
from pi2_fluid.apps.cli.output import JsonFlag, print_json
from pi2_fluid.apps.cli.queues import PRESET_NAMES, PRESETS_IN_HELP, read_aqm
from pi2_fluid.apps.cli.reading import read_shown
from pi2_fluid.apps.cli.requiring import Require, code_of, read_required, said_of_required
from pi2_fluid.apps.cli.requiring import to_dict as required_to_dict
from pi2_fluid.apps.cli.senders import NAMES, read_flows, read_senders
from pi2_fluid.apps.cli.wording import in_words_of_shell
from pi2_fluid.errors import QuantityError
from pi2_fluid.laws.registry import kind_of
from pi2_fluid.progress import tell

if TYPE_CHECKING:
    from pi2_fluid.deployment.paths import PathVerdict
    from pi2_fluid.deployment.strangers import Stranger
    from pi2_fluid.deployment.verdicts import Verdict
    from pi2_fluid.design.design import WorstCase
    from pi2_fluid.laws.aqm import Aqm
    from pi2_fluid.loop import Margins


_OPTIONS: Final = {
    "rtt": "--rtt",
    "max_base_rtt": "--max-base-rtt",
    "min_rtt": "--min-rtt",
    "LongFlows rate": "--rate",
    "rate": "--rate",
    "LongFlows max_window": "--max-window",
    "max_window": "--max-window",
    "hz": "--hz",
    "kernel": "--kernel",
}


def check(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT|FILE|-",
            help='What "tc qdisc show" prints: text, a file, or - for standard input. Also lines'
            ' "tc qdisc replace ..." before they run, and FreeBSD\'s "ipfw sched show" or lines for'
            " ipfw. Also files of networkd and of OpenWrt's SQM, and sessions, scripts and logs"
            " with any of these.",
        ),
    ] = None,
    aqm: Annotated[
        str | None,
        option(
            "NAME",
            f"Instead of text: a queue by its name, without the rounding of a kernel:"
            f" {PRESETS_IN_HELP}.",
            complete=completing.one_of(*PRESET_NAMES),
        ),
    ] = None,
    rtt: Annotated[
        str | None,
        option("TIME", "Largest round-trip time, queue included. Default 100ms."),
    ] = None,
    max_base_rtt: Annotated[
        str | None,
        option("TIME", "Instead of --rtt, the longest path: each queue adds its target."),
    ] = None,
    min_rtt: Annotated[
        str | None,
        option("TIME", "Smallest round-trip time. Default the queue's target."),
    ] = None,
    sender: Annotated[
        str,
        option(
            "NAMES",
            f"Senders, with commas: {', '.join(NAMES)}.",
            complete=completing.one_of(*NAMES),
        ),
    ] = "reno",
    rate: Annotated[
        str | None,
        option(
            "RATE",
            "Rate of the link, as 10Mbit/s: then only flows that fit on it count, and RED and"
            " limits are judged, too. Default that of a shaper above the queue in the text.",
        ),
    ] = None,
    flows: Annotated[
        str | None,
        option(
            "NUMBER|FROM:TO",
            "With a rate: how many flows share the link, as 1:20. Default 1:, any number.",
        ),
    ] = None,
    max_window: Annotated[
        str | None,
        option("SEGMENTS", "Largest window of a flow. Default any."),
    ] = None,
    hz: Annotated[
        str | None,
        option(
            "NUMBER",
            "For PIE: the kernel's CONFIG_HZ. Default each of 100, 250, 300, 1000 that fits.",
            None,
            "--hz",
        ),
    ] = None,
    kernel: Annotated[
        str | None,
        option(
            "VERSION",
            'For PIE: what "uname -r" prints. Default 5.1 or newer, unless statistics (tc -s) are'
            " older.",
        ),
    ] = None,
    network: Annotated[
        str | None,
        option(
            "FILE",
            "Flows that cross several queues, and nodes named like devices: judges the queues"
            " together, too.",
        ),
    ] = None,
    traffic: Annotated[
        list[str] | None,
        option(
            "WORD|FILE",
            "Who sends, as in `tune`: also says whether another queue is better for them, and by"
            " how much. Can be repeated, for scenarios.",
            None,
            "--traffic",
            complete=completing.traffic,
        ),
    ] = None,
    require: Require = None,
    as_json: JsonFlag = False,
) -> None:
    """Say whether the queues that tc shows are stable, and what helps."""
    if (text is None) == (aqm is None):
        raise QuantityError(
            "the queues are missing: give what `tc qdisc show` prints, a file with it, or - for"
            " standard input; or the name of one queue, as --aqm docsis_pie."
            if text is None
            else f"--aqm {aqm} is given beside queues as text: leave one of them out."
        )
    who = read_senders(sender)
    ticks = None if hz is None else read_hz(hz)
    required = read_required(require)
    shown: Any = read_aqm(aqm, {}) if aqm is not None else read_shown(str(text))
    with in_words_of_shell({"traffic": "--traffic"}):
        family = None if traffic is None else load_traffic(traffic, rate)

    from pi2_fluid.deployment.checking import check as judge
    from pi2_fluid.deployment.remedies import is_enough
    from pi2_fluid.network.catalogue import find_network

    with in_words_of_shell(_OPTIONS if flows is None else {**_OPTIONS, "flows": "--flows"}):
        checked = judge(
            shown,
            rtt=rtt,
            max_base_rtt=max_base_rtt,
            min_rtt=min_rtt,
            senders=list(who.values()),
            rate=rate,
            flows=read_flows(flows),
            max_window=max_window,  # type: ignore[arg-type]  # text, which is read as a number
            hz=ticks,
            kernel=kernel,
            network=None if network is None else find_network(network),
        )
    if aqm is not None:
        checked[:] = [replace(one, qdisc=replace(one.qdisc, handle=aqm)) for one in checked]
    if any(not is_enough(one.margins, one.ack_margins) and not one.cases for one in checked):
        tell("looking for gains with more margin")
    if not as_json:
        told = {"--rate": rate, "--path": max_base_rtt or rtt}
        print_checked(checked, " or ".join(type(one).__name__ for one in who.values()), told)
    better = [] if family is None else find_better(checked, family)
    if as_json:
        print_json(
            {
                "qdiscs": [_to_dict(one) for one in checked],
                "verdict": checked.verdict,
                "required": required_to_dict(checked.gain_margin_db, required),
                "foreign": checked.foreign,
                "others": [_other_to_dict(one) for one in checked.others],
                "path": None if checked.path is None else _path_to_dict(checked.path),
                "read": checked.form,
                "waiting": checked.waiting,
                "tree": list(checked.tree),
                "traffic": None if family is None else [to_dict(one) for one in better],
            }
        )
    else:
        if family is not None:
            print_better(better, family)
        if required is not None and checked.gain_margin_db < math.inf:
            typer.echo(f"\n{said_of_required(checked.gain_margin_db, required)}")
    if any(one.interrupted for one in better):
        typer.echo("interrupted: the table has what was known by then", err=True)
        raise typer.Exit(codes.INTERRUPTED)
    raise typer.Exit(code_of(checked.verdict, checked.gain_margin_db, required))


# JSON


def _to_dict(verdict: Verdict) -> dict[str, Any]:
    queue, worst, acks, remedy = verdict.qdisc, verdict.worst, verdict.ack_worst, verdict.remedy
    return {
        "kind": queue.kind,
        "dev": queue.dev,
        "namespace": queue.namespace,
        "parent": queue.parent,
        "handle": queue.handle,
        "proposed": queue.proposed,
        "asked": queue.asked,
        "installed": _law(queue.aqm),
        "rounding": queue.rounding,
        "verdict": verdict.verdict,
        "model": verdict.margins.update,
        "reason": verdict.reason,
        "guarantee": verdict.guarantee,
        "rtt": verdict.rtt,
        "min_rtt": verdict.min_rtt,
        "rtt_limit": verdict.stable_up_to,
        "path_limit": verdict.path_up_to,
        "long_flows": verdict.long_flows.to_dict(),
        "least": {**verdict.least._asdict(), "window": verdict.window, "flows": verdict.count},
        "worst": _worst(worst, verdict.margins),
        "ack_worst": None if acks is None else _worst(acks, verdict.ack_margins),
        "chance": [each._asdict() for each in verdict.chance],
        "margin_lost_db": verdict.margin_lost_db,
        "rate_held": verdict.rate_held,
        "hz": queue.hz,
        "kernel": str(queue.kernel),
        "cases": [case._asdict() for case in verdict.cases],
        "observed": list(verdict.observed),
        "remedy": {
            "text": remedy.text,
            "tc": remedy.tc,
            "installed": None if remedy.aqm is None else _law(remedy.aqm),
            "margins": None if remedy.margins is None else _margins(remedy.margins),
            "ack_margins": None if remedy.ack_margins is None else _margins(remedy.ack_margins),
        },
        "note": verdict.note,
    }


def _other_to_dict(one: Stranger) -> dict[str, Any]:
    return {**one._asdict(), "rules": [rule._asdict() for rule in one.rules]}


def _path_to_dict(path: PathVerdict) -> dict[str, Any]:
    rest = path.rest
    return {
        "shown": list(path.shown),
        "bottlenecks": list(path.bottlenecks),
        "verdict": path.verdict,
        "model": path.margins.update,
        "margins": _margins(path.margins),
        "each": {name: _margins(margins) for name, margins in path.each.items()},
        "factor": path.factor,
        "p": dict(zip(path.network.class_names, rest.p.to_numpy().tolist(), strict=True)),
        "rtt": dict(zip(path.network.class_names, rest.rtt.to_numpy().tolist(), strict=True)),
        "notes": list(path.notes),
    }


def _worst(worst: WorstCase, margins: Margins | None) -> dict[str, Any]:
    assert margins is not None
    where = {"rtt": worst.rtt, "p_prime": worst.p_prime, "sender": kind_of(worst.sender)}
    return {**where, **_margins(margins)}


def _law(law: Aqm) -> dict[str, float]:
    names = ("alpha", "beta", "target", "update_interval")
    return {name: float(getattr(law, name)) for name in names}


def _margins(margins: Margins) -> dict[str, float]:
    names = (
        "gain_margin_db",
        "phase_margin_deg",
        "modulus_margin",
        "delay_margin",
        "oscillation_period",
    )
    return {name: float(getattr(margins, name)) for name in names}


COMMANDS: tuple[Command, ...] = (
    Command(
        check,
        panel=JUDGE,
        examples=(
            "tc -s -d qdisc show | pi2-fluid check -",
            'pi2-fluid check queues.txt --hz 250 --kernel "$(uname -r)"',
            (
                "tc -j qdisc show | pi2-fluid check - --max-base-rtt 60ms --sender reno,scalable"
                " --json"
            ),
            "tc qdisc show | pi2-fluid check - --rate 5.5Mbit/s --flows 1:20",
            "tc qdisc show | pi2-fluid check - --network home.toml",
            'pi2-fluid check "tc qdisc replace dev eth0 root dualpi2 max_rtt 100ms"',
            "tc qdisc show | pi2-fluid check - --traffic home",
            "ipfw sched show | pi2-fluid check -",
        ),
        json={
            "qdiscs": "a list, one for each queue with a loop",
            "qdiscs.kind": "pie, fq_pie or dualpi2",
            "qdiscs.dev": "device",
            "qdiscs.namespace": "network namespace",
            "qdiscs.parent": "as tc shows it",
            "qdiscs.handle": "as tc shows it",
            "qdiscs.proposed": "whether a line asks for it, and nothing shows it",
            "qdiscs.asked": "what tc was asked for, SI units",
            "qdiscs.installed": "what the kernel makes of it, SI units",
            "qdiscs.rounding": "installed beside asked",
            "qdiscs.verdict": "stable, unstable or undecided",
            "qdiscs.model": "the model of the verdict",
            "qdiscs.reason": "why it is undecided",
            "qdiscs.guarantee": "what is proved",
            "qdiscs.long_flows": "rate (bit/s), flows (the fewest and the most) and max_window;"
            " each null where not known",
            "qdiscs.rtt": "s, the largest",
            "qdiscs.min_rtt": "s, the smallest",
            "qdiscs.rtt_limit": "s, stable up to this round-trip time, queue included",
            "qdiscs.path_limit": "s, the same without the queue",
            "qdiscs.worst": "rtt, p_prime and sender where margins by rates are smallest, and"
            " these; the period of an oscillation in s, null where the gain is more than 3 dB too"
            " large; a p_prime of 0 is the limit of no load",
            "qdiscs.ack_worst": "the same by acknowledgements",
            "qdiscs.least": "the smaller of both, its clock, the window of a flow there, and how"
            " many flows",
            "qdiscs.chance": "with the most and the fewest flows of the longest RTT: flows,"
            " delay_sd (s, by chance alone, of means over 20 ms) and signal_spread (of p')."
            " Empty where no rate is known or it is not derived",
            "qdiscs.margin_lost_db": "dB that the kernel's rounding takes",
            "qdiscs.rate_held": "bit/s, above which the buffer is full below the target",
            "qdiscs.hz": "the kernel's CONFIG_HZ",
            "qdiscs.kernel": "its version",
            "qdiscs.cases": "one for each kernel that it can be of",
            "qdiscs.observed": "what counters say",
            "qdiscs.remedy": "text, tc, installed, margins, ack_margins",
            "qdiscs.note": "what else to know",
            "verdict": "the worst",
            "required": "null without --require: gain_margin_db, least_db, and whether it is kept",
            "foreign": "names of queues without a loop",
            "others": "name, kind, verdict, text, observed, gain_margin_db (dB, of RED), dev and"
            " parent of each queue that is no PI or could not be read",
            "others.rules": "rules of thumb, of CoDel, bursts and netem's limit: name, kept (null"
            " where it is not known) and text",
            "others.lines": "lines for tc that keep them",
            "others.word": "what `compare --aqm` calls it, with its numbers",
            "others.rate": "bit/s, given or of the shaper above it",
            "path": "null without --network",
            "path.shown": "queues of the network that the text shows",
            "path.bottlenecks": "nodes that are full",
            "path.verdict": "of all queues together",
            "path.model": "the model of the verdict",
            "path.margins": "of all queues together",
            "path.each": "those of each queue while the others stay as they are",
            "path.factor": "of alpha and beta, that leaves 6 dB and 30 deg",
            "path.p": "of each class",
            "path.rtt": "s, of each class",
            "path.notes": "what else to know",
            "read": "what was found in the text; empty of one output that names its devices",
            "waiting": "which queue has the backlog; empty without counters",
            "tree": "lines, a queue each, indented by what they hang below",
            "traffic": "null without --traffic: of each queue name, text, tc, why_not, and the"
            " recommendation of `tune`",
        },
        notes=(
            "PIE is judged for each CONFIG_HZ and kernel that fit the text, and is undecided where"
            " they differ.\n\n"
            "Exit codes: 0 stable; 1 unstable, or below --require; 2 nothing can be read; 3"
            " undecided: a queue cannot be read or judged, or none has a loop."
            f" Of all commands: {codes.OTHERS}."
        ),
    ),
)
