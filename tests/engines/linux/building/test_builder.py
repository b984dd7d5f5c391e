"""The whole way from an archive to the cache, with a make that compiles nothing."""

from __future__ import annotations

import errno
import json
import platform
import shutil
import threading
import time
from pathlib import Path

import pytest
from archives import hexadecimal, mirror, package, serving, source, tarball, write_tree
from refusals import refused

from pi2_fluid.engines.linux.building import builder
from pi2_fluid.engines.linux.building.builder import build_kernel
from pi2_fluid.engines.linux.building.compiling import TOOLS
from pi2_fluid.errors import BuildError, QuantityError, UnsupportedError, WriteError

COMPILE = 'cat arch/um/Kconfig > linux; echo "$KBUILD_BUILD_TIMESTAMP$ARCH" >> linux\n'


@pytest.fixture
def archive(machine):
    with serving(mirror({"sid": {"7.2.13-1": package(source())}})) as served:
        yield served


def test_a_kernel_is_built_from_the_archive_and_kept(machine, archive) -> None:
    told = []
    kernel = build_kernel(mirror=archive.url, unchecked=True, told=lambda *how: told.append(how[0]))
    assert kernel.folder.parent == machine.cache / "kernels"
    assert (kernel.release, kernel.version) == ("7.2.13", (7, 2))
    assert {"pie", "dualpi2", "cake"} < set(kernel.qdiscs)
    assert "bbr" in kernel.congestion_controls
    assert "prague" not in kernel.congestion_controls
    assert kernel.image.read_text().startswith("config HZ\n\tint\n\tdefault 1000\n")
    assert kernel.image.read_text().endswith("Thu Jan  1 00:00:00 UTC 1970\n")
    assert "CONFIG_IPV6=y" not in (kernel.folder / "config").read_text()
    assert list(dict.fromkeys(told)) == [
        f"reading {archive.url}/dists/sid",
        "fetching",
        "unpacking",
        "compiling",
    ]
    # Neither the package nor the source is left.
    assert machine.left() == ["building", "kernels"]
    assert [path.name for path in (machine.cache / "building").iterdir()] == ["lock"]


def test_the_manifest_says_how_it_was_made(machine, archive) -> None:
    kernel = build_kernel(mirror=archive.url, unchecked=True)
    manifest = json.loads((kernel.folder / "manifest.json").read_text())
    assert manifest == kernel.manifest
    data = archive.files["pool/main/l/linux/linux-source_7.2.13-1_all.deb"]
    assert manifest["source"]["sha256"] == hexadecimal(data)
    assert manifest["source"]["signature"].startswith("not checked")
    assert manifest["image"] == hexadecimal(kernel.image.read_bytes())
    assert manifest["configuration"] == hexadecimal((kernel.folder / "config").read_bytes())
    assert manifest["without"] == ["TCP_CONG_PRAGUE"]
    assert manifest["compiler"] == "gcc (Test) 1.2.3"
    assert not manifest["resumed"]


def test_what_is_there_is_not_built_again(machine, archive) -> None:
    kernel = build_kernel(mirror=archive.url, unchecked=True)
    before = len(machine.calls()), len(archive.asked)
    assert build_kernel("7.2", mirror=archive.url, unchecked=True) == kernel
    assert len(machine.calls()) == before[0]
    assert not [path for path, _ in archive.asked[before[1] :] if path.startswith("pool")]


def test_another_configuration_is_another_kernel(machine, archive, monkeypatch, tmp_path) -> None:
    first = build_kernel(mirror=archive.url, unchecked=True)
    (tmp_path / "uml.config").write_text(f"{builder.FRAGMENT.read_text()}CONFIG_NET_SCH_PLUG=y\n")
    monkeypatch.setattr(builder, "FRAGMENT", tmp_path / "uml.config")
    second = build_kernel(mirror=archive.url, unchecked=True)
    assert second.folder != first.folder
    assert "plug" in second.qdiscs
    assert first.image.is_file()


@pytest.mark.parametrize("form", ["package", "archive", "tree"])
def test_a_source_at_hand_needs_no_network(form, machine, tmp_path) -> None:
    path = tmp_path / "given"
    if form == "tree":
        write_tree(path, source("6.18.3"))
    else:
        path.write_bytes({"package": package, "archive": tarball}[form](source("6.18.3")))
    kernel = build_kernel(source=path)
    assert kernel.release == "6.18.3"
    assert str(path) in kernel.source if form == "tree" else "given" in kernel.source
    if form == "tree":
        assert "default 100\n" in (path / "arch/um/Kconfig").read_text(), "the tree is as it was"


def test_source_and_package_stay_where_they_are_wanted(machine, archive) -> None:
    build_kernel(mirror=archive.url, unchecked=True, keep_source=True)
    assert machine.left() == ["building", "downloads", "kernels"]
    assert len(list((machine.cache / "building").glob("*/tree/Makefile"))) == 1


