"""What comes from a mirror: whole, once, and no more than was offered."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from archives import hexadecimal, package, serving, source
from refusals import refused

from pi2_fluid.engines.linux.building import fetching
from pi2_fluid.engines.linux.building.fetching import Package, fetch, read
from pi2_fluid.errors import BuildError

DATA = bytes(range(256)) * 4000


@pytest.fixture
def archive():
    with serving({}) as served:
        yield served


def offered(served, data: bytes = DATA) -> Package:
    served.files["pool/x.deb"] = data
    return Package("7.2-1", f"{served.url}/pool/x.deb", len(DATA), hexadecimal(DATA), "sid", "")


def test_a_package_is_fetched_once(archive, tmp_path) -> None:
    told = []
    for _ in range(2):
        path = fetch(offered(archive), tmp_path / "new", lambda *how: told.append(how))
        assert path.read_bytes() == DATA
    assert archive.asked == [("pool/x.deb", None)]
    assert told[-1] == (len(DATA), len(DATA))


@pytest.mark.parametrize("ranges", [True, False])
def test_what_has_broken_off_goes_on(ranges, archive, tmp_path) -> None:
    archive.breaks_at, archive.ranges = 300_000, ranges
    with refused(BuildError, "broke off at 300000 of 1024000 bytes", "goes on"):
        fetch(offered(archive), tmp_path, lambda *how: None)
    archive.breaks_at = None
    assert fetch(offered(archive), tmp_path, lambda *how: None).read_bytes() == DATA
    assert archive.asked[-1] == ("pool/x.deb", "bytes=300000-")
    assert [path.name for path in tmp_path.iterdir()] == ["x.deb"]


def test_ctrl_c_keeps_what_has_come(archive, tmp_path) -> None:
    def stop(done: float, total: float) -> None:
        if done < total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(offered(archive), tmp_path, stop)
    have = (tmp_path / "x.deb.part").stat().st_size
    assert 0 < have < len(DATA)
    assert fetch(offered(archive), tmp_path, lambda *how: None).read_bytes() == DATA
    assert archive.asked[-1] == ("pool/x.deb", f"bytes={have}-")


def test_another_package_than_the_signed_one_is_refused_and_deleted(archive, tmp_path) -> None:
    changed = offered(archive, DATA[:-1] + b"x")
    with refused(BuildError, "SHA-256", "deleted"):
        fetch(changed, tmp_path, lambda *how: None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [DATA + b"more", b"x" * len(DATA)], ids=["more", "other"])
def test_what_a_former_build_has_left_is_not_trusted(wrong, archive, tmp_path) -> None:
    (tmp_path / "x.deb").write_bytes(wrong)
    assert fetch(offered(archive), tmp_path, lambda *how: None).read_bytes() == DATA


def test_a_package_that_is_gone_is_said(archive, tmp_path) -> None:
    found = offered(archive)
    archive.files.clear()
    with refused(BuildError, "not there any more"):
        fetch(found, tmp_path, lambda *how: None)


def test_a_full_disk_is_not_taken_for_a_broken_line(archive) -> None:
    with pytest.raises(OSError, match="No space left"), Path("/dev/full").open("ab") as file:
        fetching._go_on(offered(archive), file, lambda *how: None)


def test_a_whole_package_is_unpacked_from_what_was_fetched(archive, tmp_path) -> None:
    """That the miniature is made as Debian's are: `ar` and `tar` can read it."""
    (tmp_path / "x.deb").write_bytes(package(source()))
    if shutil.which("dpkg-deb") is None:
        pytest.skip("there is no dpkg-deb on this machine")
    done = subprocess.run(["dpkg-deb", "--fsys-tarfile", tmp_path / "x.deb"], capture_output=True)
    assert b"usr/src/linux-source-7.2.tar.xz" in done.stdout


@pytest.mark.parametrize("more", [0, 1 << 26])
def test_no_more_is_read_than_there_may_be(more, archive) -> None:
    archive.files["x"] = DATA
    assert read(f"{archive.url}/x", len(DATA)) == DATA
    archive.endless["x"] = more
    with refused(BuildError, "longer than the 1000 bytes"):
        read(f"{archive.url}/x", 1000)


def test_a_file_that_breaks_off_is_not_taken_for_whole(archive) -> None:
    archive.files["x"], archive.breaks_at = DATA, 1000
    with refused(BuildError, "broke off at 1000 bytes"):
        read(f"{archive.url}/x", len(DATA))


def test_what_another_mirror_has_begun_is_begun_anew(archive, tmp_path) -> None:
    (tmp_path / "x.deb.part").write_bytes(b"evil" * 1000)
    assert fetch(offered(archive), tmp_path, lambda *how: None).read_bytes() == DATA
    assert [wanted for _, wanted in archive.asked] == ["bytes=4000-", None]
    assert [path.name for path in tmp_path.iterdir()] == ["x.deb"]


def test_a_package_that_goes_on_and_on_is_cut_off(archive, tmp_path) -> None:
    found = offered(archive)
    archive.endless["pool/x.deb"] = 1 << 26
    told = []
    with refused(BuildError, "longer", "deleted"):
        fetch(found, tmp_path, lambda *how: told.append(how))
    assert max(told) == (len(DATA), len(DATA))
    assert len(told) < 10, "no more is read than shows that it is longer"
    assert list(tmp_path.iterdir()) == []
