"""Families of traffic: `pi2-fluid traffic`, and the options by which commands are told of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import completing
from pi2_fluid.apps.cli.declaring import TRAFFIC, Command
from pi2_fluid.apps.cli.options import option
from pi2_fluid.apps.cli.output import (
    JsonFlag,
    make_console,
    make_grid,
    print_catalogue,
    print_json,
)
from pi2_fluid.apps.cli.senders import read_flows
from pi2_fluid.apps.cli.wording import in_words_of_shell
from pi2_fluid.errors import QuantityError, show_value

if TYPE_CHECKING:
    from rich.console import Console

    from pi2_fluid.network.cells import Cell
    from pi2_fluid.network.traffic import Traffic

#: What Python's `Traffic` calls its numbers -> what the shell does.
_OPTIONS: Final = {name: f"--{name}" for name in ("rate", "rtt", "long", "l4s")}

TrafficRate = Annotated[
    str | None,
    option("RATE", "Rate of every cell, as 20Mbit/s; its changes follow in proportion.", "Traffic"),
]
PathTimes = Annotated[
    str | None,
    option(
        "TIME|FROM..TO",
        "Shortest and longest round-trip time of long flows, without queue: 10ms..80ms.",
        "Traffic",
    ),
]
LongCounts = Annotated[
    str | None,
    option("NUMBER|FROM:TO", "Fewest and most long flows that share the link: 1:4.", "Traffic"),
]
L4sShare = Annotated[
    str | None,
    option("NUMBER", "Share of long flows that is L4S, from 0 to 1.", "Traffic", "--l4s"),
]


def traffic(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD | FILE",
            autocompletion=completing.traffic,
            help="A kind of traffic that comes with the package, or files. Without a word and"
            " without numbers: list the kinds.",
        ),
    ] = None,
    rate: TrafficRate = None,
    rtt: PathTimes = None,
    long: LongCounts = None,
    l4s: L4sShare = None,
    as_toml: Annotated[
        bool, option(None, "Print it as TOML, to change it and give it back.", None, "--toml")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """List kinds of traffic, such as home or office, or show one."""
    from pi2_fluid.network.catalogue import (
        describe_traffic,
        is_file,
        traffic_names,
        traffic_text,
    )

    given = names or []
    plain = (rate, rtt, long, l4s) == (None,) * 4
    if plain and not given:
        print_catalogue("traffic", traffic_names(), describe_traffic, as_json)
        return
    family = load_traffic(given, rate, rtt, long, l4s)
    if as_json:
        print_json(family.to_dict())
    elif as_toml:
        packaged = plain and given == [family.name] and not is_file(family.name)
        # What comes with the package has comments.
        typer.echo(traffic_text(family.name) if packaged else family.to_toml(), nl=False)
    else:
        _show(family, make_console())


def load_traffic(
    names: Sequence[str],
    rate: str | None = None,
    rtt: str | None = None,
    long: str | None = None,
    l4s: str | None = None,
) -> Traffic:
    """Return the family of words or files, with numbers as the shell has them.

    Raises
    ------
    OSError, QuantityError, DomainError, ScenarioError, UnsupportedError
        As `Traffic`, in the words of the shell.
    """
    from pi2_fluid.network.traffic import Traffic

    given: Any = names[0] if len(names) == 1 else tuple(names) or None
    counts: Any = None if long is None else read_flows(long, "--long")
    with in_words_of_shell(_OPTIONS):
        return Traffic(given, rate=rate, rtt=_times(rtt), long=counts, l4s=l4s)


def _times(text: str | None) -> str | tuple[str, str] | None:
    """Return a time, or two of a span, as they are written."""
    first, *others = [end.strip() for end in (text or "").split("..")]
    if text is None:
        return None
    if len(others) > 1 or not all((first, *others)):
        raise QuantityError(
            f"--rtt {show_value(text)} is no span of times: give one, or two as 10ms..80ms."
        )
    return (first, others[0]) if others else first


def _show(family: Traffic, console: Console) -> None:
    """Print the cells as a table, and below it why each is there and who measured that."""
    if family.title:
        console.print(f"{family.title}\n")
    if family.note:
        console.print(f"{' '.join(family.note.split())}\n")
    grid = make_grid("left", *["right"] * 4, "left", "left")
    grid.columns[0].no_wrap = True
    grid.add_row("cell", "Mbit/s", "long", "RTT", "window", "short", "events")
    for cell in family.cells:
        grid.add_row(*_row(cell))
    console.print(grid)
    console.print(
        "\nlong: how many long flows there are at once; RTT: theirs in ms, without queue; window:"
        " theirs in segments, at the target. short: classes of short flows. events: when traffic or"
        " link change, in s; a minus: less is offered from then on.\n"
    )
    for cell in family.cells:
        said = [" ".join(word.split()) for word in (cell.why, cell.source) if word]
        if said:
            console.print(f"{cell.name}: {' '.join(said)}")
    for caveat in family.caveats:
        console.print(f"\nbeware: {caveat}.")


def _row(cell: Cell) -> tuple[str, ...]:
    rtts = None if cell.rtts is None else [1e3 * rtt for rtt in cell.rtts]
    short, *others = cell.short_classes or ("",)
    return (
        cell.name,
        f"{float(cell.scenario.link.capacity) / 1e6:.4g}",
        _ends(cell.long_flows),
        _ends(rtts),
        _ends(cell.windows),
        f"{short} +{len(others)}" if others else short,
        ", ".join(f"{event.at:g}{'-' if event.falls else ''}" for event in cell.events),
    )


def _ends(ends: Sequence[float] | None) -> str:
    """Return two numbers, or one where they are equal, as people read them."""
    if ends is None:
        return ""
    low, high = (f"{end:.0f}" if end >= 9.5 else f"{end:.2g}" for end in ends)
    return low if low == high else f"{low}..{high}"


COMMANDS: tuple[Command, ...] = (
    Command(
        traffic,
        panel=TRAFFIC,
        examples=(
            "pi2-fluid traffic",
            "pi2-fluid traffic home --rate 50Mbit/s",
            "pi2-fluid traffic --rate 20Mbit/s --rtt 10ms..80ms --long 1:4",
            "pi2-fluid traffic home --toml > mine.toml",
        ),
        json={
            "traffic": "without a family: a list of {name, description}",
            "name": "of a family",
            "title": "of a family: one sentence",
            "note": "of a family: what else to know",
            "shortest_rtt": "of a family: s, of long flows, without queue",
            "typical_rtt": "of a family: s",
            "longest_rtt": "of a family: s",
            "caveats": "of a family: what may mislead",
            "cells": "of a family: a list of {name, why, source, rate (bit/s), rtts (s),"
            " long_classes, long_flows, windows (segments), short_classes, events {at (s), falls},"
            " steady, after (s)}",
        },
    ),
)
