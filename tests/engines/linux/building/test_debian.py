"""Debian's archive, played by a server on this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from archives import hexadecimal, mirror, package, serving, signed, source, suite
from refusals import refused

from pi2_fluid.engines.linux.building import debian
from pi2_fluid.engines.linux.building.debian import Package, fetch, find_package
from pi2_fluid.errors import BuildError, QuantityError, UnsupportedError

DATA = bytes(range(256)) * 4000


@pytest.fixture(autouse=True)
def nobody_signs(monkeypatch) -> None:
    monkeypatch.setattr(debian, "KEYRINGS", ())


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
    return find_package(version, served.url, lambda what: None)


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
        find_package(None, url, lambda what: None)


def test_a_mirror_of_something_else_is_refused() -> None:
    with serving({}) as served, refused(BuildError, served.url, "sid, forky, trixie-backports"):
        find(None, served)


def test_an_address_that_is_none_is_refused() -> None:
    with refused(BuildError, "deb.debian.org", "--mirror"):
        find_package(None, "deb.debian.org", lambda what: None)


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
    archive.files["dists/sid/InRelease"] = signed(" 00 1 main/some/file\n" * 3000 + text)
    archive.files["dists/sid/main/binary-all/Packages.xz"] = suite({"7.2.13-1": b"new"})[0][
        "main/binary-all/Packages.xz"
    ]
    assert find(None, archive).version == "7.2.13-1"


def test_a_release_without_a_list_is_refused(archive) -> None:
    archive.files["dists/sid/InRelease"] = signed("SHA256:\n")
    with refused(BuildError, "Packages.xz", "--mirror"):
        find(None, archive)


def test_a_release_that_is_not_signed_is_refused(archive) -> None:
    archive.files["dists/sid/InRelease"] = suite({})[1].encode()
    with refused(BuildError, "not signed"):
        find(None, archive)


# --- signatures -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    """A key of one's own: how to sign with it, and its keyring."""
    gpg = shutil.which("gpg")
    if gpg is None or shutil.which("gpgv") is None:
        pytest.skip("there is no gpg and gpgv on this machine")
    home = tmp_path_factory.mktemp("gpg", numbered=True)
    home.chmod(0o700)

    def run(*words: str, given: bytes = b"") -> bytes:
        always = [gpg, "--homedir", str(home), "--batch", "--passphrase", "", "--pinentry-mode"]
        done = subprocess.run([*always, "loopback", *words], input=given, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("--quick-generate-key", "test@example.org", "ed25519", "sign")
    keyring = home / "keyring.gpg"
    keyring.write_bytes(run("--export"))
    yield lambda text: run("--clearsign", given=text.encode()), keyring
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)


@pytest.mark.slow
def test_what_is_signed_by_a_key_of_the_keyring_is_taken(archive, key, monkeypatch) -> None:
    sign, keyring = key
    monkeypatch.setattr(debian, "KEYRINGS", (keyring.with_name("none"), keyring))
    archive.files["dists/sid/InRelease"] = sign(suite({"7.2.13-1": b"new"})[1])
    archive.files["dists/sid/main/binary-all/Packages.xz"] = suite({"7.2.13-1": b"new"})[0][
        "main/binary-all/Packages.xz"
    ]
    assert find(None, archive).signature == f"checked by gpgv with {keyring}"


@pytest.mark.slow
def test_what_was_changed_after_it_was_signed_is_refused(archive, key, monkeypatch) -> None:
    sign, keyring = key
    monkeypatch.setattr(debian, "KEYRINGS", (keyring,))
    whole = sign(suite({"7.2.13-1": b"new"})[1])
    archive.files["dists/sid/InRelease"] = whole.replace(b"Suite: test", b"Suite: tess")
    with refused(BuildError, "not signed by a key of", "debian-archive-keyring"):
        find(None, archive)


@pytest.mark.slow
def test_what_nobody_known_has_signed_is_refused_where_there_are_keys(
    archive, key, monkeypatch
) -> None:
    monkeypatch.setattr(debian, "KEYRINGS", (key[1],))
    with refused(BuildError, "not signed by a key of"):
        find(None, archive)


# --- fetching -------------------------------------------------------------------------------


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
        debian._go_on(offered(archive), file, lambda *how: None)


def test_a_whole_package_is_unpacked_from_what_was_fetched(archive, tmp_path) -> None:
    """That the miniature is made as Debian's are: `ar` and `tar` can read it."""
    (tmp_path / "x.deb").write_bytes(package(source()))
    if shutil.which("dpkg-deb") is None:
        pytest.skip("there is no dpkg-deb on this machine")
    done = subprocess.run(["dpkg-deb", "--fsys-tarfile", tmp_path / "x.deb"], capture_output=True)
    assert b"usr/src/linux-source-7.2.tar.xz" in done.stdout
