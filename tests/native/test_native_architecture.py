"""The floors of the compiled code: who includes whom, in C and C++, checked from outside."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[2] / "pi2_fluid" / "native"

# Low to high, folders of a floor beside one another, which never include one another. "" is the
# ground: parameters by name, elementary functions, the list of laws.
FLOORS: list[set[str]] = [
    {""},
    {"laws", "margins"},
    {"laws/aqms", "laws/senders"},
    {"fluid", "lanes", "packet"},
    {"binding", "tests"},
]
# Likewise inside packet, each folder of it; "packet" itself is the simulator and its schedule.
PACKET: list[set[str]] = [
    {"packet/core"},
    {"packet/queues", "packet/tcp"},
    {"packet/tcp/congestion", "packet/run"},
    {"packet/tcp/ends"},
    {"packet"},
]
# Headers whose types the files around them need, and whose functions are made of these files: a
# header and the .c of its name count as one file elsewhere, but not here.
APART = {"fluid/fluid.h", "lanes/block.h", "lanes/lanes.h", "margins/margins.h"}
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)

Sources = dict[str, str]


def sources() -> Sources:
    """Return the text of every file by its path in the folder."""
    kinds = {".c", ".h", ".cpp", ".def"}
    files = [path for path in sorted(NATIVE.rglob("*")) if path.suffix in kinds]
    return {path.relative_to(NATIVE).as_posix(): path.read_text("utf-8") for path in files}


def room_of(file: str, floors: list[set[str]]) -> tuple[str, int]:
    """Return the longest folder of a file that has a floor, and which."""
    floor_of = {room: floor for floor, rooms in enumerate(floors) for room in rooms}
    folder = file.rpartition("/")[0]
    while folder not in floor_of:
        assert folder, f"give the folder of {file} a floor"
        folder = folder.rpartition("/")[0]
    return folder, floor_of[folder]


def direction(file: str, name: str) -> str:
    """Return "up" or "sideways" if an include goes there, "" if it may be."""
    for floors in (FLOORS, PACKET):
        (here, floor), (there, other) = room_of(file, floors), room_of(name, floors)
        if here != there:
            return "up" if other > floor else "sideways" if other == floor else ""
        if here != "packet":
            break
    return ""


def wrong_includes(files: Sources) -> list[str]:
    """Describe each include that points upward or sideways, or that is not told from the top."""
    wrong = []
    for file, text in files.items():
        for name in INCLUDE.findall(text):
            way = direction(file, name) if name in files else "no path from the top folder"
            if way:
                wrong.append(f"{file} includes {name}: {way}")
    return wrong


def unit_of(file: str) -> str:
    """Return what a header has in common with the .c that it declares."""
    return file if file in APART else file.rpartition(".")[0]


def circle(files: Sources) -> list[str]:
    """Return units that include one another in a circle, none: []."""
    includes: dict[str, set[str]] = {unit_of(file): set() for file in files}
    for file, text in files.items():
        includes[unit_of(file)] |= {unit_of(name) for name in INCLUDE.findall(text)}
    done: set[str] = set()

    def follow(unit: str, path: list[str]) -> list[str]:
        if unit in path:
            return [*path[path.index(unit) :], unit]
        if unit in done:
            return []
        for name in sorted(includes[unit] - {unit}):
            found = follow(name, [*path, unit])
            if found:
                return found
        done.add(unit)
        return []

    return next((found for unit in sorted(includes) if (found := follow(unit, []))), [])


def test_includes_point_down() -> None:
    files = sources()
    assert len(files) > 100, "no sources found: does the test look in the right place?"
    folders = {file.rpartition("/")[0] for file in files if file.startswith("packet/")}
    assert folders == set().union(*PACKET), "give each folder of packet a floor"
    assert not wrong_includes(files)
    assert not circle(files)


@pytest.mark.parametrize(
    ("file", "name", "word"),
    [
        ("laws/aqm.h", "fluid/run.h", "up"),
        ("laws/aqms/pi.c", "laws/senders/reno.h", "sideways"),
        ("fluid/run.h", "packet/run/run.h", "sideways"),
        ("packet/run/run.h", "binding/arrays.h", "up"),
        ("packet/core/timers.c", "packet/queues/qdisc.h", "up"),
        ("packet/queues/queue.h", "packet/tcp/flow.h", "sideways"),
        ("packet/run/link.c", "packet/tcp/ends/receiver.h", "up"),
        ("packet/tcp/ends/rack.c", "packet/simulator.h", "up"),
        ("fluid/past.c", "past.h", "no path"),
    ],
)
def test_a_wrong_include_is_seen(file: str, name: str, word: str) -> None:
    files = sources()
    files[file] += f'\n#include "{name}"\n'
    (found,) = wrong_includes(files)
    assert word in found


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("fluid/past.h", "fluid/run.h"),
        ("packet/run/hop.c", "packet/run/run.h"),
        ("packet/tcp/ends/transmission.c", "packet/tcp/ends/recovery.h"),
    ],
)
def test_a_circle_is_seen(file: str, name: str) -> None:
    files = sources()
    files[file] += f'\n#include "{name}"\n'
    assert set(circle(files)) == {unit_of(file), unit_of(name)}
