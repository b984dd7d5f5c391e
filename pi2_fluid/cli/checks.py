"""Queues that run: `pi2-fluid check`."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.cli import codes
from pi2_fluid.cli.output import JsonFlag, make_console, make_grid, print_json, tell
from pi2_fluid.cli.pasting import in_shell
from pi2_fluid.cli.senders import NAMES, read_senders
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.model.registry import kind_of

if TYPE_CHECKING:
    from pi2_fluid.design.deployment.checking import Checked, Verdict

__all__ = ["COMMANDS", "check"]

_STYLES: Final = {"stable": "green", "unstable": "bold red", "undecided": "yellow"}
_VERDICT_CODE: Final = {
    "stable": codes.STABLE,
    "unstable": codes.UNSTABLE,
    "undecided": codes.UNDECIDED,
}
_NAMED: Final = 4  # queues alike that one block names
_SLIGHT: Final = 0.005  # dB, less is shown as nothing


def check(
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT|-", help='What "tc qdisc show" prints, or - for standard input.'
        ),
    ] = None,
    rtt: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Largest round-trip time in the loop, target included: 100ms."
        ),
    ] = "100ms",
    min_rtt: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The smallest. Default the target of the queue."),
    ] = None,
    sender: Annotated[
        str,
        typer.Option(metavar="NAMES", help=f"Who sends, with commas: {', '.join(NAMES)}."),
    ] = "reno",
    hz: Annotated[
        str,
        typer.Option(
            "--hz", metavar="NUMBER", help="The kernel's CONFIG_HZ: 100, 250, 300 or 1000."
        ),
    ] = "1000",
    as_json: JsonFlag = False,
) -> None:
    """Say of queues that tc shows whether they are stable, how narrowly, and what would help."""
    if text is None:
        raise QuantityError(
            "the queues are missing: give what `tc qdisc show` prints, or - for standard input."
        )
    who = read_senders(sender)
    if not (hz.isascii() and hz.isdigit() and len(hz) <= len("1000")):
        raise QuantityError(f"--hz {show_value(hz)} is no whole number: give the kernel's, as 250.")
    shown = _read_input() if text == "-" else text

    from pi2_fluid.design.deployment.checking import check as judge
    from pi2_fluid.design.deployment.remedies import is_enough

    found = judge(
        shown,
        rtt=rtt,
        min_rtt=min_rtt,
        senders=list(who.values()),
        hz=int(hz),
    )
    if not all(is_enough(one.margins) for one in found):
        tell("searching for gains with more margin")
    if as_json:
        print_json(
            {
                "qdiscs": [_to_dict(one) for one in found],
                "verdict": found.verdict,
                "foreign": found.foreign,
            }
        )
    else:
        _print(found, " or ".join(who))
    raise typer.Exit(_VERDICT_CODE[found.verdict])


def _read_input() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise QuantityError(
            "standard input is no text: give the output of `tc qdisc show`."
        ) from None


# JSON


def _to_dict(one: Verdict) -> dict[str, Any]:
    queue, worst, remedy = one.qdisc, one.worst, one.remedy
    return {
        "kind": queue.kind,
        "dev": queue.dev,
        "parent": queue.parent,
        "handle": queue.handle,
        "asked": queue.asked,
        "installed": _law(queue.aqm),
        "rounding": queue.rounding,
        "verdict": one.verdict,
        "guarantee": one.guarantee,
        "rtt": one.rtt,
        "min_rtt": one.min_rtt,
        "rtt_limit": one.stable_up_to,
        "path_limit": one.path_up_to,
        "worst": {
            "rtt": worst.rtt,
            "p_prime": worst.p_prime,
            "sender": kind_of(worst.sender),
            **_margins(one.margins),
        },
        "margin_lost_db": one.margin_lost_db,
        "remedy": {
            "text": remedy.text,
            "tc": remedy.tc,
            "installed": None if remedy.aqm is None else _law(remedy.aqm),
            "margins": None if remedy.margins is None else _margins(remedy.margins),
        },
        "note": one.note,
    }


def _law(law: Any) -> dict[str, float]:
    names = ("alpha", "beta", "target", "update_interval")
    return {name: float(getattr(law, name)) for name in names}


def _margins(margins: Any) -> dict[str, float]:
    names = ("gain_margin_db", "phase_margin_deg", "modulus_margin", "delay_margin")
    return {name: float(getattr(margins, name)) for name in names}


# Text


def _print(found: Checked, who: str) -> None:
    console = make_console()
    alike: dict[Any, list[Verdict]] = {}
    for one in found:
        alike.setdefault((one.qdisc.kind, *one.qdisc.asked.values()), []).append(one)
    for group in alike.values():
        _print_block(console, group, who)
    for note in dict.fromkeys(one.note for one in found):
        console.print(note)
    if found.foreign:
        console.print(f"Not judged: {_printable(', '.join(found.foreign))}.")


def _print_block(console: Any, group: list[Verdict], who: str) -> None:
    one, worst = group[0], group[0].worst
    console.print(", ".join(_name(alike) for alike in group[:_NAMED]), end="")
    console.print(f", and {len(group) - _NAMED} alike" if len(group) > _NAMED else "")
    law = one.qdisc.aqm
    grid = make_grid("left", "left")
    grid.add_row(
        "  as installed",
        f"alpha {law.alpha:.4g} Hz, beta {law.beta:.4g} Hz, T {_ms(law.update_interval)}, target"
        f" {_ms(law.target)}",
    )
    grid.add_row("  verdict", _verdict(one, who), style=_STYLES[one.verdict])
    grid.add_row("  stable up to", _limit(one))
    grid.add_row(
        "  margins left",
        f"{one.margins.gain_margin_db:.2f} dB, {one.margins.phase_margin_deg:.1f} deg"
        + (f" ({one.guarantee})" if one.verdict == "stable" else ""),
    )
    load = "a vanishing load"
    if worst.p_prime > 0.0:
        p = worst.p_prime ** (2 if worst.sender.signal == "classic" else 1)
        load = f"p' {worst.p_prime:.3g} (p {p:.3g})"
    grid.add_row(
        "  closest at",
        f"rtt {_ms(worst.rtt)} and {load} of {kind_of(worst.sender)}",
    )
    grid.add_row("  rounding", _rounding(one))
    remedy = one.remedy
    grid.add_row("  to change", remedy.text)
    if remedy.aqm is not None and remedy.margins is not None:
        changed = remedy.aqm
        grid.add_row(
            "",
            f"{remedy.margins.gain_margin_db:.2f} dB, {remedy.margins.phase_margin_deg:.1f} deg as"
            f" alpha {changed.alpha:.3g} Hz, beta {changed.beta:.3g} Hz,"
            f" T {_ms(changed.update_interval)}:",
        )
    console.print(grid)
    for alike in group:
        if alike.remedy.tc is not None:
            console.print(in_shell(_printable(alike.remedy.tc)), soft_wrap=True, style="bold")
    console.print()


def _name(one: Verdict) -> str:
    queue = one.qdisc
    where = "root" if queue.parent in (None, "root") else f"parent {queue.parent}"
    dev = "" if queue.dev is None else f"dev {queue.dev} "
    return _printable(f"{queue.kind} {queue.handle} {dev}{where}")


def _verdict(one: Verdict, who: str) -> str:
    span = f"from {1e3 * one.min_rtt:.3g} to {_ms(one.rtt)} in the loop, at"
    return {
        "stable": f"STABLE {span} any load of {who}",
        "unstable": f"UNSTABLE {span} some load of {who}",
        "undecided": f"UNDECIDED {span} some load of {who}",
    }[one.verdict]


def _limit(one: Verdict) -> str:
    if math.isinf(one.stable_up_to):
        return f"any RTT, as far as tried: 20 times {_ms(one.rtt)}"
    if one.stable_up_to == 0.0:
        return f"nothing from {_ms(one.min_rtt)} on, which is unstable already"
    return f"{_ms(one.stable_up_to)} in the loop, paths of {_ms(one.path_up_to)}"


def _rounding(one: Verdict) -> str:
    words = [f"{name} {100 * error:+.2f} %" for name, error in one.qdisc.rounding.items()]
    lost = one.margin_lost_db
    effect = "0.00 dB lost"
    if abs(lost) >= _SLIGHT:
        effect = f"{abs(lost):.2f} dB {'lost' if lost > 0.0 else 'gained'}"
    return f"{', '.join(words)}; {effect}"


def _ms(seconds: Any) -> str:
    return f"{1e3 * float(seconds):.4g} ms"


def _printable(text: str) -> str:
    """Return text from elsewhere without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


COMMANDS: tuple[tuple[Any, str], ...] = (
    (
        check,
        (
            "Examples:\n\n"
            'pi2-fluid check "$(tc qdisc show dev eth0)"\n\n'
            "tc -j qdisc show | pi2-fluid check - --rtt 60ms --sender reno,scalable --json\n\n"
            "JSON: qdiscs (a list: kind, dev, parent, handle; asked and installed, SI units;"
            " rounding; verdict; guarantee; rtt, min_rtt, rtt_limit in the loop and path_limit"
            " without the target, s; worst: rtt, p_prime, sender and the smallest margins, a"
            " p_prime of 0 is the limit of no load; margin_lost_db; remedy: text, tc, installed,"
            " margins; note), verdict (the worst), foreign. What is infinite is the text"
            ' "inf" or "-inf".\n\n'
            "The exit code is the verdict: 0 stable, 1 unstable, 3 undecided; 2 if the text cannot"
            " be read."
        ),
    ),
)
