"""Archives that mean harm: each is refused by one sentence, or unpacks within its folder."""

from __future__ import annotations

import io
import os
import random
import stat
import tarfile
import tracemalloc
from pathlib import Path

import pytest
from archives import package, source, tarball, write_tree
from hostile import (
    PACKED,
    TOP,
    WRONG,
    ar,
    ended,
    file,
    good_members,
    header,
    hostile,
    package_of,
    pax,
)
from refusals import assert_sentence, refused

from pi2_fluid.apps.cli import run
from pi2_fluid.engines.linux.building import archives, trees
from pi2_fluid.engines.linux.building.archives import unpack
from pi2_fluid.engines.linux.building.builder import build_kernel
from pi2_fluid.engines.linux.building.tars import members
from pi2_fluid.engines.linux.building.trees import copy_tree, sha256_of_tree, wrong_link, wrong_name
from pi2_fluid.errors import BuildError, UnsupportedError


def nothing(done: float, total: float) -> None:
    assert 0 <= done <= total


@pytest.fixture(autouse=True)
def small(monkeypatch) -> None:
    monkeypatch.setattr(archives, "MOST_UNPACKED", 20_000_000)
    monkeypatch.setattr(archives, "MOST_WRITTEN", 5_000_000)


def unpacked(base: Path, data: bytes) -> str:
    """Unpack into a folder beside others; what was refused, or "", and nothing else was touched."""
    base.mkdir()
    (base / "outside").write_text("mine")
    (base / "archive").write_bytes(data)
    before = {path: path.stat().st_mtime_ns for path in base.iterdir()}
    tree = base / "a" / "tree"
    said = ""
    try:
        unpack(base / "archive", tree, nothing)
    except (BuildError, UnsupportedError) as error:
        said = str(error)
        assert_sentence(said.replace(str(base), ""), "give")
    assert (base / "outside").read_text() == "mine"
    there = {path: path.stat().st_mtime_ns for path in base.iterdir() if path != base / "a"}
    assert there == before
    assert not (base / "a").exists() or [path.name for path in (base / "a").iterdir()] == ["tree"]
    assert_within(tree)
    return said


def assert_within(tree: Path) -> None:
    whole = tree.resolve()
    size = 0
    for place, folders, files in os.walk(tree):
        for name in [*folders, *files]:
            path = Path(place, name)
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                assert path.resolve().is_relative_to(whole)
            else:
                assert stat.S_ISREG(mode) or stat.S_ISDIR(mode)
                assert not mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX | 0o022)
                size += path.stat().st_size if stat.S_ISREG(mode) else 0
    assert size <= archives.MOST_WRITTEN


