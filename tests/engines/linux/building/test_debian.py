"""Debian's archive, played by a server on this machine."""

from __future__ import annotations

import lzma
import re

import pytest
from archives import hexadecimal, mirror, paragraph, serving, signed, suite
from refusals import refused

from pi2_fluid.engines.linux.building import debian, signatures
from pi2_fluid.engines.linux.building.debian import find_package
from pi2_fluid.errors import BuildError, QuantityError, UnsupportedError

DATA = bytes(range(256)) * 4000


@pytest.fixture(autouse=True)
def nobody_signs(monkeypatch) -> None:
    monkeypatch.setattr(signatures, "KEYRINGS", ())


@pytest.fixture
def archive():
    suites = {
        "sid": {"7.2.9-1": b"old", "7.2.13-1": b"new", "7.1.5-1~exp1": b"other"},
        "forky": {"6.18.2-3": b"forky"},
        "trixie-backports": {"6.17.1-1~bpo13+1": b"backport", "6.12.9-1": b"ancient"},
    }
    with serving(mirror(suites)) as served:
        yield served


def find(version, served):
    return find_package(version, served.url, lambda what: None, unchecked=True)


@pytest.mark.parametrize(
    ("version", "found"),
    [
        (None, "7.2.13-1"),
        ("7.2", "7.2.13-1"),
        ("7.2.9", "7.2.9-1"),
        ("7.1", "7.1.5-1~exp1"),
        ("6.18", "6.18.2-3"),
        ("6.17", "6.17.1-1~bpo13+1"),
    ],
)
def test_the_newest_that_fits_is_found(version, found, archive) -> None:
    package = find(version, archive)
    assert package.version == found
    assert package.release == re.match(r"[\d.]+", found)[0]
    assert hexadecimal(archive.files[package.url.removeprefix(f"{archive.url}/")]) == package.sha256
    assert package.signature == "not checked: debian-archive-keyring is not installed"


def test_suites_are_read_only_as_far_as_they_are_needed(archive) -> None:
    find("7.2", archive)
    assert all("sid" in path for path, _ in archive.asked)


def test_a_mirror_need_not_have_all_suites(archive) -> None:
    del archive.files["dists/sid/InRelease"]
    assert find(None, archive).suite == "forky"


@pytest.mark.parametrize("version", ["7.3", "7.2.1", "7.20"])
def test_a_version_that_debian_does_not_have_is_refused(version, archive) -> None:
    with refused(UnsupportedError, version, "6.17.1, 6.18.2, 7.1.5", "7.2.13", "--source"):
        find(version, archive)


@pytest.mark.parametrize("version", ["6.16", "6.12.9", "5.15"])
def test_what_is_older_than_dualpi2_is_refused_before_anything_is_read(version, archive) -> None:
    with refused(UnsupportedError, version, "6.17"):
        find(version, archive)
    assert archive.asked == []


@pytest.mark.parametrize("version", ["", "7", "7.2-rc1", "newest", "7.2.13-1"])
def test_what_is_no_version_is_refused(version, archive) -> None:
    with refused(QuantityError, repr(version), "7.2"):
        find(version, archive)


def test_offline_is_said() -> None:
    with serving({}) as served:
        url = served.url
    with refused(BuildError, url, "go online", "--mirror", "--source"):
        find_package(None, url, lambda what: None, unchecked=True)


def test_a_mirror_of_something_else_is_refused() -> None:
    with serving({}) as served, refused(BuildError, served.url, "sid, forky, trixie-backports"):
        find(None, served)


def test_another_list_than_the_signed_one_is_refused(archive) -> None:
    archive.files["dists/sid/main/binary-all/Packages.xz"] += b"\0"
    with refused(BuildError, "SHA-256", "try again"):
        find(None, archive)


def test_a_list_is_found_by_its_hash_while_a_mirror_is_renewed(archive) -> None:
    lists = "dists/sid/main/binary-all"
    old = archive.files[f"{lists}/Packages.xz"]
    archive.files[f"{lists}/Packages.xz"] = b"newer than what is signed"
    archive.files[f"{lists}/by-hash/SHA256/{hexadecimal(old)}"] = old
    assert find(None, archive).version == "7.2.13-1"


def test_a_release_as_long_as_debians_is_read(archive) -> None:
    text = suite({"7.2.13-1": b"new"})[1]
    archive.files["dists/sid/InRelease"] = signed(
        text.replace("SHA256:\n", "SHA256:\n" + f" {'0' * 64} 1 main/some/file\n" * 3000)
    )
    archive.files["dists/sid/main/binary-all/Packages.xz"] = suite({"7.2.13-1": b"new"})[0][
        "main/binary-all/Packages.xz"
    ]
    assert find(None, archive).version == "7.2.13-1"


