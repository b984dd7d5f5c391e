"""What ``tc -s`` printed again and again, as text or as JSON, with times between.

A log is read output by output: of each the numbers stay, and the text goes.

Source: iproute2 7.3, tc(8); `pi2_fluid.tc.observing.following` has the forms.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from typing import Final

from pi2_fluid.errors import DomainError, QuantityError
from pi2_fluid.measured.counters import Bands
from pi2_fluid.measured.dataset import Measurement
from pi2_fluid.measured.source import Source
from pi2_fluid.tc.observing.following import Follower, follow

_TEXT: Final = re.compile(r"\b(?:qdisc|class) [\w-]+ [0-9a-f]*:[0-9a-f]*\s")
_SENT: Final = re.compile(r"\bSent \d+ bytes \d+ pkt")
_JSON: Final = re.compile(r"\"(?:kind|class)\"\s*:\s*\"[\w-]+\"\s*,\s*\"handle\"\s*:")
_BEGIN: Final = re.compile(r"^\W*(?:qdisc \S+ \S+ (?:dev \S+ )?root\b|\[\s*\{)", re.MULTILINE)
_LAST: Final = 16_384  # letters: some outputs of a device with tens of queues
_COUNTED: Final = re.compile(r"\"packets\"\s*:\s*\d")


def recognises(source: Source) -> bool:
    """Say whether a source is what ``tc -s`` printed."""
    head = source.head
    as_text = _TEXT.search(head) is not None and _SENT.search(head) is not None
    return as_text or (_JSON.search(head) is not None and _COUNTED.search(head) is not None)


def measurement(source: Source) -> Measurement:
    """Return the counters of each queue, class, band and tin; classes of single flows are left out.

    Variables have tc's names (``packets``, ``bytes``, ``drops``, ``backlog``, ``qlen``,
    ``ecn_mark``, ``prob``); a delay of a queue is ``queue_delay`` (s). A band is called
    "lan0 pie 1:", with " C", " L" or " tin NAME" behind it where a queue has several.

    Raises
    ------
    QuantityError
        If no counter is in it.
    """
    read = Measurement("tc_log", tool="tc")
    bands = Bands()
    follower = Follower()
    end = _End()
    for output in follow(end.lines(source), follower):
        device = output.device
        for shown in output.shown:
            if shown.is_flow:
                continue
            name = f"{device} {shown.name}" if device else shown.name
            try:
                counts = shown.counts()
            except (QuantityError, DomainError) as error:
                read.warn(str(error))
                continue
            for band, values in counts.items():
                label = f"{name} {band}" if band else name
                bands.add(device, label, output.time, values)
    if bands.empty:
        raise QuantityError(
            f"{source.said} has no counters of tc: give what `tc -s qdisc show`, or"
            " `tc -s -j qdisc show`, printed again and again."
        )
    for sentence in follower.warnings:
        read.warn(sentence)
    bands.hand_to(read)
    read.about["tc_after"] = end.text
    return read


class _End:
    """The last lines of a log, which say what the queues were set to."""

    def __init__(self) -> None:
        self._kept: deque[str] = deque()
        self._letters = 0

    def lines(self, source: Source) -> Iterator[str]:
        """Yield the lines of a source, and keep the last ones."""
        for line in source.lines():
            self._kept.append(line)
            self._letters += len(line)
            while self._letters > _LAST and len(self._kept) > 1:
                self._letters -= len(self._kept.popleft())
            yield line

    @property
    def text(self) -> str:
        """What was kept, from where a queue begins."""
        kept = "".join(self._kept)
        begin = _BEGIN.search(kept)
        return kept[begin.start() :] if begin else kept
