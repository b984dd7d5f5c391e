"""`observe`: any text in which tc's words stand, cut into observations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final

from pi2_fluid.tc.block import Block
from pi2_fluid.tc.blocks import add_line, block_of_json, block_of_words
from pi2_fluid.tc.dummynet import Shaper, shapers_of
from pi2_fluid.tc.dummynet_lines import configured_shapers
from pi2_fluid.tc.observing.cleaning import clean, without_label
from pi2_fluid.tc.observing.commands import Command, commands_in, without_prompt
from pi2_fluid.tc.observing.forms import form_of, is_plain
from pi2_fluid.tc.observing.headings import device_in_heading, is_rule, named_devices
from pi2_fluid.tc.observing.metrics import read_metrics
from pi2_fluid.tc.observing.networkd import read_networkd
from pi2_fluid.tc.observing.objects import begins_json, objects_in, read_json
from pi2_fluid.tc.observing.observation import Observation, Source, Where
from pi2_fluid.tc.observing.rates import (
    CLASSFUL,
    ShapedClass,
    class_of_json,
    class_of_words,
    place_of,
)
from pi2_fluid.tc.observing.sqm import read_sqm
from pi2_fluid.tc.observing.times import leading_time, of_watch
from pi2_fluid.tc.proposals import read_proposal

_OUTPUT: Final = {"qdisc", "deleted", "class", "filter"}
_TRACE: Final = re.compile(r"\++ ")
_FENCE: Final = ("```", "~~~")
_SHEBANG: Final = "#!"
_LONGEST: Final = 10_000  # letters of a command
#: What every command, prompt and trace has, and hardly a line of counters.
_WORTH_A_LOOK: Final = re.compile(r"(?i:tc)|[$#%=>]|^\s*\+")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What was read of a text.

    Parameters
    ----------
    observations : list of Observation
        In the order in which their first queues stand in the text.
    shapers : list of Shaper
        Queues of FreeBSD.
    """

    observations: list[Observation]
    shapers: list[Shaper] = field(default_factory=list)

    @cached_property
    def blocks(self) -> list[Block]:
        """All queues, in the order of the text."""
        found = [block for one in self.observations for block in one.blocks]
        return sorted(found, key=lambda block: block.order)

    @cached_property
    def form(self) -> str:
        """What was found, in words: how many devices, instants and typed lines."""
        return form_of(self.observations)

    @cached_property
    def is_plain(self) -> bool:
        """Whether that is clear from the queues themselves."""
        return is_plain(self.observations)

    @cached_property
    def _of(self) -> dict[int, Observation]:
        return {id(block): one for one in self.observations for block in one.blocks}

    def rate_above(self, block: Block) -> float | None:
        """Return the rate that stands above a queue (bit/s), see `Observation.rate_above`."""
        return self._of[id(block)].rate_above(block)

    def classes_of(self, block: Block) -> dict[str, ShapedClass]:
        """Return the classes that are known of a queue's device, by their names."""
        return self._of[id(block)].classes

    def time(self, block: Block) -> float | None:
        """Return when a queue was shown (s), if the text says it."""
        return self._of[id(block)].time

    def where(self, block: Block) -> Where:
        """Return what tells the device of a queue from others."""
        return self._of[id(block)].where


def observe(text: str) -> Reading:
    """Read what somebody pasted: outputs of tc, logs of them, scripts, sessions, mail.

    Raises
    ------
    QuantityError
        If there is JSON that cannot be read at all.

    Examples
    --------
    >>> reading = observe('''
    ... $ tc qdisc show dev wan0
    ... qdisc pie 1: root refcnt 2 limit 1000p target 15ms tupdate 15ms alpha 2 beta 20
    ... $ tc qdisc show dev lan0
    ... qdisc fq_codel 1: root refcnt 2 limit 10240p flows 1024 target 5ms interval 100ms
    ... ''')
    >>> [(one.dev, one.blocks[0].kind) for one in reading.observations]
    [('wan0', 'pie'), ('lan0', 'fq_codel')]
    """
    plain = clean(text)
    reader = LineReader(plain)
    reader.read()
    configured = [*read_networkd(plain), *read_sqm(plain), *read_metrics(plain)]
    for block in (block for one in configured for block in one.blocks):
        reader.order += 1
        block.order = reader.order
    return Reading(
        observations=reader.observations + configured,
        shapers=[*shapers_of(plain), *configured_shapers(plain)],
    )


