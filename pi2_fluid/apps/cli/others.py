"""Queues without a verdict, as text: rules of thumb, counters, the tree, and how to run them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pi2_fluid.apps.cli.output import make_grid
from pi2_fluid.apps.cli.pasting import in_shell
from pi2_fluid.laws.clocked import CLOCKED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from pi2_fluid.deployment.strangers import Stranger
    from pi2_fluid.deployment.verdicts import Checked

#: What is to be said of a kernel or a link: a keyword in Python, an option here.
_TO_SAY: Final = re.compile(r"\b(hz|kernel|(?<=give )rate|(?<=give )rtt)(?= \()")
#: Beside what a queue without a verdict is run, and under what, where nothing is known.
_OTHERS: Final = ("pie", "dualpi2")
_TRAFFIC: Final = {"--flows": "4", "--rate": "20Mbit/s", "--path": "40ms"}
_MOST_LINES: Final = 40  # of a tree
_NAMED: Final = 4  # places of queues alike that one block names
_MARKS: Final = {True: "kept", False: "NOT KEPT", None: "not known"}
_STYLES: Final = {True: "green", False: "bold red", None: "yellow"}
_VERDICTS: Final = {"stable": "green", "unstable": "bold red", "undecided": "yellow"}


def print_others(console: Console, checked: Checked, traffic: Mapping[str, str | None]) -> None:
    """Print the queues that are not of the PI family, where packets wait, and what to run.

    `traffic` is as in `print_checked`.
    """
    from pi2_fluid.deployment.trees import branches

    silent: list[str] = []
    alike: dict[Any, list[Stranger]] = {}
    for other in checked.others:
        if not (other.text or other.observed or any(rule.kept is not True for rule in other.rules)):
            silent.append(other.name)
            continue
        key = (other.name, other.text, other.verdict, other.rules, bool(other.lines))
        alike.setdefault(key, []).append(other)
    for group in alike.values():
        _print_group(console, group)
    if branches(checked.tree):
        console.print("tree:")
        for line in checked.tree[:_MOST_LINES]:
            console.print(f"  {printable(line)}", soft_wrap=True)
        if len(checked.tree) > _MOST_LINES:
            console.print(f"  and {len(checked.tree) - _MOST_LINES} more")
        console.print()
    if checked.waiting:
        console.print(f"waiting: {printable(checked.waiting)}")
    _print_command(console, checked.others, traffic)
    if silent:
        console.print(f"Not judged: {printable(', '.join(dict.fromkeys(silent)))}.")


def _print_group(console: Console, group: Sequence[Stranger]) -> None:
    first = group[0]
    console.print(printable(f"{first.name}{_places(group)}"), soft_wrap=True)
    grid = make_grid("left", "left")
    if first.text:
        title = "  no verdict" if first.verdict is None else "  verdict"
        style = "" if first.verdict is None else _VERDICTS[first.verdict]
        grid.add_row(title, printable(in_options(first.text)), style=style)
    mine = first.kind.lower().removeprefix("nss") in CLOCKED
    shown = [rule for rule in first.rules if mine or rule.kept is not True]
    for number, rule in enumerate(shown):
        text = f"{_MARKS[rule.kept]}: {printable(in_options(rule.text))}"
        grid.add_row("  rules" if number == 0 else "", text, style=_STYLES[rule.kept])
    for number, line in enumerate(_counted(group)):
        grid.add_row("  counters" if number == 0 else "", line)
    lines = list(dict.fromkeys(line for other in group for line in other.lines))
    if lines:
        below = "line" if len(lines) == 1 else "lines"
        verb = "keeps" if len(lines) == 1 else "keep"
        grid.add_row("  to change", f"the {below} below {verb} the rules.")
    console.print(grid)
    for line in lines:
        console.print(in_shell(printable(line)), soft_wrap=True, style="bold")
    console.print()


def _places(group: Sequence[Stranger]) -> str:
    """Return where queues alike are."""
    places = [other.parent for other in group if other.parent not in {None, "root"}]
    if not places:
        return ""
    if len(places) == 1:
        return f" parent {places[0]}"
    named = ", ".join(str(place) for place in places[:_NAMED])
    more = f" and {len(places) - _NAMED} more" * (len(places) > _NAMED)
    return f", {len(places)} times: parent {named}{more}"


def _counted(group: Sequence[Stranger]) -> list[str]:
    """Return what counters say, once where several queues have the same to say."""
    said: dict[str, list[str]] = {}
    for one in group:
        for line in one.observed:
            said.setdefault(line, []).append(one.parent or "root")
    return [
        line if len(who) == len(group) else f"at {printable(', '.join(who[:_NAMED]))}, {line}"
        for line, who in said.items()
    ]


def _print_command(
    console: Console, others: Sequence[Stranger], traffic: Mapping[str, str | None]
) -> None:
    """Print the command that runs such queues beside others, with the traffic that is known."""
    ran = [one for one in others if one.verdict is None and one.kind in CLOCKED]
    if not ran:
        return
    known = dict(_TRAFFIC)
    rates = [one.rate for one in ran if one.rate is not None]
    if rates:
        known["--rate"] = f"{min(rates) / 1e6:.12g}Mbit/s"
    known |= {name: value for name, value in traffic.items() if value}
    told = " ".join(f"{name} {value}" for name, value in known.items())
    queues = ",".join(dict.fromkeys([*(one.word or one.kind for one in ran), *_OTHERS]))
    console.print("To compare it with others under your traffic:")
    console.print(f"  pi2-fluid compare --aqm {queues} {told}", soft_wrap=True)
    kernel = "a real kernel, which `pi2-fluid linux build` builds once"
    if any(CLOCKED[one.kind].engine == "Linux" for one in ran):
        console.print(f"cake runs in {kernel}.")
    else:
        console.print(f"These are packets. With --engine linux it is {kernel}.")


def in_options(text: str) -> str:
    """Return a sentence with what it asks for as options."""
    return _TO_SAY.sub(r"--\1", text)


def printable(text: str) -> str:
    """Return text from elsewhere without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
