"""Verdicts on queues, as a screen of text."""

from __future__ import annotations

import math
import re
import shlex
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.apps.cli.chance import plus_minus
from pi2_fluid.apps.cli.margin_tables import how_often
from pi2_fluid.apps.cli.others import in_options, print_others, printable
from pi2_fluid.apps.cli.output import make_console, make_grid
from pi2_fluid.apps.cli.pasting import in_shell
from pi2_fluid.design.clocks import BY_CLOCK, least_of, said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import SupportsFloat

    from rich.console import Console
    from rich.table import Table

    from pi2_fluid.deployment.paths import PathVerdict
    from pi2_fluid.deployment.remedies import Remedy
    from pi2_fluid.deployment.verdicts import Case, Checked, Verdict
    from pi2_fluid.loop import Margins

_STYLES: Final = {"stable": "green", "unstable": "bold red", "undecided": "yellow"}
_NAMED: Final = 4  # queues alike that one block names
_SLIGHT: Final = 0.1  # dB of rounding, or percent: less is not worth a line
_BEYOND: Final = 200.0  # dB or degrees: more is nothing that one could leave


def print_checked(checked: Checked, who: str, traffic: Mapping[str, str | None]) -> None:
    """Print what `check` has found.

    Parameters
    ----------
    checked : Checked
    who : str
        The senders.
    traffic : mapping
        What is known of who sends, by options of `pi2-fluid compare`; None: not known.
    """
    console = make_console()
    if checked.form:
        console.print(f"read: {printable(checked.form)}\n")
    alike: dict[Any, list[Verdict]] = {}
    for one in checked:
        queue = one.qdisc
        key = (
            queue.kind,
            queue.dev,
            queue.namespace,
            *one.qdisc.asked.values(),
            one.verdict,
            one.note,
        )
        alike.setdefault(key, []).append(one)
    for group in alike.values():
        _print_block(console, group, who)
    if checked.path is not None:
        _print_path(console, checked.path)
    print_others(console, checked, traffic)
    notes = dict.fromkeys(note for one in checked for note in one.notes)
    notes |= {checked.note: None} if checked.note else {}
    for note in notes | dict.fromkeys(() if checked.path is None else checked.path.notes):
        console.print(in_options(note))


def _print_block(console: Console, group: list[Verdict], who: str) -> None:
    verdict = group[0]
    console.print(", ".join(name_of(alike) for alike in group[:_NAMED]), end="")
    console.print(f", and {len(group) - _NAMED} alike" if len(group) > _NAMED else "")
    grid = make_grid("left", "left")
    grid.add_row("  verdict", _verdict(verdict, who), style=_STYLES[verdict.verdict])
    if verdict.cases:
        _add_cases(grid, verdict)
    else:
        _add_numbers(grid, verdict)
    small = bool(verdict.reason) and not verdict.cases  # of which the verdict says that already
    if verdict.long_flows.rate is None and math.isfinite(verdict.rate_held) and not small:
        grid.add_row("  limit", _room(verdict))
    for number, line in enumerate(_counted(group)):
        grid.add_row("  counters" if number == 0 else "", line)
    _add_remedy(grid, verdict.remedy)
    console.print(grid)
    for line in _lines(group):
        console.print(line, soft_wrap=True, style="bold")
    console.print()


def _add_numbers(grid: Table, verdict: Verdict) -> None:
    """Add what a loop has left, where, and as what the kernel runs it."""
    known = [f" ({verdict.guarantee})", " (checked)"] if verdict.verdict == "stable" else ["", ""]
    grid.add_row("  stable up to", _limit(verdict.stable_up_to, verdict))
    grid.add_row("  margins", f"{_margins(verdict.margins)} by rates{known[0]}")
    if verdict.ack_margins is not None:
        grid.add_row("", f"{_margins(verdict.ack_margins)} by acknowledgements{known[1]}")
    grid.add_row("  smallest at", _worst(verdict))
    period = _period(verdict)
    if verdict.verdict == "stable" and math.isfinite(period):
        grid.add_row("  period", how_often(period, verdict.least.gain_margin_db))
    if verdict.chance:
        grid.add_row("  by chance", _chance(verdict))
    law = verdict.qdisc.aqm
    grid.add_row(
        "  would run with" if verdict.qdisc.proposed else "  runs with",
        f"alpha {law.alpha:.4g} Hz, beta {law.beta:.4g} Hz, T {_ms(law.update_interval)},"
        f" target {_ms(law.target)}",
    )
    # FreeBSD shows what it runs with.
    if not verdict.qdisc.of_freebsd and not abs(verdict.margin_lost_db) < _SLIGHT:
        grid.add_row("  rounding", _rounding(verdict))


