"""What is read of packages, tar archives and trees, and what is left out."""

from __future__ import annotations

import pytest
from archives import deb, hexadecimal, package, source, tar, tarball, write_tree
from refusals import refused

from pi2_fluid.engines.linux.building.archives import unpack
from pi2_fluid.engines.linux.building.trees import (
    copy_tree,
    is_needed,
    sha256_of_file,
    sha256_of_tree,
)
from pi2_fluid.errors import BuildError, UnsupportedError


def nothing(done: float, total: float) -> None:
    assert 0 <= done <= total


def files_in(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }


NEEDED = {name: text for name, text in source().items() if name != "drivers/gpu/drm/drm.c"}


@pytest.mark.parametrize("pack", [package, tarball])
def test_an_archive_is_unpacked_without_what_is_not_needed(pack, tmp_path) -> None:
    (tmp_path / "source").write_bytes(pack(source()))
    told = []
    unpack(tmp_path / "source", tmp_path / "tree", lambda *how: told.append(how))
    assert files_in(tmp_path / "tree") == NEEDED
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] == (tmp_path / "source").stat().st_size


def test_what_zstd_has_packed_is_left_to_dpkg(tmp_path, monkeypatch) -> None:
    """Ubuntu's packages: the source lies in a folder, to which there is a link beside."""
    inner = {"usr/src/linux-source-7.2.0/linux-source-7.2.0.tar.xz": tarball(source())}
    (tmp_path / "source.deb").write_bytes(deb(inner, "zst"))
    (tmp_path / "data.tar").write_bytes(tar(inner, "./"))
    program = tmp_path / "dpkg-deb"
    program.write_text(f'#!/bin/sh\n[ "$1" = --fsys-tarfile ] && /bin/cat {tmp_path}/data.tar\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    unpack(tmp_path / "source.deb", tmp_path / "tree", nothing)
    assert files_in(tmp_path / "tree") == NEEDED
    program.unlink()
    with refused(UnsupportedError, "source.deb", "zstd", "install dpkg"):
        unpack(tmp_path / "source.deb", tmp_path / "again", nothing)


def test_a_tree_is_copied_as_it_is_unpacked(tmp_path) -> None:
    tree = write_tree(tmp_path / "mine", source() | {".git/HEAD": "ref"})
    (tree / "link").symlink_to("Makefile")
    copy_tree(tree, tmp_path / "tree", nothing)
    assert (tmp_path / "tree" / "link").readlink().as_posix() == "Makefile"
    assert files_in(tmp_path / "tree") == NEEDED | {"link": NEEDED["Makefile"]}


@pytest.mark.parametrize(
    ("path", "needed"),
    [
        ("net/sched/sch_dualpi2.c", True),
        ("arch/um/kernel/time.c", True),
        ("arch/x86/um/ldt.c", True),
        ("arch/arm64/kernel/time.c", False),
        ("arch/arm64/Kconfig.debug", True),
        ("drivers/net/veth.c", True),
        ("drivers/net/ethernet/intel/e1000/e1000.h", False),
        ("drivers/iommu/iommu-pages.c", True),
        ("tools/perf/builtin-stat.c", False),
        ("tools/include/linux/list.h", True),
        ("Documentation/Kconfig", True),
        ("Documentation/networking/tc.rst", False),
    ],
)
def test_what_is_needed(path, needed) -> None:
    assert is_needed(path) == needed


@pytest.mark.parametrize("broken", [b"", b"hello\n" * 200, package(source())[:700]], ids=len)
def test_what_is_no_archive_is_refused(broken, tmp_path) -> None:
    (tmp_path / "source").write_bytes(broken)
    with refused(BuildError, str(tmp_path / "source"), "linux-source-X.Y"):
        unpack(tmp_path / "source", tmp_path / "tree", nothing)


def test_an_archive_that_breaks_off_is_refused(tmp_path) -> None:
    whole = tarball(source() | {"net/long.c": "".join(map(str, range(20000)))})
    (tmp_path / "source").write_bytes(whole[: len(whole) // 2])
    with refused(BuildError, "whole"):
        unpack(tmp_path / "source", tmp_path / "tree", nothing)


def test_another_package_is_refused(tmp_path) -> None:
    (tmp_path / "hello.deb").write_bytes(deb({"usr/share/doc/hello": b"hello"}))
    with refused(UnsupportedError, "hello.deb", "linux-source-X.Y"):
        unpack(tmp_path / "hello.deb", tmp_path / "tree", nothing)


@pytest.mark.parametrize("built", [".config", "include/generated/autoconf.h"])
def test_a_tree_that_was_built_in_is_refused(built, tmp_path) -> None:
    tree = write_tree(tmp_path / "mine", source() | {built: ""})
    with refused(UnsupportedError, "make mrproper"):
        copy_tree(tree, tmp_path / "tree", nothing)


def test_the_hash_of_a_tree_is_that_of_what_is_needed(tmp_path) -> None:
    hashes = {
        sha256_of_tree(write_tree(tmp_path / name, files))
        for name, files in {
            "one": source(),
            "again": source(),
            "unneeded": source() | {"drivers/gpu/drm/drm.c": "changed"},
        }.items()
    }
    assert len(hashes) == 1
    changed = write_tree(tmp_path / "two", source() | {"net/sched/sch_pie.c": "changed"})
    named = write_tree(tmp_path / "three", source() | {"net/more.c": ""})
    assert len(hashes | {sha256_of_tree(changed), sha256_of_tree(named)}) == 3


def test_the_hash_of_a_file(tmp_path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert sha256_of_file(tmp_path / "x") == hexadecimal(b"abc")