# --- broken off, and side by side -----------------------------------------------------------


def test_a_build_that_failed_goes_on_where_it_was(machine, archive) -> None:
    (machine.home / "compile").write_text('echo "net/x.c:7:1: error: no such thing"; exit 2\n')
    with refused(BuildError, "net/x.c:7:1: error: no such thing", "make.log"):
        build_kernel(mirror=archive.url, unchecked=True)
    (machine.home / "compile").write_text(COMPILE)
    assert build_kernel(mirror=archive.url, unchecked=True).manifest["resumed"]
    trees = {line.split(" ")[0] for line in machine.calls()}
    assert len(trees) == 1
    assert len([line for line in machine.calls() if " defconfig" in line]) == 1
    assert len([path for path, _ in archive.asked if path.startswith("pool")]) == 1


@pytest.mark.parametrize("part", ["fetching", "unpacking", "compiling"])
def test_ctrl_c_leaves_nothing_half_done(part, machine, archive) -> None:
    def stop(now: str, done: float, *_: object) -> None:
        if now == part:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_kernel(mirror=archive.url, unchecked=True, told=stop)
    assert not (machine.cache / "kernels").exists()
    kernel = build_kernel(mirror=archive.url, unchecked=True)
    assert kernel.manifest["resumed"] == (part == "compiling")
    assert kernel.image.is_file()


def test_two_builds_at_once_make_one_kernel(machine, archive) -> None:
    (machine.home / "compile").write_text(f"sleep 0.3\n{COMPILE}")
    found, waited = [], threading.Event()

    def one() -> None:
        found.append(
            build_kernel(
                mirror=archive.url,
                unchecked=True,
                told=lambda now, *_: now.startswith("waiting") and waited.set(),
            )
        )

    both = [threading.Thread(target=one) for _ in range(2)]
    for thread in both:
        thread.start()
        time.sleep(0.05)
    for thread in both:
        thread.join()
    assert found[0] == found[1]
    assert waited.is_set()
    assert len([line for line in machine.calls() if line.endswith(" linux")]) == 1


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOOLS)
def test_a_missing_tool_is_named_with_its_package(name, machine) -> None:
    (machine.tools / name).unlink()
    with refused(BuildError, f"without {name}:", f"apt-get install {TOOLS[name]})"):
        build_kernel()


def test_all_missing_tools_are_named_at_once(machine) -> None:
    for name in ("flex", "bison"):
        (machine.tools / name).unlink()
    with refused(BuildError, "without flex, bison:", "apt-get install flex bison)"):
        build_kernel()


def test_a_compiler_without_headers_is_said(machine) -> None:
    (machine.tools / "gcc").write_text("#!/bin/sh\nexit 1\n")
    with refused(BuildError, "headers of the C library", "libc6-dev"):
        build_kernel()


@pytest.mark.parametrize(("system", "kind"), [("Darwin", "arm64"), ("Linux", "aarch64")])
def test_another_machine_is_refused(system, kind, machine, monkeypatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: kind)
    with refused(UnsupportedError, f"{system} on {kind}", "x86_64", "Packets()"):
        build_kernel()


def test_too_little_room_is_said_before_anything_is_fetched(machine, archive, monkeypatch) -> None:
    monkeypatch.setattr(
        shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(9, 8, 5 * 10**8)
    )
    with refused(WriteError, "0.5 GB free of 1.0", "XDG_CACHE_HOME") as caught:
        build_kernel(mirror=archive.url, unchecked=True)
    assert caught.value.errno == errno.ENOSPC
    assert not any(path.startswith("pool") for path, _ in archive.asked)


def test_a_version_and_a_source_are_one_too_many(machine) -> None:
    with refused(QuantityError, "'7.2'", "'/x'"):
        build_kernel("7.2", Path("/x"))


def test_a_source_that_is_not_there_is_refused(machine) -> None:
    with pytest.raises(FileNotFoundError):
        build_kernel(source=Path("/no/such/source"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"arch_um_Kconfig": "config HZ\n\tint\n\tdefault 100\n"}, "time travel"),
        ({"Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 5\n"}, "6.12.5"),
    ],
)
def test_a_source_that_will_not_do_is_refused_and_not_kept(
    changes, said, machine, tmp_path
) -> None:
    tree = write_tree(tmp_path / "tree", source(**changes))
    for _ in range(2):
        with refused(UnsupportedError, said):
            build_kernel(source=tree)
    assert not list(machine.cache.glob("building/*/tree"))


def test_a_configuration_without_what_is_needed_is_refused(machine, archive) -> None:
    text = (machine.tools / "make").read_text()
    (machine.tools / "make").write_text(text.replace("/TCP_CONG_PRAGUE/d", "/TIME_TRAVEL/d"))
    with refused(UnsupportedError, "CONFIG_UML_TIME_TRAVEL_SUPPORT"):
        build_kernel(mirror=archive.url, unchecked=True)