def _period(one: Verdict) -> float:
    """Return the time (s) from peak to peak where the smaller gain margin is, at 0 dB."""
    deciding = one.ack_margins if one.least.gain_clock == "acks" else one.margins
    return math.inf if deciding is None else float(deciding.oscillation_period)


def _add_remedy(grid: Table, remedy: Remedy) -> None:
    """Add what one would change, what that leaves, and what it costs."""
    from pi2_fluid.design.costs import cost_of  # which help does without

    changed = remedy.aqm
    if changed is None or remedy.margins is None:
        grid.add_row("  to change", in_options(remedy.text))
        return
    left = said(least_of(remedy.margins, remedy.ack_margins), 1)
    if remedy.tc is None:
        grid.add_row("  to change", in_options(remedy.text))
        grid.add_row("", f"It then has {left}.")
    else:
        grid.add_row("  to change", f"the line below leaves {left}.")
    if cost := cost_of(changed):
        grid.add_row("  it costs", cost)


def _counted(group: list[Verdict]) -> list[str]:
    """Return what counters say, once where several queues have the same to say."""
    said: dict[str, list[str]] = {}
    for one in group:
        for line in one.observed:
            said.setdefault(line, []).append(one.qdisc.parent or "root")
    return [
        line if len(who) == len(group) else f"at {printable(', '.join(who[:_NAMED]))}, {line}"
        for line, who in said.items()
    ]


def _print_path(console: Console, path: PathVerdict) -> None:
    """Print what the queues of a network are together."""
    console.print(printable(f"together: {', '.join(path.bottlenecks)}"))
    grid = make_grid("left", "left")
    flows = ", ".join(
        f"{name} of {_ms(rtt)}"
        for name, rtt in zip(path.network.class_names, path.rest.rtt.to_numpy(), strict=True)
    )
    grid.add_row("  flows", printable(f"{flows}, with the queues"))
    text = f"{path.verdict.upper()} by rates, in the {path.margins.update} model"
    grid.add_row("  verdict", text, style=_STYLES[path.verdict])
    grid.add_row("  margins", f"{_margins(path.margins)}, of all at once")
    for name, margins in path.each.items():
        grid.add_row("", f"{_margins(margins)} at {printable(name)} while the others stay")
    idle = [name for name in path.network.node_names if name not in path.bottlenecks]
    if idle:
        grid.add_row("  signal nothing", printable(", ".join(idle)))
    if path.factor is None:
        grid.add_row("  to change", "smaller gains alone do not leave 6 dB and 30 deg.")
    elif path.factor < 1.0:
        grid.add_row(
            "  to change",
            f"multiply alpha and beta of all by {path.factor:.3g}: that leaves 6 dB and 30 deg.",
        )
    console.print(grid)
    console.print()


def _add_cases(grid: Table, one: Verdict) -> None:
    law = one.qdisc
    gains = ", ".join(f"{name} {law.asked[name]:.4g} Hz" for name in ("alpha", "beta"))
    interval = (law.asked if law.proposed else law.shown)["tupdate"]
    verb = "  asks for" if law.proposed else "  shows"
    grid.add_row(verb, f"{gains}, tupdate {_ms(interval)}")
    versions = len({case.kernel for case in one.cases}) > 1
    for number, case in enumerate(one.cases):
        would = "  would be" if law.proposed else "  could be"
        grid.add_row(would if number == 0 else "", _case(case, one, versions=versions),
                     style=_STYLES[case.verdict])  # fmt: skip


def _case(case: Case, one: Verdict, *, versions: bool) -> str:
    kernel = f"Linux {case.kernel}, " if versions else ""
    return (
        f"{kernel}HZ {case.hz}: T {_ms(case.update_interval)}, {case.verdict}"
        f" {_limit_of_case(case, one)}"
    )