@dataclass
class LineReader:
    """What is known at a line of a text, and what was read up to there."""

    text: str
    observations: list[Observation] = field(default_factory=list)
    #: Those that more can be added to.
    open: dict[tuple[Where, Source], Observation] = field(default_factory=dict)
    #: Of what tc prints without naming it.
    around: Where = (None, None, None)
    time: float | None = None
    block: Block | None = None
    order: int = 0
    fenced: bool = False
    variables: dict[str, str] = field(default_factory=dict)
    #: The rates of classes by device, for outputs that show none.
    classes: dict[Where, dict[str, ShapedClass]] = field(default_factory=dict)
    of_classes: Observation | None = None
    #: Outputs that name no device, and show no classes up to here.
    classless: list[Observation] = field(default_factory=list)
    #: Classes of which no line around says whose they are.
    orphans: list[ShapedClass] = field(default_factory=list)
    #: The devices that are named anywhere.
    devices: frozenset[str] = frozenset()
    #: Whether it is a file for a shell, where # begins a comment and is no prompt.
    script: bool = False

    def read(self) -> None:
        """Read all lines, in time that grows like the text."""
        text, at = self.text, 0
        self.devices = named_devices(text)
        self.script = text.lstrip().startswith(_SHEBANG)
        while at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            at = max(self._line(text[at:end], at), end) + 1
        self._adopt()
        for one in self.observations:
            if one.dev is not None:
                one.classes = self.classes.get(one.where, {}) | one.classes

    def _line(self, line: str, at: int) -> int:
        """Read a line that begins `at` a place of the text; return where what was read ends."""
        words = line.split()
        if not words:
            return at
        if words[0] not in _OUTPUT and (found := leading_time(line)) is not None:
            self.time, rest = found
            words = rest.split()
            if not words:
                self._new_output()
                return at
            at, line = at + len(line) - len(rest), rest
        if words[0] not in _OUTPUT and (rest := without_label(line)) is not line:
            at, line, words = at + len(line) - len(rest), rest, rest.split()
        if words[0] in {"qdisc", "deleted"} and "qdisc" in words[:2]:
            dev = _value_behind("dev", words)
            where = self._where(dev)
            block = block_of_words(words, dev=where[2], namespace=where[1])
            self._queue(block, "printed", where, told=where[2] != dev)
        elif words[0] == "class" and len(words) > 2:
            self.block = None
            self._class_printed(class_of_words(words[1:], typed=False), words)
        elif words[0] == "filter":
            self.block = None
        elif words[0][0] in "[{" and begins_json(self.text, at + line.index(words[0])):
            return self._json(at + line.index(words[0]))
        elif not self._around(line) and not self._command(line):
            self._below(words)
        return at

    def _below(self, words: list[str]) -> None:
        """Read a line that may be of the counters of the queue above it."""
        if self.block is not None:
            add_line(self.block, words)

    # Commands

    def _command(self, line: str) -> bool:
        """Read the commands of a line; say whether it is one."""
        if len(line) > _LONGEST or _WORTH_A_LOOK.search(line) is None:
            return False
        watched = of_watch(line)
        if watched is not None:
            line, self.time = watched
            self._new_output()
        prompted = without_prompt(line)
        host = None
        if prompted is not None and not (self.script and line.lstrip().startswith("#")):
            line, host = prompted
        traced = _TRACE.match(line)
        commands = commands_in(line[traced.end() :] if traced else line, self.variables)
        shown = {(host, each.namespace, each.dev) for each in commands if each.verb == "show"}
        for each in commands:
            self._typed(each, host)
        if shown:
            self.around = shown.pop() if len(shown) == 1 else (host, None, None)
            if any(each.about == "qdisc" and each.verb == "show" for each in commands):
                self._new_output()
        elif not commands and (prompted is not None or traced):
            self.around = (None, None, None)  # another program prints now
            self._new_output()
        if commands or prompted is not None or traced:
            self.block = None
            return True
        return watched is not None

    def _typed(self, command: Command, host: str | None) -> None:
        if command.verb in {"show", "delete"}:
            return
        if command.about == "qdisc":
            block = read_proposal(command.words, command.namespace)
            self._queue(block, "typed", (host, command.namespace, block.dev))
        elif command.about == "class":
            shaped = class_of_words(command.words, typed=True)
            where = (host, command.namespace, _value_behind("dev", command.words))
            if shaped is not None:
                self.classes.setdefault(where, {})[shaped.place] = shaped
                if (one := self.open.get((where, "typed"))) is not None:
                    one.classes[shaped.place] = shaped

    # What is printed

    def _where(self, dev: str | None) -> Where:
        """Return whose a queue is that tc prints with this device, or with none."""
        host, namespace, around = self.around
        if dev is not None and around not in {None, dev}:
            host = namespace = None  # it is from elsewhere than the output before
        return host, namespace, dev or around

    def _queue(self, block: Block, source: Source, where: Where, *, told: bool = False) -> None:
        """Put a queue where it belongs; `told` says that its line names no device."""
        self.order += 1
        block.order = self.order
        self.block = block if source == "printed" else None
        if block.gone:
            return
        one = self.open.get((where, source))
        if one is None or not one.add(block):
            host, namespace, dev = where
            one = Observation(
                dev=dev, namespace=namespace, host=host, time=self.time, source=source, told=told
            )
            one.add(block)
            self.open[where, source] = one
            self.observations.append(one)
            if dev is None and source == "printed":
                self.classless.append(one)
        self.of_classes = None

    def _class_printed(self, shaped: ShapedClass | None, said: Sequence[str] = ()) -> None:
        """Keep the rate of a class, where it is known whose it is; `said` is its line."""
        del said  # for who follows a log
        if shaped is None:
            return
        if self.around[2] is not None:
            self.classes.setdefault(self.around, {})[shaped.place] = shaped
            one = self.open.get((self.around, "printed"))
        else:
            # of several outputs it would be a guess whose they are
            if self.of_classes is None and len(self.classless) == 1:
                self.of_classes = self.classless.pop()
            one = self.of_classes
        if one is not None:
            one.classes[shaped.place] = shaped
        elif self.around[2] is None:
            self.orphans.append(shaped)

    def _adopt(self) -> None:
        """Give classes without a device to the only named one with a shaper of their handle."""
        for shaped in self.orphans:
            handle = f"{shaped.place.partition(':')[0]}:"
            owners = [
                one
                for one in self.observations
                for block in one.blocks
                if one.dev is not None
                and block.kind in CLASSFUL
                and place_of(block.handle) == handle
            ]
            if len({one.where for one in owners}) == 1:
                for one in owners:
                    one.classes.setdefault(shaped.place, shaped)

    def _json(self, at: int) -> int:
        value, end = read_json(self.text, at)
        self.block = None
        for entry, time in objects_in(value):
            if time is not None and time != self.time:
                self.time = time
                self._new_output()
            if isinstance(entry.get("kind"), str):
                dev = entry.get("dev")
                where = self._where(dev if isinstance(dev, str) else None)
                block = block_of_json(entry, dev=where[2], namespace=where[1])
                self._queue(block, "printed", where, told=where[2] != dev)
                self.block = None
            else:
                self._class_printed(class_of_json(entry))
        return end

    def _new_output(self) -> None:
        """Let no more be added to what was printed."""
        self.block = None
        self.open = {key: one for key, one in self.open.items() if key[1] == "typed"}

    def _around(self, line: str) -> bool:
        """Say whether a line is a heading, a rule or a fence, and keep what it says."""
        if line.lstrip().startswith(_FENCE):
            self.fenced = not self.fenced
            if not self.fenced:
                self.around = (None, None, None)
            self._new_output()
            return True
        if is_rule(line):
            self._new_output()
            return True
        device = device_in_heading(line, self.devices)
        if device is None:
            return False
        self.around = (None, None, device)
        self._new_output()
        return True


def _value_behind(word: str, words: Sequence[str]) -> str | None:
    return next((value for before, value in pairwise(words) if before == word), None)
