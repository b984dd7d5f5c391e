"""What a file of systemd-networkd makes: ``[FlowQueuePIE]`` below ``[Match]``.

Source: systemd.network(5), systemd.syntax(7).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pi2_fluid.tc.observing.observation import Observation
from pi2_fluid.tc.observing.rates import ShapedClass, as_rate, place_of
from pi2_fluid.tc.proposals import read_proposal

#: Sections that make a queue: what tc calls it, and their keys as words of tc.
_QUEUES: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "PIE": ("pie", {"PacketLimit": "limit"}),
    "FlowQueuePIE": ("fq_pie", {"PacketLimit": "limit"}),
    "ControlledDelay": (
        "codel",
        {"PacketLimit": "limit", "TargetSec": "target", "IntervalSec": "interval", "ECN": "ecn"},
    ),
    "FairQueueingControlledDelay": (
        "fq_codel",
        {
            "PacketLimit": "limit",
            "Flows": "flows",
            "TargetSec": "target",
            "IntervalSec": "interval",
            "ECN": "ecn",
        },
    ),
    "CAKE": ("cake", {"Bandwidth": "bandwidth"}),
    "TokenBucketFilter": ("tbf", {"Rate": "rate"}),
    "HierarchyTokenBucket": ("htb", {}),
}
_CLASS: Final = "HierarchyTokenBucketClass"
_SECTION: Final = re.compile(r"\s*\[(\w+)\]\s*")
_ENTRY: Final = re.compile(r"\s*(\w+)\s*=\s*(.*?)\s*")
_ANY: Final = re.compile(rf"^\s*\[(?:{'|'.join(_QUEUES)})\]\s*$", re.MULTILINE)
_DEFAULTS: Final = "What the file of networkd does not name has the kernel's default."


def read_networkd(text: str) -> Iterator[Observation]:
    r"""Yield what each file in a text makes of its device; nothing of other texts.

    Examples
    --------
    >>> (seen,) = read_networkd("[Match]\nName=eth0\n[FlowQueuePIE]\nPacketLimit=200")
    >>> seen.dev, seen.blocks[0].kind, seen.blocks[0].options["limit"]
    ('eth0', 'fq_pie', 200.0)
    """
    if _ANY.search(text) is None:
        return
    found: Observation | None = None
    for section, entries in _sections(text):
        if section == "Match":
            names = entries.get("Name", "").split()
            found = Observation(dev=names[0] if len(names) == 1 else None, source="configuration")
            yield found
        elif section in _QUEUES or section == _CLASS:
            if found is None:
                found = Observation(source="configuration")
                yield found
            _add(found, section, entries)


def _sections(text: str) -> list[tuple[str, dict[str, str]]]:
    found: list[tuple[str, dict[str, str]]] = []
    for line in text.splitlines():
        if section := _SECTION.fullmatch(line):
            found.append((section[1], {}))
        elif found and (entry := _ENTRY.fullmatch(line)):
            found[-1][1][entry[1]] = entry[2]
    return found


def _add(observation: Observation, section: str, entries: dict[str, str]) -> None:
    parent = entries.get("Parent", "root")
    if section == _CLASS:
        place = place_of(entries.get("ClassId", ""))
        rate = entries.get("CeilRate", entries.get("Rate", ""))
        observation.classes[place] = ShapedClass(place, place_of(parent), _rate(rate))
        return
    kind, words = _QUEUES[section]
    line = ["dev", observation.dev] if observation.dev else []
    line += [parent] if parent == "root" else ["parent", parent]
    line += ["handle", f"{entries['Handle']}:"] if "Handle" in entries else []
    line.append(kind)
    for key, word in words.items():
        if key in entries:
            line += _option(word, entries[key])
    block = read_proposal(line)
    block.remarks = (_DEFAULTS,)
    observation.blocks.append(block)


def _option(word: str, value: str) -> list[str]:
    """Return an entry as tc has it."""
    if word == "ecn":
        return ["ecn" if value.lower() in {"1", "yes", "true", "on"} else "noecn"]
    if word in {"rate", "bandwidth"}:
        return [word, f"{value.lower()}bit" if value[-1:].isalpha() else f"{value}bit"]
    if word in {"target", "interval"} and value[-1:].isdigit():
        return [word, f"{value}s"]  # seconds, of systemd
    return [word, value]


def _rate(value: str) -> float | None:
    return as_rate(f"{value.lower()}bit")