@pytest.mark.slow
def test_two_hundred_and_fifty_archives_are_refused_or_unpack_within_their_folder(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("PATH", "")  # no dpkg-deb
    refusals = dict.fromkeys([*WRONG, "", "flipped", "cut", "ar"], 0)
    whole = 0
    for seed in range(250):
        what, data = hostile(seed)
        said = unpacked(tmp_path / str(seed), data)
        assert said or what in {"", "flipped"}, f"seed {seed}, {what}, was taken"
        assert not (said and what == ""), f"seed {seed}: {said}"
        refusals[what] += bool(said)
        whole += not said
    assert all(count for what, count in refusals.items() if what), refusals
    assert whole > 5


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("form", [package_of, lambda tree, packed: PACKED[packed](tree)])
def test_what_is_right_unpacks(form, packed, tmp_path) -> None:
    assert unpacked(tmp_path / "x", form(ended(good_members()), packed)) == ""
    tree = tmp_path / "x" / "a" / "tree"
    assert (tree / "net/sched/sch_pie.c").read_text() == source()["net/sched/sch_pie.c"]
    assert (tree / "scripts/l").readlink() == Path("../net")
    assert not (tree / "drivers/gpu/drm/drm.c").exists()


@pytest.mark.parametrize(
    "what",
    [pytest.param(what, marks=[pytest.mark.slow] if "beside" in what else []) for what in WRONG],
)
def test_each_thing_that_no_source_has_is_refused(what, tmp_path) -> None:
    """Ten draws of each, at the end of what is right."""
    for seed in range(2 if "very" in what else 10):
        data = ended([*good_members(), WRONG[what](random.Random(seed))])
        data = PACKED[".xz" if "beside" in what else ""](data)
        assert unpacked(tmp_path / str(seed), data), f"seed {seed} was taken"


@pytest.mark.parametrize("size", [b"-60", b"abc", b"9999999999", b"", b"6 0", b"+4"])
def test_a_header_of_ar_that_is_none_is_refused(size, tmp_path) -> None:
    data = ar({"debian-binary": b"2.0\n", "data.tar": b""}, {"debian-binary": size})
    assert "header of ar" in unpacked(tmp_path / "x", data)


@pytest.mark.parametrize("name", ["data.tar.lzma", "data.tar/../x", "data.target", "control.tar"])
def test_a_package_without_data_is_refused(name, tmp_path) -> None:
    assert "no data.tar" in unpacked(tmp_path / "x", ar({name: ended(good_members())}))


@pytest.mark.slow
def test_what_asks_for_much_memory_does_not_get_it(tmp_path, monkeypatch) -> None:
    """Claims of gigabytes, and 20 MB of zeros in some hundred bytes, three times packed."""
    zeros = PACKED[".xz"](bytes(19_000_000))
    claims = [
        ended([header("pax", 1 << 33, b"x"), file(TOP + "x")]),
        ended([header(TOP + "x", b"77777777777\0")]),
        PACKED[".xz"](ended([file(TOP + "x", bytes(19_000_000))])),
        package_of(PACKED[".gz"](PACKED[".bz2"](zeros)), ".xz", ".xz"),
    ]
    tracemalloc.start()
    try:
        for i, data in enumerate(claims):
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            (tmp_path / "archive").write_bytes(data)
            with refused(BuildError, "cannot be unpacked"):
                unpack(tmp_path / "archive", tmp_path / str(i), nothing)
            # Some pieces of 256 KiB, and what zlib and lzma need.
            assert tracemalloc.get_traced_memory()[1] - before < 4_000_000
    finally:
        tracemalloc.stop()
    monkeypatch.setattr(archives, "_MEMORY", 100_000)
    assert "memory" in unpacked(tmp_path / "x", PACKED[".xz"](ended(good_members())))


# --- beside tarfile -------------------------------------------------------------------------


def random_archive(drawn: random.Random) -> bytes:
    """Files, folders and links by tarfile, in a format of its, with names of any length."""
    held = io.BytesIO()
    form = drawn.choice([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
    letters = "abcXYZ._-" + ("" if form == tarfile.USTAR_FORMAT else "äß漢 =\n")
    with tarfile.open(fileobj=held, mode="w", format=form) as archive:
        for i in range(drawn.randrange(1, 12)):
            parts = [
                "".join(drawn.choices(letters, k=drawn.randrange(1, 30 if i % 3 else 60)))
                for _ in range(drawn.randrange(1, 4))
            ]
            member = tarfile.TarInfo("/".join(["top", *parts, str(i)]))
            member.type = drawn.choice([tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE])
            member.mtime = drawn.choice([0, 1.5, 1_700_000_000])
            member.uid = drawn.choice([0, 1000, 3_000_000])
            data = drawn.randbytes(drawn.choice([0, 1, 511, 512, 513, 5000]))
            if member.type == tarfile.SYMTYPE:
                member.linkname = "/".join(parts)
            if member.type == tarfile.REGTYPE:
                member.size = len(data)
            try:
                archive.addfile(member, io.BytesIO(data))
            except ValueError:  # too long for ustar
                assert form == tarfile.USTAR_FORMAT
    return held.getvalue()


@pytest.mark.slow
def test_three_hundred_archives_are_read_as_tarfile_reads_them() -> None:
    kinds = {tarfile.REGTYPE: "file", tarfile.DIRTYPE: "folder", tarfile.SYMTYPE: "link"}
    count = 0
    for seed in range(300):
        data = random_archive(random.Random(seed))
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            expected = [
                (m.name, kinds[m.type], m.linkname, b"" if not m.isreg() else content.read())
                for m in archive
                for content in [archive.extractfile(m) if m.isreg() else io.BytesIO()]
                if content is not None
            ]
        found = [
            (m.name, m.kind, m.target, m.content.read() if m.kind == "file" else b"")
            for m in members(io.BytesIO(data))
        ]
        assert found == expected
        count += len(found)
    assert count > 1000


# --- links and names ------------------------------------------------------------------------


def test_links_that_are_taken_stay_within_wherever_they_are_followed_from(tmp_path) -> None:
    """Random links into random folders: those that are taken, together, lead nowhere else."""
    drawn = random.Random(22)
    taken = 0
    for i in range(60):
        top = tmp_path / str(i) / "top"
        for folder in ("a/b/c", "d", "e/f"):
            (top / folder).mkdir(parents=True)
        links = []
        for j in range(12):
            place = drawn.choice(["", "a/", "a/b/", "a/b/c/", "d/", "e/f/"]) + f"l{j}"
            words = ["..", ".", "a", "b", "d", "e", "l0", "l1", "l2", "l3"]
            target = "/".join(drawn.choices(words, (4, 1, 1, 1, 1, 1, 1, 1, 1, 1), k=4))
            if not wrong_link(place, target):
                (top / place).symlink_to(target)
                links.append(top / place)
        for link in links:
            try:
                assert link.resolve(strict=True).is_relative_to(top.resolve())
            except (OSError, RuntimeError):
                continue  # to nothing, or in a circle
        taken += len(links)
    assert 100 < taken < 600


def test_a_name_is_within_and_possible() -> None:
    assert wrong_name("a/b") == wrong_name("a..b/c") == ""
    for name in ("/a", "..", "a/..", "a/../b", "a" * 256, "ä" * 128, "a/" * 101 + "a", "a\0"):
        assert wrong_name(name)


@pytest.mark.parametrize("made", ["pipe", "socket", "out", "absolute"])
def test_a_tree_with_more_than_files_is_refused(made, tmp_path) -> None:
    tree = write_tree(tmp_path / "tree", source())
    place = tree / "net" / "odd"
    if made == "pipe":
        os.mkfifo(place)
    elif made == "socket":
        os.mknod(place, 0o600 | stat.S_IFSOCK)
    else:
        place.symlink_to("../../x" if made == "out" else "/etc/passwd")
    with refused(UnsupportedError, "net/odd", "take it away"):
        sha256_of_tree(tree)
    with refused(UnsupportedError, "net/odd"):
        copy_tree(tree, tmp_path / "copy", nothing)


def test_a_name_in_no_encoding_is_hashed_and_copied(tmp_path) -> None:
    tree = write_tree(tmp_path / "tree", source())
    Path(os.fsdecode(os.fsencode(tree) + b"/net/\xff\xfe.c")).write_text("x")
    assert len(sha256_of_tree(tree)) == 64
    copy_tree(tree, tmp_path / "copy", nothing)
    names = [os.fsencode(path.name) for path in (tmp_path / "copy" / "net").iterdir()]
    assert sorted(names) == [b"sched", b"\xff\xfe.c"]


# --- at the shell ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    ["device", "pipe", "large", "pipe in it", "device in it", "out", "ar", "odd", "version"],
)
def test_the_shell_refuses_by_one_sentence(given, machine, tmp_path, monkeypatch, capsys) -> None:
    place = tmp_path / "given"
    evil = {
        "pipe in it": lambda: ended([*good_members(), header(TOP + "p", kind=b"6")]),
        "device in it": lambda: ended([*good_members(), header(TOP + "p", kind=b"3")]),
        "out": lambda: ended([pax(("path", "../../../x")), file("x")]),
        "ar": lambda: ar({"x": b""}, {"x": b"-60"}),
        "odd": lambda: tarball(source(Makefile="VERSION = x\nPATCHLEVEL = y\n")),
        "version": lambda: package(
            source(Makefile="VERSION = 7\nPATCHLEVEL = 2\nEXTRAVERSION = /../../../x\n")
        ),
    }
    if given in evil:
        place.write_bytes(evil[given]())
    elif given == "pipe":
        os.mkfifo(place)
    elif given == "large":
        monkeypatch.setattr(trees, "MOST_BYTES", 10)
        place.write_bytes(bytes(11))
    else:
        place = Path("/dev/zero")
    assert run(["linux", "build", "--source", str(place)]) in {2, 4}
    out, err = capsys.readouterr()
    assert out == ""
    assert_sentence(err.splitlines()[-1], "error: ", "give")
    assert machine.calls() == []
    assert not list(machine.cache.rglob("tree*"))


def test_a_makefile_in_another_encoding_is_read(machine, tmp_path) -> None:
    tree = write_tree(tmp_path / "tree", source())
    for name in ("Makefile", "arch/um/Kconfig", "drivers/char/random.c"):
        with (tree / name).open("ab") as added:
            added.write(b"# \xe9\xff\n")
    assert build_kernel(source=tree, keep_source=True).release == "7.2.13"
    (built,) = machine.cache.glob("building/*/tree")
    assert (built / "arch/um/Kconfig").read_bytes().endswith(b"# \xe9\xff\n")
    assert b"default 1000" in (built / "arch/um/Kconfig").read_bytes()
