"""The floors of the compiled code: who includes whom, in C and C++, checked from outside."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

NATIVE = Path(__file__).resolve().parents[1] / "pi2_fluid" / "native"

# Low to high, folders of a floor beside one another, which never include one another. "" is the
# ground: parameters by name, elementary functions, the list of laws.
FLOORS: list[set[str]] = [
    {""},
    {"laws", "margins"},
    {"laws/aqms", "laws/senders"},
    # One room: a packet's queue, its sender and its run know one another's structs.
    {"fluid", "lanes", "packet"},
    {"binding", "tests"},
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
INCLUDE = re.compile(r'^\s*#\s*include "([^"]+)"', re.MULTILINE)

Sources = dict[str, str]


def sources() -> Sources:
    """Return the text of every file by its path in the folder."""
    kinds = {".c", ".h", ".cpp", ".def"}
    files = [path for path in sorted(NATIVE.rglob("*")) if path.suffix in kinds]
    return {path.relative_to(NATIVE).as_posix(): path.read_text("utf-8") for path in files}


def room_of(file: str) -> str:
    """Return the longest folder of a file that has a floor."""
    folder = file.rpartition("/")[0]
    while folder not in FLOOR_OF:
        assert folder, f"give the folder of {file} a floor in FLOORS"
        folder = folder.rpartition("/")[0]
    return folder


def wrong_includes(files: Sources) -> list[str]:
    """Describe each include that points upward or sideways, or that is not told from the top."""
    wrong = []
    for file, text in files.items():
        here = room_of(file)
        for name in INCLUDE.findall(text):
            if name not in files:
                wrong.append(f"{file} includes {name}, which is no path from the top folder")
                continue
            there = room_of(name)
            rise = FLOOR_OF[there] - FLOOR_OF[here]
            if there != here and rise >= 0:
                wrong.append(f"{file} includes {name}: {'up' if rise else 'sideways'}")
    return wrong


def circle(files: Sources) -> list[str]:
    """Return headers that include one another in a circle, none: []."""
    done: set[str] = set()

    def follow(file: str, path: list[str]) -> list[str]:
        if file in path:
            return [*path[path.index(file) :], file]
        if file in done:
            return []
        for name in INCLUDE.findall(files[file]):
            found = follow(name, [*path, file])
            if found:
                return found
        done.add(file)
        return []

    return next((found for file in files if (found := follow(file, []))), [])


def test_includes_point_down() -> None:
    files = sources()
    assert len(files) > 100, "no sources found: does the test look in the right place?"
    assert not wrong_includes(files)
    assert not circle(files)


@pytest.mark.parametrize(
    ("file", "name", "word"),
    [
        ("laws/aqm.h", "fluid/run.h", "up"),
        ("laws/aqms/pi.c", "laws/senders/reno.h", "sideways"),
        ("fluid/run.h", "packet/core/run.h", "sideways"),
        ("packet/core/run.h", "binding/arrays.h", "up"),
        ("fluid/past.c", "past.h", "no path"),
    ],
)
def test_a_wrong_include_is_seen(file: str, name: str, word: str) -> None:
    files = sources()
    files[file] += f'\n#include "{name}"\n'
    (found,) = wrong_includes(files)
    assert word in found


def test_a_circle_is_seen() -> None:
    files = sources()
    files["fluid/past.h"] += '\n#include "fluid/run.h"\n'
    assert set(circle(files)) == {"fluid/past.h", "fluid/run.h"}