def _limit_of_case(case: Case, one: Verdict) -> str:
    if math.isinf(case.stable_up_to):
        return "at any RTT tried"
    if case.stable_up_to == 0.0:
        return f"already at {_ms(one.min_rtt)}"
    return f"{'up to' if case.verdict == 'stable' else 'above'} {_ms(case.stable_up_to)}"


def name_of(one: Verdict) -> str:
    """Return a queue with its handle, its device and its place."""
    queue = one.qdisc
    where = "root" if queue.parent in (None, "root") else f"parent {queue.parent}"
    if queue.of_freebsd:
        return printable(queue.name)
    if queue.is_law:
        return printable(queue.handle or queue.kind)
    dev = "" if queue.dev is None else f"dev {queue.dev} "
    dev += "" if queue.namespace is None else f"in {queue.namespace} "
    if queue.proposed:
        handle = "" if queue.handle is None else f"{queue.handle} "
        return printable(f"proposed: {queue.kind} {handle}{dev}{where}")
    return printable(f"{queue.kind} {queue.handle} {dev}{where}")


def _verdict(verdict: Verdict, who: str) -> str:
    """Return the verdict, of what it is, and the smaller margin."""
    if verdict.verdict == "undecided" and verdict.reason:
        return f"UNDECIDED: {in_options(verdict.reason)}"
    period, least = _period(verdict), verdict.least
    edge = ", but at the edge," if verdict.at_the_edge else ""
    of = f"with RTTs {_span(verdict)} (queue included)"
    margin = f"Smallest margin: {_decibels(least.gain_margin_db)}, {BY_CLOCK[least.gain_clock]}."
    if least.gain_margin_db < -_BEYOND:
        margin = "No smaller gain alone would make it stable."
    if verdict.verdict == "stable":
        return f"STABLE{edge} for {_load(verdict, who, 'any number of')} {of}. {margin}"
    if verdict.verdict == "undecided":
        return f"UNDECIDED for {_load(verdict, who, 'any number of')} {of}: on the edge. {margin}"
    how = ""
    if least.gain_margin_db < 0.0:
        often = how_often(period, least.gain_margin_db) if math.isfinite(period) else "oscillates"
        how = f": the delay {often}"
    return f"UNSTABLE for {_load(verdict, who, 'some number of')} {of}{how}. {margin}"


def _span(one: Verdict) -> str:
    """Return which round-trip times were judged: from the least there can be, or as given."""
    from pi2_fluid.design.asked import LONGEST_INTERVAL  # which help does without

    law = one.qdisc.aqm
    least = max(float(law.target), float(law.update_interval) / LONGEST_INTERVAL)
    if math.isclose(one.min_rtt, least, rel_tol=1e-6):
        return f"up to {_ms(one.rtt)}"
    return f"of {1e3 * one.min_rtt:.3g} to {_ms(one.rtt)}"


def _room(one: Verdict) -> str:
    """Return on which links a buffer is full below the target."""
    from pi2_fluid.units import rate_in_words

    return (
        f"{one.qdisc.asked['limit']:.0f} packets fill up below the target on links above"
        f" {rate_in_words(one.rate_held, 3)}"
    )


def _load(one: Verdict, who: str, any_of_them: str) -> str:
    """Return which flows a verdict speaks of."""
    traffic = one.long_flows
    if not traffic.bounds:
        return f"{any_of_them} {who} flows"
    if traffic.rate is None:
        return f"{any_of_them} {who} flows with {traffic.text}"
    some = "" if one.verdict == "stable" or traffic.fewest == traffic.most else "some of "
    return some + re.sub(r"(?<= )(flows?)(?= on)", rf"{who} \1", traffic.text, count=1)


def _chance(verdict: Verdict) -> str:
    """Return by how much chance alone moves the delay; not where the linear loop does not know."""
    known = [
        f"{plus_minus(each.delay_sd)} with {each.flows} flow{'s' * (each.flows != 1)}"
        for each in verdict.chance
        if not each.large
    ]
    unknown = [
        f"with {each.flows} flow{'s' * (each.flows != 1)} p' falls to 0 now and then"
        for each in verdict.chance
        if each.large
    ]
    said = [f"the delay scatters by {', '.join(known)}, over {_ms(verdict.rtt)}"] if known else []
    return "; ".join([*said, *unknown])