def test_a_release_without_a_list_is_refused(archive) -> None:
    archive.files["dists/sid/InRelease"] = signed(suite({})[1].replace("main/binary-all", "other"))
    with refused(BuildError, "Packages.xz", "--mirror"):
        find(None, archive)


def test_a_release_that_is_not_signed_is_refused(archive) -> None:
    archive.files["dists/sid/InRelease"] = suite({})[1].encode()
    with refused(BuildError, "not signed"):
        find(None, archive)


# --- lists that nothing vouches for -----------------------------------------------------------


def listed(archive, text: str) -> None:
    """Put a list into sid, packed as it is or by itself."""
    packed = lzma.compress(text.encode(), preset=0)
    path = "dists/sid/main/binary-all/Packages.xz"
    old = hexadecimal(archive.files[path]), len(archive.files[path])
    archive.files[path] = packed
    release = archive.files["dists/sid/InRelease"].decode()
    changed = release.replace(f"{old[0]} {old[1]}", f"{hexadecimal(packed)} {len(packed)}")
    assert changed != release
    archive.files["dists/sid/InRelease"] = changed.encode()


GOOD = paragraph("7.2.13-1", "pool/main/l/linux/linux-source-7.2_7.2.13-1_all.deb", b"new")


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("Filename: pool/main", "Filename: pool/..", "Filename = 'pool/../l/linux"),
        ("Filename: pool/", "Filename: /etc/", "Filename = '/etc/main"),
        ("linux-source-7.2_7.2.13-1_all.deb", "..", "Filename = 'pool/main/l/linux/..'"),
        ("Size: 3", "Size: -3", "is '-3', outside [1, 1500000000] bytes"),
        ("Size: 3", f"Size: {'9' * 5000}", "outside [1, 1500000000] bytes"),
        ("Size: 3\n", "", "is '', outside"),
        ("SHA256: ", "SHA256: x", "SHA256 = 'x"),
        ("Version: 7.2.13-1", "Version: 7", "Version = '7'"),
        ("Version: 7.2.13-1", f"Version: 7.{'2' * 5000}", "Version = '7.222"),
        ("Version: 7.2.13-1\n", "", "Version = ''"),
        ("Size: 3", "Size: 3\nSize: 4", "has 'Size: 4', no field"),
        ("Size: 3", "Size 3", "has 'Size 3', no field"),
    ],
)
def test_an_entry_that_is_none_is_refused(was, becomes, said, archive) -> None:
    listed(archive, GOOD)
    assert find(None, archive).version == "7.2.13-1"
    assert was in GOOD
    listed(archive, GOOD.replace(was, becomes))
    with refused(BuildError, "the list of sid" if "Size" not in was else "", said):
        find(None, archive)


@pytest.mark.slow  # it packs 300 MB, of which it unpacks 250
def test_a_list_that_unpacks_to_very_much_is_refused(archive) -> None:
    listed(archive, GOOD + "\n" + "x" * 300_000_000)
    assert len(archive.files["dists/sid/main/binary-all/Packages.xz"]) < 200_000
    with refused(BuildError, "Packages.xz cannot be unpacked (it is too long"):
        find(None, archive)


def test_a_list_that_unpacks_only_with_much_memory_is_refused(archive, monkeypatch) -> None:
    monkeypatch.setattr(debian, "_MEMORY", 100_000)
    with refused(BuildError, "Packages.xz cannot be unpacked (Memory usage limit"):
        find(None, archive)


def test_a_list_of_several_streams_is_read(archive) -> None:
    listed(archive, "")
    path = "dists/sid/main/binary-all/Packages.xz"
    before, parts = archive.files[path], GOOD.partition("SHA256")
    both = b"".join(lzma.compress(part.encode()) for part in (parts[0], parts[1] + parts[2]))
    release = archive.files["dists/sid/InRelease"].decode()
    archive.files["dists/sid/InRelease"] = release.replace(
        f"{hexadecimal(before)} {len(before)}", f"{hexadecimal(both)} {len(both)}"
    ).encode()
    archive.files[path] = both
    assert find(None, archive).size == 3


@pytest.mark.parametrize(
    "mirror", ["file:///etc", "ftp://127.0.0.1/", "http://", "deb.debian.org", "https:///x", ""]
)
def test_an_address_that_is_none_is_refused(mirror) -> None:
    with refused(BuildError, repr(mirror), "--mirror"):
        find_package(None, mirror, lambda what: None, unchecked=True)
