"""Queues as they run: `pi2-fluid watch`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from pi2_fluid.apps.cli import codes
from pi2_fluid.apps.cli.declaring import MEASURE, Command
from pi2_fluid.apps.cli.options import option
from pi2_fluid.apps.cli.output import make_console
from pi2_fluid.apps.cli.watched_json import EXPLAINED, to_dict
from pi2_fluid.errors import QuantityError, show_value
from pi2_fluid.progress import tell

if TYPE_CHECKING:
    from pi2_fluid.apps.cli.scraping import Metrics
    from pi2_fluid.apps.cli.watched import Total
    from pi2_fluid.deployment.watching import Instant, Watcher
    from pi2_fluid.tc.observing.following import Follower, Output

_SHORTEST: Final = 0.05  # s: below it tc itself is what the machine does
_DIGITS: Final = 10
_NEARLY: Final = 0.9  # of a time between blocks, as a machine looks a little early or late


def watch(
    source: Annotated[
        str,
        typer.Argument(
            metavar="DEV|FILE|-",
            help="A device of this machine. Or a log of tc -s, as text or JSON, with times between."
            " Or - for such outputs on standard input, as they come.",
        ),
    ],
    every: Annotated[
        str | None,
        option(
            "TIME",
            "How often tc is asked, and a block of text is printed. Default 1s, and a block at each"
            " change.",
        ),
    ] = None,
    dev: Annotated[str | None, option("NAME", "The device to watch, of several in a log.")] = None,
    count: Annotated[str | None, option("NUMBER", "End after so many outputs.")] = None,
    length: Annotated[
        str | None, option("TIME", "End after so long, as 60s.", None, "--for")
    ] = None,
    metrics: Annotated[
        str | None,
        option(
            "PORT|FILE",
            "Have the counters as OpenMetrics, at this port of 127.0.0.1 (0: one that is free), or"
            " in a file that ends with .prom.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a line for each output.")
    ] = False,
) -> None:
    """Watch a device's queues run, and say who is the bottleneck.

    It says rates, delays, marks, drops and what changed last. It asks tc what there is, and changes
    nothing.
    """
    from pi2_fluid.tc.observing.following import Follower

    step = None if every is None else _seconds(every, "--every")
    if step is not None and step < _SHORTEST:
        raise QuantityError(
            f"--every {every} is shorter than {1e3 * _SHORTEST:g} ms, which tc itself takes: give"
            " a longer time."
        )
    most = None if count is None else _whole(count)
    longest = None if length is None else _seconds(length, "--for")
    follower = Follower()
    outputs, live = _outputs(source, step or 1.0, follower)
    with ExitStack() as stack:
        shown: Metrics | None = None
        if metrics is not None:
            from pi2_fluid.apps.cli.scraping import Metrics

            shown = stack.enter_context(closing(Metrics(metrics)))
            typer.echo(f"metrics: {shown.where}", err=True)
        watching = _Watching(step, dev, most, longest, shown, follower, as_json=as_json, live=live)
        interrupted = False
        try:
            with watching.screen():
                watching.run(outputs)
        except KeyboardInterrupt:
            interrupted = True
        watching.end(source, interrupted=interrupted)
    if interrupted:
        raise SystemExit(codes.INTERRUPTED)


def _outputs(source: str, step: float, follower: Follower) -> tuple[Iterator[Output], bool]:
    """Return the outputs, and whether they come as time goes on."""
    from pi2_fluid.apps.cli.arriving import is_file, of_file, of_stream

    if source == "-":
        return of_stream(sys.stdin, follower), True
    if is_file(source):
        return of_file(source, follower), False
    from pi2_fluid.deployment.watching.asking import asked

    return asked(source, step, follower), True


class _Watching:
    """The devices that are watched, and how what is seen of them is said."""

    def __init__(
        self,
        every: float | None,
        dev: str | None,
        most: int | None,
        longest: float | None,
        metrics: Metrics | None,
        follower: Follower,
        *,
        as_json: bool,
        live: bool,
    ) -> None:
        self._every, self._dev, self._most, self._longest = every, dev, most, longest
        self._metrics, self._follower, self._as_json = metrics, follower, as_json
        self._console = make_console()
        self._redraws = live and not as_json and self._console.is_terminal
        self._live: Any = None
        self._watchers: dict[str, Watcher] = {}
        self._totals: dict[str, Total] = {}
        self._printed: dict[str, tuple[float | None, tuple[str, str | None]]] = {}
        self._last: dict[str, Instant] = {}
        self._others: set[str] = set()
        self._start: float | None = None
        self._count = 0

    def screen(self) -> Any:
        """Return what redraws a block, where that can be."""
        from contextlib import nullcontext

        if not self._redraws:
            return nullcontext()
        from rich.live import Live

        self._live = Live(console=self._console, auto_refresh=False)
        return self._live

    def run(self, outputs: Iterator[Output]) -> None:
        """Watch until nothing comes any more, or enough came."""
        from pi2_fluid.apps.cli.watched import Total
        from pi2_fluid.deployment.watching import Watcher

        for output in outputs:
            if self._dev is not None and output.where[2] != self._dev:
                self._others.add(output.device)
                continue
            watcher = self._watchers.setdefault(output.device, Watcher())
            instant = watcher.see(output)
            if instant is None:
                continue
            self._totals.setdefault(output.device, Total()).add(instant, watcher.first)
            self._count += 1
            self._say(instant)
            if self._is_enough(instant):
                return

    def _say(self, instant: Instant) -> None:
        from pi2_fluid.apps.cli.watched import block_of

        if self._metrics is not None:
            self._metrics.show(instant)
        self._last[instant.device] = instant
        warnings = self._follower.warnings
        if self._as_json:
            typer.echo(_line(to_dict(instant, self._noted(instant, warnings))))
            sys.stdout.flush()
        elif self._live is not None:
            from rich.console import Group

            blocks = [block_of(one, warnings) for one in self._last.values()]
            self._live.update(Group(*blocks), refresh=True)
        elif self._is_due(instant):
            self._console.print(block_of(instant, self._noted(instant, warnings)))
            self._console.print()

    def _noted(self, instant: Instant, warnings: Sequence[str]) -> list[str]:
        missing = "no time is known, so no rate: print the time before each output"
        timeless = [f"{missing}, as date does."] if instant.time is None else []
        return [*warnings, *timeless]

    def _is_due(self, instant: Instant) -> bool:
        """Say whether a block is to be printed: at the first, at changes, and every so often."""
        verdict = (instant.bottleneck.verdict, instant.bottleneck.queue)
        before = self._printed.get(instant.device)
        due = before is None
        if before is not None:
            when, told = before
            due = bool(instant.fresh) or told != verdict
            if self._every is not None:
                past = None if None in (when, instant.time) else instant.time - when  # type: ignore[operator]
                due = past is None or past >= _NEARLY * self._every
        if due:
            self._printed[instant.device] = instant.time, verdict
        return due

    def _is_enough(self, instant: Instant) -> bool:
        if self._most is not None and self._count >= self._most:
            return True
        if self._longest is None or instant.time is None:
            return False
        self._start = instant.time if self._start is None else self._start
        return instant.time - self._start >= self._longest * (1.0 - 1e-9)

    def end(self, source: str, *, interrupted: bool) -> None:
        """Say the last words.

        Raises
        ------
        QuantityError
            If there was nothing to watch.
        """
        from pi2_fluid.apps.cli.watched import lines_of_end

        if not self._totals and not interrupted:
            name = "standard input" if source == "-" else source
            if self._others:
                raise QuantityError(
                    f"{name} shows nothing of {show_value(self._dev)}: give"
                    f" {' or '.join(sorted(filter(None, self._others))) or 'no --dev'}."
                )
            raise QuantityError(
                f"{name} has no output of `tc -s qdisc show`: give a device, or what tc printed."
            )
        if self._as_json:
            return
        for total in self._totals.values():
            for line in lines_of_end(total):
                typer.echo(line)
        for sentence in self._follower.warnings:
            tell(f"note: {sentence}")


def _line(payload: dict[str, Any]) -> str:
    return json.dumps(payload, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


def _seconds(text: str, name: str) -> float:
    from pi2_fluid.units import validate_quantity

    return float(validate_quantity(text, "time", name))


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < _DIGITS and int(text)):
        raise QuantityError(
            f"--count {show_value(text)} is no whole number from 1 on: give how many outputs, as"
            " 60."
        )
    return int(text)


COMMANDS: tuple[Command, ...] = (
    Command(
        watch,
        panel=MEASURE,
        examples=(
            "pi2-fluid watch eth0",
            "pi2-fluid watch eth0 --every 5s --for 1h --json > eth0.jsonl",
            "pi2-fluid watch eth0 --metrics 9900",
            "pi2-fluid watch tc.log",
            "while sleep 1; do date; ssh fw tc -s qdisc show; done | pi2-fluid watch -",
        ),
        json=EXPLAINED,
        notes=(
            "The bottleneck is the queue in which packets wait in half of the last 30 outputs or"
            " more. What came in is what left, with what the backlog grew by and what was dropped."
            "\n\nIt runs as any user for whom tc shows queues. Ctrl-C ends it, with a summary."
        ),
    ),
)