def _limit(limit: float, one: Verdict) -> str:
    if math.isinf(limit):
        return f"any RTT that was tried: 20 times {_ms(one.rtt)}"
    if limit == 0.0:
        return f"no RTT: unstable already at {_ms(one.min_rtt)}"
    return f"{_ms(limit)}: a path of {_ms(one.path_up_to)}, and the queue"


def _worst(verdict: Verdict) -> str:
    from pi2_fluid.network.long_flows import PACKET_BITS
    from pi2_fluid.units import rate_in_words

    worst, window = verdict.decisive, verdict.window
    who, rtt = type(worst.sender).__name__, _ms(worst.rtt)
    if math.isinf(window):
        return f"{rtt}, with few {who} flows of very large windows"
    p = worst.p_prime ** (2 if worst.sender.signal == "classic" else 1)
    rate = window * PACKET_BITS / worst.rtt
    load, speed = f"{_count(window)} packets in flight", rate_in_words(rate, 3)
    if verdict.count is not None and verdict.count <= 1.0:
        return f"{rtt}, with {verdict.count:.3g} {who} flow of {load} ({speed}, p {p:.2g})"
    many = f"{who} flows" if verdict.count is None else f"{verdict.count:.3g} {who} flows"
    return f"{rtt}, with {many} of {load} ({speed} each, p {p:.2g})"


def _rounding(one: Verdict) -> str:
    off = {name: 100.0 * error for name, error in one.qdisc.rounding.items()}
    words = [
        f"{name} {abs(error):.2f} % {'larger' if error > 0.0 else 'smaller'}"
        for name, error in off.items()
        if abs(error) >= _SLIGHT
    ]
    lost = one.margin_lost_db
    effect = "unrounded, the verdict would be another"
    if abs(lost) <= _BEYOND:
        effect = f"{abs(lost):.2f} dB of margin {'lost' if lost > 0.0 else 'gained'}"
    return f"the kernel makes {', '.join(words) or 'them other numbers'}: {effect}"


def _margins(margins: Margins) -> str:
    """Return gain and phase margin; where no gain would do, in words."""
    gain, phase = float(margins.gain_margin_db), float(margins.phase_margin_deg)
    if gain < -_BEYOND or phase < -_BEYOND:
        return _decibels(-math.inf)
    return f"{_decibels(gain)}, {min(phase, 180.0):.1f} deg"


def _decibels(gain: float) -> str:
    """Return a gain margin; where no gain would do, or any, in words."""
    if gain < -_BEYOND:
        return "none: no smaller gain alone would make it stable"
    return "any gain" if gain > _BEYOND else f"{gain:.2f} dB"


def _lines(group: Sequence[Verdict]) -> list[str]:
    """Return the commands that change queues that are alike: one of each, or a loop over them."""
    lines = [one.remedy.tc for one in group if one.remedy.tc is not None]
    if len(lines) <= 1:
        return [in_shell(printable(line)) for line in lines]
    first = group[0].qdisc
    parents = [shlex.quote(one.qdisc.parent or "root") for one in group]
    place = f" parent {parents[0]} {first.kind} "
    before, found, after = lines[0].partition(place)
    looped = f"{before} parent $p {first.kind} {after}"
    if not found or len(set(parents)) < len(parents):
        return [in_shell(printable(line)) for line in dict.fromkeys(lines)]
    return [
        in_shell(printable(f"for p in {_listed(parents)}; do")),
        in_shell(printable(f"    {looped}; done")),
    ]


def _listed(parents: list[str]) -> str:
    """Return classes for a shell's loop; those in a row as one expression."""
    majors = {parent.rpartition(":")[0] for parent in parents}
    try:
        minors = [int(parent.rpartition(":")[2], 16) for parent in parents]
    except ValueError:
        return " ".join(parents)
    low = minors[0]
    if len(majors) > 1 or minors != list(range(low, low + len(minors))):
        return " ".join(parents)
    return f"$(printf '{majors.pop()}:%x ' $(seq {low} {low + len(minors) - 1}))"


def _count(number: float) -> str:
    return f"{number:.0f}" if 100.0 <= number < 1e6 else f"{number:.3g}"


def _ms(seconds: SupportsFloat) -> str:
    return f"{1e3 * float(seconds):.4g} ms"
