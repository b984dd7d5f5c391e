"""What ping prints: a round trip a line.

Source: the manual ping(8) of iputils; lines of ``ping -D`` and ``ping -O`` as it prints them.
"""

from __future__ import annotations

import re
from typing import Final

from pi2_fluid.errors import QuantityError
from pi2_fluid.measured.dataset import Measurement
from pi2_fluid.measured.fields import number
from pi2_fluid.measured.probing import Probes, add_probes
from pi2_fluid.measured.source import Source

_TIME: Final = r"^(?:\[(?P<unix>\d{1,12}(?:\.\d+)?)\]\s+)?"
_REPLY: Final = re.compile(
    _TIME + r"\d+ bytes from (?P<from>[^\s:,]\S*)(?: \((?P<address>[^)]+)\))?.*?"
    r"\b(?:icmp_)?seq=(?P<seq>\d{1,9}).*?\btime[=<](?P<ms>\d+(?:[.,]\d+)?)\s*ms"
)
_MISSED: Final = re.compile(
    _TIME + r"(?:no answer yet for|Request timeout for|From \S+.*?) ?icmp_seq[= ](?P<seq>\d{1,9})"
)
_HEADER: Final = re.compile(r"^PING6?[ (]\s*(?P<name>\S+?)(?: \((?P<address>[^)]+)\))?[ :(]")
_SUMMARY: Final = re.compile(
    r"^(?P<sent>\d{1,9}) packets transmitted, .*?(?:, time (?P<ms>\d{1,12}) ?ms)?\s*$"
)


def recognises(source: Source) -> bool:
    """Say whether a source is what ping printed."""
    lines = source.head.splitlines()
    return any(_REPLY.match(line) or _HEADER.match(line) for line in lines)


def measurement(source: Source) -> Measurement:
    """Return the round trips, as ``delay`` of a probe for each target.

    The time is when the line was printed. Numbers that had no answer are lost, at times between
    those of the others. Without ``-D`` there are no times: numbers stand for them.

    Raises
    ------
    QuantityError
        If there is neither an answer of ping in it nor a number that had none.
    """
    runs: dict[str, list[Probes]] = {}
    sent = 0
    target, current, begins = "", Probes(), True
    for line in source.lines():
        if reply := _REPLY.match(line):
            target = target or reply["address"] or reply["from"].rstrip(":")
            delay = reply["ms"].replace(",", ".")
            current.answer(int(reply["seq"]), number(reply["unix"]), 1e-3 * float(delay))
            current.coarse |= len(delay) > 2 and delay.isdecimal()
        elif header := _HEADER.match(line):
            target, current, begins = header["address"] or header["name"], Probes(), True
        elif missed := _MISSED.match(line):
            current.miss(int(missed["seq"]), number(missed["unix"]))
        elif summary := _SUMMARY.match(line):
            current.sent = int(summary["sent"])
            sent += current.sent
            if summary["ms"] and current.sent > 1:
                current.interval = 1e-3 * float(summary["ms"]) / (current.sent - 1)
        if begins and current.times:
            runs.setdefault(target or "ping", []).append(current)
            begins = False
    if not runs:
        if sent:
            raise QuantityError(
                f"{source.said} has no answer of ping: all {sent} probes were lost. Ask a host that"
                " answers."
            )
        raise QuantityError(f"{source.said} has no answer of ping: give the lines that it printed.")
    read = Measurement("ping", tool="ping")
    add_probes(read, runs, prefix="ping ")
    return read
