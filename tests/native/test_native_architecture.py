"""The floors of the compiled code: who includes and calls whom, checked from outside."""

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
    {"fluid", "lanes", "matrices", "packet"},
    {"desk"},
    {"binding", "tests"},
]
# Likewise inside packet, each folder of it; "packet" itself is the simulator and its schedule.
PACKET: list[set[str]] = [
    {"packet/core", "packet/controllers"},
    {"packet/queues", "packet/tcp"},
    {"packet/tcp/congestion", "packet/run"},
    {"packet/tcp/ends"},
    {"packet"},
]
# Called from below where packet/run/link.h says why.
GIVEN_FROM_ABOVE = {"pi2_receive"}
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# What other files call is declared in a header; its definition has the brace in a line of its own.
DECLARATION = re.compile(r"^(?!static)\w[\w *]*?\b(\w+)\([^;{}]*\);", re.MULTILINE)
DEFINITION = re.compile(r"^(?!static)\w[\w *]*?\b(\w+)\([^;{}]*\)\n\{", re.MULTILINE)

CALL = "\nstatic void caller(void)\n{{\n    {}();\n}}\n"

Sources = dict[str, str]
Links = list[tuple[str, str, str]]


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


def includes(files: Sources) -> Links:
    """Return who includes what."""
    return [
        (file, "includes", name) for file, text in files.items() for name in INCLUDE.findall(text)
    ]


def calls(files: Sources) -> Links:
    """Return which file names a function of which .c, wherever that is declared."""
    plain = {file: COMMENT.sub("", text) for file, text in files.items()}
    headers = "".join(text for file, text in plain.items() if file.endswith(".h"))
    callable_ = set(DECLARATION.findall(headers)) - GIVEN_FROM_ABOVE
    homes: dict[str, set[str]] = {}
    for file, text in plain.items():
        for function in callable_.intersection(DEFINITION.findall(text)):
            homes.setdefault(function, set()).add(file)
    found = []
    for file, text in plain.items():
        words = homes.keys() & set(re.findall(r"\w+", DECLARATION.sub("", text)))
        called = [homes[function] for function in words if file not in homes[function]]
        found += [(file, "calls", home) for home in sorted(set().union(*called))]
    return found


def wrong(files: Sources) -> list[str]:
    """Describe what points upward or sideways, and each include not told from the top."""
    found = []
    for file, verb, name in includes(files) + calls(files):
        way = direction(file, name) if name in files else "no path from the top folder"
        if way:
            found.append(f"{file} {verb} {name}: {way}")
    return found


def unit_of(file: str) -> str:
    """Return what a header has in common with the .c that it declares."""
    return file.rpartition(".")[0]


def circle(files: Sources) -> list[str]:
    """Return units that include or call one another in a circle, none: []."""
    needs: dict[str, set[str]] = {unit_of(file): set() for file in files}
    for file, _, name in includes(files) + calls(files):
        needs[unit_of(file)].add(unit_of(name))
    done: set[str] = set()

    def follow(unit: str, path: list[str]) -> list[str]:
        if unit in path:
            return [*path[path.index(unit) :], unit]
        if unit in done:
            return []
        for name in sorted(needs[unit] - {unit}):
            found = follow(name, [*path, unit])
            if found:
                return found
        done.add(unit)
        return []

    return next((found for unit in sorted(needs) if (found := follow(unit, []))), [])


def test_includes_and_calls_point_down() -> None:
    files = sources()
    assert len(files) > 100, "no sources found: does the test look in the right place?"
    assert len(calls(files)) > 150, "no calls found: are functions written otherwise?"
    folders = {file.rpartition("/")[0] for file in files if file.startswith("packet/")}
    assert folders == set().union(*PACKET), "give each folder of packet a floor"
    assert not wrong(files)
    assert not circle(files)


@pytest.mark.parametrize(
    ("file", "name", "word"),
    [
        ("laws/aqm.h", "fluid/run.h", "up"),
        ("packet/core/timers.c", "packet/controllers/pie.h", "sideways"),
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
    (found,) = wrong(files)
    assert word in found


@pytest.mark.parametrize(
    ("file", "function", "word"),
    [
        ("laws/traced.c", "routes_seek", "up"),
        ("lanes/row.c", "routes_seek", "sideways"),
        ("packet/queues/pie.h", "pi2_link_act", "up"),
    ],
)
def test_a_wrong_call_is_seen(file: str, function: str, word: str) -> None:
    files = sources()
    files[file] += CALL.format(function)
    (found,) = wrong(files)
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


@pytest.mark.parametrize(
    ("file", "function", "home"),
    [
        ("fluid/routes/schedule.c", "routes_arrive", "fluid/routes/arrival"),
        ("fluid/routes/slopes.c", "routes_lean_choose", "fluid/routes/lean"),
        ("lanes/row.c", "pi2_lanes_work", "lanes/lanes"),
    ],
)
def test_a_circle_of_calls_is_seen(file: str, function: str, home: str) -> None:
    files = sources()
    files[file] += CALL.format(function)
    assert {unit_of(file), home} <= set(circle(files))
