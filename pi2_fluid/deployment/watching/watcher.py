"""`Watcher`: outputs of one device go in, what is to be said of it comes out."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pi2_fluid.deployment.counters import observed_of
from pi2_fluid.deployment.watching.bottleneck import WINDOW, Bottleneck, Loads
from pi2_fluid.deployment.watching.changes import Change, Steps, Trees
from pi2_fluid.deployment.watching.rows import Counted, Row, row_of
from pi2_fluid.deployment.watching.tree import ordered, rate_of, shaped_by
from pi2_fluid.deployment.watching.wording import rate_said
from pi2_fluid.errors import DomainError, QuantityError
from pi2_fluid.tc.block import Block
from pi2_fluid.tc.observing import Series
from pi2_fluid.tc.observing.following import Output, Shown

_KEPT: Final = 20  # changes
_COUNTERS: Final = ("bytes", "packets")


@dataclass(frozen=True, kw_only=True)
class Instant:
    """A device at one instant.

    Parameters
    ----------
    device : str
        "" where nothing says it.
    time : float or None
        When (s).
    number : int
        How many outputs of it there were, this included.
    interval : float or None
        Since the output before (s).
    rows : list of Row
        The tree, each behind what it stands below.
    bottleneck : Bottleneck
    changes : list of Change
        The last ones, in order.
    fresh : list of Change
        Those that this output showed.
    says : dict of str to tuple of str
        By queue, what its counters say in words.
    warnings : list of str
        What could not be read.
    """

    device: str
    time: float | None
    number: int
    interval: float | None
    rows: list[Row]
    bottleneck: Bottleneck
    changes: list[Change] = field(default_factory=list)
    fresh: list[Change] = field(default_factory=list)
    says: dict[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


class Watcher:
    """What is known of one device, as outputs of ``tc -s`` come; no more than `WINDOW` are kept.

    Examples
    --------
    >>> from pi2_fluid.tc.observing.following import follow
    >>> line = '{"time":%d,"q":[{"kind":"pfifo","handle":"1:","dev":"lan0","root":true,'
    >>> line += '"bytes":%d,"packets":%d,"drops":0,"backlog":15000,"qlen":10}]}'
    >>> watcher = Watcher()
    >>> for output in follow(line % (9**9 + n, 125000 * n, n) for n in range(6)):
    ...     seen = watcher.see(output)
    >>> seen.rows[0].rate_out, seen.bottleneck.queue, seen.bottleneck.evidence
    (1000000.0, 'pfifo 1:', 'backlog 10 packets (15 kB) in 6 of 6 outputs, delay 120 ms')
    """

    def __init__(self) -> None:
        self._number = 0
        self._time: float | None = None
        self._before: dict[object, Counted] = {}
        self._blocks: dict[object, deque[Block]] = {}
        self._loads = Loads()
        self._trees = Trees()
        self._steps: dict[object, Steps] = {}
        self._changes: deque[Change] = deque(maxlen=_KEPT)
        self._classes: list[Shown] = []
        self.first: dict[object, Counted] = {}
        """The counters of each row when it was seen first."""

    def see(self, output: Output) -> Instant | None:
        """Take an output, and say what is known with it; None of one that has classes alone."""
        if all(one.is_class for one in output.shown):
            self._classes = output.shown
            return None
        self._number += 1
        interval = None
        if output.time is not None and self._time is not None and output.time > self._time:
            interval = output.time - self._time
        classes = [one for one in output.shown if one.is_class]
        self._classes = classes or self._classes
        shown = [one for one in output.shown if not one.is_class] + self._classes
        warnings: list[str] = []
        rows, shapers = self._rows(shown, output.time, warnings)
        fresh = [
            Change(output.time, self._number, what)
            for what in self._trees.changes(output.shown, classes=bool(classes))
        ]
        fresh += self._anew(rows, output.time)
        for row in rows:
            if row.depth == 0:
                steps = self._steps.setdefault(row.key, Steps())
                fresh += steps.changes(row, output.time, self._number)
        self._changes.extend(fresh)
        self._loads.add(_leaves(rows))
        for row in rows:
            self._before[row.key] = Counted(time=output.time, counts=row.totals)
            self.first.setdefault(row.key, self._before[row.key])
        self._forget({row.key for row in rows})
        self._time = output.time if output.time is not None else self._time
        return Instant(
            device=output.device,
            time=output.time,
            number=self._number,
            interval=interval,
            rows=rows,
            bottleneck=self._loads.judge(shapers),
            changes=list(self._changes),
            fresh=fresh,
            says=self._says(shown),
            warnings=warnings,
        )

    def _rows(
        self, shown: Sequence[Shown], time: float | None, warnings: list[str]
    ) -> tuple[list[Row], dict[object, str]]:
        rows: list[Row] = []
        shapers: dict[object, str] = {}
        for depth, queue in ordered(shown):
            try:
                counts = queue.counts()
            except (QuantityError, DomainError) as error:
                warnings.append(str(error))
                counts = {"": {}}
            for band, values in counts.items():
                key = (queue.is_class, queue.parent, queue.kind, queue.handle, band)
                row = row_of(
                    queue,
                    band,
                    Counted(time=time, counts=values),
                    self._before.get(key),
                    depth=depth + bool(band),
                    limit=None if band else rate_of(queue),
                )
                rows.append(row)
                held = shaped_by(queue, shown)
                if held is not None:
                    who = "its own" if held[0] is queue else f"that of {held[0].name}"
                    shapers[key] = f"; the rate is {who}, {rate_said(held[1])}"
        return rows, shapers

    def _anew(self, rows: Sequence[Row], time: float | None) -> list[Change]:
        """Return which queues have counters that fell."""
        changes = []
        for row in rows:
            before = self._before.get(row.key)
            if before is not None and any(
                row.totals.get(name, 0) < before.counts.get(name, 0)
                for name in _COUNTERS
                if name in row.totals
            ):
                self.first.pop(row.key, None)
                what = f"the counters of {row.name} began again"
                changes.append(Change(time, self._number, what))
        return changes

    def _forget(self, there: set[object]) -> None:
        """Keep nothing of what is gone."""
        for key in set(self._before) - there:
            del self._before[key]
            self.first.pop(key, None)
            self._steps.pop(key, None)

    def _says(self, shown: Sequence[Shown]) -> dict[str, tuple[str, ...]]:
        sentences: dict[str, tuple[str, ...]] = {}
        there = {one.place for one in shown}
        for key in set(self._blocks) - there:
            del self._blocks[key]
        for queue in shown:
            block = queue.block()
            if block is None or block.statistics is None:
                continue
            past = self._blocks.setdefault(queue.place, deque(maxlen=WINDOW))
            if past and past[-1].kind != block.kind:
                past.clear()
            past.append(block)
            held = shaped_by(queue, shown)
            series = Series(blocks=[past[0], block] if len(past) > 1 else [block])
            said = observed_of(series, None if held is None else held[1])
            if said:
                sentences[queue.name] = said
        return sentences


def _leaves(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that nothing stands below: bands instead of their queue.

    A class whose queue is not shown, as its default is not, stands for it.
    """
    found = []
    for at, row in enumerate(rows):
        below = at + 1 < len(rows) and rows[at + 1].depth > row.depth
        if not below:
            found.append(row)
    return found
