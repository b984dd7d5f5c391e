"""Archives as somebody might make them who means harm, or whose program was broken, by seeds."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from collections.abc import Callable

from archives import source

Change = Callable[[random.Random, list[bytes]], None]


def header(
    name: str | bytes,
    size: int | bytes = 0,
    kind: bytes = b"0",
    target: str | bytes = b"",
    *,
    mode: bytes = b"0000644\0",
    magic: bytes = b"ustar\x0000",
    total: bytes = b"",
) -> bytes:
    """A header of tar, as it is said, whatever that may be."""
    name = name.encode() if isinstance(name, str) else name
    target = target.encode() if isinstance(target, str) else target
    digits = b"%011o\0" % size if isinstance(size, int) else size
    block = name[:100].ljust(100, b"\0") + mode + b"0000000\0" * 2 + digits[:12].ljust(12, b"\0")
    block += b"00000000000\0" + b" " * 8 + kind + target[:100].ljust(100, b"\0") + magic
    block = block.ljust(512, b"\0")
    return block[:148] + (total or b"%06o\0 " % sum(block)) + block[156:]


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 512)


def file(name: str | bytes, data: bytes = b"int x;\n", **said: bytes) -> bytes:
    return header(name, len(data), **said) + padded(data)


def pax(*records: tuple[str, str | bytes], kind: bytes = b"x") -> bytes:
    """What is said in front of a member: key and value of each record."""
    data = b""
    for key, value in records:
        rest = b" " + key.encode() + b"=" + (value.encode() if isinstance(value, str) else value)
        rest += b"\n"
        length = len(rest)
        while length != len(rest) + len(str(length)):
            length = len(rest) + len(str(length))
        data += str(length).encode() + rest
    return file("pax", data, kind=kind)


def long_name(name: str | bytes, kind: bytes = b"L") -> bytes:
    name = name.encode() if isinstance(name, str) else name
    return file("././@LongLink", name + b"\0", kind=kind)


TOP = "linux-7.2/"
BAD_NAMES = (
    "../x",
    "../../outside",
    "/etc/x",
    "linux-7.2/../../outside",
    "linux-7.2/net/../../../outside",
    "//x",
    "linux-7.2/" + "a" * 80 + "/..",
    b"linux-7.2/\xff\xfe/../../x",
)
BAD_TARGETS = (
    "/etc/passwd",
    "../../../../../../outside",
    "../..",
    "a/../../../..",
    "",
    "net/../..",
    "/",
)

#: One thing each that no source has: the members in which it is.
WRONG: dict[str, Callable[[random.Random], bytes]] = {
    "a name that leads out": lambda r: file(r.choice(BAD_NAMES)),
    "a folder that leads out": lambda r: header(r.choice(BAD_NAMES), kind=b"5"),
    "a name of pax that leads out": lambda r: pax(("path", r.choice(BAD_NAMES))) + file("x"),
    "a name of GNU's that leads out": lambda r: long_name(r.choice(BAD_NAMES)) + file("x"),
    "a name with a zero": lambda r: pax(("path", f"{TOP}a\0b")) + file("x"),
    "a long name": lambda r: pax(("path", TOP + "a" * 300)) + file("x"),
    "a long path": lambda r: long_name(TOP + "abc/" * 1000 + "x") + file("x"),
    "a deep path": lambda r: pax(("path", TOP + "a/" * 900 + "x")) + file("x"),
    "a link that leads out": lambda r: header(TOP + "l", 0, b"2", r.choice(BAD_TARGETS)),
    "a link of pax that leads out": lambda r: (
        pax(("linkpath", r.choice(BAD_TARGETS[:4]))) + header(TOP + "net/l", 0, b"2", "x")
    ),
    "a link of GNU's that leads out": lambda r: (
        long_name(r.choice(BAD_TARGETS[:4]), b"K") + header(TOP + "net/l", 0, b"2", "x")
    ),
    "a file below a link": lambda r: header(TOP + "l", 0, b"2", "net") + file(TOP + "l/x"),
    "a file behind a link of its name": lambda r: (
        header(TOP + "l", 0, b"2", "Kbuild") + file(TOP + "l", b"evil")
    ),
    "a hard link that leads out": lambda r: header(
        TOP + "l", 0, b"1", r.choice(["/etc/passwd", "../../outside", "x/../../outside"])
    ),
    "a hard link to nothing": lambda r: header(TOP + "l", 0, b"1", TOP + "none"),
    "a hard link to a link": lambda r: (
        header(TOP + "net/deep/l", 0, b"2", "../../Kbuild")
        + header(TOP + "l", 0, b"1", TOP + "net/deep/l")
    ),
    "a pipe": lambda r: header(TOP + "p", kind=b"6"),
    "a device": lambda r: header(TOP + "d", kind=r.choice([b"3", b"4"])),
    "a kind that is none": lambda r: header(TOP + "k", kind=r.choice([b"S", b"Z", b"M", b"D"])),
    "a sparse file": lambda r: pax(("GNU.sparse.size", "1")) + file(TOP + "s"),
    "the same twice": lambda r: file(TOP + "net/x.c") + file(TOP + "net/x.c", b"evil"),
    "a folder of a file": lambda r: file(TOP + "x") + file(TOP + "x/y"),
    "a file of a folder": lambda r: file(TOP + "x/y") + file(TOP + "x"),
    "a size below zero": lambda r: header(TOP + "n", r.choice([b"-60\0", b"\xff" * 12])),
    "a size that is no number": lambda r: header(TOP + "n", b"99999\0"),
    "a size beyond all": lambda r: header(
        TOP + "n", r.choice([b"\x80" + b"\xff" * 11, b"77777777777\0"])
    ),
    "a size of pax": lambda r: (
        pax(("size", r.choice(["-60", "1e9", "9" * 17, "9" * 5000, "", "0x10"]))) + file(TOP + "n")
    ),
    "much said of one member": lambda r: header("pax", 1 << 33, r.choice([b"x", b"L", b"g"])),
    "a record of no length": lambda r: file("pax", b"0 path=x\n", kind=b"x") + file(TOP + "n"),
    "a record that is longer": lambda r: file("pax", b"99 path=x\n", kind=b"x") + file(TOP + "n"),
    "a record that is none": lambda r: file("pax", b"\xff" * 40, kind=b"x") + file(TOP + "n"),
    "a wrong sum": lambda r: header(TOP + "n", total=b"000001\0 "),
    "what was built": lambda r: file(TOP + r.choice([".config", "include/generated/x.h"])),
    "very much": lambda r: file(TOP + "big.c", bytes(6_000_000)),
    "very many bytes beside": lambda r: file(TOP + "sound/big.c", bytes(25_000_000)),
}

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": lambda data: data,
    ".xz": lambda data: lzma.compress(data, preset=0),
    ".gz": lambda data: gzip.compress(data, 1),
    ".bz2": lambda data: bz2.compress(data, 1),
}


def good_members() -> list[bytes]:
    """The members of a source as it should be, with a link and what no file is written for."""
    written = [header(TOP, kind=b"5"), pax(("comment", "abc"), kind=b"g")]
    written += [file(TOP + name, text.encode()) for name, text in source().items()]
    return [*written, header(TOP + "scripts/l", 0, b"2", "../net")]


def ended(members: list[bytes]) -> bytes:
    return b"".join(members) + bytes(1024)


def ar(parts: dict[str, bytes], sizes: dict[str, bytes] | None = None) -> bytes:
    """An archive of ar; sizes as they are said of some of its parts."""
    written = b"!<arch>\n"
    for name, part in parts.items():
        said = (sizes or {}).get(name, str(len(part)).encode())
        written += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}".encode() + said.ljust(10) + b"`\n"
        written += part + b"\n" * (len(part) % 2)
    return written


def package_of(tree: bytes, outer: str = ".xz", inner: str = ".xz") -> bytes:
    """A package linux-source-X.Y with that tar archive."""
    place = f"./usr/src/linux-source-7.2.tar{inner}"
    data = ended([header("./", kind=b"5"), file(place, PACKED[inner](tree))])
    return ar({"debian-binary": b"2.0\n", f"data.tar{outer}": PACKED[outer](data)})


def hostile(seed: int) -> tuple[str, bytes]:
    """What is wrong with an archive, and the archive."""
    drawn = random.Random(seed)
    members = good_members()
    what = drawn.choice([*WRONG, "", "flipped", "cut", "ar"])
    if what in WRONG:
        members.insert(drawn.randrange(1, len(members) + 1), WRONG[what](drawn))
    tree = ended(members)
    if what == "flipped" and drawn.random() < 0.5:
        tree = _flipped(drawn, tree)
    outer, inner = drawn.choice([*PACKED]), drawn.choice([*PACKED])
    if "beside" in what:  # of what is not packed, the archive itself is as long
        outer = inner = drawn.choice([".xz", ".gz"])
    form = "ar" if what == "ar" else drawn.choice(["package", "archive"])
    data = package_of(tree, outer, inner) if form != "archive" else PACKED[outer](tree)
    if what == "ar":
        sizes = [b"-60", b"abc", b"9999999999", b"", b"1e3", b"0x10", b"+60", b" 60", b"6 0"]
        name = drawn.choice(["debian-binary", f"data.tar{outer}"])
        good = {"debian-binary": b"2.0\n", f"data.tar{outer}": PACKED[outer](tree)}
        data = ar(good, {name: drawn.choice(sizes)})
    if what == "flipped":
        data = _flipped(drawn, data)
    if what == "cut":
        data = data[: drawn.randrange(len(data))]
    return what, data


def _flipped(drawn: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(drawn.randrange(1, 6)):
        changed[drawn.randrange(len(changed))] = drawn.randrange(256)
    return bytes(changed)
