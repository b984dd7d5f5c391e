"""A log of ``tc -s`` read as it grows: each output as soon as it ended, and no more in memory.

`pi2_fluid.tc.observing.observe` reads a text as a whole; this reads the same forms line by line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pi2_fluid.tc.block import Block
from pi2_fluid.tc.blocks import block_of_json
from pi2_fluid.tc.observing.cleaning import clean
from pi2_fluid.tc.observing.counting import Counts, by_class, counts_of_entry, counts_of_lines
from pi2_fluid.tc.observing.forms import named
from pi2_fluid.tc.observing.headings import named_devices
from pi2_fluid.tc.observing.objects import objects_in
from pi2_fluid.tc.observing.observation import Source, Where
from pi2_fluid.tc.observing.rates import ShapedClass, class_of_json
from pi2_fluid.tc.observing.reader import LineReader
from pi2_fluid.tc.observing.times import leading_time

_BEGIN: Final = re.compile(r"\[\s*(?:\{|\]|\[|$)|\{\s*(?:\"|$)")
_FRESH: Final = re.compile(r"\[\s*\{\s*\"(?:kind|class)\"|\{\s*\"(?:time|timestamp|ts|t)\"")
#: A list, over several lines, of what is else a line for each instant.
_LIST_OF_OUTPUTS: Final = re.compile(r"\[\s*(?:\[|\{\s*\"(?:time|timestamp|ts|t)\"|$)(?!.*\]\s*$)")
_END: Final = re.compile(r"[\]}]\s*$")
_END_OF_LIST: Final = re.compile(r"^\s*[\]}]*\s*\]\s*$|^\S.*[\]}]\s*\]\s*$")
#: How a line begins behind one that has a bracket alone, where that is JSON.
_GOES_ON: Final = {
    "{": re.compile(r"\s*(?:\"|\}\s*$)"),
    "[": re.compile(r"\s*(?:\{\s*(?:\"|$)|\[\s*(?:\{|$)|\]\s*$)"),
}
_DECODER: Final = json.JSONDecoder()
#: Characters that one value of JSON has at most, as a whole file may be one.
_MOST: Final = 1 << 26
#: Queues whose classes are made by hand; others' classes are flows or slots, and come and go.
_WITH_CLASSES: Final = frozenset({"htb", "hfsc", "drr", "qfq", "ets", "prio", "cbq"})
_STAMPED: Final = 64  # characters before a value that can hold a time


@dataclass(kw_only=True)
class Shown:
    """One queue, or one class of a shaper, as it was shown once.

    Parameters
    ----------
    kind, handle : str
        As tc prints them; of a class the handle is its name, such as "1:10".
    parent : str or None
        Where it hangs, "root" at the top.
    is_class : bool
    rate, assured : float or None
        The most that a class lets through, and what it has of its own (bit/s).
    """

    kind: str
    handle: str
    parent: str | None
    is_class: bool = False
    rate: float | None = None
    assured: float | None = None
    _block: Block | None = field(default=None, repr=False)
    _entry: Mapping[str, Any] | None = field(default=None, repr=False)
    _where: Where = field(default=(None, None, None), repr=False)
    _lines: list[list[str]] = field(default_factory=list, repr=False)

    @property
    def place(self) -> tuple[bool, str | None, str]:
        """What there is one of on a device."""
        alone = self.parent == "root" and not self.is_class
        return self.is_class, self.parent, "" if alone else self.handle

    @property
    def is_flow(self) -> bool:
        """Whether it is a class that a queue made of a flow or a slot: such come and go."""
        return self.is_class and self.kind not in _WITH_CLASSES

    @property
    def name(self) -> str:
        """What to call it, without its device."""
        what = f"{'class ' * self.is_class}{self.kind} {self.handle}".rstrip()
        unnumbered = self.handle in {"", "0:"} and self.parent not in {None, "root"}
        return f"{what} parent {self.parent}" if unnumbered else what

    def counts(self) -> Counts:
        """Return its numbers by band; {"": {}} where none were printed.

        Raises
        ------
        QuantityError
            Naming a counter that is no number.
        """
        if self._entry is not None:
            return counts_of_entry(self._entry)
        if self._block is not None and self._block.ours:
            if self._block.trouble is not None and not self._block.statistics:
                raise self._block.trouble
            return by_class(self._block.statistics or {})
        return counts_of_lines(self.kind, self._lines)

    def options(self) -> dict[str, Any]:
        """Return its options as tc shows them: keys of JSON, or words of text; {} of a class."""
        if self._entry is not None:
            options = self._entry.get("options")
            return dict(options) if isinstance(options, dict) else {}
        if self._block is None:
            return {}
        return dict(self._block.options if self._block.ours else self._block.words)

    def block(self) -> Block | None:
        """Return the queue with its options read; None of a class."""
        if self._block is None and self._entry is not None and not self.is_class:
            _, namespace, dev = self._where
            self._block = block_of_json(dict(self._entry), dev=dev, namespace=namespace)
        return self._block


@dataclass(kw_only=True)
class Output:
    """One device at one instant.

    Parameters
    ----------
    where : tuple
        Its machine, its network namespace and its name, None where nothing says it.
    time : float or None
        When (s), see `pi2_fluid.tc.observing.times.as_time`.
    shown : list of Shown
        Its queues and classes, in order.
    """

    where: Where
    time: float | None
    shown: list[Shown] = field(default_factory=list)
    _places: set[tuple[bool, str | None, str]] = field(default_factory=set, repr=False)

    @property
    def device(self) -> str:
        """What to call the device; "" where nothing says it."""
        host, namespace, dev = self.where
        plain = host is None and namespace is None
        return (dev or "") if plain else named(host, namespace, dev)

    def add(self, one: Shown) -> bool:
        """Add a queue or class; False where there is one in its place."""
        if one.place in self._places:
            return False
        self._places.add(one.place)
        self.shown.append(one)
        return True


class Follower(LineReader):
    """Lines go in, outputs come out, each when it ended.

    Examples
    --------
    >>> follower = Follower()
    >>> line = '[{"kind":"pfifo","handle":"1:","dev":"lan0","packets":%d}]'
    >>> first = [*follower.feed(line % 5), *follower.feed(line % 9), *follower.pause()]
    >>> [one.shown[0].counts()[""]["packets"] for one in first]
    [5, 9]
    """

    def __init__(self) -> None:
        super().__init__("")
        #: Sentences on what could not be read, once each.
        self.warnings: list[str] = []
        self._held = ""
        self._pending: list[str] = []
        self._pending_size = 0
        self._outputs: dict[Where, Output] = {}
        self._done: list[Output] = []
        self._current: Shown | None = None
        self._last: Where | None = None

    def feed(self, line: str) -> Iterator[Output]:
        """Read one line, and yield the outputs that it ends."""
        for piece in clean(line).splitlines():
            if self._held:
                held, self._held = self._held, ""
                if _GOES_ON[held].match(piece):
                    self._value(held)
                    self._value(piece)
                    continue
            if self._pending and self._is_cut_by(piece):
                self._give_up("an output was cut off, and the next stands behind it")
            if self._pending:
                self._value(piece)
            elif not self._json_line(piece):
                self._plain(piece)
        yield from self._taken()

    def pause(self) -> Iterator[Output]:
        """Say that nothing comes for a while: what is whole has ended. Yield it."""
        if not self._pending:
            self._new_output()
        yield from self._taken()

    def end(self) -> Iterator[Output]:
        """Say that nothing comes any more; yield what is left."""
        if self._pending:
            self._give_up("the last output is cut off")
        yield from self.pause()

    def warn(self, sentence: str) -> None:
        """Keep a sentence, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def _taken(self) -> list[Output]:
        done, self._done = self._done, []
        return done

    def _is_cut_by(self, line: str) -> bool:
        """Say whether a line begins an output, and goes on with none that has begun."""
        listed = _LIST_OF_OUTPUTS.match(self._pending[0]) is not None
        return line[:1].isalnum() or (not listed and _FRESH.match(line) is not None)

    # Text

    def _plain(self, line: str) -> None:
        if "dev " in line:
            self.devices |= named_devices(line)
        if line.lstrip().startswith("filter "):
            self._current = None
        self.text = line
        self._line(line, 0)
        self.observations.clear()
        self.classless.clear()

    def _queue(self, block: Block, source: Source, where: Where, *, told: bool = False) -> None:
        del told
        self.block = block if source == "printed" else None
        self._current = None
        if source == "printed" and not block.gone:
            shown = Shown(kind=block.kind, handle=block.handle, parent=block.parent, _block=block)
            self._put(shown, where)

    def _class_printed(self, shaped: ShapedClass | None, said: Sequence[str] = ()) -> None:
        self._current = None
        if shaped is not None:
            words = list(said)
            dev = words[words.index("dev") + 1] if "dev" in words[:-1] else None
            self._put_class(shaped, words[1], None, dev)

    def _below(self, words: list[str]) -> None:
        super()._below(words)
        if self._current is not None and (self._current.is_class or self.block is not None):
            self._current._lines.append(words)

    # JSON

    def _json_line(self, line: str) -> bool:
        """Read the values in a line that has any; say whether it has."""
        begin = _BEGIN.search(line, 0, _STAMPED)
        if begin is None:
            return False
        before, rest = line[: begin.start()], line[begin.start() :]
        if before.strip():
            found = leading_time(before)
            if found is None or found[1].strip():
                return False
            if found[0] != self.time:
                self._new_output()
            self.time = found[0]
        if len(rest.strip()) == 1:
            self._held = rest.strip()  # what it begins, the next line says
        else:
            self._value(rest)
        return True

    def _value(self, line: str) -> None:
        """Add a line to the value that has begun; read it where it is whole."""
        self._pending.append(line)
        self._pending_size += len(line)
        if self._pending_size > _MOST and len(self._pending) > 1:
            self._give_up("a value of JSON has no end in 64 MB")
            return
        listed = _LIST_OF_OUTPUTS.match(self._pending[0]) is not None
        if not (_END_OF_LIST if listed else _END).search(line):
            return
        text = "\n".join(self._pending)
        at = len(text) - len(text.lstrip())
        while at < len(text):
            try:
                value, at = _DECODER.raw_decode(text, at)
            except RecursionError:
                self._give_up("a value of JSON is nested too deep")
                return
            except ValueError:
                self._pending = [text[at:]]
                return
            self._entries(value)
            while at < len(text) and text[at] in " \t\n,":
                at += 1
        self._pending, self._pending_size = [], 0

    def _entries(self, value: object) -> None:
        self._current = None
        for entry, time in objects_in(value):
            if time is not None and time != self.time:
                self._new_output()
                self.time = time
            dev = entry.get("dev")
            dev = dev if isinstance(dev, str) else None
            if not isinstance(entry.get("kind"), str):
                shaped = class_of_json(entry)
                if shaped is not None:
                    self._put_class(shaped, entry["class"], entry, dev)
                continue
            handle, parent = entry.get("handle"), entry.get("parent")
            if entry.get("deleted") is True:
                continue
            place = "root" if entry.get("root") is True else parent
            shown = Shown(
                kind=entry["kind"],
                handle=handle if isinstance(handle, str) else "",
                parent=place if isinstance(place, str) else None,
                _entry=entry,
            )
            self._put(shown, self._where(dev))
        self._current = None

    def _give_up(self, why: str) -> None:
        self.warn(f"{why}: it is left out.")
        self._pending, self._pending_size = [], 0

    # What was shown

    def _put(self, shown: Shown, where: Where) -> None:
        shown._where = where
        self._last = where
        self._current = shown
        one = self._outputs.get(where)
        if one is not None and not one.add(shown):
            self._done.append(self._outputs.pop(where))
            one = None
        if one is None:
            one = self._outputs[where] = Output(where=where, time=self.time)
            one.add(shown)

    def _put_class(
        self, shaped: ShapedClass, kind: str, entry: Mapping[str, Any] | None, dev: str | None
    ) -> None:
        where = self._where(dev)
        if where[2] is None and len(self._outputs) == 1:
            (where,) = self._outputs
        shown = Shown(
            kind=kind,
            handle=shaped.place,
            parent=shaped.parent,
            is_class=True,
            rate=shaped.rate,
            assured=shaped.assured,
            _entry=entry,
        )
        self._put(shown, where)

    def _new_output(self) -> None:
        super()._new_output()
        self._flush()

    def _flush(self) -> None:
        self._done += self._outputs.values()
        self._outputs = {}
        self._current = None
        self.block = None


def follow(lines: Iterable[str | None], follower: Follower | None = None) -> Iterator[Output]:
    """Yield the outputs in lines; None among them says that nothing comes for a while.

    Parameters
    ----------
    lines : iterable of str or None
    follower : Follower, optional
        Default: one of its own.

    Examples
    --------
    >>> lines = ["Time: 1764270000.5", "qdisc pfifo 1: dev lan0 root", " backlog 9b 1p requeues 0"]
    >>> [(one.device, one.time, one.shown[0].counts()[""]["qlen"]) for one in follow(lines)]
    [('lan0', 1764270000.5, 1)]
    """
    reader = Follower() if follower is None else follower
    for line in lines:
        yield from reader.pause() if line is None else reader.feed(line)
    yield from reader.end()
